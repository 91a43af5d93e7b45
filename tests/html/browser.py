"""Headless Chromium, driven over a pipe: nothing but Python's own library is needed.

The protocol is Chromium's DevTools protocol; messages are JSON texts that end with a zero byte.
Whatever the page says on its console, asks from the network or opens as a dialog is kept in
`events`, where tests look for what must not be there.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe")
WAIT_SECONDS = 60

# Virtual key codes of keys that type no character.
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
        "ArrowDown": 40, "Home": 36, "End": 35, " ": 32, "-": 189, "+": 187}


class Browser:
    def __init__(self):
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            raise SystemExit("no Chromium on this machine: make test-html installs it")
        self.profile = tempfile.mkdtemp(prefix="corefrag-chromium-")
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "sh", program, *FLAGS,
             "--user-data-dir=" + self.profile],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.output, self.input = ours_out, ours_in
        self.rest, self.last_id, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        deadline = time.monotonic() + WAIT_SECONDS
        while b"\0" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.input], [], [], left)[0]:
                raise RuntimeError(f"the browser says nothing for {WAIT_SECONDS} seconds")
            data = os.read(self.input, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self.rest += data
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, **params):
        self.last_id += 1
        request = {"id": self.last_id, "method": method, "params": params}
        if self.session is not None:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        while True:
            answer = self.message()
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(method + ": " + json.dumps(answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, event):
        seen = 0
        while True:
            for message in self.events[seen:]:
                if message["method"] == event:
                    return
            seen = len(self.events)
            self.events.append(self.message())

    def open(self, path):
        self.events = []
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_for("Page.loadEventFired")

    def js(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(expression + ": " + json.dumps(answer["exceptionDetails"])[:800])
        return answer["result"].get("value")

    def size(self, width, height=1000):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def media(self, media="", scheme="light"):
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def scripts(self, enabled):
        self.call("Emulation.setScriptExecutionDisabled", value=not enabled)

    def key(self, name):
        text = {"Enter": "\r", "-": "-", "+": "+", " ": " "}.get(name)
        for kind in ("keyDown", "keyUp"):
            params = {"type": kind, "key": name, "windowsVirtualKeyCode": KEYS[name]}
            if text is not None and kind == "keyDown":
                params["text"] = text
            self.call("Input.dispatchKeyEvent", **params)

    def click(self, selector, times=1):
        box = self.js(f"""(() => {{ const node = document.querySelector({json.dumps(selector)});
            node.scrollIntoView({{ block: "center", behavior: "instant" }});
            const box = node.getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2]; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left",
                      clickCount=times)

    def shot(self, path, width):
        height = self.js("document.documentElement.scrollHeight")
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                            clip={"x": 0, "y": 0, "width": width, "height": min(height, 12000),
                                  "scale": 1})
        with open(path, "wb") as out:
            out.write(base64.b64decode(picture["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True,
                                          printBackground=True)["data"])

    def complaints(self):
        """What a page of ours never does: errors, warnings, dialogs, requests beyond itself."""
        found = []
        for event in self.events:
            method, params = event["method"], event["params"]
            if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif method == "Runtime.exceptionThrown":
                found.append(json.dumps(params["exceptionDetails"])[:400])
            elif method == "Runtime.consoleAPICalled":
                found.append("console: " + json.dumps(params["args"])[:400])
            elif method == "Page.javascriptDialogOpening":
                found.append("dialog: " + params["message"])
            elif method == "Network.requestWillBeSent" and params["type"] != "Document":
                found.append("request: " + params["request"]["url"])
        return found
