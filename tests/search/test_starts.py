"""Starts from algebra: unit rows, K of them, different, with their origin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions.registry import find
from gnc_cli.geometry.sphere import random_points
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.effort import plan_effort
from gnc_cli.search.parametrisation import free
from gnc_cli.search.problem import Tammes
from gnc_cli.search.starts import algebraic_start, resized
from gnc_cli.search.tasks import Task, perform


@given(st.integers(3, 24), st.integers(8, 300), st.integers(0, 999))
def test_they_are_codes(d: int, K: int, seed: int) -> None:
    start = algebraic_start(np.random.default_rng(seed), d, K, favourite="")
    if start is None:
        return
    origin, code = start
    assert origin.split(":")[0] in {"sub-code", "extension", "section"}
    assert code.shape == (K, d)
    np.testing.assert_allclose(np.linalg.norm(code, axis=1), 1.0, atol=1e-12)
    gram = code @ code.T - 2 * np.eye(K)
    assert gram.max() < 1 - 1e-11


@pytest.mark.parametrize(("d", "K"), [(8, 200), (22, 100)])
def test_sub_codes_of_famous_codes_keep_their_cosine(d: int, K: int) -> None:
    rng = np.random.default_rng(0)
    drawn = [algebraic_start(rng, d, K, favourite="") for _ in range(60)]
    starts = dict(start for start in drawn if start is not None)
    whole = {origin: find(origin.removeprefix("sub-code: ")) for origin in starts}
    kept = {origin: code for origin, code in whole.items() if code is not None}
    assert kept
    for origin, code in kept.items():
        rows = starts[origin]
        assert (rows @ rows.T - 2 * np.eye(K)).max() <= code.cosine.value + 1e-12


def test_the_favourite_is_drawn_half_of_the_time() -> None:
    rng = np.random.default_rng(0)
    favourite = "sub-code: kerdock-4"
    origins = [start[0] for _ in range(200) if (start := algebraic_start(rng, 16, 93, favourite))]
    assert 80 <= origins.count(favourite) <= 130 and len(set(origins)) > 10
    assert algebraic_start(rng, 16, 93, "orbits of cyclic: Z3") is not None


def test_caps_of_a_shortened_kerdock_code_lead_to_few_distances() -> None:
    """Tasks on algebra alone: random starts end above 0.194 here, and so do random rows."""
    problem = Tammes(free(15, 80))
    effort = plan_effort(problem, seconds=60.0)
    tasks = [Task("algebra", (seed,), problem, effort) for seed in range(4)]
    ends = [end.value for task in tasks for end in perform(task, Deadline()).candidates]
    assert min(ends) < 0.1687


@pytest.mark.parametrize("K", [9, 12, 15])
def test_resized_codes_keep_the_rows_that_they_can(K: int) -> None:
    rng = np.random.default_rng(K)
    for _ in range(6):  # every way to choose
        code = random_points(rng, 12, 4)
        made = resized(rng, code, K)
        assert made.shape == (K, 4)
        np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1.0, atol=1e-13)
        assert ((made @ code.T) > 1 - 1e-12).sum() == min(K, 12)
