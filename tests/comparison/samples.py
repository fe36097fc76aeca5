"""Codes for the tests of `compare`, and the one row of a result as its schema wants it."""

import jsonschema
import numpy as np
from scipy.linalg import hadamard

from gnc_cli import schemas
from gnc_cli.comparison.result import CompareResult, FileRow
from gnc_cli.constructions.registry import find

VALIDATOR = jsonschema.Draft202012Validator(schemas.load("compare"))


def built(name: str) -> np.ndarray:
    """The rows of a construction."""
    code = find(name)
    assert code is not None
    return np.asarray(code.build())


def two_bases() -> np.ndarray:
    """16 rows in 4 dimensions: two mutually unbiased bases, signed; largest cosine 1/2."""
    bases = np.concatenate([np.eye(4), hadamard(4) / 2])
    return np.concatenate([bases, -bases])


def turned(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same code: rotated, reflected, reordered, and not of unit length."""
    rotation, _ = np.linalg.qr(rng.standard_normal((rows.shape[1],) * 2))
    lengths = rng.uniform(0.5, 2.0, (len(rows), 1))
    return rng.permutation(rows @ rotation * lengths)


def only(result: CompareResult) -> FileRow:
    """The row of a result of one file."""
    VALIDATOR.validate(result.to_json())
    (row,) = result.rows
    assert isinstance(row, FileRow)
    return row
