"""What `solve` refuses, with which error, in one line that quotes the value."""

from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli.errors import DataError, GncError, UsageError
from gnc_cli.parameters import declared
from gnc_cli.search import api
from gnc_cli.search.request import Request
from tests.problems import icosahedron

DECLARED = declared(api.solve)


def request(d: Any = 3, K: Any = 12, **options: Any) -> Request:
    """As `solve` makes it."""
    values = options | {"d": d, "K": K}
    return Request(**{name: DECLARED[name].read(name, value) for name, value in values.items()})


def test_defaults_are_those_of_solve() -> None:
    parameters = signature(api.solve).parameters
    for field in fields(Request):
        assert field.default == (parameters[field.name].default or field.default)
    assert len(fields(Request)) == len(parameters)


BAD: list[tuple[dict[str, Any], type[GncError], str]] = [
    ({"d": 1}, UsageError, "d 1 is too small; give at least 2"),
    ({"K": 1}, UsageError, "K 1 is too small"),
    ({"d": 2.5}, UsageError, "d 2.5 is not a whole number"),
    ({"K": "ten"}, UsageError, "'ten'"),
    ({"K": True}, UsageError, "True"),
    ({"d": np.nan}, UsageError, "nan"),
    ({"K": np.inf}, UsageError, "inf"),
    ({"problem": "max"}, UsageError, "softmax, tammes, ufm"),
    ({"method": "magic"}, UsageError, "auto, descent"),
    ({"seed": -1}, UsageError, "seed -1 is too small"),
    ({"seed": 0.5}, UsageError, "seed 0.5"),
    ({"restarts": -1}, UsageError, "restarts -1"),
    ({"restarts": 0}, UsageError, "add init"),
    ({"steps": 0}, UsageError, "steps 0"),
    ({"steps": 1.5}, UsageError, "steps 1.5"),
    ({"target": np.nan}, UsageError, "target nan"),
    ({"target": "high"}, UsageError, "'high'"),
    ({"problem": "ufm"}, UsageError, "tau=0.1"),
    ({"tau": 0.1}, UsageError, "not softmax"),
    ({"n": 2}, UsageError, "not softmax"),
    ({"weight_decay": 0.1}, UsageError, "not softmax"),
    ({"problem": "ufm", "tau": 0.0}, UsageError, "tau 0.0"),
    ({"problem": "ufm", "tau": [0.1, -1.0]}, UsageError, "tau -1"),
    ({"problem": "ufm", "tau": np.nan}, UsageError, "tau nan"),
    ({"problem": "ufm", "tau": "hot"}, UsageError, "'hot'"),
    ({"problem": "ufm", "tau": []}, UsageError, "empty"),
    ({"problem": "ufm", "tau": 1.0, "n": 0}, UsageError, "n 0"),
    ({"problem": "ufm", "weight_decay": -1.0}, UsageError, "weight_decay -1"),
    ({"problem": "ufm", "tau": 1.0, "target": 0.5}, UsageError, "target=0.5"),
    ({"problem": "ufm", "tau": 1.0, "fixed": np.eye(3)}, UsageError, "fixed"),
    ({"problem": "ufm", "tau": 1.0, "symmetry": "antipodal"}, UsageError, "symmetry"),
    ({"steps": 60}, UsageError, "steps=60 is for K beyond 2896 and ufm; set the effort"),
    ({"symmetry": "mirror"}, UsageError, "'mirror'"),
    ({"symmetry": "antipodal:3"}, UsageError, "'antipodal:3'"),
    ({"symmetry": "cyclic"}, UsageError, "cyclic:n"),
    ({"symmetry": "cyclic:1"}, UsageError, "'cyclic:1'"),
    ({"symmetry": "cyclic:\u00b2"}, UsageError, "cyclic:n"),
    ({"symmetry": "cyclic:1000000"}, UsageError, "longer than K=12"),
    ({"symmetry": "antipodal", "fixed": np.eye(3)}, UsageError, "exclude each other"),
    ({"symmetry": "antipodal", "init": icosahedron()}, UsageError, "exclude each other"),
    ({"K": 3000, "symmetry": "antipodal"}, UsageError, "K = 2896"),
    ({"K": 3000, "problem": "ufm", "tau": 0.1}, UsageError, "K = 2896"),
    ({"K": 3000, "restarts": 5}, UsageError, "restarts=5 is for K = 2896 at most; K = 3000 is one"),
    ({"fixed": np.eye(3), "K": 3}, UsageError, "fixed holds 3 rows and K = 3"),
    ({"fixed": np.eye(4)}, DataError, "(4, 4)"),
    ({"fixed": np.ones((3, 5))}, DataError, "transposed"),
    ({"fixed": np.zeros((2, 3))}, DataError, "row 0"),
    ({"fixed": [[1.0, 0.0, 0.0], [np.nan, 0.0, 0.0]]}, DataError, "row 1"),
    ({"fixed": [[1.0, 0.0, 0.0], [np.inf, 0.0, 0.0]]}, DataError, "row 1"),
    ({"fixed": [["a", "b", "c"]]}, DataError, "numbers"),
    ({"fixed": [[1.0, 0.0, 0.0], [1.0]]}, DataError, "rows of one length, got 3 and 1"),
    ({"init": np.eye(3)}, DataError, "init holds 3 rows, K = 12"),
    ({"init": 5}, DataError, "()"),
    ({"init": "nowhere.npy"}, DataError, "nowhere.npy"),
]


