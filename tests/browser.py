"""A headless Chromium for tests, and a server on this machine for the pages it opens.

Debian's packages `chromium` and `chromium-driver`; tests skip where they are missing.
"""

import contextlib
import functools
import http.server
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address under which a folder can be opened."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """A browser window of 1280 x 900; the test skips where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--window-size=1280,900",
        "--use-gl=angle",
        "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader",
        "--disable-dev-shm-usage",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        yield browser
    finally:
        browser.quit()


def errors(browser: Any) -> list[str]:
    """What the page wrote to the console as errors since this was last asked."""
    return [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]


@contextlib.contextmanager
def shown_as(browser: Any, *, width: int = 1280, scheme: str = "light") -> Iterator[None]:
    """Pages opened inside are as wide as that many points, in the colour scheme `light` or `dark`.

    Below 600 points the screen is a phone's.
    """
    phone = width < 600
    screen = {
        "width": width,
        "height": 844 if phone else 900,
        "deviceScaleFactor": 2 if phone else 1,
        "mobile": phone,
    }
    preferred = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": preferred})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def lightness(browser: Any, selector: str, style: str) -> float:
    """From 0, black, to 1, white, of a colour of the first element."""
    script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    colour = browser.execute_script(script, selector, style)
    red, green, blue = (float(part) / 255 for part in re.findall(r"[\d.]+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
