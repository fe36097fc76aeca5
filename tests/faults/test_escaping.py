"""Names that would act on a reader: a terminal, a browser, a spreadsheet, Markdown, Matplotlib."""

import csv
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gnc_cli.cli import app
from gnc_cli.escaping import in_csv, in_markdown, visible
from tests.conftest import runner
from tests.console.test_report import SAMPLE

CLASSES = ["</script><!--<script>", '=HYPERLINK("http://a")', "\x1b[31m$\\frac{1", "-1"]
SNAPSHOTS = [
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1)) | `b` | *c*",
    "@SUM(1)\x1b]0;title\x07",
    " +1+1 $a$ $b @user #1",
    '\u202e-2+3\\"',
]
FILE = "<b>$x^{$ \x1b[2J|.h5"
MARKDOWN = MarkdownIt("commonmark").enable("table")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of hostile snapshots, one of a single set with hostile classes."""
    folder = tmp_path_factory.mktemp("names")
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 5)
    with h5py.File(folder / FILE, "w") as series, h5py.File(folder / f"1{FILE}", "w") as one:
        for group in (one, *(series.create_group(f"snapshots/{n}") for n in SNAPSHOTS)):
            group["features"] = rng.standard_normal((20, 3)) + np.eye(4, 3)[labels]
            group["labels"] = labels
    (folder / "names.txt").write_text("\n".join(CLASSES))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def _measured(*words: str) -> str:
    run = runner(app)("measure", *words, "--class-names", "names.txt", "--force")
    assert run.exit_code == 0, run.stderr
    assert all(text.replace("\n", "").isprintable() for text in (run.stdout, run.stderr))
    return str(run.stdout)


@pytest.mark.parametrize("file", [FILE, f"1{FILE}"])
def test_reports_show_names_as_they_are(place: Path, file: str) -> None:
    for suffix in (".md", ".xml", ".prom"):
        _measured(file, "--report", f"report{suffix}", "-v")
    text = Path("report.md").read_text(encoding="utf-8")
    tokens = MARKDOWN.parse(text)
    kinds = {child.type for token in tokens for child in token.children or ()}
    assert kinds <= {"text", "text_special", "strong_open", "strong_close", "html_inline"}, kinds
    inline = [c.content for t in tokens for c in t.children or () if c.type == "html_inline"]
    assert [x for x in inline if x != "<!-- -->"] == ["<sub>", "</sub>"]  # our own
    assert "@<!-- -->user" in text or file != FILE
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert "table_open" in {token.type for token in tokens}
    widths = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert len(widths) <= 2  # worst classes stand in a table of their own
    ElementTree.parse("report.xml")
    samples = [s for s in Path("report.prom").read_text().split("\n") if s and s[0] != "#"]
    assert samples and all(SAMPLE.match(s) and s.isprintable() for s in samples)


def test_no_cell_is_a_formula(place: Path) -> None:
    texts = [_measured(FILE, "--csv")]
    _measured(FILE, "--out", "rows.csv")
    _measured(f"1{FILE}", "--per-class", "classes.csv")
    texts += [Path(name).read_text() for name in ("rows.csv", "classes.csv")]
    cells = [cell for text in texts for row in csv.reader(text.splitlines()) for cell in row]
    assert cells.count("'@SUM(1)\\x1b]0;title\\x07") == 2 and f"'{CLASSES[1]}" in cells
    for cell in cells:
        assert re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell) or cell.lstrip()[:1] not in tuple("=+-@")


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_plots_of_any_names(place: Path, suffix: str) -> None:
    plot = ("--plot", f"plot{suffix}", "--force")
    codes = []
    for k, name in enumerate(("$x^{$", "\x1b]0;a\x07", "$$")):
        codes.append(f"{name}.npy")
        np.save(codes[k], np.eye(4)[:, :2] - np.eye(4)[:, 2:])
    names = ("--class-names", "names.txt")
    for words in (("measure", FILE, *names), ("measure", f"1{FILE}", *names), ("compare", *codes)):
        run = runner(app)(*words, *plot)
        assert run.exit_code == 0, run.stderr
        if suffix == ".svg":
            ElementTree.parse("plot.svg")


def test_a_page_of_any_names(place: Path) -> None:
    pytest.importorskip("plotly")
    _measured(f"1{FILE}", "--plot", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    block = page.partition('<script id="data" type="application/json">')[2]
    block = block.partition("</script>")[0]
    assert "<" not in block
    assert json.loads(block)["names"][0] == "&lt;/script&gt;&lt;!--&lt;script&gt;"


COMMIT = "0123456789abcdef0123456789abcdef01234567"
REFERENCES = re.compile(
    r"@[a-z\d]|(^|[^a-z\d])(gh-\d|[a-f\d]{7,40}($|[^a-z\d]))|#\d|(https?|ftp)://\w|www\.\w|:[-+\w]+:",
    re.IGNORECASE,
)
"""A part of what GitHub links, mentions or draws in the texts between the tags of a page."""
PIECES = st.sampled_from(
    [
        "@ada",
        "#1",
        "o/r#1",
        "GH-7",
        "gh-7",
        COMMIT,
        "0badcafe",
        "1" * 40,
        "https://a.b/c",
        "WWW.a.b",
    ]
    + [
        "ftp://a.b",
        "a@b.cd",
        ":tada:",
        ":+1:",
        "_",
        "*",
        "|",
        "-",
        ".",
        " ",
        "x",
        "\\",
        "&#64;x",
        "1e",
    ]
)


def cells(left: str, right: str) -> list[list[str]]:
    """The texts of two cells, each divided where a comment is."""
    row = f"| x{in_markdown(left)} | {in_markdown(right)} |"
    tokens = MARKDOWN.parse(f"| a | b |\n|---|---|\n{row}")
    shown = [t.children for t in tokens if t.type == "inline"][2:]
    return ["".join(c.content for c in some or ()).split("<!-- -->") for some in shown]


@given(st.text(), st.text())
@example("__init__", "__0__")
def test_any_text_is_a_cell_of_markdown(left: str, right: str) -> None:
    one_line = [" ".join(visible(text).split()) for text in (left, right)]
    assert ["".join(parts) for parts in cells(left, right)] == [f"x{one_line[0]}", one_line[1]]


@given(st.lists(PIECES, max_size=6).map("".join))
def test_no_name_is_a_reference_of_github(name: str) -> None:
    for parts in cells(name, name):
        assert not any(map(REFERENCES.search, parts)), parts


@pytest.mark.parametrize(
    "text", ["0.1234567", "1.234567e-05", "1234567e-3", "12:30", "gnc2:", "a: b"]
)
def test_numbers_are_no_references(text: str) -> None:
    assert in_markdown(text) == text


@pytest.mark.parametrize("text", ["=1", "+a", "-a", "@a", "\t=1", " =1", "\n=1", "\uff1d1"])
def test_what_begins_like_a_formula_is_quoted(text: str) -> None:
    assert in_csv(text) == "'" + visible(text)
