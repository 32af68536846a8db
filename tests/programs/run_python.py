"""run_python.py: a Python job of dicts, strings, sorting, JSON, regexes and threads, with and without pymalloc."""

import os
import sys

from service import Trial, libraries_from_arguments

JOB = """
import collections, hashlib, itertools, json, random, re, threading, zlib
random.seed(7)
words = ["".join(random.choices("abcdefghij", k=random.randint(1, 12))) for _ in range(90000)]
counts = collections.Counter(words)
index = {word: [i for i in range(len(word))] for word in words}
text = json.dumps({"counts": counts.most_common(5000), "index": sorted(index.items())[:5000]})
again = json.loads(text)
found = re.findall(r"[a-e]{3,}", text)
blob = zlib.compress(text.encode() * 3)
matrix = [[(i * j) % 97 * 1.5 for j in range(200)] for i in range(200)]
product = [[sum(map(lambda a, b: a * b, row, column)) for column in itertools.islice(zip(*matrix), 10)] for row in matrix]
results = {}
def work(number):
    local = random.Random(number)
    table = {}
    for _ in range(20000):
        key = local.randrange(3000)
        table[key] = bytes([key % 251]) * local.randrange(4000)
        if key % 3 == 0:
            table.pop(local.randrange(3000), None)
    results[number] = hashlib.sha256(b"".join(table[key] for key in sorted(table))).hexdigest()
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), len(blob), zlib.crc32(blob), sum(map(sum, product)), sorted(results.items()))
print(hashlib.sha256(text.encode()).hexdigest(), len(again["index"]))
"""


def main() -> None:
    libraries = libraries_from_arguments()
    # Not the name "python3": that may be a shell script that chooses a version.
    python = os.path.realpath(sys.executable)
    for pymalloc in ("pymalloc", "malloc"):
        trial = Trial(libraries)
        trial.expect_equal(f"output with {pymalloc}", {
            allocator.name: allocator.run(python, "-c", JOB, PYTHONMALLOC=pymalloc, PYTHONHASHSEED="1")
            for allocator in trial.all})
        trial.expect_service((os.path.basename(python)[:15],))
        trial.close()


main()
