"""The tables of the page of `snug report`: searched and in order, sizes of a selected time, lifetimes that there are."""

from page_under_test import GAP, PageCase, choose, chromium, in_bytes, in_count, main, text

ROWS = "[...document.querySelectorAll('#BODY-body tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"


def rows(view):
    return chromium.evaluate(ROWS.replace("BODY", view))


def press(view, column):
    chromium.evaluate(f"document.querySelectorAll('#{view}-body thead button')[{column}].click()")


def show_all(view):
    chromium.evaluate(f"document.querySelector('#{view}-body .rest').click()")


def search(words):
    chromium.evaluate("document.getElementById('find').focus(); document.getElementById('find').select()")
    chromium.key("Backspace")
    for letter in words:
        chromium.key(letter)
    chromium.settle()


class FunctionsTest(PageCase):
    def test_a_search_and_an_order_hold_together(self):
        data = self.opened("medium")
        choose("allocated")
        own, total, nodes = {}, {}, data["nodes"]
        of = [(name, place.split(":")[0]) for name, place in zip(nodes["name"], nodes["place"])]
        for node, flat in enumerate(data["series"]):
            nbytes, up, seen = sum(flat[1::7]), node, set()
            own[of[node]] = own.get(of[node], 0) + nbytes
            while up >= 0:  # each function on the way once
                if of[up] not in seen:
                    total[of[up]] = total.get(of[up], 0) + nbytes
                seen.add(of[up])
                up = nodes["caller"][up]
        found = [one for one in total if "index" in one[0].lower() and total[one]]
        self.assertGreater(len(found), 3)
        search("INDEX")
        for column, value in ((1, own), (3, total)):
            for falling in (True, False):
                with self.subTest(column=column, falling=falling):
                    press("flame", column)
                    if (
                        chromium.evaluate(f"document.querySelectorAll('#flame-body thead th')[{column}].ariaSort")
                        == "ascending"
                    ) == falling:
                        press("flame", column)
                    wanted = sorted((value[one] for one in found), reverse=falling)
                    shown = rows("flame")
                    self.assertEqual([row[column] for row in shown], [in_bytes(number) for number in wanted[:20]])
                    self.assertTrue(all("index" in row[0].lower() for row in shown))
        # By name, and back to all functions in the same order.
        press("flame", 0)
        press("flame", 0)
        names = chromium.evaluate("[...document.querySelectorAll('#flame-body tbody .name')].map((one) => one.textContent)")
        self.assertEqual(len(names), min(20, len(found)))
        self.assertEqual(names, sorted(names))
        search("")
        self.assertEqual(len(rows("flame")), 20)
        show_all("flame")
        self.assertEqual(len(rows("flame")), sum(1 for one in total if total[one]))
        search("no such function")
        self.assertEqual(rows("flame"), [])
        self.assertIn("No function", text(".found"))

    def test_the_order_stays_for_another_time(self):
        self.opened("medium")
        press("flame", 1)
        chromium.evaluate("Snug.selection.set(10, 120)")
        chromium.settle()
        self.assertEqual(chromium.evaluate("document.querySelectorAll('#flame-body thead th')[1].ariaSort"), "descending")


