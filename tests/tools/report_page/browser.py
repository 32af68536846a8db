"""A headless Chromium driven over its DevTools pipe with Python's standard library alone.

One browser and one page for all tests. `errors` collects what a page says wrong: exceptions nobody caught, console errors,
the log's errors, and each request that is not for the page itself.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium")
LONG = 120  # seconds without any answer: the browser hangs


class Browser:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        # DevTools reads from descriptor 3 and writes to 4 of the browser. Ours lie above, so that none of them is in the way.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (*os.pipe(), *os.pipe())]
        self.read_end, self.write_end = ends[2], ends[1]
        fds = (ends[0], ends[3])
        self.process = subprocess.Popen(
            [
                CHROMIUM,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--hide-scrollbars",
                f"--user-data-dir={self.folder.name}",
                "--remote-debugging-pipe",
                "about:blank",
            ],
            close_fds=False,
            preexec_fn=lambda: (os.dup2(fds[0], 3), os.dup2(fds[1], 4)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in fds:
            os.close(fd)
        self.number, self.buffer, self.session, self.errors, self.loaded = 0, b"", None, [], False
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        os.close(self.write_end)
        self.process.kill()
        self.process.wait()
        os.close(self.read_end)
        try:
            self.folder.cleanup()
        except OSError:  # a process of the browser that ends last may still write into it
            shutil.rmtree(self.folder.name, ignore_errors=True)

    def receive(self):
        while b"\0" not in self.buffer:
            if not select.select([self.read_end], [], [], LONG)[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self.read_end, 1 << 20)
            if not part:
                raise EOFError("Chromium has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def notice(self, message):
        method, what = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            detail = what["exceptionDetails"]
            self.errors.append(detail.get("exception", {}).get("description") or detail["text"])
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "assert", "warning"):
            self.errors.append("console: " + " ".join(str(one.get("description", one.get("value"))) for one in what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.errors.append("log: " + what["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not what["request"]["url"].startswith(("file:", "about:")):
            self.errors.append("request: " + what["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data) :]
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.notice(answer)

    def evaluate(self, code):
        """The value of an expression of JavaScript, a promise's too."""
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", code))
        return answer["result"].get("value")

    def open(self, path, width=1280, height=900, scheme="light", motion="reduce"):
        """Opens a file, and returns when its page is ready."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}],
        )
        self.errors, self.loaded = [], False
        self.call("Page.navigate", url=f"file://{path}")
        while not self.loaded:
            self.notice(self.receive())
        return self.wait("document.documentElement.dataset.ready")

    def wait(self, code):
        """Waits until an expression is true, and returns it."""
        while True:
            value = self.evaluate(code)
            if value:
                return value
            time.sleep(0.02)

    def settle(self):
        """Lets all views be drawn, and what they have left for the next frames."""
        self.evaluate("Snug.views.drawAll()")
        self.evaluate("new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 120))")

    def key(self, key, shift=False):
        codes = {
            "ArrowLeft": 37,
            "ArrowUp": 38,
            "ArrowRight": 39,
            "ArrowDown": 40,
            "Escape": 27,
            "Home": 36,
            "End": 35,
            "Enter": 13,
            "Backspace": 8,
            "Tab": 9,
        }
        what = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0])), "modifiers": 8 if shift else 0}
        if len(key) == 1 or key == "Enter":
            what["text"] = "\r" if key == "Enter" else key
        self.call("Input.dispatchKeyEvent", type="keyDown", **what)
        self.call("Input.dispatchKeyEvent", type="keyUp", **{name: value for name, value in what.items() if name != "text"})

    def drag(self, x0, y0, x1, y1):
        mouse = lambda kind, x, y, buttons: self.call(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons, clickCount=1
        )
        mouse("mousePressed", x0, y0, 1)
        for step in range(1, 6):
            mouse("mouseMoved", x0 + (x1 - x0) * step / 5, y0 + (y1 - y0) * step / 5, 1)
        mouse("mouseReleased", x1, y1, 0)

    def click(self, x, y):
        self.drag(x, y, x, y)

    def screenshot(self, path, whole=True):
        options = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options = {
                "captureBeyondViewport": True,
                "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1},
            }
        data = self.call("Page.captureScreenshot", format="png", **options)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
