"""snug inspect: what each kind of address of a running process is; addresses that are none; and a process of which other
threads allocate and free at the moment, which has to outlive any question."""

import contextlib
import json
import os
import random
import signal
import subprocess
import unittest

from tool_under_test import HANGS, LIBRARY, clean_environment, snug, wait_until_asked

ADDRESSES = os.environ["ADDRESSES"]
KERNEL = "0xffffffff81000000"


@contextlib.contextmanager
def process(conf="", *words):
    """A process of addresses.c that is ready; `at` has its addresses and sizes by name."""
    conf = ",".join(filter(None, ["publish:on", "purge_after:86400000", conf]))
    child = subprocess.Popen([ADDRESSES, *words], env=clean_environment(SNUG_CONF=conf, LD_PRELOAD=LIBRARY),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        child.at = {}
        for line in iter(child.stdout.readline, "ready\n"):
            name, address, size = line.split()
            child.at.setdefault(name, []).append((int(address, 16), int(size)))
        wait_until_asked(child.pid)
        yield child
        assert child.poll() is None, "the process has ended"
    finally:
        child.send_signal(signal.SIGCONT)
        child.communicate(timeout=HANGS)


def ask(child, *addresses):
    asked = snug("inspect", "--json", str(child.pid), *[hex(address) for address in addresses])
    assert asked.returncode == 0, asked.stderr
    return [json.loads(line) for line in asked.stdout.splitlines()]


class InspectTest(unittest.TestCase):
    def one(self, child, name, offset=0):
        address, size = child.at[name][0]
        its = ask(child, address + offset)[0]
        self.assertEqual((its["schema"], its["address"], its["pid"]), ("snug.address/1", hex(address + offset), child.pid))
        return its, address, size

    def block(self, child, name, **members):
        """The block starts where the program says, whichever byte of it is asked for, and is long enough."""
        for offset in (0, 1, child.at[name][0][1] - 1):
            its, address, size = self.one(child, name, offset)
            self.assertEqual((its["what"], its["start"]), ("block", hex(address)), its)
            self.assertGreaterEqual(its["size"], size)
            self.assertLess(its["size"], size * 1.3)
            for member, value in members.items():
                self.assertEqual(its[member], value, its)
        return its

    def test_tells_each_state_of_a_block_of_malloc(self):
        with process() as child:
            live = self.block(child, "live", of="malloc", state="live", **{"in": "slab"})
            self.assertEqual(live["heap_of"], "all", "the first blocks of a small class come from the heap that all share")
            main = child.at["main"][0][0]
            self.block(child, "free", of="malloc", state="free", heap_of="threads", threads=[main])
            self.block(child, "cached", state="cached", cached_by=main, threads=[main])
            freer = child.at["freer"][0][0]
            self.assertNotEqual(freer, main)
            self.block(child, "sent", state="cached", cached_by=freer, threads=[main])
            self.block(child, "run", state="live", of="malloc", **{"in": "pages"})
            self.block(child, "mapping", state="live", of="malloc", **{"in": "mapping"})

    def test_tells_what_was_never_handed_out_and_the_rest_of_a_slab(self):
        with process() as child:
            its, address, _ = self.one(child, "cached")
            self.assertGreater(its["slab_blocks"], its["slab_used"])
            last = int(its["slab"], 16) + (its["slab_blocks"] - 1) * its["size"]
            self.assertEqual(ask(child, last)[0]["state"], "never_used")
            for name in ("free", "cached", "sent", "live"):
                its, address, _ = self.one(child, name)
                end = int(its["slab"], 16) + its["slab_bytes"]
                behind = int(its["slab"], 16) + its["slab_blocks"] * its["size"]
                if behind < end:
                    self.assertEqual([one["what"] for one in ask(child, behind, end - 1)], ["rest", "rest"])
                    break
            else:
                self.fail("no slab has a rest")

    def test_tells_blocks_of_the_programs_own_heaps(self):
        with process() as child:
            self.block(child, "heap_live", of="heap", state="live", heap_name='tenant "7"')
            self.assertEqual(self.one(child, "heap_free")[0]["state"], "free")
            self.assertEqual(self.one(child, "heap_cached")[0]["state"], "cached")
            self.block(child, "heap_large", of="heap", state="live", heap_name='tenant "7"', **{"in": "large"})

    def test_tells_memory_that_is_no_block(self):
        with process() as child:
            for name in ("kept", "kept_pages"):
                its, _, _ = self.one(child, name, 4096)
                self.assertEqual((its["what"], its["state"]), ("free_memory", "kept"), name)
            for name, mapping in (("data", ADDRESSES), ("code", ADDRESSES), ("stack", "[stack]")):
                its, _, _ = self.one(child, name)
                self.assertEqual((its["what"], its["mapping"]), ("none", os.path.realpath(mapping) if "/" in mapping else mapping))
            its = ask(child, 0, 1, 0x1000, (1 << 47) - 1, (1 << 56) - 1)
            self.assertEqual({(one["what"], one["mapping"]) for one in its}, {("none", None)})

    def test_finds_records_of_snugs_own(self):
        with process() as child, open(f"/proc/{child.pid}/maps", encoding="utf-8") as maps:
            ranges = [line.split()[0].split("-") for line in maps if len(line.split()) == 5]
            starts = [int(start, 16) for start, end in ranges]
            self.assertIn("records", {one["what"] for one in ask(child, *starts)})

    def test_tells_what_allocated_a_sampled_block(self):
        with process("profile:8K") as child:
            answers = ask(child, *[address + 5 for address, _ in child.at["sampled"]])
            sampled = [one for one in answers if "stack" in one]
            self.assertGreater(len(sampled), 20)
            self.assertLess(len(sampled), len(answers))
            main = child.at["main"][0][0]
            for one in sampled:
                self.assertEqual((one["state"], one["requested"], one["allocated_by"]), ("live", 3008, main), one)
                self.assertEqual(one["in"], "page_for_samples")
                names = [place["function"] for place in one["functions"]]
                self.assertEqual(names[:3], ["hold", "hold_sampled", "main"])
            large, _, _ = self.one(child, "mapping", 99)
            self.assertEqual([place["function"] for place in large["functions"]][:2], ["hold", "main"])
            text = snug("inspect", str(child.pid), sampled[0]["address"]).stdout
            self.assertRegex(text, r"^0x\w+: byte 5 of a block of malloc: live; \d+ bytes from 0x\w+ on\n  pages for samples ")
            self.assertRegex(text, r"\n  allocated as 3008 bytes by thread \d+, [\d.]+ m?s ago\n    hold \(.*addresses.c:\d+\)\n")

    def test_checked_processes(self):
        with process("check:on,quarantine:64M") as child:
            self.block(child, "live", state="live")
            for name in ("free", "cached", "kept_pages"):
                self.assertEqual(self.one(child, name)[0]["state"], "quarantined", name)

    def test_the_text_says_the_same(self):
        with process() as child:
            def text(name, offset=0):
                return snug("inspect", str(child.pid), hex(child.at[name][0][0] + offset)).stdout

            main = child.at["main"][0][0]
            self.assertRegex(text("live"), r"^0x\w+: block of malloc: live; 320 bytes\n  slab 0x\w+ of 80 KiB: 256 blocks, \d+ of them not "
                                           r"free in it; of the heap that all threads share\n$")
            self.assertRegex(text("cached", 8), rf"^0x\w+: byte 8 of a block of malloc: free, in the cache of thread {main}; 5120 bytes from")
            self.assertIn(f"; of heap 2, which thread {main} has\n", text("cached"))
            self.assertIn("block of the heap 'tenant \"7\"': live; 768 bytes\n", text("heap_live"))
            self.assertRegex(text("kept"), r"^0x\w+: free memory, which the heap keeps\n$")
            self.assertRegex(text("stack"), r"^0x\w+: not in snug's heap: \[stack\]\n$")
            two = snug("inspect", str(child.pid), "0x0", hex(child.at["run"][0][0])).stdout
            self.assertTrue(two.startswith("0x0: not in snug's heap: nothing is mapped there\n0x"), two)

    def test_a_child_of_a_fork_knows_its_own_threads(self):
        with process("", "forks") as parent:
            child = parent.at["main"][0][0]
            self.assertNotEqual(child, parent.pid)
            wait_until_asked(child)
            asked = snug("inspect", "--json", str(child), hex(parent.at["cached"][0][0]))
            its = json.loads(asked.stdout)
            self.assertEqual((its["state"], its["cached_by"], its["threads"]), ("cached", child, [child]), asked)

    def test_wrong_words(self):
        with process() as child:
            pid = str(child.pid)
            for words in ([pid], [pid, "7f2a"], [pid, "0x"], [pid, "0xg"], [pid, "-0x1"], [pid, KERNEL], [pid, "0x1" + 16 * "0"],
                          [pid, "0x0", "x"], ["x", "0x0"], ["0", "0x0"], [pid, "0x0100000000000000"], []):
                wrong = snug("inspect", *words)
                self.assertEqual((wrong.returncode, wrong.stderr.count("\n"), wrong.stdout), (2, 1, ""), wrong)
            self.assertIn(f"{KERNEL} is an address of the kernel's", snug("inspect", pid, KERNEL).stderr)
        gone = snug("inspect", "4194305", "0x0")
        self.assertEqual((gone.returncode, gone.stderr), (1, "snug: process 4194305: there is no such process\n"))
        with subprocess.Popen(["cat"], env=clean_environment(), stdin=subprocess.PIPE) as quiet:
            refused = snug("inspect", str(quiet.pid), "0x0")
        self.assertEqual((refused.returncode, refused.stderr.count("\n")), (1, 1))
        self.assertIn("does not publish", refused.stderr)

    def test_any_address_of_a_busy_process(self):
        for conf in ("", "profile:4K", "check:on", "check:sample,purge_after:1"):
            with process(conf, "busy") as child:
                with open(f"/proc/{child.pid}/maps", encoding="utf-8") as maps:
                    ranges = [[int(word, 16) for word in line.split()[0].split("-")] for line in maps]
                chance = random.Random(7)
                some = [address for start, end in ranges if end < 1 << 56 for address in
                        (start, end - 1, *[chance.randrange(start, end) for _ in range(15)])]
                live = [address for address, _ in child.at["busy"]]
                for _ in range(3):
                    told = {one["what"] for one in ask(child, *some)}
                    self.assertLessEqual({"block", "none"}, told, conf)
                    states = {(one["what"], one.get("state")) for one in ask(child, *live)}
                    self.assertEqual(states, {("block", "live")}, conf)


if __name__ == "__main__":
    unittest.main()
