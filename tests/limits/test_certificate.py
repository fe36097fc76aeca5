"""Certificates: what they prove, what is refused, and a second verifier that shares no code."""

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from flint import fmpq, fmpq_poly
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli import bounds, compare, schemas, solve
from gnc_cli.comparison import files
from gnc_cli.errors import DataError, OutputError, UsageError
from gnc_cli.limits import certificate as frame
from gnc_cli.limits import claim
from gnc_cli.limits.certificate import verify
from gnc_cli.limits.delsarte import DelsarteLP
from gnc_cli.limits.delsarte_certificate import expansion, nonpositive
from gnc_cli.plain import plain
from gnc_cli.runtime.deadline import Deadline
from tests import plain_verifier
from tests.conftest import Certificates

SCHEMA = jsonschema.Draft202012Validator(schemas.load("certificate"))
Run = Callable[..., Any]

SHARP = {
    (3, 4): "-1/3",
    (3, 6): "0",
    (5, 16): "1/5",
    (6, 27): "1/4",
    (7, 56): "1/3",
    (8, 240): "1/2",
    (22, 275): "1/6",
    (23, 4600): "1/3",
    (24, 196560): "1/2",
}
"""Sharp codes with a rational largest cosine."""
OTHERS = [(2, 7), (4, 100), (4, 60), (5, 60), (9, 400), (512, 1000)]
CROSS = {
    "certificate": "gnc/1",
    "kind": "delsarte",
    "d": 3,
    "K": 8,
    "cosine": "1/10",
    "strict": True,
    "coefficients": ["7/30", "9/10", "2/3"],
}
"""(t + 1) (t - 1/10), with f(1) / f_0 = 54/7."""


E8 = CROSS | {
    "d": 8,
    "K": 240,
    "cosine": "1/2",
    "strict": False,
    "coefficients": ["3/320", "3/40", "15/64", "39/80", "399/640", "9/16", "33/128"],
}
"""t^2 (t + 1) (t + 1/2)^2 (t - 1/2), which is sharp."""


def saved(folder: Path, document: Any, name: str = "c.json") -> str:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


def status_of(path: str) -> str:
    """What gnc says, `malformed` where it is no certificate."""
    try:
        return verify(path, Deadline()).status
    except DataError:
        return "malformed"


def plain_status(path: str) -> bool:
    try:
        return bool(plain_verifier.claim_of(path))
    except plain_verifier.PROVES_NOTHING:
        return False


