"""Pickles: what Python 2 and 3 wrote comes back; whatever wants to act is named and refused."""

import io
import os
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.training.data.restricted_pickle import load_plain
from tests.training.data.python2_pickle import dumps


def load(data: bytes) -> Any:
    return load_plain(io.BytesIO(data), "batch")


class Acting:
    def __init__(self, function: Any, *args: Any) -> None:
        self.call = (function, args)

    def __reduce__(self) -> Any:
        return self.call


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(plain)
def test_plain_values_of_python_3(value: Any) -> None:
    assert load(pickle.dumps(value)) == value


@pytest.mark.parametrize("package", ["numpy.core", "numpy._core"])
def test_python_2_under_both_names(package: str) -> None:
    data = np.arange(12, dtype=np.uint8).reshape(3, 4)
    found = load(dumps({b"data": data, b"labels": [0, 300, 70000]}, package))
    assert found[b"labels"] == [0, 300, 70000]
    assert np.array_equal(found[b"data"], data) and found[b"data"].dtype == np.uint8


@pytest.mark.parametrize("dtype", ["<u1", ">i4", "<f8", "?", "<i8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_python_3(dtype: str, order: Any) -> None:
    array = np.asarray(np.arange(6).reshape(2, 3), dtype=dtype, order=order)
    found = load(pickle.dumps([array], protocol=4))[0]
    assert np.array_equal(found, array) and found.dtype == array.dtype.newbyteorder("=")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Acting(os.system, "true"), "posix.system"),
        (Acting(eval, "1"), "__builtin__.eval"),
        (Acting(np.load, "x"), "numpy.load"),
        (np.float64(1.0), "multiarray.scalar"),
        ({1, 2}, "__builtin__.set"),
    ],
)
def test_what_acts_is_named(value: Any, name: str) -> None:
    with pytest.raises(DataError, match=rf"'batch' wants to build .*{name}"):
        load(pickle.dumps(value, protocol=2))


@pytest.mark.parametrize(
    "dtype", [np.dtype("O"), np.dtype("U3"), np.dtype([("a", "i4")]), np.dtype("M8[s]")]
)
def test_arrays_of_other_things(dtype: np.dtype) -> None:
    with pytest.raises(DataError, match="no number|fields"):
        load(pickle.dumps(np.zeros(2, dtype), protocol=4))


def _array(state: bytes) -> bytes:
    """A pickled array with a state of one's own."""
    begin = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"
    return begin + b"K\x00\x85U\x01b\x87R" + state + b"b."


U1 = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"


@pytest.mark.parametrize(
    "state",
    [
        b"(K\x01K\x7f\x85" + U1 + b"\x89U\x02abt",  # 127 numbers in two bytes
        b"(K\x01J\xff\xff\xff\xff\x85" + U1 + b"\x89U\x02abt",  # -1 numbers
        b"(K\x01K\x02\x85" + U1 + b"\x89]t",  # a list of objects
        b"(K\x01K\x02\x85U\x02u1\x89U\x02abt",  # no dtype
        b"}",
        b"N}U\x04dataK\x00s\x86",  # attributes of the array
    ],
)
def test_states_that_lie(state: bytes) -> None:
    assert np.array_equal(load(_array(b"(K\x01K\x02\x85" + U1 + b"\x89U\x02abt")), [97, 98])
    with pytest.raises(DataError, match="batch"):
        load(_array(state))


def test_stand_ins_take_no_attributes() -> None:
    for name in (b"numpy\nndarray", b"numpy\ndtype", b"numpy.core.multiarray\n_reconstruct"):
        for state in (b"}U\x01aK\x01s", b"N}U\x01aK\x01s\x86"):
            with pytest.raises(DataError, match="cannot be read"):
                load(b"\x80\x02c" + name + b"\n" + state + b"b.")


@given(st.binary(max_size=40))
def test_rubbish(data: bytes) -> None:
    try:
        load(b"\x80\x02" + data)
    except DataError as error:
        assert "\n" not in str(error)
