"""Results and their JSON (records.py, plain.py): CSV columns, a short repr, notebook tables."""

import dataclasses
import inspect
import math
import pickle
import pydoc
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import gnc_cli
from gnc_cli import bounds, compare
from gnc_cli.brackets import Bracket
from gnc_cli.errors import UnavailableError, UsageError
from gnc_cli.plain import plain, read_plain
from gnc_cli.records import NOT_IN_JSON, SPREAD, Result
from tests.console.stand_in import code, sweep


@dataclass(frozen=True)
class _Inner:
    low: float | None = None
    bracket: Bracket | None = None


@dataclass(frozen=True)
class _Example(Result):
    command = "example"
    d: int = 3
    spread: _Inner | None = field(default=None, metadata=SPREAD)
    inner: _Inner | None = None
    words: tuple[str, ...] = ()
    pairs: tuple[int, ...] = ()
    array: np.ndarray = field(default_factory=lambda: np.zeros(9), metadata=NOT_IN_JSON)


def test_columns_of_csv_do_not_depend_on_what_is_null() -> None:
    full = _Inner(0.5, Bracket(0.0, 1.0))
    bare = _Example(seconds=1.0, version="1")
    filled = dataclasses.replace(bare, spread=full, inner=full, words=("a", "b"), pairs=(1, 2))
    names, (row,) = bare.csv_rows()
    assert names == filled.csv_rows()[0]
    assert names[:4] == ["schema", "command", "version", "seconds"]
    own = {
        "d",
        "low",
        "bracket.lower",
        "bracket.upper",
        "inner.low",
        "inner.bracket.lower",
        "inner.bracket.upper",
        "words",
    }
    assert own == {*names[4:]} and row["d"] == 3
    assert filled.csv_rows()[1][0]["words"] == "a; b"


def test_a_result_prints_its_values_alone() -> None:
    text = repr(code())
    assert text.startswith("SolveResult(d=10, K=100, rho_one_vs_rest in [0.66, 0.67]: ")
    assert "array" not in text and "None" not in text and len(text) < 160
    told = "K=1000, sufficient=10, necessary=8"
    assert repr(bounds(K=1000, margin=0.3)) == f"BoundsResult(one-vs-rest, margin 0.3: {told})"
    assert "lower=0.2769" in repr(bounds(3, 24)) and "2 pairs" in repr(bounds([3, 4], 24))
    assert repr(sweep([1.0, 0.1])).endswith("2 rows)")


def test_print_shows_the_table() -> None:
    text = str(code(origin="a\x1b < b"))
    assert text.startswith("Softmax") and "one-vs-rest distance" in text and "a\\x1b < b" in text


def test_a_result_from_elsewhere_shows_its_tables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Unpickled, it shows what it did, though the public function has not been loaded."""
    monkeypatch.setenv("COLUMNS", "100")
    result = bounds(3, 24)
    path = tmp_path / "result"
    path.write_bytes(pickle.dumps(result))
    script = (
        "import pickle, sys\n"
        "result = pickle.load(open(sys.argv[1], 'rb'))\n"
        "sys.stdout.write(str(result) + result._repr_html_())\n"
        "assert 'gnc_cli.limits.api' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == (str(result) + result._repr_html_(), "")


def test_schemas_are_loaded_first() -> None:
    """Each command has one, also before any of them has run."""
    script = (
        "from gnc_cli import schemas\n"
        "names = 'bounds compare measure solve train certificate'.split()\n"
        "print(*(schemas.load(name)['title'] for name in names), sep=', ')\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    titles = [f"gnc {name} --json" for name in ("bounds", "compare", "measure", "solve", "train")]
    assert run.stdout == ", ".join([*titles, "gnc certificate"]) + "\n", run.stderr


def test_a_bracket_is_a_number_with_two_ends() -> None:
    bracket = Bracket(0.25, 0.75)
    assert float(bracket) == 0.5
    assert bracket > 0.2 and bracket < Bracket(0.8, 0.9) and 0.75 >= bracket
    assert not bracket > 0.5 and not bracket <= 0.5  # it straddles
    assert (f"{bracket:.1f}", f"{bracket:.0e}") == ("[0.2, 0.8]", "[2e-01, 8e-01]")
    assert f"{Bracket(0.123, 0.124):.2f}" == "0.12" and f"{bracket}" == str(bracket)


def test_records_are_read_back() -> None:
    for record in (_Inner(0.5, Bracket(0.0, 1.0)), _Inner(), Bracket(1.0, 1.0)):
        assert read_plain(type(record), plain(record)) == record
    infinite = read_plain(Bracket, plain(Bracket(0.5, math.inf)))
    assert infinite.lower == 0.5 and math.isnan(infinite.upper)
    wrong = {"x.upper": {"lower": 0.0}, "x.lower": {"lower": "a", "upper": 1.0}, "x": []}
    for key, value in wrong.items():
        with pytest.raises(ValueError, match=f"field '{key}'"):
            read_plain(Bracket, value, "x")
    with pytest.raises(ValueError, match="lower end 2.0 above"):
        read_plain(Bracket, {"lower": 2, "upper": 1})


@pytest.mark.parametrize(
    "kind, value",
    [
        (int, "2"),
        (int, True),
        (int, 2.0),
        (int, 10**400),
        (float, "2"),
        (float, math.nan),
        (float, 10**400),
        (str, 2),
        (bool, 1),
    ],
)
def test_a_number_is_read_as_itself_alone(kind: type, value: object) -> None:
    with pytest.raises(ValueError, match="field 'x': "):
        read_plain(kind, value, "x")


def test_pandas_is_named_where_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UnavailableError, match=r"pip install 'gnc-cli\[pandas\]'"):
        code().to_pandas()


def test_what_has_no_plot_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="list of constructions has no plot"):
        gnc_cli.list_constructions().plot("a.png")
    with pytest.raises(UsageError, match=r"'a.html' has no known suffix; end it in one of \.png"):
        compare(list=True, d=5, K=40).plot("a.html")


@pytest.mark.parametrize("name", ["solve", "measure", "bounds", "train", "compare"])
def test_help_shows_plain_types(name: str) -> None:
    text = pydoc.render_doc(getattr(gnc_cli, name))
    assert "Annotated" not in text and "Parameter(" not in text
    assert inspect.signature(getattr(gnc_cli, name)).parameters.keys() >= {"time_limit", "plot"}


def test_the_text_of_a_result_is_returned_in_a_notebook(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as kernels set it
    assert "verdict" in str(code())
    assert capsys.readouterr().out == ""


def test_a_notebook_shows_a_table() -> None:
    one, two = code(origin="a < b")._repr_html_(), sweep([1.0, 0.1])._repr_html_()
    assert "<td>a &lt; b</td>" in one and "verdict: " in one and "to_json()" in one
    assert "contacts" not in one and "None" not in one and one.count("<tr>") < 8
    assert two.count("<tr>") == 3