@pytest.mark.parametrize(("d", "K"), [*SHARP, *OTHERS])
def test_an_exported_certificate_proves_the_bound(d: int, K: int, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    rows = bounds(d, K, lp=True, export=path).rows
    bound = next(row.value for row in rows if row.name == "delsarte-lp")
    SCHEMA.validate(json.loads(path.read_bytes()))
    answer = bounds(verify=path).certificate
    assert answer is not None and (answer.status, answer.reason) == ("proved", None)
    assert (answer.d, answer.K, answer.kind, answer.file) == (d, K, "delsarte", "c.json")
    assert answer.strict is ((d, K) not in SHARP)
    assert answer.cosine == SHARP.get((d, K), answer.cosine)
    assert Fraction(answer.upper) >= 1 - Fraction(answer.cosine)
    assert answer.upper <= bound * (1 + 1e-15)
    assert plain_status(str(path))


def test_what_the_tests_have_written_is_checked_by_the_plain_verifier(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """That the fixture looks at every kind of file, and sees one digit too many."""
    certificates.checked.clear()
    bounds(8, 240, export=tmp_path / "a.json")
    bounds(8, 240, export=tmp_path / "a.json.gz")
    solve(3, 4, out=tmp_path / "a.h5")
    compare(tmp_path / "a.h5", export=tmp_path / "a")
    assert len(certificates.checked) == 4 and not certificates.wrong
    said = files._statement
    monkeypatch.setattr(claim, "plain", lambda record: plain(record) | {"strict": True})
    monkeypatch.setattr(files, "_statement", lambda W, _, tight: said(W, "-0.34", tight))
    bounds(8, 240, export=tmp_path / "b.json")
    compare(tmp_path / "a.h5", export=tmp_path / "b")
    names = [Path(line.partition(":")[0]).name for line in certificates.wrong]
    assert names == ["b.json", "verified.txt", "local-optimum.json"]
    certificates.wrong.clear()


def test_one_program_gives_the_bound_and_its_certificate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    searches = []
    search = DelsarteLP._cosine

    def counted(self: DelsarteLP, d: int, K: int) -> tuple[float, int] | None:
        searches.append((d, K))
        return search(self, d, K)

    monkeypatch.setattr(DelsarteLP, "_cosine", counted)
    bounds(5, 50, lp=True, export=tmp_path / "c.json")
    assert searches == [(5, 50)]


@pytest.mark.parametrize(("K", "rows"), [(24, 0), (25, 1)])
def test_only_open_pairs_of_few_dimensions_have_a_program(K: int, rows: int) -> None:
    found = bounds(4, K, margin=0.49).rows
    assert sum(row.name == "delsarte-lp" for row in found) == rows


def test_equality_is_no_strict_claim(tmp_path: Path) -> None:
    """The simplex has a cosine of -1/3 and no larger one."""
    path = tmp_path / "c.json"
    bounds(3, 4, export=path)
    document = json.loads(path.read_bytes())
    assert status_of(saved(tmp_path, document | {"strict": True})) == "not_proved"
    assert not plain_status(str(path))
    assert status_of(saved(tmp_path, document | {"K": 5, "strict": True})) == "proved"


def test_equality_needs_more_than_the_polynomial(tmp_path: Path) -> None:
    """f = 1 + 3 P_1 has f(1) = 4 f_0 and is below 0 at s."""
    below = CROSS | {"K": 4, "cosine": "-1/2", "strict": False, "coefficients": ["1", "3"]}
    path = saved(tmp_path, below)
    assert (status_of(path), plain_status(path)) == ("not_proved", False)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_changed_digit_is_refused_or_harmless(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A file is proved only where the second verifier proves the same claim."""
    folder = tmp_path_factory.mktemp("c")
    for document in (CROSS, E8):
        assert status_of(saved(folder, document)) == "proved"
        text = json.dumps(document)
        digits = [at for at, letter in enumerate(text) if letter.isdigit()]
        at = data.draw(st.sampled_from(digits))
        letter = data.draw(st.sampled_from('0123456789-/.e ,"[]{}Naé\0'))
        path = saved(folder, text[:at] + letter + text[at + 1 :])
        ours = status_of(path)
        assert (ours == "proved") <= plain_status(path)
        if ours == "proved":
            changed = json.loads(Path(path).read_text())
            # A weaker claim of the same polynomial, or a polynomial that still proves it.
            assert SCHEMA.is_valid(changed)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("change", ["d", "K", "cosine", 0, 1, 2])
def test_a_decisive_digit_is_refused(change: str | int, strict: bool, tmp_path: Path) -> None:
    document = json.loads(json.dumps(CROSS)) | {"strict": strict}
    if isinstance(change, int):
        part = Fraction(document["coefficients"][change])
        document["coefficients"][change] = str(part * (Fraction(9, 10) if change == 0 else 2))
    else:
        document[change] = {"d": 40, "K": 7, "cosine": "1/5"}[change]
    path = saved(tmp_path, document)
    assert (status_of(path), plain_status(path)) == ("not_proved", False)


BOMB = gzip.compress(b" " * (frame.MOST_BYTES + 1))
PACKED = gzip.compress(json.dumps(CROSS).encode())
HOSTILE: dict[str, bytes | str | dict[str, Any]] = {
    "empty object": {},
    "list": "[1, 2]",
    "text": "once upon a time",
    "not UTF-8": b"\xff\xfe{}",
    "BOM": "\ufeff" + json.dumps(CROSS),
    "bomb": BOMB,
    "gzip cut short": PACKED[:-9],
    "two members": PACKED + PACKED,
    "gzip of nothing": b"\x1f\x8b",
    "large": b'"' + b"a" * frame.MOST_BYTES + b'"',
    "deep": "[" * 900_000,
    "deep objects": '{"a":' * 900_000,
    "many entries": "[" + "1," * 3_000_000 + "1]",
    "many wrong coefficients": CROSS | {"coefficients": ["x"] * 600_000},
    "long number": CROSS | {"cosine": "1/1" + "0" * 5000},
    "long whole number": json.dumps(CROSS).replace("8", "8" * 1_000_000, 1),
    "repeated key": json.dumps(CROSS)[:-1] + ', "K": 9}',
    "long key": CROSS | {"k" * 1_000_000: 1},
    "unknown key": CROSS | {"note": "trust me"},
    "other format": CROSS | {"certificate": "gnc/2"},
    "other kind": CROSS | {"kind": "oracle"},
    "kind of a list": CROSS | {"kind": ["delsarte"]},
    "NaN": json.dumps(CROSS).replace("8", "NaN", 1),
    "infinite": json.dumps(CROSS).replace("8", "1e999", 1),
    "half a point": CROSS | {"K": 7.5},
    "whole float": CROSS | {"K": 7.0},
    "text for K": CROSS | {"K": "7"},
    "true for d": CROSS | {"d": True},
    "1 for strict": CROSS | {"strict": 1},
    "no points": CROSS | {"K": 1},
    "a line": CROSS | {"d": 1},
    "cosine 1": CROSS | {"cosine": "1"},
    "cosine -1": CROSS | {"cosine": "-1"},
    "decimals": CROSS | {"cosine": "0.1"},
    "a zero denominator": CROSS | {"cosine": "1/0"},
    "leading zero": CROSS | {"cosine": "01/10"},
    "line feed": CROSS | {"cosine": "1/10\n"},
    "other digits": CROSS | {"cosine": "\u0661/10"},
    "null": CROSS | {"coefficients": None},
    "no coefficients": CROSS | {"coefficients": []},
    "numbers": CROSS | {"coefficients": [1, 2]},
    "missing": {key: CROSS[key] for key in CROSS if key != "strict"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_certificate(gnc: Run, name: str, tmp_path: Path) -> None:
    content, path = HOSTILE[name], tmp_path / "c.json"
    if isinstance(content, dict):
        content = json.dumps(content, ensure_ascii=False)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    started = time.process_time()
    run = gnc("bounds", "--verify", path, "--json")
    assert (run.exit_code, run.stdout) == (3, ""), run.stderr
    (line,) = run.stderr.splitlines()
    assert line.startswith("gnc: ") and "is not a certificate" in line and len(line) < 400
    assert time.process_time() - started < 5.0


@pytest.mark.parametrize(
    "name",
    [
        *(name for name, content in HOSTILE.items() if isinstance(content, dict)),
        *("NaN", "infinite", "repeated key", "list"),
    ],
)
def test_the_second_verifier_refuses_what_the_format_forbids(name: str, tmp_path: Path) -> None:
    content = HOSTILE[name]
    assert not plain_status(saved(tmp_path, content))


@pytest.mark.parametrize("change", [{"strict": "false"}, {"K": "Infinity"}, {"cosine": 0}])
def test_both_verifiers_ask_for_types(change: dict[str, Any], tmp_path: Path) -> None:
    text = json.dumps(CROSS | change).replace('"Infinity"', "Infinity")
    path = saved(tmp_path, text)
    assert (status_of(path), plain_status(path)) == ("malformed", False)


TALL = "1/" + "7" * 300
LARGE: dict[str, dict[str, Any]] = {
    "degree": CROSS | {"coefficients": ["1"] * 1000},
    "digits": CROSS | {"coefficients": ["1", "1" * 3900]},
    "bits": CROSS | {"K": 10**9, "coefficients": ["1", *[f"{TALL}{k}" for k in range(10, 110)]]},
}


@pytest.mark.parametrize("name", LARGE)
def test_what_is_too_large_is_undecided(gnc: Run, name: str, tmp_path: Path) -> None:
    started = time.process_time()
    run = gnc("bounds", "--verify", saved(tmp_path, LARGE[name]), "--json")
    answer = json.loads(run.stdout)["certificate"]
    assert (run.exit_code, answer["status"]) == (4, "undecided") and answer["reason"]
    assert time.process_time() - started < 5.0


def test_exit_codes_in_a_pipe(tmp_path: Path) -> None:
    true, false = CROSS, CROSS | {"K": 7}
    command = f"{sys.executable} -m gnc_cli bounds --verify"
    for document, more, status in (
        (true, "", 0),
        (true, "--time-limit 1e-9", 4),
        (false, "-q", 5),
        (false, "--json", 5),
        ({}, "", 3),
    ):
        path = saved(tmp_path, document)
        line = f"{command} {path} {more} | cat; exit ${{PIPESTATUS[0]}}"
        run = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
        assert run.returncode == status, run.stderr
        assert "Traceback" not in run.stderr


def test_sheet_and_json(gnc: Run, tmp_path: Path) -> None:
    run = gnc("bounds", "--verify", saved(tmp_path, CROSS))
    assert run.exit_code == 0
    for part in ("proved", "d = 3, K >= 8", "has a cosine  > 0.1", "< 0.9"):
        assert part in run.stdout
    run = gnc("bounds", "--verify", saved(tmp_path, CROSS), "--json")
    jsonschema.Draft202012Validator(schemas.load("bounds")).validate(json.loads(run.stdout))
    run = gnc("bounds", "--verify", saved(tmp_path, CROSS | {"K": 7}), "--csv")
    assert (run.exit_code, run.stderr.count("\n")) == (5, 1)
    assert run.stderr.startswith("gnc: gate failed: --verify c.json (f(1) / f_0 is not below 7)")
    gates = ("--max", "upper=0.89")
    run = gnc("bounds", "--verify", saved(tmp_path, CROSS), *gates)
    assert run.exit_code == 5 and "upper" in run.stderr


def test_what_goes_together(tmp_path: Path) -> None:
    path = saved(tmp_path, CROSS)
    for more in ({"d": 3}, {"margin": 0.3}, {"lp": True}, {"plot": tmp_path / "a.png"}):
        with pytest.raises(UsageError, match="verify excludes"):
            bounds(verify=path, **more)  # type: ignore[arg-type]
    for question in ({"d": 3}, {"d": (3, 4), "K": 9}, {"d": 3, "K": (9, 10)}):
        with pytest.raises(UsageError, match="export"):
            bounds(export=tmp_path / "x.json", margin=0.5, **question)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no bound has a certificate"):
        bounds(2000, 10**4, export=tmp_path / "x.json")
    with pytest.raises(DataError, match="no such file"):
        bounds(verify=tmp_path / "missing.json")
    assert os.listdir(tmp_path) == ["c.json"]


def test_files_are_kept_and_packed_the_same_each_time(tmp_path: Path) -> None:
    path, packed = tmp_path / "c.json", tmp_path / "c.json.gz"
    bounds(8, 240, export=path)
    with pytest.raises(OutputError, match="exists"):
        bounds(7, 56, export=path)
    bounds(8, 240, export=packed)
    assert gzip.decompress(packed.read_bytes()) == path.read_bytes()
    before = packed.read_bytes()
    bounds(8, 240, export=packed, force=True)
    assert packed.read_bytes() == before
    assert status_of(str(packed)) == "proved"


def test_what_was_written_is_said(gnc: Run, tmp_path: Path) -> None:
    """The snub cube is proved the best, and no file proves it."""
    path = tmp_path / "c.json"
    result = bounds(3, 24, export=path)
    assert result.exported == bounds(verify=path).certificate
    assert result.exported is not None and result.exported.upper is not None
    assert result.exported.upper > result.best[0].upper
    for more in ((), ("-v",), ("--max-cosine", "0.5")):
        text = gnc("bounds", "--d", 3, "--K", 24, "--export", path, "--force", *more).stdout
        text = " ".join(text.split())
        assert "written" in text and "bound has no certificate" in text and "rho* < 0.28" in text
    text = gnc("bounds", "--d", 5, "--K", 16, "--export", path, "--force").stdout
    assert "written" in text and "the best bound" not in text
    assert "exported" not in bounds(3, 24).to_json()


def test_deadlines(gnc: Run, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    for more in ("--lp", "-q"):
        run = gnc("bounds", "--d", 9, "--K", 60, more, "--export", path, "--time-limit", "1e-9")
        assert run.exit_code == 2 and "the time limit came first" in run.stderr
    assert gnc("bounds", "--d", 5, "--K", 50, "--time-limit", 60, "--export", path).exit_code == 0
    assert gnc("bounds", "--d", 8, "--K", 100, "--time-limit", 60).exit_code == 0
    interrupt = threading.Event()
    interrupt.set()
    answer = verify(str(path), Deadline(None, interrupt))
    assert (answer.status, answer.reason) == ("undecided", "the check was interrupted")
    assert answer.upper is None


def test_stdin_and_options_given_twice(gnc: Run, tmp_path: Path) -> None:
    path = saved(tmp_path, CROSS)
    run = gnc("bounds", "--verify", "-", "--json", input=Path(path).read_bytes())
    assert json.loads(run.stdout)["certificate"]["status"] == "proved"
    run = gnc("bounds", "--verify", saved(tmp_path, {}, "x.json"), "--verify", path)
    assert run.exit_code == 2 and "--verify is given twice" in run.stderr


def test_reports(gnc: Run, tmp_path: Path) -> None:
    path = saved(tmp_path, CROSS | {"K": 7})
    for suffix, part in (("md", "not proved"), ("xml", "failure"), ("prom", 'status="not_proved"')):
        report = tmp_path / f"r.{suffix}"
        assert gnc("bounds", "--verify", path, "--report", report, "--force").exit_code == 5
        assert part in report.read_text()


def test_the_second_verifier_alone(gnc: Run, tmp_path: Path) -> None:
    """Both ends of one interval, and a file in which a digit differs, without any package."""
    code, lower, upper = (str(tmp_path / name) for name in ("c.h5", "lower", "upper.json.gz"))
    gnc("solve", "--d", 3, "--K", 24, "--construction", "snub-cube", "--out", code)
    assert gnc("compare", code, "--digits", 30, "--export", lower).exit_code == 0
    assert gnc("bounds", "--d", 3, "--K", 24, "--export", upper).exit_code == 0
    wrong = saved(tmp_path, CROSS | {"K": 7}, "wrong.json")
    command = [sys.executable, "-I", plain_verifier.__file__, lower, upper, wrong]
    run = subprocess.run(command, capture_output=True, text=True)
    first, second, third = run.stdout.splitlines()
    assert run.returncode == 1 and run.stderr == ""
    assert "24 points in 3 dimensions exist whose cosines are at most 36153923416675" in first
    assert "24 points in 3 dimensions: some cosine > " in second
    assert "not proved: f(1) < K f_0" in third
    coordinates = Path(lower, "coordinates.txt")
    coordinates.write_text(coordinates.read_text().replace("7", "8", 1))
    assert not plain_status(lower)
    for second, proves in (("-1 0 0", True), ("0 0 0", False)):
        coordinates.write_text(f"1 0 0\n{second}\n")
        hashed = sha256(coordinates.read_bytes()).hexdigest()
        Path(lower, "verified.txt").write_text(
            f"points 2\ndimension 3\ncosine_at_most 0\nsha256_of_coordinates {hashed}\n"
        )
        assert plain_status(lower) is proves
    cut = tmp_path / "cut.gz"
    cut.write_bytes(Path(upper).read_bytes()[:-9])
    empty = saved(tmp_path, CROSS | {"coefficients": []}, "empty.json")
    command[3:] = [str(cut), empty, str(tmp_path / "missing.json")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stdout.count("\n"), run.stderr) == (1, 3, "")


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "coefficients", [["0"], ["0", "0"], ["-1"], ["1"], ["0", "1"], ["-1", "1"]]
)
def test_polynomials_that_prove_nothing(
    coefficients: list[str], strict: bool, tmp_path: Path
) -> None:
    path = saved(tmp_path, CROSS | {"coefficients": coefficients, "strict": strict})
    assert (status_of(path), plain_status(path)) == ("not_proved", False)


QUARTERS = st.integers(-3, 3).map(lambda n: Fraction(n, 4))


@settings(max_examples=150, deadline=None)
@given(
    d=st.integers(2, 9),
    s=QUARTERS,
    roots=st.lists(QUARTERS, max_size=2),
    end=st.booleans(),
    more=st.integers(0, 1),
    strict=st.booleans(),
)
def test_both_verifiers_agree(
    d: int,
    s: Fraction,
    roots: list[Fraction],
    end: bool,
    more: int,
    strict: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """(t - s) (t - r)^2 ... (t + 1), at the number of points that it allows, or one more."""
    x = fmpq_poly([0, 1])
    f = x - fmpq(s.numerator, s.denominator)
    for root in roots:
        f *= (x - fmpq(root.numerator, root.denominator)) ** 2
    f *= x + 1 if end else 1
    coefficients = expansion(d, f)
    most = f(1) / coefficients[0] if coefficients[0] > 0 else fmpq(7)
    document = CROSS | {
        "d": d,
        "K": max(2, int(most.floor()) + more),
        "cosine": str(s),
        "strict": strict,
        "coefficients": [str(c) for c in coefficients],
    }
    path = saved(tmp_path_factory.mktemp("c"), document)
    status = status_of(path)
    assert status in ("proved", "not_proved")
    assert (status == "proved") is plain_status(path)
    valid = coefficients[0] > 0 and min(coefficients) >= 0
    if valid and more:
        assert status == "proved"
    if strict and not more:
        assert status == "not_proved"


# Sturm's theorem

SMALL = st.integers(-6, 6).map(lambda n: Fraction(n, 4))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(SMALL, st.integers(1, 3)), max_size=5),
    st.lists(SMALL, max_size=2),
    st.sampled_from([-1, 1]),
    SMALL.filter(lambda s: -1 < s),
)
def test_the_sign_of_a_polynomial(
    roots: list[tuple[Fraction, int]], pairs: list[Fraction], sign: int, high: Fraction
) -> None:
    """Products of (x - r)^m and (x - r)^2 + 1/1000, beside the other verifier and samples."""
    f = fmpq_poly([sign])
    x = fmpq_poly([0, 1])
    for root, multiplicity in roots:
        f *= (x - fmpq(root.numerator, root.denominator)) ** multiplicity
    for root in pairs:
        f *= (x - fmpq(root.numerator, root.denominator)) ** 2 + fmpq(1, 1000)
    samples = [
        fmpq(-1) + (fmpq(high.numerator, high.denominator) + 1) * fmpq(k, 97) for k in range(98)
    ]
    ours = nonpositive(f, high, Deadline())
    # The roots lie a quarter apart: between them every sign is seen.
    assert ours == all(f(at) <= 0 for at in samples)
    powers = [Fraction(int(c.p), int(c.q)) for c in f.coeffs()]
    assert ours == plain_verifier.at_most_zero(powers, Fraction(-1), high)
