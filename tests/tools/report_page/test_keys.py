"""Pointer and keys on the page of `snug report`: they select a time, which all views follow, zoom and find."""

from made_up_extras import live_of
from page_under_test import PageCase, allocated, choose, chromium, flame_total, main, selected, text


class SelectionTest(PageCase):
    def test_a_drag_selects_and_all_views_follow(self):
        data = self.opened("medium")
        choose("allocated")
        whole, row, lives, threads = (
            flame_total(),
            text("#flame-body tbody"),
            text("#lifetimes-body caption"),
            text("#threads-body .told"),
        )
        chromium.evaluate("document.getElementById('time').scrollIntoView()")
        box = chromium.evaluate(
            "(() => { const b = document.querySelector('#brush .u-over').getBoundingClientRect(); return [b.left, b.top, "
            "b.width, b.height]; })()"
        )
        middle = box[1] + box[3] / 2
        chromium.drag(box[0] + box[2] * 0.25, middle, box[0] + box[2] * 0.5, middle)
        chromium.settle()
        begin, end = selected()
        self.assertAlmostEqual(begin, 45, delta=2)
        self.assertAlmostEqual(end, 90, delta=2)
        self.assertEqual(flame_total(), allocated(data, begin, end))
        self.assertLess(flame_total(), whole)
        self.assertNotEqual(text("#flame-body tbody"), row)
        self.assertNotEqual(text("#lifetimes-body caption"), lives)
        self.assertNotEqual(text("#threads-body .told"), threads)
        self.assertIn("Selected: ", text("#time-body .selected"))
        self.assertFalse(chromium.evaluate("document.getElementById('chip').hidden"))
        chromium.evaluate("document.getElementById('chip-reset').click()")
        chromium.settle()
        self.assertEqual((selected(), flame_total()), (None, whole))
        self.assertEqual(chromium.errors, [])

    def test_each_measure_of_a_selection(self):
        data = self.opened("medium")
        chromium.evaluate("Snug.selection.set(40, 90)")
        live = lambda to: [live_of(flat, to)[0] for flat in data["series"]]
        begin, end = live(39), live(90)
        gone = [sum(flat[at + 1] for at in range(0, len(flat), 7) if 40 <= flat[at] <= 90) for flat in data["series"]]
        highest = max(range(40, 91), key=data["slices"]["live_bytes"].__getitem__)
        for tab, value in {
            "peak": data["slices"]["live_bytes"][highest],
            "growth": sum(max(0, b - a) for a, b in zip(begin, end)),
            "left": sum(min(a, b) for a, b in zip(end, gone)),
            "allocated": sum(gone),
        }.items():
            with self.subTest(tab=tab):
                choose(tab)
                self.assertEqual(flame_total(), value)

    def test_keys_select(self):
        data = self.opened("medium")
        last = len(data["slices"]["end_ns"]) - 1
        chromium.evaluate("document.getElementById('brush').focus()")
        chromium.key("ArrowRight")
        begin, end = selected()
        self.assertLessEqual(begin, data["slices"]["live_bytes"].index(max(data["slices"]["live_bytes"])))
        chromium.key("ArrowRight")
        self.assertEqual(selected(), [begin + 1, end + 1])
        chromium.key("ArrowLeft")
        self.assertEqual(selected(), [begin, end])
        chromium.key("ArrowRight", shift=True)
        self.assertEqual(selected(), [begin, end + 1])
        chromium.key("ArrowLeft", shift=True)
        self.assertEqual(selected(), [begin, end])
        chromium.key("Home")
        self.assertEqual(selected(), [0, end - begin])
        chromium.key("ArrowLeft")
        self.assertEqual(selected(), [0, end - begin])
        chromium.key("End")
        self.assertEqual(selected(), [last - (end - begin), last])
        chromium.key("Escape")
        self.assertIsNone(selected())
        self.assertEqual(chromium.evaluate("document.activeElement.id"), "brush")


class KeysTest(PageCase):
    def test_keys_of_the_page(self):
        self.opened("medium")
        chromium.key("?")
        self.assertTrue(chromium.evaluate("document.getElementById('keys').open"))
        chromium.key("Escape")
        self.assertFalse(chromium.evaluate("document.getElementById('keys').open"))
        chromium.key("/")
        self.assertEqual(chromium.evaluate("document.activeElement.id"), "find")
        for letter in "index":
            chromium.key(letter)
        chromium.settle()
        self.assertRegex(text(".found"), r"^\d+ frames?, ")
        chromium.evaluate("document.activeElement.blur()")
        chromium.key("3")
        self.assertEqual(chromium.evaluate("document.activeElement.id"), "sizes-title")

    def test_arrows_go_through_tabs_and_frames_and_cells(self):
        self.opened("medium")
        chromium.evaluate("document.querySelector('#flame-body [data-key=peak]').focus()")
        chromium.key("ArrowRight")
        self.assertEqual(chromium.evaluate("document.activeElement.dataset.key"), "allocated")
        chromium.settle()
        chromium.evaluate("document.getElementById('flame-graph').focus()")
        chromium.key("ArrowDown")
        chromium.key("ArrowDown")
        name = text("g.at div")
        chromium.key("Enter")
        chromium.settle()
        self.assertEqual(text(".crumbs [aria-current]"), name)
        chromium.key("Backspace")
        chromium.settle()
        self.assertEqual(text(".crumbs [aria-current]"), "main")
        chromium.evaluate("document.querySelector('#threads-grid td[tabindex=\"0\"]').focus()")
        before = text("#threads-grid .told")
        chromium.key("ArrowDown")
        self.assertNotEqual(text("#threads-grid .told"), before)
        chromium.evaluate("document.getElementById('map-canvas').focus()")
        chromium.key("ArrowUp")
        self.assertRegex(text("#map-body > .told"), r"^At .* from 0x7f3a40010000: ")
        self.assertEqual(chromium.errors, [])

    def test_findings_lead_to_what_they_tell_of(self):
        data = self.opened("medium")
        press = "(() => { const ways = document.querySelectorAll('#findings .way'); ways[%d].click(); })()"
        chromium.evaluate(press % 0)
        chromium.settle()
        self.assertEqual(text(".crumbs [aria-current]"), data["nodes"]["name"][data["findings"][0]["node"]])
        self.assertEqual(chromium.evaluate("document.querySelector('#flame-body [aria-selected=true]').dataset.key"), "left")
        chromium.evaluate(press % 2)
        self.assertEqual(
            chromium.evaluate("document.querySelector('#sizes-body tr.shown').dataset.key"), str(data["findings"][2]["size"])
        )
        chromium.evaluate(press % 3)
        self.assertEqual(chromium.evaluate("[document.activeElement.dataset.r, document.activeElement.dataset.c]"), ["0", "1"])

    def test_differences_colour_the_flame_graph(self):
        self.opened("medium")
        colors = "[...document.querySelectorAll('.flame rect')].map((rect) => rect.getAttribute('fill')).join()"
        before = chromium.evaluate(colors)
        chromium.evaluate("document.querySelector('.check input').click()")
        chromium.settle()
        self.assertIn("hsl(6 ", chromium.evaluate(colors))
        self.assertIn("hsl(212 ", chromium.evaluate(colors))
        self.assertNotEqual(chromium.evaluate(colors), before)


if __name__ == "__main__":
    main()
