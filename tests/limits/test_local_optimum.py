"""Local optima: the theorem's conditions, two verifiers, and files in which a digit differs."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli import bounds
from gnc_cli.geometry.sphere import normalise
from gnc_cli.known_codes.stored import stored_codes
from gnc_cli.limits.certificate import verify
from gnc_cli.limits.claim import RefutedError, UnresolvedError, document
from gnc_cli.limits.local_optimum import LocalOptimum
from gnc_cli.runtime.deadline import Deadline
from tests.limits.test_certificate import SCHEMA, plain_status, saved, status_of

Run = Callable[..., Any]
GOLDEN = (1.0 + 5.0**0.5) / 2.0


def icosahedron() -> np.ndarray:
    """The twelve vertices, shape (12, 3)."""
    rows = [
        np.roll([0.0, a, b * GOLDEN], shift) for shift in range(3) for a in (1, -1) for b in (1, -1)
    ]
    return normalise(np.array(rows))


def stored(d: int, K: int) -> np.ndarray:
    """The coordinates that gnc ships."""
    return next(stored_codes(d, K))[1]


def written(W: np.ndarray) -> dict[str, Any]:
    """The document of a code's certificate."""
    certificate: dict[str, Any] = json.loads(document(LocalOptimum.from_code(W, Deadline())))
    return certificate


ICOSAHEDRON = written(icosahedron())


@pytest.mark.parametrize(
    "W",
    [
        icosahedron(),
        np.vstack([np.eye(4), -np.eye(4)]),
        stored(3, 19),
        stored(4, 14),
        stored(5, 19),
    ],
    ids=["icosahedron", "orthoplex", "(3, 19)", "(4, 14)", "(5, 19)"],
)
def test_a_local_optimum_is_proved_twice(W: np.ndarray, tmp_path: Path) -> None:
    path = saved(tmp_path, written(W))
    answer = verify(path, Deadline())
    assert (answer.status, answer.kind, answer.strict) == ("proved", "local-optimum", None)
    assert plain_status(path)
    cosine = np.triu(W @ W.T, 1).max()
    assert answer.lower == pytest.approx(1.0 - cosine, abs=1e-14)
    assert answer.radius is not None and 0.0 < answer.radius < 1e-9
    SCHEMA.validate(json.loads(Path(path).read_text()))


def test_points_outside_the_core_stay_free() -> None:
    """A rattler has no contact; nearer than the margin it refutes the claim."""
    W = stored(3, 111)
    certificate = LocalOptimum.from_code(W, Deadline())
    core = certificate.stress.core
    assert len(core) == 102
    loose = np.setdiff1d(np.arange(111), core)[0]
    rows = [*certificate.points]
    rows[loose] = tuple(a + b for a, b in zip(rows[core[0]], (0, 10**12, 0), strict=True))
    with pytest.raises(RefutedError, match="nearer than the claim"):
        replace(certificate, points=tuple(rows)).check(Deadline())


@pytest.mark.parametrize(
    ("W", "reason"),
    [
        (normalise(np.random.default_rng(0).standard_normal((9, 3))), "motions"),
        (np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0.6, 0.8]]), "motions"),
        (stored(4, 77), "motions"),
        (np.array([[1.0, 0, 0], [1.0, 0, 0], [0, 1, 0], [0, 0, 1]]), "motions"),
    ],
    ids=["random", "five points", "second order", "equal points"],
)
def test_codes_that_are_not_held_to_first_order_have_none(W: np.ndarray, reason: str) -> None:
    with pytest.raises(RefutedError, match=reason):
        LocalOptimum.from_code(W, Deadline())


def test_large_codes_and_deadlines() -> None:
    with pytest.raises(UnresolvedError, match="3,000 coordinates"):
        LocalOptimum.from_code(normalise(np.ones((1001, 3))), Deadline())
    with pytest.raises(UnresolvedError, match="time limit"):
        LocalOptimum.from_code(icosahedron(), Deadline(1e-9))
    large = ICOSAHEDRON | {"K": 1001}
    with pytest.raises(UnresolvedError, match="above 3,000"):
        LocalOptimum(**large).check(Deadline())


