"""snug doctor of scripts of the shell: which program they become, or why that cannot be told. None of them is ever run."""

import json
import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path

from test_doctor import PROGRAMS, doctor
from tool_under_test import TOOL, clean_environment, run_on_snug, snug


class ScriptsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def script(self, text, name="script"):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def test_reads_what_a_script_of_the_shell_becomes(self):
        static = PROGRAMS / "static"
        (self.folder / "static").symlink_to(static)
        beside = str(self.folder / "static")
        for text, program in [
            (f"exec {static} \"$@\"", static),
            (f"#!/usr/bin/env bash\nset -e\n[ -n \"$DEBUG\" ] && set -x\nexec '{static}' -x $1 # behind", static),
            ('exec "$(dirname "$0")/static"', beside),
            ("exec `dirname $0`/static", beside),
            ('exec "${0%/*}/static"', beside),
            ('here=$(cd "$(dirname -- "$0")" && pwd -P)\nexec "$here"/static', beside),
            (f"FOLDER={PROGRAMS}\nNAME=${{NAME_OF_NOTHING:-static}}\nexec $FOLDER/${{NAME}}", static),
            ('exec "$FROM_OUTSIDE"/static', static),
            (f"export PATH={PROGRAMS}:$PATH\nexec static", static),
            (f"LANG=C exec -a other env X=1 {static}", static),
            (f"cat <<END\nexec /bin/ls\nEND\nexec >/dev/null 2>&1\ncd /\nexec \\\n  {static}", static),
            (f"if [ $# = 0 ]; then\n  exec {static} --all\nelse\n  echo 'exec /bin/ls'\nfi\nexec {static} >log", static),
            (f"case $1 in\n  a) echo;; (b) exec {static};;\nesac\nf() {{ exec {static}; }}\nf; exec {static} || exit 1", static),
            (f"'''exec' {static} \"$0\" \"$@\"\n' '''\nimport sys\n", static),
            ("exec static", static),
        ]:
            with self.subTest(text):
                script = self.script(text if text.startswith("#!") else "#!/bin/sh\n" + text)
                status, diagnosis = doctor(script, PATH=f"{PROGRAMS}:{os.environ['PATH']}", FROM_OUTSIDE=str(PROGRAMS))
                self.assertEqual((status, diagnosis["program"], diagnosis["scripts"]), (1, str(program), [str(script)]))
                self.assertEqual([finding["id"] for finding in diagnosis["findings"] if finding["id"] in ("static", "script")],
                                 ["static", "script"])
        said = snug("doctor", str(self.script(f"#!/bin/sh\nexec {static}\n"))).stdout
        self.assertIn(f"{static}, which {self.folder}/script becomes: in the way of snug: it is linked statically", said)

    def test_says_if_a_script_alone_does_not_tell(self):
        static = PROGRAMS / "static"
        for text, reason in [
            ("echo it", "It starts programs, and becomes none of them"),
            (f"{static} x", "It starts programs, and becomes none of them"),
            ("exec >/dev/null\nls", "It starts programs, and becomes none of them"),
            ('exec "$@"', 'What it becomes, by exec "$@", is known only when it runs'),
            ("exec $(command -v ls)", "is known only when it runs"),
            (f"if true; then exec {static}; fi\nls", f"Whether it becomes '{static}' (exec) hangs on conditions"),
            (f"true && exec {static}\nls", "hangs on conditions"),
            (f"f() {{ exec {static}; }}\nf", "hangs on conditions"),
            (f"function f {{\n exec {static}\n}}\nf", "hangs on conditions"),
            (f"exec {static} &\nwait", "hangs on conditions"),
            (f"test -e /x && exec /bin/ls\nexec {static}", f"It becomes either '/bin/ls' or '{static}'"),
            ("cd /; exec bin/ls", "Where 'bin/ls', which it becomes (exec), lies is known only when it runs"),
            ("PATH=$1; exec ls", "Where 'ls'"),
            (f"P={static}\n. /etc/profile\nexec $P", "is known only when it runs"),
            (f"P={static}\nread P\nexec $P", "is known only when it runs"),
            (f"P={static}\nif true; then P=/bin/ls; fi\nexec $P", "is known only when it runs"),
            ("exec /no/such/program", "It becomes '/no/such/program' (exec), which is not there"),
            ('exec "$0"', "a script that it has come from"),
            ('exec "$(', "is known only when it runs"),
        ]:
            with self.subTest(text):
                script = self.script("#!/bin/sh\n" + text)
                status, diagnosis = doctor(script)
                self.assertEqual((status, Path(diagnosis["program"]).name), (0, "sh"))
                found, = (finding for finding in diagnosis["findings"] if finding["id"] == "script")
                self.assertIn("cannot be told by reading it", found["what"])
                self.assertIn(reason, found["why"])
                self.assertIn(f"snug run --report {script}", found["remedy"])
                self.assertIn("nothing stands in the way of snug in the shell itself", snug("doctor", str(script)).stdout)

    def test_never_runs_a_script(self):
        trace = self.folder / "trace"
        script = self.script(f"#!/bin/sh\ntouch {trace}\nhere=$(touch {trace})\nexec $(touch {trace}; echo /bin/ls)")
        doctor(script)
        self.assertFalse(trace.exists())

    def test_survives_damaged_scripts(self):
        randomness = random.Random(41)
        pieces = ["exec ", "$(", "${", "`", '"', "'", "\\", "(", ")", "}", "{ ", "if ", "fi\n", "case x in ", "esac", "<<E\n", "E\n",
                  "&&", "||", ";", "|", "&", ">", "<", "2>", "$0", "%/*}", "##*/}", ":-", "A=", "/bin/ls", "dirname ", "cd ", "pwd ",
                  "\n", " ", "\0", "\xff"]
        for _ in range(150):
            script = self.script("")
            script.write_bytes(b"#!/bin/sh\n" + "".join(randomness.choices(pieces, k=randomness.randrange(60))).encode("latin-1"))
            process = snug("doctor", str(script))
            self.assertIn(process.returncode, (0, 1), (script.read_bytes(), process.stderr))
        for deep in ('"$(' * 30000, "${A:-" * 30000, "(" * 30000, '`"' * 30000, "$($(" * 30000):
            self.assertEqual(snug("doctor", str(self.script("#!/bin/sh\nexec " + deep))).returncode, 0, deep[:8])

    def shims(self, tool="pyenv"):
        """A folder as pyenv keeps it: several versions, a shim, and a file that names the version."""
        root = self.folder / "root"
        for version, name, program in [("1.2.3", "static", "static_pie"), ("1.2.10", "static", "static"),
                                       ("1.3.0", "other", "static"), ("named", "static", "exported_malloc")]:
            link = root / "versions" / version / "bin" / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(PROGRAMS / program)
        (root / "shims").mkdir()
        shim = root / "shims" / "static"
        shim.write_text(f'#!/usr/bin/env bash\nset -e\nprogram="${{0##*/}}"\nexec "{root}/libexec/{tool}" exec "$program" "$@"\n')
        shim.chmod(0o755)
        (root / "version").write_text("# global\n1.2\n")
        return root, shim

    def test_follows_a_shim_to_the_version_that_is_meant(self):
        root, shim = self.shims()
        project = self.folder / "project"
        (project / "below").mkdir(parents=True)

        def meant(folder=project, **changes):
            # The tests may themselves be run by a shim, which names its version so.
            environment = clean_environment(**{"PYENV_VERSION": "", **changes})
            process = subprocess.run([TOOL, "doctor", "--json", shim], cwd=folder, env=environment, text=True,
                                     stdout=subprocess.PIPE, check=False)
            diagnosis = json.loads(process.stdout)
            found, = (finding for finding in diagnosis["findings"] if finding["id"] == "script")
            return os.path.relpath(diagnosis["program"], root / "versions"), found["why"]

        self.assertEqual(meant(), ("1.2.10/bin/static",
                                   f"It is a shim of pyenv, and {root}/version names 1.2. It was read, not run."))
        self.assertEqual(meant(PYENV_VERSION="1.2.3")[0], "1.2.3/bin/static")
        self.assertEqual(meant(PYENV_VERSION="1.3.0:named")[0], "named/bin/static")
        self.assertIn("PYENV_VERSION names named", meant(PYENV_VERSION="named")[1])
        (project / ".python-version").write_text("named\n")
        for folder in (project, project / "below"):
            program, why = meant(folder)
            self.assertEqual(program, "named/bin/static")
            self.assertIn(f"{project}/.python-version names named", why)
        path = f"{root}/shims:{PROGRAMS}:{os.environ['PATH']}"
        self.assertEqual(meant(PYENV_VERSION="system", PATH=path)[0], os.path.relpath(PROGRAMS / "static", root / "versions"))
        program, why = meant(PYENV_VERSION="1.3.0", PATH="/usr/bin:/bin")
        self.assertEqual(Path(program).name, "bash")
        self.assertIn("no version that PYENV_VERSION names has 'static'", why)

    def test_follows_shims_of_other_tools_and_scripts_for_them(self):
        root, shim = self.shims("rbenv")
        self.assertEqual(doctor(shim, RBENV_VERSION="1.2.3")[1]["program"], str(root / "versions/1.2.3/bin/static"))
        program = doctor(shim, RBENV_VERSION="1.2", PATH="/usr/bin:/bin")[1]["program"]
        self.assertEqual(Path(program).name, "bash", "rbenv takes whole names")
        job = self.script("#!/usr/bin/env static\n", "job")
        path = f"{root}/shims:/usr/bin:/bin"
        _, diagnosis = doctor(job, RBENV_VERSION="1.2.3", PATH=path)
        self.assertEqual((diagnosis["program"], diagnosis["scripts"]),
                         (str(root / "versions/1.2.3/bin/static"), [str(job), str(shim)]))
        process = run_on_snug(str(job), RBENV_VERSION="1.2.3", PATH=path)
        self.assertIn("job: in the way of snug: it is linked statically (snug doctor", process.stderr)


if __name__ == "__main__":
    unittest.main()
