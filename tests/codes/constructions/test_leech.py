"""The Leech lattice's shortest vectors by congruences and a sample of products; its sections."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.golay import golay_code
from gnc_cli.codes.constructions.leech import CODES, minimal_vectors
from tests.codes.constructions.holds import assert_holds

LEECH, KISSING, SECOND = CODES


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return minimal_vectors()


def test_size_norm_and_membership(vectors: np.ndarray) -> None:
    assert vectors.shape == (LEECH.K, LEECH.d) and vectors.dtype == np.int8
    x = vectors.astype(np.int32)
    assert ((x * x).sum(1) == 32).all()
    # x belongs to the lattice when all its entries have one parity m, their sum is 4 m modulo 8,
    # and the places where (x - m) / 2 is odd are a word of the Golay code.
    m = x[:, :1] % 2
    assert (x % 2 == m).all() and ((x.sum(1) - 4 * m[:, 0]) % 8 == 0).all()
    place = 1 << np.arange(24)
    assert np.isin((x - m) // 2 % 2 @ place, golay_code() @ place).all()


def test_distinct_and_closed_under_negation(vectors: np.ndarray) -> None:
    # Two numbers in base 9 name a vector; x and -x have names that add up to the largest.
    digits = vectors.reshape(-1, 2, 12).astype(np.int64) + 4
    names = [complex(a, b) for a, b in (digits @ 9 ** np.arange(12)).tolist()]
    assert len(set(names)) == LEECH.K
    assert {complex(9**12 - 1, 9**12 - 1) - name for name in names} == set(names)


def test_products_of_some_rows_with_all(vectors: np.ndarray) -> None:
    sample = np.random.default_rng(0).choice(len(vectors), 40, replace=False)
    products = vectors[sample].astype(np.float32) @ vectors.T.astype(np.float32)
    assert LEECH.distribution is not None
    for text, neighbours in LEECH.distribution:
        top, _, bottom = text.partition("/")
        assert ((products == 32 * int(top) / int(bottom or 1)).sum(1) == neighbours).all()
    assert sum(neighbours for _, neighbours in LEECH.distribution) == LEECH.K - 1


def test_rows_are_made_in_parts(vectors: np.ndarray) -> None:
    part = LEECH.build().unit(100_000, 100_003)
    np.testing.assert_allclose(part, vectors[100_000:100_003] / np.sqrt(32), atol=1e-16)


@pytest.mark.parametrize("code", [KISSING, SECOND], ids=lambda code: code.name)
def test_kissing_configurations(code: Construction) -> None:
    assert_holds(code)


def test_each_is_the_neighbourhood_of_a_point_in_the_one_before() -> None:
    assert LEECH.distribution and LEECH.distribution[0] == ("1/2", KISSING.K)
    assert KISSING.distribution and KISSING.distribution[0] == ("1/3", SECOND.K)