def nearer(number: str, factor: Fraction) -> str:
    return str(Fraction(number) * factor)


def changed(key: str, change: Callable[[Any], Any]) -> dict[str, Any]:
    return ICOSAHEDRON | {key: change(ICOSAHEDRON[key])}


FIRST = ICOSAHEDRON["contacts"][0]
TOUCHING = {(i, j) for i, j, _ in ICOSAHEDRON["contacts"]}
FAR = next((i, j) for i in range(12) for j in range(i + 1, 12) if (i, j) not in TOUCHING)
TAMPERED: dict[str, tuple[str, dict[str, Any]]] = {
    "smaller cosine": (
        "not_proved",
        changed("cosine", lambda s: str(Fraction(s) - Fraction(1, 10**15))),
    ),
    "larger cosine": ("not_proved", changed("cosine", lambda s: str(Fraction(s) + Fraction(1, 9)))),
    "smaller radius": ("not_proved", changed("radius", lambda r: nearer(r, Fraction(1, 9)))),
    "huge radius": ("not_proved", changed("radius", lambda _: "1")),
    "stiffer": ("not_proved", changed("sigma", lambda s: nearer(s, Fraction(3)))),
    "a digit of a point": (
        "not_proved",
        changed("points", lambda p: [[p[0][0] + 10**10, *p[0][1:]], *p[1:]]),
    ),
    "a longer point": (
        "not_proved",
        changed("points", lambda p: [[2 * x for x in p[0]], *p[1:]]),
    ),
    "a zero point": ("not_proved", changed("points", lambda p: [[0, 0, 0], *p[1:]])),
    "a weight": (
        "not_proved",
        changed("contacts", lambda c: [[*c[0][:2], c[0][2] // 2], *c[1:]]),
    ),
    "a contact less": ("not_proved", changed("contacts", lambda c: c[1:])),
    "a contact of far points": (
        "not_proved",
        changed("contacts", lambda c: [*c, [*FAR, FIRST[2]]]),
    ),
    "a contact twice": ("malformed", changed("contacts", lambda c: [*c, c[0]])),
    "a point beyond": ("malformed", changed("contacts", lambda c: [*c, [0, 12, 5]])),
    "backwards": ("malformed", changed("contacts", lambda c: [[c[0][1], c[0][0], 5], *c[1:]])),
    "no weight": ("malformed", changed("contacts", lambda c: [[*c[0][:2], 0], *c[1:]])),
    "no contacts": ("malformed", changed("contacts", lambda c: [])),
    "a point less": ("malformed", changed("points", lambda p: p[1:])),
    "a coordinate less": ("malformed", changed("points", lambda p: [p[0][1:], *p[1:]])),
    "no radius": ("not_proved", changed("radius", lambda r: "0")),
    "half a digit": ("malformed", changed("digits", lambda n: n + 0.5)),
    "a further key": ("malformed", ICOSAHEDRON | {"strict": True}),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_changed_file_is_refused_twice(name: str, tmp_path: Path) -> None:
    status, tampered = TAMPERED[name]
    path = saved(tmp_path, tampered)
    assert (status_of(path), plain_status(path)) == (status, False)


@given(data=st.data())
def test_what_is_proved_is_proved_twice(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any digit changed: refused, or a claim that the second verifier proves too."""
    text = json.dumps(ICOSAHEDRON)
    places = [place for place, letter in enumerate(text) if letter.isdigit()]
    place = data.draw(st.sampled_from(places))
    digit = data.draw(st.sampled_from("0123456789"))
    path = saved(tmp_path_factory.mktemp("c"), text[:place] + digit + text[place + 1 :])
    assert (status_of(path) == "proved") <= plain_status(path)


def test_the_matrix_is_the_quadratic_form_of_the_theorem() -> None:
    """<u, N u> by its three sums."""
    certificate = LocalOptimum.from_code(stored(4, 14), Deadline())
    stress = certificate.stress
    core, P = stress.core, np.array(certificate.points, dtype=float) / 10.0**18
    place = {k: row for row, k in enumerate(core.tolist())}
    total = sum(w for _, _, w in certificate.contacts)
    gamma = float(stress.gamma)
    rng = np.random.default_rng(0)
    for _ in range(5):
        u = rng.standard_normal((len(core), 4))
        edges = sum(
            (w / total * (P[i] @ u[place[j]] + P[j] @ u[place[i]])) ** 2
            for i, j, w in certificate.contacts
        )
        turns = u.T @ P[core] - P[core].T @ u
        lengths = np.einsum("kd,kd->k", P[core], u)
        expected = edges + gamma * ((lengths**2).sum() + (turns**2).sum() / 2.0)
        N = stress.floats() / float(stress.unit)
        assert u.ravel() @ N @ u.ravel() == pytest.approx(expected, rel=1e-12)


def test_the_weights_balance() -> None:
    """sum_j w_kj p_j is a multiple of p_k, with every weight positive."""
    certificate = LocalOptimum.from_code(stored(3, 19), Deadline())
    P = np.array(certificate.points, dtype=float) / 10.0**18
    h, total = np.zeros_like(P), sum(w for _, _, w in certificate.contacts)
    for i, j, w in certificate.contacts:
        h[i] += w / total * P[j]
        h[j] += w / total * P[i]
    across = h - np.einsum("kd,kd->k", h, P)[:, None] * P
    assert np.linalg.norm(across) < 1e-12
    assert float(certificate.stress.imbalance) == pytest.approx(np.linalg.norm(across), abs=1e-15)


@given(seed=st.integers(0, 10**6), sharpness=st.sampled_from([0.0, 1.0]))
def test_every_code_at_the_radius_is_worse(seed: int, sharpness: float) -> None:
    """The theorem itself, in floating point, at a radius that it allows and floats resolve.

    Directions are random, or aimed at a smaller largest cosine.
    """
    certificate = LocalOptimum(**(ICOSAHEDRON | {"radius": "1/60"}))
    certificate.check(Deadline())
    W, r, T = icosahedron(), 1.0 / 60.0, float(Fraction(certificate.cosine))
    rng = np.random.default_rng(seed)
    step = rng.standard_normal(W.shape)
    near = (W @ W.T > T - 1e-9) & ~np.eye(12, dtype=bool)
    step -= sharpness * (near * rng.random((12, 12))) @ W
    low, high = 0.0, 10.0
    for _ in range(80):
        size = 0.5 * (low + high)
        moved = normalise(W + size * step)
        U, _, V = np.linalg.svd(moved.T @ W)
        low, high = (size, high) if np.linalg.norm(moved @ (U @ V) - W) < r else (low, size)
    assert np.linalg.norm(moved @ (U @ V) - W) == pytest.approx(r, rel=1e-6)
    assert np.triu(moved @ moved.T, 1).max() > T


def test_compare_writes_it_and_bounds_checks_it(gnc: Run, tmp_path: Path) -> None:
    code, folder = tmp_path / "c.npy", tmp_path / "x"
    np.save(code, icosahedron())
    run = gnc("compare", code, "--export", folder)
    assert run.exit_code == 0 and "local-optimum.json" in run.stdout
    run = gnc("bounds", "--verify", folder / "local-optimum.json")
    assert run.exit_code == 0
    for part in ("a code ", "d = 3, K = 12", "is a local optimum", "so rho*", ">= 0.5527864"):
        assert part in run.stdout
    # The folder has two claims, and both are checked.
    run = gnc("bounds", "--verify", folder, "-v", "--min", "lower=0.5527")
    assert run.exit_code == 0 and "is a local optimum" in run.stdout
    result = bounds(verify=folder)
    assert result.certificate.kind == "code" and result.local_optimum.kind == "local-optimum"
    assert (result.certificate.status, result.local_optimum.status) == ("proved", "proved")
    file = folder / "local-optimum.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps(document | {"radius": "1/" + "9" * 20}))
    run = gnc("bounds", "--verify", folder)
    assert run.exit_code == 5 and "local-optimum.json (the radius does not suit" in run.stderr
    random = tmp_path / "r.npy"
    np.save(random, normalise(np.random.default_rng(0).standard_normal((9, 3))))
    row = json.loads(gnc("compare", random, "--export", tmp_path / "y", "--json").stdout)["rows"][0]
    assert any(line.startswith("local-optimum.json: ") for line in row["left_out"])


# Lower ends


@pytest.fixture
def lower(gnc: Run, tmp_path: Path) -> Path:
    """The folder of an exported code."""
    np.save(tmp_path / "c.npy", icosahedron())
    folder = tmp_path / "x"
    assert gnc("compare", tmp_path / "c.npy", "--export", folder).exit_code == 0
    return folder


@pytest.mark.parametrize("name", ["", "verified.txt", "coordinates.txt"])
def test_a_lower_end_is_checked(gnc: Run, lower: Path, name: str) -> None:
    run = gnc("bounds", "--verify", lower / name, "--json")
    answer = json.loads(run.stdout)["certificate"]
    assert (run.exit_code, answer["status"], answer["kind"]) == (0, "proved", "code")
    assert answer["lower"] == pytest.approx(1.0 - 0.2**0.5, abs=1e-14)
    assert answer["upper"] is answer["radius"] is answer["strict"] is None


@pytest.mark.parametrize(
    ("file", "old", "new", "exit_code"),
    [
        ("coordinates.txt", "0.8", "0.7", 5),
        ("verified.txt", "points 12", "points 13", 5),
        ("verified.txt", "dimension 3", "dimension 2", 5),
        ("verified.txt", "cosine_at_most 0.4", "cosine_at_most 0.3", 5),
        ("verified.txt", "cosine_at_most 0.4", "cosine_at_most 1e-9 0.4", 3),
        ("verified.txt", "points 12", "points twelve", 3),
        ("verified.txt", "points 12\n", "", 3),
        ("verified.txt", "sha256", "sha512", 3),
    ],
)
def test_a_changed_lower_end_is_refused(
    gnc: Run, lower: Path, file: str, old: str, new: str, exit_code: int
) -> None:
    text = (lower / file).read_text()
    assert old in text
    (lower / file).write_text(text.replace(old, new, 1))
    run = gnc("bounds", "--verify", lower)
    assert run.exit_code == exit_code and "Traceback" not in run.stderr
    assert not plain_status(str(lower))


@pytest.mark.parametrize(("line", "exit_code"), [("1e999 0 0", 3), ("0 0 0", 5), ("1 0", 5)])
def test_hostile_coordinates(gnc: Run, tmp_path: Path, line: str, exit_code: int) -> None:
    from hashlib import sha256

    content = f"1 0 0\n{line}\n"
    (tmp_path / "coordinates.txt").write_text(content)
    (tmp_path / "verified.txt").write_text(
        "points 2\ndimension 3\ncosine_at_most 0.9\n"
        f"sha256_of_coordinates {sha256(content.encode()).hexdigest()}\n"
    )
    assert gnc("bounds", "--verify", tmp_path).exit_code == exit_code
    assert not plain_status(str(tmp_path))


def test_a_folder_without_the_files(gnc: Run, tmp_path: Path) -> None:
    run = gnc("bounds", "--verify", tmp_path)
    assert run.exit_code == 3 and "coordinates.txt" in run.stderr


def test_a_point_outside_the_core_is_a_unit_vector_too(tmp_path: Path) -> None:
    """A rattler enters by its direction alone; its length is checked besides."""
    certificate = LocalOptimum.from_code(stored(3, 38), Deadline())
    loose = int(np.setdiff1d(np.arange(38), certificate.stress.core)[0])
    points = [*certificate.points]
    points[loose] = tuple(7 * x for x in points[loose])
    changed = replace(certificate, points=tuple(points))
    with pytest.raises(RefutedError, match="not a unit vector"):
        changed.check(Deadline())
    path = saved(tmp_path, document(changed).decode())
    assert (status_of(path), plain_status(path)) == ("not_proved", False)
