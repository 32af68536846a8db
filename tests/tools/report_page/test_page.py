"""How the page of `snug report` looks in headless Chromium: nothing is wrong, empty or too wide, in both schemes and from a
phone's width to a wide screen's; wrong data are told in one line; and make_page.py refuses what is not locked.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import made_up_data
from page_under_test import MAKE_PAGE, MARKER, PageCase, chromium, main, page_text, recording, text, written

WIDTHS, SCHEMES = (400, 1280, 2560), ("light", "dark")
VIEWS = ["time", "flame", "sizes", "lifetimes", "threads", "what-if", "parts", "map"]

# Each view's body has to have something of its own: a sentence, rows, frames with a width, or a canvas that is not blank.
EMPTY_VIEWS = """(() => {
  const blank = (canvas) => {
    if (!canvas.width || !canvas.height) return true;
    // Axes are drawn in greys: only what has a colour shows that there is something between them.
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let coloured = 0;
    for (let at = 0; at < data.length; at += 4) {
      const [r, g, b] = data.subarray(at, at + 3);
      if (data[at + 3] > 30 && Math.max(r, g, b) - Math.min(r, g, b) > 40) ++coloured;
    }
    return coloured < 20;
  };
  const wrong = [];
  for (const body of document.querySelectorAll(".view .body")) {
    const sentence = body.querySelector(":scope > .empty, :scope > div > .empty, :scope > div > div > .empty");
    const canvases = [...body.querySelectorAll("canvas")];
    const frames = [...body.querySelectorAll(".flame rect")].filter((rect) => rect.getBoundingClientRect().width > 1).length;
    const rows = body.querySelectorAll("tbody tr").length;
    if (canvases.some(blank)) wrong.push(body.id + ": a blank canvas");
    if (body.querySelector(".flame svg") && !frames) wrong.push(body.id + ": a flame graph without frames");
    if (!sentence && !canvases.length && !frames && !rows) wrong.push(body.id + ": nothing in it");
    if (body.getBoundingClientRect().height < 10) wrong.push(body.id + ": not visible");
  }
  const strange = document.querySelector("main").innerText.match(/.{0,20}\\b(null|undefined|NaN|Infinity)\\b.{0,20}/);
  if (strange) wrong.push("a text: " + strange[0]);
  if (!document.querySelector("#findings li, #findings .empty")) wrong.push("findings: nothing in it");
  return wrong;
})()"""

# Text and what it stands on, by the names in style.css. The relative luminance is WCAG's.
CONTRASTS = """(() => {
  const root = getComputedStyle(document.documentElement);
  const light = (name) => {
    const hex = root.getPropertyValue("--" + name).trim();
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
      .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const made = {};
  for (const [text, ground] of PAIRS) {
    const [a, b] = [light(text), light(ground)].sort((x, y) => y - x);
    made[text + " on " + ground] = (a + 0.05) / (b + 0.05);
  }
  return made;
})()""".replace(
    "PAIRS",
    json.dumps(
        [[text, ground] for text in ("ink", "muted") for ground in ("page", "surface", "soft")]
        + [
            ["accent", "surface"],
            ["on-accent", "accent"],
            ["warm", "surface"],
            ["surface", "warm"],
            ["good", "soft"],
            ["against", "surface"],
            ["heap", "surface"],
            ["found", "surface"],
            ["frame-ink", "frame-found"],
            ["frame-ink", "frame-all"],
            ["page", "ink"],
            ["surface", "heat-6"],
            ["ink", "heat-2"],
        ]
    ),
)


class LookTest(PageCase):
    def test_nothing_is_wrong_empty_or_too_wide(self):
        for name in made_up_data.DATA:
            for width in WIDTHS:
                for scheme in SCHEMES:
                    with self.subTest(data=name, width=width, scheme=scheme):
                        self.opened(name, width=width, scheme=scheme)
                        self.assertEqual(chromium.evaluate(EMPTY_VIEWS), [])
                        wide, room = chromium.evaluate(
                            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
                        )
                        self.assertLessEqual(wide, room)
                        self.assertEqual(chromium.evaluate("document.documentElement.dataset.scheme"), scheme)
                        drawn = chromium.evaluate("[...document.querySelectorAll('.view[data-drawn]')].map((view) => view.id)")
                        self.assertEqual([view for view in drawn if view != "against"], VIEWS)

    def test_text_has_contrast(self):
        for scheme in SCHEMES:
            self.opened("small", scheme=scheme)
            for pair, ratio in chromium.evaluate(CONTRASTS).items():
                with self.subTest(scheme=scheme, pair=pair):
                    self.assertGreaterEqual(ratio, 4.5)

    def test_the_button_changes_the_scheme_and_all_charts(self):
        self.opened("medium", scheme="light")
        pixel = (
            "[...document.querySelectorAll('canvas')].map((one) => one.toDataURL().length + one.toDataURL().slice(-400)).join()"
        )
        before = chromium.evaluate(pixel)
        chromium.evaluate("document.getElementById('scheme').click()")
        chromium.settle()
        self.assertEqual(chromium.evaluate("document.documentElement.dataset.scheme"), "dark")
        self.assertTrue(chromium.evaluate(pixel) != before, "the charts look as before")
        chromium.evaluate("localStorage.clear()")

    def test_a_page_is_printed_whole_and_in_light_colours(self):
        path, _ = recording("medium")
        chromium.open(path, scheme="dark", motion="no-preference")
        # A browser prints when the event's listeners and their promises are done; it waits for no frame of the screen.
        done = f"window.dispatchEvent(new Event('beforeprint')); Promise.resolve().then(() => {EMPTY_VIEWS})"
        self.assertEqual(chromium.evaluate(done), [])
        self.assertEqual(chromium.evaluate("document.documentElement.dataset.scheme"), "light")
        chromium.evaluate("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(chromium.evaluate("document.documentElement.dataset.scheme"), "dark")
        self.assertEqual(chromium.errors, [])

    def test_charts_follow_the_width_of_the_window(self):
        self.opened("medium", width=1280)
        chromium.call("Emulation.setDeviceMetricsOverride", width=700, height=900, deviceScaleFactor=1, mobile=False)
        chromium.evaluate("document.getElementById('time').scrollIntoView()")
        chromium.wait("document.querySelector('#time-body canvas').clientWidth < 700")
        chromium.wait("document.documentElement.scrollWidth <= 700")
        self.assertEqual(chromium.errors, [])

    def test_a_large_recording_opens_at_once(self):
        path, _ = recording("huge")
        ready = chromium.open(path)
        slowest = chromium.evaluate("""Snug.views.list.map((view) => {
            const begin = performance.now();
            view.draw(view.body);
            return [Math.round(performance.now() - begin), view.id]; })""")
        print(
            f"\n{path.stat().st_size / 1e6:.1f} MB: ready after {ready} ms; a view is drawn in {sorted(slowest)[::-1]} ms",
            file=sys.stderr,
        )
        self.assertLess(int(ready), 30_000)

    def test_only_what_is_near_is_drawn_and_a_view_asked_for_stays_in_sight(self):
        path, _ = recording("medium")
        chromium.open(path, width=1280, height=1000)
        chromium.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        chromium.wait("Snug.views.list.some((view) => view.near) && !Snug.views.list.some((view) => view.near && view.stale)")
        self.assertIsNone(chromium.evaluate("document.getElementById('against').dataset.drawn || null"))
        chromium.evaluate("Snug.views.show('against')")
        chromium.wait("document.activeElement.id === 'against-title'")
        self.assertEqual(chromium.evaluate("Snug.views.list.filter((view) => view.stale).length"), 0)
        top = chromium.evaluate("document.getElementById('against').getBoundingClientRect().top")
        self.assertTrue(0 < top < 200, top)


class WrongDataTest(PageCase):
    def test_one_line_says_what_is_wrong(self):
        good = made_up_data.as_script(made_up_data.make(nodes=2, slices=2))
        cases = {
            "no recording": MARKER,
            "cannot be read": good.replace('"format"', "format"),
            'format "other/9"': made_up_data.as_script(made_up_data.foreign()),
            'lacks "totals"': good.replace('"totals"', '"total"'),
            "cannot be  read": good[:1000] + "</script>",
            "format number": made_up_data.as_script(7),
        }
        for says, element in cases.items():
            with self.subTest(says=says):
                chromium.open(written("wrong", element))
                self.assertIn(says.replace("  ", " "), text("#error"))
                self.assertTrue(chromium.evaluate("document.getElementById('error').checkVisibility()"))
                self.assertEqual(chromium.evaluate("document.querySelectorAll('.view:not([hidden])').length"), 0)
                self.assertEqual(chromium.errors, [])


class MakePageTest(unittest.TestCase):
    def test_a_package_that_is_not_the_locked_one_is_refused(self):
        with tempfile.TemporaryDirectory() as packages:
            pathlib.Path(packages, "uplot-1.6.32.tgz").write_bytes(b"another")
            process = subprocess.run(
                [sys.executable, MAKE_PAGE, "--packages", packages, "-o", f"{packages}/page.html"],
                capture_output=True,
                text=True,
            )
            self.assertEqual((process.returncode, process.stderr.count("\n")), (1, 1), process.stderr)
            self.assertIn("is not uplot 1.6.32", process.stderr)
            self.assertFalse(pathlib.Path(packages, "page.html").exists())

    def test_a_registry_that_does_not_answer_is_named(self):
        with tempfile.TemporaryDirectory() as packages:
            process = subprocess.run(
                [sys.executable, MAKE_PAGE, "--packages", packages, "-o", f"{packages}/page.html"],
                capture_output=True,
                text=True,
                env=dict(os.environ, NPM_CONFIG_REGISTRY="http://127.0.0.1:9/registry/"),
            )
            self.assertEqual((process.returncode, process.stderr.count("\n")), (1, 1), process.stderr)
            self.assertIn("http://127.0.0.1:9/registry/uplot/-/uplot-1.6.32.tgz", process.stderr)

    def test_a_page_has_one_marker_the_licences_and_no_address_to_load_from(self):
        self.assertEqual(page_text().count(MARKER), 1)
        for licence in ("Leon Sorokin", "Mike Bostock", "Apache License"):
            self.assertIn(licence, page_text())
        self.assertNotRegex(page_text(), r"(?i)<(script|link|img|iframe)[^>]*\s(src|href)=")
        self.assertEqual(page_text().lower().count("<script"), page_text().lower().count("</script"))


if __name__ == "__main__":
    main()
