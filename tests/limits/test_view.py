"""Tables of bounds: exact words, numbers rounded to the safe side, nothing lost at any width."""

import re
from dataclasses import replace
from typing import Any

import pytest

from gnc_cli import bounds
from gnc_cli.console.table import printed
from gnc_cli.figures import cosine, points, rounded
from gnc_cli.limits.result import BoundsResult, ClassesBest, DimensionBest
from gnc_cli.limits.view import best_text, interval, view
from tests.limits.questions import QUESTIONS, result


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def shown(asked: str | BoundsResult, verbose: bool = False) -> str:
    return printed(view(result(asked) if isinstance(asked, str) else asked, verbose), None)


def words(asked: str | BoundsResult, verbose: bool = False) -> str:
    """In one line."""
    return " ".join(shown(asked, verbose).split())


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_number_is_lost(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    found, text = result(name), words(name, verbose=True)
    show: Any = cosine if found.quantity == "one-vs-one" else rounded
    if name == "near 1":
        return
    if len(found.best) > 1:
        for b in found.best:
            assert show(b.lower, False, 12) in text and show(b.upper, True, 12) in text
    elif found.best:
        for row in found.rows:
            value = show(row.value, row.side == "upper")
            assert f" {row.name} {row.side} {value}" in text
    part = found.dimension
    for row in part.rows if part is not None and len(part.best) < 5 else ():
        assert row.d in (None, 2) or f" {points(row.d)} " in text
    for row in found.classes.rows if found.classes and len(found.classes.best) < 5 else ():
        assert row.log10_K is None or points(row.K, row.log10_K, not row.exists) in text


def test_one_pair() -> None:
    lines = shown("pair").splitlines()
    assert lines[0] == "Bounds   d = 10, K = 100"
    assert lines[2] == ("one-vs-rest distance of the best code: 0.669116126803 <= rho* <= 0.71657")
    text = words(bounds(10, 100, probability=0.9))
    assert "from below solved-code found by gnc, certified" in text
    assert "from above three-point Bachoc and Vallentin 2008" in text
    assert "best known code 0.669116126803 cosine 0.330883873197, found by gnc" in text
    assert "softmax scale s = 1/tau >= 10.16 for probability 0.9 for the best code known" in text
    assert text.partition("build it: ")[2].startswith("gnc solve --d 10 --K 100 ")
    held = shown(bounds(16, 256)).splitlines()  # by the first points of a larger code
    assert "from below       known-code   (16, 288): Nordstrom and Robinson 1967" in held
    bare = shown("tiny").splitlines()
    assert bare[-1] == f"all {len(result('tiny').rows)} bounds with their sources: -v"
    lines = shown("pair", verbose=True).splitlines()
    sides = [line.split()[1::-1] for line in lines if re.match(r"[\w.-]+ +(lower|upper) ", line)]
    best_first = sorted(
        result("pair").rows, key=lambda r: (not r.exists, -r.value if r.exists else r.value)
    )
    assert sides == [[row.side, row.name] for row in best_first]
    text = "\n".join(lines)
    assert "build it: gnc solve --d 10 --K 100" in text and "by the bisector theorem" in text


def test_a_margin_is_answered_in_the_terms_of_losses() -> None:
    assert shown("pair").splitlines()[3:] == [
        "margin 0.6: a code exists (solved-code)",
        "",
        "uses               83.7 to 89.7 %      of what 10 dimensions allow",
        "largest CosFace m  0.6691 to 0.7166    solved-code, three-point; sources: -v",
        "largest ArcFace m  1.233 to 1.284 rad  70.6 to 73.6 degrees if theta + m <= pi",
        "smallest scale     s = 6.724 to 10.16  for probability 0.9; AdaCos: 6.498",
        "                   s = 11.33           for weights of just this margin",
        "least d            8 to 9              9 is enough for this margin",
        "",
        "build it: gnc solve --d 10 --K 100 --construction known --out head.safetensors",
    ]
    text = words(bounds(10, 100, max_cosine=0.4))
    assert "largest CosFace m 0.6691 to 0.7166 solved-code, three-point; sources: -v" in text
    text = words(bounds(10, 100, margin=0.9))
    assert "no code exists" in text and "build it (margin 0.6691): gnc solve" in text
    text = words(bounds(2, 3, margin=1.9))
    assert "uses 127 % of what 2 dimensions allow" in text
    assert "least d none no d allows this margin" in text
    text = words(bounds(2, 10**18, margin=1e-30))
    assert "gnc cannot build such a matrix" in text
    text = words(bounds(4, 10**18, margin=0.998))
    assert "least d 761,390 or more no d is known to be enough" in text
    assert "least d 1,000,001 or more" in words(bounds(4, 10**18, margin=0.999))
    lines = shown("pair", verbose=True).splitlines()
    for key in ("share", "cosface", "arcface_rad", "scale", "sufficient"):
        assert any(line.rstrip().endswith(f"margins.{key}") for line in lines), key
    lines = shown("panels").splitlines()
    assert lines[2].split() == ["d", "K", "lower", "upper", "exists?", "uses", "smallest", "scale"]
    assert lines[3].split()[-7:] == "35.5 to 38.2 % 11.46 to 14.57".split()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("known exactly", "largest cosine 0.4472136: a code exists (known-code)"),
        ("angles", "minimal angle 1 rad (57.3 degrees): a code exists (solved-code)"),
    ],
)
def test_verdicts(name: str, expected: str) -> None:
    assert expected in words(name)
    best = result(name).best[0]
    for status, verdict in (
        ("excluded", "no code exists (levenshtein)"),
        ("open", "open, as gnc has no such code and no bound"),
    ):
        best = replace(best, status=status, lower_name="levenshtein")
        assert f"{result(name).target}: {verdict}" in words(replace(result(name), best=(best,)))


