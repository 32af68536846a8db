"""`snug inspect CORE` of cores that mean ill, or that are no longer of the files that they name: one line, or what is true of them."""

import ctypes
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import test_inspect
from test_inspect import process
from test_inspect_core import GDB, MAGIC, dump, inspected, stop
from tool_under_test import TOOL, clean_environment, snug

LOAD, NOTE = 1, 4
WRITABLE = 6
NT_FILE = 0x46494C45
MACHINE = {"x86_64": 62, "aarch64": 183}.get(os.uname().machine)
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38


def program_header(kind, offset, length, address=0):
    return struct.pack("<IIQQQQQQ", kind, WRITABLE, offset, address, 0, length, length if kind == LOAD else 0, 4096)


def write_core(path, headers, content=b"", length=0):
    """`headers`: of the place where the content begins, which is given."""
    begin = (64 + 56 * len(headers) + 4095) // 4096 * 4096
    elf = b"\x7fELF" + bytes([2, 1, 1, 0]) + bytes(8)
    elf += struct.pack("<HHIQQQIHHHHHH", 4, MACHINE, 1, 0, 64, 0, 0, 64, 56, len(headers), 64, 0, 0)
    with open(path, "wb") as file:
        file.write(elf + b"".join(make(begin) for make in headers))
        file.seek(begin)
        file.write(content)
        file.truncate(begin + max(length, len(content)))


def note(kind, content, name=b"CORE\0\0\0\0", length=5):
    return struct.pack("<III", length, len(content), kind) + name + content


def segments_of(content):
    """(file offset, address, length in the file) of what the core has of the memory."""
    first, = struct.unpack_from("<Q", content, 32)
    count, = struct.unpack_from("<H", content, 56)
    headers = [struct.unpack_from("<IIQQQQQQ", content, first + 56 * i) for i in range(count)]
    return [(one[2], one[3], one[5]) for one in headers if one[0] == LOAD]


def place_of(content, address):
    return next(offset + address - start for offset, start, length in segments_of(content) if start <= address < start + length)


def note_of(content):
    """Where the core has the note of the allocator; with its address."""
    place = -1
    while True:
        place = content.index(MAGIC, place + 1)
        for offset, start, length in segments_of(content):
            address = start + place - offset
            if offset <= place < offset + length and struct.unpack_from("<Q", content, place + 16)[0] == address:
                return place, address


def refuse_filters():
    """In a child that is about to be the tool: from now on the kernel refuses filters of system calls."""
    prctl = {"x86_64": 157, "aarch64": 167}[os.uname().machine]
    rules = [(0x20, 0, 0, 0), (0x15, 0, 3, prctl), (0x20, 0, 0, 16), (0x15, 0, 1, PR_SET_SECCOMP), (0x06, 0, 0, 0x00050000 | 22),
             (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *rule) for rule in rules))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(rules), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, 2, ctypes.c_void_p(ctypes.addressof(program))) == 0, os.strerror(ctypes.get_errno())


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        self.core = self.folder / "hostile.core"

    def inspect_under(self, address, before):
        return subprocess.run([TOOL, "inspect", self.core, hex(address)], env=clean_environment(), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, preexec_fn=before, check=False)


class AbsurdFileTest(FolderTest):
    """A file of some bytes that asks for hours of work, or for all memory, before a filter is in place."""

    def test_many_segments_at_one_place(self):
        length = 64 << 20
        write_core(self.core, [lambda begin, i=i: program_header(LOAD, begin, length, (1 << 40) + i * (length + 4096))
                               for i in range(2000)], length=length)
        self.assertIn("is damaged", inspected(self.core, 0x1000, status=1))

    def test_many_notes_at_one_place(self):
        count = 100000
        content = note(NT_FILE, struct.pack("<QQ", count, 4096) + struct.pack("<QQQ", 0x1000, 0x2000, 0) * count + bytes(count))
        load = [lambda begin: program_header(LOAD, begin + len(content), 4096, 0x10000)]
        notes = [lambda begin: program_header(NOTE, begin, len(content))]
        write_core(self.core, notes * 1000 + load, content + bytes(4096))
        self.assertIn("is damaged", inspected(self.core, 0x1000, status=1))
        write_core(self.core, notes + load, content + bytes(4096))
        self.assertIn("has no", inspected(self.core, 0x1000, status=1))

    def test_more_mappings_than_a_process_may_have(self):
        count = (1 << 20) + 1
        content = note(NT_FILE, struct.pack("<QQ", count, 4096) + bytes(25 * count))
        write_core(self.core, [lambda begin: program_header(NOTE, begin, len(content))], content)
        self.assertIn("is damaged", inspected(self.core, 0x1000, status=1))

    def test_a_hole_as_long_as_files_may_be(self):
        length = 1 << 42
        write_core(self.core, [lambda begin: program_header(LOAD, begin, length, 1 << 40)], length=length)
        asked = self.inspect_under(0x1000, lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)))
        self.assertEqual((asked.returncode, asked.stderr.count("\n")), (1, 1), asked)
        self.assertIn("has no heap of snug's", asked.stderr)


