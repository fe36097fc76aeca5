"""Every construction with up to 10000 rows, built and verified: nothing is taken on trust."""

from typing import Any

import pytest

from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.registry import families, find, in_dimension, names, single_codes

_MOST_ROWS = 10_000
_SAMPLED = ("mub", "paley")
"""Families with a member in every few dimensions: one in `_EVERY` beyond `_SMALL` dimensions."""
_SMALL, _EVERY = 200, 25


def _constructions() -> list[Construction]:
    found = [c for d in range(2, 2501) for c in in_dimension(d) if c.K <= _MOST_ROWS]
    kept: list[Construction] = []
    passed = 0
    for code in found:
        if code.name.split("-")[0] in ("simplex", "orthoplex") and code.d > 20:
            continue  # theorem 3.3, tested for itself
        if code.name.startswith(_SAMPLED) and code.d > _SMALL:
            passed += 1
            if passed % _EVERY:
                continue
        kept.append(code)
    return kept


CODES = _constructions()
_LARGE = ("isotropic-8", "isotropic-9")
"""Seconds each; isotropic-7 is made the same way."""


def _batches() -> list[Any]:
    """Small ones together: a test each would cost more than the work."""
    quick, size = [code for code in CODES if code.name not in _LARGE], 30
    batches = [quick[i : i + size] for i in range(0, len(quick), size)]
    large = [code for code in CODES if code.name in _LARGE]
    return [*batches, *(pytest.param([code], marks=pytest.mark.slow) for code in large)]


@pytest.mark.parametrize("batch", _batches(), ids=lambda b: f"d={b[0].d}..{b[-1].d}")
def test_every_construction_holds(batch: list[Construction]) -> None:
    for code in batch:
        rows = code.build()
        verified = rows.verify()
        assert rows.shape == (code.K, code.d), code.name
        assert verified.K == code.K and verified.distinct, code.name
        assert verified.max_cosine.value == pytest.approx(code.cosine.value, abs=1e-14), code.name
        if code.distribution is not None and verified.distribution is not None:
            stated = [(text, code.K * n) for text, n in code.distribution]
            assert [(c.text, 2 * n) for c, n in verified.distribution] == stated, code.name


def test_the_literature_is_all_here() -> None:
    exact = {
        (3, 12), (3, 24), (4, 10), (4, 24), (4, 120), (5, 16), (6, 27), (7, 56), (8, 240),
        (10, 40), (16, 288), (20, 56), (21, 50), (21, 77), (21, 112), (21, 162), (22, 100),
        (22, 275), (22, 891), (23, 552), (23, 4600), (52, 325), (105, 756),
    }  # fmt: skip
    assert exact <= {(code.d, code.K) for code in CODES}
    large = {
        "leech": (24, 196560), "kerdock-8": (256, 66048), "kerdock-10": (1024, 1050624),
        "gold-9": (512, 525312), "bch3-7": (128, 4194304), "bch3-9": (512, 268435456),
        "delsarte-goethals-6": (64, 131072), "delsarte-goethals-8": (256, 8388608),
        "bch-64-18": (64, 262144),
        "mub-512": (512, 2048),
    }  # fmt: skip
    for name, size in large.items():
        code = find(name)
        assert code is not None and (code.d, code.K) == size, name


def test_names_are_unique_and_found_again() -> None:
    codes = [*single_codes(), *CODES]
    by_name = {code.name: code for code in codes}
    assert len(by_name) >= len(CODES)
    for name, code in by_name.items():
        again = find(name)
        assert again is not None and (again.d, again.K) == (code.d, code.K), name
    assert find("nothing") is None and find("") is None and find("gold-8") is None
    assert len(names()) == len(set(names())) == len([*single_codes()]) + len([*families()])
