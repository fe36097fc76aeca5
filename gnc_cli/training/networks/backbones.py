"""Weights that others trained: a checkpoint's tensors into one of the networks here.

Names are torchvision's. A checkpoint may have them below a prefix, as data parallelism (`module.`),
compilation (`_orig_mod.`), trainers (`model.`, `encoder.`, `backbone.`) and MoCo's query network
(`encoder_q.`) leave them; what lies elsewhere, such as MoCo's key network and queue, is not ours.
"""

import re
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from gnc_cli.errors import DataError

_PREFIX = re.compile(r"(?:(?:module|_orig_mod|model|encoder|backbone|encoder_q)\.)*")
_STEMS = {"conv1.weight", "conv1.bias", "features.conv0.weight", "features.conv0.bias"}
_LAST = re.compile(r"(?:fc|classifier)\.")
_OLD_DENSENET = re.compile(r"(\.denselayer\d+\.(?:norm|conv))\.([12]\.)")
"""The published DenseNet weights say `norm.1.weight` where torchvision now says `norm1.weight`."""

_ADVICE = "choose the --model, --width and --norm that the checkpoint was trained with"
_NAMED = 3
"""Names that an error quotes."""


@torch.no_grad()
def load_backbone(encoder: nn.Module, tensors: Mapping[str, Tensor]) -> list[str]:
    """Copy a checkpoint into `encoder`; return the names of what keeps its own values.

    A stem (first convolution) and a last linear layer of another shape, or that the checkpoint
    does not have, are left as they are and named in the result. `num_batches_tracked` is optional.
    Everything else must be there with its shape, and nothing may be left over.

    Args:
        encoder: changed in place, and only where the whole checkpoint fits.
        tensors: name to tensor, of any floating dtype.

    Raises:
        DataError: the checkpoint is of another network; the message has the first names.

    Example:
        >>> from gnc_cli.training.networks.encoders import build_encoder
        >>> old = build_encoder("resnet18", width=0.125, stem="imagenet", feature_dim=100)
        >>> new = build_encoder("resnet18", width=0.125, feature_dim=10)
        >>> load_backbone(new, old.state_dict())
        ['conv1.weight', 'fc.weight', 'fc.bias']
    """
    own = encoder.state_dict()
    given = _under_prefix(own, tensors)
    _check_channels(own, given)
    left_out = _left_out(own, given)
    needed = [name for name in own if name not in left_out]
    missing = [name for name in needed if name not in given and not _is_counter(name)]
    if missing:
        raise DataError(f"the checkpoint has no {_quote(missing)}; {_ADVICE}")
    extra = [n for n in given if not (n in own or _is_counter(n) or _LAST.match(n))]
    if extra:
        raise DataError(f"this network has no place for {_quote(extra)}; {_ADVICE}")
    copied = [name for name in needed if name in given]
    for name in copied:
        if given[name].shape != own[name].shape:
            raise DataError(
                f"{name} is {tuple(given[name].shape)} in the checkpoint and "
                f"{tuple(own[name].shape)} in this network; {_ADVICE}"
            )
    for name in copied:
        own[name].copy_(given[name])
    return [name for name in own if name in left_out]


def _under_prefix(own: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The part of a checkpoint below the prefix that has most of the network's names."""
    parts: dict[str, dict[str, Tensor]] = {}
    for full, tensor in tensors.items():
        # A network of one's own may have a module that is called as one of the prefixes.
        match = None if full in own else _PREFIX.match(full)
        prefix = match.group() if match else ""
        name = _OLD_DENSENET.sub(r"\1\2", full[len(prefix) :])
        parts.setdefault(prefix, {})[name] = tensor
    given = max(parts.values(), key=lambda part: len(part.keys() & own.keys()), default={})
    if not given.keys() & own.keys():
        raise DataError(
            f"no name in the checkpoint ({_quote(list(tensors))}) is one of this network's "
            f"({_quote(list(own))}); {_ADVICE}"
        )
    return given


def _left_out(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> set[str]:
    """Stem and last layer where they do not fit; a layer's weight and bias stay together."""

    def fits(name: str) -> bool:
        return name in given and given[name].shape == own[name].shape

    replaceable = {name for name in own if name in _STEMS or _LAST.match(name)}
    layers = {name.rpartition(".")[0] for name in replaceable if not fits(name)}
    return {name for name in replaceable if name.rpartition(".")[0] in layers}


def _check_channels(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    for name in _STEMS & own.keys() & given.keys():
        if own[name].ndim == given[name].ndim == 4 and own[name].shape[1] != given[name].shape[1]:
            raise DataError(
                f"the checkpoint's {name} takes images of {given[name].shape[1]} channels, these "
                f"have {own[name].shape[1]}; use images of {given[name].shape[1]} channels"
            )


def _is_counter(name: str) -> bool:
    return name.rpartition(".")[2] == "num_batches_tracked"


def _quote(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
