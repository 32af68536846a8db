"""needs_memcpy_only.py: the archive for hosts without an OS leaves memcpy undefined and nothing else, and shows the
functions of snug/cell_heap_c.h and nothing else.

Usage: needs_memcpy_only.py libsnug_cell.a
"""

import re
import subprocess
import sys
from pathlib import Path

HEADER = Path(__file__).resolve().parents[3] / "include" / "snug" / "cell_heap_c.h"
# Where position-independent code finds addresses; the linker makes it.
LINKER = {"_GLOBAL_OFFSET_TABLE_"}


def main() -> None:
    listed = subprocess.run(["nm", "-C", sys.argv[1]], check=True, capture_output=True, text=True).stdout
    symbols = [match.groups() for match in re.finditer(r"^[0-9a-f ]{16} (\w) (.+)$", listed, re.M)]
    defined = {name for kind, name in symbols if kind not in "Uw"}
    needed = {name for kind, name in symbols if kind in "Uw"} - defined - LINKER
    text = HEADER.read_text()
    heap_part = text[: text.index("libsnug_cell_rt.a, Linux")]
    declared = set(re.findall(r"^(?!typedef)[a-z][\w \*]*\b(snug_cell_\w+)\(", heap_part, re.M))
    shown = {name for kind, name in symbols if kind == "T"}
    complaints = [f"needs {name}" for name in sorted(needed - {"memcpy"})]
    complaints += [f"does not define {name}" for name in sorted(declared - shown)]
    complaints += [f"shows {name}" for name in sorted(shown - declared)]
    print(f"{len(declared)} functions; needs {' '.join(sorted(needed)) or 'nothing'}")
    if complaints or not declared:
        sys.exit("; ".join(complaints) or "the header declares nothing")


main()
