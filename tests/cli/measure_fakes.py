"""A stand-in for the work of `gnc measure`, so that the command line is tested by itself."""

import sys
import types
from typing import Any

import pytest

from gnc_cli.results import (
    BootstrapIntervals,
    Bracket,
    ClassCounts,
    ClassRow,
    DuplicatePair,
    Gnc2Quantiles,
    Gnc2Reference,
    MeasureGroup,
    MeasureMargins,
    MeasureResult,
    MeasureSeries,
    Rattlers,
    SampleMargins,
    WithoutDuplicates,
)

POLICY: dict[str, Any] = {
    "normalize": "auto",
    "spaces": {
        "gnc1": "unit rows", "gnc2": "unit rows", "gnc3": "unit rows", "ncc": "unit rows",
        "sample_margins": "unit rows", "accuracy": "raw rows", "authors": "unit rows",
        "classic": "raw rows", "energies": "unit rows",
    },
    "weights": "given",
    "class_means": {"gnc1": "own", "ncc": "own", "variants": "own", "gnc3": "own"},
    "between_cov": "not centred",
    "missing": "skip",
    "classes": None,
    "min_count": None,
    "classes_left_out": 0,
    "precision": {
        "storage": "float32", "sums": "float64",
        "decisions": "float32 products, near ties again in float64",
    },
    "variants": "none",
    "chunk_rows": 8192,
}  # fmt: skip
REFERENCE = Gnc2Reference(
    0.6690123, "solved", "Softmax Code (10, 100)", "certified rho of: gnc solve --d 10 --K 100",
    "2026-11", False,
)  # fmt: skip
FLOOR = "the spread within classes, 1.0e-04 of the feature's length, is at the floor of float16"


def class_row(label: int, **changes: Any) -> ClassRow:
    """A class of 500 samples."""
    fields: dict[str, Any] = dict(
        label=label, name=None, count=500, mean_norm=0.99, spread=0.0199,
        one_vs_rest=Bracket(0.66 + 0.001 * label, 0.6600000001 + 0.001 * label),
        nearest=label + 1, nearest_name=None, nearest_cosine=0.335, rattler=label > 2,
        accuracy=0.998, min_margin=0.125,
    )  # fmt: skip
    return ClassRow(**(fields | changes))


def row(**changes: Any) -> MeasureResult:
    """A network that has collapsed well."""
    fields: dict[str, Any] = dict(
        seconds=1.25, version="0.1.0", file="features.h5", snapshot=None, epoch=200.0, step=None,
        layer=None, split="train", N=50000, d=10, K=100, gnc1=3.4e-4, gnc1_rank=10,
        gnc2=Bracket(0.66, 0.6600000000003),
        gnc2_quantiles=Gnc2Quantiles(
            Bracket(0.66, 0.6600000000003), Bracket(0.6601, 0.6601), Bracket(0.661, 0.661),
            Bracket(0.67, 0.67), Bracket(0.7, 0.7), classes=100, seed=None,
        ),
        gnc2_reference=REFERENCE, gnc2_ratio=0.66 / 0.6690123, gnc3=8.7e-4, ncc_accuracy=0.9985,
        ncc_leave_one_out=0.998, accuracy=0.99902, ncc_agreement=0.9994,
        sample_margins=SampleMargins(0.9991, -0.25, 0.61),
        margins=MeasureMargins(0.66, 1.2290608925951367, 10.29, 0.9), max_cosine=0.335,
        rattlers=Rattlers(1, 97, 1e-7), variants={}, bootstrap=None,
        classes=ClassCounts(100, 0, 500, 500, 0), duplicates=None, without_duplicates=None,
        worst_classes=tuple(class_row(k) for k in range(10)), policy=POLICY, warnings=(),
        attrs={"seed": 0},
    )  # fmt: skip
    return MeasureResult(**(fields | changes))


