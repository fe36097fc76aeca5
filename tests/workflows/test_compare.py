"""`compare` from Python: real codes against the real table, whatever they are stored in."""

import io
import math
import sys
import threading
import types
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli import compare, schemas
from gnc_cli.codes.closed_forms import closed_form
from gnc_cli.codes.constructions.registry import find
from gnc_cli.codes.exact_rows import ExactRows
from gnc_cli.codes.rational import verify_below
from gnc_cli.errors import DataError, OutputError, UsageError
from gnc_cli.io.gncfile import CodeFile, write_code
from gnc_cli.io.known_codes import stored_codes
from gnc_cli.numerics.sphere import random_points
from gnc_cli.results import CompareResult, CompareRow, Standing
from gnc_cli.workflows import known
from gnc_cli.workflows.known import read_table

VALIDATOR = jsonschema.Draft202012Validator(schemas.load("compare"))


def built(name: str) -> np.ndarray:
    code = find(name)
    assert code is not None
    return np.asarray(code.build())


def turned(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same code: rotated, reflected, reordered, and not of unit length."""
    rotation, _ = np.linalg.qr(rng.standard_normal((rows.shape[1],) * 2))
    lengths = rng.uniform(0.5, 2.0, (len(rows), 1))
    return rng.permutation(rows @ rotation * lengths)


def only(result: CompareResult) -> CompareRow:
    VALIDATOR.validate(result.to_json())
    (row,) = result.rows
    return row


@pytest.mark.parametrize(
    ("name", "contacts"),
    [("icosahedron", 30), ("snub-cube", 60), ("24-cell", 96), ("600-cell", 720),
     ("hemicube", 80), ("schlaefli", 216), ("e8-roots", 6720), ("petersen", 30)],
)  # fmt: skip
def test_named_codes_match_and_are_recognised(
    name: str, contacts: int, rng: np.random.Generator
) -> None:
    row = only(compare(turned(built(name), rng)))
    assert row.status is Standing.MATCHES and row.more["passed"]
    assert row.congruent_to == name
    assert row.gap is not None and abs(row.gap) < 1e-14
    assert row.rattlers is not None and row.rattlers.one_vs_one == row.rattlers.one_vs_rest == 0
    # A second witness for the contacts: the Gram matrix itself.
    W = built(name)
    gram = (W @ W.T)[np.triu_indices(len(W), 1)]
    assert row.contacts == np.count_nonzero(gram > gram.max() - 1e-9) == contacts
    assert row.max_cosine == pytest.approx(gram.max(), abs=1e-15)


@pytest.mark.parametrize(
    ("pair", "name"),
    [((3, 4), "simplex-3"), ((5, 4), "simplex-3"), ((4, 8), "orthoplex-4"), ((2, 4), "polygon-4"),
     ((4, 7), "orthoplex-4, 7 of its 8 points"), ((2, 7), "polygon-7"), ((3, 2), None)],
)  # fmt: skip
def test_theorems_are_known(
    pair: tuple[int, int], name: str | None, rng: np.random.Generator
) -> None:
    exact = closed_form(*pair)
    assert exact is not None
    row = only(compare(turned(exact.weights, rng)))
    assert row.status is Standing.MATCHES and row.proven
    assert row.source == f"theorem 3.3: {exact.name}"
    assert row.congruent_to == name


def test_other_codes_of_the_orthoplex_size_are_not_taken_for_it() -> None:
    # Five points: two poles and a triangle; or two poles and three right-angled ones.
    triangle = [[math.cos(t), math.sin(t), 0.0] for t in (0.0, 2.0, 4.0)]
    row = only(compare([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], *triangle]))
    assert row.status is Standing.MATCHES and row.congruent_to is None


def test_worse_codes() -> None:
    W = built("icosahedron")
    moved = W + 1e-5 * np.random.default_rng(0).standard_normal(W.shape)
    row = only(compare(moved))
    assert row.status is Standing.WORSE and row.more["passed"] is False
    assert row.gap is not None and 1e-6 < row.gap < 1e-4
    assert "gnc solve --d 3 --K 12" in row.more["advice"]
    assert only(compare(moved, tolerance=1e-3)).more["passed"] is True
    assert only(compare(moved, tolerance=1e-3)).status is Standing.WORSE


def test_published_digits_are_no_worse(tmp_path: Path) -> None:
    for digits, status in ((12, Standing.MATCHES), (8, Standing.WORSE)):
        text = "".join(f"{x:.{digits}f}\n" for x in built("snub-cube").ravel())
        (tmp_path / "pack.3.24.txt").write_text(text)
        row = only(compare(tmp_path / "pack.3.24.txt", tolerance=1e-6))
        assert row.status is status and row.more["passed"]
        assert row.congruent_to == "snub-cube"


def test_rattlers_of_both_kinds() -> None:
    # The icosahedron without a vertex: its five neighbours keep touching, none is free.
    row = only(compare(built("icosahedron")[1:]))
    assert row.rattlers is not None and row.rattlers.one_vs_one == 0
    assert row.contacts == 25 and row.status is Standing.MATCHES
    assert row.congruent_to == "icosahedron, first 11 of 12 rows"
    # A point far from a tight cluster is free.
    cluster = np.array([[0.1, 0.0, 1.0], [-0.1, 0.0, 1.0], [0.0, 0.0, -1.0]])
    free = only(compare(cluster)).rattlers
    assert free is not None and free.one_vs_one == 1


def test_lengths_of_any_size_are_welcome() -> None:
    lengths = np.array([[1e-300], [1e300], [1.0], [1e-5]])
    row = only(compare(np.concatenate([np.eye(2), -np.eye(2)]) * lengths))
    assert row.status is Standing.MATCHES and row.congruent_to == "polygon-4"
    twice = only(compare([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    assert twice.max_cosine == 1.0 and twice.status is Standing.WORSE
    assert twice.more["min_angle_deg"] == 0.0
    assert twice.more["advice"].startswith("rows 0 and 1, counted from 0, are equal")
    near = only(compare([[1.0, 0.0], [1.0, 1e-9], [0.0, 1.0]]))
    assert near.max_cosine == 1.0 and "equal" not in near.more["advice"]


def test_single_precision_keeps_its_contacts() -> None:
    row = only(compare(built("600-cell").astype(np.float32)))
    assert row.contacts == 720 and row.congruent_to == "600-cell"
    assert row.rattlers is not None and row.rattlers.tolerance == 1e-5


def test_an_improvement_is_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Our copy holds the snub cube as proved optimal: a poorer table makes no news of it.
    (tmp_path / "old.txt").write_text("3,24,0.7231\n")
    row = only(compare(built("snub-cube"), table=tmp_path / "old.txt"))
    assert row.status is Standing.MATCHES and row.proven
    assert row.source is not None and "--table has 0.7231" in row.source
    monkeypatch.setattr(known, "_ours", lambda: read_table(tmp_path / "old.txt"))
    monkeypatch.setattr(known, "constructed", lambda d, K: None)
    row = only(compare(built("snub-cube"), table=tmp_path / "old.txt"))
    assert row.status is Standing.IMPROVES and row.more["passed"]
    assert row.more["improves_on"].startswith("the table of 20") and "sha256" in row.more["advice"]
    assert row.more["proved_cosine"] == "0.723078468333509"
    assert row.more["proved_cosine"] in row.more["advice"]
    monkeypatch.undo()
    (tmp_path / "near.txt").write_text("3,24,0.723078468334\n")
    row = only(compare(built("snub-cube"), table=tmp_path / "near.txt"))
    assert row.status is Standing.MATCHES and row.proven  # our copy knows the proof


def test_equal_to_a_part_of_a_larger_code_is_no_entry() -> None:
    W = built("mub-4")
    row = only(compare(W))
    assert row.status is Standing.NO_ENTRY and row.source is not None
    # As good as a part of the 24-cell, which comes first of equals.
    assert row.source.startswith("first 16 points of (4, 24): ")
    assert row.more["reference"] == "table" and row.more["passed"] and not row.more["on_record"]
    assert f"no worse than the best known, {row.source}" in row.more["advice"]
    # Neither it nor something a little worse has an entry: the gate is monotone.
    moved = W + 1e-9 * np.random.default_rng(0).standard_normal(W.shape)
    worse = only(compare(moved, tolerance=1e-6, require_entry=True))
    assert worse.status is Standing.WORSE and worse.more["passed"] is False
    assert only(compare(W, require_entry=True)).more["passed"] is False


def test_below_a_proved_optimum_is_no_good_news(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("d,N,cosine,proven\n4,16,0.6,yes\n")
    row = only(compare(built("mub-4"), table=tmp_path / "t.txt"))
    assert row.status is Standing.IMPROVES and row.proven and row.more["passed"] is False
    assert row.more["advice"].startswith("below an entry marked proved optimal")
    (tmp_path / "t.txt").write_text("4,16,0.6\n")
    row = only(compare(built("mub-4"), table=tmp_path / "t.txt"))
    # A part of the 24-cell is better than that entry, and this code ties it.
    assert row.more["passed"] and row.status is Standing.MATCHES and row.more["on_record"]
    assert row.source is not None and row.source.startswith("first 16 points of (4, 24): ")


def test_no_entry(tmp_path: Path) -> None:
    W = random_points(np.random.default_rng(0), 21, 4)
    row = only(compare(W, require_entry=True))
    assert row.status in (Standing.NO_ENTRY, Standing.WORSE)
    (tmp_path / "t.txt").write_text("3,24,0.7231\n")
    simple = only(compare(W, table=tmp_path / "t.txt"))
    assert simple.status is row.status


@settings(max_examples=25)
@given(st.integers(2, 6), st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_the_cosine_is_that_of_the_gram_matrix(d: int, K: int, seed: int) -> None:
    W = random_points(np.random.default_rng(seed), K, d)
    row = only(compare(W))
    gram = W @ W.T
    np.fill_diagonal(gram, -2.0)
    assert row.max_cosine == pytest.approx(gram.max(), abs=1e-14)
    assert (row.d, row.K) == (d, K)
    assert row.gap is None or (row.gap > 0) == (row.status is Standing.WORSE)
    angle = math.degrees(math.acos(min(1.0, float(gram.max()))))
    assert row.more["min_angle_deg"] == pytest.approx(angle, abs=1e-6)


def test_files_of_every_kind(tmp_path: Path, rng: np.random.Generator) -> None:
    W = turned(built("icosahedron"), rng)
    for suffix in (".h5", ".npz", ".npy", ".safetensors", ".pt", ".txt"):
        write_code(tmp_path / f"a{suffix}", CodeFile(W))
    np.savetxt(tmp_path / "a.csv", W, delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "pack.3.12.txt", W.ravel(), fmt="%.17g")
    np.savez(tmp_path / "both.npz", weights=np.eye(4), other=W, features=np.ones((7, 4)))
    names = ["a.h5", "a.npz", "a.npy", "a.safetensors", "a.pt", "a.txt", "a.csv", "pack.3.12.txt"]
    files = [*(str(tmp_path / name) for name in names), f"{tmp_path / 'both.npz'}:other"]
    result = compare(*files)
    VALIDATOR.validate(result.to_json())
    assert [row.file for row in result.rows] == files
    assert len({row.max_cosine for row in result.rows}) == 1
    assert {row.congruent_to for row in result.rows} == {"icosahedron"}
    # A features file speaks through its weights.
    assert only(compare(tmp_path / "both.npz")).K == 4
    single = tmp_path / "numbers.txt"
    np.savetxt(single, W.ravel(), fmt="%.17g")
    assert only(compare(single, d=3)).congruent_to == "icosahedron"
    with pytest.raises(UsageError, match="--d 3"):
        compare(single)


def test_results_of_solve_and_stdin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from gnc_cli import solve

    assert only(compare(solve(2, 9))).congruent_to == "polygon-9"
    write_code(tmp_path / "a.h5", CodeFile(np.eye(3)))
    data = (tmp_path / "a.h5").read_bytes()
    stdin = types.SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    row = only(compare("-"))
    assert (row.file, row.d, row.K) == ("-", 3, 3)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("missing.h5", "no such file"),
        ("bad.txt", "row 1"),
        ("zero.txt", "zero row"),
        ("transposed.npy", "K >= 2"),
        (np.ones(4), "shape (4,)"),
        ([[1.0, 0.0], [0.0, float("nan")]], "not finite"),
        ([[1.0, 0.0], [0.0, 0.0]], "zero"),
        ([[1.0, "x"]], "no matrix of numbers"),
        (object(), "no matrix of numbers"),
    ],
)
def test_bad_sources_are_one_line(tmp_path: Path, source: Any, words: str) -> None:
    (tmp_path / "bad.txt").write_text("1 0\nnan 1\n0 1\n")
    (tmp_path / "zero.txt").write_text("1 0\n0 0\n")
    np.save(tmp_path / "transposed.npy", np.ones((1, 7)))
    source = tmp_path / source if isinstance(source, str) else source
    with pytest.raises(DataError) as caught:
        compare(np.eye(2), source)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_bad_file_costs_no_waiting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: list[CompareRow] = []
    with pytest.raises(DataError):
        compare(np.eye(3), tmp_path / "missing.h5", on_row=told.append)
    assert told == []


def test_rows_are_told_in_order() -> None:
    told: list[CompareRow] = []
    stages: list[tuple[str, int, int, float]] = []
    result = compare(
        np.eye(3), built("petersen"), on_row=told.append, progress=lambda *a: stages.append(a)
    )
    assert told == list(result.rows)
    assert [s[1:3] for s in stages] == [(1, 2), (2, 2)]


def test_interruption_and_time_limit() -> None:
    stop = threading.Event()
    stop.set()
    result = compare(np.eye(3), interrupt=stop)
    assert result.rows == () and result.extras["interrupted"]
    large = random_points(np.random.default_rng(0), 3001, 3)
    row = only(compare(large, time_limit=1e-9))
    assert row.max_cosine is None and row.status is None and row.more["passed"] is None
    assert "time limit" in row.more["advice"]
    assert not compare(np.eye(3), time_limit=60).extras["interrupted"]


def test_large_codes_go_by_blocks() -> None:
    rows = np.concatenate([random_points(np.random.default_rng(0), 3200, 3)])
    row = only(compare(rows))
    assert row.contacts == 1 and row.rattlers is not None
    assert row.rattlers.one_vs_rest is None and row.rattlers.one_vs_one == 3198
    rho = row.more["rho_one_vs_rest"]
    assert row.max_cosine is not None
    assert 0.0 <= rho["lower"] <= 1.0 - row.max_cosine <= rho["upper"]
    W = rows[:, None, :]
    nearest = min(
        np.sort(np.linalg.norm(W[k] - rows, axis=1))[1] for k in range(0, 3200, 100)
    )
    assert row.max_cosine is not None and row.max_cosine >= 1 - nearest**2 / 2 - 1e-12


def test_list() -> None:
    result = compare(list=True, d=range(3, 9), K=range(2, 101), proven=True)
    VALIDATOR.validate(result.to_json())
    assert all(3 <= r.d <= 8 and r.K <= 100 and r.proven for r in result.rows)
    snub = next(r for r in result.rows if (r.d, r.K) == (3, 24))
    assert snub.max_cosine is None and snub.status is None and snub.contacts == 60
    assert snub.more["figure"].startswith("0.72307846833350853703")
    assert len(compare(list=True).rows) == result.table.rows == 286
    assert compare(list=True, d=99).rows == ()


def test_list_of_a_table_of_the_users(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("d,N,cosine\n5,16,0.2\n4,24,0.5\n")
    result = compare(list=True, table=tmp_path / "t.txt")
    VALIDATOR.validate(result.to_json())
    assert [(r.d, r.K, r.source) for r in result.rows] == [(4, 24, "t.txt"), (5, 16, "t.txt")]
    assert result.table.current and result.table.rows == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({}, "nothing to compare"),
        ({"list": True, "solve": True}, "--list and --solve exclude each other"),
        ({"sources": ("a.h5",), "list": True}, "--list and files exclude each other"),
        ({"sources": ("a.h5",), "proven": True}, "--proven belongs to --list"),
        ({"list": True, "digits": 50}, "--digits belongs to files"),
        ({"list": True, "export": "x"}, "--export belongs to files"),
        ({"list": True, "tolerance": 1e-3}, "--tolerance belongs to files and --solve"),
        ({"list": True, "require_entry": True}, "--require-entry belongs to files and --solve"),
        ({"list": True, "seed": 1}, "--seed belongs to --solve; drop it"),
        ({"sources": ("a.h5",), "budget": 1.0}, "--budget belongs to --solve; drop it"),
        ({"sources": ("a.h5",), "workers": 2}, "--workers belongs"),
        ({"sources": ("a.h5",), "out": "r.jsonl"}, "--out belongs"),
        ({"sources": ("a.h5",), "K": 3}, "--K belongs to --list and --solve"),
        ({"sources": ("a.h5",), "d": (3, 4)}, "--d takes one dimension"),
        ({"list": True, "time_limit": 1.0}, "--time-limit belongs"),
        ({"solve": True}, "add --d 3..5 --K 2..40"),
        ({"solve": True, "d": 3}, "add --K 2..40"),
        ({"solve": True, "K": 3}, "add --d 3..5"),
        ({"list": True, "d": 1}, "--d 1 is below 2"),
        ({"list": True, "d": "3..4"}, "--d '3..4' is not a whole number"),
        ({"list": True, "K": 3.5}, "--K 3.5 is not a whole number"),
        ({"list": True, "K": True}, "--K True"),
        ({"list": True, "K": ()}, "--K is an empty list"),
        ({"sources": ("-", "-")}, "'-' is stdin"),
        ({"sources": ("-:a", "-:b")}, "'-' is stdin"),
        ({"sources": ("a.h5",), "tolerance": -1.0}, "--tolerance -1 must be"),
        ({"sources": ("a.h5",), "tolerance": float("nan")}, "--tolerance nan"),
        ({"sources": ("a.h5",), "digits": 0}, "--digits 0"),
        ({"sources": ("a.h5",), "time_limit": 0.0}, "--time-limit 0 must be positive"),
        ({"solve": True, "d": 3, "K": 4, "budget": 0.0}, "--budget 0 must be"),
        ({"solve": True, "d": 3, "K": 4, "workers": 0}, "--workers 0"),
        ({"solve": True, "d": 3, "K": 4, "resume": True}, "add --out rows.jsonl"),
        ({"solve": True, "d": 3, "K": 4, "out": "-"}, "--jsonl"),
        ({"sources": ("a.h5",), "plot": "a.gif"}, "'a.gif'"),
    ],
)
def test_usage_errors_name_the_next_step(call: dict[str, Any], words: str) -> None:
    sources = call.pop("sources", ())
    with pytest.raises(UsageError) as caught:
        compare(*sources, **call)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_plot_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    told: list[CompareRow] = []
    (tmp_path / "a.png").write_bytes(b"old")
    for name in ("a.png", "nowhere/a.png"):
        with pytest.raises(OutputError):
            compare(np.eye(3), plot=tmp_path / name, on_row=told.append)
    assert told == [] and (tmp_path / "a.png").read_bytes() == b"old"


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What reaches the searches, and rows in their stead."""
    from tests.cli.compare_fakes import result, solved, worse

    calls: dict[str, Any] = {"rows": (solved(), worse(more={"passed": None}))}

    def run(name: str, rows: Any) -> Any:
        def work(dims: Any, sizes: Any, **options: Any) -> CompareResult:
            calls[name] = (dims, sizes, options)
            made = tuple(calls["rows"]) if rows is None else rows
            for one in made:
                options["on_row"](one)
            return result(*made, mode=name, interrupted=options["interrupt"].is_set())

        module = types.ModuleType(f"gnc_cli.workflows.compare_{name}")
        setattr(module, f"compare_{name}", work)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return work

    run("solve", None)
    yield calls


def test_solve_is_handed_over(searched: dict[str, Any]) -> None:
    told: list[CompareRow] = []
    result = compare(
        solve=True, d=range(3, 5), K=(24, 9, 24), budget=2, workers=3, seed=5, out="rows.jsonl",
        resume=True, tolerance=1e-7, require_entry=True, on_row=told.append,
    )  # fmt: skip
    dims, sizes, options = searched["solve"]
    assert (dims, sizes) == ([3, 4], [24, 9])
    assert options.pop("table").stamp == compare(list=True).table
    assert not options.pop("interrupt").is_set() and callable(options.pop("on_row"))
    assert options == {
        "budget": 2.0, "workers": 3, "seed": 5, "out": "rows.jsonl", "resume": True,
        "force": False, "progress": None,
    }  # fmt: skip
    # The exit code is this run's: each row is judged by its own tolerance.
    assert [row.more["passed"] for row in result.rows] == [True, False]
    assert told == list(result.rows)
    assert result.extras["mode"] == "solve" and not result.extras["interrupted"]


def test_a_time_limit_is_no_interruption(searched: dict[str, Any]) -> None:
    result = compare(solve=True, d=3, K=24, time_limit=1e-9)
    assert not result.extras["interrupted"] and result.extras["unfinished"]
    stop = threading.Event()
    stop.set()
    result = compare(solve=True, d=3, K=24, interrupt=stop)
    assert result.extras["interrupted"]


def test_digits_of_the_snub_cube() -> None:
    noisy = built("snub-cube") + 1e-9 * np.random.default_rng(0).standard_normal((24, 3))
    row = only(compare(noisy, digits=60, tolerance=1e-6))
    digits = row.more["digits"]
    figure = next(r for r in compare(list=True, d=3, K=24).rows).more["figure"]
    assert digits["cosine"].startswith(figure[:-1]) and len(digits["cosine"]) == 62
    assert digits["contacts"] == 60 and digits["how"] == "contacts"
    # 7 t^3 + t^2 - 3 t - 1, by eliminating the tribonacci constant from Robinson's formula.
    assert digits["polynomial"]["coefficients"] == ["7", "1", "-3", "-1"]
    assert digits["polynomial"]["text"] == "7x^3 + x^2 - 3x - 1"
    assert digits["polynomial"]["evidence"] > 40 and digits["obstacle"] is None
    assert 0 < digits["moved"] < 1e-7


def test_digits_that_cannot_be_had() -> None:
    rough = built("snub-cube") + 1e-2 * np.random.default_rng(0).standard_normal((24, 3))
    digits = only(compare(rough, digits=30)).more["digits"]
    assert digits["cosine"] is None and digits["obstacle"] and digits["advice"]
    large = only(compare(random_points(np.random.default_rng(0), 3001, 3), digits=30))
    assert large.more["digits"]["obstacle"] == "too_large"
    late = only(compare(random_points(np.random.default_rng(0), 3001, 3), digits=30,
                        time_limit=1e-9))  # fmt: skip
    assert late.more["digits"]["obstacle"] == "out_of_time"


def test_a_polynomial_takes_no_more_digits_than_it_needs() -> None:
    digits = only(compare(built("icosahedron"), digits=400)).more["digits"]
    assert digits["polynomial"]["text"] == "5x^2 - 1" and len(digits["cosine"]) == 402


def test_export(tmp_path: Path) -> None:
    W = built("snub-cube")
    row = only(compare(W, export=tmp_path / "out", digits=40))
    files = {Path(name).name: Path(name) for name in row.more["exported"]}
    assert set(files) == {
        "coordinates.txt", "gram.npy", "contacts.g6", "distribution.csv", "verified.txt"
    }  # fmt: skip
    assert row.more["left_out"] == []
    first = files["coordinates.txt"].read_text().splitlines()[0].split()
    assert len(first) == 3 and all(len(word.partition(".")[2]) == 40 for word in first)
    assert only(compare(files["coordinates.txt"])).congruent_to == "snub-cube"
    assert np.allclose(np.load(files["gram.npy"]), W @ W.T, atol=1e-14)
    cells = files["distribution.csv"].read_text().splitlines()[1:]
    assert sum(int(line.split(",")[1]) for line in cells) == 24 * 23 // 2
    assert cells[0].endswith(",60")
    # The written decimals, read again by the definition, have the cosine that is claimed of them.
    claimed = files["verified.txt"].read_text().partition("cosine_at_most ")[2].split()[0]
    texts = [line.split() for line in files["coordinates.txt"].read_text().splitlines()]
    points, unit = ExactRows.of_texts(texts), Fraction(1, 10**39)
    assert verify_below(points, Fraction(claimed)).holds
    assert verify_below(points, Fraction(claimed) - unit).holds is False
    before = {name: path.read_bytes() for name, path in files.items()}
    with pytest.raises(OutputError, match="--force"):
        compare(W, export=tmp_path / "out")
    assert before == {name: path.read_bytes() for name, path in files.items()}
    only(compare(W, export=tmp_path / "out", force=True))
    assert files["coordinates.txt"].read_bytes() != before["coordinates.txt"]


def test_several_exports_have_folders_of_their_own(tmp_path: Path) -> None:
    for folder, name in (("a", "one"), ("a", "two"), ("b", "one")):
        (tmp_path / folder).mkdir(exist_ok=True)
        np.save(tmp_path / folder / f"{name}.npy", built("icosahedron"))
    out = tmp_path / "out"
    result = compare(tmp_path / "a/one.npy", tmp_path / "a/two.npy", np.eye(3), export=out)
    VALIDATOR.validate(result.to_json())
    assert sorted(path.name for path in out.iterdir()) == ["code-3", "one", "two"]
    told: list[CompareRow] = []
    with pytest.raises(UsageError, match="two codes"):
        compare(
            tmp_path / "a/one.npy", tmp_path / "b/one.npy", export=tmp_path / "new",
            on_row=told.append,
        )  # fmt: skip
    (tmp_path / "file").write_text("no folder")
    for sources in ((np.eye(3),), (np.eye(3), np.eye(2))):
        with pytest.raises(OutputError, match="is no folder"):
            compare(*sources, export=tmp_path / "file", on_row=told.append)
    assert told == [] and not (tmp_path / "new").exists()


def test_what_is_too_large_to_export_is_left_out(tmp_path: Path) -> None:
    rows = random_points(np.random.default_rng(0), 3001, 3)
    row = only(compare(rows, export=tmp_path / "out"))
    assert only(compare(tmp_path / "out" / "coordinates.txt")).max_cosine == row.max_cosine
    said = " ".join(row.more["left_out"])
    assert "verified.txt: no cosine" in said
    assert "contacts.g6: contacts were not computed" in said and "distribution.csv" in said
    assert [Path(name).name for name in row.more["exported"]] == ["coordinates.txt", "gram.npy"]


def test_stored_codes_are_recognised(rng: np.random.Generator) -> None:
    for K, name in ((13, "best known of d = 3, K = 13"),
                    (19, "best known of d = 3, K = 19, rattlers aside")):  # fmt: skip
        ((_, W),) = stored_codes(3, K)
        row = only(compare(turned(W, rng)))
        assert row.status is Standing.MATCHES and row.congruent_to == name
        # Moving a rattler changes nothing; moving anything else does.
        free = np.argsort((W @ W.T - 2.0 * np.eye(K)).max(axis=1))[0]
        W[free] += 1e-3
        assert (only(compare(W)).congruent_to == name) == (K == 19)
