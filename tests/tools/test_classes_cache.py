"""snug classes fit: what a thread's cache may hold, of each class and in all, and what that costs."""

import unittest

from test_classes import FolderTest, as_json

THREADS = 4
SIZES = {130: 50000, 1300: 9000, 5200: 800, 60000: 3}  # blocks of each


class CacheTest(FolderTest):
    def fit(self, *options):
        text = "".join(f"{size} {count}\n" for size, count in SIZES.items())
        return as_json("fit", self.file("sizes", text), "--threads", str(THREADS), *options)

    def full_cache(self, found):
        """Bytes, of blocks that there are."""
        rows = found["fit"]["classes"][1:]
        blocks = dict.fromkeys((row["size"] for row in rows), 0)
        for size, count in SIZES.items():
            blocks[min(row["size"] for row in rows if row["size"] >= size)] += count
        return sum(min(row["cached"], blocks[row["size"]]) * row["size"] for row in rows)

    def test_of_each_class_no_more_bytes_than_asked_for(self):
        for asked, most in (("1K", 1 << 10), ("64K", 1 << 16)):
            found = self.fit("--cached-bytes", asked, "--cached-blocks", "64", "--cached-least", "2", "--cache", "1G")
            self.assertEqual(found["cached_bytes"], most)
            for row in found["fit"]["classes"][1:]:
                self.assertEqual(row["cached"], max(2, min(64, most // row["size"])), row)
            self.assertEqual(found["maps"][0]["cache"], THREADS * self.full_cache(found))

    def test_in_all_no_more_bytes_than_asked_for(self):
        for asked, most in (("1K", 1 << 10), ("4K", 1 << 12)):
            found = self.fit("--cache", asked)
            self.assertEqual(found["cache"], most)
            for entry in found["maps"]:
                self.assertEqual((entry["cache"], entry["cost"]), (THREADS * most, entry["waste"] + THREADS * most), entry)
        whole = self.fit("--cache", "1G")
        self.assertGreater(self.full_cache(whole), 1 << 12)
        self.assertEqual(whole["maps"][0]["cache"], THREADS * self.full_cache(whole))


if __name__ == "__main__":
    unittest.main()
