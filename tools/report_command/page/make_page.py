#!/usr/bin/env python3
"""make_page.py: writes the page of `snug report` as one HTML file, without the data of a recording.

    make_page.py --packages FOLDER -o page.html

The page holds everything it needs: its own style and scripts, and the three packages that package-lock.json names. A
package's tarball is taken from FOLDER, or fetched into it from the address in the lock file (NPM_CONFIG_REGISTRY names
another registry), and counts only if its sha512 is the lock file's. npm is not run: the packages' built files carry what
they depend on. The marker <!--SNUG-DATA--> is left where `snug report` puts the data.

Exit status 1 with one line if a package cannot be had or is not the one that was locked; with --or-none what cannot be had
makes an empty page, of which `snug report` says that it is none.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import sys
import tarfile
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
MARKER = "<!--SNUG-DATA-->"
REGISTRY = "https://registry.npmjs.org/"

# Package, and the files of it that the page holds. The order is the order of the page.
PACKAGES = {
    "uplot": ["dist/uPlot.min.css", "dist/uPlot.iife.min.js"],
    "d3-selection": ["dist/d3-selection.min.js"],
    "d3-flame-graph": ["dist/d3-flamegraph.css", "dist/d3-flamegraph.min.js"],
}
# Our own scripts: each uses only what the ones before it have put into `Snug`; main.js starts them.
SCRIPTS = ["words.js", "element.js", "recording.js", "selection.js", "views.js", "scheme.js", "tip.js", "table.js", "grid.js",
           "summary.js", "findings.js", "plot.js", "timeline.js", "brush.js", "parts.js", "functions.js", "frames.js",
           "crumbs.js", "flame.js", "sizes.js", "lifetimes.js", "threads.js", "heap_map.js", "what_if.js", "against.js", "keys.js",
           "main.js"]


def fail(line: str) -> None:
    sys.exit(f"make_page: {line}")


class Unreachable(Exception):
    """A package is neither in the folder nor to be had from the registry."""


def fetch(address: str, path: Path) -> None:
    registry = os.environ.get("NPM_CONFIG_REGISTRY")
    if registry:
        address = registry.rstrip("/") + "/" + address.removeprefix(REGISTRY)
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            content = answer.read()
    except (OSError, ValueError, urllib.error.URLError) as error:
        raise Unreachable(f"cannot fetch {address} ({error}); put {path.name} into {path.parent} by hand") from error
    # Another build may read the folder at the same time: it must see the whole file or none.
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(path)


def verified_tarball(name: str, locked: dict, folder: Path) -> Path:
    path = folder / locked["resolved"].rsplit("/", 1)[1]
    if not path.exists():
        fetch(locked["resolved"], path)
    sha512 = "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if sha512 != locked["integrity"]:
        fail(f"{path} is not {name} {locked['version']}: its {sha512} is not the {locked['integrity']} of package-lock.json")
    return path


def read_package(name: str, locked: dict, folder: Path) -> tuple[str, dict[str, str]]:
    """The licence of a package, and its files by their path."""
    files = {}
    with tarfile.open(verified_tarball(name, locked, folder)) as tarball:
        for path in ["LICENSE", *PACKAGES[name]]:
            files[path] = tarball.extractfile(f"package/{path}").read().decode()
    return files.pop("LICENSE"), files


def script_element(text: str, name: str) -> str:
    # Within a script element HTML knows three words: '</script' ends it, and '<!--' with '<script' would hide that end.
    # In JavaScript they stand in strings, regular expressions and comments only, where the backslash changes nothing.
    text = re.sub(r"</(?=script)", r"<\\/", text, flags=re.I)
    text = re.sub(r"<(?=!--|script)", r"\\x3c", text, flags=re.I)
    return f'<script data-file="{name}">\n{text.strip()}\n</script>'


def style_element(text: str, name: str) -> str:
    return f'<style data-file="{name}">\n{text.strip()}\n</style>'


def comment(text: str) -> str:
    return "<!--\n" + text.strip().replace("--", "- -") + "\n-->"


def assemble(folder: Path) -> str:
    locked = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    licences, styles, scripts = [], [], []
    for name in PACKAGES:
        entry = locked[f"node_modules/{name}"]
        licence, files = read_package(name, entry, folder)
        licences.append(f"This page holds {name} {entry['version']} ({entry['license']}). Its licence:\n\n{licence.strip()}\n")
        for path, text in files.items():
            element, elements = (style_element, styles) if path.endswith(".css") else (script_element, scripts)
            elements.append(element(text, f"{name}/{path}"))
    styles.append(style_element((HERE / "style.css").read_text(encoding="utf-8"), "style.css"))
    scripts += [script_element((HERE / name).read_text(encoding="utf-8"), name) for name in SCRIPTS]
    page = (HERE / "page.html").read_text(encoding="utf-8")
    parts = {"<!--LICENCES-->": [comment("\n\n".join(licences))], "<!--STYLES-->": styles, "<!--SCRIPTS-->": scripts}
    for place, elements in parts.items():
        before, after = page.split(place)
        page = before + "\n".join(elements) + after
    if page.count(MARKER) != 1:
        fail(f"the page has the marker {MARKER} {page.count(MARKER)} times instead of once")
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes the page of snug report as one HTML file.")
    parser.add_argument("--packages", metavar="FOLDER", type=Path, required=True,
                        help="folder of the packages' tarballs; what is missing there is fetched into it")
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path, required=True, help="the page")
    parser.add_argument("--or-none", action="store_true", help="write an empty page if a package cannot be fetched")
    options = parser.parse_args()
    options.packages.mkdir(parents=True, exist_ok=True)
    try:
        page = assemble(options.packages)
    except Unreachable as error:
        if not options.or_none:
            fail(str(error))
        page = ""
        print(f"make_page: snug report is built without its page: {error}", file=sys.stderr)
    options.output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
