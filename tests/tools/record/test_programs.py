"""snug record on the programs that scripts/record_programs records, at their small work: the trace of each process adds up to what the
counter between the recorder and the allocator has heard in the same run, calls and bytes.

    test_programs.py           those with several threads or processes, and one that has neither
    test_programs.py NAME...   of all that `scripts/record_programs --help` lists
"""

import importlib.machinery
import importlib.util
import json
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from recorded import COUNTING, KINDS
from tool_under_test import TOOL, clean_environment

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(TOOL).parent.parent
NAMES = sys.argv[1:] or ["git", "node", "redis", "sqlite"]


def load_recipes():
    loader = importlib.machinery.SourceFileLoader("traces", str(ROOT / "scripts" / "record_programs"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("traces", loader))
    sys.modules["traces"] = module  # its data classes look there
    loader.exec_module(module)
    return module


class ProgramsTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_traces_add_up_to_what_was_counted(self):
        traces = load_recipes()
        for name in NAMES:
            with self.subTest(name):
                work, counts = self.folder / name / "work", self.folder / name / "counts"
                for made in (work, counts):
                    made.mkdir(parents=True)
                for shared in (self.folder, counts.parent, counts):  # a server may put on another user's rights
                    shared.chmod(0o777)
                try:
                    command, variables = traces.command_of(traces.RECIPES[name], work, BUILD, small=True)
                except traces.Missing as missing:
                    self.skipTest(str(missing))
                traces.run([TOOL, "record", "-o", str(counts.parent / "t.trace"), "--allocator", COUNTING, "--", *command], work,
                           variables | {"COUNTS": str(counts / "of")}, name)
                counted = [struct.unpack_from("<22Q", path.read_bytes()) for path in counts.iterdir()]
                self.assertEqual([sums[10] for sums in counted], [0] * len(counted), "glibc frees nothing inside of it")
                told = self.told(counts.parent / "t.trace")
                self.assertEqual(sorted(told), sorted(tuple(zip(sums[:10], sums[11:21])) for sums in counted))

    def told(self, recording):
        """Of each process calls and bytes by the allocator's functions. Operators new of none of these programs ask for
        nothing, and none is of an alignment: the sums would not say what the runtime asks for."""
        check = subprocess.run([TOOL, "trace", "check", "--json", recording], env=clean_environment(), stdout=subprocess.PIPE,
                               check=False)
        self.assertEqual(check.returncode, 0)
        told = json.loads(check.stdout)
        return [self.sums(info) for info in told.get("processes", [told])]

    def sums(self, info):
        sums = {kind: [0, 0] for kind in KINDS}
        for operation, of in info["operations"].items():
            word = operation.replace(" ", "_")
            self.assertNotRegex(word, "^new.*aligned")
            kind = "malloc" if word.startswith("new") else "free" if word.startswith(("free", "delete")) else word
            if kind in sums:
                sums[kind][0] += of["events"]
                sums[kind][1] += of["bytes"] if kind != "free" else 0
        return tuple(map(tuple, sums.values()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