def full(**changes: Any) -> MeasureResult:
    """The same with everything that can be asked for."""
    names = ["apple", "[red] cat", "dog"]
    worst = [
        class_row(k, name=names[k % 3], nearest_name=names[(k + 1) % 3], one_vs_rest=None)
        if k > 1 else class_row(k, name=names[k], nearest_name=names[k + 1]) for k in range(3)
    ]  # fmt: skip
    classic = {
        "nc1": 0.0123, "nc1_trace_quotient": 0.01, "cdnv": 1e-3, "nc2_equinorm_means": 0.1,
        "nc2_equinorm_weights": 0.2, "nc2_equiangularity": 0.05, "nc2_max_angle": 0.3,
        "nc2_etf_error": 0.4, "nc2_etf_error_weights": 0.41, "nc3": 0.02,
        "nc3_dual_etf_error": 0.03, "log_energy": -0.3, "riesz_energy": 0.7,
        "log_energy_weights": -0.31, "riesz_energy_weights": None, "effective_rank_means": 9.9,
        "effective_rank_weights": 9.8, "pair_rows": 100, "pair_rows_weights": 100,
        "nc4": 0.9994,
    }  # fmt: skip
    boot = BootstrapIntervals(
        200, 0.95, Bracket(3.3e-4, 3.5e-4), Bracket(8e-4, 9e-4), Bracket(0.998, 0.999), None
    )
    pairs = (DuplicatePair(3, 7, 0.9999, "a", "b"), DuplicatePair(3, 9, 0.999))
    fields: dict[str, Any] = dict(
        snapshot="final", epoch=200.0, step=78200.0, layer="fc", worst_classes=tuple(worst),
        gnc1=1e-4, variants={"authors": {"gnc1": 4e-4, "gnc3": 9e-4}, "classic": classic},
        bootstrap=boot, duplicates=pairs,
        without_duplicates=WithoutDuplicates(0.99, 2, 98, Bracket(0.665, 0.665)),
        classes=ClassCounts(96, 4, 1, 1300, 2, (3, 17, 20, 99)), warnings=(FLOOR,),
        policy=POLICY | {
            "variants": "all", "classes": "some.txt", "min_count": 3, "classes_left_out": 12,
            "class_means": {
                "gnc1": "train.h5", "ncc": "train.h5", "variants": "train.h5", "gnc3": "own",
            },
        },
    )  # fmt: skip
    return row(**(fields | changes))


def weights_only(**changes: Any) -> MeasureResult:
    """A classifier without a sample, one class of which lies inside."""
    policy = POLICY | {"class_means": None, "chunk_rows": None}
    policy["precision"] = POLICY["precision"] | {"storage": None}
    gone = (
        "epoch", "split", "N", "gnc1", "gnc1_rank", "gnc3", "ncc_accuracy", "ncc_leave_one_out",
        "accuracy", "ncc_agreement", "sample_margins", "gnc2_reference", "gnc2_ratio", "rattlers",
    )  # fmt: skip
    bare = dict(count=None, mean_norm=None, spread=None, accuracy=None, min_margin=None)
    quantile = Bracket(0.0, 1e-12)
    fields: dict[str, Any] = dict.fromkeys(gone) | dict(
        file="head.safetensors", d=512, K=32000, gnc2=quantile,
        gnc2_quantiles=Gnc2Quantiles(*[quantile] * 4, Bracket(0.4, 0.41), classes=5000, seed=7),
        margins=MeasureMargins(0.0, 0.25, None, 0.9), max_cosine=0.97,
        classes=ClassCounts(32000, 0, None, None, None), policy=policy, attrs={},
        worst_classes=(class_row(5, one_vs_rest=quantile, rattler=False, **bare),),
    )  # fmt: skip
    return row(**(fields | changes))


def means_only(**changes: Any) -> MeasureResult:
    """Features without a classifier."""
    gone = ("accuracy", "gnc3", "ncc_agreement", "sample_margins")
    fields: dict[str, Any] = dict.fromkeys(gone) | dict(
        policy=POLICY | {"weights": "class means stand in"}, file=None
    )
    return row(**(fields | changes))


