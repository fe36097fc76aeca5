"""Heads and losses in one import: they can satisfy the margins that `bounds` names, and no more."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gnc_cli import bounds
from gnc_cli.errors import UsageError
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.sphere import random_points
from gnc_cli.heads import ClassMeanHead, FixedHead, ScoreLoss, arcface, cosface
from gnc_cli.io.codefile import read_points
from gnc_cli.metrics.gnc2 import gnc2_detail
from gnc_cli.metrics.scale import softmax_scale

COLD = 1e-5
"""A temperature at which a loss is 0 where its margin is satisfied, and large where it is not."""


def losses(W: np.ndarray, H: np.ndarray, loss: ScoreLoss) -> np.ndarray:
    """Of a feature for each class."""
    head = FixedHead(W).double()
    head.weight = torch.from_numpy(W)
    return loss(head.scores(torch.from_numpy(H)), torch.arange(len(W))).numpy()


def test_defaults_are_those_of_the_papers() -> None:
    assert cosface() == ScoreLoss("cosface", 1 / 64, 0.35)
    assert arcface() == ScoreLoss("arcface", 1 / 64, 0.5)
    assert ClassMeanHead(d=2, K=3).saved_parameters == 6
    with pytest.raises(UsageError, match="margin 3"):
        cosface(margin=3.0)


def test_cosface_can_be_satisfied_up_to_the_one_vs_rest_distance(rng: np.random.Generator) -> None:
    W = random_points(rng, 30, 6)
    detail = gnc2_detail(W)
    rho, H = detail.bracket.lower, detail.directions
    assert H is not None
    assert losses(W, H, cosface(rho - 0.01, COLD)).max() < 1e-9
    assert losses(W, H, cosface(rho + 0.01, COLD)).max() > 50.0
    # Its own softmax reaches a probability with gaps that are smaller by the margin.
    m, p = 0.5 * rho, 0.9
    s = softmax_scale(math.log(29), p, rho - m)
    assert losses(W, H, cosface(m, 1 / s)).max() <= -math.log(p)
    # Above rho the worst class keeps a loss.
    assert losses(W, H, cosface(rho + 0.1, 1 / 64)).max() >= math.log1p(math.exp(6.4))
    # No feature of the worst class does better.
    worst = int(one_vs_rest(W).upper.argmin())
    gaps = random_points(rng, 50_000, 6) @ (W[worst] - np.delete(W, worst, axis=0)).T
    assert gaps.min(axis=1).max() <= rho + 1e-12


def test_arcface_can_be_satisfied_up_to_the_minimal_angle(rng: np.random.Generator) -> None:
    """With angle + margin <= pi it says: every other angle is larger by the margin."""
    for K, d in ((2, 2), (5, 2), (8, 3), (30, 6)):
        W = random_points(rng, K, d)
        angles = np.arccos(np.clip(W @ W.T, -1.0, 1.0)) + 4.0 * np.eye(K)
        least = float(angles.min())
        assert losses(W, W, arcface(least - 0.01, COLD)).max() < 1e-9
        assert losses(W, W, arcface(least + 0.01, COLD)).max() > 1.0
        # Whatever the features: those of the nearest pair, seen from 20,000 directions.
        y, _ = np.unravel_index(angles.argmin(), angles.shape)
        seen = np.arccos(np.clip(random_points(rng, 20_000, d) @ W.T, -1.0, 1.0))
        others = np.delete(seen, y, axis=1).min(axis=1)
        assert (others - seen[:, y]).max() <= least + 1e-7


def test_without_the_condition_a_turned_feature_satisfies_any_margin() -> None:
    """The opposite of the own row at margin pi: cos(pi + pi) = 1. The loss does not fall for it."""
    W = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    assert math.cos(math.pi + math.pi) == 1.0 >= (-W @ W.T).max()
    assert losses(W, -W, arcface(math.pi, COLD)).min() > 1.0


def test_the_matrix_that_bounds_builds_has_the_margins_it_names(
    gnc: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = gnc("bounds", "--d", "16", "--K", "256", "--margin", "0.4").stdout
    _, *command = shown.partition("build it: ")[2].split()
    assert gnc(*command).exit_code == 0 and command[-1] == "head.safetensors"
    W = read_points("head.safetensors").weights[:256]
    margins = bounds(d=16, K=256, margin=0.4).best[0].margins
    assert losses(W, W, cosface(margins.cosface.lower - 1e-3, COLD)).max() < 1e-3
    assert losses(W, W, arcface(margins.arcface_rad.lower - 1e-3, COLD)).max() < 1e-3
    assert losses(W, W, arcface(margins.arcface_rad.lower + 1e-3, COLD)).max() > 1.0
