"""bench/matrix: the verdict follows its definition, a resumed run measures nothing twice, and errors are one line."""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["SNUG_SOURCE"])
sys.path.insert(0, str(SOURCE / "bench"))

from judge.table import figures_table, losses, score, value_text  # noqa: E402
from judge.verdict import Figure, Series, judge  # noqa: E402

TIME = Figure("load", "figure", "ns")
SPEED = Figure("load", "speed", "M/s", higher_is_better=True)


def standing(figure, **values):
    return judge(figure, {name: Series(tuple(each)) for name, each in values.items()})


class VerdictTest(unittest.TestCase):
    def test_the_best_peer_is_the_measure(self):
        result = standing(TIME, snug=[20, 20, 20], slow=[50, 50, 50], quick=[10, 10, 10])
        self.assertEqual((result.verdict, result.best_peer, result.ratio), ("lost", "quick", 2))
        self.assertEqual(standing(TIME, snug=[5, 5, 5], quick=[10, 10, 10]).verdict, "first")

    def test_more_can_be_better(self):
        result = standing(SPEED, snug=[20, 20, 20], slow=[10, 10, 10], quick=[50, 50, 50])
        self.assertEqual((result.verdict, result.best_peer, result.ratio), ("lost", "quick", 2.5))
        self.assertEqual(standing(SPEED, snug=[20, 20, 20], slow=[10, 10, 10]).verdict, "first")

    def test_three_percent_is_a_tie_and_four_are_not(self):
        self.assertEqual(standing(TIME, snug=[102, 102, 102], peer=[100, 100, 100]).verdict, "tied")
        self.assertEqual(standing(TIME, snug=[104, 104, 104], peer=[100, 100, 100]).verdict, "lost")
        self.assertEqual(standing(TIME, snug=[96, 96, 96], peer=[100, 100, 100]).verdict, "first")

    def test_middle_halves_that_overlap_are_a_tie(self):
        self.assertEqual(standing(TIME, snug=[90, 100, 120, 130, 140], peer=[80, 90, 100, 105, 110]).verdict, "tied")
        # One bad round of five does not make a tie.
        self.assertEqual(standing(TIME, snug=[120, 120, 120, 121, 121], peer=[99, 100, 100, 101, 200]).verdict, "lost")

    def test_who_fails_loses(self):
        self.assertEqual(standing(TIME, peer=[1, 1, 1]).verdict, "lost")
        self.assertEqual(standing(TIME, snug=[1, 1, 1]).verdict, "first")

    def test_snug_is_no_peer_of_itself(self):
        result = judge(TIME, {"snug": Series((2.0,)), "snug-nothp": Series((1.0,)), "peer": Series((3.0,))})
        self.assertEqual((result.verdict, result.best_peer), ("first", "peer"))

    def test_nothing_costs_nothing(self):
        self.assertEqual(standing(TIME, snug=[0, 0], peer=[0, 0]).verdict, "tied")
        lost = standing(TIME, snug=[1, 1], peer=[0, 0])
        self.assertEqual((lost.verdict, lost.ratio, lost.as_json()["ratio"]), ("lost", math.inf, None))


class TableTest(unittest.TestCase):
    def test_the_worst_loss_is_first_and_the_score_counts_ties(self):
        rows = [standing(Figure("a", "x", "ns"), snug=[2, 2], peer=[1, 1]), standing(TIME, snug=[1, 1], peer=[1, 1]),
                standing(Figure("b", "y", "ns"), snug=[3, 3], peer=[1, 1])]
        self.assertEqual(score(rows), "1 of 3 (33%)")
        self.assertEqual([line.split()[:2] for line in losses(rows).splitlines()], [["3.00×", "b"], ["2.00×", "a"]])
        self.assertEqual(len(figures_table(rows).splitlines()), 5)

    def test_values_have_three_digits(self):
        texts = [value_text(value, "ns") for value in (1234.6, 99.96, 12.34, 9.996, 1.234, 0.0512, 0, 7)]
        self.assertEqual(texts, ["1,235", "100", "12.3", "10.0", "1.23", "0.051", "0", "7"])
        self.assertEqual((value_text(3 << 20, "B"), value_text(0.0021, "s")), ("3", "2.10"))


class MatrixTest(unittest.TestCase):
    def matrix(self, *arguments, **environment):
        environment = {name: value for name, value in {**os.environ, **environment}.items() if name != "SNUG_CONF"}
        return subprocess.run([SOURCE / "bench" / "matrix", "--build", os.environ["SNUG_BUILD"], *arguments],
                              env=environment, capture_output=True, text=True, timeout=100, check=False)

    def test_a_small_matrix_from_end_to_end(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "matrix.json"
            arguments = ["--quick", "--peers", "glibc", "--loads", "calloc_large,swap", "--json", str(file)]
            first = self.matrix(*arguments)
            document = json.loads(file.read_text())
            again = self.matrix(*arguments, "--resume")
        self.assertEqual((first.returncode, again.returncode), (0, 0), first.stderr)
        self.assertEqual((first.stderr.count("\n"), again.stderr), (2, ""))
        self.assertEqual(first.stdout, again.stdout)
        self.assertRegex(first.stdout, r"Figures: first or tied on \d of 4 ")
        self.assertEqual(document["schema"], "snug.matrix/1")
        self.assertEqual([figure["name"] for figure in document["figures"]],
                         ["64", "512", "untouched", "touched_sparsely"])
        self.assertEqual([allocator["name"] for allocator in document["allocators"]], ["snug", "glibc"])
        self.assertEqual(len(document["figures"][0]["allocators"]["snug"]["values"]), 2)
        self.assertEqual({each["name"] for each in document["measured"]},
                         {"peak_rss_bytes", "minor_faults", "system_seconds", "user_seconds", "wall_seconds"})

    def test_a_missing_peer_is_one_line_with_the_command_that_gets_it(self):
        process = self.matrix("--quick", "--peers", "snmalloc", "--loads", "swap", SNUG_PEERS="/nowhere")
        self.assertEqual((process.returncode, process.stdout), (1, ""))
        self.assertIn("run bench/allocators/fetch snmalloc", process.stderr.splitlines()[-1])

    def test_no_load_is_one_line(self):
        process = self.matrix("--loads", "nosuch")
        self.assertEqual((process.returncode, process.stderr.count("\n")), (1, 1))


if __name__ == "__main__":
    unittest.main()
