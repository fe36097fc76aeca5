"""Choice of the output head of a model: by config.json, or as the only matrix that can be it.

A head comes with the reason for its choice, which results have as `policy.head`.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import EMBEDDINGS, NO_PARAMETER, Catalogue, Entry
from gnc_cli.parsing import abridge

_LANGUAGE = re.compile(
    r"For(CausalLM|ConditionalGeneration|CTC|MaskedLM|PreTraining|Seq2SeqLM)$|(LMHead(Model)?|MTModel)$"
)
_CLASSIFIER = re.compile(r"For\w*Classification(WithTeacher)?$")
LANGUAGE_HEADS: dict[str, tuple[str, ...]] = {
    "cls.predictions.decoder.weight": ("cls.predictions.bias",),  # BERT, BigBird, ERNIE, FNet
    "predictions.decoder.weight": ("predictions.bias",),  # ALBERT
    "lm_predictions.lm_head.weight": (),  # DeBERTa with legacy: false; tied, with a bias
    "lm_head.decoder.weight": ("lm_head.bias",),  # RoBERTa, Longformer, MPNet, ESM
    "lm_head.out_proj.weight": (),  # T5Gemma
    "lm_head.weight": ("final_logits_bias",),  # Llama, GPT-J, Phi, T5, Funnel; BART, Marian, LED
    "generator_lm_head.weight": (),  # ELECTRA, ConvBERT
    "vocab_projector.weight": (),  # DistilBERT
    "pred_layer.proj.weight": (),  # XLM, FlauBERT
    "lm_loss.weight": (),  # XLNet
    "embed_out.weight": (),  # GPT-NeoX
    "proj_out.weight": (),  # Whisper
    "output_projection.weight": (),  # BioGPT, FSMT
    "output_layer.weight": (),  # ChatGLM
    "mlm_score.decoder.weight": ("mlm_score.bias",),  # ViLT
    "head.decoder.weight": (),
    "decoder.weight": (),  # ModernBERT
    "output.weight": (),  # GIT, Llama of Meta
    "head.weight": (),  # RWKV
}
"""Output heads of language models: ending of the matrix's name, and endings of its bias's name
where that is not the one of the same layer. The first that is in the file counts; a bias is there
also where the matrix is not, as it is the input embedding.

