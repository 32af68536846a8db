"""names_on_page.py LIBSNUG INCLUDES PAGE: what a page names of snug is there, as the library itself and its headers say.

Names are the identifiers that begin with snug_, the settings written as `key:value` in the last column of a table, the
headers and classes, and the fields of struct snug_stats.
"""

import ctypes
import re
import sys
from pathlib import Path

NUMBERS = {9: "nine", 10: "ten", 11: "eleven", 12: "twelve", 13: "thirteen"}


class ConfigEntry(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in ("key", "unit", "default_value", "value", "origin", "help")]


def keys_of(library: ctypes.CDLL) -> set[str]:
    keys, entry = set(), ConfigEntry()
    while library.snug_config_get(ctypes.c_size_t(len(keys)), ctypes.byref(entry)) == 0:
        keys.add(entry.key.decode())
    return keys


def faults(library: ctypes.CDLL, includes: Path, page: str) -> list[str]:
    headers = "".join(path.read_text() for path in sorted(includes.rglob("*.h")))
    types = set(re.findall(r"struct (snug_\w+)", headers))
    ours = "\n".join(line.rstrip(" |").rpartition("|")[2] for line in page.splitlines() if line.startswith("|"))
    keys = keys_of(library)
    wrong = [f"no function {name}" for name in set(re.findall(r"\bsnug_\w+", page)) - types if not hasattr(library, name)]
    wrong += [f"no setting {key}" for key in set(re.findall(r"`([a-z_]+):\w", ours)) - keys]
    wrong += [f"no field {name}" for name in set(re.findall(r"\bbytes_\w+", page)) if not re.search(rf"\b{name};", headers)]
    wrong += [f"no header {name}" for name in set(re.findall(r"`(snug/\w+\.h)`", page)) if not (includes / name).is_file()]
    wrong += [f"no {name}" for name in set(re.findall(r"`(?:snug::)?(Pool\w*|\w+Resource|Allocator)\b", page)) if f" {name}" not in headers]
    if f"{NUMBERS.get(len(keys), len(keys))}, all in" not in page:
        wrong.append(f"the page does not say that there are {len(keys)} settings")
    return sorted(wrong)


def main() -> None:
    library, includes, page = ctypes.CDLL(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]).read_text()
    planted = faults(library, includes, page.replace(", all in", " or more, all in") + "\n| `purge_aftr:0`, snug_fre, bytes_inuse, `snug/poool.h` |\n")
    if len(planted) < 5:
        sys.exit(f"FAILED: of five planted faults only these were found: {planted}")
    wrong = faults(library, includes, page)
    sys.exit(f"FAILED: {sys.argv[3]}: " + "; ".join(wrong) if wrong else 0)


main()
