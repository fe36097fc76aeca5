"""Catalogue of the datasets of a file, and the checks before one of them is loaded.

Every reader turns its file into a `Catalogue`. Datasets are chosen, checked and refused here, once
for all formats, also by the names that other programs give to features, labels and classifiers.
"""

import contextlib
import hashlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from gnc_cli.errors import DataError, GncError
from gnc_cli.io.inputs import memory_limit
from gnc_cli.parsing import abridge

MAX_ENTRIES = 100_000
"""Largest number of datasets of a file; the largest models have fewer tensors in all files."""
GROUP = "is a group, not a dataset"
"""Problem of an entry that is a group."""
NO_PARAMETER = re.compile(r"(^|[./])(optim\w*|exp_avg\w*|momentum\w*|state|lora_\w+)([./]|$)")
"""Names in a checkpoint that are not parameters of the model: of an optimizer, of LoRA."""
WORDS = "words"
"""Dtype of texts that can number classes."""
_QUANTISED_DTYPES = ("int8", "uint8")
"""Dtypes of quantised weights, whose values depend on scales and offsets."""
_NOT_A_CODE = ("features", "H", "logits")
"""Names of matrices that are not a code."""
_MAX_LISTED_NAMES = 12
"""Largest number of names that a message lists."""
EMBEDDINGS = (
    "decoder.embed_tokens.weight",
    "embed_tokens.weight",
    "wte.weight",
    "word_embeddings.weight",
    "embed_in.weight",
    "tok_embeddings.weight",
    "word_embedding.weight",
    "shared.weight",
    "backbone.embeddings.weight",
    "backbone.embedding.weight",
    "rwkv.embeddings.weight",
    "model.embeddings.weight",
    "transformer.embeddings.weight",
    "transformer.w.weight",
    "tokens_embed.weight",
)
"""Endings of the names of input embeddings, which language models with a tied head use twice."""
NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "features": (
        ("features",),
        ("H",),
        ("feats", "embeddings", "embedding"),
        ("X", "x"),
    ),
    "labels": (("labels",), ("y", "targets", "target", "label")),
    "weights": (
        ("weights",),
        ("W",),
        (
            "weight",
            "classifier",
            "prototypes",
            "fc.weight",
            "head.weight",
            "head.fc.weight",
            "classifier.weight",
            "lm_head.weight",
            "output.weight",
            "embed_out.weight",
            "fc_weight",
            "fc_weights",
            "fc_w",
            "head_weight",
            "head_weights",
            "classifier_weight",
            "classifier_weights",
            "kernel",
            "fc.kernel",
            "head.kernel",
            "classifier.kernel",
            "lm_head.kernel",
            "output.kernel",
        ),
        (
            *EMBEDDINGS,
            "transformer.wte.weight",
            "embeddings.word_embeddings.weight",
            "transformer.word_embeddings.weight",
        ),
    ),
    "bias": (
        ("bias", "biases"),
        ("b",),
        (
            "fc.bias",
            "head.bias",
            "classifier.bias",
            "lm_head.bias",
            "fc_bias",
            "fc_b",
            "head_bias",
            "classifier_bias",
        ),
    ),
    "logits": (("logits",), ("logit", "scores")),
}
"""Names by role, in tiers: a name of an earlier tier wins, two of one tier are ambiguous.

The last tier of weights are input embeddings.
"""
WEIGHT_WORDS = ("weight", "weights", "w", "W", "kernel")
"""Last words of the names of weights."""
BIAS_WORDS = ("bias", "biases", "b")
"""Last words of the names of biases, behind a dot, a slash or an underscore: `fc_bias`."""
_BLOCKS, _BLOCK_BYTES = 32, 1 << 15
"""Number of blocks that represent a dataset, and the bytes of each as float64: 1 MB in all."""
_MAX_DIGEST_BYTES = 1 << 26
"""Largest dataset, in bytes as float64, that is read as a whole to detect a change.

It is hashed in a fraction of a second.
"""
_NAME_SUFFIX = re.compile(r"(:\d+)?(:(bf16|int))?$")
"""Suffix of a name: the output number of TensorFlow and the reading of 16-bit numbers."""
READINGS = ("bf16", "int")
"""Readings of 16-bit whole numbers, in `FILE:KEY:bf16` and `FILE:KEY:int`."""
SIXTEEN_BITS = re.compile(r"u?int16|[<>=]?[iu]2")
"""Dtypes of 16-bit whole numbers."""
_TEXT_DTYPES = re.compile(rf"[<>|]?[SU]\d*$|object|str|{WORDS}$")
"""Dtypes of texts."""