Source: the state dictionaries of transformers 5.
"""
_CLASSIFIERS = (
    "classifier.weight",
    "score.weight",
    "classifier.out_proj.weight",
    "classification_head.out_proj.weight",
    "logits_proj.weight",
    "classifier.1.weight",
    "classifier.linear.weight",
    "classifier.linear_out.weight",
    "classifier.dense.weight",
    "cls_classifier.weight",
    "fc.weight",
    "head.weight",
)
"""Endings of the names of classifiers, the likelier first."""
_PARTS_OF_LOGITS = {
    "cls.predictions.dense.weight": "MobileBERT joins it with the matrix to one",
    "distillation_classifier.weight": "DeiT averages its logits with those of the matrix",
    "classifier_distill.linear.weight": "LeViT averages its logits with those of the matrix",
    "dist_head.weight": "SwiftFormer averages its logits with those of the matrix",
    "head_dist.weight": "timm averages its logits with those of the matrix",
}
"""Endings of the names of second matrices of a head, and their use."""
_FACTORS = (
    "logit_scale",  # Cohere
    "logits_scaling",  # Granite
    "lm_head_multiplier",  # Falcon-H1
    "output_multiplier",
    "logits_mup_width_multiplier",
    "final_logit_softcapping",  # Gemma 2
)
"""Keys of config.json of positive numbers s: the logits are s z, z / s or s tanh(z / s) of z = W h
+ b, which all increase with z, so that the same classes win."""
_SCALED_FEATURES = re.compile(r"(UM|Long)?T5|SwitchTransformers|Udop|Pop2Piano")
"""Architectures without a bias that scale the features by d_model ** -0.5 before a tied head."""
_HEAD_WORDS = re.compile(
    r"(^|[._])(fc|heads?|classif\w*|logits?|prototypes?|last_linear|arc|(arc|cos)face|cent(er|re)s|"
    r"prox(y|ies))\d*([._]|$)"
)
_AUXILIARY = re.compile(r"(^|[._])aux\w*[._]", re.IGNORECASE)
"""Names of auxiliary heads, which are used only to train the network."""
_NUMBER = re.compile(r"\d+")


class OutputHead(NamedTuple):
    """An output head that was not named by the user."""

    name: str
    """The dataset of its matrix W."""
    reason: str
    """Reason for its choice, as in `policy.head`."""
    bias: str | None = None
    """The dataset of its bias b."""
    tied: str | None = None
    """The input embedding, if the file has it too and config.json ties it to the head."""
    note: str | None = None
    """Steps after W h + b that change no winner."""


def head_by_config(
    entries: Mapping[str, Entry | None], config: Mapping[str, Any], model: str
) -> OutputHead:
    """Return the output head of a Hugging Face model.

    A separate matrix takes precedence over the input embedding, also if config.json ties them, as
    in transformers 5 for a file that has both with different numbers.

    Args:
        entries: the model's tensors by name; None, or an entry that cannot be read, if only the
            name is known, as in a model some of whose shards are missing.
        config: its config.json.
        model: name of the model, as given by the user.

    Raises:
        DataError: the architecture has no head, or none is found; the message lists the matrices.
    """
    inner = config.get("text_config") or config.get("llm_config") or {}
    architecture = str(next(iter(config.get("architectures") or ()), "a model of no architecture"))
    tied = config.get("tie_word_embeddings", inner.get("tie_word_embeddings"))
    rows: Any = None
    endings: Iterable[str] = ()
    embeddings: Sequence[str] = () if tied is False else EMBEDDINGS
    key = "vocab_size"
    if _CLASSIFIER.search(architecture):
        endings, embeddings, key = _CLASSIFIERS, (), "id2label"
        rows = len(config.get(key) or ()) or config.get("num_labels")
    elif _LANGUAGE.search(architecture):
        endings, rows = LANGUAGE_HEADS, config.get(key, inner.get(key))
    fitting = {name: entry for name, entry in entries.items() if _fits(entry, rows)}
    for candidates in (fitting, entries):
        heads, inputs = _ending_in(candidates, endings), _ending_in(candidates, embeddings)
        if endings and (heads or inputs):
            break
    else:
        raise DataError(
            f"{model!r}: {architecture} has no output head of a known name; choose a matrix: "
            f"{_choice(model, _matrices(entries))}"
        )
    name, reason = (heads or inputs)[0], f"output head of {architecture}"
    if len(heads or inputs) > 1:
        names = {name: entries[name] for name in heads or inputs}
        raise _ambiguity(model, {n: None if e is None else e.shape for n, e in names.items()})
    if not heads:
        evidence = "by config.json" if tied else "as the file has no other"
        reason = f"input embedding of {architecture}, tied to its output head {evidence}"
    if not _fits(entry := entries[name], rows):
        assert entry is not None
        raise DataError(
            f"{model!r}: {name!r} has shape {entry.shape}, and {key} of config.json says {rows} "
            f"classes; to measure it all the same: {_command(model, name)}"
        )
    factors = {key: inner.get(key, config.get(key)) for key in _FACTORS}
    steps = [f"{key} = {factor}" for key, factor in factors.items() if factor not in (None, 1)]
    if _SCALED_FEATURES.match(architecture) and config.get(
        "scale_decoder_outputs", tied is not False
    ):
        steps.append("features times d_model ** -0.5")
    if any(isinstance(factor, (int, float)) and factor < 0 for factor in factors.values()):
        raise DataError(
            f"{model!r}: config.json has a negative factor of the logits, {', '.join(steps)}: the "
            f"least of W h + b wins; to measure W all the same: {_command(model, name)}"
        )
    note = (
        f"logits of {architecture} increase with W h + b ({', '.join(steps)}): the same "
        "classes win, and margins are those of W h + b"
    )
    return OutputHead(
        name,
        reason=f"{name}: {reason}",
        bias=head_bias(entries, name, tied=not heads),
        tied=inputs[0] if heads and inputs else None,
        note=note if steps and endings is LANGUAGE_HEADS else None,
    )


def head_bias(
    entries: Mapping[str, Entry | None], weights: str, *, tied: bool = False
) -> str | None:
    """Return the bias that transformers adds to an output head; None where there is none.

    Args:
        entries: the model's tensors by name; None where only the name is known.
        weights: the head's matrix.
        tied: it is the input embedding, whose name does not determine that of the bias.
    """
    names = [] if tied else [f"{weights.removesuffix('weight')}bias"]
    for ending, others in LANGUAGE_HEADS.items():
        if tied:
            names += [f"{ending.removesuffix('weight')}bias", *others]
        elif f".{weights}".endswith(f".{ending}"):
            names += [weights.removesuffix(ending) + bias for bias in others]
    matrix = entries[weights]
    K = None if matrix is None or not matrix.shape else matrix.shape[0]
    fitting = [name for name, entry in entries.items() if _fits(entry, K, axis=-1)]
    return next(iter(_ending_in(fitting, names)), None)


def other_matrices(entries: Mapping[str, Entry], K: int) -> list[tuple[str, str]]:
    """Return the further matrices that a head of K classes needs, and their use."""
    return [
        (name, use)
        for ending, use in _PARTS_OF_LOGITS.items()
        for name in _ending_in(entries, [ending])
        if K in entries[name].shape and 0 not in entries[name].shape
    ]


def _fits(entry: Entry | None, K: Any, axis: int = 0) -> bool:
    """Return True if an axis has the length K, or one of the two is not known."""
    if entry is None or entry.problem is not None or not K:
        return True
    return entry.shape != () and bool(entry.shape[axis] == K)


def _ending_in(entries: Iterable[str], endings: Iterable[str]) -> list[str]:
    """Return the names with the first ending that occurs, nested in the fewest modules."""
    for ending in endings:
        if matches := [name for name in entries if f".{name}".endswith(f".{ending}")]:
            depth = min(name.count(".") for name in matches)
            return [name for name in matches if name.count(".") == depth]
    return []


def check_only(catalogue: Catalogue, members: Mapping[str, Entry], head: str) -> None:
    """Refuse a head of a state dictionary if another matrix of its shape may be the classifier.

    This may be the layer of the same name in a copy of the network, or the centres of a loss.

    Raises:
        DataError: there is one; the message lists the matrices with their shapes, and the command
            for the first.
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
        and (name == head or name.endswith(f".{layer}") or _HEAD_WORDS.search(name))
    ]
    if len(rivals) > 1:
        raise _ambiguity(catalogue.path, dict.fromkeys([head, *rivals], shape))