def test_dimensions_in_words() -> None:
    text = words("dimension")
    assert text.startswith(
        "Dimensions for margin 0.3 a code of K = 1,000,000 points with margin 0.3 exists from d = "
        "21 on; below d = 18 none exists; between them gnc does not decide exists from d = 21 "
        "construction"
    )
    assert "softmax scale s = 1/tau >= 53.38" in text
    assert "build it: gnc solve --d 21 --K 1000000 --construction" in text
    text = words("dimension", verbose=True)
    assert "construction exists from 21 section-21-1272320" in text
    assert "; build it: gnc solve --d 21 --K 1000000 --construction section" in text
    assert "rankin excluded in every d" in words("impossible", verbose=True)
    assert "K a code exists from d no code exists below d 1,000" in words("few dimensions")


@pytest.mark.parametrize(
    ("sufficient", "necessary", "expected"),
    [
        (
            32,
            8,
            "a code of K = 9 points with M exists from d = 32 on; below d = 8 none exists; "
            "between them gnc does not decide",
        ),
        (8, 8, "a code of K = 9 points with M exists from d = 8 on; below d = 8 none exists"),
        (
            8,
            2,
            "a code of K = 9 points with M exists from d = 8 on; no dimension is excluded",
        ),
        (2, 2, "a code of K = 9 points with M exists from d = 2 on; no dimension is excluded"),
        (
            None,
            8,
            "gnc knows no dimension with a code of K = 9 points with M; below d = 8 none exists",
        ),
        (None, None, "no code of K = 9 points with M exists in any dimension"),
        (None, 10**6 + 1, "no code of K = 9 points with M exists in any dimension up to 10^6"),
    ],
)
def test_endings_of_dimensions(
    sufficient: int | None, necessary: int | None, expected: str
) -> None:
    assert best_text(DimensionBest(9, sufficient, necessary), "M") == expected


def test_numbers_of_points_in_words() -> None:
    text = words("classes of one more")
    assert text.startswith(
        "Numbers of points with largest cosine at most 0.5 up to K = 240 points a code with "
        "largest cosine at most 0.5 in d = 8 exists; from K = 241 on none exists exists up to K = "
        "240 known-code"
    )
    best = ClassesBest(3, 5, 0.69897, None, 45.678901)
    assert best_text(best, "margin 1") == (
        "up to K = 5 points a code with margin 1 in d = 3 exists; "
        "from K = 10^45.679 on none exists; between them gnc does not decide"
    )
    nothing = replace(best, guaranteed=None, log10_guaranteed=None, log10_excluded=None)
    assert best_text(nothing, "M") == (
        "gnc knows no K with a code with M in d = 3; gnc excludes no K"
    )


def test_cosines_near_one_keep_their_distance() -> None:
    best = replace(
        result("angles").best[0], lower=1.0, upper=1.0, lower_deg=3.6e-10, upper_deg=7.2e-10
    )
    assert interval(best) == "1 - 7.89569e-23 <= t <= 1 - 1.97392e-23"
    best = replace(best, upper_deg=3.6e-10, exact=True)
    assert interval(best).startswith("t = 1 - 1.9739")
    zero = replace(best, lower=-0.0, upper=6e-17)
    assert interval(zero) == "t = 0 (the bounds meet)"
