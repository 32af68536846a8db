"""A Chromium without a window, driven over a pipe by its DevTools protocol with Python's standard library alone.

One browser with one page. `errors` has what is wrong with the page since it was opened: exceptions that no script caught,
errors and warnings of the console and of the log, and whatever was asked of a network.
"""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PATIENCE = 1200  # seconds, for any answer: a page with a hundred charts takes minutes on a busy machine
PARTING = 60  # seconds, to end by itself
LOCAL = ("file:", "about:", "data:")  # addresses that need no network
CODES = {"Backspace": 8, "Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36,
         "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def find_browser():
    """The path, or None. A headless shell comes first: it alone takes windows of any width."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def high_pipe():
    """A pipe with ends other than 3 and 4."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return high


class Browser:
    """Every method waits for its answer."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # a process that ends last may write into it
        (self.reading, theirs_out), (theirs_in, self.writing) = high_pipe(), high_pipe()
        # Its protocol is on descriptors 3 and 4; a shell puts them there. Root has no sandbox, and a container no /dev/shm.
        line = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out} {theirs_in}<&- {theirs_out}>&-'
        self.process = subprocess.Popen(
            ["bash", "-c", line, find_browser(), "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--disable-background-networking", "--hide-scrollbars", "--no-first-run",
             f"--user-data-dir={self.folder.name}"],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in), os.close(theirs_out)
        self.ids, self.left, self.session, self.errors, self.loaded = itertools.count(1), b"", None, [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        os.close(self.writing)  # it ends with its pipe
        try:
            self.process.wait(PARTING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.reading)
        self.folder.cleanup()

    def call(self, method, **parameters):
        number = next(self.ids)
        message = {"id": number, "method": method, "params": parameters} | ({"sessionId": self.session} if self.session else {})
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writing, data):]
        while (answer := self.receive()).get("id") != number:
            self.notice(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def receive(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.left:
            if not select.select([self.reading], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            read = os.read(self.reading, 1 << 20)
            if not read:
                raise RuntimeError("the browser ended")
            self.left += read
        message, _, self.left = self.left.partition(b"\0")
        return json.loads(message)

    def notice(self, event):
        method, what = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "assert", "warning"):
            self.errors.append("console: " + " ".join(str(one.get("description", one.get("value"))) for one in what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"log: {what['entry']['text']}")
        elif method == "Network.requestWillBeSent" and not what["request"]["url"].startswith(LOCAL):
            self.errors.append(f"asked for {what['request']['url']}")
        elif method == "Page.loadEventFired":
            self.loaded = True

    def open(self, file, width=1280, scheme="light", *, height=800, motion="reduce"):
        """Loads a file (a Path) at a width in pixels, on a system with a light or a dark scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
        self.call("Emulation.setEmulatedMedia", features=[{"name": name, "value": value} for name, value in features.items()])
        self.errors, self.loaded = [], False
        self.call("Page.navigate", url=file.as_uri())
        while not self.loaded:
            self.notice(self.receive())

    def evaluate(self, script):
        """The value of an expression; of a promise, what it is kept with."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", script))
        return result["result"].get("value")

    def wait(self, script):
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + PATIENCE
        while not (value := self.evaluate(script)):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {script}")
            time.sleep(0.02)
        return value

    def key(self, key, shift=False):
        what = {"key": key, "code": key, "windowsVirtualKeyCode": CODES.get(key, ord(key[0])), "modifiers": 8 if shift else 0}
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **what, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **what)

    def mouse(self, kind, x, y, buttons):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons, clickCount=1)

    def drag(self, x0, y0, x1, y1):
        self.mouse("mousePressed", x0, y0, 1)
        for step in range(1, 6):
            self.mouse("mouseMoved", x0 + (x1 - x0) * step / 5, y0 + (y1 - y0) * step / 5, 1)
        self.mouse("mouseReleased", x1, y1, 0)

    def picture(self, clip=None):
        """A PNG of the window, or of a part of the page: (x, y, width, height)."""
        part = {}
        if clip:
            sides = dict(zip(("x", "y", "width", "height"), clip, strict=True))
            part = {"clip": sides | {"scale": 1}, "captureBeyondViewport": True}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **part)["data"])
