"""The one command that draws the cache server's memory: the picture has a line a server, and the table tells them apart.

SNUG_SOURCE, SNUG_BUILD and CACHE_SERVER name the sources, the build and the program.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

DRAW = Path(os.environ["SNUG_SOURCE"]) / "examples" / "cache_server" / "draw"
SVG = "{http://www.w3.org/2000/svg}"

# What begins as the server does, and answers nonsense.
IMPOSTOR = """#!/usr/bin/env python3
import socket, threading
def answer(connection):
    while connection.recv(65536):
        connection.sendall(b"$nonsense\\r\\n")
listener = socket.create_server(("127.0.0.1", 0))
print(f"ready on 127.0.0.1:{listener.getsockname()[1]}, compaction on", flush=True)
while True:
    threading.Thread(target=answer, args=[listener.accept()[0]], daemon=True).start()
"""


class Draw(unittest.TestCase):
    def test_picture_and_table(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "deep" / "memory.svg"
            done = subprocess.run([DRAW, "-o", file, "--mib", "12", "--busy", "1", "--idle", "1", "--build", os.environ["SNUG_BUILD"],
                                   "--program", os.environ["CACHE_SERVER"]], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            root = ElementTree.parse(file).getroot()
        rows = {row[0].strip(): [float(cell) for cell in re.findall(r"([\d.]+) +[\d.]+×", row[1])]
                for row in re.findall(r"^(\S.{31})(.*×)$", done.stdout, re.M)}
        names = ["cache_server, compacts", "cache_server, does not"]
        if shutil.which("redis-server") and shutil.which("redis-benchmark"):
            names += ["Redis on snug", "Redis on jemalloc"]
        self.assertEqual(list(rows), names)
        (full, deleted, again), (full_without, deleted_without, again_without) = rows[names[0]], rows[names[1]]
        self.assertLess(deleted, 0.65 * full)
        self.assertGreater(deleted_without, 0.9 * full_without)
        self.assertLess(again, 0.85 * again_without)

        words = [each.text for each in root.iter(f"{SVG}text")]
        for word in [*names, "keys and values", "fill", "delete 70%", "other sizes"]:
            self.assertIn(word, words)
        lines = [each.get("stroke") for each in root.iter(f"{SVG}path") if len(each.get("d", "")) > 400]
        self.assertEqual(sorted(lines), ["var(--faint)", *(f"var(--line{i})" for i in range(len(names)))])
        style = root.find(f"{SVG}style")
        assert style is not None and style.text is not None
        light, _, dark = style.text.partition("@media(prefers-color-scheme:dark)")
        for name in ("page", "ink", "faint", "grid", "band", *(f"line{i}" for i in range(len(names)))):
            colours = [re.search(rf"--{name}:(#[0-9a-f]{{6}})", half) for half in (light, dark)]
            assert colours[0] and colours[1], name
            self.assertNotEqual(colours[0][1], colours[1][1], name)

    def test_whatever_goes_wrong_is_one_line(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            impostor = Path(folder) / "impostor"
            impostor.write_text(IMPOSTOR)
            impostor.chmod(0o755)
            done = subprocess.run([DRAW, "-o", Path(folder) / "memory.svg", "--mib", "1", "--busy", "0.1", "--idle", "0.1", "--build",
                                   os.environ["SNUG_BUILD"], "--program", impostor], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], "^draw: cache_server, (compacts|does not): ValueError: .*nonsense")
        self.assertNotIn("Traceback", done.stderr)

    def test_bad_options_are_one_line(self) -> None:
        done = subprocess.run([DRAW, "--mib", "0"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.splitlines()[-1], "draw: error: --mib: 1 to 4096; --busy and --idle: more than 0, at most 600")


if __name__ == "__main__":
    unittest.main()