def only_head(catalogue: Catalogue, members: Mapping[str, Entry]) -> str | None:
    """Return the one matrix of a state dictionary that can be the classifier; None if none can.

    Its name ends in `.weight`; it is not an embedding, not an optimizer's, and not one of a stack
    of repeated layers. Names such as fc, head and classifier take precedence, then matrices whose
    outputs no other layer takes in.

    Raises:
        DataError: there are several; the message lists them with their shapes, and the command for
            the first.
    """
    real = {
        name: entry
        for name, entry in members.items()
        if entry.real and len(entry.shape) >= 2 and not NO_PARAMETER.search(name)
    }
    repeated = stacked({name: entry.shape for name, entry in real.items()})
    single = [
        name
        for name, entry in real.items()
        if name.endswith(".weight")
        and "embed" not in name.lower()
        and len(entry.shape) == 2
        and min(entry.shape) > 1
        and name not in repeated
    ]
    head_names = [name for name in single if _HEAD_WORDS.search(name)]
    inputs = Counter(
        str(entry.shape[1]) for entry in real.values()
    )  # texts, as hashes of numbers may collide
    heads = [
        name
        for name in head_names or single
        if inputs[str((shape := real[name].shape)[0])]
        == (shape[0] == shape[1])  # square: counts itself
    ] or head_names
    if len(heads) > 1:
        raise _ambiguity(catalogue.path, {name: real[name].shape for name in heads})
    if heads:
        check_only(catalogue, members, heads[0])
    return heads[0] if heads else None


def _ambiguity(path: str, shapes: Mapping[str, tuple[int, ...] | None]) -> DataError:
    return DataError(
        f"{path!r} has several matrices that may be the classifier; choose one: "
        f"{_choice(path, shapes)}"
    )


def stacked(shapes: Mapping[str, tuple[int, ...]]) -> set[str]:
    """Return the names that differ from others of equal shape only in a number: repeated layers."""
    kinds = {name: (_NUMBER.sub("#", name), str(shape)) for name, shape in shapes.items()}
    counts = Counter(kinds.values())
    return {name for name, kind in kinds.items() if counts[kind] > 1}


def _matrices(entries: Mapping[str, Entry | None]) -> dict[str, tuple[int, ...] | None]:
    """Return the shapes of the matrices by name, with None for an unknown shape.

    Those with more rows come first, repeated layers last.
    """
    shapes = {
        name: entry.shape
        for name, entry in entries.items()
        if entry
        and entry.real
        and entry.problem is None
        and len(entry.shape) == 2
        and not NO_PARAMETER.search(name)
    }
    repeated = stacked(shapes)
    names = sorted(shapes, key=lambda name: (name in repeated, -shapes[name][0]))
    return {name: shapes[name] for name in names} or dict.fromkeys(entries)


def _choice(path: str, shapes: Mapping[str, tuple[int, ...] | None]) -> str:
    """Return the list of the matrices with their shapes, and the command for the first."""
    texts = [f"{name!r} {shape or ''}".rstrip() for name, shape in shapes.items()]
    return f"{abridge(texts)}; for instance: {_command(path, next(iter(shapes)))}"


def _command(path: str, name: str) -> str:
    return f"gnc measure --weights {shlex.quote(f'{path}:{name}')}"
