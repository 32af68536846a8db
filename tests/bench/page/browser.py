"""Chromium without a window, driven over a pipe by its DevTools protocol: nothing but the standard library is needed."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PATIENCE = 1200  # seconds, for any answer


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
    """One page in one browser; every method waits for its answer."""

    def __init__(self, path, folder):
        (ours_in, theirs_out), (theirs_in, ours_out) = high_pipe(), high_pipe()
        # Its protocol is on descriptors 3 and 4; a shell puts them there. Root has no sandbox, and a container no /dev/shm.
        line = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out} {theirs_in}<&- {theirs_out}>&-'
        self.process = subprocess.Popen(
            ["bash", "-c", line, path, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", f"--user-data-dir={folder}"],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in), os.close(theirs_out)
        self.reading, self.writing, self.left = ours_in, ours_out, b""
        self.ids, self.events, self.session = itertools.count(1), [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        os.close(self.writing)  # it ends with its pipe
        try:
            self.process.wait(600)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.reading)

    def call(self, method, **parameters):
        number = next(self.ids)
        message = {"id": number, "method": method, "params": parameters} | ({"sessionId": self.session} if self.session else {})
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

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

    def open(self, file, width, theme, height=800):
        """Loads a file at a width in pixels, on a system with a light or a dark theme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.events.clear()
        self.call("Page.navigate", url=file.as_uri())
        while not any(each.get("method") == "Page.loadEventFired" for each in self.events):
            self.events.append(self.receive())

    def run(self, script):
        """The value of an expression; of a promise, what it is kept with."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", "exception"))
        return result["result"].get("value")

    def picture(self, clip=None):
        """A PNG of the window, or of a part of the page: (x, y, width, height)."""
        part = {}
        if clip:
            sides = dict(zip(("x", "y", "width", "height"), clip, strict=True))
            part = {"clip": sides | {"scale": 1}, "captureBeyondViewport": True}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **part)["data"])

    def complaints(self):
        """Errors that scripts left, and what was asked of any network."""
        found = []
        for each in self.events:
            method, parameters = each.get("method"), each.get("params", {})
            if method == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith(("file:", "data:")):
                found.append(f"asked for {parameters['request']['url']}")
        return found
