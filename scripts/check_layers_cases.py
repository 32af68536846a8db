"""The self-test of check_layers: a small tree that keeps every rule, and for each rule files that break it.

Each case lays its files over the good tree and names the one violation that must come of it, so that a rule which
can no longer fail, or which fails too much, is found.
"""

import tempfile
from pathlib import Path
from typing import Callable, Iterable, NamedTuple

GOOD = {
    "src/layers.txt": "# lowest first\nbase\nos size # equal rank\nunwind\nspan\nallocator\nc_interface\n",
    "src/CMakeLists.txt": "add_library(x)\n",
    "tools/layers.txt": "on src trace recorder # the library and the traces\ntext process\nrun\n",
    "tools/CMakeLists.txt": "add_executable(y)\n",
    "tools/completion/snug.bash": "complete snug\n",
    "tools/text/table.h": '#pragma once\n#include "size/classes.h"\n#include "snug/snug.h"\n',
    "tools/process/child.h": "#pragma once\n#ifdef __linux__\n#endif\ninline auto path = getenv(\"PATH\");\n",
    "tools/run/run.cc": (
        '#include "process/child.h"\n#include "text/table.h"\n#include "allocator/heap.h"\n[[gnu::cold]] void cold();\n'
        'extern "C" int entry() { return 0; }\n'
    ),
    "include/snug/snug.h": (
        "#ifndef SNUG_SNUG_H\n#define SNUG_SNUG_H\n#if defined(__GNUC__)\n#define API __attribute__((visibility))\n"
        "#endif\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nAPI void* snug_malloc(size_t);\n"
        "struct snug_stats { int threads; };\n#ifdef __cplusplus\n}\n#endif\n#endif\n"
    ),
    "src/base/bits.h": "#pragma once\n#include <stdint.h>\n#if defined(__clang__)\n#endif\n#define COLD __attribute__((cold))\n",
    "src/base/list.h": '#pragma once\n#include "base/bits.h"\n',
    "src/os/pages.h": '#pragma once\n#include "base/bits.h"\n#ifdef __linux__\n#endif\n#ifdef SYS_madvise\n#endif\n',
    "src/size/classes.h": '#pragma once\n#include "base/bits.h"\nstatic_assert(1\'000 == 1000);\n',
    "src/span/span.h": (
        '#pragma once\n#include "base/list.h"\n#include "os/pages.h"\n#include "size/classes.h"\n'
        "/* getenv, asm and __linux__ are only words\n   in a comment */\n"
        '// extern "C" int x = 1; \\\n   __builtin_trap()\n'
        'inline const char* kWords = "__attribute__ getenv // environ";\ninline char quote = \'"\'; // asm\n'
        'inline const char* kRaw = R"(\n#include "nowhere.h"\n__GNUC__)";\n'
        'extern "C" void* __libc_stack_end;\nextern "C" { int declared(int); extern int there; struct S { int a; }; }\n'
        "inline void* operator_like(int) { return nullptr; }\n"
        "inline void* operator new[](size_t, snug::Here here) { return here.memory; }\n"
    ),
    "src/allocator/config.cc": '#include "span/span.h"\n#include "snug/snug.h"\nchar* conf() { return secure_getenv("SNUG_CONF"); }\n',
    "src/c_interface/malloc.cc": (
        '#include "allocator/heap.h"\nextern "C" void* malloc(size_t n) { return take(n); }\n'
        "void* snug_malloc(size_t n) { return take(n); }\nvoid* operator new(size_t n) { return take(n); }\n"
    ),
    "src/span/words.h": '#pragma once\ninline const char* kShown = R"(extern "C" int x = 1;)";\n',
    "src/allocator/heap.h": '#pragma once\n#include "span/span.h"\nvoid* take(size_t);\n',
    "tests/unit/bits_test.cc": '#include "base/bits.h"\n#ifdef __linux__\n#endif\n',
    "scripts/report": "#!/bin/sh\n" + "true\n" * 399,
    "trace/event.h": '#pragma once\n#include <stddef.h>\n',
    "trace/reader.cc": '#include "trace/event.h"\n',
    "recorder/ring.h": '#pragma once\n#include "trace/event.h"\n',
    "recorder/ring.cc": '#include "recorder/ring.h"\n#include "unwind/walk.h"\n#include <atomic>\n',
    "src/unwind/walk.h": '#pragma once\n#include "base/bits.h"\n',
    "tools/run/record.cc": '#include "recorder/ring.h"\n#include "trace/event.h"\n',
    "docs/long.md": "words\n" * 1000,
    "docs/internal-fragmentation.md": "a term of the trade, not an empty name\n",
}


