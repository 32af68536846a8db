"""snug record: a run is one recording. Of programs as users start them, all processes and all execs are in one file, and
what reads it takes the process that did the work."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

from recorded import LIBRARY, SUBJECT, TOOL, children_of, clean_environment, record, wait_for
from trace_file import TraceFile

PYTHON = os.path.realpath(sys.executable)
WORK = "words = [{str(i): list(range(i % 9))} for i in range(30000)]"


class OneRecordingTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.results = self.folder / "results"
        self.results.mkdir()
        self.file = self.results / "t.trace"

    def script(self, name, text, interpreter="/bin/bash"):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{interpreter}\n" + textwrap.dedent(text))
        path.chmod(0o755)
        return path

    def record(self, *program, status=0):
        """The one file's processes, as the test's own reader finds them."""
        run = record(self.results, *map(str, program), file="t.trace")
        self.assertEqual(run.returncode, status, run.stderr)
        self.assertEqual(os.listdir(self.results), ["t.trace"])
        traces = TraceFile(self.file).traces()
        for trace in traces:
            trace.check()
        self.said = run.stderr
        return traces

    def snug(self, *arguments, status=0):
        run = subprocess.run([TOOL, *map(str, arguments)], env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, check=False)
        self.assertEqual(run.returncode, status, run.stderr)
        self.said = run.stderr
        return run.stdout

    def info(self, *options):
        return json.loads(self.snug("trace", "info", self.file, "--json", *options))

    def assert_default_is(self, traces, arguments):
        """And the index says of each process what is in the file."""
        info = self.info()
        facts = {fact["key"]: fact["value"] for fact in info["facts"]}
        self.assertTrue(facts["arguments"].endswith(arguments), facts)
        index = {one["number"]: one for one in info["processes"]}
        self.assertEqual(sorted(index), [trace.number for trace in traces])
        for trace in traces:
            one = index[trace.number]
            allocations = sum(event.allocates() for event in trace.events)
            allocated = sum(min(event.size, 64 << 10) for event in trace.events if event.allocates())
            self.assertEqual((one["process"], one["arguments"], one["events"], one["allocations"], one["allocated_bytes"]),
                             (trace.process, trace.facts.get("arguments", ""), len(trace.events), allocations, allocated))
        self.assertEqual(info["number"], max(index.values(), key=lambda one: (one["allocated_bytes"], -one["number"]))["number"])
        if info["threads"] == 1:  # of several the order of the trace may differ from that of the recorder
            self.assertEqual(info["peak"]["bytes"], index[info["number"]]["peak_bytes"])
        self.assertEqual(self.said.count("\n"), 1, self.said)
        self.assertIn(f"of {len(traces)} processes number {info['number']}, which allocates most", self.said)
        return info

    def test_python_behind_a_shim(self):
        self.script("libexec/pyenv", f"""
            set -e
            for folder in /usr /usr/bin /usr/lib; do real="$(readlink -f "$folder")"; done
            version="$(echo "3.11" | sed s/^v//)"
            shift
            shift
            exec {PYTHON} "$@"
            """)
        shim = self.script("shims/python3", f"""
            set -e
            program="${{0##*/}}"
            exec "{self.folder}/libexec/pyenv" exec "$program" "$@"
            """)
        job = self.script("job.py", f"import json\n{WORK}\njson.dumps(words)\n", interpreter=PYTHON)
        traces = self.record(shim, job)
        self.assertGreater(len(traces), 6)
        self.assertEqual(traces[0].count("exec"), 1)
        self.assert_default_is(traces, "job.py")

    def test_a_script_runner_that_starts_a_child(self):
        node = shutil.which("node")
        if node:
            job = self.script("job.js", "const all = []; for (let i = 0; i < 200; ++i) all.push(Buffer.alloc(100000 + i));"
                              "require('zlib').gzipSync(Buffer.concat(all)); for (let i = 0; i < 3000; ++i)"
                              "require('crypto').createHash('sha256').update('x' + i).digest();", interpreter=node)
            runner = self.script("runner.js", f"""
                const done = require('child_process').spawnSync('sh', ['-c', '{node} {job}'], {{stdio: 'inherit'}});
                process.exit(done.status);
                """, interpreter=node)
            traces = self.record(node, runner)
        else:
            job = self.script("job.py", WORK, interpreter=PYTHON)
            traces = self.record("sh", "-c", f"sh -c '{PYTHON} {job}; true'; true")
        self.assertGreaterEqual(len(traces), 2 if node else 3)
        self.assert_default_is(traces, job.name)

    def test_a_pipeline(self):
        traces = self.record("bash", "-c", f"seq 100 | {SUBJECT} churn 8000 | cat | sort -r | head -n 3")
        self.assertGreaterEqual(len(traces), 5)
        self.assert_default_is(traces, "churn 8000")

    def test_make_with_a_few_recipes(self):
        (self.folder / "Makefile").write_text(f"all: a b c\na b:\n\t@{SUBJECT} churn 10\nc:\n\t@{SUBJECT} churn 8000; true\n")
        traces = self.record("make", "-j2", "-C", self.folder)
        self.assertGreaterEqual(len(traces), 5)
        self.assert_default_is(traces, "churn 8000")

    def test_a_server_that_forks_workers(self):
        """One of them is killed, and one outlives the server."""
        server = self.script("server.py", f"""
            import os, signal, time
            def worker(number):
                if number == 1:
                    {WORK}
                if number == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
                while number == 3 and os.getppid() == server:
                    time.sleep(0.01)
                os._exit(0)
            server = os.getpid()
            children = []
            for number in range(4):
                children.append(os.fork())
                if children[-1] == 0:
                    worker(number)
            for child in children[:3]:
                os.waitpid(child, 0)
            """, interpreter=PYTHON)
        os.environ["PYTHONMALLOC"] = "malloc"
        self.addCleanup(os.environ.pop, "PYTHONMALLOC")
        traces = self.record(PYTHON, server)
        self.assertEqual(len(traces), 5)
        info = self.assert_default_is(traces, "server.py")
        self.assertNotEqual(info["number"], 1)
        self.assertEqual([trace.facts.get("parent") for trace in traces], [None] + [str(traces[0].process)] * 4)
        exits = sorted(event.values[0] for trace in traces for event in trace.events if event.operation == "exit")
        # Those that the server has waited for are its own to ask; the tool is the parent of the one that it left.
        self.assertEqual(exits, [0, 0])

    def shell(self):
        """Of a shell and three programs the second allocates most."""
        return self.record("sh", "-c", f"{SUBJECT} churn 300; {SUBJECT} churn 3000; {SUBJECT} churn 200; exit 3", status=3)

    def test_another_process_is_taken_by_number_and_by_name(self):
        traces = self.shell()
        name = Path(SUBJECT).name
        [first, most, last] = [trace for trace in traces if trace.facts["program"].endswith(name)]
        self.assertEqual(self.info("--process", str(last.number))["events"], len(last.events))
        self.assertEqual(self.said, "")
        for called in (name, SUBJECT):  # of three the one that allocates most
            self.assertEqual(self.info("--process", called)["number"], most.number)
        self.assertEqual(self.info("--process", "sh")["number"], traces[0].number)
        for command in (["trace", "info"], ["replay", "--library", LIBRARY]):
            self.snug(*command, self.file, "--process", "awk", status=2)
            self.assertEqual(self.said, f"snug: {self.file}: no process 'awk' is in it; `snug trace info` lists the "
                                        f"{len(traces)} that are\n")
        self.assertNotEqual(first.number, most.number)

    def test_every_reader_takes_the_same_one(self):
        traces = self.shell()
        most = self.info()
        part = self.folder / "part.trace"
        for command in (["cut", "--from=0"], ["filter", "--least=0"], ["pack"], ["anonymise"]):
            with self.subTest(command[0]):
                self.snug("trace", *command, self.file, "-o", part)
                self.assertIn(f"of {len(traces)} processes number {most['number']}, which allocates most", self.said)
                written = json.loads(self.snug("trace", "info", part, "--json"))
                self.assertEqual(written["blocks"]["came"], most["blocks"]["came"])
                self.assertNotIn("processes", written)
                if command[0] != "anonymise":
                    self.assertEqual((written["process"], written["facts"]), (most["process"], most["facts"]))
        self.assertEqual(len(self.snug("trace", "head", self.file, "-n", 1000000).splitlines()), most["events"])
        lines = self.snug("trace", "export", self.file, "--to=lines").splitlines()
        self.assertEqual(sum(line[0] in "ar" for line in lines if line[0] != "#"), most["blocks"]["came"])
        for process in (most["number"], 1):
            options = [] if process == most["number"] else [f"--process={process}"]
            replayed = json.loads(self.snug("replay", self.file, "--library", LIBRARY, "-n1", "--warmup=0", "--json", *options))
            self.assertEqual(replayed["replay"]["number"], process)
            told = len([event for event in traces[process - 1].events if event.allocates() or event.frees()])
            self.assertGreaterEqual(replayed["replay"]["allocators"]["snug"]["calls"], told)

    def test_the_index_names_each_process(self):
        traces = self.shell()
        self.assertRegex(self.said, rf"^snug record: .*t.trace: {len(traces)} processes, .*; `snug trace info` lists them\n"
                                    r"snug record: most is allocated by number \d+ \(process \d+\): .* churn 3000: .* events, ")
        table = self.snug("trace", "info", self.file).split("\n\n")[0].splitlines()
        self.assertEqual(table[0], f"{self.file}: {len(traces)} processes")
        rows = table[2:-1]
        self.assertEqual(len(rows), len(traces))
        for trace, row in zip(traces, rows):
            self.assertRegex(row, rf"^ *{trace.number}[* ] ")
            self.assertIn(str(trace.process), row)
        [marked] = [row for row in rows if "*" in row.split()[0]]
        self.assertIn("churn 3000", marked)

    def test_all_processes_are_checked(self):
        traces = self.shell()
        self.assertIn(f"{len(traces)} processes: {sum(len(trace.events) for trace in traces)} events, 0 of them cannot be",
                      self.snug("trace", "check", self.file))
        data = bytearray(self.file.read_bytes())
        at = data.index(b"arguments\tsh -c")  # of the first process
        data[at] ^= 1
        self.file.write_bytes(data)
        self.snug("trace", "check", self.file, status=1)
        told = json.loads(self.snug("trace", "check", self.file, "--json", status=1))
        self.assertEqual([one["well"] for one in told["processes"]], [False] + [True] * (len(traces) - 1))
        self.assertFalse(told["well"])

    def test_a_killed_recorder_leaves_all_processes(self):
        """It could not write the sums of some processes; their events are read."""
        program = f"{SUBJECT} churn 300; {SUBJECT} churn 8000; exec cat"
        with subprocess.Popen([TOOL, "record", "-o", self.file, "--", "sh", "-c", program], env=clean_environment(),
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tool:
            [child] = wait_for(lambda: children_of(tool.pid), "the program")
            wait_for(lambda: Path(f"/proc/{child}/cmdline").read_bytes() == b"cat\0", "what the shell executes last")
            # On a busy machine the recorder is still at the events of a process that has ended.
            while len(seen := self.seen()) < 4 or max(one["allocations"] for one in seen) < 8000:
                self.assertIsNone(tool.poll())
            os.kill(tool.pid, signal.SIGKILL)
            os.kill(child, signal.SIGKILL)
        info = self.info()
        self.assertFalse(info["has_index"])
        self.assertEqual(len(info["processes"]), 4)
        self.assertTrue({fact["key"]: fact["value"] for fact in info["facts"]}["arguments"].endswith("churn 8000"))
        for one in info["processes"]:
            alone = self.info("--process", str(one["number"]))
            self.assertEqual((one["allocations"], one["peak_bytes"]), (alone["blocks"]["came"], alone["peak"]["bytes"]))
        most = info["processes"][info["number"] - 1]
        self.assertGreater(most["allocated_bytes"], most["allocations"])

    def seen(self):
        """The processes that can be read while the recorder is at it."""
        run = subprocess.run([TOOL, "trace", "info", self.file, "--json"], capture_output=True, text=True, check=False)
        return json.loads(run.stdout or "{}").get("processes", [])


if __name__ == "__main__":
    unittest.main()
