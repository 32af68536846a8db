"""Figures that pages tell and docs/claims.toml holds: a page that names one of them names the claim's."""

import re
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

from document import ROOT, prose

# What a claim says, and the sentences in which pages say it; each is in one page at least.
HEADER = "bytes of the heads of all classes and the record of a thread's cache"
ARRAYS = "bytes of the arrays of a thread that has used every class of `dense`"
SENTENCES = {
    (HEADER,): (r"the cache's record take (\d+) bytes together",),
    (ARRAYS,): (r"every class of has (\d+) bytes of them",),
    (HEADER, ARRAYS): (r"with the arrays of every class[^.]* takes (\d+)",),
}
PAGES = [path for folder in ("docs", "docs/architecture") for path in sorted((ROOT / folder).glob("*.md"))]


def claimed(words: str, text: str) -> int:
    """The figure of the claim of these words."""
    claims = (claim for section in tomllib.loads(text)["section"] for claim in section["claim"])
    return next(claim["figure"] for claim in claims if claim["claim"] == words)


def told(pattern: str, pages: list[Path]) -> list[tuple[str, int]]:
    texts = ((page.name, " ".join(prose(page).split())) for page in pages)
    return [(name, int(figure)) for name, text in texts for figure in re.findall(pattern, text)]


class FiguresTest(unittest.TestCase):
    def test_pages_say_what_claims_say(self):
        claims = (ROOT / "docs/claims.toml").read_text("utf-8")
        for summands, patterns in SENTENCES.items():
            right = sum(claimed(claim, claims) for claim in summands)
            for pattern in patterns:
                found = told(pattern, PAGES)
                self.assertTrue(found, f"no page says: {pattern}")
                self.assertEqual([place for place in found if place[1] != right], [], f"{summands} say {right}")

    def test_a_claim_is_found_by_its_words(self):
        text = "[[section]]\n" + "".join(f"[[section.claim]]\nclaim = '{words}'\nfigure = {figure}\n"
                                          for words, figure in (("bits", 1), ("bytes", 12)))
        self.assertEqual(claimed("bytes", text), 12)
        self.assertRaises(StopIteration, claimed, "pages", text)

    def test_the_page_of_claims_is_what_its_data_makes(self):
        with tempfile.TemporaryDirectory(prefix="snug-claims-") as folder:
            made = Path(folder) / "claims.md"
            subprocess.run([ROOT / "scripts/claims", "--page", made], check=True)
            self.assertEqual((ROOT / "docs/claims.md").read_text("utf-8"), made.read_text("utf-8"), "run scripts/claims --page")


if __name__ == "__main__":
    unittest.main()
