"""What README says of speed and size, by one rule for both directions.

An allocator counts as costing more than snug, as much, or less, over all rows of a group, if it does so beyond the noise (the
words of snug_bench/ratio.py, of the means of snug_bench/overall.py). All allocators of the grid take part, but snug's own
variants and those of others with another setting. Of single rows the largest losses are named.
"""

from dataclasses import dataclass, field

from snug_bench.overall import Overall, overall
from snug_bench.quantity import count_of
from snug_bench.ratio import BETTER, EQUAL, UNCLEAR, WORSE
from snug_bench.verdict import Row, Verdict

MANY = 8  # threads
MARKS = {BETTER: "", EQUAL: " =", UNCLEAR: " ?", WORSE: " !"}
LOSSES = 3  # single rows of each metric that are named
# What the catalogue of allocators tells apart by a suffix has a name of its own for readers; of others it is the family's.
NAMES = {"glibc": "glibc", "tbbmalloc": "oneTBB", "tcmalloc": "gperftools", "tcmalloc_google": "Google's tcmalloc",
         "tlsf": "TLSF (rlsf)", "scudo": "Scudo"}


def times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 9.5 else f"{ratio:.1f}" if ratio >= 1.95 else f"{ratio:.2f}"


def listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def shown_names(allocators: list[dict]) -> dict[str, str]:
    """With versions, where a release has one."""
    found = {}
    for each in allocators:
        version = each["version"].split("+")[0]
        bare = each["family"] == "snug" or version.startswith("of ")
        found[each["name"]] = NAMES.get(each["name"], each["family"]) + ("" if bare else f" {version}")
    return found


@dataclass(frozen=True)
class Ranking:
    verdict: Verdict
    names: dict[str, str]  # of each allocator that takes part, as it is shown
    costs: dict[tuple, dict[str, Overall]] = field(default_factory=dict, repr=False)  # found so far, by rows and metric

    def overall(self, rows: list[Row], key: str) -> dict[str, Overall]:
        """Of each peer, the costliest first; of those that counted in every row."""
        asked = (*(row.name for row in rows), key)
        if asked not in self.costs:
            found = {name: overall(rows, key, name, self.verdict.subject) for name in self.names if name != self.verdict.subject}
            whole = {name: each for name, each in found.items() if each.complete}
            self.costs[asked] = dict(sorted(whole.items(), key=lambda each: -each[1].mean))
        return self.costs[asked]

    def words(self, rows: list[Row], key: str) -> dict[str, list[str]]:
        """The peers by how snug does against each."""
        return self.verdict.by_word(key, self.overall(rows, key))

    def counts(self, rows: list[Row], key: str) -> str:
        """`6 take more time than snug, 8 are not to be told from it`: each word that any has, and none that takes less."""
        words = self.words(rows, key)
        said = {BETTER: f"more {key} than snug", EQUAL: "as much, within 3%", WORSE: "less"}
        parts = [f"{len(words[word])} {'takes' if len(words[word]) == 1 else 'take'} {what}" for word, what in said.items()
                 if words.get(word)]
        if unclear := len(words.get(UNCLEAR, [])):
            parts.append(f"{unclear} {'is' if unclear == 1 else 'are'} not to be told from it")
        if not words.get(WORSE):
            parts.append("none takes less")
        return listed(parts)

    def cell(self, rows: list[Row], key: str, name: str) -> str:
        """Of the table: the cost in multiples of snug's, with a mark where it is not known to be more."""
        costs = self.overall(rows, key)
        if name not in costs:
            return "failed"
        return times(costs[name].mean) + MARKS[self.verdict.overall_word(key, costs[name])]

    def largest_losses(self, key: str) -> str:
        """The single rows in which snug is farthest behind another, beyond the noise."""
        losses = [each for each in self.verdict.losses(self.verdict.subject) if each.metric.key == key and each.rival in self.names]
        found = [f"`{each.row.name}` ({times(each.ratio)} times {self.names[each.rival]}'s)" for each in losses[:LOSSES]]
        return listed(found) if found else "none"

    def count(self, key: str) -> str:
        """Of rows in which an allocator that takes part costs less, beyond the noise."""
        rows = {each.row.name for each in self.verdict.losses(self.verdict.subject) if each.metric.key == key}
        return f"{len(rows)} of {count_of(len(self.verdict.rows), 'row')}"
