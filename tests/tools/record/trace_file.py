"""A reader of traces, written from docs/trace-format.md alone: what `snug record` writes is checked by it, and it by that."""

import struct
from pathlib import Path
from typing import Iterator, NamedTuple

OPERATIONS = """none malloc calloc realloc reallocarray aligned_alloc memalign posix_memalign valloc pvalloc new new[]
new_nothrow new[]_nothrow new_aligned new[]_aligned new_aligned_nothrow new[]_aligned_nothrow free free_sized
free_aligned_sized delete delete[] delete_nothrow delete[]_nothrow delete_sized delete[]_sized delete_aligned
delete[]_aligned delete_aligned_nothrow delete[]_aligned_nothrow delete_sized_aligned delete[]_sized_aligned found
usable_size trim thread_begin thread_end fork exec exit pause resume lost map unmap remap break sample module frame
number touched""".split()
# b block, s size, a alignment, v varint, i signed, t text
FIELDS = {name: "s" for name in ("malloc", "calloc", "valloc", "pvalloc", "new", "new[]", "new_nothrow", "new[]_nothrow")}
FIELDS |= {name: "bs" for name in ("realloc", "reallocarray", "free_sized", "delete_sized", "delete[]_sized")}
FIELDS |= {name: "sa" for name in OPERATIONS[5:8] + OPERATIONS[14:18]}
FIELDS |= {name: "b" for name in ("free", "delete", "delete[]", "delete_nothrow", "delete[]_nothrow")}
FIELDS |= {name: "ba" for name in OPERATIONS[27:31]}
FIELDS |= {"free_aligned_sized": "bas", "delete_sized_aligned": "bsa", "delete[]_sized_aligned": "bsa"}
FIELDS |= {"found": "bs", "usable_size": "bs", "trim": "s", "thread_begin": "vv", "thread_end": "", "fork": "v"}
FIELDS |= {"exec": "t", "exit": "i", "pause": "", "resume": "", "lost": "v", "map": "vvv", "unmap": "vv", "remap": "vvvv"}
FIELDS |= {"break": "vi", "sample": "vv", "module": "vtt", "frame": "vvvv", "number": "v", "touched": "bvs"}
ALLOCATING = OPERATIONS[1:18]


