"""Which matrix of a model is its output head: by config.json, or as the only one that can be it.

Nothing here is silent: a head comes with the words that say why it was taken, which results carry
as `policy.head`.
"""

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import EMBEDDINGS, NO_PARAMETER, Catalogue, Entry
from gnc_cli.parsing import listed

_LANGUAGE = re.compile(
    r"For(CausalLM|ConditionalGeneration|CTC|MaskedLM|PreTraining|Seq2SeqLM)$|LMHead(Model)?$"
)
_CLASSIFIER = re.compile(r"For\w*Classification(WithTeacher)?$")
_LANGUAGE_HEADS = (
    "lm_head.weight",
    "embed_out.weight",
    "output.weight",
    "output_layer.weight",
    "lm_head.decoder.weight",
    "predictions.decoder.weight",
    "vocab_projector.weight",
    "generator_lm_head.weight",
    "proj_out.weight",
    "lm_loss.weight",
    "pred_layer.proj.weight",
    "head.weight",
)
_CLASSIFIERS = (
    "classifier.weight",
    "score.weight",
    "classifier.out_proj.weight",
    "classification_head.out_proj.weight",
    "logits_proj.weight",
    "classifier.1.weight",
    "cls_classifier.weight",
    "fc.weight",
    "head.weight",
)
"""Endings of the names of output heads, the likelier first."""
_WORDS = re.compile(
    r"(^|[._])(fc|heads?|classif\w*|logits?|prototypes?|last_linear|arc|(arc|cos)face|cent(er|re)s|"
    r"prox(y|ies))\d*([._]|$)"
)
_AUXILIARY = re.compile(r"(^|[._])aux\w*[._]", re.IGNORECASE)
"""Names of heads beside the one of the network, which help to train it."""
_NUMBER = re.compile(r"\d+")


class Head(NamedTuple):
    """An output head that was not named by the user."""

    name: str
    """The dataset."""
    why: str
    """Why it is the head, as `policy.head` has it."""


def head_by_config(
    entries: Mapping[str, Entry | None], config: Mapping[str, Any], where: str
) -> Head:
    """The output head of a Hugging Face model.

    Args:
        entries: the model's tensors by name; None, or an entry that cannot be read, where only the
            name is known, as in a model of which not all shards are there.
        config: its config.json.
        where: the model, as the user named it.

    Raises:
        DataError: the architecture has no head, or none is found; lists what there is.
    """
    inner = config.get("text_config") or config.get("llm_config") or {}
    architecture = str(next(iter(config.get("architectures") or ()), "a model of no architecture"))
    tied = config.get("tie_word_embeddings", inner.get("tie_word_embeddings"))
    rows: Any
    endings: Sequence[str]
    if _CLASSIFIER.search(architecture):
        endings, rows = _CLASSIFIERS, len(config.get("id2label") or ()) or config.get("num_labels")
        key = "id2label"
    elif _LANGUAGE.search(architecture):
        endings = EMBEDDINGS if tied else _LANGUAGE_HEADS
        rows, key = config.get("vocab_size", inner.get("vocab_size")), "vocab_size"
    else:
        raise DataError(
            f"{where!r}: {architecture} has no output head; choose a matrix: "
            f"{_choice(where, _matrices(entries))}"
        )
    name, why = _ending_in(entries, endings, where), f"output head of {architecture}"
    if endings is EMBEDDINGS:
        why = f"input embedding of {architecture}, tied to its output head by config.json"
    elif name is None and endings is _LANGUAGE_HEADS and tied is None:
        name = _ending_in(entries, EMBEDDINGS, where)
        why = f"input embedding of {architecture}, tied to its output head: the file has no other"
    if name is None:
        raise DataError(
            f"{where!r}: no output head of {architecture} is known by name; choose a matrix: "
            f"{_choice(where, _matrices(entries))}"
        )
    entry = entries[name]
    if entry is not None and entry.problem is None and rows and entry.shape[:1] != (rows,):
        raise DataError(
            f"{where!r}: {name!r} has shape {entry.shape}, and {key} of config.json says {rows} "
            f"classes; to measure it all the same: {_command(where, name)}"
        )
    return Head(name, f"{name}: {why}")


