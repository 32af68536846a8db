"""The page of `snug report` in headless Chromium, with made-up data: nothing is wrong, empty or too wide, in both schemes and
from a phone's width to a wide screen's; its numbers are the data's; and pointer and keys select, zoom and find.

SNUG_REPORT_PAGE names a page that was made before; else make_page.py makes one, with the tarballs of SNUG_REPORT_PACKAGES.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import browser
import made_up_data

HERE = pathlib.Path(__file__).resolve().parent
MAKE_PAGE = HERE.parents[2] / "tools" / "report_command" / "page" / "make_page.py"
MARKER = "<!--SNUG-DATA-->"
WIDTHS, SCHEMES = (400, 1280, 2560), ("light", "dark")
THIN = "\u202f"
VIEWS = ["time", "flame", "sizes", "lifetimes", "threads", "what-if", "parts", "map"]

# Each view's body has to have something of its own: a sentence, rows, frames with a width, or a canvas that is not blank.
EMPTY_VIEWS = """(() => {
  const blank = (canvas) => {
    if (!canvas.width || !canvas.height) return true;
    const data = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    return data.every((pixel) => pixel === data[0]);
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
})()""".replace("PAIRS", json.dumps(
    [[text, ground] for text in ("ink", "muted") for ground in ("page", "surface", "soft")]
    + [["accent", "surface"], ["on-accent", "accent"], ["warm", "surface"], ["surface", "warm"], ["good", "soft"],
       ["against", "surface"], ["heap", "surface"], ["found", "surface"], ["frame-ink", "frame-found"], ["frame-ink", "frame-all"],
       ["page", "ink"], ["surface", "heat-6"], ["ink", "heat-2"]]))

chromium, folder, page_text, texts = None, None, None, {}


def setUpModule():
    global chromium, folder, page_text
    if not browser.CHROMIUM:
        raise unittest.SkipTest("chromium is not installed")
    folder = tempfile.TemporaryDirectory()
    made = os.environ.get("SNUG_REPORT_PAGE")
    if not made:
        made = f"{folder.name}/page.html"
        packages = os.environ.get("SNUG_REPORT_PACKAGES", f"{folder.name}/packages")
        subprocess.run([sys.executable, MAKE_PAGE, "--packages", packages, "-o", made], check=True)
    page_text = pathlib.Path(made).read_text(encoding="utf-8")
    chromium = browser.Browser()


def tearDownModule():
    if chromium:
        chromium.close()
        folder.cleanup()


def written(name, element):
    """A file of the page with an element at the marker."""
    path = pathlib.Path(folder.name, f"{name}.html")
    path.write_text(page_text.replace(MARKER, element), encoding="utf-8")
    return path


def recording(name):
    """The page with one of the made-up data, and the data."""
    if name not in texts:
        data = made_up_data.DATA[name]()
        texts[name] = (written(name, made_up_data.as_script(data)), data)
    return texts[name]


def in_bytes(number):
    units = ["B", "KiB", "MiB", "GiB"]
    value, unit = number, 0
    while value >= (1023.95 if unit else 1024):
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {units[unit]}" if unit else f"{in_count(number)} B"


def in_count(number):
    return f"{number:,}".replace(",", THIN)


def text(selector):
    return chromium.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")


def flame_total():
    return chromium.evaluate("Number(document.querySelector('.flame-total b').dataset.bytes)")


def choose(tab):
    chromium.evaluate(f"document.querySelector('#flame-body [data-key={tab}]').click()")
    chromium.settle()


def selected():
    return chromium.evaluate("Snug.selection.all ? null : [Snug.selection.from, Snug.selection.to]")


def allocated(data, begin, end):
    return sum(flat[at + 1] for flat in data["series"] for at in range(0, len(flat), 7) if begin <= flat[at] <= end)


class PageCase(unittest.TestCase):
    def opened(self, name, **how):
        path, data = recording(name)
        chromium.open(path, **how)
        chromium.settle()
        self.assertEqual(chromium.errors, [])
        return data


class LookTest(PageCase):
    def test_nothing_is_wrong_empty_or_too_wide(self):
        for name in made_up_data.DATA:
            for width in WIDTHS:
                for scheme in SCHEMES:
                    with self.subTest(data=name, width=width, scheme=scheme):
                        self.opened(name, width=width, scheme=scheme)
                        self.assertEqual(chromium.evaluate(EMPTY_VIEWS), [])
                        wide, room = chromium.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
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
        pixel = "[...document.querySelectorAll('canvas')].map((one) => one.toDataURL().length + one.toDataURL().slice(-400)).join()"
        before = chromium.evaluate(pixel)
        chromium.evaluate("document.getElementById('scheme').click()")
        chromium.settle()
        self.assertEqual(chromium.evaluate("document.documentElement.dataset.scheme"), "dark")
        self.assertNotEqual(chromium.evaluate(pixel), before)
        chromium.evaluate("localStorage.clear()")

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
            const begin = performance.now(); view.draw(view.body); return [Math.round(performance.now() - begin), view.id]; })""")
        print(f"\n{path.stat().st_size / 1e6:.1f} MB: ready after {ready} ms; a view is drawn in {sorted(slowest)[::-1]} ms", file=sys.stderr)
        self.assertLess(int(ready), 30_000)

    def test_only_what_is_near_is_drawn(self):
        path, _ = recording("medium")
        chromium.open(path, width=1280, height=700)
        self.assertIsNone(chromium.evaluate("document.getElementById('against').dataset.drawn || null"))
        chromium.evaluate("document.getElementById('against').scrollIntoView()")
        chromium.wait("document.getElementById('against').dataset.drawn")


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
        for tab, field in {"peak": "peak_bytes", "allocated": "allocated_bytes", "left": "live_at_end_bytes",
                           "temporary": "temporary_bytes", "growth": "live_at_end_bytes"}.items():
            with self.subTest(tab=tab):
                choose(tab)
                self.assertEqual(flame_total(), total[field])
                self.assertEqual(chromium.evaluate("d3.select('#flame-graph').datum().value"), total[field])

    def test_functions_have_the_sums_of_their_nodes(self):
        data = self.opened("medium")
        choose("allocated")
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
        self.assertIn("leanest", text("#what-if-body tr[data-key=snug]"))
        self.assertIn("fastest", text("#what-if-body tr[data-key=mimalloc]"))

    def test_lifetimes_and_threads_have_the_sums_of_their_cells(self):
        data = self.opened("medium")
        blocks = sum(data["lifetimes"]["cells"][3::5])
        self.assertIn(in_count(blocks), text("#lifetimes-body caption"))
        self.assertIn(in_count(data["totals"]["freed_by_others_blocks"]), text("#threads-body .told"))

    def test_names_from_outside_are_text(self):
        self.opened("one_event")
        self.assertEqual(chromium.evaluate("document.querySelectorAll('main img, #summary b').length"), 0)
        self.assertIn("</script>", text("#summary .command"))


