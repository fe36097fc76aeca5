"""What `solve` refuses, with which error, in one line that quotes the value."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli.errors import DataError, GncError, UsageError
from gnc_cli.parameters import declared
from gnc_cli.search.api import solve
from gnc_cli.search.instance import fixed_rows, start_rows
from gnc_cli.search.request import Solve
from tests.problems import icosahedron

DECLARED = declared(solve)


def request(d: Any = 3, K: Any = 12, **options: Any) -> tuple[Any, Any]:
    """The fixed rows and the start of a call, as `solve` reads them."""
    values = options | {"d": d, "K": K}
    call = Solve(**{name: DECLARED[name].read(name, value) for name, value in values.items()})
    rows = fixed_rows(call.fixed, call.d, call.K)
    return rows, start_rows(call.init, call.d, call.K, call.seed)


BAD: list[tuple[dict[str, Any], type[GncError], str]] = [
    ({"d": 2.5}, UsageError, "d 2.5 is not a whole number"),
    ({"problem": "max"}, UsageError, "softmax, tammes, ufm"),
    ({"restarts": 0}, UsageError, "restarts=0 requires init; add init"),
    ({"problem": "ufm"}, UsageError, "add tau=0.1 (or weight_decay)"),
    ({"weight_decay": 0.1}, UsageError, "weight_decay requires problem='ufm'; add problem"),
    ({"problem": "ufm", "tau": [0.1, -1.0]}, UsageError, "tau -1"),
    (
        {"problem": "ufm", "tau": 1.0, "fixed": np.eye(3)},
        UsageError,
        "fixed excludes problem='ufm'",
    ),
    (
        {"problem": "lines", "construction": "snub-cube"},
        UsageError,
        "construction excludes problem='lines'; drop problem='lines'",
    ),
    ({"resume": True}, UsageError, "add out='code.h5'"),
    ({"steps": 60}, UsageError, "steps requires K > 2896 or problem='ufm'; set the effort"),
    ({"symmetry": "antipodal:3"}, UsageError, "'antipodal:3'"),
    ({"symmetry": "cyclic:1000000"}, UsageError, "longer than K=12"),
    ({"symmetry": "antipodal", "init": icosahedron()}, UsageError, "init excludes symmetry"),
    ({"K": 3000, "restarts": 5}, UsageError, "restarts requires K up to 2896, as K = 3000 is"),
    ({"fixed": np.eye(3), "K": 3}, UsageError, "fixed holds 3 rows and K = 3"),
    ({"fixed": np.eye(3)[[0, 1, 0]]}, DataError, "coincides with another"),
    ({"fixed": np.ones((3, 5))}, DataError, "transposed"),
    ({"fixed": np.zeros((2, 3))}, DataError, "row 0"),
    ({"fixed": [[1.0, 0.0, 0.0], [np.nan, 0.0, 0.0]]}, DataError, "row 1"),
    ({"init": np.eye(3)}, DataError, "init holds 3 rows, K = 12"),
    ({"init": "nowhere.npy"}, DataError, "nowhere.npy"),
]


@pytest.mark.parametrize(("options", "error", "words"), BAD, ids=lambda v: str(v)[:40])
def test_refusals(options: dict[str, Any], error: type[GncError], words: str) -> None:
    with pytest.raises(error) as caught:
        request(**options)
    message = str(caught.value)
    assert words in message and "\n" not in message


def test_rows_become_unit_and_unit_rows_stay() -> None:
    rows = np.array([[3.0, 4.0, 0.0], [0.8, 0.6, 0.0]])
    rows[1, 0] = np.nextafter(0.8, 1.0)
    kept = rows.copy()
    made, _ = request(fixed=rows)
    np.testing.assert_allclose(made[0], [0.6, 0.8, 0.0], atol=1e-16)
    assert np.array_equal(made[1], rows[1])
    assert np.array_equal(rows, kept)  # the caller's array is left alone


def test_rows_from_files_of_any_float(tmp_path: Path) -> None:
    file = tmp_path / "given.npy"
    np.save(file, (10.0 * icosahedron()[:4]).astype(np.float32))
    made, _ = request(fixed=str(file))
    assert made.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1.0, atol=1e-15)
    with pytest.raises(DataError, match="given.npy"):
        request(d=4, init=str(file))
