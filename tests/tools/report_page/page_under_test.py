"""The page of `snug report` under test: one Chromium for all test modules, and pages with made-up data.

SNUG_REPORT_PAGE names a page that was made before; else make_page.py makes one, with the tarballs of SNUG_REPORT_PACKAGES.
Where there is no Chromium all of it is skipped, but never in CI.
"""

import atexit
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import made_up_data

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
from browser import Browser, find_browser  # noqa: E402
from ctest_status import main  # noqa: E402, F401

MAKE_PAGE = HERE.parents[2] / "tools" / "report_command" / "page" / "make_page.py"
MARKER = "<!--SNUG-DATA-->"
GAP = "\u00a0"  # between a number and its unit
folder = tempfile.TemporaryDirectory()


class Started:
    """The browser, started when it is first asked for something, and what it knows of this page."""

    def __getattr__(self, name):
        return getattr(self.browser(), name)

    @staticmethod
    @functools.cache
    def browser():
        made = Browser()
        atexit.register(made.close)
        return made

    def open(self, path, **how):
        """Opens a page, and returns when it is ready: what it says it is, milliseconds or "error"."""
        self.browser().open(path, **how)
        return self.wait("document.documentElement.dataset.ready")

    def settle(self):
        """Lets all views be drawn, and what they have left for the next frames."""
        self.evaluate("Snug.views.drawAll()")
        self.evaluate("new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 120))")


chromium = Started()


@functools.cache
def page_text():
    made = os.environ.get("SNUG_REPORT_PAGE")
    if not made:
        made = f"{folder.name}/page.html"
        packages = os.environ.get("SNUG_REPORT_PACKAGES", f"{folder.name}/packages")
        subprocess.run([sys.executable, MAKE_PAGE, "--packages", packages, "-o", made], check=True)
    return pathlib.Path(made).read_text(encoding="utf-8")


def written(name, element):
    """A file of the page with an element at the marker."""
    path = pathlib.Path(folder.name, f"{name}.html")
    path.write_text(page_text().replace(MARKER, element), encoding="utf-8")
    return path


@functools.cache
def recording(name):
    """The page with one of the made-up data, and the data."""
    data = made_up_data.DATA[name]()
    return written(name, made_up_data.as_script(data)), data


def in_bytes(number):
    units = ["B", "KiB", "MiB", "GiB"]
    value, unit = number, 0
    while value >= (1023.95 if unit else 1024):
        value, unit = value / 1024, unit + 1
    # A half is rounded up, as JavaScript does it.
    return f"{int(value * 10 + 0.5) / 10:.1f}{GAP}{units[unit]}" if unit else f"{in_count(number)}{GAP}B"


def in_count(number):
    return f"{number:,}"


def text(selector):
    return chromium.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")


def flame_total():
    return chromium.evaluate("Number(document.querySelector('.flame-total b').dataset.bytes)")


def choose(tab):
    chromium.evaluate(f"document.querySelector('#flame-body [data-key={tab}]').click()")
    chromium.settle()


def selected():
    return chromium.evaluate("Snug.selection.all ? null : [Snug.selection.from, Snug.selection.to]")


def allocated(data, begin, end):
    return sum(flat[at + 1] for flat in data["series"] for at in range(0, len(flat), 7) if begin <= flat[at] <= end)


@unittest.skipUnless(find_browser() or "CI" in os.environ, "no Chromium here: `scripts/setup ci` installs one")
class PageCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        assert find_browser(), "no Chromium here: `scripts/setup ci` installs one"

    def opened(self, name, **how):
        path, data = recording(name)
        chromium.open(path, **how)
        chromium.settle()
        self.assertEqual(chromium.errors, [])
        return data
