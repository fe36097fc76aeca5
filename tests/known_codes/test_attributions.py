"""Who found a code, and who proved it best: two facts, each with its own source."""

import numpy as np
import pytest

from gnc_cli import bounds, compare, list_constructions, measure, solve
from gnc_cli.comparison.result import FileRow
from gnc_cli.constructions.families.theorem_3_3 import simplex_vertices
from gnc_cli.constructions.registry import families, in_dimension, single_codes
from gnc_cli.known_codes.best import best
from gnc_cli.known_codes.citation import standing
from gnc_cli.known_codes.recognition import join_of_simplices
from gnc_cli.known_codes.table import our_copy, stored_cardinalities

EXACT = "H. Cohn, D. de Laat, N. Leijenhorst, Optimality of spherical codes via exact semidefinite"


@pytest.mark.parametrize(
    ("d", "K", "finder", "provers"),
    [
        (8, 240, "T. Gosset", ("A. M. Odlyzko, N. J. A. Sloane", "V. I. Levenshtein")),
        (6, 27, "L. Schläfli", ("V. I. Levenshtein", "H. Cohn, A. Kumar")),
        (23, 552, "J.-M. Goethals, J. J. Seidel", ("V. I. Levenshtein",)),
        (16, 288, "A. W. Nordstrom, J. P. Robinson", (EXACT,)),
        (20, 56, "A. Gewirtz", (EXACT,)),
        (21, 50, "A. J. Hoffman, R. R. Singleton", (EXACT,)),
        (21, 77, "E. Witt", (EXACT,)),
        (64, 4224, "A. R. Calderbank", (EXACT,)),
        (256, 66048, "A. R. Calderbank", (EXACT,)),
        (1024, 1050624, "A. R. Calderbank", (EXACT,)),
        (4, 24, "L. Schläfli", ("D. de Laat, N. Leijenhorst, W. H. H. de Muinck Keizer",)),
        (4, 120, "L. Schläfli", ("K. Böröczky",)),
        (3, 24, "J. Kepler", ("R. M. Robinson",)),
        (24, 196560, "J. Leech", ("A. M. Odlyzko", "V. I. Levenshtein")),
    ],
)
def test_the_code_and_the_proof_have_their_own_sources(
    d: int, K: int, finder: str, provers: tuple[str, ...]
) -> None:
    known = best(d, K)
    assert known is not None and known.source.startswith(finder) and known.proven
    assert known.optimality is not None
    for prover, part in zip(provers, known.optimality.split("; "), strict=False):
        assert part.startswith(prover)
    assert known.source not in known.optimality


def test_a_proof_is_cited_just_where_there_is_one() -> None:
    for entry in our_copy().select():
        assert bool(entry.optimality) == (entry.proven or (entry.d, entry.K) == (3, 15)), entry
    for code in (*single_codes(), *(c for d in range(2, 40) for c in in_dimension(d))):
        assert code.proven == bool(code.optimality) and code.reference, code
    assert any(family.name == "isotropic-q" for family in families())
    part = best(8, 239)  # of a code that is optimal with one point more
    assert part is not None and not part.proven and part.optimality is None


def test_from_above_cites_the_proof_and_not_the_object() -> None:
    for d, K in ((20, 56), (21, 50), (21, 77), (16, 288), (64, 4224), (256, 66048)):
        result = bounds(d, K)
        (row,) = [r for r in result.rows if r.name == "proved-optimum"]
        assert "Cohn, de Laat" in row.source or EXACT in row.source
        assert result.best[0].exact and result.best[0].upper_name == "proved-optimum"
    (row,) = [r for r in bounds(4, 24).rows if r.name == "proved-optimum"]
    assert "de Muinck Keizer" in row.source and "2404.18794" in row.source


@pytest.mark.parametrize("quantity", ["one-vs-rest", "one-vs-one"])
def test_simplex_and_orthoplex_are_rankins_and_polygons_elementary(quantity: str) -> None:
    for d, K, words in ((9, 10, "Rankin 1955"), (9, 15, "Rankin 1955"), (2, 17, "elementary")):
        sources = [
            row.source
            for row in bounds(d, K, quantity=quantity).rows  # type: ignore[arg-type]
            if row.name == "theorem-3.3" and not row.exists
        ]
        assert len(sources) == 1 and sources[0].startswith(words)
        known = best(d, K)
        assert known is not None and (known.optimality or "").startswith(words)
        assert known.source.startswith("theorem 3.3: ")


