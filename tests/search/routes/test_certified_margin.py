"""Margins of streamed codes: brackets agree with those from all pairs."""

import numpy as np
import pytest

from gnc_cli.codes.certify import certify_code
from gnc_cli.constructions.construction import Cosine
from gnc_cli.search.routes.construction import certified_margin
from tests.constructions.checks import named


@pytest.mark.parametrize("name", ["24-cell", "d5-roots", "e8-roots"])
@pytest.mark.parametrize("block", [1 << 23, 40])
@pytest.mark.parametrize("sample", [1 << 26, 30])
def test_the_bracket_closes_on_root_systems(
    name: str, block: int, sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "gnc_cli.search.routes.construction"
    monkeypatch.setattr(f"{module}._BLOCK_ENTRIES", block)
    monkeypatch.setattr(f"{module}._HULL_SAMPLE", sample)
    rows = named(name).build()
    streamed = certified_margin(rows, Cosine("1/2", 0.5))
    whole = certify_code(np.asarray(rows), tolerance=1e-7).rho_one_vs_rest
    assert streamed.lower == 0.5 and streamed.upper == pytest.approx(whole.upper, abs=1e-12)


@pytest.mark.parametrize(
    "limits", [{"_MAX_HULL_ROWS": 2}, {"_HULL_SAMPLE": 20, "_MAX_HULL_ENTRIES": 10}]
)
def test_fewer_rows_only_widen_it(limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(f"gnc_cli.search.routes.construction.{name}", limit)
    streamed = certified_margin(named("d5-roots").build(), Cosine("1/2", 0.5))
    assert streamed.lower == 0.5 and streamed.upper > 0.5 + 1e-3


def test_a_wrong_cosine_is_refuted() -> None:
    with pytest.raises(ValueError, match="refute a largest cosine of 0"):
        certified_margin(named("e8-roots").build(), Cosine("0", 0.0))