@dataclass(frozen=True)
class Entry:
    """Dataset of a file, not loaded yet."""

    shape: tuple[int, ...]
    dtype: str
    real: bool
    """True for integers and floating-point numbers, which convert to float64."""
    load: Callable[[], np.ndarray]
    problem: str | None = None
    """Reason why it cannot be read: `GROUP`, `is an external link to ...`."""
    read: Callable[[int, int], np.ndarray] | None = None
    """Function that reads rows start to stop, in any thread; None if only all can be read."""
    step: int = 1
    """Number of rows that the file stores together: reading fewer takes as long."""
    shape_warning: Callable[[], str | None] | None = None
    """Function that returns why the declared shape cannot be right, from the storage layout."""
    remedy: str = "copy the numbers into a dataset of this file"
    """Next step that solves the problem."""
    note: str | None = None
    """Note on the reading, such as the number of parts that were joined."""
    question: str | None = None
    """Reason why it may be features with labels as well as a code, and the option that decides."""
    in_order: bool = False
    """True if rows can only be read after all earlier ones."""

    @classmethod
    def refused(cls, problem: str, remedy: str = remedy) -> "Entry":
        """Return an entry that is listed and never read."""
        return cls((), "none", False, lambda: np.empty(0), problem, remedy=remedy)

    def fingerprint(self) -> str | None:
        """Return a digest of shape, dtype and numbers.

        A large dataset is represented by evenly spaced blocks of rows, between which a change is
        not detected. None if the dataset is large and the format has only the whole.
        """
        digest = hashlib.sha256(f"{self.shape} {self.dtype} {self.problem}".encode())
        size = 8 * math.prod(self.shape)
        whole = self.read is None or self.in_order
        if whole and size > _MAX_DIGEST_BYTES:
            return None
        if whole or size <= _BLOCKS * _BLOCK_BYTES:
            blocks = iter([self.load()])
        else:
            assert self.read is not None
            N, rows = self.shape[0], max(1, _BLOCK_BYTES * self.shape[0] // size)
            starts = dict.fromkeys((N - rows) * i // (_BLOCKS - 1) for i in range(_BLOCKS))
            blocks = (self.read(start, start + rows) for start in starts)
        for block in blocks:
            digest.update(
                repr(block.tolist()).encode() if block.dtype == object else block.tobytes()
            )
        return digest.hexdigest()

    def __str__(self) -> str:
        return self.problem or f"{self.shape} {self.dtype}"


@dataclass(frozen=True)
class Catalogue:
    """Datasets of a file by name, with the attributes of the file."""

    path: str
    """Path as the user wrote it, for messages."""
    entries: dict[str, Entry]
    """Datasets by name."""
    attrs: dict[str, Any] = field(default_factory=dict)
    snapshots: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Groups with their attributes, by name: those of `/snapshots` of an HDF5 file, else those of
    its root that are called `epoch_10` and the like; `measure` adds groups that hold features."""
    snapshots_prefix: str = "snapshots/"
    """Prefix of the names of snapshots."""
    read_attributes: Callable[[str], dict[str, Any]] = lambda group: {}
    """Function that returns the attributes of a group."""
    state: dict[str, Any] | None = None
    """Attributes of the group `/state` of an HDF5 file; None without one."""
    prefixes: dict[str, str] = field(default_factory=dict)
    """Prefixes of the names in snapshots that are groups with features, by snapshot."""

    def location(self, name: str) -> str:
        """Return the name of a dataset in messages: `'a.h5': dataset 'features'`."""
        return f"{self.path!r}: dataset {abridge([repr(name)])}"

    def snapshot_prefix(self, snapshot: str) -> str:
        """Return the prefix of the names of a snapshot's datasets."""
        return self.prefixes.get(snapshot, f"{self.snapshots_prefix}{snapshot}/")

    def find_dataset(self, key: str) -> str:
        """Find the dataset of `FILE:key`: the one of that name, else the only one that ends in it.

        `head.weight` is enough for `state_dict.module.head.weight`.

        Raises:
            DataError: there is none, or there are several; the message lists them.
        """
        name = key if key in self.entries else key.strip("/")
        if name in self.entries:
            return name
        stem, _, reading = name.rpartition(":")
        if reading in READINGS and stem:
            name = f"{self.find_dataset(stem)}:{reading}"
            self.entries[name] = _with_reading(self.entries[self.find_dataset(stem)], reading, name)
            return name
        matches = [
            other
            for other, entry in self.entries.items()
            if other.endswith((f".{name}", f"/{name}")) and entry.problem != GROUP
        ]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise DataError(
                f"{self.path!r} has several datasets whose names end in {key!r}: "
                f"{abridge([*map(repr, matches)], _MAX_LISTED_NAMES)}; write the whole name"
            )
        raise DataError(f"{self.path!r} has no dataset {abridge([repr(key)])}; it holds {self}")

    def find_code(self, key: str | None) -> str:
        """Find the name of the code: `key`, else `weights`, else `W`, else the only matrix.

        Raises:
            DataError: there is none, or there are several; the message lists the datasets.
        """
        if key is not None:
            return self.find_dataset(key)
        names: list[str] = [name for name in ("weights", "W") if name in self.entries]
        if len(self.entries) == 1 and not self.entries.keys() & set(_NOT_A_CODE):
            names = [*self.entries]  # the checks report what is wrong with it
        matrices = names[:1] or [
            name
            for name, entry in self.entries.items()
            if entry.real
            and len(entry.shape) == 2
            and name not in _NOT_A_CODE
            and not name.startswith(("state/", "snapshots/"))
        ]
        if len(matrices) == 1:
            return matrices[0]
        if not self.entries:
            raise DataError(f"{self.path!r} holds no datasets; expected a code of shape (K, d)")
        content = "several matrices" if matrices else "no dataset 'weights'"
        raise DataError(f"{self.path!r} has {content}; choose with {self.path}:KEY among {self}")

    def __str__(self) -> str:
        items = [
            f"{name!r} {self.entries[name]}"
            for name in sorted(self.entries, key=lambda name: bool(NO_PARAMETER.search(name)))
            if self.entries[name].problem is None
        ]
        items += [
            f"{name!r} ({entry})"
            for name, entry in self.entries.items()
            if entry.problem not in (None, GROUP)
        ]
        return abridge(items, _MAX_LISTED_NAMES) or "nothing"


def _with_reading(entry: Entry, reading: str, name: str) -> Entry:
    """Read 16-bit whole numbers as the bits of bfloat16, or as numbers.

    Raises:
        DataError: the dataset has another dtype.
    """
    if SIXTEEN_BITS.fullmatch(entry.dtype) is None:
        raise DataError(f"{name!r}: the dataset has dtype {entry.dtype}, not 16-bit whole numbers")
    if reading == "int":
        return replace(entry, dtype="int32")

    def decode(read_bits: Callable[..., np.ndarray], *rows: int) -> np.ndarray:
        bits = read_bits(*rows).astype(np.uint16).astype(np.uint32)
        return (bits << np.uint32(16)).view(np.float32)

    read = entry.read and partial(decode, entry.read)
    return replace(entry, dtype="bfloat16", load=partial(decode, entry.load), read=read)


def is_kernel(name: str) -> bool:
    """Return whether weights are (d, K) by their name, as in Keras, Flax and TensorFlow.

    >>> is_kernel("dense/kernel:0"), is_kernel("head.weight")
    (True, False)
    """
    return re.split(r"[./_]", _NAME_SUFFIX.sub("", name))[-1] == "kernel"


def check_bits(catalogue: Catalogue, name: str) -> None:
    """Refuse 16-bit whole numbers, which may be numbers or the bits of bfloat16.

    Raises:
        DataError: the dataset has such numbers, and its name does not say how to read them.
    """
    key, dtype = f"{catalogue.path}:{name}", catalogue.entries[name].dtype
    if SIXTEEN_BITS.fullmatch(dtype):
        raise DataError(
            f"{catalogue.location(name)} has dtype {dtype}, which may be whole numbers or the bits "
            f"of bfloat16; name it {key}:int or {key}:bf16"
        )


def label_column(names: Sequence[str]) -> str | None:
    """Find the one column of a table whose name says that it has the labels."""
    labels = label_columns(names)
    return labels[0] if len(labels) == 1 else None


def label_columns(names: Sequence[str]) -> list[str]:
    """Find the columns of a table whose names say that they have labels."""
    # Next to a column x, y is a coordinate.
    label_names = {*sum(NAMES["labels"], ("class",))} - ({"y"} if "x" in names else set())
    return [name for name in names if name.lower() in label_names]


@contextlib.contextmanager
def translated(path: str, kind: str) -> Iterator[None]:
    """Turn all errors of a file library inside the block into one DataError about `path`.

    Such libraries answer a damaged file with a dozen unrelated exceptions (a zip error, a KeyError,
    a MemoryError), so this is the one place where everything is caught.
    """
    try:
        yield
    except (GncError, ModuleNotFoundError):
        raise
    except MemoryError as error:
        raise DataError(f"{path!r} needs more memory than there is; is it {kind}?") from error
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        # Some libraries add whole headers to a reason.
        reason = reason if len(reason) <= 160 else reason[:156].rsplit(" ", 1)[0] + " ..."
        raise DataError(
            f"{path!r} cannot be read as {kind}: {reason}; it may be truncated or of another format"
        ) from error


def check_entry(entry: Entry, location: str, *, whole: bool = True) -> None:
    """Refuse a dataset that cannot be read, or whose declared shape cannot be right.

    The shape may be wrong: a few compressed bytes can declare terabytes. So this precedes loading.

    Args:
        entry: the dataset.
        location: name of the dataset, which begins the message.
        whole: True if it is loaded as a whole, and must fit in the memory as float64.

    Raises:
        DataError: it cannot be read.
    """
    if entry.problem is not None:
        raise DataError(f"{location} {entry.problem}; {entry.remedy}")
    size = (64 if entry.dtype == WORDS else 8) * math.prod(entry.shape)
    if whole and size > memory_limit():
        raise DataError(
            f"{location} declares shape {entry.shape}, {size / 1e9:.3g} GB in memory, more than "
            "half of this machine's memory; is the file damaged? otherwise cut it into parts"
        )
    if entry.shape_warning is not None and (warning := entry.shape_warning()) is not None:
        raise DataError(f"{location} {warning}")


def checked(
    catalogue: Catalogue, name: str, *, whole: bool = True, words: str = "", labels: bool = False
) -> Entry:
    """Return the entry `name` after all checks; nothing is loaded.

    Args:
        catalogue: datasets of the file.
        name: name of the dataset.
        whole: True if it is to be loaded as a whole.
        words: next step if it holds texts.
        labels: True if words and booleans are accepted as well.

    Raises:
        DataError: there is none, it is a group or a link, is not real numbers, is the weight of a
            quantised layer, or fails `check_entry`.
    """
    if name not in catalogue.entries:
        raise DataError(
            f"{catalogue.path!r} has no dataset {abridge([repr(name)])}; it holds {catalogue}"
        )
    entry, location = catalogue.entries[name], catalogue.location(name)
    if entry.problem == GROUP:
        raise DataError(f"{location} {entry.problem}; the file holds {catalogue}")
    with translated(catalogue.path, f"a dataset {name!r} of shape {entry.shape} {entry.dtype}"):
        check_entry(entry, location, whole=whole)
    if not entry.real and not (labels and entry.dtype in (WORDS, "bool")):
        step = (_TEXT_DTYPES.match(entry.dtype) and words) or "expected real numbers, say float64"
        raise DataError(f"{location} has dtype {entry.dtype}; {step}")
    if entry.dtype in _QUANTISED_DTYPES and name.endswith(".weight"):
        raise DataError(
            f"{location} has dtype {entry.dtype}: a quantised layer, whose scales and offsets are "
            "kept elsewhere; save the model in float16 or float32, with transformers "
            "model.dequantize().save_pretrained(DIR), and measure that"
        )
    return entry
