"""snug replay: at full speed the clock that allocators read goes on as recorded, so that what they give back by time goes."""

import unittest

from test_replay import TELLING, ReplayTest

SECONDS = 1000  # of the recording
MIB = 1 << 20


class ClockTest(ReplayTest):
    def final(self, result, name="snug"):
        return self.of(result, name)["checkpoints"][-1]["rss_bytes"]

    def test_what_snug_gives_back_by_time_goes_though_no_time_passes(self):
        file = self.made_up("idle")
        full = self.replay(file)
        self.assertGreater(max(one["rss_bytes"] for one in self.of(full, "snug")["checkpoints"]), 30 * MIB)
        self.assertLess(self.final(full), 8 * MIB)
        self.assertEqual(self.of(full, "snug")["sleeping_threads"], 0)
        self.assertNotIn("of its own, which slept", self.said)
        # Where the machine is busy the background thread may have had less time in this one, but never more.
        recorded = self.replay(file, "--speed=recorded")
        self.assertLess(self.final(full), self.final(recorded) * 1.25 + 2 * MIB)

    def test_what_is_not_old_stays(self):
        self.assertGreater(self.final(self.replay(self.made_up("idle"), "--conf=purge_after:3600000")), 20 * MIB)

    def test_every_allocator_reads_it_by_libc(self):
        log = self.folder / "log"
        # Snug runs beside it, with few rounds to make.
        self.replay(self.made_up("idle", str(SECONDS)), "--conf=purge_after:3600000", allocators=TELLING, CLOCK=str(log))
        told = [[int(word) for word in line.split()] for line in log.read_text().splitlines()]
        self.assertEqual(len(told), 4)
        *shifted, time_of_day = (after - before for before, after in zip(told[0], told[1]))
        for seconds in shifted:
            self.assertGreaterEqual(seconds, SECONDS - 1)
        self.assertLess(time_of_day, SECONDS - 1)

    def test_at_recorded_speed_nothing_is_skipped(self):
        log = self.folder / "log"
        self.replay(self.made_up("idle", "0"), "--speed=recorded", allocators=TELLING, CLOCK=str(log))
        with open("/proc/uptime", encoding="ascii") as uptime:
            up = float(uptime.read().split()[0])
        for line in log.read_text().splitlines():
            self.assertLessEqual(int(line.split()[2]), up)

    def test_an_allocators_own_threads_are_told_of_with_both_figures(self):
        result = self.replay(self.made_up("idle"), allocators=f"telling={TELLING}", THREADS="helped")
        self.assertEqual(self.of(result, "telling")["sleeping_threads"], 1)
        self.assertRegex(self.said, "telling has a thread of its own, which slept by the machine's clock: what such a thread gives back by "
                         r"time is still in its final RSS, [0-9.]+ MiB \(the program had 12.0 MiB as a whole when it was recorded\); "
                         "--speed recorded tells what it keeps.")

    def test_an_allocator_that_tells_slowly_is_asked_seldom(self):
        checkpoints = self.of(self.replay(self.made_up("many"), allocators=f"telling={TELLING}", MALLINFO="1.2"), "telling")["checkpoints"]
        self.assertGreater(len(checkpoints), 6)
        self.assertLessEqual(sum("mallinfo2" in one for one in checkpoints), 3)
        checkpoints = self.of(self.replay(self.made_up("many"), allocators=f"telling={TELLING}"), "telling")["checkpoints"]
        self.assertEqual(sum("mallinfo2" in one for one in checkpoints), len(checkpoints))


if __name__ == "__main__":
    unittest.main()
