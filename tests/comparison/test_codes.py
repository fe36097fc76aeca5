"""Codes compared with the best known ones: known answers, second witnesses, proofs."""

import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli import compare, measure, solve
from gnc_cli.codes.certify import certify_code
from gnc_cli.codes.exact_cosine import ExactRows, verify_below
from gnc_cli.comparison import codes as module
from gnc_cli.comparison.codes import count_contacts, rho_bracket
from gnc_cli.comparison.result import FileRow, ListedRow
from gnc_cli.comparison.view import view
from gnc_cli.constructions.families.theorem_3_3 import closed_form
from gnc_cli.geometry.gram import row_maxima
from gnc_cli.geometry.sphere import chord, normalise, random_points
from gnc_cli.io.code import CodeFile
from gnc_cli.io.codefile import write_code
from gnc_cli.known_codes import best as known
from gnc_cli.known_codes.best import BestKnown, read_table
from gnc_cli.known_codes.stored import stored_codes
from gnc_cli.known_codes.verdict import ComparisonStatus
from gnc_cli.runtime.deadline import Deadline
from tests.comparison.samples import built, only, turned, two_bases
from tests.problems import WITH_POINTS, Problem


@pytest.mark.parametrize(
    ("name", "contacts"),
    [
        ("icosahedron", 30),
        ("snub-cube", 60),
        ("24-cell", 96),
        ("600-cell", 720),
        ("hemicube", 80),
        ("schlaefli", 216),
        ("e8-roots", 6720),
        ("petersen", 30),
    ],
)
def test_named_codes_match_and_are_recognised(
    name: str, contacts: int, rng: np.random.Generator
) -> None:
    row = only(compare(turned(built(name), rng)))
    assert row.status is ComparisonStatus.MATCHES and row.passed
    assert row.congruent_to == name
    assert row.gap is not None and abs(row.gap) < 1e-14
    assert row.rattlers is not None and row.rattlers.one_vs_one == row.rattlers.one_vs_rest == 0
    # A second witness for the contacts: the Gram matrix itself.
    W = built(name)
    gram = (W @ W.T)[np.triu_indices(len(W), 1)]
    assert row.contacts == np.count_nonzero(gram > gram.max() - 1e-9) == contacts
    assert row.max_cosine == pytest.approx(gram.max(), abs=1e-15)


@pytest.mark.parametrize(
    ("pair", "name"),
    [
        ((3, 4), "simplex-3"),
        ((5, 4), "simplex-3"),
        ((4, 8), "orthoplex-4"),
        ((2, 4), "polygon-4"),
        ((4, 7), "orthoplex-4, 7 of its 8 points"),
        ((2, 7), "polygon-7"),
        ((3, 2), None),
    ],
)
def test_theorem_3_3_is_known(
    pair: tuple[int, int], name: str | None, rng: np.random.Generator
) -> None:
    exact = closed_form(*pair)
    assert exact is not None
    row = only(compare(turned(exact.weights, rng)))
    assert row.status is ComparisonStatus.MATCHES and row.proven
    assert row.source == f"theorem 3.3: {exact.name}"
    assert row.congruent_to == name