def series(*rows: MeasureResult, **changes: Any) -> MeasureSeries:
    """Rows as a whole."""
    fields: dict[str, Any] = dict(
        seconds=4.0, version="0.1.0", rows=rows, groups=(), group=None, skipped=0
    )
    return MeasureSeries(**(fields | changes))


def epochs(file: str = "run.h5", worse: float = 1.0) -> list[MeasureResult]:
    """Four epochs of one run."""
    return [
        row(file=file, snapshot=f"epoch_{e}", epoch=float(e), split="test", gnc1=worse * 2.0**-e,
            gnc2=Bracket(0.06 * e / worse, 0.06 * e / worse + 1e-12), gnc3=worse * 3.0**-e,
            gnc2_ratio=0.06 * e / worse / REFERENCE.value, ncc_accuracy=0.5 + 0.05 * e,
            accuracy=0.5 + 0.049 * e)
        for e in (0, 5, 9, 10)
    ]  # fmt: skip


def group(epoch: float | None, count: int = 3, **changes: Any) -> MeasureGroup:
    """Runs that differ in their seed."""
    keys = ("gnc1", "gnc2.lower", "gnc2.upper", "gnc2_ratio", "gnc3", "ncc_accuracy", "accuracy")
    fields: dict[str, Any] = dict(
        epoch=epoch, step=None, layer=None, split="test", snapshot=None, attrs={"tau": 0.1},
        count=count,
        mean={k: 0.5 + 0.01 * i for i, k in enumerate(keys)},
        deviation={k: 0.0123 if count > 1 else None for k in keys},
    )  # fmt: skip
    return MeasureGroup(**(fields | changes))


def runs() -> MeasureSeries:
    """Two runs whose files have long names that differ in the middle."""
    return series(
        *(r for seed in (0, 1) for r in epochs(f"runs/tau_0.1/seed_{seed}/features_of_test.h5"))
    )


def cut_short() -> MeasureResult:
    """A measurement whose time was up before GNC2 was certified."""
    wide = Bracket(0.703048, 1.186)
    return full(
        file=None, gnc2=Bracket(0.5, 0.6), gnc2_quantiles=Gnc2Quantiles(
            Bracket(0.5, 0.6), wide, wide, Bracket(0.9, 0.9 + 1e-7), wide, classes=100, seed=None,
        ), worst_classes=(class_row(367, name="ground squirrel", nearest_name="prairie dog",
                                    one_vs_rest=wide),),
    )  # fmt: skip


def grouped() -> MeasureSeries:
    """Two seeds over four epochs, one of them measured before."""
    one, two = epochs("seed0.h5"), epochs("seed1.h5", 1.5)
    before = [r._body() | {"seconds": r.seconds} for r in one[:2]]
    return series(
        *one[2:], *two, groups=(group(0.0, 2), group(5.0, 1), group(9.0, 2), group(10.0, 2)),
        group="seed", skipped=2, earlier=tuple(before), out="rows.csv",
    )  # fmt: skip


class FakeMeasure:
    """Remembers how it was called and returns what it was told to."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.result: MeasureResult | MeasureSeries = row()
        self.error: BaseException | None = None

    def __call__(self, *sources: Any, **options: Any) -> MeasureResult | MeasureSeries:
        self.calls.append({"sources": sources, **options})
        rows = self.result.rows if isinstance(self.result, MeasureSeries) else (self.result,)
        for made in rows:
            if options["on_row"] is not None:
                options["on_row"](made)
        if self.error is not None:
            raise self.error
        return self.result


def install_measure(monkeypatch: pytest.MonkeyPatch) -> FakeMeasure:
    """Put a FakeMeasure where `gnc measure` looks for the work function."""
    fake = FakeMeasure()
    module = types.ModuleType("gnc_cli.workflows.measure")
    module.measure = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gnc_cli.workflows.measure", module)
    return fake