@pytest.mark.parametrize(("options", "error", "words"), BAD, ids=lambda v: str(v)[:40])
def test_refusals(options: dict[str, Any], error: type[GncError], words: str) -> None:
    with pytest.raises(error) as caught:
        request(**options)
    message = str(caught.value)
    assert words in message and "\n" not in message


@pytest.mark.parametrize("K, large", [(2896, False), (2897, True)])
def test_where_large_begins(K: int, large: bool) -> None:
    made = request(K=K)
    assert made.large is large and made.may_use_closed_form


@pytest.mark.parametrize(
    "options",
    [
        {"method": "descent"},
        {"problem": "ufm", "tau": 1.0},
        {"init": icosahedron()},
        {"fixed": np.eye(3)},
        {"symmetry": "antipodal"},
    ],
)
def test_what_asks_for_a_descent(options: dict[str, Any]) -> None:
    assert not request(**options).may_use_closed_form


def test_whole_numbers_may_be_floats_or_numpys() -> None:
    made = request(
        3.0,
        np.int64(12),
        restarts=8.0,
        steps=np.float64(10),
        seed=np.uint8(3),
        problem="ufm",
        tau=1,
    )
    for value in (made.d, made.K, made.restarts, made.steps, made.seed):
        assert type(value) is int


def test_rows_become_unit_and_unit_rows_stay() -> None:
    rows = np.array([[3.0, 4.0, 0.0], [0.8, 0.6, 0.0]])
    rows[1, 0] = np.nextafter(0.8, 1.0)
    kept = rows.copy()
    made = request(fixed=rows)
    assert made.fixed is not None
    np.testing.assert_allclose(made.fixed[0], [0.6, 0.8, 0.0], atol=1e-16)
    assert np.array_equal(made.fixed[1], rows[1])
    assert np.array_equal(rows, kept)  # the caller's array is left alone


def test_symmetries_and_temperatures() -> None:
    assert request(symmetry="antipodal").group == ("antipodal", 2)
    assert request(symmetry="cyclic:4").group == ("cyclic", 4)
    assert request(problem="ufm", tau=0.1).tau == (0.1,)
    assert request(problem="ufm", tau=[1, 0.5]).tau == (1.0, 0.5)
    assert request(problem="ufm", weight_decay=0.1).tau == ()


def test_rows_from_files_of_any_float(tmp_path: Path) -> None:
    file = tmp_path / "given.npy"
    np.save(file, (10.0 * icosahedron()[:4]).astype(np.float32))
    made = request(fixed=str(file))
    assert made.fixed is not None and made.fixed.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(made.fixed, axis=1), 1.0, atol=1e-15)
    with pytest.raises(DataError, match="given.npy"):
        request(d=4, init=str(file))