def _ending_in(
    entries: Mapping[str, Entry | None], endings: Sequence[str], where: str
) -> str | None:
    """The name with the first of these endings, of several the one in the fewest modules."""
    for ending in endings:
        matches = [name for name in entries if name == ending or name.endswith(f".{ending}")]
        depth = min((name.count(".") for name in matches), default=0)
        outer = [name for name in matches if name.count(".") == depth]
        if len(outer) > 1:
            known = {name: entries[name] for name in outer}
            raise _several(where, {name: e.shape if e else None for name, e in known.items()})
        if outer:
            return outer[0]
    return None


def check_only(catalogue: Catalogue, members: Mapping[str, Entry], head: str) -> None:
    """Refuse a head of a state dictionary beside which another matrix of its shape may be the
    classifier too: the layer of the same name in a copy of the network, or the centres of a loss.

    Raises:
        DataError: there is one; lists them with shapes, and the command for the first.
    """
    shape, layer = members[head].shape, ".".join(head.split(".")[-2:])
    rivals = [
        name
        for name, entry in members.items()
        if entry.shape == shape
        and entry.real
        and not NO_PARAMETER.search(name)
        and "/" not in name
        and not name.endswith(EMBEDDINGS)
        and not _AUXILIARY.search(name)
        and (name == head or name.endswith(f".{layer}") or _WORDS.search(name))
    ]
    if len(rivals) > 1:
        raise _several(catalogue.path, dict.fromkeys([head, *rivals], shape))


def only_head(catalogue: Catalogue, members: Mapping[str, Entry]) -> str | None:
    """The one matrix of a state dictionary that can be the classifier; None where none can.

    It is called `....weight` and is no embedding, no optimizer's, and none of several alike in a
    stack of layers. Of the rest, those that are called so (fc, head, classifier) come before
    others, and those whose rows no other layer takes in before those that feed one.

    Raises:
        DataError: there are several; lists them with shapes, and the command for one.
    """
    real = {
        name: entry
        for name, entry in members.items()
        if entry.real and len(entry.shape) >= 2 and not NO_PARAMETER.search(name)
    }
    stacked = _stacked({name: entry.shape for name, entry in real.items()})
    single = [
        name
        for name, entry in real.items()
        if name.endswith(".weight")
        and "embed" not in name.lower()
        and len(entry.shape) == 2
        and min(entry.shape) > 1
        and name not in stacked
    ]
    called = [name for name in single if _WORDS.search(name)]
    taken = Counter(entry.shape[1] for entry in real.values())
    heads = []
    for name in called or single:
        rows, columns = real[name].shape
        feeds = taken[rows] - (rows == columns)  # a square matrix counts itself
        if not feeds:
            heads.append(name)
    heads = heads or called
    if len(heads) > 1:
        raise _several(catalogue.path, {name: real[name].shape for name in heads})
    if heads:
        check_only(catalogue, members, heads[0])
    return heads[0] if heads else None


def _several(path: str, shapes: Mapping[str, tuple[int, ...] | None]) -> DataError:
    return DataError(
        f"{path!r} has several matrices that may be the classifier; choose one: "
        f"{_choice(path, shapes)}"
    )


def _stacked(shapes: Mapping[str, tuple[int, ...]]) -> set[str]:
    """The names that differ from others of equal shape in a number alone: repeated layers."""
    kinds = {name: (_NUMBER.sub("#", name), shape) for name, shape in shapes.items()}
    counts = Counter(kinds.values())
    return {name for name, kind in kinds.items() if counts[kind] > 1}


def _matrices(entries: Mapping[str, Entry | None]) -> dict[str, tuple[int, ...] | None]:
    """The matrices by name, with their shapes where these are known: repeated layers come last, and
    of the others those with more rows first."""
    known = {name: entry for name, entry in entries.items() if entry and entry.problem is None}
    shapes = {
        name: entry.shape
        for name, entry in known.items()
        if entry.real and len(entry.shape) == 2 and not NO_PARAMETER.search(name)
    }
    stacked = _stacked(shapes)
    names = sorted(shapes, key=lambda name: (name in stacked, -shapes[name][0]))
    return {name: shapes[name] for name in names} or dict.fromkeys(entries)


def _choice(path: str, shapes: Mapping[str, tuple[int, ...] | None]) -> str:
    """The matrices with their shapes, then the command for the first."""
    texts = [f"{name!r} {shape or ''}".rstrip() for name, shape in shapes.items()]
    return f"{listed(texts)}; for instance: {_command(path, next(iter(shapes)))}"


def _command(path: str, name: str) -> str:
    return f"gnc measure --weights {shlex.quote(f'{path}:{name}')}"
