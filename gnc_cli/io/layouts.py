"""How other programs call and lay out features, labels and classifiers: tables, and what they mean.

A name or layout that is missing is one entry here.
"""

import re
from dataclasses import replace
from typing import Any

import numpy as np

from gnc_cli.io.catalogue import Entry

EMBEDDINGS = (
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
"""By role the names in tiers: a name of an earlier tier wins, two of one tier are ambiguous.

The last tier of weights are input embeddings.
"""
WEIGHT_WORDS, BIAS_WORDS = ("weight", "weights", "w", "W"), ("bias", "biases", "b")
"""Last words of a name, behind a dot, a slash or an underscore: `fc_weight` and `fc_bias`."""
_BATCHED = {n for role in ("features", "labels", "logits") for tier in NAMES[role] for n in tier}
_MOMENT = re.compile(
    r"(?:(?P<epoch>epoch|ep|snapshot|checkpoint|ckpt)|(?P<step>step|iter|iteration))s?[-_=]?(\d{1,18})",
    re.IGNORECASE,
)


def moment(name: str) -> dict[str, int]:
    """The epoch or the step that the name of a snapshot says; nothing for other names.

    >>> moment("epoch_010"), moment("step-500"), moment("layer_3")
    ({'epoch': 10}, {'step': 500}, {})
    """
    found = _MOMENT.fullmatch(name)
    return {} if found is None else {"epoch" if found["epoch"] else "step": int(found[3])}


def put_together(entries: dict[str, Entry]) -> dict[str, Entry]:
    """Lists of batches as one dataset each, under the name of the list; a pair of
    features and labels, in either order, and a list of such pairs under these names. Lists of
    unequal widths stay apart."""
    lists: dict[str, list[str]] = {}
    for name in entries:
        place, _, last = name.rpartition(".")
        if last.isdigit() and place.rpartition(".")[2] in _BATCHED:
            lists.setdefault(place, []).append(name)
        elif last in ("0", "1") and (matrix := _matrix_of_pair(entries, place)):
            lists.setdefault("features" if last == matrix else "labels", []).append(name)
    found = dict(entries)
    for name, parts in lists.items():
        together = [entries[part] for part in parts]
        if name not in entries and len({(e.dtype, e.real, e.shape[1:]) for e in together}) == 1:
            for part in parts:
                del found[part]
            found[name] = _one(together)
    return found


def _matrix_of_pair(entries: dict[str, Entry], place: str) -> str | None:
    """Which of two, `0` or `1`, holds the features of which the other holds the labels."""
    first, second, third = (entries.get(f"{place}.{i}".strip(".")) for i in range(3))
    if first is None or second is None or third is not None or not (place.isdigit() or not place):
        return None
    for last, H, y in (("0", first, second), ("1", second, first)):
        if H.real and len(H.shape) == 2 and y.shape == H.shape[:1] and "int" in y.dtype:
            return last
    return None


def _one(parts: list[Entry]) -> Entry:
    """The parts below each other."""
    if len(parts) == 1:
        return replace(parts[0], note="of a pair of features and labels")
    shape = (sum(part.shape[0] for part in parts if part.shape), *parts[0].shape[1:])

    def load() -> Any:
        return np.concatenate([part.load() for part in parts])

    note = f"a list of {len(parts)} batches, put together"
    return Entry(shape, parts[0].dtype, parts[0].real, load, note=note)
