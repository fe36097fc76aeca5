"""One sample per class: no spread within classes is known; and GNC2 of random rows."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from gnc_cli import measure, measure_model, measure_series
from gnc_cli.collapse.gnc_metrics import GNCMetrics
from gnc_cli.collapse.reference import _hull_distance, random_gnc2
from gnc_cli.collapse.result import NO_SPREAD, ClassCounts
from gnc_cli.geometry.sphere import normalise
from gnc_cli.metrics.gnc2 import gnc2
from tests.collapse.conftest import put

NULL = (
    "gnc1",
    "gnc1_rank",
    "gnc1_centred",
    "gnc1_centred_rank",
    "nc1",
    "nc1_trace_quotient",
    "cdnv",
    "ncc_accuracy",
    "ncc_leave_one_out",
)
K, D = 12, 5


@pytest.fixture
def lone(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "features": rng.standard_normal((K, D)),
        "labels": rng.permutation(K),
        "weights": rng.standard_normal((K, D)),
    }


def test_one_sample_per_class_has_no_spread(lone: dict[str, np.ndarray]) -> None:
    found = measure(**lone, per_class=None)
    assert {key: getattr(found, key) for key in NULL} == dict.fromkeys(NULL)
    assert NO_SPREAD in found.warnings and found.classes.single_sample == K
    assert found.gnc3 is not None and found.accuracy is not None and found.nc3 is not None
    assert {row.spread for row in found.per_class} == {None}
    # One more sample: its class has a spread, the others add nothing.
    more = {**lone, "features": np.vstack([lone["features"], 1.0 + lone["features"][:1]])}
    more["labels"] = np.append(lone["labels"], lone["labels"][0])
    found = measure(**more)
    assert all(getattr(found, key) is not None for key in NULL) and NO_SPREAD not in found.warnings
    spreads = [row.spread for row in found.per_class]
    assert sum(spread is not None for spread in spreads) == 1


def test_training_means_measure_the_spread_of_single_samples(
    lone: dict[str, np.ndarray], rng: np.random.Generator, tmp_path: Path
) -> None:
    labels = np.repeat(np.arange(K), 3)
    train = {"features": rng.standard_normal((3 * K, D)), "labels": labels}
    found = measure(**lone, means_from=put(tmp_path / "train.npz", train))
    unit = normalise(train["features"])
    means = np.array([unit[labels == k].mean(axis=0) for k in range(K)])
    apart = normalise(lone["features"]) - means[lone["labels"]]
    within, between = apart.T @ apart / K, means.T @ means / K
    assert found.gnc1 == pytest.approx(np.trace(within @ np.linalg.pinv(between)) / K, rel=1e-9)
    assert found.ncc_accuracy is not None and found.cdnv is not None
    assert NO_SPREAD not in found.warnings


def test_a_gate_on_a_null_fails_with_the_reason(
    gnc: Any, tmp_path: Path, lone: dict[str, np.ndarray]
) -> None:
    file = put(tmp_path / "a.npz", lone)
    done = gnc("measure", file, "--max", "gnc1=0.05", "--max", "cdnv=9", "--min", "ncc_accuracy=0")
    assert done.exit_code == 5
    lines = [line for line in done.stderr.splitlines() if "gate failed" in line]
    assert len(lines) == 3 and all("as no class has two samples" in line for line in lines)
    assert "samples per class" in done.stdout and "1 to 1" in done.stdout
    row = json.loads(gnc("measure", file, "--json").stdout)
    assert row["gnc1"] is None and row["gnc2"]["lower"] > 0.0


def test_the_sheet_names_few_samples(gnc: Any, tmp_path: Path, rng: np.random.Generator) -> None:
    for n, shown in ((4, True), (5, False)):
        labels = np.repeat(np.arange(3), n)
        rows = {"features": rng.standard_normal((3 * n, D)), "labels": labels}
        assert ("samples per class" in gnc("measure", put(tmp_path / f"{n}.npz", rows)).stdout) == (
            shown
        )


def test_loops_and_models_say_the_same(lone: dict[str, np.ndarray]) -> None:
    metrics = GNCMetrics(D, K)
    metrics.update(lone["features"], lone["labels"])
    metrics.judge(lone["features"], lone["labels"], lone["weights"])
    found = metrics.compute(lone["weights"])
    assert found.gnc1 is None and found.ncc_accuracy is None and found.gnc2_ratio_random is None
    network = nn.Linear(D, K).double()
    batches = [(torch.from_numpy(lone["features"]), torch.from_numpy(lone["labels"]))]
    result = measure_model(nn.Sequential(nn.Identity(), network), batches)
    assert result.gnc1 is None and result.cdnv is None and NO_SPREAD in result.warnings
    assert result.gnc2_ratio_random is not None


@pytest.mark.parametrize(("d", "K", "close"), [(40, 12, 0.03), (64, 40, 0.012), (256, 60, 0.008)])
def test_the_formula_of_random_rows_agrees_with_draws(d: int, K: int, close: float) -> None:
    rng = np.random.default_rng(3)
    draws = [
        gnc2(normalise(rng.standard_normal((K, d))), tolerance=1e-3).lower
        for _ in range(6 if K > 20 else 20)
    ]
    error = float(np.std(draws)) / len(draws) ** 0.5
    assert random_gnc2(d, K) == pytest.approx(np.mean(draws), abs=close + 2.0 * error)


def test_random_rows_as_published_and_where_nothing_is_known() -> None:
    ratios = {(512, 100): 0.93, (512, 1000): 0.90, (64, 10): 0.83}
    for (d, K), ratio in ratios.items():
        best = K / (K - 1) if d + 1 >= K else 1.0
        assert random_gnc2(d, K) / best == pytest.approx(ratio, abs=0.01)  # type: ignore[operator]
    assert random_gnc2(8, 1000) is None and random_gnc2(40, 100_000) is None
    drawn = random_gnc2(3, 8)
    assert drawn is not None and 0.0 < drawn < 0.8


def test_the_hull_problem_has_its_optimum() -> None:
    from scipy.optimize import minimize

    g = np.random.default_rng(1).standard_normal(7) / 3.0
    simplex = {"type": "eq", "fun": lambda v: v.sum() - 1.0}
    least = minimize(
        lambda v: np.sqrt(1.0 + v @ v) - g @ v,
        np.full(7, 1 / 7),
        bounds=[(0, 1)] * 7,
        constraints=simplex,
        options={"ftol": 1e-14},
    )
    assert _hull_distance(g) == pytest.approx(least.fun, abs=1e-8)


def test_the_ratio_of_random_rows_stands_beside_the_ratio(gnc: Any, tmp_path: Path) -> None:
    W = np.random.default_rng(0).standard_normal((10, 64))
    found = measure(weights=W)
    assert found.gnc2_ratio_random == pytest.approx(0.83, abs=0.02)
    file = put(tmp_path / "w.npz", {"weights": W})
    assert "; random rows 0.83" in " ".join(gnc("measure", file).stdout.split())
    assert measure(weights=W, normalize="off").gnc2_ratio_random is None


def test_equal_measurements_are_equal(lone: dict[str, np.ndarray]) -> None:
    how: dict[str, Any] = {**lone, "duplicates": 0.9, "reach": True, "variants": "classic"}
    assert measure(**how) == measure(**how)
    assert measure(**how) != measure(**{**how, "seed": 1, "weights": -lone["weights"]})
    assert measure_series(**lone, prefix_dims=[3]) == measure_series(**lone, prefix_dims=[3])


def test_classes_are_present_by_their_samples() -> None:
    """Not by rows of the weights, with samples or without any."""
    W = np.eye(12, 16)
    counts = measure(features=W[[0, 0, 5]], labels=[0, 0, 5], weights=W).classes
    assert counts == ClassCounts(2, 10, 1, 2, 1, (1, 2, 3, 4, 6, 7, 8, 9, 10, 11))
    alone = measure(weights=W).classes
    assert alone == ClassCounts(0, 12, None, None, None, tuple(range(10)))
