"""Pickles byte for byte as Python 2 and its NumPy wrote them, protocol 2: the layout of CIFAR."""

import struct
from typing import Any

import numpy as np


def dumps(value: Any) -> bytes:
    """Dicts, lists, ints below 2**31, byte strings and uint8 arrays; texts become byte strings."""
    return b"\x80\x02" + _put(value) + b"."


def _put(value: Any) -> bytes:
    if isinstance(value, dict):
        pairs = b"".join(_put(k) + _put(v) for k, v in value.items())
        return b"}(" + pairs + b"u"
    if isinstance(value, list):
        return b"](" + b"".join(_put(item) for item in value) + b"e"
    if isinstance(value, str):
        return _put(value.encode())
    if isinstance(value, bytes):  # SHORT_BINSTRING, BINSTRING: Python 3 writes neither
        short = len(value) < 256
        size = b"U" + bytes([len(value)]) if short else b"T" + struct.pack("<i", len(value))
        return size + value
    if isinstance(value, np.ndarray):
        assert value.dtype == np.uint8
        shape = b"(" + b"".join(_put(n) for n in value.shape) + b"t"
        reconstruct = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"
        dtype = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        dtype += b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        state = b"(K\x01" + shape + dtype + b"\x89" + _put(value.tobytes()) + b"t"
        return reconstruct + b"K\x00\x85U\x01b\x87R" + state + b"b"
    return b"J" + struct.pack("<i", value)
