"""snug run --compare: the figures that a program writes, in units that differ, small ones, and nonsense."""

import unittest

import made_up
from tool_under_test import ALLOCATING, SHELL, compare, contender


def program(snug, other):
    """A shell that allocates, and writes the one figure or the other, by what it is run on."""
    return (SHELL, "-c", f"case $LD_PRELOAD in *snug*) f='{snug}';; *) f='{other}';; esac; "
                         f'echo "{{\\"lat\\": {{$f}}}}" > $SNUG_FIGURES; {ALLOCATING} 10 >/dev/null')


def written(value, unit, better="lower"):
    return f'"value": {value}, "unit": "{unit}", "better": "{better}"'


def two_figures(snug, glibc):
    """A comparison that never ran: (unit, better, values) of each."""
    allocators = [{"name": name, "figures": {"load": dict(zip(("unit", "better", "values"), figure, strict=True))}}
                  for name, figure in (("snug", snug), ("glibc", glibc))]
    return {"program": ["job"], "rounds": len(snug[2]), "others_share": made_up.QUIET, "allocators": allocators}


class UnitTest(unittest.TestCase):
    def test_times_and_memory_are_compared_as_such(self):
        for mine, theirs, ratio in ((("s", 1.01), ("ms", 990), 990 / 1010), (("µs", 2), ("ns", 1000), 0.5),
                                    (("KiB", 64), ("B", 32768), 0.5), (("MB", 1), ("kB", 2000), 2)):
            made = two_figures((mine[0], "lower", [mine[1]] * 6), (theirs[0], "lower", [theirs[1]] * 6))
            figure = contender(made_up.as_json(made), "glibc")["figures"]["load"]
            self.assertEqual(figure["unit"], mine[0])
            self.assertAlmostEqual(figure["against_snug"]["ratio"], ratio)
            self.assertAlmostEqual(figure["median"], mine[1] * ratio)

    def test_a_programs_figures_are_converted_run_by_run(self):
        process, result = compare("glibc", "-n", "2", "--", *program(written(1.01, "s"), written(990, "ms")))
        self.assertEqual(process.returncode, 0, process.stderr + process.stdout)
        figure = contender(result, "glibc")["figures"]["lat"]
        self.assertEqual((figure["unit"], figure["median"]), ("s", 0.99))
        self.assertEqual([run["figures"]["lat"] for run in contender(result, "glibc")["runs"]], [0.99, 0.99])
        self.assertAlmostEqual(figure["against_snug"]["ratio"], 0.99 / 1.01)

    def test_what_cannot_be_compared_is_said(self):
        for theirs, words in (((100, "MB"), "unit 'MB', better lower"), ((100, "s", "higher"), "unit 's', better higher")):
            process, result = compare("glibc", "-n", "2", "--", *program(written(1, "s"), written(*theirs)))
            self.assertEqual(process.returncode, 1, process.stdout)
            said = (f"figure 'lat' is not compared: snug, round 1 wrote it with unit 's', better lower, glibc, round 1 with "
                    f"{words}")
            self.assertEqual((result["refused_figures"], result["clean"]), ([said], False))
            self.assertIn(f"FAILED: {said}", " ".join(process.stdout.split()))
            for one in result["allocators"]:
                self.assertEqual((one["figures"], one["counted_runs"]), ({}, 2))

    def test_less_than_nothing_is_nonsense(self):
        process, result = compare("glibc", "-n", "2", "--", *program(written(5, "ms"), written(-500, "ms")))
        self.assertEqual(process.returncode, 1, process.stdout)
        self.assertEqual(contender(result, "glibc")["counted_runs"], 0)
        self.assertIn("it wrote nonsense: lat is -500 ms", contender(result, "glibc")["failure"])
        self.assertEqual(contender(result, "snug")["counted_runs"], 2)


class SmallTest(unittest.TestCase):
    def test_small_figures_are_neither_equal_nor_without_digits(self):
        for unit, texts in (("ms", ("0.000800 ms", "0.000100 ms")), ("misses", ("0.000800 misses", "0.000100 misses"))):
            made = two_figures((unit, "lower", [0.0008] * 6), (unit, "lower", [0.0001] * 6))
            figure = contender(made_up.as_json(made), "glibc")["figures"]["load"]
            self.assertAlmostEqual(figure["against_snug"]["ratio"], 1 / 8)
            self.assertEqual(figure["word"], "better")
            for text in texts:
                self.assertIn(text, made_up.table(made))

    def test_seconds_have_nanoseconds(self):
        made = two_figures(("s", "lower", [8.25e-7] * 6), ("s", "lower", [1.5e-9] * 6))
        for text in ("825 ns", "1.50 ns"):
            self.assertIn(text, made_up.table(made))


if __name__ == "__main__":
    unittest.main()
