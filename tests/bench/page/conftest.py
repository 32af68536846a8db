"""A browser for the tests of the page. Where there is none the tests are skipped, but never in CI."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from browser import Browser, find_browser  # noqa: E402

SKIPPED = 77  # what ctest takes for skipped


def pytest_sessionstart(session):
    if find_browser() is None and not os.environ.get("CI"):
        pytest.exit("no Chromium here: `scripts/setup ci` installs one", SKIPPED)


@pytest.fixture(scope="session")
def browser():
    assert find_browser(), "no Chromium here: `scripts/setup ci` installs one"
    made = Browser()
    yield made
    made.close()
