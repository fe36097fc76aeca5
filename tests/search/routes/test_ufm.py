"""The unconstrained feature model through `solve`: values, sweeps, weight decay, collapse."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from gnc_cli import schemas, solve, solve_sweep
from gnc_cli.io.codefile import read_code
from gnc_cli.search.result import Outcome, SolveResult
from tests.problems import PROBLEMS

TAMMES_7 = next(p.max_cosine for p in PROBLEMS if p.name == "seven")
VALIDATOR = jsonschema.Draft202012Validator(schemas.load("solve"))


def ufm(d: int, K: int, **options: Any) -> SolveResult:
    result = solve(d, K, problem="ufm", **({"restarts": 4, "steps": 150} | options))
    assert result.ufm is not None
    VALIDATOR.validate(json.loads(result.dumps()))
    return result


@pytest.mark.parametrize("n", [1, 3])
def test_a_simplex_collapses(n: int, tmp_path: Path) -> None:
    file = tmp_path / "code.h5"
    result = ufm(3, 4, tau=0.1, n=n, out=file)
    stored = read_code(file)
    assert stored.features is not None and stored.features.shape == (4 * n, 3)
    if n > 1:
        assert stored.labels is not None
        assert stored.labels.tolist() == np.repeat(np.arange(4), n).tolist()
    assert result.outcome is Outcome.CONVERGED
    measures = result.ufm
    assert measures is not None
    assert measures.n == n and measures.tau == 0.1 and measures.weight_decay is None
    assert measures.gnc1 == (None if n == 1 else pytest.approx(0.0, abs=1e-12))
    assert measures.gnc2.lower == pytest.approx(4.0 / 3.0, abs=1e-9)
    assert measures.gnc3 == pytest.approx(0.0, abs=1e-9)
    assert result.features is not None and result.features.shape == (4 * n, 3)
    gap = measures.hardmax_gap
    assert gap is not None and gap.width < 1e-9
    # tau log(total loss) + rho*, both in closed form.
    total = 4 * n * np.log1p(3 * np.exp(-4.0 / 3.0 / 0.1))
    assert gap.lower == pytest.approx(0.1 * np.log(total) + 4.0 / 3.0, abs=1e-9)


def test_measures_are_those_of_its_own_weights_and_features() -> None:
    """GNC1 to GNC3 by the paper's formulas, from what the result carries."""
    result = ufm(3, 7, tau=0.2, n=2)
    W, H = result.weights, result.features
    assert H is not None and result.ufm is not None
    means = H.reshape(7, 2, 3).mean(axis=1)
    centred = H - means.repeat(2, axis=0)
    within, between = centred.T @ centred / 14, means.T @ means / 7
    gnc1 = np.trace(within @ np.linalg.pinv(between)) / 7
    assert result.ufm.gnc1 == pytest.approx(gnc1, abs=1e-12)
    assert result.ufm.gnc3 == pytest.approx(np.mean(1 - (W * means).sum(1)), abs=1e-12)
    assert result.ufm.gnc2 == result.rho_one_vs_rest


def test_figure_c1_in_small(tmp_path: Path) -> None:
    file, plot = tmp_path / "sweep.h5", tmp_path / "sweep.svg"
    result = solve_sweep(
        3,
        7,
        problem="ufm",
        tau=[1.0, 0.1, 0.001],
        restarts=6,
        steps=150,
        out=file,
        plot=plot,
    )
    VALIDATOR.validate(json.loads(result.dumps()))
    assert [r.ufm.tau for r in result.rows if r.ufm] == [1.0, 0.1, 0.001]
    cosines = [r.max_cosine for r in result.rows]
    assert cosines == sorted(cosines, reverse=True)
    assert 0.0 < cosines[-1] - TAMMES_7 < 1e-3
    uppers = [r.ufm.hardmax_gap.upper for r in result.rows if r.ufm and r.ufm.hardmax_gap]
    assert uppers == sorted(uppers, reverse=True)
    stored = read_code(file)
    assert np.array_equal(stored.weights, result.rows[-1].weights)
    assert len(stored.provenance["result"]["rows"]) == 3
    assert plot.read_text().lstrip().startswith("<?xml")


def test_weight_decay_keeps_lengths_in_the_file(tmp_path: Path) -> None:
    """Eq. B.1 leaves lengths free: they are stored as they are, metrics take unit rows."""
    file = tmp_path / "code.h5"
    result = ufm(2, 5, weight_decay=5e-3, out=file, plot=tmp_path / "code.png")
    assert result.ufm is not None and result.ufm.weight_decay == 5e-3
    assert result.ufm.hardmax_gap is None and result.ufm.tau == 1.0
    lengths = np.linalg.norm(result.weights, axis=1)
    assert lengths.min() > 1.2  # nothing holds them at 1
    unit = result.weights / lengths[:, None]
    gram = unit @ unit.T - 3.0 * np.eye(5)
    assert result.max_cosine == pytest.approx(gram.max(), abs=1e-12)
    stored = read_code(file)
    assert np.array_equal(stored.weights, result.weights)
    assert stored.features is not None and np.array_equal(stored.features, result.features)


def test_a_sweep_without_temperatures_has_one_row(tmp_path: Path) -> None:
    file = tmp_path / "code.h5"
    sweep = solve_sweep(3, 6, out=file, plot=tmp_path / "code.svg")
    assert sweep.rows == (solve(3, 6, out=file, force=True),) and sweep.out == str(file)


def test_a_sweep_stops_between_temperatures() -> None:
    result = solve_sweep(3, 7, problem="ufm", tau=[1.0, 0.5, 0.1], time_limit=1e-6)
    assert len(result.rows) == 1 and result.rows[0].outcome is Outcome.TIME_LIMIT
    VALIDATOR.validate(json.loads(result.dumps()))
