"""The certificates that sharp codes are optimal: accepted twice, and refused when changed.

It tests gnc_cli/limits: delsarte_certificate.py and claim.py.
"""

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sympy import Rational, expand, sqrt, sympify

from gnc_cli import bounds
from gnc_cli.limits.claim import enclosure
from tests.limits.test_certificate import SCHEMA, plain_status, saved, status_of
from tests.limits.test_sharp_codes import SHARP

Run = Callable[..., Any]

CELL = {(4, 120): ((1 + sqrt(5)) / 4,)}
"""The 600-cell attains the bound too, though its strength as a design is too small to be sharp."""


@pytest.mark.parametrize("d, K", [*(pair for pair in SHARP if pair[0] <= 24), *CELL])
def test_their_certificates_are_accepted_twice(d: int, K: int, tmp_path: Path) -> None:
    """Optimal, proved: the file says that the largest cosine of the code cannot be improved."""
    path = tmp_path / "c.json"
    answer = bounds(d, K, export=path).exported
    assert answer is not None and (answer.status, answer.strict) == ("proved", False)
    assert expand(sympify(answer.cosine) - (SHARP | CELL)[d, K][-1]) == 0
    assert (status_of(str(path)), plain_status(str(path))) == ("proved", True)
    SCHEMA.validate(json.loads(path.read_text()))


def document(d: int, K: int, folder: Path) -> dict[str, Any]:
    """The certificate that bounds writes."""
    path = folder / "c.json"
    bounds(d, K, export=path)
    certificate: dict[str, Any] = json.loads(path.read_text())
    assert certificate["kind"] == "delsarte-sqrt5"
    return certificate


@pytest.mark.parametrize("d, K", [(3, 12), (4, 120)])
def test_a_changed_number_of_a_root_is_refused_twice(d: int, K: int, tmp_path: Path) -> None:
    certificate = document(d, K, tmp_path)
    text = json.dumps(certificate)
    numbers = [*re.finditer(r"\d+(?=[/*\"+-])", text[text.index('"cosine"') :])]
    for match in numbers:
        start, stop = (text.index('"cosine"') + place for place in match.span())
        if text[start - 1] == "(" or (match[0] == "5" and text[start - 5 : start] == "sqrt("):
            continue
        path = saved(tmp_path, f"{text[:start]}{int(match[0]) + 1}{text[stop:]}")
        status = status_of(path)
        harmless = match[0] == "1" and d == 3 and '"factor": ["2"]' in Path(path).read_text()
        assert (status == "proved", plain_status(path)) == (harmless, harmless), match


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("not_proved", {"K": 11}),
    ("not_proved", {"K": 13}),
    ("not_proved", {"d": 4}),
    ("not_proved", {"factor": ["-1"]}),
    ("not_proved", {"factor": ["0"]}),
    ("not_proved", {"factor": []}),
    ("not_proved", {"factor": ["0", "1"]}),
    ("not_proved", {"touching": []}),
    ("not_proved", {"cosine": "0-1/5*sqrt(5)"}),
    ("undecided", {"touching": ["0"] * 50}),
    ("malformed", {"strict": True}),
    ("malformed", {"cosine": "sqrt(5)/5"}),
    ("malformed", {"cosine": "0+1/5*sqrt(7)"}),
    ("malformed", {"cosine": "0+1/2*sqrt(5)"}),
    ("malformed", {"cosine": "0-0*sqrt(5)"}),
    ("malformed", {"coefficients": ["1"]}),
]


@pytest.mark.parametrize(("status", "change"), CHANGES)
def test_what_proves_nothing_over_the_field(
    status: str, change: dict[str, Any], tmp_path: Path
) -> None:
    path = saved(tmp_path, document(3, 12, tmp_path) | change, "changed.json")
    assert (status_of(path), plain_status(path)) == (status, False)


@pytest.mark.parametrize("kind", ["delsarte", "three-point", "local-optimum"])
def test_other_kinds_have_fractions(kind: str, tmp_path: Path) -> None:
    certificate = document(3, 12, tmp_path) | {"kind": kind}
    path = saved(tmp_path, certificate, "changed.json")
    assert (status_of(path), plain_status(path)) == ("malformed", False)


@pytest.mark.parametrize("text", ["1/4+1/4*sqrt(5)", "0-1/5*sqrt(5)", "-1/4+1/4*sqrt(5)", "-2/3"])
def test_fractions_on_both_sides_of_a_number(text: str) -> None:
    low, high = enclosure(text)
    assert low <= high <= low + Fraction(1, 10**50)
    exact = sympify(text)
    assert Rational(str(low)) <= exact <= Rational(str(high))


@pytest.mark.parametrize(
    ("text", "same", "d"), [("1/3", 1 / 3, 7), ("sqrt(5)/5", 0.2**0.5, 3), (" 1/2", 0.5, 8)]
)
def test_expressions_for_the_largest_cosine(gnc: Run, text: str, same: float, d: int) -> None:
    answer = json.loads(gnc("bounds", "--d", d, "--max-cosine", text, "--json").stdout)
    assert answer["max_cosine"] == pytest.approx(same, rel=1e-16)
    best = answer["classes"]["best"][0]
    assert (
        best
        == json.loads(gnc("bounds", "--d", d, "--max-cosine", repr(same), "--json").stdout)[
            "classes"
        ]["best"][0]
    )


@pytest.mark.parametrize("text", ["1/0", "3/2", "sqrt(-1)", "exit()", "1/3/1"])
def test_what_is_no_cosine(gnc: Run, text: str) -> None:
    run = gnc("bounds", "--d", 7, "--max-cosine", text)
    assert run.exit_code == 2 and "--max-cosine" in run.stderr and "Traceback" not in run.stderr
