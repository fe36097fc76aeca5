"""Cross sections: the figures stated before building are those of the rows."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.registry import single_codes
from gnc_cli.codes.constructions.relatives import cross_sections

SMALL = [
    section
    for d in sorted({code.d - 1 for code in single_codes() if code.K <= 1000})
    for section in cross_sections(d)
    if section.K > 1
]


def test_there_are_some() -> None:
    # Gosset's chain: each figure's vertices next to one vertex are the next figure.
    figures = {(s.d, s.K, s.cosine.text) for s in SMALL}
    assert {(7, 56, "1/3"), (6, 27, "1/4"), (5, 16, "1/5"), (4, 10, "1/6")} <= figures


@pytest.mark.parametrize("section", SMALL, ids=lambda s: f"{s.origin} d={s.d}")
def test_figures_are_those_of_the_rows(section: Construction) -> None:
    rows = section.build()
    assert rows.shape == (section.K, section.d)
    verified = rows.verify()
    assert verified.K == section.K and verified.distinct
    assert verified.max_cosine.value <= section.cosine.value + 1e-15
    W = np.asarray(rows)
    products = W @ W.T
    np.fill_diagonal(products, -1.0)
    assert products.max() == pytest.approx(verified.max_cosine.value, abs=1e-13)
