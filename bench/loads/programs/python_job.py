#!/usr/bin/env python3
"""An allocation-heavy job in Python: JSON, dictionaries, strings, sorting and a small interpreter. Prints a checksum.

    PYTHONMALLOC=malloc bench/loads/programs/python_job.py [--scale N]
    bench/loads/programs/python_job.py --pymalloc [--scale N]

Without PYTHONMALLOC=malloc Python serves small blocks from an allocator of its own; the script therefore starts
itself again with it, unless --pymalloc asks for Python as it comes. The checksum of the default scale is known, and
another one is an error. What it does depends on the seed and on nothing else: hashes of strings are not randomised, so
that every run makes the same allocations.
"""

import argparse
import hashlib
import json
import os
import random
import sys

FIXED_ENVIRONMENT = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
DEFAULT_SCALE = 34
CHECKSUM = "eafe1bb50858e5ed0d6ea3fe4358524696a8b4b9e49ac3f766f7a13c3a1139b9"  # of the default scale


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=DEFAULT_SCALE, help="how much of everything (default %(default)s: some 2 s)")
    parser.add_argument("--pymalloc", action="store_true", help="leave small blocks to Python's own allocator")
    options = parser.parse_args()
    fixed = {name: value for name, value in FIXED_ENVIRONMENT.items() if name != "PYTHONMALLOC" or not options.pymalloc}
    if any(os.environ.get(name) != value for name, value in fixed.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **fixed})
    rng = random.Random(1)
    checksum = hashlib.sha256()
    for load in (documents, word_counts, sorted_records, interpreter, growing_buffers):
        checksum.update(repr(load(rng, options.scale)).encode())
    print(checksum.hexdigest())
    if options.scale == DEFAULT_SCALE and checksum.hexdigest() != CHECKSUM:
        sys.exit(f"python_job.py: the checksum should be {CHECKSUM}: memory was damaged, or this Python differs")


def documents(rng, scale):
    """Nested JSON documents: built, written, read back, changed; some are kept."""
    kept, total = [], 0
    for number in range(700 * scale):
        document = {"id": number, "name": f"item-{rng.random():.12f}",
                    "tags": [f"tag{rng.randrange(500)}" for _ in range(rng.randrange(12))],
                    "points": [{"x": rng.random(), "y": rng.random()} for _ in range(rng.randrange(8))]}
        text = json.dumps(document)
        parsed = json.loads(text)
        parsed["tags"].append(text[:20])
        total += len(text)
        if number % 3 == 0:
            kept.append(parsed)
    return total, len(kept)


def word_counts(rng, scale):
    """Text put together, split, and counted in a dictionary of lists."""
    syllables = ["ka", "lo", "mi", "ne", "ru", "si", "to", "va"]
    words = ["".join(rng.choices(syllables, k=rng.randrange(1, 6))) for _ in range(3000)]
    places = {}
    for line_number in range(1200 * scale):
        line = " ".join(rng.choices(words, k=12))
        for word in line.upper().split():
            places.setdefault(word, []).append((line_number, len(line)))
    return len(places), max(len(found) for found in places.values())


def sorted_records(rng, scale):
    """Records with keys of several sizes, sorted, grouped and thinned out."""
    records = [(f"{rng.randrange(10 ** 9):x}" * rng.randrange(1, 5), rng.random(), [number])
               for number in range(6000 * scale)]
    records.sort()
    thinned = [record for record in records if rng.random() < 0.4]
    groups = {}
    for key, value, numbers in thinned:
        groups.setdefault(key[:2], []).append((value, numbers))
    return len(thinned), sorted((key, len(group)) for key, group in groups.items())[:50]


class Node:
    """An expression of the small interpreter."""

    def __init__(self, operator, left=None, right=None, value=None):
        self.operator, self.left, self.right, self.value = operator, left, right, value


def random_tree(rng, depth):
    if depth == 0 or rng.random() < 0.1:
        return Node("number", value=rng.randrange(1, 1000))
    return Node(rng.choice("+-*"), random_tree(rng, depth - 1), random_tree(rng, depth - 1))


def evaluate(node, environment):
    if node.operator == "number":
        return node.value
    scope = dict(environment, depth=environment["depth"] + 1)
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    result = left + right if node.operator == "+" else left - right if node.operator == "-" else left * right
    return result % 1_000_000_007


def interpreter(rng, scale):
    """Trees of objects, grown and walked with a fresh scope at each step."""
    return [evaluate(random_tree(rng, 10), {"depth": 0}) for _ in range(9 * scale)]


def growing_buffers(rng, scale):
    """Byte buffers that grow by small pieces, many at once, up to some 100 KB: a test of realloc."""
    buffers = [bytearray() for _ in range(64)]
    for _ in range(9000 * scale):
        number = rng.randrange(len(buffers))
        buffers[number] += b"x" * rng.randrange(1, 200)
        if len(buffers[number]) > 100_000:
            buffers[number] = bytearray()
    return [len(buffer) for buffer in buffers]


if __name__ == "__main__":
    main()
