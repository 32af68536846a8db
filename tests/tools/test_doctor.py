"""snug doctor: each thing that stands in the way of a preload is found in a program that has it, and in no other."""

import contextlib
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tool_under_test import ALLOCATING, LIBRARY, PLANTED_NONE, SHELL, TOOL, clean_environment, run_on_snug, snug

PROGRAMS = Path(os.environ["DOCTOR_PROGRAMS"])


def doctor(name, **changes):
    """The exit status and the JSON of a diagnosis."""
    process = snug("doctor", "--json", str(name), **changes)
    return process.returncode, json.loads(process.stdout)


def weights(name, **changes):
    """What was found, without what depends on the machine that the tests run on."""
    _, diagnosis = doctor(name, **changes)
    return {finding["id"]: finding["weight"] for finding in diagnosis["findings"]
            if finding["id"] not in ("no-huge-pages", "memory-limit", "address-space")}


@contextlib.contextmanager
def waiting(*launcher, **changes):
    """The id of a process that `launcher` has become, which waits with everything mapped."""
    command = (*launcher, shutil.which("perl"), "-e", "$| = 1; print qq(ready\\n); <STDIN>")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, env=clean_environment(**changes),
                          text=True) as process:
        try:
            if process.stdout.readline() != "ready\n":
                raise AssertionError(f"{command} did not start")
            yield process.pid
        finally:
            process.kill()


class DoctorTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def script(self, text, name="script"):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def patched(self, program, changes):
        path = self.folder / "patched"
        data = bytearray(Path(program).read_bytes())
        for at, new in changes:
            data[at:at + len(new)] = new
        path.write_bytes(data)
        path.chmod(0o755)
        return path

    def test_says_that_nothing_stands_in_the_way(self):
        process = snug("doctor", ALLOCATING)
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        self.assertIn(f"{ALLOCATING}: nothing stands in the way of snug\n", process.stdout)
        self.assertEqual(weights(ALLOCATING), {})

    def test_finds_what_stands_in_the_way(self):
        for program, expected in [
            ("static", {"static": "blocks"}),
            ("static_pie", {"static": "blocks"}),
            ("exported_malloc", {"own-malloc": "blocks"}),
            ("hidden_malloc", {"own-malloc": "partly"}),
            ("stripped_malloc", {"own-malloc": "partly"}),
            ("python", {"python": "partly"}),
            ("deepbind", {"deepbind": "blocks"}),
            ("deepbind_no_plt", {"deepbind": "blocks"}),
            ("deepbind_ibt", {"deepbind": "blocks"}),
            ("no_deepbind", {}),
            ("no_deepbind_no_plt", {}),
            ("foreign_calls", {"linked-malloc": "blocks"}),
            ("sized_foreign_calls", {"linked-malloc": "blocks"}),
            ("linked_malloc", {"linked-malloc": "note"}),
            ("statistics_calls", {"linked-malloc": "note"}),
        ]:
            with self.subTest(program):
                self.assertEqual(weights(PROGRAMS / program), expected)
                in_the_way = any(weight != "note" for weight in expected.values())
                status, diagnosis = doctor(PROGRAMS / program)
                self.assertEqual((status, diagnosis["in_the_way"]), (int(in_the_way), in_the_way))

    def test_is_right_about_who_serves(self):
        """What a preload really does with these programs."""
        def served(program):
            return "no process reported" not in run_on_snug("--report", "--", str(PROGRAMS / program)).stderr
        self.assertFalse(served("static"))
        self.assertFalse(served("static_pie"))
        self.assertEqual(run_on_snug("--", str(PROGRAMS / "exported_malloc")).stdout, "mine\n")
        self.assertEqual(run_on_snug("--", str(PROGRAMS / "hidden_malloc")).stdout, "mine\n")
        self.assertTrue(served("linked_malloc"))

    def test_names_what_it_has_built_in(self):
        _, diagnosis = doctor(PROGRAMS / "stripped_malloc")
        self.assertIn("jemalloc built in", diagnosis["findings"][0]["what"])

    def test_names_the_call_that_stays_with_a_linked_library(self):
        """As Redis 8 of Debian 13 calls jemalloc."""
        _, diagnosis = doctor(PROGRAMS / "sized_foreign_calls")
        self.assertEqual([finding["what"] for finding in diagnosis["findings"]], ["it calls sdallocx of libforeign.so"])

    def test_names_the_allocator_that_a_program_goes_on_to_ask(self):
        """As Debian 12's Redis 7 asks an idle jemalloc, which its INFO memory then shows."""
        _, diagnosis = doctor(PROGRAMS / "statistics_calls")
        finding, = (finding for finding in diagnosis["findings"] if finding["id"] == "linked-malloc")
        self.assertEqual(finding["what"], "it is linked against libforeign.so, and asks mimalloc for its figures (mi_stats_print)")
        self.assertIn("INFO memory", finding["why"])
        self.assertIn("look elsewhere", finding["remedy"])
        _, diagnosis = doctor(PROGRAMS / "linked_malloc")
        self.assertEqual([finding["remedy"] for finding in diagnosis["findings"] if finding["id"] == "linked-malloc"], ["Nothing."])

    def test_finds_programs_for_other_machines_and_for_musl(self):
        aarch64 = self.patched(ALLOCATING, [(18, b"\xb7\x00")])
        self.assertEqual(weights(aarch64), {"machine": "blocks"})
        self.assertIn("64-bit AArch64", snug("doctor", str(aarch64)).stdout)
        x86 = self.patched(ALLOCATING, [(4, b"\x01"), (18, b"\x03\x00")])
        self.assertEqual(weights(x86), {"machine": "blocks"})
        self.assertIn("32-bit x86", snug("doctor", str(x86)).stdout)
        linker = Path(ALLOCATING).read_bytes().index(b"/lib64/ld-linux-x86-64.so.2\0")
        self.assertEqual(weights(self.patched(ALLOCATING, [(linker, b"/lib/ld-musl-x86_64.so.1\0")])), {"musl": "blocks"})

    def test_finds_programs_that_gain_rights(self):
        if os.getuid() != 0:
            self.assertEqual(weights("/bin/su"), {"privileges": "blocks"})
            return
        program = self.folder / "setuid"
        shutil.copy(ALLOCATING, program)
        for mode, owner, group, expected in [(0o4755, 65534, 0, "blocks"), (0o4755, 0, 0, "note"),
                                             (0o2755, 0, 65534, "blocks"), (0o2745, 0, 65534, None)]:
            os.chown(program, owner, group)
            program.chmod(mode)
            if os.statvfs(program).f_flag & os.ST_NOSUID:
                self.skipTest("the temporary folder takes no setuid programs")
            self.assertEqual(weights(program).get("privileges"), expected, f"{mode:o} {owner} {group}")

    def test_follows_scripts_to_what_runs_them(self):
        static = PROGRAMS / "static"
        direct = self.script(f"#!{static} --option\n")
        status, diagnosis = doctor(direct)
        self.assertEqual((status, diagnosis["program"], diagnosis["scripts"]), (1, str(static), [str(direct)]))
        path = f"{PROGRAMS}:{os.environ['PATH']}"
        for line in ("#!/usr/bin/env static", "#!/usr/bin/env -S X=1 static --option", "#! /usr/bin/env static",
                     "#!/usr/bin/env -S -u X -C / static", "#!/usr/bin/env -Sstatic", f"#!{static}\0behind"):
            self.assertEqual(doctor(self.script(line + "\n"), PATH=path)[1]["program"], str(static), line)
        inner = self.script(f"#!{static}\n", "inner")
        outer = self.script(f"#!{inner}\n", "outer")
        self.assertEqual(doctor(outer)[1]["scripts"], [str(outer), str(inner)])
        for text in ("echo no first line\n", "#!\n", "#! \t\necho nobody named\n"):
            self.assertEqual(weights(self.script(text)), {"script": "note"}, text)

    def test_knows_pythons_own_allocator(self):
        python = os.path.realpath(sys.executable)
        self.assertEqual(weights(python), {"python": "partly"})
        self.assertEqual(weights(python, PYTHONMALLOC="malloc"), {})
        self.assertEqual(weights(python, PYTHONMALLOC="pymalloc"), {"python": "partly"})

    def test_tells_of_limits_and_of_other_preloads(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
        process = subprocess.run([TOOL, "doctor", ALLOCATING], env=clean_environment(), stdout=subprocess.PIPE, text=True,
                                 preexec_fn=limit, check=True)
        self.assertIn("worth knowing: its address space is limited to 1.00 GiB", process.stdout)
        _, diagnosis = doctor(ALLOCATING, LD_PRELOAD="/no/such/other.so")
        noted = {finding["id"]: finding["what"] for finding in diagnosis["findings"]}
        self.assertIn("/no/such/other.so", noted["ld-preload"])

    def test_says_in_one_line_why_it_cannot_look(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        loop = self.folder / "loop"
        self.script(f"#!{loop}\n", "loop")
        for name, words in [
            ("no-such-program-of-snug", "no program 'no-such-program-of-snug' in PATH"),
            ("./no-such-program", "no program './no-such-program'"),
            ("umask", "'umask' is a command of the shell"),
            ("/", "it is no regular file"),
            ("/etc/passwd", "it is not executable"),
            (LIBRARY, "is a library: name a program"),
            (str(ended.pid), f"no process {ended.pid}"),
            ("99999999999999999999", "no process"),
            (str(self.script("#!/no/such/interpreter\n")), "'/no/such/interpreter', which cannot be executed"),
            (str(self.script("#!/bin/sh\r\n", "dos")), "'/bin/sh?', which cannot be executed: its lines end in carriage"),
            (str(loop), "scripts that run scripts without an end"),
            (str(self.script("\0\1\2", "junk")), "neither an ELF file nor a script"),
            (str(self.script("\x7fELF", "short")), "it is damaged"),
        ]:
            process = snug("doctor", name)
            self.assertEqual((process.returncode, process.stdout, process.stderr.count("\n")), (2, "", 1), process.stderr)
            self.assertIn(words, process.stderr)
        self.assertIn("name a program or a process", snug("doctor").stderr)

    def test_says_who_serves_a_process(self):
        with waiting() as pid:
            status, diagnosis = doctor(pid)
        self.assertEqual((status, diagnosis["malloc"]["allocator"]), (0, "glibc"))
        self.assertTrue(os.path.samefile(diagnosis["program"], shutil.which("perl")))
        with waiting(TOOL, "run", "--library", LIBRARY) as pid:
            status, diagnosis = doctor(pid)
        self.assertEqual((status, diagnosis["malloc"]["allocator"]), (0, "snug"))
        self.assertTrue(os.path.samefile(diagnosis["malloc"]["file"], LIBRARY))
        # Linked or preloaded, and in front of snug.
        with waiting(LD_PRELOAD=f"{PLANTED_NONE}:{LIBRARY}") as pid:
            _, diagnosis = doctor(pid)
        self.assertTrue(os.path.samefile(diagnosis["malloc"]["file"], PLANTED_NONE))
        self.assertIn("ld-preload", [finding["id"] for finding in diagnosis["findings"]])

    def test_knows_a_library_that_is_preloaded_by_a_link(self):
        # The name that programs are linked by, as in README: neither the file's own nor its soname.
        link = self.folder / "lib.so"
        link.symlink_to(os.path.realpath(LIBRARY))
        for preload in (str(link), os.path.relpath(link)):
            with waiting(LD_PRELOAD=preload) as pid:
                _, diagnosis = doctor(pid)
            self.assertEqual(diagnosis["malloc"]["allocator"], "snug", preload)

    def test_knows_a_library_that_was_upgraded_meanwhile(self):
        library = self.folder / "libsnug.so"
        upgrade = self.folder / "upgrade"
        shutil.copy(LIBRARY, library)
        shutil.copy(LIBRARY, upgrade)
        with waiting(LD_PRELOAD=str(library)) as pid:
            upgrade.replace(library)
            _, diagnosis = doctor(pid)
        self.assertEqual(diagnosis["malloc"], {"allocator": "snug", "file": str(library)})

    def test_names_the_malloc_of_a_linked_library_and_of_a_static_program(self):
        for program, allocator, file in [("linked_malloc", "mimalloc", "libforeign.so"), ("static", "glibc", "static"),
                                         ("exported_malloc", "a malloc of its own", "exported_malloc")]:
            # A pipe that is full holds the program: everything is mapped by then, and nothing ends early.
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            with self.assertRaises(BlockingIOError):
                while True:
                    os.write(writing, bytes(4096))
            os.set_blocking(writing, True)
            with subprocess.Popen([PROGRAMS / program, "10"], stdout=writing, env=clean_environment()) as process:
                while "State:\tS" not in Path(f"/proc/{process.pid}/status").read_text():
                    self.assertIsNone(process.poll())
                _, diagnosis = doctor(process.pid)
                process.kill()
            os.close(reading)
            os.close(writing)
            self.assertEqual(diagnosis["malloc"]["allocator"], allocator)
            self.assertEqual(Path(diagnosis["malloc"]["file"]).name, file)

    def test_survives_damaged_files(self):
        """Whatever a file says, it is diagnosed, or refused in one line."""
        randomness = random.Random(19)
        victim = self.folder / "victim"
        outcomes = set()
        for name in ("static", "deepbind", "hidden_malloc", "linked_malloc"):
            whole = (PROGRAMS / name).read_bytes()
            headers = len(whole) - 64 * 40
            for step in range(120):
                data = bytearray(whole)
                if step % 4 == 0:
                    del data[randomness.choice((randomness.randrange(64, 4096), randomness.randrange(len(whole)))):]
                for _ in range(randomness.choice((1, 4, 32))):
                    start = randomness.choice((0, 0, 0x200, headers))
                    at = randomness.randrange(start, min(start + 0x800, len(data))) if start < len(data) else 16
                    if at >= 16:  # what says that it is ELF is damaged in other tests
                        data[at] = randomness.choice((0, 1, 0x7f, 0x80, 0xff, randomness.randrange(256)))
                victim.write_bytes(data)
                victim.chmod(0o755)
                process = snug("doctor", str(victim))
                outcomes.add(process.returncode)
                self.assertIn(process.returncode, (0, 1, 2), (name, step, process.stderr))
                self.assertEqual(process.stderr.count("\n"), int(process.returncode == 2), process.stderr)
                self.assertNotIn("unexpected", process.stderr)
        self.assertEqual(outcomes, {0, 1, 2})

    def test_is_not_held_up_by_made_up_files(self):
        """Thousands of program headers, and symbols with a name as long as the file, would take hours."""
        headers = self.patched(ALLOCATING, [(56, struct.pack("<H", 0xffff))])
        self.assertIn("it has 65535 program headers", snug("doctor", str(headers)).stderr)
        whole = (PROGRAMS / "hidden_malloc").read_bytes()
        sections, = struct.unpack_from("<Q", whole, 40)
        count, = struct.unpack_from("<H", whole, 60)
        kinds = [struct.unpack_from("<I", whole, sections + 64 * i + 4)[0] for i in range(count)]
        table = sections + 64 * kinds.index(2)  # of symbols
        names = sections + 64 * struct.unpack_from("<I", whole, table + 40)[0]
        symbols, letters = 300000, 4 << 20
        tail = len(whole)
        victim = self.patched(PROGRAMS / "hidden_malloc", [
            (table + 24, struct.pack("<QQ", tail, symbols * 24)),
            (names + 24, struct.pack("<QQ", tail + symbols * 24, letters)),
        ])
        with victim.open("ab") as file:
            file.write(struct.pack("<IBBHQQ", 0, 0x12, 0, 1, 0, 0) * symbols + b"m" * letters)
        self.assertEqual(weights(victim).get("own-malloc"), None)  # within the time that snug() allows

    def test_run_says_the_same_in_one_line_and_goes_on(self):
        process = run_on_snug(str(PROGRAMS / "static"), "7")
        self.assertEqual((process.returncode, process.stdout), (0, "7\n"))
        self.assertRegex(process.stderr, r"^snug: .*/static: in the way of snug: it is linked statically \(snug doctor .*\)\n$")
        quiet = run_on_snug(ALLOCATING, "7")
        self.assertEqual((quiet.returncode, quiet.stdout, quiet.stderr), (0, "7\n", ""))
        self.assertEqual(run_on_snug(str(PROGRAMS / "linked_malloc"), "7").stderr, "")
        refused = run_on_snug("-n", "3", "--", str(PROGRAMS / "static"))
        self.assertEqual((refused.returncode, refused.stderr), (2, "snug: --rounds needs --compare\n"))
        process = run_on_snug(SHELL, "-c", "exit 3")
        self.assertEqual((process.returncode, process.stderr), (3, ""))

    def test_help_has_examples(self):
        self.assertIn("Examples:", snug("doctor", "--help").stdout)


if __name__ == "__main__":
    unittest.main()
