"""The page of `snug report`: what a language's own library allocates is its callers', until the reader asks for its functions;
and the ways to the flame graph, one after the other.
"""


import made_up_data
import page_under_test
from page_under_test import PageCase, chromium, main

# main calls read, which has its memory through two functions of the library, one of which calls back what read gave it; and
# keep, through the same.
NODES = {
    "name": ["main", "read", "std::vector<int>::push_back(int)", "operator new", "keep", "operator new", "convert", "convert"],
    "bar": [""] * 8,
    "place": ["main.cpp:1", "main.cpp:2", "vector.h:3", "", "main.cpp:4", "", "main.cpp:5", "main.cpp:5"],
    "caller": [-1, 0, 1, 2, 0, 4, 2, 1],
    "plumbing": [0, 0, 1, 1, 0, 1, 0, 0],
}
OWN = [0, 100, 20, 3000, 10, 5000, 700, 70]
TOLD = {"read": 3120, "keep": 5010, "convert": 770, "main": 0}


def made_up():
    data = made_up_data.make(seed=11, nodes=8, slices=40)
    data["nodes"] = NODES
    data["series"] = [[0, own, 1, 0, 0, 0, 0] if own else [] for own in OWN]
    data["at_peak"] = {"node": list(range(8)), "bytes": OWN, "blocks": [1 if own else 0 for own in OWN]}
    data["findings"] = [
        {"kind": "peak", "sentence": f"{node}", "advice": "`snug` it", "bytes": 1, "share": 0.1, "node": node, "size": None, "threads": None}
        for node in (6, 4)
    ]
    return data


made_up_data.DATA["library"] = made_up


def shown():
    """The functions of the table, with what they allocated themselves, in the order of names."""
    rows = chromium.evaluate("""[...document.querySelectorAll('#flame-body tbody tr')].map((row) =>
        [row.dataset.key, row.children[1].textContent])""")
    return {name: own for name, own in rows}


def bars():
    return chromium.evaluate("""[...document.querySelectorAll('.flame g')].filter((g) =>
        g.querySelector('rect').getBoundingClientRect().width > 0).map((g) => g.querySelector('div').textContent).sort()""")


class LibraryTest(PageCase):
    def test_what_the_library_allocates_is_its_callers(self):
        self.opened("library")
        self.assertEqual(shown(), {name: page_under_test.in_bytes(own) for name, own in TOLD.items()})
        self.assertEqual(bars(), ["all", "convert", "keep", "main", "read"])  # one bar for both ways to convert

    def test_its_functions_are_there_when_they_are_asked_for(self):
        self.opened("library")
        chromium.evaluate("document.querySelector('#flame-body .check input').click()")
        chromium.settle()
        self.assertEqual(shown()["operator new"], page_under_test.in_bytes(8000))
        self.assertEqual(shown()["read"], page_under_test.in_bytes(100))
        self.assertEqual(len(bars()), 9)

    def test_each_finding_leads_to_its_bar_whatever_was_shown_before(self):
        self.opened("library")
        for which in (0, 1, 0):
            chromium.evaluate(f"document.querySelectorAll('#findings .way')[{which}].click()")
            chromium.wait("document.activeElement.id === 'flame-graph'")
            chromium.settle()
            self.assertEqual(chromium.evaluate("document.querySelector('g.at div').textContent"), ["convert", "keep"][which])
            self.assertIn(["convert", "keep"][which], bars())

    def test_words_of_the_advice_are_code(self):
        self.opened("library")
        self.assertEqual(chromium.evaluate("document.querySelector('.advice code').textContent"), "snug")


class GapTest(PageCase):
    def test_a_line_stops_where_it_was_not_looked_at(self):
        data = self.opened("medium")
        moments = len(data["samples"]["ns"])
        values = "[...Array(%d)].map((_, at) => at < 20 || at > 60 ? 1 : null)" % moments
        gaps = chromium.evaluate(f"Snug.timeline.withGaps([...Array({moments}).keys()], {values}).y.filter((one) => one === null).length")
        self.assertEqual(gaps, 1)
        few = f"[...Array({moments})].map((_, at) => at % 5 ? null : 1)"
        self.assertEqual(chromium.evaluate(f"Snug.timeline.withGaps([...Array({moments}).keys()], {few}).y.includes(null)"), False)


if __name__ == "__main__":
    main()
