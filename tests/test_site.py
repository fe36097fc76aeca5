"""The documentation as a reader has it: built without warnings, and opened in a browser."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import gnc_cli
from gnc_cli.parameters import declared
from tests.browser import chromium, errors, served
from tests.documents import ROOT

pytest.importorskip("sphinx")
pytest.importorskip("pydata_sphinx_theme")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    run = subprocess.run([*build, ROOT / "docs", target], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return target


def _pages(site: Path) -> list[str]:
    return sorted(
        str(page.relative_to(site))
        for page in site.rglob("*.html")
        if not {"_static", "genindex.html", "py-modindex.html"} & {*page.relative_to(site).parts}
    )


def test_links_inside_the_site_lead_somewhere(site: Path) -> None:
    texts = {page: (site / page).read_text(encoding="utf-8") for page in _pages(site)}
    ids = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    for page, text in texts.items():
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            path, _, anchor = unquote(unescape(link)).partition("#")
            if re.match(r"[a-z]+:|//", path):
                continue
            path = path.partition("?")[0]
            target = (site / page).parent / path if path else site / page
            assert target.exists(), f"{page}: {link}"
            name = str(target.resolve().relative_to(site.resolve()))
            if anchor and name in ids:
                assert anchor in ids[name], f"{page}: {link}"


def test_every_page_of_the_sources_is_in_the_site(site: Path) -> None:
    sources = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert {source.replace(".md", ".html") for source in sources} <= {*_pages(site)}


def _read(site: Path, page: str) -> str:
    """The words of a page, without its tags."""
    text = re.sub(r"<[^>]+>", "", (site / f"{page}.html").read_text(encoding="utf-8"))
    return " ".join(unescape(text).split())


def test_options_and_formulas_stand_as_they_are_written(site: Path) -> None:
    reference = _read(site, "reference/cli")
    for name in ("solve", "measure", "bounds", "train", "compare"):
        for parameter in declared(getattr(gnc_cli, name)).values():
            if parameter.in_shell:
                assert " ".join(parameter.help.split()) in reference
    assert "softmax|tammes|ufm" in reference
    constructions = _read(site, "theory/constructions")
    listed: Any = gnc_cli.solve(list_constructions=True)
    assert all(row.max_cosine in constructions for row in listed.rows)
    definitions = _read(site, "theory/definitions")
    assert "t*(d, K)" in definitions and "rho*(d, K)" in definitions


@pytest.fixture(scope="module")
def opened(site: Path) -> Iterator[tuple[Any, str]]:
    with chromium() as browser, served(site) as address:
        yield browser, address


def test_pages_open_without_errors_and_fit_a_phone(opened: tuple[Any, str], site: Path) -> None:
    browser, address = opened
    for page in _pages(site):
        browser.get(f"{address}/{page}")
        assert errors(browser) == [], page
        assert browser.find_element("css selector", "h1").text, page
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        for page in _pages(site):
            browser.get(f"{address}/{page}")
            width = browser.execute_script("return document.documentElement.scrollWidth")
            assert width <= phone["width"], page
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_search_finds_what_people_look_for(opened: tuple[Any, str]) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    browser, address = opened
    for words in ("one-vs-rest", "--fixed", "GNC2"):
        browser.get(f"{address}/search.html?q={words}")
        WebDriverWait(browser, 20).until(
            lambda b: b.find_elements("css selector", "#search-results li a")
        )


def test_the_dark_theme_is_dark_and_readable(opened: tuple[Any, str]) -> None:
    browser, address = opened
    scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    try:
        for page in ("index.html", "reference/cli.html", "tutorials/collapsed.html"):
            browser.get(f"{address}/{page}")
            ground = _lightness(browser, "body", "backgroundColor")
            letters = _lightness(browser, "article p", "color")
            assert ground < 0.2 and letters > 0.6, (page, ground, letters)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def _lightness(browser: Any, selector: str, style: str) -> float:
    script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    colour = browser.execute_script(script, selector, style)
    red, green, blue = (float(part) / 255 for part in re.findall(r"[\d.]+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_command_is_copied_without_prompt_and_output(opened: tuple[Any, str]) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.support.ui import WebDriverWait

    browser, address = opened
    browser.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": address},
    )
    browser.get(f"{address}/tutorials/dimension.html")
    button = browser.find_element("css selector", "button.copybtn")
    # A click as a hand makes it: browsers let no script write to the clipboard on its own.
    ActionChains(browser).move_to_element(button).click(button).perform()
    script = "navigator.clipboard.readText().then(arguments[0], e => arguments[0]('' + e))"
    WebDriverWait(browser, 20).until(lambda b: b.execute_async_script(script))
    assert browser.execute_async_script(script) == "gnc bounds --K 1e6 --margin 0.3"
