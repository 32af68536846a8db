"""Every link of README and the documentation leads somewhere: to a file, and to a heading in it. External ones are looked
at by their form only, so that the tests need no network."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import document
from document import ALL_PAGES, ROOT, Link, anchors, links

EXTERNAL = re.compile(r"https?://[a-z0-9.-]+\.[a-z]{2,}(/\S*)?")


def fault(link: Link) -> str:
    """Empty if the link is good."""
    if re.match(r"[a-z]+:", link.target):
        return "" if EXTERNAL.fullmatch(link.target) else "no address"
    path, _, anchor = link.target.partition("#")
    file = (link.page.parent / path).resolve() if path else link.page
    if not file.exists():
        return "no such file"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return "no such heading"
    return ""


class LinksTest(unittest.TestCase):
    def test_no_link_is_dead(self):
        found = [link for page in ALL_PAGES for link in links(page)]
        self.assertGreater(len(found), 100)
        dead = [f"{link.place}: {link.target}: {fault(link)}" for link in found if fault(link)]
        self.assertEqual(dead, [])

    def test_what_is_linked_is_committed(self):
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=False)
        if listed.returncode:
            self.skipTest("no git here")
        files = {ROOT / name for name in listed.stdout.split("\0")}
        folders = {parent for file in files for parent in file.parents}
        inside = [link for page in ALL_PAGES for link in links(page) if not re.match(r"#|[a-z]+:", link.target)]
        missing = [f"{link.place}: {link.target}" for link in inside
                   if (link.page.parent / link.target.partition("#")[0]).resolve() not in files | folders]
        self.assertEqual(missing, [])

    def test_dead_links_are_found(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(document, "ROOT", Path(folder)):
            page = Path(folder) / "page.md"
            page.write_text("# One `word` more\n\n# Twice\n# Twice\n"
                            "[a](#one-word-more) [b](#twice-1) [c](page.md#twice) [d](https://example.org/x) `[no](link)`\n"
                            "[e](#one) [f](other.md) [g](page.md#twice-2) [h](https:/broken) <img src=\"no.svg\">\n"
                            "```\n[no](link)\n```\n")
            self.assertEqual([link.target for link in links(page) if fault(link)],
                             ["#one", "other.md", "page.md#twice-2", "https:/broken", "no.svg"])


if __name__ == "__main__":
    unittest.main()
