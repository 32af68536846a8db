"""A Prometheus scrapes `snug stats --listen` of processes that work, and has to have understood all of it; `promtool` has nothing to
complain of. Skipped where they are not installed (`scripts/setup test-all`).
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from tool_under_test import HANGS, LIBRARY, TOOL, clean_environment, free_port, snug

SKIPPED = 77
PUBLISHED = os.environ["PUBLISHED"]
# What a program is called, and its label: the library leaves out what would have to be quoted.
NAMES = {"plain": "plain", 'a"b\\c': "abc", "gr\u00fcn": "grn"}
CONFIGURATION = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs: [{{job_name: snug, static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}]
"""


def worker(folder, name):
    program = Path(folder, name)
    shutil.copy(PUBLISHED, program)
    child = subprocess.Popen([program, "work"], env=clean_environment(SNUG_CONF="publish:on", LD_PRELOAD=LIBRARY),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    while snug("stats", str(child.pid)).returncode != 0:  # it answers soon after its start
        time.sleep(0.05)
    return child


def end(child):
    with contextlib.suppress(BrokenPipeError):
        child.communicate(timeout=HANGS)


class Prometheus:
    """One that scrapes a port of this machine, in a folder."""

    def __init__(self, folder, scraped):
        configuration = Path(folder, "prometheus.yml")
        configuration.write_text(CONFIGURATION.format(port=scraped), encoding="ascii")
        while True:  # another program may take the port meanwhile
            self.port = free_port()
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"], env=clean_environment(), cwd=folder)
            while self.process.poll() is None:
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready").close()
                    return
                time.sleep(0.1)

    def asked(self, path, **words):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        with urllib.request.urlopen(url) as answer:
            return json.load(answer)["data"]

    def found(self, query):
        """The answer of a query, waited for."""
        while not (result := self.asked("query", query=query)["result"]):
            time.sleep(0.2)
        return result

    def end(self):
        self.process.terminate()
        self.process.wait()


class PrometheusTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.workers = {}
        for name in NAMES:
            cls.workers[name] = worker(cls.folder.name, name)
            cls.addClassCleanup(end, cls.workers[name])
        cls.pids = [str(child.pid) for child in cls.workers.values()]
        exporter = subprocess.Popen([TOOL, "stats", "--memory", "--listen", "127.0.0.1:0", *cls.pids], env=clean_environment(),
                                    stderr=subprocess.PIPE, text=True)
        cls.addClassCleanup(exporter.stderr.close)
        cls.addClassCleanup(exporter.wait)
        cls.addClassCleanup(exporter.kill)
        cls.exporter_port = int(exporter.stderr.readline().split()[-1])
        cls.prometheus = Prometheus(cls.folder.name, cls.exporter_port)
        cls.addClassCleanup(cls.prometheus.end)

    def text(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.exporter_port}/metrics") as answer:
            return answer.read().decode()

    def test_promtool_has_nothing_to_complain_of(self):
        for text in (self.text(), snug("stats", "--prometheus", *self.pids).stdout):
            checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
            self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""), text)

    def test_each_metric_and_each_process_arrives(self):
        self.prometheus.found('up{job="snug"} == 1')
        [target] = self.prometheus.asked("targets")["activeTargets"]
        self.assertEqual((target["health"], target["lastError"]), ("up", ""))
        lines = [line for line in self.text().splitlines() if not line.startswith("#")]
        [scraped] = self.prometheus.found("scrape_samples_scraped")
        self.assertEqual(int(scraped["value"][1]), len(lines))
        names = {line.partition("{")[0] for line in lines}
        self.assertGreater(len(names), 30)
        self.assertLessEqual(names, set(self.prometheus.asked("label/__name__/values")))
        programs = {one["metric"]["program"]: one["metric"]["pid"] for one in self.prometheus.found("snug_bytes_in_use")}
        self.assertEqual(programs, {NAMES[name]: str(child.pid) for name, child in self.workers.items()})

    def test_types_and_words_are_known(self):
        self.prometheus.found("snug_allocations_total")
        known = self.prometheus.asked("metadata")
        for name in {line.split()[2] for line in self.text().splitlines() if line.startswith("# HELP")}:
            [told] = known[name]
            self.assertEqual(told["type"], "counter" if name.endswith("_total") else "gauge", name)
            self.assertTrue(told["help"], name)

    def test_rates_and_sums_can_be_asked_for(self):
        [rate] = self.prometheus.found(f'rate(snug_allocations_total{{pid="{self.pids[0]}"}}[1m]) > 0')
        self.assertGreater(float(rate["value"][1]), 0)
        held = self.prometheus.found("sum by (program) (snug_bytes_in_use)")
        self.assertTrue(all(float(one["value"][1]) > 10_000_000 for one in held), held)

    def test_of_a_process_that_has_ended_nothing_is_said_any_more(self):
        own = worker(self.folder.name, "brief")
        exporter = subprocess.Popen([TOOL, "stats", "--listen", "127.0.0.1:0", str(own.pid)], env=clean_environment(),
                                    stderr=subprocess.PIPE, text=True)
        try:
            port = int(exporter.stderr.readline().split()[-1])
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                self.assertIn('program="brief"', answer.read().decode())
            end(own)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                self.assertEqual(answer.read(), b"")
        finally:
            exporter.kill()
            exporter.wait()
            exporter.stderr.close()


if __name__ == "__main__":
    if shutil.which("prometheus") is None or shutil.which("promtool") is None:
        print("skipped: no prometheus, or no promtool")
        sys.exit(SKIPPED)
    unittest.main()
