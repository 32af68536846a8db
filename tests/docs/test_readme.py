"""README fits a minute, says what the committed results say, and uses the words of its readers."""

import re
import subprocess
import sys
import unittest

from document import ROOT, USER_PAGES, prose

README = ROOT / "README.md"
MOST_LINES = 160
# Words of the code. A page for users explains one where it first stands in italics, or leaves it out.
INSIDERS = ("slab", "mailbox", "remote free", "refill", "flush", "span", "chunk", "window", "carved", "tag", "scavenge")
USER_WORDS = ("README", "limits", "configuration", "install", "using", "recipes", "coming-from")


class ReadmeTest(unittest.TestCase):
    def test_it_is_short(self):
        lines = README.read_text("utf-8").splitlines()
        self.assertLessEqual(len(lines), MOST_LINES)
        self.assertLessEqual(max(map(len, lines)), 140)

    def test_it_says_what_the_results_say(self):
        process = subprocess.run([sys.executable, ROOT / "scripts/front_door", "check"], capture_output=True, text=True,
                                 check=False)
        self.assertEqual((process.returncode, process.stdout, process.stderr), (0, "", ""))

    def test_its_pages_for_users_are_held_to_be_so(self):
        listed = re.search(r"For users: (.*?)\[snug\(1\)\]", README.read_text("utf-8"), re.DOTALL)
        pages = {ROOT / target for target in re.findall(r"\]\((docs/\w[\w-]*\.md)\)", listed[1])}
        self.assertGreaterEqual(len(pages), 8)
        self.assertEqual(pages - set(USER_PAGES), set())

    def test_the_sample_fits_a_terminal(self):
        sample = re.search(r"<!-- demo: [^\n]*\n```text\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
        self.assertLessEqual(max(map(len, sample[1].splitlines())), 80)


class WordsTest(unittest.TestCase):
    def test_nobody_is_sent_to_a_document_that_he_does_not_know(self):
        found = [f"{page.name}: {words}" for page in USER_PAGES if page.exists()
                 for words in re.findall(r"(?i)\b(?:the|source) documents?(?:'s)?\b", prose(page))]
        self.assertEqual(found, [])

    def test_words_of_the_code_are_explained(self):
        found = []
        for name in USER_WORDS:
            page = README if name == "README" else ROOT / "docs" / f"{name}.md"
            text = prose(page).lower() if page.exists() else ""
            for word in INSIDERS:
                use = re.search(rf"\b{word}(?:s|es)?\b", text)
                explained = re.search(rf"\*{word}s?\*", text)
                if use and not (explained and explained.start() <= use.start()):
                    found.append(f"{page.name}: {word}")
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