@unittest.skipIf(GDB is None, "there is no gdb (apt-get install gdb)")
class RecordsTest(FolderTest):
    def dumped(self, conf=""):
        """A core's bytes, and what its program says of its addresses."""
        with process(conf) as child:
            dump(child.pid, self.core)
            return bytearray(self.core.read_bytes()), child.at

    def test_no_answer_without_a_filter(self):
        _, at = self.dumped()
        asked = self.inspect_under(at["live"][0][0], refuse_filters)
        self.assertEqual((asked.returncode, asked.stdout, asked.stderr.count("\n")), (1, "", 1), asked)
        self.assertIn("it is not read without a filter of system calls, which the kernel refuses: Invalid argument", asked.stderr)

    def test_addresses_that_no_memory_is_left_for(self):
        _, at = self.dumped()
        asked = self.inspect_under(at["live"][0][0], lambda: resource.setrlimit(resource.RLIMIT_AS, (128 << 20, 128 << 20)))
        self.assertEqual((asked.returncode, asked.stderr.count("\n")), (1, 1), asked)
        self.assertIn("no memory at its addresses: Cannot allocate memory", asked.stderr)

    def test_a_stack_that_says_it_is_longer_than_one_can_be(self):
        content, at = self.dumped("check:sample")
        told = inspected(self.core, *[address for address, _ in at["sampled"]])
        block, size = next((int(one["start"], 16), one["size"]) for one in told if one.get("in") == "guarded_page")
        slot = content.index(struct.pack("<QQ", block, size))
        self.assertIn(struct.unpack_from("<I", content, slot + 28)[0], range(1, 17))
        for count in (17, 64, 4000, 0xFFFFFFFF):
            struct.pack_into("<I", content, slot + 28, count)
            self.core.write_bytes(content)
            told, = inspected(self.core, block)
            self.assertEqual((told["start"], len(told["stack"])), (hex(block), 16))

    def planted(self, content, near, layout):
        """A copy of the allocator's note, behind an address, that is its own."""
        place, address = note_of(content)
        allocator, its_layout = struct.unpack_from("<QQ", content, place + 24)
        there = near + (address - near) % 64
        copy = bytearray(content[place:place + 72])
        struct.pack_into("<QQQ", copy, 16, there, allocator + there - address, its_layout ^ layout)
        to = place_of(content, there)
        content[to:to + len(copy)] = copy

    def test_a_note_that_is_foreign_or_leads_nowhere_spoils_no_answer(self):
        for layout, why in ((1, "its libsnug 0.1.0 is of another build"), (0, "damaged|missing")):
            content, at = self.dumped()
            self.planted(content, at["data"][0][0], layout)
            self.core.write_bytes(content)
            asked = snug("inspect", "--json", str(self.core), hex(at["live"][0][0]))
            self.assertEqual((asked.returncode, asked.stderr.count("\n")), (0, 1), asked)
            self.assertRegex(asked.stderr, f"^snug: passed over: core .*({why})")
            self.assertEqual(json.loads(asked.stdout)["state"], "live")

    def test_of_any_number_of_notes_a_few_are_asked(self):
        content, at = self.dumped()
        for each in range(12):
            self.planted(content, at["data"][0][0] + each * 128, 0)
        self.core.write_bytes(content)
        asked = snug("inspect", str(self.core), hex(at["live"][0][0]))
        self.assertIn(asked.stderr.count("\n"), (1, 8), asked)  # the true one is among the eight, or not

    def named(self, address):
        asked = snug("inspect", "--json", str(self.core), hex(address))
        self.assertEqual(asked.returncode, 0, asked)
        return [call["function"] for call in json.loads(asked.stdout)["functions"]][:3], asked.stderr

    def test_functions_are_named_by_the_files_that_the_process_had(self):
        program = self.folder / "program"
        shutil.copy(test_inspect.ADDRESSES, program)
        names = ["hold", "hold_sampled", "main"]
        with mock.patch.object(test_inspect, "ADDRESSES", str(program)):
            with process("profile:8K") as child:
                places = [address for address, _ in child.at["sampled"]]
                dump(child.pid, self.core)
                bare = self.folder / "bare.core"
                Path(f"/proc/{child.pid}/coredump_filter").write_text("0x23", encoding="ascii")  # no headers of ELF files
                dump(child.pid, bare)
                sampled = next(int(one["address"], 16) for one in inspected(self.core, *places) if "stack" in one)
                stop(child)
                told, = inspected(child.pid, sampled)
                self.assertEqual([call["function"] for call in told["functions"]][:3], names)
        self.assertEqual(self.named(sampled)[0], names)
        self.core.rename(self.folder / "whole.core")
        bare.rename(self.core)
        without, why = self.named(sampled)
        self.assertRegex(" ".join(without), r"^program\+0x\w+ program\+0x\w+ program\+0x\w+$")
        self.assertIn(f"snug: no names of '{program}': its build-id is not known\n", why)
        # The next build, under the same name.
        (self.folder / "whole.core").rename(self.core)
        content = bytearray(program.read_bytes())
        content[content.index(note(3, bytes(20), b"GNU\0", 4)[:16]) + 16] ^= 1
        program.unlink()
        program.write_bytes(content)
        later, why = self.named(sampled)
        self.assertEqual(later, without)
        self.assertIn(f"snug: no names of '{program}': is another build by now\n", why)


if __name__ == "__main__":
    if MACHINE is None:
        print("skipped: no cores of this machine are written here")
        sys.exit(77)
    unittest.main()