class SelectionTest(PageCase):
    def test_a_drag_selects_and_all_views_follow(self):
        data = self.opened("medium")
        choose("allocated")
        whole, row, lives, threads = flame_total(), text("#flame-body tbody"), text("#lifetimes-body caption"), text("#threads-body .told")
        chromium.evaluate("document.getElementById('time').scrollIntoView()")
        box = chromium.evaluate("(() => { const b = document.querySelector('#brush .u-over').getBoundingClientRect(); return [b.left, b.top, "
                                "b.width, b.height]; })()")
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
        live = lambda to: [made_up_data.live_of(flat, to)[0] for flat in data["series"]]
        begin, end = live(39), live(90)
        gone = [sum(flat[at + 1] for at in range(0, len(flat), 7) if 40 <= flat[at] <= 90) for flat in data["series"]]
        highest = max(range(40, 91), key=data["slices"]["live_bytes"].__getitem__)
        for tab, value in {"peak": data["slices"]["live_bytes"][highest], "growth": sum(max(0, b - a) for a, b in zip(begin, end)),
                           "left": sum(min(a, b) for a, b in zip(end, gone)), "allocated": sum(gone)}.items():
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
        self.assertEqual(chromium.evaluate("document.querySelector('#sizes-body tr.shown').dataset.key"), str(data["findings"][2]["size"]))
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


class WrongDataTest(unittest.TestCase):
    def test_one_line_says_what_is_wrong(self):
        good = made_up_data.as_script(made_up_data.make(nodes=2, slices=2))
        cases = {"no recording": MARKER, "cannot be read": good.replace('"format"', "format"), "format \"other/9\"":
                 made_up_data.as_script(made_up_data.foreign()), "lacks \"totals\"": good.replace('"totals"', '"total"'),
                 "cannot be  read": good[:1000] + "</script>", "format number": made_up_data.as_script(7)}
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
            process = subprocess.run([sys.executable, MAKE_PAGE, "--packages", packages, "-o", f"{packages}/page.html"],
                                     capture_output=True, text=True)
            self.assertEqual((process.returncode, process.stderr.count("\n")), (1, 1), process.stderr)
            self.assertIn("is not uplot 1.6.32", process.stderr)
            self.assertFalse(pathlib.Path(packages, "page.html").exists())

    def test_a_registry_that_does_not_answer_is_named(self):
        with tempfile.TemporaryDirectory() as packages:
            process = subprocess.run([sys.executable, MAKE_PAGE, "--packages", packages, "-o", f"{packages}/page.html"], capture_output=True,
                                     text=True, env=dict(os.environ, NPM_CONFIG_REGISTRY="http://127.0.0.1:9/registry/"))
            self.assertEqual((process.returncode, process.stderr.count("\n")), (1, 1), process.stderr)
            self.assertIn("http://127.0.0.1:9/registry/uplot/-/uplot-1.6.32.tgz", process.stderr)

    def test_a_page_has_one_marker_the_licences_and_no_address_to_load_from(self):
        self.assertEqual(page_text.count(MARKER), 1)
        for licence in ("Leon Sorokin", "Mike Bostock", "Apache License"):
            self.assertIn(licence, page_text)
        self.assertNotRegex(page_text, r'(?i)<(script|link|img|iframe)[^>]*\s(src|href)=')
        self.assertEqual(page_text.lower().count("<script"), page_text.lower().count("</script"))


if __name__ == "__main__":
    unittest.main()
