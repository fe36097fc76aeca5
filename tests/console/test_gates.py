"""Gates over rows, comparison with a baseline, and what they do to the exit code."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.console.gates import Baseline, Gates, GateVerdict, Status, exit_code
from gnc_cli.console.options import GatedRows, GateOptions
from gnc_cli.errors import DataError, UsageError
from gnc_cli.search.result import Outcome
from tests.console.stand_in import code

PASSED, FAILED, UNDECIDED = Status.PASSED, Status.FAILED, Status.UNDECIDED
ROWS: list[dict[str, Any]] = [
    {"tau": 1.0, "gnc1": 0.3, "gnc2": {"lower": 0.0, "upper": 0.0}},
    {"tau": 0.1, "gnc1": 0.1, "gnc2": {"lower": 0.5, "upper": 0.6}},
]


def _status(rows: GatedRows, **options: list[str]) -> Status:
    return Gates.read(GateOptions(**options, rows=rows)).judge(ROWS)[0].status  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "option", "status"),
    [
        (GatedRows.LAST, "gnc2=0.5", PASSED),
        (GatedRows.LAST, "gnc2=0.55", UNDECIDED),
        (GatedRows.LAST, "gnc2=0.7", FAILED),
        (GatedRows.ALL, "gnc2=0.5", FAILED),
        (GatedRows.ALL, "gnc2=0", PASSED),
        (GatedRows.ANY, "gnc2=0.5", PASSED),
        (GatedRows.ANY, "gnc2=0.55", UNDECIDED),
        (GatedRows.ANY, "gnc2=0.7", FAILED),
    ],
)
def test_rows(rows: GatedRows, option: str, status: Status) -> None:
    assert _status(rows, minimum=[option]) is status


def test_rows_that_fail_are_named() -> None:
    rows = [{"d": 3, "K": K, "epoch": K % 2, "x": K} for K in range(10)]
    gates = Gates.read(GateOptions(maximum=["x=7"], minimum=["x=2"], rows=GatedRows.ALL))
    low, high = (verdict.detail for verdict in gates.judge(rows, ("d", "K", "epoch")))
    assert low.endswith("8 of 10 rows pass, not K 0; K 1") and high.endswith("not K 8; K 9")
    many = Gates.read(GateOptions(minimum=["x=7"], rows=GatedRows.ALL)).judge(rows, "K")[0].detail
    assert many.endswith("3 of 10 rows pass, not K 0; K 1; K 2; K 3; K 4; 2 more")


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(-2, 2))
def test_the_bracket_decides(lower: float, width: float, limit: float) -> None:
    upper = lower + width
    row = {"x": {"lower": lower, "upper": upper}}
    gates = Gates.read(GateOptions(minimum=[f"x={limit!r}"], maximum=[f"x={limit!r}"]))
    low, high = (v.status for v in gates.judge([row]))
    assert low is (PASSED if lower >= limit else FAILED if upper < limit else UNDECIDED)
    assert high is (PASSED if upper <= limit else FAILED if lower > limit else UNDECIDED)


@pytest.mark.parametrize(
    ("key", "low", "high", "detail"),
    [
        ("open", PASSED, UNDECIDED, "open in [0.4, inf]"),
        ("void", FAILED, FAILED, "void is null"),
        ("gain", FAILED, FAILED, "gain is null"),
        ("late", UNDECIDED, UNDECIDED, "late was not decided in the time given"),
        ("rattlers.one_vs_rest", UNDECIDED, UNDECIDED, "rattlers.one_vs_rest was not decided"),
        ("later", FAILED, FAILED, "later is missing"),
        ("open.middle", FAILED, FAILED, "open.middle is missing"),
        ("outcome", FAILED, FAILED, "outcome = converged, which is not a number"),
        ("proven", FAILED, FAILED, "proven = True, which is not a number"),
        ("classes.missing.1", PASSED, FAILED, "classes.missing.1 = 7"),
        ("classes.missing.2", FAILED, FAILED, "classes.missing.2 is missing"),
        ("classes", FAILED, FAILED, "classes is null"),
    ],
)
def test_a_value_that_is_no_number_fails_and_an_undecided_one_is_open(
    key: str, low: Status, high: Status, detail: str
) -> None:
    row = {
        "open": {"lower": 0.4, "upper": None},
        "void": {"lower": None, "upper": None},
        "gain": None,
        "late": None,
        "undecided": ["late", "rattlers"],
        "outcome": "converged",
        "proven": True,
        "classes": {"missing": [3, 7]},
    }
    gates = Gates.read(GateOptions(minimum=[f"{key}=0.3"], maximum=[f"{key}=0.5"]))
    verdicts = gates.judge([row])
    assert [verdict.status for verdict in verdicts] == [low, high]
    assert all(verdict.detail.startswith(detail) for verdict in verdicts)


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 2), st.floats(0, 2))
def test_a_wider_bracket_never_reverses_a_verdict(
    value: float, limit: float, below: float, above: float
) -> None:
    gates = Gates.read(GateOptions(minimum=[f"x={limit!r}"], maximum=[f"x={limit!r}"]))
    blurred = {"x": {"lower": value - below, "upper": value + above}}
    for sharp, wide in zip(gates.judge([{"x": value}]), gates.judge([blurred]), strict=True):
        assert wide.status in (UNDECIDED, sharp.status)


def test_no_rows_fail() -> None:
    assert Gates.read(GateOptions(minimum=["x=1"])).judge([])[0].status is FAILED


@pytest.mark.parametrize("text", ["", "x", "=1", "x=", "x=a", "x<=1", "x.=1", "x=nan", "1x=2"])
def test_malformed_limits(text: str) -> None:
    for option in ("minimum", "maximum"):
        with pytest.raises(UsageError) as caught:
            Gates.read(GateOptions(**{option: [text]}))  # type: ignore[arg-type]
        assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("outcome", "statuses", "status"),
    [
        (Outcome.CONVERGED, [], 0),
        (Outcome.CONVERGED, [PASSED], 0),
        (Outcome.CONVERGED, [PASSED, UNDECIDED], 4),
        (Outcome.CONVERGED, [UNDECIDED, FAILED], 5),
        (Outcome.TARGET_MISSED, [PASSED], 4),
        (Outcome.TARGET_MISSED, [FAILED], 5),
        (Outcome.INTERRUPTED, [FAILED], 130),
    ],
)
def test_exit_code_ranks(outcome: Outcome, statuses: list[Status], status: int) -> None:
    assert exit_code(code(outcome=outcome), [GateVerdict("g", s, "") for s in statuses]) == status


EARLIER = {
    "schema": 1,
    "command": "solve",
    "problem": "softmax",
    "d": 10,
    "K": 100,
    "rho_one_vs_rest": {"lower": 0.66, "upper": 0.6600001},
    "max_cosine": 0.34,
    "contacts": 800,
    "stationarity": None,
}


@pytest.fixture
def run_json(tmp_path: Path) -> str:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(EARLIER))
    return str(path)


@pytest.mark.parametrize(
    ("allow", "changes", "status"),
    [
        ("rho_one_vs_rest=0", {}, PASSED),
        ("max_cosine=0", {}, PASSED),
        ("max_cosine=0", {"max_cosine": 0.1}, PASSED),
        ("max_cosine=1%", {"max_cosine": 0.3433}, PASSED),
        ("max_cosine=1%", {"max_cosine": 0.3435}, FAILED),
        ("max_cosine=0.01", {"max_cosine": 0.3499}, PASSED),
        ("max_cosine=0.01", {"max_cosine": 0.351}, FAILED),
        ("rho_one_vs_rest.lower=10%", {"rho_one_vs_rest": {"lower": 0.6, "upper": 0.7}}, PASSED),
        ("rho_one_vs_rest=1%", {"rho_one_vs_rest": {"lower": 0.6, "upper": 0.7}}, UNDECIDED),
        ("rho_one_vs_rest=1%", {"rho_one_vs_rest": {"lower": 0.6, "upper": 0.61}}, FAILED),
        ("rho_one_vs_rest=1%", {"rho_one_vs_rest": {"lower": 0.9, "upper": 0.9}}, PASSED),
        ("contacts=1%", {"contacts": 805}, PASSED),
        ("contacts=1%", {"contacts": 820}, FAILED),
        ("contacts=1%", {"contacts": 780}, FAILED),
        ("stationarity=10%", {"stationarity": 1e-12}, FAILED),
        ("nothing=10%", {}, FAILED),
        ("max_cosine=1%", {"max_cosine": None}, FAILED),
    ],
)
def test_allowances(run_json: str, allow: str, changes: dict[str, Any], status: Status) -> None:
    gates = Gates.read(GateOptions(baseline=run_json, allow=[allow]))
    assert gates.judge([EARLIER | changes])[0].status is status


@pytest.mark.parametrize(
    ("key", "value"), [("problem", "tammes"), ("d", 9), ("K", 101), ("tau", 0.1)]
)
def test_only_the_same_question_is_compared(run_json: str, key: str, value: Any) -> None:
    gates = Gates.read(GateOptions(baseline=run_json, allow=["max_cosine=1%"]))
    with pytest.raises(DataError, match=f"equal {key}$"):
        gates.check("solve", {"problem": "softmax", "d": 10, "K": 100, key: value})
    with pytest.raises(DataError, match=f"equal {key}$"):
        gates.judge([EARLIER | {key: value}])


def test_rows_of_a_sweep_are_matched_by_temperature(tmp_path: Path) -> None:
    path = tmp_path / "sweep.json"
    head = {"schema": 1, "command": "solve", "problem": "ufm", "d": 3, "K": 7}
    path.write_text(json.dumps(head | {"rows": [{"tau": t, "gnc3": t} for t in (1.0, 0.1)]}))
    gates = Gates.read(GateOptions(baseline=str(path), allow=["gnc3=10%"], rows=GatedRows.ALL))
    better = [head | {"tau": 0.1 * (1 + 1e-15), "gnc3": 0.105}, head | {"tau": 1.0, "gnc3": 0.5}]
    assert gates.judge(better)[0].status is PASSED
    with pytest.raises(DataError, match="has tau 1.0, 0.1, this run 0.5; compare"):
        gates.judge([head | {"tau": 0.5, "gnc3": 0.1}])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing",
        "[1]",
        "{}",
        '{"schema": 1}',
        "\xff",
        '{"schema": 1, "command": "x", "rows": []}',
    ],
)
def test_unusable_baselines(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match="run.json"):
        Baseline.read(str(path))
    with pytest.raises(DataError, match="absent.json"):
        Baseline.read(str(tmp_path / "absent.json"))


@pytest.mark.parametrize("text", ["", "x", "x=", "x=-1%", "x=ten", "=1%", "x=1%%"])
def test_malformed_allowances(run_json: str, text: str) -> None:
    with pytest.raises(UsageError):
        Gates.read(GateOptions(baseline=run_json, allow=[text]))


def test_what_a_baseline_left_open_is_undecided(tmp_path: Path) -> None:
    open_run = EARLIER | {"max_cosine": None, "undecided": ["max_cosine"]}
    (tmp_path / "open.json").write_text(json.dumps(open_run))
    options = GateOptions(baseline=str(tmp_path / "open.json"), allow=["max_cosine=10%"])
    (verdict,) = Gates.read(options).judge([EARLIER])
    assert verdict.status is UNDECIDED and "was not decided in open.json" in verdict.detail


def test_baseline_and_allow_come_together(run_json: str) -> None:
    with pytest.raises(UsageError, match="add --baseline"):
        Gates.read(GateOptions(allow=["x=1%"]))
    with pytest.raises(UsageError, match="requires .* --allow, such as --allow max_cosine=1%"):
        Gates.read(GateOptions(baseline=run_json))
