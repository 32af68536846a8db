"""What stands on the page of `snug report` looks like what it is, and says what it means: links, switches, badges, the dots of
a chart, and what to do where a recording has little to show.
"""

from page_under_test import PageCase, chromium, main, text

WIDTHS, SCHEMES = (400, 1280, 2560), ("light", "dark")


def picture(selector):
    """Of the window with an element in its middle, as it is now: what was changed is on the screen some frames later."""
    chromium.evaluate(f"document.querySelector('{selector}').scrollIntoView({{ block: 'center' }})")
    chromium.settle()
    return chromium.picture()


def style(selector, *names):
    return chromium.evaluate(f"""(() => {{ const s = getComputedStyle(document.querySelector('{selector}'));
        return {list(names)}.map((name) => s[name]); }})()""")


class LinksTest(PageCase):
    def zoomed(self):
        self.opened("medium")
        chromium.evaluate("document.getElementById('flame-graph').focus()")
        for key in ("Home", "ArrowDown", "ArrowDown", "Enter"):
            chromium.key(key)
        chromium.settle()

    def test_the_line_under_a_link_is_seen(self):
        self.zoomed()
        for selector in (".crumbs button", "#flame-body tbody button.name"):
            with self.subTest(selector):
                before = picture(selector)
                chromium.evaluate(f"document.querySelector('{selector}').style.textDecoration = 'none'")
                self.assertTrue(picture(selector) != before)
        self.assertEqual(style(".crumbs [aria-current]", "textDecorationLine"), ["none"])

    def test_the_way_back_is_gone_by_keys(self):
        self.zoomed()
        chromium.evaluate("document.getElementById('find').focus()")
        chromium.key("Tab")
        for _ in range(4):  # what may stand between
            if chromium.evaluate("Boolean(document.activeElement.closest('.crumbs'))"):
                break
            chromium.key("Tab")
        self.assertEqual(chromium.evaluate("document.activeElement.textContent"), "all")
        # The ring of the focus is not cut off by the line that the name stands in.
        ringed = picture(".crumbs button")
        chromium.evaluate("document.activeElement.style.outline = 'none'")
        self.assertTrue(picture(".crumbs button") != ringed)
        self.assertEqual(style(".crumbs li", "overflow"), ["visible"])
        chromium.key("Enter")
        chromium.settle()
        self.assertTrue(chromium.evaluate("document.querySelector('.crumbs').hidden"))
        self.assertEqual(chromium.evaluate("document.activeElement.id"), "flame-graph")


class SwitchesTest(PageCase):
    def test_lines_that_are_off_do_not_look_like_those_that_are_on(self):
        for scheme in SCHEMES:
            with self.subTest(scheme=scheme):
                self.opened("medium", scheme=scheme)
                off, on = '.lines button[aria-pressed="false"]', '.lines button[aria-pressed="true"]'
                names = ("borderTopStyle", "textDecorationLine", "backgroundColor", "color")
                for name, one, other in zip(names, style(off, *names), style(on, *names)):
                    self.assertNotEqual(one, other, name)
                self.assertEqual(style(off + " i", "borderTopColor"), ["rgba(0, 0, 0, 0)"])
                self.assertNotEqual(style(on + " i", "borderTopColor"), ["rgba(0, 0, 0, 0)"])
                # A legend that switches nothing has no outline.
                self.assertEqual(style("#parts-body .lines span", "borderTopWidth"), ["0px"])
                self.assertNotEqual(style(on, "borderTopColor"), ["rgba(0, 0, 0, 0)"])
                label = text(on)
                chromium.evaluate(f"document.querySelector('{on}').click()")
                self.assertIn(label, chromium.evaluate(f"[...document.querySelectorAll('{off}')].map((b) => b.textContent)"))


class BadgesTest(PageCase):
    def test_each_stands_in_one_line(self):
        for name, width in [(name, width) for name in ("medium", "brief") for width in WIDTHS]:
            with self.subTest(data=name, width=width):
                self.opened(name, width=width)
                chromium.evaluate("Snug.selection.set(1, 1)")
                chromium.key("?")
                broken = chromium.evaluate("""[...document.querySelectorAll('.mark, kbd, .tabs button, .quiet, #chip-reset')]
                    .filter((one) => { const range = document.createRange(); range.selectNodeContents(one);
                        return new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1; })
                    .map((one) => one.textContent)""")
                self.assertEqual(broken, [])
                self.assertGreaterEqual(chromium.evaluate("document.querySelectorAll('.mark').length"), 2)


class WordsTest(PageCase):
    def test_dots_are_explained_where_they_are_drawn(self):
        self.opened("brief")
        self.assertIn("A dot is a moment at which memory was looked at", text("#time-body .hints"))
        self.opened("medium", width=1280)  # 260 samples have no room for dots
        self.assertNotIn("A dot is", text("#time-body .hints"))
        self.assertIn("go through 260 moments", text("#time-body .hints"))
        self.opened("no_samples")
        self.assertIn("Nobody looked at resident memory", text("#time-body .hints"))

    def test_few_moments_say_what_to_do(self):
        self.opened("brief")
        for view, number in (("time", 2), ("parts", 3), ("map", 3)):
            with self.subTest(view=view):
                told = text(f"#{view}-body")
                self.assertIn(f"{number} moments only, since", told)
                self.assertIn("Record a longer run", told)
        self.opened("medium")
        self.assertNotIn("Record a longer run", text("#views"))

    def test_a_replay_says_what_it_was_and_how_far_to_trust_it(self):
        self.opened("medium")
        told = text("#what-if")
        for words in (
            "as fast as the allocator can, once on each allocator",
            "The program's own work is not in",
            "snug replay",
            "snug needed the least memory at its peak, mimalloc the least processor time",
            "Not replayed: its library is not installed.",
        ):
            self.assertIn(words, told)
        for words in ("leanest", "fastest", "takes, and"):
            self.assertNotIn(words, told)

    def test_what_is_missing_names_the_option_that_brings_it(self):
        self.opened("small")
        for view in ("what-if", "parts", "map"):
            options = chromium.evaluate(f"[...document.querySelectorAll('#{view}-body code')].map((one) => one.textContent)")
            self.assertIn("--no-replay", options, view)

    def test_the_share_of_a_finding_says_of_what(self):
        data = self.opened("medium")
        told = chromium.evaluate("[...document.querySelectorAll('.weight')].map((one) => one.textContent)")
        self.assertEqual(len(told), len(data["findings"]))
        for one in told:
            self.assertRegex(one, r"\d% of ")

    def test_no_line_ends_between_a_number_and_its_unit(self):
        self.opened("medium")
        chromium.evaluate("Snug.selection.set(40, 90)")
        chromium.settle()
        for selector in ("#time-body .selected span", "#summary .under", "#sizes-body td", "#what-if-body td:last-child"):
            self.assertNotRegex(text(selector), r"\d (s|ms|ns|B|KiB|MiB)\b", selector)
            self.assertRegex(text(selector), r"\d\u00a0(s|ms|ns|B|KiB|MiB)\b", selector)

    def test_numbers_are_written_as_in_the_findings(self):
        self.opened("medium")
        page = chromium.evaluate("document.querySelector('main').innerText")
        self.assertNotRegex(page, r"\d[\u202f ]%|\d\u202f\d")
        self.assertRegex(page, r"\d,\d{3} blocks")


if __name__ == "__main__":
    main()
