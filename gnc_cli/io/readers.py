"""Reading a code from any file: the format is chosen by suffix, the dataset by name."""

import os

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue, load_matrix, load_vector
from gnc_cli.io.codefile import CodeFile, parse_provenance
from gnc_cli.io.formats import reader_for
from gnc_cli.io.inputs import open_input, split_key

__all__ = ["collect", "read_points"]


def read_points(path: str | os.PathLike[str]) -> CodeFile:
    """The code in any file gnc can read; rows as they are stored, not normalised.

    The weights are the dataset `weights`, else `W`, else the only matrix; `FILE:key` names another.
    Features come along where they have one row a class or the file is a code of ours; bias too.

    Args:
        path: a file, `FILE:key`, or `-` for HDF5 on stdin.

    Raises:
        DataError: the file is missing, damaged, of another format, or holds no usable code.
    """
    name, key = split_key(os.fspath(path))
    with open_input(name) as file, reader_for(name, file)(file, name) as catalogue:
        return collect(catalogue, key)


def collect(catalogue: Catalogue, key: str | None = None) -> CodeFile:
    """Load the code from a catalogue and, unless `key` picks one dataset, what belongs to it.

    Raises:
        DataError: see `read_points`.
    """
    weights = load_matrix(catalogue, catalogue.find_code(key))
    attrs = {k: v for k, v in catalogue.attrs.items() if k not in ("gnc_format", "kind")}
    provenance = parse_provenance(attrs.pop("provenance", None))
    features = labels = bias = None
    entries = {} if key is not None else catalogue.entries
    ours = catalogue.attrs.get("kind") == "code"
    if "features" in entries and (ours or entries["features"].shape == weights.shape):
        features = load_matrix(catalogue, "features")
        if "labels" in entries:
            labels = _labels(catalogue, len(features), len(weights))
    if "bias" in entries:
        bias = load_vector(catalogue, "bias", len(weights)).astype(np.float64)
    return CodeFile(weights, features, labels, bias, attrs, provenance)


def _labels(catalogue: Catalogue, N: int, K: int) -> np.ndarray:
    labels = load_vector(catalogue, "labels", N)
    where = f"{catalogue.path!r}: dataset 'labels'"
    bad = np.flatnonzero((labels != np.floor(labels)) | (labels < 0) | (labels >= K))
    if bad.size:
        raise DataError(
            f"{where} has {bad.size} value(s) that are no class, the first is {labels[bad[0]]} at "
            f"row {bad[0]}; expected integers from 0 to {K - 1}"
        )
    return labels.astype(np.int64)