class Case(NamedTuple):
    files: dict[str, str]
    place: str
    what: str


def header(body: str) -> str:
    return "#pragma once\n" + body


CASES = [
    Case({"trace/a.h": header('#include "base/bits.h"\n')}, "trace/a.h:2", "trace/ includes from trace/ and system"),
    Case({"trace/a.h": header('#include "event.h"\n')}, "trace/a.h:2", "trace/ includes from trace/ and system"),
    Case({"trace/a.h": header('#include "trace/gone.h"\n')}, "trace/a.h:2", "trace/ includes from trace/ and system"),
    Case({"trace/a.h": header('#include "recorder/ring.h"\n')}, "trace/a.h:2", "trace/ includes from trace/ and system"),
    Case({"trace/a.h": header("#include <trace/event.h>\n")}, "trace/a.h:2", "is ours"),
    Case({"recorder/a.h": header('#include "snug/snug.h"\n')}, "recorder/a.h:2", "recorder/ includes from recorder/ and"),
    Case({"recorder/a.h": header('#include "text/table.h"\n')}, "recorder/a.h:2", "recorder/ includes from recorder/ and"),
    Case({"recorder/a.h": header('#include "size/size_map.h"\n')}, "recorder/a.h:2", "and src/unwind/ and system headers only"),
    Case({"recorder/a.h": header('#include "recorder/a.h"\n')}, "recorder/a.h:2", "circle of includes"),
    Case({"src/base/a.h": header('#include "trace/event.h"\n')}, "src/base/a.h:2", "no path from src/ to a file"),
    Case({"tools/run/a.h": header('#include "event.h"\n')}, "tools/run/a.h:2", "no path from tools/ or src/ to a file"),
    Case({"tools/run/a.h": header("#include <trace/event.h>\n")}, "tools/run/a.h:2", "is ours"),
    Case({"trace/a.cc": "\n" * 401}, "trace/a.cc:401", "stays within"),
    Case({"src/span/a.h": header('#include "span.h"\n')}, "src/span/a.h:2", "no path from src/"),
    Case({"src/span/a.h": header('#include "../os/pages.h"\n')}, "src/span/a.h:2", "no path from src/"),
    Case({"src/span/a.h": header('#include "span/gone.h"\n')}, "src/span/a.h:2", "no path from src/"),
    Case({"src/span/a.h": header('#include "snug/gone.h"\n')}, "src/span/a.h:2", "no such public header"),
    Case({"src/span/a.h": header("#include <os/pages.h>\n")}, "src/span/a.h:2", "is ours"),
    Case({"src/span/a.h": header("#include <snug/snug.h>\n")}, "src/span/a.h:2", "is ours"),
    Case({"src/span/a.h": header("#include WHERE\n")}, "src/span/a.h:2", "include of a macro (WHERE)"),
    Case({"src/base/a.h": header('#include "span/span.h"\n')}, "src/base/a.h:2", "base/ lies below span/"),
    Case({"src/os/a.h": header('#include "size/classes.h"\n')}, "src/os/a.h:2", "equal rank"),
    Case({"src/size/a.h": header('#include "os/pages.h"\n')}, "src/size/a.h:2", "equal rank"),
    Case({"src/loose.h": header("")}, "src/loose.h:1", "lies in no layer"),
    Case({"src/novel/a.h": header("")}, "src/novel/a.h:1", "lies in no layer"),
    Case({"include/snug/pool.h": header('#include "span/span.h"\n')}, "include/snug/pool.h:2", "public headers only"),
    Case(
        {"src/span/a.h": header('#include "span/b.h"\n'), "src/span/b.h": header('\n#include "span/a.h"\n')},
        "src/span/b.h:3",
        "circle of includes: src/span/a.h -> src/span/b.h -> src/span/a.h",
    ),
    Case({"src/span/a.h": header('#include "span/a.h"\n')}, "src/span/a.h:2", "circle of includes"),
    Case({"src/allocator/a.h": header('#include "text/table.h"\n')}, "src/allocator/a.h:2", "no path from src/ to a file"),
    Case({"include/snug/a.h": header("#include <text/table.h>\n")}, "include/snug/a.h:2", "is ours"),
    Case({"tools/text/a.h": header('#include "table.h"\n')}, "tools/text/a.h:2", "no path from tools/ or src/ to"),
    Case({"tools/run/a.h": header('#include "../text/table.h"\n')}, "tools/run/a.h:2", "no path from tools/ or src/"),
    Case({"tools/run/a.h": header("#include <text/table.h>\n")}, "tools/run/a.h:2", "is ours"),
    Case({"tools/run/a.h": header("#include <size/classes.h>\n")}, "tools/run/a.h:2", "is ours"),
    Case({"tools/run/a.h": header('#include "snug/gone.h"\n')}, "tools/run/a.h:2", "no such public header"),
    Case({"tools/process/a.h": header('#include "text/table.h"\n')}, "tools/process/a.h:2", "equal rank"),
    Case({"tools/text/a.cc": '#include "run/b.h"\n', "tools/run/b.h": header("")}, "tools/text/a.cc:1", "below run/"),
    Case({"tools/main.cc": ""}, "tools/main.cc:1", "lies in no layer of tools/layers.txt"),
    Case({"tools/novel/a.h": header("")}, "tools/novel/a.h:1", "lies in no layer of tools/layers.txt"),
    Case(
        {
            "tools/layers.txt": "on src trace recorder\nsize\ntext process\nrun\n",
            "tools/size/pages.h": header(""),
            "src/size/pages.h": header(""),
            "tools/run/a.cc": '#include "size/pages.h"\n',
        },
        "tools/run/a.cc:1",
        "is tools/size/pages.h and src/size/pages.h",
    ),
    Case(
        {"tools/run/a.h": header('#include "run/b.h"\n'), "tools/run/b.h": header('#include "run/a.h"\n')},
        "tools/run/b.h:2",
        "circle of includes: tools/run/a.h -> tools/run/b.h -> tools/run/a.h",
    ),
    Case(
        {"tools/layers.txt": "on trace recorder\ntext process\nrun\n", "tools/run/run.cc": ""},
        "tools/text/table.h:2",
        "no path from tools/ to",
    ),
    Case({"src/span/a.cc": "#ifdef __linux__\n#endif\n"}, "src/span/a.cc:1", "conditional on the OS (__linux__)"),
    Case({"src/base/a.cc": "\n#if defined(SYS_mmap)\n#endif\n"}, "src/base/a.cc:2", "conditional on the OS (SYS_mmap)"),
    Case({"src/span/a.cc": "#if 1 && \\\n  __GLIBC__ > 1\n#endif\n"}, "src/span/a.cc:1", "(__GLIBC__)"),
    Case({"src/allocator/a.cc": "#if 0\n#elif __GLIBC_PREREQ(2, 36)\n#endif\n"}, "src/allocator/a.cc:2", "(__GLIBC_PREREQ)"),
    Case({"include/snug/a.h": header("#ifdef _WIN32\n#endif\n")}, "include/snug/a.h:2", "conditional on the OS (_WIN32)"),
    Case({"src/span/a.cc": "#ifdef __x86_64__\n#endif\n"}, "src/span/a.cc:1", "conditional on the processor"),
    Case({"src/span/a.cc": "int a __attribute__((unused));\n"}, "src/span/a.cc:1", "compiler dialect (__attribute__)"),
    Case({"src/os/a.cc": "void f() { __builtin_trap(); }\n"}, "src/os/a.cc:1", "compiler dialect (__builtin_trap)"),
    Case({"src/allocator/a.cc": "#if defined(__GNUC__)\n#endif\n"}, "src/allocator/a.cc:1", "compiler dialect (__GNUC__)"),
    Case({"src/allocator/a.cc": "#ifdef __clang__\n#endif\n"}, "src/allocator/a.cc:1", "compiler dialect (__clang__)"),
    Case({"src/span/a.cc": 'void f() { asm volatile("pause"); }\n'}, "src/span/a.cc:1", "compiler dialect (asm)"),
    Case({"src/span/a.cc": "[[gnu::cold]] void f();\n"}, "src/span/a.cc:1", "compiler dialect ([[gnu)"),
    Case({"src/span/a.cc": "#pragma GCC optimize(3)\n"}, "src/span/a.cc:1", "compiler dialect (#pragma GCC optimize(3))"),
    Case({"src/span/a.cc": 'auto a = getenv("HOME");\n'}, "src/span/a.cc:1", "environment read (getenv)"),
    Case({"src/os/a.cc": 'auto a = secure_getenv("HOME");\n'}, "src/os/a.cc:1", "environment read (secure_getenv)"),
    Case({"src/c_interface/a.cc": "extern char** environ;\n"}, "src/c_interface/a.cc:1", "environment read (environ)"),
    Case({"src/allocator/a.cc": 'extern "C" void f(int a) { g(a); }\n'}, "src/allocator/a.cc:1", 'a definition under extern "C"'),
    Case({"src/allocator/a.cc": 'extern "C" {\nint f();\nint h() { return 1; }\n}\n'}, "src/allocator/a.cc:3", "a definition under"),
    Case({"src/allocator/a.cc": 'extern "C" {\nstruct S { int a; };\nint v;\n}\n'}, "src/allocator/a.cc:3", "a definition under"),
    Case({"src/allocator/a.cc": 'extern "C" int v = 1;\n'}, "src/allocator/a.cc:1", "a definition under"),
    Case({"src/allocator/a.cc": "void snug_free(void* block) {\n}\n"}, "src/allocator/a.cc:1", "a definition of snug_free"),
    Case({"src/allocator/a.cc": "void operator delete(void* p) noexcept {}\n"}, "src/allocator/a.cc:1", "a global operator"),
    Case({"tests/util.h": header("")}, "tests/util.h:1", "'util.h' names no thing"),
    Case({"tools/text/string_utils.cc": ""}, "tools/text/string_utils.cc:1", "names no thing"),
    Case({"docs/misc.md": ""}, "docs/misc.md:1", "names no thing"),
    Case({"src/span/detail/a.cc": ""}, "src/span/detail/a.cc:1", "'detail' names no thing"),
    Case({"bench/common/a.py": ""}, "bench/common/a.py:1", "'common' names no thing"),
    Case({"tests/helpers/a.py": ""}, "tests/helpers/a.py:1", "'helpers' names no thing"),
    Case({"src/allocator/internal.cc": ""}, "src/allocator/internal.cc:1", "'internal.cc' names no thing"),
    Case({"src/allocator/a.cc": "int a;\n" * 401}, "src/allocator/a.cc:401", "401 lines"),
    Case({"scripts/report": "#!/bin/sh\n" + "true\n" * 400}, "scripts/report:401", "401 lines"),
    Case({"bench/report.py": "pass\n" * 500}, "bench/report.py:401", "500 lines"),
    Case({"src/allocator/a.h": "int a();\n"}, "src/allocator/a.h:1", "without #pragma once"),
    Case({"tests/a.h": "#ifndef A_H\n#define A_H\n#endif\n"}, "tests/a.h:1", "without #pragma once"),
    Case({"include/snug/a.h": "int a();\n"}, "include/snug/a.h:1", "without #pragma once"),
]


def write_tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def self_test(check: Callable[[Path], Iterable]) -> int:
    failures = []
    for case in [Case({}, "", ""), *CASES]:
        with tempfile.TemporaryDirectory(prefix="check_layers.") as folder:
            write_tree(Path(folder), GOOD | case.files)
            found = [str(violation) for violation in check(Path(folder))]
        expected = f"{case.place}: ... {case.what}" if case.place else "nothing"
        holds = len(found) == 1 and found[0].startswith(f"{case.place}: ") and case.what in found[0]
        if not (holds if case.place else not found):
            failures.append(f"{list(case.files) or 'the good tree'}: expected {expected}; found {found or 'nothing'}")
            if not case.place:
                break  # what the good tree shows would stand in every other case
    for failure in failures:
        print(f"check_layers: self-test: {failure}")
    if failures:
        return 1
    print(f"check_layers: self-test ok: {len(CASES)} bad trees each fail as they should, the good one passes")
    return 0