@settings(max_examples=25)
@given(st.integers(2, 6), st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_the_cosine_is_that_of_the_gram_matrix(d: int, K: int, seed: int) -> None:
    W = random_points(np.random.default_rng(seed), K, d)
    row = only(compare(W))
    gram = W @ W.T
    np.fill_diagonal(gram, -2.0)
    assert row.max_cosine == pytest.approx(gram.max(), abs=1e-14)
    assert (row.d, row.K) == (d, K)
    assert row.gap is None or (row.gap > 0) == (row.status is ComparisonStatus.WORSE)
    angle = math.degrees(math.acos(min(1.0, float(gram.max()))))
    assert row.min_angle_deg == pytest.approx(angle, abs=1e-6)


def test_worse_codes() -> None:
    W = built("icosahedron")
    moved = W + 1e-5 * np.random.default_rng(0).standard_normal(W.shape)
    row = only(compare(moved))
    assert row.status is ComparisonStatus.WORSE and row.passed is False
    assert row.gap is not None and 1e-6 < row.gap < 1e-4
    assert "gnc solve --d 3 --K 12" in row.advice
    tolerated = only(compare(moved, tolerance=1e-3))
    assert tolerated.passed and tolerated.status is ComparisonStatus.WORSE


def test_rattlers_of_both_kinds() -> None:
    # The icosahedron without a vertex: its five neighbours keep touching, none is free.
    row = only(compare(built("icosahedron")[1:]))
    assert row.rattlers is not None and row.rattlers.one_vs_one == 0
    assert row.contacts == 25 and row.status is ComparisonStatus.MATCHES
    assert row.congruent_to == "icosahedron, first 11 of 12 rows"
    # A point far from a tight cluster is free.
    cluster = np.array([[0.1, 0.0, 1.0], [-0.1, 0.0, 1.0], [0.0, 0.0, -1.0]])
    free = only(compare(cluster)).rattlers
    assert free is not None and free.one_vs_one == 1


def test_lengths_of_any_size_and_equal_rows() -> None:
    lengths = np.array([[1e-300], [1e300], [1.0], [1e-5]])
    row = only(compare(np.concatenate([np.eye(2), -np.eye(2)]) * lengths))
    assert row.status is ComparisonStatus.MATCHES and row.congruent_to == "polygon-4"
    twice = only(compare([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    assert twice.max_cosine == 1.0 and twice.status is ComparisonStatus.WORSE
    assert twice.min_angle_deg == 0.0
    assert twice.advice.startswith("rows 0 and 1, counted from 0, are equal")
    near = only(compare([[1.0, 0.0], [1.0, 1e-9], [0.0, 1.0]]))
    assert near.max_cosine == 1.0 and "equal" not in near.advice


def test_a_tie_says_which_digits_are_few(tmp_path: Path) -> None:
    """Those of the file, or those of the table's value."""
    ((_, W),) = stored_codes(3, 121)
    np.savetxt(tmp_path / "coarse.txt", W, fmt="%.7f")
    row = only(compare(tmp_path / "coarse.txt"))
    assert row.gap is not None and row.gap > 1e-9 and row.status is ComparisonStatus.MATCHES
    assert "to the precision of the file" in row.advice
    (tmp_path / "table.txt").write_text("3,121,0.944678\n")
    row = only(compare(W, table=tmp_path / "table.txt"))
    assert row.gap is not None and row.gap > 1e-9 and row.status is ComparisonStatus.MATCHES
    assert "the rounding of its value" in row.advice


def test_stored_codes_are_recognised(rng: np.random.Generator) -> None:
    for K, name in (
        (13, "best known code for d = 3, K = 13"),
        (19, "best known code for d = 3, K = 19, rattlers aside"),
    ):
        ((_, W),) = stored_codes(3, K)
        row = only(compare(turned(W, rng)))
        assert row.status is ComparisonStatus.MATCHES and row.congruent_to == name
        # Moving a rattler changes nothing; moving anything else does.
        free = np.argsort((W @ W.T - 2.0 * np.eye(K)).max(axis=1))[0]
        W[free] += 1e-3
        assert (only(compare(W)).congruent_to == name) == (K == 19)


@pytest.mark.parametrize(
    ("d", "K", "plain", "other", "polynomial", "orbits"),
    [
        (3, 15, "best known code", "threefold", "13x^5 - x^4 + 6x^3 + 2x^2 - 3x - 1", (15, 5)),
        (4, 12, "code found by gnc", "two-orbits", "4x - 1", (1, 2)),
        (
            4,
            16,
            "code found by gnc",
            "sixfold",
            "256x^10 + 1024x^9 + 256x^8 - 1152x^7 + 160x^6 + 176x^5 - 144x^4 + 36x^3 + 37x^2 "
            "- 6x - 3",
            (11, 5),
        ),
    ],
)
def test_optima_that_are_not_congruent_are_told_apart(
    d: int,
    K: int,
    plain: str,
    other: str,
    polynomial: str,
    orbits: tuple[int, int],
    rng: np.random.Generator,
) -> None:
    """Two codes of one algebraic cosine, with other symmetries."""
    codes = dict(stored_codes(d, K))
    plain = f"{plain} for d = {d}, K = {K}"
    assert list(codes) == [plain, f"{plain} ({other})"]
    rows = [only(compare(turned(W, rng), digits=150, describe=True)) for W in codes.values()]
    assert [row.congruent_to for row in rows] == list(codes)
    for row, number in zip(rows, orbits, strict=True):
        assert row.description is not None and row.description.symmetry is not None
        assert len(row.description.symmetry.orbits) == number
        assert row.digits is not None and row.digits.polynomial is not None
        assert row.digits.polynomial.text == polynomial and row.digits.polynomial.proved
    known = solve(d, K, construction="known")
    assert only(compare(known)).congruent_to == plain


def test_an_improvement_is_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Our copy holds the snub cube as proved optimal: a poorer table makes no news of it.
    table = tmp_path / "old.txt"
    table.write_text("3,24,0.7231\n")
    row = only(compare(built("snub-cube"), table=table))
    assert row.status is ComparisonStatus.MATCHES and row.proven
    assert "better than the 0.7231 in the table of" in str(row.best_known_table)
    monkeypatch.setattr(known, "our_copy", lambda: read_table(table))
    monkeypatch.setattr(known, "constructed", lambda d, K: None)
    row = only(compare(built("snub-cube"), table=table))
    assert row.status is ComparisonStatus.IMPROVES and row.passed
    assert (row.improves_on or "").startswith("the table of 20") and "sha256" in row.advice
    assert row.proved_cosine == "0.723078468333509" and row.proved_cosine in row.advice


def test_as_good_as_a_part_of_a_larger_code_is_no_entry(nothing_solved: None) -> None:
    W = two_bases()
    row = only(compare(W))
    assert row.status is ComparisonStatus.NO_ENTRY and row.source is not None
    # As good as a part of the 24-cell, which comes first of equals.
    assert row.source.startswith("first 16 points of (4, 24): ")
    assert row.reference == "table" and row.passed and not row.on_record
    assert f"equal to that of the best known, {row.source}" in row.advice
    # Neither it nor something a little worse has an entry: the gate is monotone.
    moved = W + 1e-9 * np.random.default_rng(0).standard_normal(W.shape)
    worse = only(compare(moved, tolerance=1e-6, require_entry=True))
    assert worse.status is ComparisonStatus.WORSE and worse.passed is False
    assert only(compare(W, require_entry=True)).passed is False


@pytest.fixture
def worse_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if 0.7231 were all that is known of 24 points in three dimensions."""
    record = BestKnown(
        max_cosine=0.7231,
        figure="0.7231",
        source="a test",
        proven=False,
        kind="table",
        d=3,
        K=24,
        exact=Fraction("0.7231"),
        rounding=1e-12,
    )
    monkeypatch.setattr(module, "best", lambda *_: record)


def snub_cube(places: int, tail: str = "") -> list[list[str]]:
    return [[f"{x:.{places}f}{tail}" for x in row] for row in built("snub-cube").tolist()]


def improved(path: Path, words: list[list[str]], delimiter: str = " ") -> FileRow:
    path.write_text("# by hand\n" + "\n".join(delimiter.join(point) for point in words))
    row = only(compare(path))
    assert row.status is ComparisonStatus.IMPROVES
    return row


@pytest.mark.parametrize(
    ("name", "delimiter", "tail"), [("a.txt", " ", "123"), ("a.csv", ", ", "e0")]
)
@pytest.mark.usefixtures("worse_record")
def test_the_very_decimals_of_a_text_are_proved(
    tmp_path: Path, name: str, delimiter: str, tail: str
) -> None:
    words = snub_cube(18, tail)
    row = improved(tmp_path / name, words, delimiter)
    proved = Fraction(row.proved_cosine or "")
    points = ExactRows.from_texts(words)
    assert verify_below(points, proved)
    assert verify_below(points, proved - Fraction(1, 10**15)) is False
    assert "float64" not in row.advice


@pytest.mark.parametrize("problem", WITH_POINTS, ids=str)
def test_counts_and_bounds_of_large_codes(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SIDE", 7)
    W = problem.points()  # type: ignore[misc]
    top, _ = row_maxima(W)
    found = certify_code(W, tolerance=1e-7)
    assert found.contact_pairs is not None
    contacts = count_contacts(W, float(chord(top.max())), 1e-7, Deadline())
    assert contacts == len(found.contact_pairs)
    rho = rho_bracket(W, top, Deadline())
    assert rho.lower <= found.rho_one_vs_rest.upper + 1e-12
    assert rho.upper >= found.rho_one_vs_rest.lower - 1e-12
    wide = rho_bracket(W, top, Deadline(0.0))
    assert wide.lower <= rho.lower and rho.upper <= wide.upper


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_coarser_copy_of_a_known_code_is_equal_to_the_precision_of_the_file(
    dtype: str, tmp_path: Path
) -> None:
    rows = built("snub-cube").astype(dtype)
    np.save(tmp_path / "copy.npy", rows)
    for copy in (tmp_path / "copy.npy", rows):
        row = only(compare(copy))
        assert row.gap is not None and row.gap > 1e-9 and row.passed
        assert row.status is ComparisonStatus.MATCHES and "precision of the file" in row.advice
        assert row.congruent_to == "snub-cube" and row.contacts == 60
    assert not only(compare(rows, tolerance=1e-10)).passed
    moved = rows.astype(np.float64)
    moved[0] += 0.01
    assert only(compare(moved.astype(dtype))).status is ComparisonStatus.WORSE


# Many digits, and what stands in their way


def test_digits_of_the_snub_cube() -> None:
    noisy = built("snub-cube") + 1e-9 * np.random.default_rng(0).standard_normal((24, 3))
    digits = only(compare(noisy, digits=60, tolerance=1e-6)).digits
    (entry,) = compare(list=True, d=3, K=24).rows
    assert isinstance(entry, ListedRow) and digits is not None and digits.cosine is not None
    assert digits.cosine.startswith(entry.figure[:-1]) and len(digits.cosine) == 62
    assert digits.contacts == 60 and digits.how == "contacts" and digits.obstacle is None
    # 7 t^3 + t^2 - 3 t - 1, by eliminating the tribonacci constant from Robinson's formula.
    assert digits.polynomial is not None and digits.polynomial.evidence > 40
    assert digits.polynomial.coefficients == ("7", "1", "-3", "-1")
    assert digits.polynomial.text == "7x^3 + x^2 - 3x - 1" and digits.polynomial.proved
    assert digits.moved is not None and 0 < digits.moved < 1e-7


# What a code is


def test_a_description_moves_nothing_and_stands_in_its_own_key() -> None:
    signs = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
    W = normalise(signs[(signs**2).sum(axis=1) == 2.0])  # the cuboctahedron
    before = W.copy()
    row = only(compare(W, describe=True))
    of = row.description
    assert of is not None and of.rigidity is not None and of.symmetry is not None
    assert (of.symmetry.order, of.rigidity.verdict.value) == ("48", "opens")
    assert np.array_equal(W, before) and row.max_cosine == pytest.approx(0.5)
    assert np.shape(of.rigidity.direction) == (12, 3)
    assert "description" not in compare(W).to_json()["rows"][0]


def test_a_description_of_rounded_coordinates(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "a.txt", built("icosahedron"), fmt="%.6f")
    of = only(compare(tmp_path / "a.txt", describe=True)).description
    assert of is not None and of.symmetry is not None and of.design is not None
    assert (of.symmetry.order, of.design.strength) == ("120", 5)
    assert of.design.tolerance > 1e-6 and of.rigidity is not None
    assert of.rigidity.verdict.value == "infinitesimally_jammed"


def test_what_cannot_be_described_has_a_reason() -> None:
    equal = only(compare(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), describe=True)).description
    many = random_points(np.random.default_rng(0), 3001, 3)
    large = only(compare(many, describe=True)).description
    for of in (equal, large):
        assert of is not None and of.design is None and of.left_out[0].startswith("all: ")


def test_other_codes_of_the_orthoplex_size_are_not_taken_for_it() -> None:
    # Five points: two poles and a triangle; or two poles and three right-angled ones.
    triangle = [[math.cos(t), math.sin(t), 0.0] for t in (0.0, 2.0, 4.0)]
    row = only(compare([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], *triangle]))
    assert row.status is ComparisonStatus.MATCHES and row.congruent_to is None


NAMED = [
    (3, 7, "tammes-7"),
    (3, 8, "square-antiprism"),
    (3, 9, "tammes-9"),
    (3, 12, "icosahedron"),
    (3, 24, "snub-cube"),
    (4, 10, "petersen"),
    (4, 24, "24-cell"),
    pytest.param(4, 120, "600-cell", marks=pytest.mark.slow),
    (5, 16, "hemicube"),
    (6, 27, "schlaefli"),
    pytest.param(7, 56, "equiangular-28", marks=pytest.mark.slow),
    pytest.param(8, 240, "e8-roots", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("d", "K", "name"), NAMED, ids=lambda v: str(v))
def test_named_codes_are_found_from_random_starts(d: int, K: int, name: str) -> None:
    """By a search that knows none of them."""
    best = solve(construction=name, problem="tammes")
    result = solve(
        d,
        K,
        problem="tammes",
        method="descent",
        restarts=200,
        target=best.max_cosine + 1e-9,
    )
    # From random rows, or orbits of random groups; no construction.
    assert result.origin == "descent" or result.origin.startswith("descent from orbits of ")
    assert result.steps > 0
    row = only(compare(result.weights))
    assert row.status is ComparisonStatus.MATCHES and row.congruent_to == name


def test_a_softmax_code_is_judged_by_its_distance(tmp_path: Path) -> None:
    # Two rattlers of the stored code, moved along their great circle to a cosine above its largest.
    (_, W), *_ = stored_codes(4, 51)
    middle, apart = normalise(np.array([W[9] + W[50], W[9] - W[50]]))
    half = math.acos(0.71) / 2
    W[9] = math.cos(half) * middle + math.sin(half) * apart
    W[50] = math.cos(half) * middle - math.sin(half) * apart
    entry = known.best(4, 51)
    assert entry is not None
    rows = {}
    for problem in ("softmax", "tammes"):
        file = tmp_path / f"{problem}.h5"
        write_code(file, CodeFile(W, provenance={"identity": {"problem": problem}}))
        rows[problem] = only(compare(file))
    softmax, tammes = rows["softmax"], rows["tammes"]
    assert softmax.max_cosine == tammes.max_cosine == pytest.approx(0.71)
    assert softmax.status is ComparisonStatus.MATCHES and softmax.passed
    assert softmax.gap == pytest.approx(0.0, abs=1e-12) and softmax.problem == "softmax"
    assert softmax.advice.startswith("its one-vs-rest distance is equal to that of the best known")
    assert tammes.status is ComparisonStatus.WORSE and not tammes.passed
    assert tammes.gap == pytest.approx(0.71 - entry.max_cosine, abs=1e-12)
    # Nobody says what an array is for: judged by its cosine, with a word on its distance.
    array = only(compare(W))
    assert array.status is ComparisonStatus.WORSE and array.problem is None
    assert array.advice.endswith("its one-vs-rest distance is equal to that of the best known code")
    measured = measure(weights=tmp_path / "softmax.h5")
    assert measured.gnc2_ratio == pytest.approx(1.0, abs=1e-11)
    tables, _ = view(compare(tmp_path / "softmax.h5"), verbose=False)
    assert "one-vs-rest distance" in str(tables)


@pytest.mark.parametrize("identity", [None, "softmax", ["problem"], {"problem": ["softmax"]}])
def test_a_file_that_does_not_say_its_problem(identity: Any, tmp_path: Path) -> None:
    write_code(tmp_path / "a.h5", CodeFile(np.eye(3), provenance={"identity": identity}))
    assert only(compare(tmp_path / "a.h5")).problem is None
