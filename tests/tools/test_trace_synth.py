"""snug trace synth: that a trace has the profile that its parameters state, and is the same each time."""

import unittest
from collections import Counter
from pathlib import Path

from test_trace import FolderTest

CLUSTER, METADATA = 32768, {24: 0.30, 32: 0.15, 40: 0.10, 56: 0.15, 72: 0.20, 104: 0.10}
SMALL = {"--events": "60000", "--live": "4M", "--table": "400K"}


class HummingbirdTest(FolderTest):
    def synthesised(self, *options, name="made.trace"):
        values = SMALL | dict(zip(options[::2], options[1::2]))
        self.trace("synth", "hummingbird", *(word for pair in values.items() for word in pair), "-o", self.path(name))
        return self.path(name)

    def sizes(self, file):
        return Counter(event["size"] for event in self.events(file) if event["operation"] == "malloc")

    def test_what_it_makes_is_what_the_parameters_state(self):
        file = self.synthesised()
        self.trace("check", file)
        info, sizes = self.info(file), self.sizes(file)
        self.assertTrue(60000 <= info["events"] < 60100)
        self.assertEqual(set(info["operations"]), {"malloc", "free"})
        self.assertEqual((info["threads"], info["duration_ns"]), (1, (info["events"] - 1) * 64))
        # Of data no more than a block is missing in each cache when the last event has been.
        self.assertTrue((4 << 20) - 2 * CLUSTER <= info["blocks"]["bytes_at_end"] <= 4 << 20)
        self.assertEqual((max(sizes), sizes[400 << 10]), (400 << 10, 1))
        small = {size: count for size, count in sizes.items() if size <= 128}
        self.assertEqual(set(small), set(METADATA))
        for size, share in METADATA.items():
            self.assertAlmostEqual(small[size] / sum(small.values()), share, delta=0.01)
        requests = sum(small.values()) / 4
        self.assertAlmostEqual(sizes[CLUSTER] / requests, 0.25, delta=0.02)
        self.assertAlmostEqual(sum(count for size, count in sizes.items() if 128 < size < CLUSTER) / requests, 1, delta=0.001)
        live = Counter()
        blocks = {}
        for event in self.events(file):
            if event["operation"] == "malloc":
                blocks[event["result"]] = event["size"]
            else:
                del blocks[event["block"]]
        for size in blocks.values():
            live["clusters" if size == CLUSTER else "metadata" if size <= 128 else "data"] += size
        self.assertAlmostEqual(live["clusters"] / (4 << 20), 0.55, delta=0.02)
        self.assertAlmostEqual(live["metadata"] / (4 << 20), 0.10, delta=0.001)

    def test_frequencies_fall_with_the_exponent(self):
        for exponent in (1.0, 0.5):
            sizes = self.sizes(self.synthesised("--exponent", str(exponent)))
            # Of ranks from 256 to 511 and from 4096 to 8191: 16 times the rank, and 16 times as many sizes.
            near, far = (sum(count for size, count in sizes.items() if 128 + low <= size < 128 + 2 * low) for low in (256, 4096))
            self.assertAlmostEqual(far / near / 16 ** (1 - exponent), 1, delta=0.2)

    def test_each_parameter_counts(self):
        usual = self.events(self.synthesised())
        for option in (("--events", "50000"), ("--live", "5M"), ("--table", "0"), ("--clusters", "0.5"), ("--metadata", "0.2"),
                       ("--reads", "0.5"), ("--exponent", "0.9"), ("--seed", "2")):
            self.assertNotEqual(self.events(self.synthesised(*option)), usual, option)

    def test_the_same_options_give_the_same_file(self):
        one, same = self.synthesised(), self.synthesised("--seed", "1", name="same.trace")
        self.assertEqual(Path(one).read_bytes(), Path(same).read_bytes())

    def test_its_facts_make_it_again(self):
        file = self.synthesised("--seed", "7", "--reads", "0.3")
        facts = {fact["key"]: fact["value"] for fact in self.info(file)["facts"]}
        self.assertEqual(facts["synthesised"], "hummingbird")
        self.trace("synth", "hummingbird", *facts["parameters"].split(), "-o", self.path("again"))
        self.assertEqual(Path(file).read_bytes(), Path(self.path("again")).read_bytes())

    def test_it_explains_itself_and_refuses_nonsense(self):
        self.assertRegex(self.trace("synth", "hummingbird", "--help"), "4000000(.|\n)*Zipf(.|\n)*snug trace synth hummingbird")
        for words in (["hummingbird"], [], ["eagle", "-o", "x"], ["hummingbird", "--events", "x", "-o", "x"],
                      ["hummingbird", "--clusters", "1.5", "-o", "x"], ["hummingbird", "--clusters", "0.9", "-o", "x"],
                      ["hummingbird", "--live", "1", "-o", "x"]):
            self.trace("synth", *words, status=2)
            self.assertEqual(self.said.count("\n"), 1, self.said)
        self.trace("synth", "hummingbird", "--events", "60000", "-o", "/dev/full", status=1)
        self.assertIn("cannot write '/dev/full'", self.said)


if __name__ == "__main__":
    unittest.main()