class SizesTest(PageCase):
    def check(self, data, count):
        """The rows are those of count(row): blocks at the peak, allocated, short-lived, at the end."""
        wanted = {}
        for row in data["sizes"]:
            high, came, brief, end = count(row)
            if high or came or end:
                wanted[in_bytes(row["size"]) if row["size"] >= 65536 else f"{in_count(row['size'])}{GAP}B"] = [
                    in_count(high),
                    in_bytes(row["size"] * high),
                    in_bytes(row["takes"] * high),
                    in_count(came),
                    in_count(brief),
                    in_count(end),
                ]
        show_all("sizes")
        shown = {cells[0]: [*cells[3:7], cells[7].split(" ")[0], cells[8]] for cells in rows("sizes")}
        self.maxDiff = None
        self.assertEqual(shown, wanted)

    def test_whole(self):
        data = self.opened("medium")
        heads = chromium.evaluate("[...document.querySelectorAll('#sizes-body .groups th')].map((head) => head.textContent)")
        self.assertEqual(heads, ["A block", "At the peak", "In all", "At the end"])
        fields = ("peak_blocks", "allocated_blocks", "temporary_blocks", "live_at_end_blocks")
        self.check(data, lambda row: [row[field] for field in fields])
        self.assertEqual(chromium.evaluate("document.querySelectorAll('#sizes-body thead th[aria-sort=descending]').length"), 1)
        taken = [row["takes"] * row["peak_blocks"] for row in data["sizes"]]
        self.assertEqual([row[5] for row in rows("sizes")], [in_bytes(number) for number in sorted(taken, reverse=True)])

    def test_of_a_selected_time(self):
        data = self.opened("medium")
        for begin, end in ((40, 90), (0, 0), (179, 179)):
            with self.subTest(begin=begin, end=end):
                chromium.evaluate(f"Snug.selection.set({begin}, {end})")
                chromium.settle()
                highest = max(range(begin, end + 1), key=data["slices"]["live_bytes"].__getitem__)

                def count(row):
                    entries = [row["series"][at : at + 4] for at in range(0, len(row["series"]), 4)]
                    live = lambda to: sum(came - freed for slice_, came, freed, _ in entries if slice_ <= to)
                    within = [entry for entry in entries if begin <= entry[0] <= end]
                    return live(highest), sum(one[1] for one in within), sum(one[3] for one in within), live(end)

                self.check(data, count)
                self.assertIn("In the selected time", text("#sizes-body .groups"))

    def test_sizes_without_a_row_are_told(self):
        data = self.opened("medium")
        here = sum(row["size"] * row["peak_blocks"] for row in data["sizes"])
        for all_, told in ((2 * here, f"{in_bytes(here)} of the {in_bytes(2 * here)} that are live at the peak"), (here, "")):
            with self.subTest(all=all_):
                chromium.evaluate(f"""(() => {{ const body = document.getElementById('sizes-body');
                    const read = Snug.read(); read.data.totals.peak_bytes = {all_};
                    body.replaceChildren(Snug.sizes.table(read)); }})()""")
                caption = text("#sizes-body caption")
                self.assertEqual(("no row" in caption, told in caption), (bool(told), True), caption)


class LifetimesTest(PageCase):
    HEADS = "[...document.querySelectorAll('#lifetimes-body thead th')].slice(1).map((head) => head.textContent)"

    def test_columns_and_rows_are_those_that_there_are(self):
        data = self.opened("medium")
        cells, lives = data["lifetimes"]["cells"], data["lifetimes"]["life_from_ns"]
        of = sorted({life for life in cells[2::5] if lives[life] is not None})
        heads = chromium.evaluate(self.HEADS)
        self.assertEqual((len(heads), heads[-1]), (of[-1] - of[0] + 2, "to the end"))
        self.assertEqual(heads[0], f"{lives[of[0]]} ns")
        sizes = sorted(set(cells[1::5]))
        self.assertEqual(len(rows("lifetimes")), sizes[-1] - sizes[0] + 1)
        # Each cell has its own number.
        numbers = {}
        for at in range(0, len(cells), 5):
            place = (sizes[-1] - cells[at + 1], len(heads) - 1 if lives[cells[at + 2]] is None else cells[at + 2] - of[0])
            numbers[place] = numbers.get(place, 0) + cells[at + 3]
        labels = chromium.evaluate("[...document.querySelectorAll('#lifetimes-body td')].map((cell) => cell.ariaLabel)")
        for (row, column), blocks in numbers.items():
            label = labels[row * len(heads) + column]
            self.assertTrue(label.startswith(f"{in_count(blocks)} block"), (label, blocks))

    def test_they_stay_in_their_places_for_a_selected_time(self):
        self.opened("medium")
        before = chromium.evaluate(self.HEADS)
        chromium.evaluate("Snug.selection.set(10, 10)")
        chromium.settle()
        self.assertEqual(chromium.evaluate(self.HEADS), before)

    def test_where_nothing_lives_at_the_end_there_is_no_column_for_it(self):
        self.opened("medium")
        chromium.evaluate("""(() => { const read = Snug.read(); const { cells, life_from_ns: lives } = read.data.lifetimes;
            const kept = [];
            for (let at = 0; at < cells.length; at += 5)
              if (lives[cells[at + 2]] !== null) kept.push(...cells.slice(at, at + 5));
            const holder = document.getElementById('snug-data');
            read.data.lifetimes.cells = kept; holder.textContent = JSON.stringify(read.data);
            document.getElementById('views').replaceChildren(); Snug.views.list.length = 0;
            Snug.lifetimes.start(Snug.read()); Snug.views.drawAll(); })()""")
        self.assertNotIn("to the end", chromium.evaluate(self.HEADS))


if __name__ == "__main__":
    main()
