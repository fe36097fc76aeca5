"""What a person is shown of a measurement: nothing beyond what is proved."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gnc_cli import measure
from gnc_cli.brackets import Bracket
from gnc_cli.collapse.result import MeasureResult, MeasureSeries
from gnc_cli.collapse.view import figure, share_text, view
from gnc_cli.console.table import printed


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def shown(result: MeasureResult | MeasureSeries, verbose: bool = False) -> str:
    return printed(view(result, verbose), None)


def test_every_line_fits(
    result: MeasureResult, series: MeasureSeries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    for found in (result, series, measure(weights=np.eye(3))):
        for verbose in (False, True):
            text = shown(found, verbose)
            assert max(map(len, text.splitlines())) <= (100 if not verbose else 120)
            assert "\n\n\n" not in text and text.strip()


def test_a_sheet_names_everything(result: MeasureResult) -> None:
    text = shown(result, verbose=True)
    for words in (
        "set.h5   N = 240, d = 3, K = 12   epoch 5, split test",
        "gnc2_quantiles.q0_5",
        "classes.min_count",
        "NC2 ETF",
        "class 3 (3)",
        "duplicates: ",
        "GNC2 without them",
        "policy.variants",
    ):
        assert words in text, words


def test_rows(series: MeasureSeries) -> None:
    text = shown(series)
    assert "6 rows" in text
    assert len(re.findall(r"^seed\d\.h5 ", text, re.MULTILINE)) == 6
    paths = [replace(r, file=f"/a/long/path/to/{r.file}") for r in series.rows]
    assert shown(replace(series, rows=tuple(paths))) == text
    known = replace(series, skipped=2, out="rows.jsonl")
    assert "2 of them measured before" in shown(known) and "written  rows.jsonl" in shown(known)


def test_optimal_is_what_is_proved(result: MeasureResult) -> None:
    assert result.gnc2_reference is not None
    for kind in ("table", "solved", "construction", "file", "pinned"):
        reference = replace(result.gnc2_reference, kind=kind, proven=False)
        assert ", optimal" not in shown(replace(result, gnc2_reference=reference))
    proved = replace(result.gnc2_reference, kind="theorem", id="theorem 3.3", proven=True)
    text = shown(replace(result, gnc2_reference=proved))
    assert f"of {proved.value:.6g}, optimal; random rows 0." in text


def test_a_ratio_above_one_is_no_record(result: MeasureResult, series: MeasureSeries) -> None:
    """The code that it is compared with is only the best that gnc knows."""
    assert result.gnc2_reference is not None
    above = replace(result, gnc2_ratio=1.02)
    for text in (shown(above), shown(above, verbose=True), shown(replace(series, rows=(above,)))):
        assert "better than the code known to gnc" in text and "record" not in text
    for ratio in (0.98, 1.0 + 1e-12, None):
        assert "better than" not in shown(replace(result, gnc2_ratio=ratio))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("theorem", "optimal"),
        ("table", "best known"),
        ("solved", "code found by gnc"),
        ("construction", "construction"),
    ],
)
def test_the_ratio_names_the_kind_of_its_reference(
    result: MeasureResult, kind: str, words: str
) -> None:
    assert result.gnc2_reference is not None
    reference = replace(result.gnc2_reference, kind=kind, id="x", proven=kind == "theorem")
    named = replace(result, gnc2_reference=reference, gnc2_ratio_random=None)
    assert re.search(rf"^  ratio .* of [\d.]+, {words}: x$", shown(named), re.MULTILINE)


def test_wide_brackets_are_marked_and_rounded_down(
    result: MeasureResult, series: MeasureSeries
) -> None:
    rho = Bracket(0.4917407, 0.6)
    wide = replace(
        result,
        gnc2=rho,
        gnc2_ratio=0.7349997,
        margins=replace(result.margins, cosface=rho.lower),
        worst_classes=tuple(replace(c, one_vs_rest=rho) for c in result.worst_classes),
    )
    text = shown(wide, verbose=True)
    assert re.search(r"^GNC2 +0\.491740 +certified lower end", text, re.MULTILINE)
    marked = ("  ratio +>=0.734999 ", "margins.cosface +0.4917407 ", r"class \d+.* >=0.491740 ")
    for start in marked:
        assert re.search(f"^{start}", text, re.MULTILINE), start
    table = shown(replace(series, rows=(wide, result)))
    assert table.count(">=0.491740  >=0.7349") == 1


def test_numbers_have_six_digits() -> None:
    assert [figure(x) for x in (None, 0.0, 1e-4, 0.5, 12345678.0)] == [
        "-",
        "0",
        "1.00000e-04",
        "0.500000",
        "1.23457e+07",
    ]
    assert [share_text(x) for x in (1.0, 1.0 - 1e-8, 0.5)] == [
        "1.000000",
        "0.999999990",
        "0.500000",
    ]