def test_alphaevolve_has_the_593_points() -> None:
    entry = our_copy().entries[11, 593]
    assert "Novikov" in entry.source and "AlphaEvolve" in entry.source and entry.date == "2025"


def test_eight_points_have_a_second_proof() -> None:
    entry = our_copy().entries[3, 8]
    assert "arXiv:2609.22077 (in Lean)" in (entry.optimality or "")
    (row,) = [b for b in stored_cardinalities() if (b.d, b.K) == (3, 8)]
    assert "arXiv:2609.22077 (in Lean)" in row.source


def test_every_command_prints_both() -> None:
    e8 = solve(d=8, K=240)
    assert e8.best_known is not None and e8.best_known.source.startswith("T. Gosset")
    assert "Levenshtein" in (e8.best_known.optimality or "")
    words = " ".join(str(e8).split())
    assert "Gosset 1900, proved optimal (Odlyzko and Sloane 1979, Levenshtein 1979)" in words
    (row,) = compare(e8.weights).rows
    assert isinstance(row, FileRow) and str(row.source).startswith("T. Gosset")
    assert str(row.optimality).startswith("A. M. Odlyzko, N. J. A. Sloane")
    assert "Gosset 1900" in str(bounds(8, 240))
    listed = str(list_constructions())
    assert "proved optimal: Levenshtein 1992" in " ".join(listed.split())


def test_whether_a_code_is_optimal_in_words() -> None:
    assert standing(None, None) == "optimality not settled"
    assert standing(False, None) == "not proved optimal"
    assert standing(True, "elementary") == "proved optimal (elementary)"


# Orthogonal simplices


def joined(*sizes: int) -> np.ndarray:
    """Regular simplices of these numbers of points in orthogonal subspaces; 1 is a unit vector."""
    blocks = [simplex_vertices(n) if n > 1 else np.ones((1, 1)) for n in sizes]
    W = np.zeros((sum(sizes), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        W[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return W


@pytest.mark.parametrize(
    ("sizes", "name"),
    [
        ((3, 4), "join of simplices 3 + 4 (arXiv 2603.20587)"),
        ((2, 2, 5), "join of simplices 2 + 2 + 5 (arXiv 2603.20587)"),
        ((1, 4, 4), "join of simplices 1 + 4 + 4 (arXiv 2603.20587)"),
        ((2, 2, 2), "orthoplex-3"),
        ((1, 2, 2), "orthoplex-3, 5 of its 6 points"),
    ],
)
def test_orthogonal_simplices_have_a_name(sizes: tuple[int, ...], name: str) -> None:
    rng = np.random.default_rng(0)
    W = joined(*sizes)
    turned = rng.permutation(W) @ np.linalg.qr(rng.standard_normal((W.shape[1],) * 2))[0]
    (row,) = compare(turned).rows
    assert row.congruent_to == name and row.status is not None and row.status.value == "matches"
    assert join_of_simplices(turned + 0.1, 1e-6) is None


def test_a_path_of_obtuse_angles_is_no_join() -> None:
    """Four points in a cycle, neighbours at -1/2: every row has the products of a triangle."""
    gram = np.eye(5)
    for i in range(4):
        gram[i, (i + 1) % 4] = gram[(i + 1) % 4, i] = -0.5
    values, vectors = np.linalg.eigh(gram)
    W = (vectors * np.sqrt(values.clip(0.0)))[:, values > 1e-9]
    assert W.shape == (5, 4) and join_of_simplices(np.vstack([W, -W[4:]]), 1e-6) is None


def test_a_trained_head_near_orthogonal_simplices_is_named() -> None:
    rng = np.random.default_rng(0)
    W = joined(3, 4) + 0.005 * rng.standard_normal((7, 5))
    (note,) = measure(weights=3.0 * W).notes
    assert note.endswith("within 0.05 of join of simplices 3 + 4 (arXiv 2603.20587)")
    assert measure(weights=rng.standard_normal((7, 5))).notes == ()
