"""The documentation as a reader has it: built without warnings, and opened in a browser."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from gnc_cli import list_constructions
from gnc_cli.cli import Commands
from gnc_cli.parameters import declared
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
