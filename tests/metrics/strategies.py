"""Features, labels and classifiers of every awkward kind, as a hypothesis strategy."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

__all__ = ["CollapseData", "collapse_data"]

FEATURE_DTYPES = ("float64", "float32", "float16", ">f4")
LABEL_DTYPES = ("int64", "int8", "uint16", ">i4", "<u8")
NOISE = (0.0, 1e-7, 1e-3, 0.3, 2.0)


@dataclass(frozen=True, eq=False)
class CollapseData:
    """As a file would hold it: stored dtypes, nothing normalised."""

    features: np.ndarray
    """(N, d), no zero rows; float16, float32 or float64, also big-endian."""
    labels: np.ndarray
    """(N,), integers from 0 to K - 1 of any width and byte order; classes may be missing."""
    W: np.ndarray
    """(K, d) float64, no zero rows."""
    bias: np.ndarray
    """(K,) float64."""
    K: int
    about: str
    """Which kinds it mixes, for the failure report."""

    @property
    def rows(self) -> np.ndarray:
        """Features as float64 of this machine."""
        return np.asarray(self.features, dtype=np.float64)

    @property
    def classes(self) -> np.ndarray:
        """Labels as int64 of this machine."""
        return np.asarray(self.labels, dtype=np.int64)

    def __repr__(self) -> str:
        return f"CollapseData({self.about})"


@st.composite
def collapse_data(draw: st.DrawFn, largest_K: int = 9, largest_d: int = 6) -> CollapseData:
    """Small sets of features with a classifier.

    Drawn apart and mixed freely: K <= d + 1 and K > d + 1; balanced, unbalanced, one sample a
    class, missing classes; spread within the classes from 0 over 1e-7 (collapse) to 2; an offset
    shared by all rows; weights equal to the class centres or not, two of them equal, or one inside
    the hull of the others; samples given twice; storage types of features and labels.
    """
    K = draw(st.integers(2, largest_K), label="K")
    d = draw(st.integers(1, largest_d), label="d")
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    counts_kind = draw(st.sampled_from(["balanced", "unbalanced", "ones", "missing"]))
    noise = draw(st.sampled_from(NOISE), label="noise")
    offset = draw(st.sampled_from([0.0, 0.0, 3.0]), label="offset")
    weights_kind = draw(st.sampled_from(["centres", "free", "equal pair", "inside hull"]))
    twice = draw(st.booleans(), label="samples twice")
    features_dtype = draw(st.sampled_from(FEATURE_DTYPES))
    labels_dtype = draw(st.sampled_from(LABEL_DTYPES))

    counts = {
        "balanced": np.full(K, 3),
        "unbalanced": rng.integers(1, 8, K),
        "ones": np.ones(K, dtype=int),
        "missing": rng.integers(0, 4, K),
    }[counts_kind]
    counts[rng.integers(K)] += counts.sum() == 0
    centres = rng.standard_normal((K, d))
    labels = np.repeat(np.arange(K), counts)
    features = centres[labels] + noise * rng.standard_normal((len(labels), d)) + offset
    if twice:
        features, labels = np.concatenate([features] * 2), np.concatenate([labels] * 2)
    order = rng.permutation(len(labels))
    features, labels = features[order].astype(features_dtype), labels[order].astype(labels_dtype)
    features[~np.any(features, axis=1)] = 1.0

    W = centres * rng.uniform(0.5, 2.0, (K, 1)) if weights_kind == "centres" else None
    W = rng.standard_normal((K, d)) if W is None else W
    if weights_kind == "equal pair":
        W[K - 1] = W[0]
    if weights_kind == "inside hull" and K > 2:
        W[0] = W[1:].mean(axis=0)
    about = (
        f"K={K}, d={d}, counts={counts.tolist()}, noise={noise}, offset={offset}, "
        f"weights {weights_kind}, twice={twice}, {features_dtype}, {labels_dtype}"
    )
    return CollapseData(features, labels, W, 0.3 * rng.standard_normal(K), K, about)
