"""What the crate snug-sys declares, by hand, beside the headers of C: each function with its parameters, each structure with its
fields, each constant with its value. A declaration that differs would be called wrongly, and no compiler sees it."""

import os
import re
import unittest
from pathlib import Path

SOURCE = Path(os.environ["SNUG_SOURCE"])
CRATE = SOURCE / "bindings/rust/snug-sys/src"
# All of the one file's interface (scripts/amalgamate).
HEADERS = ["snug.h", "heap.h", "limits.h", "compact_heap_c.h", "profile.h", "realtime.h"]
RUST_OF = {
    "void": "c_void", "char": "c_char", "unsigned char": "u8", "int": "c_int", "unsigned": "c_uint", "size_t": "usize", "uint64_t": "u64",
    "double": "f64", "FILE": "c_void",
}
# Structures of which the library alone knows the fields, and macros that say something else.
OPAQUE = {"snug_heap", "snug_compact_heap"}
NOT_VALUES = re.compile(r"SNUG_(?:API|VERSION_\w+|\w+_H)$")


def split(text: str) -> list[str]:
    """The parts between commas that stand in no parentheses."""
    parts = re.split(r",(?![^(]*\))", " ".join(text.split()))
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def c_parameters(text: str) -> list[str]:
    return [rust_of(declaration) for declaration in split(text)]


def rust_of(declaration: str) -> str:
    """The type of a parameter or field of C's, as the crate writes it."""
    function = re.fullmatch(r"(.*)\(\s*\*\s*\w+\s*\)\s*\((.*)\)", declaration)
    if function:
        result = rust_of(function[1].strip() + " result")
        return "fn(" + ", ".join(c_parameters(function[2])) + ")" + ("" if result == "c_void" else f" -> {result}")
    text = re.sub(r"\b(?:struct|enum) ", "", " ".join(declaration.split()))
    levels = re.findall(r"\*(?: ?const)?", text)
    base = re.sub(r"\bconst\b", "", text.split("*")[0]).strip()
    base = base if levels else base.rsplit(" ", 1)[0]
    if base in ("snug_compact_map", "snug_compact_sharing"):
        base = "unsigned"
    rust = RUST_OF.get(base, base)
    constant = bool(re.search(r"\bconst\b", text.split("*")[0]))
    for level in levels:
        rust = ("*const " if constant else "*mut ") + rust
        constant = "const" in level
    return rust


def headers() -> str:
    text = "\n".join((SOURCE / "include/snug" / name).read_text() for name in HEADERS)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def crate() -> str:
    text = "\n".join(path.read_text() for path in sorted(CRATE.glob("*.rs")))
    return re.sub(r"//[^\n]*", "", text)


def c_functions() -> dict[str, tuple[list[str], str]]:
    found = re.findall(r"^(?:SNUG_API )?((?!typedef)[a-z][\w ]*?[ *]+)(snug_\w+)\(((?:[^;{}])*)\);", headers(), re.M)
    return {name: (c_parameters(parameters), rust_of(result + " result")) for result, name, parameters in found}


def rust_type(text: str) -> str:
    """As rust_of() writes it: without the names of a function's parameters, and without its being optional."""
    text = " ".join(text.split()).removesuffix(",")
    optional = re.fullmatch(r"Option<(.*)>", text)
    text = (optional[1] if optional else text).removeprefix('unsafe extern "C" ')
    function = re.fullmatch(r"fn\( ?(.*?),? ?\)(.*)", text)
    if not function:
        return text
    return "fn(" + ", ".join(rust_type(part.split(": ")[-1]) for part in split(function[1])) + ")" + function[2]


def rust_parameters(text: str) -> list[str]:
    return [rust_type(part.split(":", 1)[1]) for part in split(text)]


def rust_functions() -> dict[str, tuple[list[str], str]]:
    found = re.findall(r"pub fn (snug_\w+)\(((?:[^;{}])*?)\)(?:\s*->\s*([^;()]*))?;", crate())
    return {name: (rust_parameters(parameters), rust_type(result) or "c_void") for name, parameters, result in found}


def c_structures() -> dict[str, list[tuple[str, str]]]:
    structures = {}
    for name, body in re.findall(r"^struct (snug_\w+) \{(.*?)^\};", headers(), re.M | re.S):
        fields = []
        for declaration in (line.strip() for line in body.split(";") if line.strip()):
            function = re.search(r"\(\s*\*\s*(\w+)\s*\)", declaration)
            if function:
                fields.append((function[1], rust_of(declaration)))
                continue
            first, *others = split(declaration)
            names = [re.search(r"\w+$", first)[0], *others]
            fields += [(field, rust_of(first)) for field in names]
        structures[name] = fields
    return structures


def rust_structures() -> dict[str, list[tuple[str, str]]]:
    found = re.findall(r"pub struct (snug_\w+) \{(.*?)^\}", crate(), re.M | re.S)
    return {name: [(field, rust_type(kind)) for field, kind in re.findall(r"pub (\w+):\s*(.*?),\s*(?=pub |#|$)", body, re.S)]
            for name, body in found}


def value(text: str) -> int:
    text = re.sub(r"\(size_t\)|\bu\b|(?<=\d)u", "", text).replace("usize::MAX", "-1")
    return eval(text, {"__builtins__": {}})


class Declarations(unittest.TestCase):
    maxDiff = None

    def test_functions(self):
        there = c_functions()
        self.assertGreater(len(there), 80)
        self.assertEqual(rust_functions(), there)

    def test_structures(self):
        there = c_structures()
        self.assertGreater(len(there), 12)
        self.assertEqual(rust_structures(), there)
        # Without it Rust may lay the fields out in another order.
        for attributes, name in re.findall(r"((?:^#\[.*\]\n)*)^pub struct (snug_\w+) ", crate(), re.M):
            self.assertIn("#[repr(C)]", attributes, name)
        for name in OPAQUE:
            self.assertRegex(crate(), rf"opaque! \{{\s*{name}\s*\}}")

    def test_constants(self):
        there = {name: value(text) for name, text in re.findall(r"^#define (SNUG_\w+) (\S.*)$", headers(), re.M)
                 if not NOT_VALUES.match(name)}
        there |= {name: value(text) for name, text in re.findall(r"^  (SNUG_\w+) = (\d+),?\s*$", headers(), re.M)}
        self.assertGreater(len(there), 15)
        declared = {name: value(text) for name, text in re.findall(r"pub const (SNUG_\w+): \w+ = ([^;]+);", crate())}
        self.assertEqual(declared, there)


if __name__ == "__main__":
    unittest.main()
