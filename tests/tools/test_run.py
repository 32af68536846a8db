"""snug run: a program on snug, with the tool out of its way."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from tool_under_test import ALLOCATING, BYSTANDER, LIBRARY, SHELL, TOOL, clean_environment, run_on_snug, snug


class RunTest(unittest.TestCase):
    def test_passes_the_exit_status_through(self):
        for status in (0, 1, 7, 255):
            self.assertEqual(run_on_snug("--", SHELL, "-c", f"exit {status}").returncode, status)

    def test_passes_a_signal_through(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
            self.assertEqual(run_on_snug("--", SHELL, "-c", f"kill -{int(number)} $$").returncode, -number)

    def test_is_the_program_itself(self):
        command = [TOOL, "run", "--library", LIBRARY, "--", SHELL, "-c", "echo $$"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as process:
            self.assertEqual(int(process.stdout.read()), process.pid)

    def test_says_127_and_126_as_shells_do(self):
        missing = run_on_snug("--", "no-such-program-of-snug")
        self.assertEqual((missing.returncode, missing.stderr.count("\n")), (127, 1))
        self.assertIn("cannot run 'no-such-program-of-snug'", missing.stderr)
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "script")
            script.write_text("#!/no/such/interpreter\n", encoding="ascii")
            script.chmod(0o755)
            process = run_on_snug("--", str(script))
        self.assertEqual(process.returncode, 127)
        self.assertIn("what it names as its interpreter", process.stderr)
        self.assertEqual(run_on_snug("--", "/etc/passwd").returncode, 126)
        self.assertEqual(run_on_snug("--", "/").returncode, 126)

    def test_preloads_snug_in_front_of_other_libraries(self):
        other = "/no/such/other.so"
        process = run_on_snug("--", SHELL, "-c", "echo $LD_PRELOAD", LD_PRELOAD=other)
        self.assertEqual(process.stdout.strip(), f"{os.path.realpath(LIBRARY)}:{other}")

    def test_finds_the_library_beside_the_tool(self):
        process = snug("run", "--", SHELL, "-c", "echo $LD_PRELOAD")
        self.assertEqual(process.stdout.strip(), os.path.realpath(LIBRARY))

    def test_adds_settings_behind_those_there_are(self):
        show = ("--", SHELL, "-c", "echo $SNUG_CONF")
        one, two = "retain:1M", "cache:2M"
        self.assertEqual(run_on_snug("--conf", f"{one},{two}", *show).stdout.strip(), f"{one},{two}")
        self.assertEqual(run_on_snug("--conf", one, *show, SNUG_CONF=two).stdout.strip(), f"{two},{one}")
        self.assertEqual(run_on_snug(*show, SNUG_CONF=two).stdout.strip(), two)

    def test_refuses_settings_that_the_program_would_go_on_without(self):
        for conf, words in [
            ("purge_aftr:0", "--conf: unknown key 'purge_aftr': did you mean 'purge_after'?"),
            ("cache:1M,idle_tread:on", "unknown key 'idle_tread': did you mean 'idle_thread'?"),
            ("frobnicate:1", "--conf: unknown key 'frobnicate' (snug config lists all)"),
            ("cache:1M,!", "--conf: unknown key '!' (snug config lists all)"),
            ("retain_huge", "unknown key 'retain_huge': did you mean 'retain_large'?"),
            ("cache:lots", "--conf: bad value 'lots' for 'cache': expected a size in bytes"),
            ("cache", "--conf: bad value '' for 'cache'"),
            ("classes:/no/such/map", "--conf: bad value '/no/such/map' for 'classes'"),
        ]:
            for command in (("run",), ("run", "--report"), ("run", "--compare", "glibc"), ("measure",)):
                process = snug(*command, "--conf", conf, SHELL, "-c", "echo ran >&2")
                self.assertEqual((process.returncode, process.stdout, process.stderr.count("\n")), (2, "", 1), process.stderr)
                self.assertIn(words, process.stderr)
                self.assertNotIn("ran", process.stderr)

    def test_a_mistake_in_the_environment_is_said_once(self):
        for command, times in ((("run",), 1), (("run", "--report"), 1), (("run", "--compare", "glibc", "-n", "1"), 1),
                               (("measure",), 1), (("config",), 1), (("classes", "default"), 0), (("doctor",), 0)):
            program = () if command[0] in ("config", "classes") else (ALLOCATING, "9")
            process = snug(*command, *program, SNUG_CONF="purge_aftr:0")
            self.assertEqual(process.stderr.count("unknown key 'purge_aftr'"), times, (command, process.stderr))

    def test_a_mistake_in_the_environment_is_said_once_for_all_processes(self):
        told = "snug: SNUG_CONF: unknown key 'purge_aftr': did you mean 'purge_after'?\n"
        env = shutil.which("env")
        # The shell becomes another program, that one a shell again; one process of those ends before its child does.
        script = f"{ALLOCATING} 1; ({ALLOCATING} 2; {ALLOCATING} 3 &) ; exec {env} {SHELL} -c '{ALLOCATING} 4; exec {ALLOCATING} 5'"
        for command in (("--report", "--"), ("--",)):
            process = run_on_snug(*command, SHELL, "-c", script, SNUG_CONF="purge_aftr:0,cache:1M")
            self.assertEqual(sorted(process.stdout.split()), ["1", "2", "3", "4", "5"])
            self.assertEqual(process.stderr.count(told), 1, process.stderr)
            self.assertEqual(process.stderr.count("SNUG_CONF"), 1, process.stderr)
        # What a script adds has not been said, and what is right is in force behind a mistake that has.
        script = f"SNUG_CONF=$SNUG_CONF,cach:1 {ALLOCATING} 1; {TOOL} config --json"
        process = run_on_snug("--", SHELL, "-c", script, SNUG_CONF="purge_aftr:0,cache:1M")
        self.assertEqual(process.stderr, told + told.replace("purge_aftr", "cach").replace("purge_after", "cache"))
        settings = {entry["key"]: entry["value"] for entry in json.loads(process.stdout.partition("\n")[2])}
        self.assertEqual((settings["cache"], settings["purge_after"]), ("1048576", "1000"))

    def test_a_text_too_long_to_be_marked_is_complained_of_by_each_process(self):
        process = run_on_snug("--", SHELL, "-c", f"{ALLOCATING} 1; exit 0", SNUG_CONF="," * 5000 + "cach:1")
        self.assertEqual((process.stdout, process.stderr.count("did you mean 'cache'?")), ("1\n", 2), process.stderr)

    def test_leaves_the_program_its_own_options(self):
        process = run_on_snug("--", SHELL, "-c", 'echo "$@"', "sh", "--", "--help", "-n")
        self.assertEqual(process.stdout.strip(), "-- --help -n")

    def test_takes_the_first_word_that_is_no_option_for_the_program(self):
        words = (SHELL, "-c", 'echo "$SNUG_CONF: $@"', "sh", "--report", "-n", "--", "--help")
        for options, conf in (((), ""), (("--conf", "cache:1M"), "cache:1M"), (("--conf=cache:1M",), "cache:1M"),
                              (("--conf", "cache:1M", "--"), "cache:1M")):
            process = run_on_snug(*options, *words)
            self.assertEqual((process.stdout, process.stderr), (f"{conf}: --report -n -- --help\n", ""))

    def test_leaves_output_alone(self):
        process = run_on_snug("--", ALLOCATING, "500")
        self.assertEqual((process.stdout, process.stderr, process.returncode), ("500\n", "", 0))

    def test_teaches_what_is_wrong_in_one_line(self):
        for arguments, words in [
            ((), "name a command: run, doctor, measure, record, profile, stats, top, ctl, inspect, config, classes, trace, replay or report"),
            (("--", "ls"), "name a command before --"),
            (("-",), "unknown command '-' (snug --help lists them)"),
            (("--frobnicate",), "unknown option '--frobnicate' (snug --help lists them)"),
            (("frobnicate", "run"), "unknown command 'frobnicate' (snug --help lists them)"),
            (("config", "report"), "'report' is one argument too many (snug config --help tells more)"),
            (("run",), "name a program, as in: snug run ls -l"),
            (("run", "--"), "name a program, as in: snug run ls -l"),
            (("measure",), "name a program, as in: snug measure ls -l"),
            (("run", "--frobnicate", "ls"), "unknown option '--frobnicate' (snug run --help lists them)"),
            (("run", "-x", "ls"), "unknown option '-x' (snug run --help lists them)"),
            (("run", "--conf"), "--conf: 1 required"),
            (("run", "--compare", "glibc", "--json", "out", "--", "ls"), "stands behind '=': --json=out"),
            (("run", "-n", "x", "--", "ls"), "not in range 1 to 10000 (snug run --help tells more)"),
            (("run", "--library", "/no/such.so", "--", "ls"), "no library '/no/such.so'"),
            (("run", "--library", "/etc/passwd", "--", "ls"), "'/etc/passwd' is no shared library"),
            (("run", "--library", "/dev/null", "--", "ls"), "cannot look into '/dev/null'"),
            (("run", "--library", SHELL, "--", "ls"), "is no shared library"),
            (("run", "--library", BYSTANDER, "--", "ls"), "is no libsnug.so: it does not define snug_version"),
            (("run", "--compare", "/etc/passwd", "--", "ls"), "'/etc/passwd' is no shared library"),
            (("run", "-n", "3", "--", "ls"), "--rounds needs --compare"),
        ]:
            process = snug(*arguments)
            self.assertEqual(process.returncode, 2, arguments)
            self.assertIn(words, process.stderr)
            self.assertEqual(process.stderr.count("\n"), 1, process.stderr)

    def test_names_what_was_meant(self):
        """Of each command, and of the commands that these have."""
        for arguments, word, meant, call in [
            (("--vesion",), "option '--vesion'", "--version", "snug"),
            (("recrod", "-o", "x", "ls"), "command 'recrod'", "record", "snug"),
            (("doc",), "command 'doc'", "doctor", "snug"),
            (("run", "--comapre", "glibc", "ls"), "option '--comapre'", "--compare", "snug run"),
            (("run", "--jsn=x", "ls"), "option '--jsn'", "--json", "snug run"),
            (("run", "-report", "ls"), "option '-report'", "--report", "snug run"),
            (("measure", "--wram", "3", "ls"), "option '--wram'", "--warm", "snug measure"),
            (("record", "--ouput", "x", "ls"), "option '--ouput'", "--output", "snug record"),
            (("doctor", "--jsno", "ls"), "option '--jsno'", "--json", "snug doctor"),
            (("config", "--jason"), "option '--jason'", "--json", "snug config"),
            (("classes", "--jso", "dense"), "option '--jso'", "--json", "snug classes"),
            (("classes", "fit", "--max-clases", "x"), "option '--max-clases'", "--max-classes", "snug classes fit"),
            (("trace", "inof", "x"), "command 'inof'", "info", "snug trace"),
            (("trace", "info", "--jsn", "x"), "option '--jsn'", "--json", "snug trace info"),
            (("trace", "synth", "humingbird"), "command 'humingbird'", "hummingbird", "snug trace synth"),
            (("replay", "--alocators", "glibc", "x"), "option '--alocators'", "--allocators", "snug replay"),
        ]:
            process = snug(*arguments)
            self.assertEqual((process.returncode, process.stdout, process.stderr),
                             (2, "", f"snug: unknown {word}: did you mean '{meant}'? ({call} --help lists them)\n"), arguments)
        for arguments, call in ((("trace",), "snug trace"), (("trace", "synth"), "snug trace synth")):
            self.assertRegex(snug(*arguments).stderr, rf"^snug: name a command of {call}: \w+.* \({call} --help tells more\)\n$")

    def test_help_has_examples_and_version_a_number(self):
        for arguments in (("--help",), ("run", "--help"), ("config", "--help")):
            process = snug(*arguments)
            self.assertEqual(process.returncode, 0)
            self.assertIn("Examples:", process.stdout)
        self.assertRegex(snug("--version").stdout, r"^snug \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
