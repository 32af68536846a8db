"""The numbers of the page of `snug report`: they are those of the data, and names from outside stay text."""

from page_under_test import PageCase, choose, chromium, flame_total, in_bytes, in_count, main, text


class NumbersTest(PageCase):
    def test_totals_are_those_of_the_data(self):
        for name in ("small", "medium", "one_event", "no_events"):
            with self.subTest(data=name):
                total = self.opened(name)["totals"]
                self.assertEqual(text("#total-peak .big"), in_bytes(total["peak_bytes"]))
                self.assertEqual(text("#total-allocated .big"), in_bytes(total["allocated_bytes"]))
                self.assertIn(in_count(total["allocated_blocks"]), text("#total-allocated .under"))
                self.assertEqual(text("#total-left .big"), in_bytes(total["live_at_end_bytes"]))
                self.assertIn(in_count(total["temporary_blocks"]), text("#total-temporary .under"))

    def test_tabs_of_the_flame_graph_add_up_to_the_totals(self):
        total = self.opened("medium")["totals"]
        for tab, field in {
            "peak": "peak_bytes",
            "allocated": "allocated_bytes",
            "left": "live_at_end_bytes",
            "temporary": "temporary_bytes",
            "growth": "live_at_end_bytes",
        }.items():
            with self.subTest(tab=tab):
                choose(tab)
                self.assertEqual(flame_total(), total[field])
                self.assertEqual(chromium.evaluate("d3.select('#flame-graph').datum().value"), total[field])

    def test_functions_have_the_sums_of_their_nodes(self):
        data = self.opened("medium")
        choose("allocated")
        chromium.evaluate("document.querySelectorAll('#flame-body thead button')[1].click()")
        own = {}
        for name, place, flat in zip(data["nodes"]["name"], data["nodes"]["place"], data["series"]):
            own[name, place.split(":")[0]] = own.get((name, place.split(":")[0]), 0) + sum(flat[1::7])
        best = sorted(own.items(), key=lambda one: -one[1])[:20]
        shown = chromium.evaluate("""[...document.querySelectorAll('#flame-body tbody tr')].map((row) =>
            [row.querySelector('.name').textContent, row.cells[1].textContent])""")
        self.assertEqual([cell for _, cell in shown], [in_bytes(value) for _, value in best])
        self.assertEqual(shown[0][0], best[0][0][0])

    def test_sizes_and_allocators_have_a_row_each(self):
        data = self.opened("medium")
        chromium.evaluate("document.querySelector('#sizes-body .rest').click()")
        self.assertEqual(chromium.evaluate("document.querySelectorAll('#sizes-body tbody tr').length"), len(data["sizes"]))
        self.assertEqual(chromium.evaluate("document.querySelectorAll('#what-if-body tbody tr').length"), 6)
        self.assertIn("least memory", text("#what-if-body tr[data-key=snug]"))
        self.assertIn("least time", text("#what-if-body tr[data-key=mimalloc]"))

    def test_lifetimes_and_threads_have_the_sums_of_their_cells(self):
        data = self.opened("medium")
        blocks = sum(data["lifetimes"]["cells"][3::5])
        self.assertIn(in_count(blocks), text("#lifetimes-body caption"))
        self.assertIn(in_count(data["totals"]["freed_by_others_blocks"]), text("#threads-body .told"))

    def test_names_from_outside_are_text(self):
        self.opened("one_event")
        self.assertEqual(chromium.evaluate("document.querySelectorAll('main img, #summary b').length"), 0)
        self.assertIn("</script>", text("#summary .command"))


if __name__ == "__main__":
    main()
