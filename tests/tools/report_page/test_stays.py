"""What the reader of a page of `snug report` chose stays: in other colours, in a window of another width, for another time and
measure; and all that is drawn follows the width.
"""

from page_under_test import PageCase, choose, chromium, main, selected, text

NARROW = 400
# Of each chart its right edge beyond that of the view around it, in pixels; and charts that do not fill the view.
WRONG_WIDTHS = """(() => {
  const wrong = [];
  for (const body of document.querySelectorAll(".view .body")) {
    const room = body.getBoundingClientRect();
    for (const chart of body.querySelectorAll(".uplot, .flame svg, .map-frame canvas")) {
      const box = chart.getBoundingClientRect();
      if (box.right > room.right + 1) wrong.push(`${body.id}: ${box.right - room.right} pixels too wide`);
      if (box.width < room.width * 0.7) wrong.push(`${body.id}: ${box.width} of ${room.width}`);
    }
  }
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) wrong.push(`the page scrolls by ${wide} pixels`);
  return wrong;
})()"""
STALE = "Snug.views.list.some((view) => view.stale)"


def resize(width):
    chromium.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    chromium.wait(f"document.documentElement.clientWidth === {width}")


def zoom():
    """Zooms into the widest function that main calls, and goes a frame further; returns the two names."""
    chromium.evaluate("document.getElementById('flame-graph').focus()")
    for key in ("Home", "ArrowDown", "ArrowDown", "Enter"):
        chromium.key(key)
    chromium.settle()
    chromium.key("ArrowDown")
    return text(".crumbs [aria-current]"), text("g.at div")


def frames():
    """The drawn frames: name, and the pixels from the left and in width."""
    return chromium.evaluate("""[...document.querySelectorAll('.flame g')].map((g) => {
        const box = g.querySelector('rect').getBoundingClientRect();
        return [g.getAttribute('name'), Math.round(box.left), Math.round(box.width)]; }).sort()""")


ORDER = """[...document.querySelectorAll('#BODY-body thead [aria-sort$="ending"]')].map((head) =>
    [head.cellIndex, head.ariaSort]).concat(document.querySelectorAll('#BODY-body tbody tr').length)"""


class StaysTest(PageCase):
    def test_in_other_colours_all_that_was_chosen_stays(self):
        self.opened("medium")
        chromium.evaluate("Snug.selection.set(40, 90)")
        chromium.settle()
        names, drawn = zoom(), frames()
        for view, column in (("flame", 0), ("sizes", 3)):
            chromium.evaluate(f"document.querySelectorAll('#{view}-body thead button')[{column}].click()")
            chromium.evaluate(f"document.querySelectorAll('#{view}-body thead button')[{column}].click()")
            chromium.evaluate(f"document.querySelector('#{view}-body .rest').click()")
        orders = {view: chromium.evaluate(ORDER.replace("BODY", view)) for view in ("flame", "sizes")}
        chromium.evaluate("document.querySelector('.lines button:nth-child(2)').click()")
        chromium.evaluate("document.querySelector('#threads-grid td[data-r=\"2\"][data-c=\"3\"]').focus()")
        cell = text("#threads-grid .told")
        chromium.evaluate("document.getElementById('map-canvas').focus()")
        chromium.key("ArrowUp")
        place = text("#map-body > .told")
        for scheme in ("dark", "light"):
            with self.subTest(scheme=scheme):
                chromium.key("d")
                chromium.settle()
                self.assertEqual(chromium.evaluate("document.documentElement.dataset.scheme"), scheme)
                self.assertEqual(selected(), [40, 90])
                self.assertEqual((text(".crumbs [aria-current]"), text("g.at div")), names)
                self.assertEqual([frame[0] for frame in frames()], [frame[0] for frame in drawn])
                # A frame that came to its place step by step may lie a fraction of a pixel beside one drawn there.
                moved = [(now, then) for now, then in zip(frames(), drawn, strict=True)
                         if any(abs(a - b) > 1 for a, b in zip(now[1:], then[1:], strict=True))]
                self.assertEqual(moved, [])
                for view, order in orders.items():
                    self.assertEqual(chromium.evaluate(ORDER.replace("BODY", view)), order)
                self.assertEqual(
                    chromium.evaluate("document.querySelector('.lines button:nth-child(2)').ariaPressed"), "false"
                )
                self.assertEqual(text("#threads-grid .told"), cell)
                self.assertEqual(text("#map-body > .told"), place)
                self.assertEqual(chromium.evaluate("document.activeElement.id"), "map-canvas")
        chromium.evaluate("localStorage.clear()")
        self.assertEqual(chromium.errors, [])

    def test_a_zoom_stays_for_other_times_and_measures_and_goes_to_everything(self):
        self.opened("medium")
        name, _ = zoom()
        choose("allocated")
        self.assertEqual(text(".crumbs [aria-current]"), name)
        chromium.evaluate("Snug.selection.set(10, 120)")
        chromium.settle()
        self.assertEqual(text(".crumbs [aria-current]"), name)
        chromium.evaluate("document.querySelector('.crumbs button').click()")
        chromium.settle()
        self.assertTrue(chromium.evaluate("document.querySelector('.crumbs').hidden"))
        choose("peak")
        self.assertTrue(chromium.evaluate("document.querySelector('.crumbs').hidden"))

    def test_a_printed_page_has_the_zoom_too(self):
        self.opened("medium", scheme="dark")
        name, _ = zoom()
        drawn = [frame[0] for frame in frames()]
        chromium.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        self.assertEqual((text(".crumbs [aria-current]"), [frame[0] for frame in frames()]), (name, drawn))
        chromium.evaluate("window.dispatchEvent(new Event('afterprint'))")

    def test_a_narrower_window_narrows_what_is_drawn_and_keeps_the_zoom(self):
        for name in ("medium", "brief", "no_stacks"):
            with self.subTest(data=name):
                self.opened(name, width=2560)
                chosen = zoom() if name == "medium" else None
                resize(NARROW)
                # What is out of sight may be drawn later, and must not widen the page meanwhile.
                self.assertLessEqual(chromium.evaluate("document.documentElement.scrollWidth"), NARROW)
                chromium.wait(f"{STALE} || document.querySelector('.uplot').clientWidth < 400")
                chromium.settle()
                self.assertEqual(chromium.evaluate(WRONG_WIDTHS), [])
                if chosen:
                    self.assertEqual(text(".crumbs [aria-current]"), chosen[0])
                resize(1280)
                chromium.wait(f"{STALE} || document.querySelector('.uplot').clientWidth > 400")
                chromium.settle()
                self.assertEqual(chromium.evaluate(WRONG_WIDTHS), [])
                self.assertEqual(chromium.errors, [])

    def test_a_scroll_bar_that_comes_is_a_change_of_width(self):
        self.opened("medium", width=1280)
        chromium.evaluate("document.getElementById('top').style.maxWidth = '700px'")
        chromium.evaluate("document.getElementById('time').scrollIntoView()")
        chromium.wait("document.querySelector('#time-body .uplot').clientWidth < 700")


if __name__ == "__main__":
    main()
