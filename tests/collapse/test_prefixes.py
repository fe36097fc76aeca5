"""`--prefix-dims`: each prefix as a set cut by hand; what it adds, and what it refuses."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnc_cli.io.file_rows as file_rows
from gnc_cli import bounds, measure, measure_series
from gnc_cli.collapse.plot import lines_of, series_figure
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.collapse.view import view
from gnc_cli.console.table import printed
from gnc_cli.errors import DataError, UsageError
from tests.collapse.conftest import save
from tests.runtime.together import needs_gloo, together

K, D, DIMS = 6, 12, (2, 4, 12)
ADDED = {"seconds", "prefix_of", "gnc2_possible", "warnings"}
ETF = {
    "nc2_equiangularity",
    "nc2_max_angle",
    "nc2_etf_error",
    "nc2_etf_error_weights",
    "nc3_dual_etf_error",
}


@pytest.fixture
def wide(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Features that fall off with the dimension, labels, a classifier and a bias."""
    centres = rng.standard_normal((K, D)) / np.arange(1, D + 1)
    labels = rng.permutation(np.repeat(np.arange(K), 40))
    return {
        "features": centres[labels] + 0.1 * rng.standard_normal((len(labels), D)),
        "labels": labels,
        "weights": centres + 0.05 * rng.standard_normal((K, D)),
        "bias": 0.1 * rng.standard_normal(K),
    }


def cut(data: dict[str, np.ndarray], p: int) -> dict[str, np.ndarray]:
    return {name: a[:, :p] if a.ndim == 2 else a for name, a in data.items()}


def prefixes(*args: Any, **arguments: Any) -> tuple[MeasureResult, ...]:
    dims = arguments.pop("dims", DIMS)
    return measure_series(args, prefix_dims=dims, **arguments).rows


@pytest.mark.parametrize("normalize", ["auto", "off"])
def test_each_prefix_is_the_set_cut_by_hand(wide: dict[str, np.ndarray], normalize: str) -> None:
    how: dict[str, Any] = {"normalize": normalize, "variants": "classic"}
    how["ood"] = wide["features"][::-1] ** 2
    for row, p in zip(prefixes(**wide, **how), DIMS, strict=True):
        assert (row.d, row.prefix_of) == (p, D)
        alone = measure(**cut(wide, p), **how | {"ood": how["ood"][:, :p]})
        ours, theirs = row.flat(prefix=""), alone.flat(prefix="")
        for name in theirs.keys() - ETF - {"policy.ood"}:
            if name.split(".")[0] not in ADDED:
                same: Any = theirs[name]
                if isinstance(same, float):
                    same = pytest.approx(same, rel=1e-8, abs=1e-10)
                assert ours[name] == same, name


def test_what_is_possible_is_that_of_bounds(wide: dict[str, np.ndarray]) -> None:
    for row in prefixes(**wide):
        (best,) = bounds(d=row.d, K=K).best
        assert row.gnc2_possible is not None and row.gnc2_reference is not None
        assert (row.gnc2_possible.lower, row.gnc2_possible.upper) == (best.lower, best.upper)
        assert row.gnc2.lower <= best.upper
    assert all(row.gnc2_possible is None for row in prefixes(**wide, normalize="off"))
    bare = {name: wide[name] for name in ("features", "labels")}
    (row,) = prefixes(**bare, K=9, dims=[5])  # three classes have no samples
    assert row.gnc2_possible is not None and row.nc2_etf_error is not None
    assert row.gnc2_possible.lower == pytest.approx(K / (K - 1))


def test_no_value_of_an_etf_where_there_is_none(wide: dict[str, np.ndarray]) -> None:
    two, four, twelve = prefixes(**wide)
    for row in (two, four):  # a simplex of 6 needs 5 dimensions
        assert all(getattr(row, name) is None for name in ETF) and row.nc1 is not None
        assert "no simplex ETF of K = 6 classes" in " ".join(row.warnings)
        assert not any("simplex" in line for line in row.messages)
    assert None not in {getattr(twelve, name) for name in ETF}
    (five,) = prefixes(**wide, dims=[5])
    assert five.nc2_etf_error is not None