class Event(NamedTuple):
    place: tuple
    operation: str
    refused: bool
    thread: int
    time: int
    block: tuple | None  # (thread, number)
    result: tuple | None
    size: int
    alignment: int
    values: list
    stack: int = 0

    def allocates(self) -> bool:
        return self.operation in ALLOCATING and not self.refused

    def frees(self) -> bool:
        if self.block is None or self.operation in ("found", "usable_size", "touched"):
            return False
        return not self.refused or self.size == 0


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def crc_row(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value


CRC_TABLE = [crc_row(value) for value in range(256)]


class Chunk:
    """The events of one chunk, each with its place among its thread's."""

    def __init__(self, header: bytes, payload: bytes) -> None:
        self.kind, self.flags, self.thread, self.serial = struct.unpack_from("<HHII", header, 12)
        self.time, self.turn, self.number = struct.unpack_from("<QQQ", header, 24)
        [self.process] = struct.unpack_from("<I", header, 48)
        self.events, self.last_time, self.last_turn = struct.unpack_from("<IQQ", header, 76)
        self.payload = payload
        self.at = 0
        self.foreign = 0

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.payload[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self) -> int:
        value = self.varint()
        return -(value >> 1) - 1 if value & 1 else value >> 1

    def block(self) -> tuple | None:
        value = self.varint()
        if value == 0:
            return None
        if value % 2 == 0:
            return (self.thread, self.number - value // 2)
        self.foreign += self.signed()
        return (value // 2, self.foreign)

    def text(self) -> str:
        """A build-id is bytes: each is a character here."""
        length = self.varint()
        self.at += length
        return self.payload[self.at - length : self.at].decode("latin-1")

    def read(self) -> Iterator[Event]:
        count = 0
        while self.at < len(self.payload) and self.payload[self.at] != 0:
            head = self.payload[self.at]
            self.at += 1
            took = False
            if head & 0x80:
                step = self.varint()
                took = step % 2 == 1
                self.turn += step // 2
            self.time += self.varint()
            operation = OPERATIONS[head & 0x3F]
            found = {"block": None, "size": 0, "alignment": 0}
            values = []
            for field in FIELDS[operation]:
                if field == "b":
                    found["block"] = self.block()
                elif field in "sa":
                    found["size" if field == "s" else "alignment"] = self.varint()
                else:
                    values.append({"v": self.varint, "i": self.signed, "t": self.text}[field]())
            stack = self.varint() if self.flags & 1 and operation in ALLOCATING else 0
            refused = bool(head & 0x40)
            result = None
            if operation in ALLOCATING and not refused:
                result = (self.thread, self.number)
                self.number += 1
            if operation == "number":
                self.number = values[0]
            place = (self.turn, not took, self.time, self.thread, self.serial, count)
            count += 1
            yield Event(place, operation, refused, self.thread, self.time, **found, result=result, values=values, stack=stack)
        assert (count, self.time, self.turn) == (self.events, self.last_time, self.last_turn), "as the header says"


class TraceFile:
    """The file's header, and its chunks by the number of the process."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        magic, version, begin, self.process, self.started = struct.unpack_from("<8sHHIQ", data)
        assert (magic, version, begin) == (b"\x89snugtr\n", 3, 64)
        assert struct.unpack_from("<I", data, 60)[0] == crc32c(data[:60])
        self.path = path
        self.chunks: dict[int, list[Chunk]] = {}
        at = begin
        end = data.rindex(b"\x89snuend\n") - 8  # the trailer
        while at < end:
            header = data[at : at + 96]
            magic, checksum, span = struct.unpack_from("<4sII", header)
            assert magic == b"snCk" and checksum == crc32c(header[8:56]), f"{path}: no chunk at {at}"
            state, checksum, stored, _, codec = struct.unpack_from("<4sIIII", header, 56)
            payload = data[at + 96 : at + 96 + stored]
            assert state == b"SEAL" and codec == 0 and checksum == crc32c(header[64:] + payload)
            chunk = Chunk(header, payload)
            assert (chunk.process == 0) == (chunk.kind == 3), "the index is of no process, all else of one"
            if chunk.kind != 3:
                self.chunks.setdefault(chunk.process, []).append(chunk)
            at += span

    def traces(self) -> list["Trace"]:
        assert sorted(self.chunks) == list(range(1, len(self.chunks) + 1)), "no number is left out"
        return [Trace(self.path, number, self) for number in sorted(self.chunks)]


class Trace:
    """Of one process of a file."""

    def __init__(self, path: Path, number: int = 1, file: TraceFile | None = None) -> None:
        file = file or TraceFile(path)
        self.number = number
        self.facts: dict[str, str] = {}
        chunks = [chunk for chunk in file.chunks[number] if chunk.kind == 1]
        for chunk in file.chunks[number]:
            if chunk.kind == 2:
                self.facts |= dict(line.split("\t", 1) for line in chunk.payload.decode().splitlines())
        self.process = int(self.facts.get("process", file.process))
        self.started = int(self.facts.get("started", file.started))
        serials: dict[int, int] = {}
        for chunk in chunks:
            assert chunk.serial == serials.get(chunk.thread, 0), f"{path}: a chunk of thread {chunk.thread} is missing"
            serials[chunk.thread] = chunk.serial + 1
        self.events = sorted((event for chunk in chunks for event in chunk.read()), key=lambda event: event.place)

    def check(self) -> None:
        """In the order of the trace, each block that goes has come, and went once; nothing follows a thread's end."""
        ended: set[int] = set()
        live: set[tuple] = set()
        known: set[tuple] = set()
        for event in self.events:
            assert event.thread not in ended, f"{event}: the thread has ended"
            if event.operation == "thread_end":
                ended.add(event.thread)
            if event.operation == "found":
                assert event.block not in known, event
                known.add(event.block)
                live.add(event.block)
            elif event.block is not None:
                assert event.block in live, f"{event}: the block is not there"
                if event.frees():
                    live.remove(event.block)
            if event.result is not None:
                assert event.result not in known, event
                known.add(event.result)
                live.add(event.result)

    def stacks(self) -> dict[int, list[tuple[str, int]]]:
        """By id, innermost first: each frame's module and address. Each is defined before its use, and once."""
        modules = {0: ""}
        stacks: dict[int, list[tuple[str, int]]] = {0: []}
        for event in self.events:
            if event.operation == "module":
                assert event.values[0] not in modules
                modules[event.values[0]] = event.values[2]
            elif event.operation == "frame":
                stack, caller, module, address = event.values
                assert stack not in stacks
                stacks[stack] = [(modules[module], address), *stacks[caller]]
            assert event.stack in stacks, event
        return stacks

    def count(self, *operations: str) -> int:
        return sum(event.operation in operations for event in self.events)

    def bytes(self, *operations: str) -> int:
        return sum(event.size for event in self.events if event.operation in operations)
