"""The two forms of GNC1 and GNC3: true values, which is shown, who is warned."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.measure.simplex_cases import cases, exact, measured
from gnc_cli import measure
from gnc_cli.collapse.result import CLASSIC, MAIN_CLASSIC, MeasureSeries
from gnc_cli.collapse.view import view
from gnc_cli.console.table import printed
from tests.collapse.conftest import save, save_run

CASES = {f"{W.shape[1]}, {len(W)}, {name}, {spread:g}": (W, spread) for name, W, spread in cases()}
NOISE = {"8, 10, +-e_i, i <= 5, 0.0001", "4, 6, +-e_i, i <= 3, 0.0001"}
"""Codes of smaller rank than d: neither form has a value."""


@pytest.mark.parametrize("name", CASES)
def test_what_is_shown_is_the_true_value_or_called_noise(name: str) -> None:
    W, spread = CASES[name]
    found, (K, d) = measured(W, spread), W.shape
    forms = {"gnc1": "gnc1" if K > d else "gnc1_centred", "gnc3": "gnc3"}
    assert found.forms == forms
    said = " ".join(found.warnings)
    assert ("gnc1 and gnc1_centred are dominated by noise" in said) == (name in NOISE)
    assert ("gnc1 is dominated by noise" in said) == (K <= d)
    for text in (str(found), found._repr_html_()):  # what Python and a notebook show
        assert ("warning: gnc1 and gnc1_centred are dominated" in text) == (name in NOISE)
    for key, centred in (("gnc1", False), ("gnc1_centred", True)):
        true, value = exact(W, spread, centred), getattr(found, key)
        if name in NOISE or (K <= d and not centred):
            assert value > 0.1 > 1e4 * true, "the noise that the warning is about"
        else:
            assert value == pytest.approx(true, rel=0.1)
    assert found.gnc3 == pytest.approx(spread**2 * (d - 1) / 2, rel=0.1)


@pytest.mark.parametrize(("across", "noise"), [(0.01, False), (1.0, True)])
def test_noise_counts_where_class_means_do_not_differ(across: float, noise: bool) -> None:
    """Class means that differ by 0.2 in ten dimensions, and by noise of `across` in six others; the
    large spread along their common mean says nothing about noise."""
    rng, labels = np.random.default_rng(0), np.repeat(np.arange(10), 120)
    features = (1.0 + 0.2 * np.eye(10, 16))[labels] + rng.standard_normal((1200, 1))
    features += np.repeat([0.01, across], [10, 6]) * rng.standard_normal((1200, 16))
    found: Any = measure(features=features, labels=labels, normalize="off")
    assert ("are dominated by noise" in " ".join(found.warnings)) == noise, found.gnc1_centred


@pytest.fixture
def relu() -> dict[str, np.ndarray]:
    """A collapsed network with ReLU features, bias and weight decay: orthonormal class means, their
    centred simplex as weights."""
    labels = np.repeat(np.arange(10), 100)
    noise = 1e-4 * np.random.default_rng(0).standard_normal((1000, 16))
    means = np.eye(10, 16)
    return {"features": means[labels] + noise, "labels": labels, "weights": means - means.mean(0)}


def test_gates_and_sheets_of_a_network_with_few_classes(
    gnc: Any, relu: dict[str, np.ndarray], tmp_path: Path
) -> None:
    file = save(tmp_path / "relu.h5", relu)
    run = gnc("measure", file, "--max", "gnc1=1", "--max", "gnc1_centred=1", "--max", "gnc3=0.05")
    found = measure(**relu)
    assert found.gnc3 == pytest.approx(1.0 - 0.9**0.5, rel=1e-3)
    assert found.gnc3_centred is not None and found.gnc3_centred < 1e-8
    assert found.global_mean_squared == pytest.approx(0.1, rel=1e-3)
    lines = run.stderr.splitlines()
    paper, centred, three = (line for line in lines if line.startswith("gnc: gate"))
    assert "noise" in paper and "noise" not in centred + three and "gate failed" in three
    assert not any("noise" in line for line in lines if "gate" not in line)  # gnc1 is not shown
    assert re.search(r"^GNC1 centred ", run.stdout, re.M)
    assert re.search(r"^GNC3 centred ", run.stdout, re.M)
    assert not re.search(r"^GNC[13]  ", run.stdout, re.M)
    assert (
        "centred: GNC1, as K = 10 <= d; GNC3, as the mean of the class means has squared length 0.1"
        in run.stdout
    )
    for key in ("gnc1", "gnc3"):  # both forms with -v
        assert f"\n{key} " in (verbose := gnc("measure", file, "-v").stdout)
    assert "accuracy raw rows, no bias; " in " ".join(verbose.split())


@pytest.mark.parametrize("columns", ["60", "100"])  # a narrow terminal cuts no number
def test_gnc2_of_class_means_is_marked(
    relu: dict[str, np.ndarray],
    series: MeasureSeries,
    monkeypatch: pytest.MonkeyPatch,
    columns: str,
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    means = measure(features=relu["features"], labels=relu["labels"])
    text = printed(view(replace(series, rows=(series.rows[0], means)), False), None)
    assert text.count("*") == 2 and f"{means.gnc2.lower:.4f}"[:-1] in text.partition("*")[0]
    assert "GNC2* of the class means, as there are no weights" in text
    alone = printed(view(replace(series, rows=(means, means)), False), None)
    assert "GNC2: of the class means" in alone and "*" not in alone


def test_classic_metrics_have_a_table_of_their_own(gnc: Any, tmp_path: Path) -> None:
    run = save_run(tmp_path / "run.h5")
    plain, classic = gnc("measure", run).stdout, gnc("measure", run, "--variants", "classic").stdout
    for name in MAIN_CLASSIC.values():
        assert f" {name} " in classic.replace("\n", " ") and f" {name} " not in plain
    assert max(map(len, classic.splitlines())) <= 100


def test_classic_metrics_of_many_classes_wait_to_be_asked_for(
    monkeypatch: pytest.MonkeyPatch, relu: dict[str, np.ndarray]
) -> None:
    monkeypatch.setattr("gnc_cli.collapse.conventions.MOST_CLASSIC", 9)
    for asked in ("none", "classic"):
        found = measure(**relu, variants=asked)
        assert all((getattr(found, key) is None) == (asked == "none") for key in CLASSIC)


def test_every_row_of_a_series_decides_on_the_forms(
    relu: dict[str, np.ndarray], series: MeasureSeries
) -> None:
    """One form for a column: the centred one if any row needs it, with the number of those."""
    few, rng = measure(**relu), np.random.default_rng(0)
    directions = np.concatenate([np.eye(16), -np.eye(16)])
    labels = np.repeat(np.arange(32), 40)
    features = directions[labels] + 0.1 * rng.standard_normal((1280, 16))
    many = measure(features=features, labels=labels, weights=directions)
    assert not many.centring_reason
    for rows in ((few, many), (many, few)):
        mixed = replace(series, rows=rows)
        assert mixed.forms == few.forms == {"gnc1": "gnc1_centred", "gnc3": "gnc3_centred"}
        assert mixed.centring_reason.startswith("GNC1, as K = 10 <= d (1 of 2 rows); GNC3, as")
        assert mixed.centring_reason.endswith("length 0.1 (1 of 2 rows)")
    alone = replace(series, rows=(few, few))
    assert alone.centring_reason == few.centring_reason
    assert replace(series, rows=(many,)).forms == {"gnc1": "gnc1", "gnc3": "gnc3"}
