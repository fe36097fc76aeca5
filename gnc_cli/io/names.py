"""What a dataset is by its name: features, labels, weights, bias, logits, in many spellings."""

from collections.abc import Iterable

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue, Entry
from gnc_cli.io.hdf5 import GROUP

__all__ = ["bias_of", "find_role", "looks_like", "matrices", "only_dataset"]

_NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
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
            "weight", "classifier", "prototypes", "fc.weight", "head.weight", "head.fc.weight",
            "classifier.weight", "lm_head.weight", "output.weight", "embed_out.weight",
        ),
        (
            "embed_tokens.weight", "wte.weight", "transformer.wte.weight", "embed_in.weight",
            "word_embeddings.weight", "embeddings.word_embeddings.weight",
            "transformer.word_embeddings.weight", "tok_embeddings.weight", "shared.weight",
        ),
    ),
    "bias": (("bias",), ("b",), ("fc.bias", "head.bias", "classifier.bias", "lm_head.bias")),
    "logits": (("logits",), ("logit", "scores")),
}  # fmt: skip
"""By role the names in tiers: a name of an earlier tier wins, two of one tier are ambiguous.

The last tier of weights are input embeddings, which language models with a tied head use twice.
"""

_WRAPPERS = {
    "module", "model", "_orig_mod", "state_dict", "model_state_dict", "model_state", "net",
    "network", "decoder", "language_model", "gpt_neox", "bert", "state_dict_softmax_fc",
}  # fmt: skip
"""What training frameworks put before the names of a model's parameters."""
_RANKS = {"features": (2,), "labels": (1, 2), "weights": (2,), "bias": (1,), "logits": (2,)}


def find_role(catalogue: Catalogue, role: str, group: str = "") -> str | None:
    """The dataset that plays `role` in a group of the file, by its name; None where there is none.

    Args:
        catalogue: of the file.
        role: `features`, `labels`, `weights`, `bias` or `logits`.
        group: `""` for the root, `snapshots/final/` for a group of HDF5.

    Raises:
        DataError: several names fit equally well.
    """
    found: dict[tuple[int, int], list[str]] = {}
    groups: list[str] = []
    for name, entry in _members(catalogue, group):
        plain, wrappers = _unwrapped(name.removeprefix(group))
        tier = _tier(role, plain)
        if tier is None:
            continue
        if entry.problem == GROUP:
            groups += [name] if not wrappers and "." not in plain else []
        elif tier == 0 or entry.problem or len(entry.shape) in _RANKS[role]:
            found.setdefault((tier, wrappers), []).append(name)
    if not found:
        # Perhaps the group is what the user takes for a dataset; the checks will say what it is.
        return groups[0] if groups else None
    best = found[min(found)]
    if len(best) > 1:
        raise DataError(
            f"{catalogue.path!r} has several datasets that may be {role}: "
            f"{', '.join(map(repr, best))}; choose with --{role} {catalogue.path}:KEY among "
            f"{catalogue}"
        )
    return best[0]


def only_dataset(catalogue: Catalogue, role: str, group: str = "") -> str | None:
    """The one dataset of a group that has the rank of `role`, whatever its name; else None."""
    fitting = [
        name
        for name, entry in _members(catalogue, group)
        if entry.real and len(entry.shape) in _RANKS[role]
    ]
    if role == "labels" and len(fitting) > 1:
        fitting = [
            name
            for name in fitting
            if len(catalogue.entries[name].shape) == 1 and "int" in catalogue.entries[name].dtype
        ]
    members = [name for name, entry in _members(catalogue, group) if entry.problem != GROUP]
    if not group and not fitting and len(members) == 1:
        return members[0]  # whatever it is: the checks will say what is wrong
    return fitting[0] if len(fitting) == 1 else None


def matrices(catalogue: Catalogue, group: str = "") -> list[str]:
    """The matrices of a group whose names say nothing."""
    return [
        name
        for name, entry in _members(catalogue, group)
        if entry.real and len(entry.shape) == 2 and not looks_like(name.removeprefix(group))
    ]


def bias_of(catalogue: Catalogue, weights: str) -> str | None:
    """The bias that belongs to a dataset of weights: the same place, the same layer."""
    cut = max(weights.rfind("."), weights.rfind("/")) + 1
    place, last = weights[:cut], weights[cut:]
    if last not in ("weight", "weights", "W", "classifier", "prototypes"):
        return None
    return next((f"{place}{b}" for b in ("bias", "b") if f"{place}{b}" in catalogue.entries), None)


def looks_like(name: str) -> set[str]:
    """The roles that a name speaks of.

    >>> looks_like("module.fc.weight"), looks_like("layer4")
    ({'weights'}, set())
    """
    plain, _ = _unwrapped(name)
    return {role for role in _NAMES if _tier(role, plain) is not None}


def _members(catalogue: Catalogue, group: str) -> Iterable[tuple[str, Entry]]:
    for name, entry in catalogue.entries.items():
        inside = name.removeprefix(group)
        if name.startswith(group) and not inside.startswith(("state/", "snapshots/")):
            yield name, entry


def _tier(role: str, plain: str) -> int | None:
    return next((i for i, names in enumerate(_NAMES[role]) if plain in names), None)


def _unwrapped(name: str) -> tuple[str, int]:
    """The name without the wrappers before it, and how many there were."""
    parts = name.replace("/", ".").split(".")
    count = 0
    while count < len(parts) - 1 and parts[count] in _WRAPPERS:
        count += 1
    return ".".join(parts[count:]), count
