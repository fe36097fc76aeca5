"""Every construction with up to 10000 rows, built and verified: nothing is taken on trust."""

import re
from typing import Any

import pytest

from gnc_cli.constructions.construction import Construction
from gnc_cli.constructions.registry import families, find, in_dimension, names, single_codes
from tests.constructions.checks import check

_MOST_ROWS = 10_000
_SAMPLED = "paley"
"""A family with a member in every few dimensions: one in `_EVERY` beyond `_SMALL` dimensions."""
_SMALL, _EVERY = 150, 60


def _constructions() -> list[Construction]:
    kept: list[Construction] = []
    passed = 0
    for code in (c for d in range(2, 2501) for c in in_dimension(d) if c.K <= _MOST_ROWS):
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
        check(code)


def test_the_literature_is_all_here() -> None:
    exact = {
        (3, 12),
        (3, 24),
        (4, 10),
        (4, 24),
        (4, 120),
        (5, 16),
        (6, 27),
        (7, 56),
        (8, 240),
        (10, 40),
        (16, 288),
        (20, 56),
        (21, 50),
        (21, 77),
        (21, 112),
        (21, 162),
        (22, 100),
        (22, 275),
        (22, 891),
        (23, 552),
        (23, 4600),
        (52, 325),
        (105, 756),
    }
    assert exact <= {(code.d, code.K) for code in CODES}
    large = {
        "leech": (24, 196560, "1/2"),
        "kerdock-8": (256, 66048, "1/16"),
        "kerdock-10": (1024, 1050624, "1/32"),
        "gold-9": (512, 525312, "1/16"),
        "bch3-7": (128, 4194304, "1/4"),
        "bch3-9": (512, 268435456, "1/8"),
        "bch3-9-shortened-8": (504, 2**20, "1/9"),
        "delsarte-goethals-6": (64, 131072, "1/4"),
        "delsarte-goethals-8": (256, 8388608, "1/8"),
        "bch-64-18": (64, 262144, "5/16"),
    }
    for name, expected in large.items():
        code = find(name)
        assert code is not None and (code.d, code.K, code.cosine.text) == expected, name


def test_names_are_unique_and_found_again() -> None:
    codes = [*single_codes(), *CODES]
    by_name = {code.name: code for code in codes}
    assert len(by_name) >= len(CODES)
    for name, code in by_name.items():
        assert find(name) == code
    assert len(names()) == len(set(names())) == len([*single_codes()]) + len(families())


@pytest.mark.parametrize(
    "name",
    [
        "nothing",
        "",
        "simplex-1",
        "simplex-0",
        "orthoplex-1",
        "polygon-2",
        "simplex",
        "simplex-",
        "simplex-03",
        "simplex--3",
        "simplex-3.5",
        "Simplex-3",
        "hexagon-6",
        "simplex-3 ",
        "polygon-1e3",
        "gold-8",
        "bch-64-11",
        "isotropic-6",
        "isotropic-02",
        "mub-12",
        "delsarte-goethals-6-1",
        "paley-21",
        "paley-013",
        "paley-",
        "net-6-3",
        "net-5-7",
        "net-11-10",
        "net-03-3",
        "net-3-2",
        "net-97-88",
        "quadratic-8",
        "quadratic-07",
        "cubic-9",
        "cubic-3",
        "quartic-5",
        "odd-cubic-",
        "quadric-2-4",
        "quadric-3-5-extended",
        "quadric-3-7",
        "unitary-4",
        "unitary-67",
        "unitary-03",
        "gold-9-shortened-0",
        "gold-9-punctured-17",
        "gold-9-shortened-10",  # no more rows than an orthoplex
        "bch3-5-punctured-8",  # rows would repeat
        "bch-64-18-punctured-1",
        "gold-4-shortened-1",
        "gold-9-doubled-1",
    ],
)
def test_names_that_are_none(name: str) -> None:
    assert find(name) is None


@pytest.mark.parametrize(
    ("d", "found"),
    [
        (
            7,
            {
                "simplex-7",
                "orthoplex-7",
                "equiangular-28",
                "e7-roots",
                "unitary-3",
                "paley-13",
                "odd-cubic-7",
                "odd-quintic-7",
                "gold-3-shortened-1",
                "gold-3-punctured-1",
            },
        ),
        (254, {"quadratic-127", "cubic-127"}),
        (131, {"odd-cubic-131"}),
        (162, {"quadratic-81"}),
        (3721 - 61, {"unitary-61-section"}),
        (3721 - 60, {"unitary-61"}),
        (72, {"net-8-9", "net-9-8"}),
        (500, {"quadric-5-3"}),
        (105, {"isotropic-5"}),
        (64, {"kerdock-6", "delsarte-goethals-6", "bch-64-18", "bch-64-24"}),
    ],
)
def test_what_a_dimension_has(d: int, found: set[str]) -> None:
    here = [code.name for code in in_dimension(d)]
    assert found <= set(here) and len(here) == len(set(here))
    # A BCH code with a rival among the others goes by name only.
    assert "bch-64-10" not in here and find("bch-64-10") is not None


def test_formulas_of_the_families_hold() -> None:
    for family, name, values in (
        ("simplex-d", "simplex-8", {"d": 8}),
        ("orthoplex-d", "orthoplex-8", {"d": 8}),
        ("polygon-K", "polygon-7", {"K": 7}),
        ("isotropic-q", "isotropic-5", {"q": 5}),
        ("kerdock-m", "kerdock-6", {"m": 6}),
        ("bch3-m", "bch3-7", {"m": 7}),
        ("quadratic-q", "quadratic-9", {"q": 9}),
        ("unitary-q", "unitary-5", {"q": 5}),
        ("unitary-q-section", "unitary-5-section", {"q": 5}),
    ):
        texts = next(f for f in families() if f.name == family)
        code = find(name)
        assert code is not None
        for formula, value in ((texts.d, code.d), (texts.K, code.K)):
            product = re.sub(r"(?<=[\w)]) ?(?=\()|(?<=[\w)]) (?=\w)", "*", formula)
            assert eval(product.replace("^", "**"), dict(values)) == value, (name, formula)
