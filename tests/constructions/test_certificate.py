"""Certificates of streamed codes: brackets agree with those from all pairs."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.certify import certify_code
from gnc_cli.constructions.certificate import certified_margin, margin_lower_end
from gnc_cli.constructions.construction import Cosine
from tests.constructions.checks import named


@pytest.mark.parametrize("name", ["24-cell", "d5-roots", "e8-roots"])
@pytest.mark.parametrize("block", [1 << 23, 40])
@pytest.mark.parametrize("sample", [1 << 26, 30])
def test_the_bracket_closes_on_root_systems(
    name: str, block: int, sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "gnc_cli.constructions.certificate"
    monkeypatch.setattr(f"{module}._BLOCK_ENTRIES", block)
    monkeypatch.setattr(f"{module}._SAMPLE", sample)
    rows = named(name).build()
    streamed = certified_margin(rows, Cosine("1/2", 0.5))
    whole = certify_code(np.asarray(rows), tolerance=1e-7).rho_one_vs_rest
    assert streamed.lower == 0.5 and streamed.upper == pytest.approx(whole.upper, abs=1e-12)


@pytest.mark.parametrize("limits", [{"_NEAREST": 2}, {"_SAMPLE": 20, "_WHOLE": 10}])
def test_fewer_rows_only_widen_it(limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(f"gnc_cli.constructions.certificate.{name}", limit)
    streamed = certified_margin(named("d5-roots").build(), Cosine("1/2", 0.5))
    assert streamed.lower == 0.5 and streamed.upper > 0.5 + 1e-3


def test_a_wrong_cosine_is_refuted() -> None:
    with pytest.raises(ValueError, match="refute a largest cosine of 0"):
        certified_margin(named("e8-roots").build(), Cosine("0", 0.0))


@given(st.fractions(-1, 1, max_denominator=10**6))
def test_the_lower_end_is_never_above_the_truth(value: Fraction) -> None:
    end = margin_lower_end(Cosine.of(value))
    assert Fraction(end) <= 1 - value
    assert float(1 - value) - end <= 1e-15


def test_irrational_cosines_lose_a_few_ulp() -> None:
    end = margin_lower_end(Cosine.root(Fraction(1, 512)))
    assert 0.0 < 1.0 - 1.0 / sqrt(512.0) - end < 1e-14
