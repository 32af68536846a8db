"""snug-inspect ADDRESS...: in GDB, what addresses of a program on snug are, in a process that GDB has stopped or a core file.

GDB loads this file with libsnug.so where it trusts the folder; elsewhere by `source`. The command asks `snug inspect`,
which has to be in PATH, or named by SNUG_TOOL: of the core file that GDB reads, or of the stopped process; where the
kernel lets snug not read that process's memory (Yama), of a core that GDB writes to a temporary folder.
"""

import os
import re
import shutil
import subprocess
import tempfile

import gdb


class SnugInspect(gdb.Command):
    """Say what addresses are on snug's heap: block, size, state, slab, and what allocated it if that was sampled.
Usage: snug-inspect ADDRESS...
Each ADDRESS is an expression; one with spaces in it stands in quotes."""

    def __init__(self):
        super().__init__("snug-inspect", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        addresses = [hex(int(gdb.parse_and_eval(word)) & (1 << 64) - 1) for word in gdb.string_to_argv(argument)]
        if not addresses:
            raise gdb.GdbError("snug-inspect: name an address, as in: snug-inspect 0x7f2a41c04010")
        tool = os.environ.get("SNUG_TOOL") or shutil.which("snug")
        if tool is None:
            raise gdb.GdbError("snug-inspect: there is no snug command in PATH")
        core = re.search(r"core dump file:\s*`(.*?)', file type", gdb.execute("info files", to_string=True))
        inferior = gdb.selected_inferior()
        connection = getattr(inferior, "connection", None)
        if core:
            self.ask(tool, core[1], addresses)
        elif inferior.pid == 0:
            raise gdb.GdbError("snug-inspect: there is no process, and no core file")
        elif connection is not None and connection.type != "native":
            raise gdb.GdbError("snug-inspect: the process is on another machine, or under a simulator")
        elif not self.ask(tool, str(inferior.pid), addresses, may_fail=True):
            with tempfile.TemporaryDirectory(prefix="snug-inspect-") as folder:
                core = os.path.join(folder, "core")
                gdb.execute("generate-core-file " + core, to_string=True)
                self.ask(tool, core, addresses)

    @staticmethod
    def ask(tool, process, addresses, may_fail=False):
        """Prints the answers. Where the process's memory cannot be read: False, if that may be."""
        asked = subprocess.run([tool, "inspect", process, *addresses], stdin=subprocess.DEVNULL, capture_output=True,
                               text=True, errors="replace", check=False)
        if may_fail and asked.returncode != 0 and "memory cannot be read" in asked.stderr:
            return False
        if asked.returncode != 0:
            raise gdb.GdbError(asked.stderr.strip() or f"{tool} has ended with {asked.returncode}")
        gdb.write(asked.stdout)
        return True


SnugInspect()
