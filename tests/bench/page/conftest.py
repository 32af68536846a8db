"""A browser for the tests of the page. Where there is none the tests are skipped, but never in CI."""

import os

import pytest
from browser import Browser, find_browser

SKIPPED = 77  # what ctest takes for skipped


def pytest_sessionstart(session):
    if find_browser() is None and not os.environ.get("CI"):
        pytest.exit("no Chromium here: `scripts/setup ci` installs one", SKIPPED)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    path = find_browser()
    assert path, "no Chromium here: `scripts/setup ci` installs one"
    made = Browser(path, tmp_path_factory.mktemp("browser"))
    yield made
    made.close()
