"""Descents over orbits: what they keep, what they find, and that a deadline ends them."""

from dataclasses import replace

import numpy as np
import pytest

from gnc_cli.geometry.gram import max_cosine
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.problem import Candidate, typical_scale
from gnc_cli.search.symmetric import SymmetricDescents


def _ends(seed: int, d: int, K: int, deadline: Deadline | None = None) -> list[Candidate]:
    scale = typical_scale(d, K)
    rng, deadline = np.random.default_rng(seed), deadline or Deadline()
    return SymmetricDescents(rng, d, K, scale, 1e4 / scale, 1e-9, deadline).run(
        9.0, max_descents=16
    )


@pytest.mark.parametrize("seed", range(6))  # wide and deep
def test_ends_are_codes_with_the_symmetry_they_name(seed: int) -> None:
    ends = _ends(seed, 4, 24)
    assert 1 <= len(ends) <= 12
    assert [end.value for end in ends] == sorted(end.value for end in ends)
    for end in ends:
        assert end.whole.shape == (24, 4) and end.origin.startswith("orbits of ")
        np.testing.assert_allclose(np.linalg.norm(end.whole, axis=1), 1.0, atol=1e-12)
        # An estimate is near the cosine, or below it where the descent was not over.
        assert end.value <= max_cosine(end.whole) + 1e-9
    # Rows of one orbit see the same cosines: fewer different rows of the Gram matrix than rows.
    gram = np.sort(ends[0].whole @ ends[0].whole.T, axis=1)
    assert len(np.unique(gram.round(6), axis=0)) <= 18
    again = _ends(seed, 4, 24)
    assert all(np.array_equal(a.whole, b.whole) for a, b in zip(ends, again, strict=True))


def test_a_code_is_perturbed_within_its_group() -> None:
    scale = typical_scale(4, 24)
    for seed in range(4):
        parent = _ends(seed, 4, 24)[0]
        rng = np.random.default_rng(seed)
        again = SymmetricDescents(rng, 4, 24, scale, 1e4 / scale, 1e-9, Deadline())
        ends = again.perturb(parent, 9.0, max_descents=8)
        assert 1 <= len(ends) <= 2 and again.restarts == 8
        for end in ends:
            assert (end.origin, end.draw) == (parent.origin, parent.draw)
            gram = np.sort(end.whole @ end.whole.T, axis=1)
            assert len(np.unique(gram.round(6), axis=0)) <= 18
            assert not np.allclose(end.whole, parent.whole)


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_hops_are_measured_by_the_code_made_symmetric_again(seed: int) -> None:
    """Not by the value of the parent, which a polish may have reached without the symmetry."""
    scale, parent = typical_scale(3, 40), _ends(seed, 3, 40)[-1]

    def values(candidate: Candidate) -> list[float]:
        rng = np.random.default_rng(seed)
        descents = SymmetricDescents(rng, 3, 40, scale, 1e4 / scale, 1e-9, Deadline())
        return [end.value for end in descents.perturb(candidate, 9.0, max_descents=24)]

    ends = values(parent)
    assert ends[0] < parent.value
    assert values(replace(parent, value=0.0)) == ends


def test_famous_codes_are_found() -> None:
    """The 24-cell, and Schlaefli's 27 points in six dimensions."""
    for d, K, cosine in ((4, 24, 0.5), (6, 27, 0.25)):
        least = min(_ends(seed, d, K)[0].value for seed in range(12))
        assert least == pytest.approx(cosine, abs=1e-4)


def test_a_deadline_ends_them_with_one_code() -> None:
    assert 1 <= len(_ends(0, 4, 24, Deadline(0.0))) <= 2