def test_samples_are_read_once_for_all_prefixes(
    wide: dict[str, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = save(tmp_path / "a.h5", wide)
    reads: list[tuple[int, int]] = []
    read = file_rows.ConcatenatedRows.read

    def counted(self: Any, start: int, stop: int) -> np.ndarray:
        reads.append((start, stop))
        return read(self, start, stop)

    monkeypatch.setattr(file_rows.ConcatenatedRows, "read", counted)
    monkeypatch.setattr("gnc_cli.metrics.rows._BLOCK_BYTES", 8 * D * 50)
    measure(file)
    whole, reads[:] = reads.copy(), []
    assert len(whole) == 3 + 5  # blocks of moments, which hold more rows, and of decisions
    prefixes(file, threads=2)
    assert sorted(reads) == sorted(whole)


def test_training_means_are_cut_as_well(wide: dict[str, np.ndarray], tmp_path: Path) -> None:
    test = {**wide, "features": wide["features"] + 0.2}
    train = save(tmp_path / "train.h5", wide)
    rows = prefixes(**test, means_from=train)
    for row, p in zip(rows, DIMS, strict=True):
        beside = save(tmp_path / f"{p}.h5", cut(wide, p))
        alone = measure(**cut(test, p), means_from=beside)
        assert (row.gnc1, row.ncc_accuracy) == pytest.approx((alone.gnc1, alone.ncc_accuracy))
    with pytest.raises(DataError, match="dimension 12, not 4; give the training set of the same"):
        prefixes(**cut(test, 4), means_from=train, dims=(2,))


def test_logits_say_nothing_of_a_prefix(wide: dict[str, np.ndarray]) -> None:
    logits = wide["features"] @ wide["weights"].T
    bare = {name: wide[name] for name in ("features", "labels")}
    (row,) = prefixes(**bare, logits=logits, dims=[4])
    assert row.accuracy is None and "logits: of all dimensions" in " ".join(row.notes)
    (row,) = prefixes(**wide, logits=logits, dims=[4])
    assert row.accuracy == measure(**cut(wide, 4)).accuracy


def test_weights_alone_have_prefixes(wide: dict[str, np.ndarray]) -> None:
    rows = prefixes(weights=wide["weights"])
    assert [row.d for row in rows] == [*DIMS] and rows[0].N is None
    wide["weights"][3, :4] = 0.0
    with pytest.raises(DataError, match=r"weights, first 4 dimensions has 1 zero row.* is row 3"):
        prefixes(weights=wide["weights"], dims=[4])
    null, row = prefixes(weights=wide["weights"], dims=[4, 6])
    assert (null.d, null.gnc2, row.d) == (4, None, 6)
    assert "all metrics are null" in null.warnings[0] and row.gnc2 is not None


def test_rows_are_kept_and_resumed(wide: dict[str, np.ndarray], tmp_path: Path) -> None:
    file, ledger = save(tmp_path / "a.h5", wide), tmp_path / "rows.jsonl"
    prefixes(file, out=ledger)
    lines = ledger.read_text().splitlines()
    assert [json.loads(line)["d"] for line in lines] == [*DIMS]
    ledger.write_text(lines[0] + "\n")  # killed after the first prefix
    again = measure_series(file, prefix_dims=DIMS, out=ledger, resume=True)
    assert [row.d for row in again.rows] == [*DIMS] and again.skipped == 0
    known = measure_series(file, prefix_dims=DIMS, out=ledger, resume=True)
    assert known.skipped == 3 and [row.d for row in known.rows] == [*DIMS]
    with pytest.raises(DataError, match="prefix_dims"):
        measure_series(file, out=ledger, resume=True)
    measure_series(file, prefix_dims=DIMS, out=tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open() as table:
        assert [(r["d"], r["prefix_of"]) for r in csv.DictReader(table)] == [
            (str(p), "12") for p in DIMS
        ]


@needs_gloo
def test_processes_share_the_rows_of_all_prefixes(
    wide: dict[str, np.ndarray], tmp_path: Path
) -> None:
    file = save(tmp_path / "a.h5", wide)
    first, second = together(
        f"""
        import json
        from gnc_cli import measure_series
        series = measure_series({file!r}, prefix_dims={DIMS!r})
        print(json.dumps([row.flat(prefix="") for row in series.rows]))
        """
    )
    for found in (json.loads(first), json.loads(second)):
        for ours, row in zip(found, prefixes(file), strict=True):
            same = row.flat(prefix="")
            for name in ("gnc1", "gnc2.lower", "ncc_accuracy", "accuracy", "nc1", "d"):
                assert ours[name] == pytest.approx(same[name])


def test_table_and_plot(
    wide: dict[str, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    files = [save(tmp_path / name, wide) for name in ("a.h5", "b.h5")]
    series = measure_series(files[0], prefix_dims=DIMS, variants="classic")
    text = printed(view(series, False), None)
    assert "prefixes of d = 12, N = 240, K = 6" in text and "possible: rho*" in text
    assert "NC2 angles, ETF: no simplex where d < K - 1" in text
    assert [line.split()[0] for line in text.splitlines() if line[:2].strip().isdigit()] == [
        str(p) for p in DIMS
    ] * 2
    figure = series_figure(series)
    panel = figure.axes[1]
    assert panel.get_xlabel() == "d"
    assert [tick.get_text() for tick in panel.get_xticklabels()] == [str(p) for p in DIMS]
    assert [t.get_text() for t in panel.get_legend().get_texts()] == ["possible for K = 6"]
    axis, lines, ticks = lines_of(measure_series(files, prefix_dims=(2, 8)).rows)
    assert (axis, ticks) == ("d", ["2", "8"]) and {*lines} == {"a.h5", "b.h5"}
    assert [x for x, _ in lines["b.h5"]] == [0.0, 1.0]
    # Nothing is known of raw rows.
    bare = measure_series(files[0], prefix_dims=(4,), normalize="off")
    assert "possible" not in printed(view(bare, False), None) and series_figure(bare).axes


@pytest.mark.parametrize(
    ("dims", "said"),
    [
        ("0,4", "0 is too small"),
        ("4,4", "each prefix once"),
        ("2..5,4", "each prefix once"),
        ([], "each prefix once"),
        ("2,13", "13 is more than the d = 12"),
        ("2.5", "not a whole number"),
    ],
)
def test_prefixes_that_are_none(wide: dict[str, np.ndarray], dims: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        measure_series(**wide, prefix_dims=dims)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"per_class": "c.csv"}, "per_class excludes prefix_dims; keep one"),
        ({"merge_list": "m.csv", "duplicates": 0.9}, "merge_list excludes prefix_dims"),
    ],
)
def test_what_does_not_go_with_prefixes(
    wide: dict[str, np.ndarray], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        measure_series(**wide, prefix_dims=(2,), **more)


@pytest.mark.parametrize("role", ["features", "weights"])
def test_a_prefix_with_zero_rows_is_null_with_its_reason(
    wide: dict[str, np.ndarray], role: str, tmp_path: Path
) -> None:
    hollow = {**wide, role: wide[role].copy()}
    hollow[role][1, :2] = 0.0
    null, *rows = prefixes(**hollow)
    assert (null.d, null.gnc1, null.gnc2) == (2, None, None)
    assert "d = 2, K = 6" in printed(view(null, False), None)
    assert "all metrics are null" in null.warnings[0] and "zero row" in null.warnings[0]
    assert [row.d for row in rows] == [4, 12]
    for row in rows:
        alone = measure(**cut(hollow, row.d))
        assert row.gnc1 == alone.gnc1
    assert series_figure(measure_series(**hollow, prefix_dims=(2, 4))).axes
    train = save(tmp_path / "train.h5", {k: hollow[k] for k in ("features", "labels")})
    first = prefixes(**wide, means_from=train, ood=wide["features"])[0]
    assert (first.gnc2 is None) == (role == "features")
    hollow[role][1] = 0.0
    with pytest.raises(DataError, match="zero row"):
        prefixes(**hollow)


def test_a_null_prefix_is_not_measured_again(wide: dict[str, np.ndarray], tmp_path: Path) -> None:
    wide["features"][1, :2] = 0.0
    file, out = save(tmp_path / "a.h5", wide), tmp_path / "rows.jsonl"
    prefixes(file, out=out)
    before = out.read_text()
    assert measure_series(file, prefix_dims=DIMS, out=out, resume=True).skipped == 3
    assert out.read_text() == before
