"""compare_with_itself.py [RUNS]: snug in comparison with snug, by three programs, RUNS times each (20): the words are equal
and unclear, never better or worse.

A handicap of one column comes again; chance gives a false word in fewer than one row in three hundred (false_words_test.cpp
has the rates by the shape of the noise), and not twice. So if the runs of a program have a word that tells the two apart,
the test repeats them under other seeds, and fails if they have one again.

On a busy machine the words of time are null. So the rounds themselves are asked, too, of all runs together: in about half of
them one column costs more, in the other half the other. A handicap of 14% decided 19 of 20 rounds.
"""

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tool_under_test import ALLOCATING, LIBRARY, snug

GROWING = """b = bytearray()
for i in range(400_000): b += bytes(200)"""
DOCUMENTS = """import json
rows = [{"number": n, "name": f"name {n}", "parts": list(range(n % 7))} for n in range(20_000)]
for _ in range(3): rows = json.loads(json.dumps(rows))"""

PROGRAMS = {
    "many small blocks": [ALLOCATING, "1000000"],
    "a buffer that grows": [sys.executable, "-S", "-c", GROWING],
    "documents": [sys.executable, "-S", "-c", DOCUMENTS],
}
TIMES = ("wall_seconds", "user_seconds")
ROWS = (*TIMES, "peak_rss_bytes")
ROUNDS = 6  # the tool's default
DEVIATIONS = 5.5  # of a coin: by more it errs once in twenty-five million


def compared(program, seed):
    """The two columns."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "comparison.json"
        process = snug("run", "--library", LIBRARY, "--compare", f"other={LIBRARY}", "-n", str(ROUNDS), "--seed", str(seed), f"--json={file}", "--",
                       *program, PYTHONMALLOC="malloc", PYTHONHASHSEED="0")
        if process.returncode != 0:
            sys.exit(f"FAILED: it ends with {process.returncode}: {process.stderr}{process.stdout}")
        return json.loads(file.read_text())["allocators"]


def leads(columns, row):
    """In how many rounds more the other costs more than snug does."""
    snugs, others = ([run[row] for run in column["runs"]] for column in columns)
    return sum((other > mine) - (other < mine) for mine, other in zip(snugs, others, strict=True))


def lopsided(name, lead, rounds):
    """The rows of which one column leads too often for a coin."""
    return [f"{name}: {'other' if lead[row] > 0 else 'snug'} has the larger {row} in {abs(lead[row])} rounds more of {rounds}"
            for row in TIMES if abs(lead[row]) > DEVIATIONS * rounds**0.5]


def told_apart(name, program, seeds, lead):
    """The runs in which a word tells the two apart, as lines; says what all the words were. `lead` gets the rounds."""
    found, counts = [], Counter()
    for seed in seeds:
        columns = compared(program, seed)
        for row in TIMES:
            lead[row] += leads(columns, row)
        for row in ROWS:
            against = columns[1]["summary"][row]["against_snug"]
            counts[row, against["word"]] += 1
            if against["word"] not in ("equal", "unclear", None):
                found.append(f"{name}, seed {seed}: {row} is {against['word']}, {against['ratio']:.4f} "
                             f"({against['low']:.4f} to {against['high']:.4f})")
    print(f"{name}: " + ", ".join(f"{row} {word} in {count}" for (row, word), count in sorted(counts.items(), key=str)), flush=True)
    return found


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    failed = []
    for name, program in PROGRAMS.items():
        lead = Counter()
        first = told_apart(name, program, range(1, runs + 1), lead)
        print(f"{name}: of {ROUNDS * runs} rounds the other leads in so many more: {dict(lead)}", *first, sep="\n", flush=True)
        failed += lopsided(name, lead, ROUNDS * runs)
        if first and (again := told_apart(name, program, range(runs + 1, 2 * runs + 1), Counter())):
            failed += first + again
    sys.exit("FAILED: " + "; ".join(failed) if failed else 0)


if __name__ == "__main__":
    main()
