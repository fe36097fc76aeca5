import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import UsageError
from gnc_cli.networks.recipe import Recipe


@given(st.integers(1, 40), st.integers(1, 30), st.floats(0, 50))
def test_the_learning_rate_rises_then_falls(epochs: int, steps: int, warmup: float) -> None:
    recipe = Recipe(epochs=epochs, batch_size=8, warmup=warmup)
    factors = [recipe.factor(step, steps) for step in range(epochs * steps + 1)]
    warm = min(len(factors), math.floor(warmup * steps))
    assert factors[:warm] == sorted(factors[:warm])
    assert factors[warm:] == sorted(factors[warm:], reverse=True)
    assert all(0 <= factor <= 1 for factor in factors)
    if warmup < epochs:
        assert factors[-1] == pytest.approx(0, abs=1e-15)


def test_the_cosine_in_closed_form() -> None:
    recipe = Recipe(epochs=200, batch_size=128)
    for step in (0, 1, 391 * 100, 391 * 200 - 1):
        assert recipe.factor(step, 391) == pytest.approx(
            math.cos(math.pi * step / (2 * 391 * 200)) ** 2, rel=1e-12
        )


def test_steps_fall_at_their_milestones_and_a_constant_stays() -> None:
    steps = Recipe(epochs=9, batch_size=8, schedule="step", milestones=(3, 6), warmup=1)
    assert [steps.factor(s, 2) for s in (0, 1, 5, 6, 11, 12)] == pytest.approx(
        [0.5, 1, 1, 0.1, 0.1, 0.01]
    )
    constant = Recipe(epochs=9, batch_size=8, schedule="constant", warmup=0.25)
    assert [constant.factor(s, 8) for s in (0, 1, 2, 70)] == [0.5, 1, 1, 1]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"optimizer": "lion"}, "--optimizer 'lion' .*sgd, adamw, adam"),
        ({"epochs": 0}, "--epochs 0"),
        ({"lr": math.nan}, "--lr nan: give a number above 0$"),
        ({"clip": math.inf}, "--clip inf"),
        ({"momentum": 1.0}, "--momentum 1.0"),
        ({"schedule": "step"}, "--milestones, such as"),
        ({"schedule": "step", "milestones": (5, 5)}, r"--milestones \[5, 5\]: give rising"),
        ({"milestones": (0,)}, r"--milestones \[0\]"),
    ],
)
def test_values_that_train_nothing_are_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Recipe(**{"epochs": 3, "batch_size": 8} | wrong)
