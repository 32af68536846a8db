"""speedscope, from npm, reads what `snug profile` writes: sums and names of the file for pprof, and of collapsed stacks.

    test_speedscope.py SNUG KNOWN_HEAP
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
DEFAULT_TYPE, PEAK_SPACE = 14, 9
READ = Path(__file__).with_name("read_by_speedscope.js")


def main(tool, program):
    if shutil.which("node") is None or shutil.which("npm") is None:
        print("skipped: no node, or no npm")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        packed = subprocess.run(["npm", "pack", "speedscope@1.25.0"], cwd=folder, capture_output=True, text=True, check=False)
        if packed.returncode != 0:
            print(f"skipped: npm cannot have speedscope: {packed.stderr}")
            return SKIPPED
        subprocess.run(["tar", "xzf", *folder.glob("speedscope-*.tgz")], cwd=folder, check=True)
        [bundle] = (folder / "package/dist/release").glob("speedscope-*.js")
        subprocess.run([tool, "profile", "--peak", "--distance", "64K", "-o", folder / "heap.pb", "--collapsed", folder / "heap.stacks",
                        "--json", folder / "heap.json", program, "1", "50", "300"], check=True, stdout=subprocess.DEVNULL)
        stacks = json.loads((folder / "heap.json").read_text())["stacks"]

        def read(file):
            process = subprocess.run(["node", READ, bundle, folder / file], capture_output=True, text=True, check=False)
            if process.returncode != 0:
                sys.exit(f"{file}: {process.stdout}{process.stderr}")
            return json.loads(process.stdout.splitlines()[-1])

        # The file's own default is what is live, of which nothing need have a name; that of the collapsed stacks what the command shows.
        # Of a field that comes twice the later counts: the default, which is the text of this number.
        (folder / "peak.pb").write_bytes((folder / "heap.pb").read_bytes() + bytes((DEFAULT_TYPE << 3, PEAK_SPACE)))
        good = True
        for file, measure in (("heap.pb", "live"), ("peak.pb", "peak"), ("heap.stacks", "peak")):
            answer, wanted = read(file), sum(stack[measure]["bytes"] for stack in stacks)
            told, functions = answer["total"], answer["functions"]
            print(f"{file}: {told} of {wanted}, {functions}")
            good = good and abs(told - wanted) <= wanted * 0.01 + 1024
            if measure == "peak":
                good = good and all(any(name in function for function in functions) for name in ("large(", "mixed(", "main"))
        return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
