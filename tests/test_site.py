"""The documentation as a reader has it: built without warnings, and opened in a browser."""

import csv
import json
import re
import subprocess
import sys
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

from gnc_cli import list_constructions
from gnc_cli.cli import Commands
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.sphere import normalise
from gnc_cli.known_codes.table import our_copy
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
        for parameter in declared(Commands.function(name)).values():
            if parameter.in_shell:
                assert " ".join(parameter.help.split()) in reference
    assert "softmax|tammes|ufm" in reference
    constructions = _read(site, "theory/constructions")
    assert all(row.max_cosine in constructions for row in list_constructions().rows)
    definitions = _read(site, "theory/definitions")
    assert "t*(d, K)" in definitions and "rho*(d, K)" in definitions


@pytest.fixture(scope="module")
def codes(site: Path) -> list[dict[str, Any]]:
    text = (site / "reference/table-of-codes/codes.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)
    return rows


def test_the_table_of_codes_holds_no_worse_code_than_the_published_ones(
    site: Path, codes: list[dict[str, Any]]
) -> None:
    by_pair = {(row["d"], row["K"]): row for row in codes}
    assert len(by_pair) == len(codes) > 5000
    for pair, entry in our_copy().entries.items():
        assert by_pair[pair]["lower"] >= 1 - entry.max_cosine - entry.rounding - 2e-12
    for row in codes:
        assert 0 < row["lower"] <= row["upper"] * (1 + 1e-12) and row["upper_source"]
    with (site / "reference/table-of-codes/codes.csv").open(encoding="utf-8") as file:
        written = [*csv.DictReader(file)]
    texts = [{k: "" if v is None else str(v) for k, v in row.items()} for row in codes]
    assert written == texts


def test_files_of_the_table_of_codes_hold_the_codes(
    site: Path, codes: list[dict[str, Any]]
) -> None:
    folder = site / "reference/table-of-codes"
    whole = [row for row in codes if row["coordinates"] and row["status"] != "part of another"]
    assert len(whole) > 900
    for row in whole:
        text = (folder / row["coordinates"]).read_text(encoding="utf-8")
        W = normalise(np.loadtxt(text.splitlines()))
        assert W.shape == (row["K"], row["d"])
        apart = max_cosine(W) - Fraction(row["max_cosine"])
        assert -2e-12 < apart < (2e-12 if "." in text else 1e-4), row  # whole numbers are rounded
    for row in codes:
        for name in filter(None, (row["coordinates"], row["certificate"])):
            assert (folder / name).is_file(), name


def test_the_table_of_codes_is_sorted_and_filtered_in_a_browser(
    site: Path, codes: list[dict[str, Any]]
) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    with served(site) as address, chromium() as browser:
        script = browser.execute_script

        def open_page() -> None:
            browser.get(f"{address}/reference/table-of-codes.html")
            lines = "return document.querySelectorAll('#codes tbody td').length"
            WebDriverWait(browser, 60).until(lambda _: script(lines) > 8)

        def choose(field: str, value: str) -> int:
            script(
                "const field = document.getElementById(`codes-${arguments[0]}`);"
                "field.value = arguments[1]; field.dispatchEvent(new Event('input'))",
                field,
                value,
            )
            info = script("return document.querySelector('.dt-info').textContent")
            return int(info.split()[0].replace(",", ""))

        def cells(place: int) -> list[str]:
            cell = f"#codes tbody tr td:nth-child({place})"
            texts = f"return [...document.querySelectorAll('{cell}')].map(x => x.textContent)"
            return [str(text) for text in script(texts)]

        open_page()
        assert len(cells(1)) == 25  # of all rows: what makes the page fast
        assert choose("d", "3, 24") == sum(row["d"] in (3, 24) for row in codes)
        assert {*cells(1)} == {"3"}
        some = [row for row in codes if row["d"] in (3, 24) and 100 <= row["K"] <= 120]
        assert choose("K", "100..120") == len(some) and cells(2)[0] == "100"
        assert choose("status", "improved by gnc") == 1 and cells(2) == ["111"]
        script("document.querySelector('#codes tbody tr').click()")
        assert "gnc solve --d 3 --K 111" in script("return document.querySelector('dl').innerText")
        for field in ("d", "K", "status"):
            choose(field, "")
        assert 10 < choose("text", "Sloane") < 500
        choose("text", "")
        gap = "document.querySelectorAll('#codes thead th')[4].click()"
        script(f"{gap}; {gap}")  # the largest first
        WebDriverWait(browser, 60).until(lambda _: cells(5)[0] != "0")
        largest = max(row["gap"] for row in codes)
        assert float(cells(5)[0].split()[0]) == pytest.approx(100 * largest, rel=0.1)
        assert errors(browser) == []

        phone = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        open_page()
        script("document.querySelector('#codes tbody tr').click()")
        for width in ("document.documentElement.scroll", "document.querySelector('dl').offset"):
            assert script(f"return {width}Width") <= 375
        assert errors(browser) == []
