"""Which dataset of a file plays which role: features, labels, weights, bias or logits.

By the user's key, by its name in one of many spellings, or as the only one that fits.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import dropwhile
from typing import NamedTuple

import numpy as np

from gnc_cli.collapse.heads import check_only, head_bias, only_head, stacked
from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import (
    BIAS_WORDS,
    GROUP,
    NAMES,
    NO_PARAMETER,
    READINGS,
    WEIGHT_WORDS,
    WORDS,
    Catalogue,
    Entry,
    is_kernel,
)
from gnc_cli.io.hdf5 import epoch_or_step
from gnc_cli.io.loading import stored_labels
from gnc_cli.parameters import spelled
from gnc_cli.parsing import abridge

_WRAPPERS = {
    "module",
    "model",
    "_orig_mod",
    "state_dict",
    "model_state_dict",
    "model_state",
    "net",
    "network",
    "decoder",
    "language_model",
    "gpt_neox",
    "bert",
    "state_dict_softmax_fc",
    "training",
}
"""What training frameworks put before the names of a model's parameters."""
_SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("test", "testing"), "test"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "val"),
}
"""The split by the name of a group, in lower case."""
_NUMBERED = re.compile(r"(^|[./])(arr_)?\d+$")
"""Names that count arrays, as numpy.savez and lists do."""
_STATISTICS = re.compile(r"(running|moving)_(mean|var)")
"""Names of what a normalisation keeps."""
_WHOLE = re.compile(r"int|bool|[<>|=][iub]\d")
"""Dtypes of whole numbers."""
_RANKS = {"features": (2,), "labels": (1, 2), "weights": (2,), "bias": (1,), "logits": (2,)}


class Piece(NamedTuple):
    """One dataset of one file."""

    path: str
    name: str
    head: str | None = None
    """Of weights: why they were taken, where nobody named them."""
    model: str | None = None
    """Of weights: the folder of the model that they are of."""
    note: str | None = None
    """Steps of a model's head beside W h + b that change no winner."""
    tied: str | None = None
    """The input embedding of the file that config.json ties to a model's head."""
    named: bool = False
    """The user's key is the dataset."""


def dataset_for(catalogue: Catalogue, role: str, key: str | None) -> str:
    """The dataset that `--role FILE` or `--role FILE:key` means; the key may name a group."""
    group = "" if key is None else _group(catalogue, key)
    name = None
    if group is not None:
        name = find_role(catalogue, role, group) or _only_dataset(catalogue, role, group)
    if name is None and key is not None:
        return catalogue.named(key)  # also of a group that holds no such thing, as checks will say
    if name is None:
        raise DataError(
            f"{catalogue.path!r} has no dataset that is called {role}; choose with "
            f"{spelled(role, catalogue.path + ':KEY')} among {catalogue}"
        )
    return name


def roles_of_file(
    catalogue: Catalogue,
    key: str | None,
    elsewhere: Collection[str],
    role: str | None = None,
    taken: Collection[str] = (),
) -> dict[str, str]:
    """The datasets of a file by role, as far as they go.

    Args:
        key: a dataset, or a group in which to look.
        elsewhere: roles that come from elsewhere.
        role: for which an option names the file: `FILE:key` is then that dataset alone. None: a
            dataset is what its name says, else features where labels have as many rows, and
            weights otherwise; the others come along.
    """
    group = "" if key is None else _group(catalogue, key)
    if role is None and group is not None:
        return roles_of_group(catalogue, group, elsewhere, taken=taken)
    name = catalogue.named(key or "") if role is None else dataset_for(catalogue, role, key)
    if role is not None and group is None:
        return {role: name}
    near = name[: name.rfind("/") + 1]
    picked = {role or _role_of(catalogue, name, near, elsewhere): name}
    return roles_of_group(catalogue, near, elsewhere, picked, taken)


def roles_of_group(
    catalogue: Catalogue,
    group: str,
    elsewhere: Collection[str],
    picked: dict[str, str] | None = None,
    taken: Collection[str] = (),
) -> dict[str, str]:
    """The datasets of a group (`snapshots/final/`) by role; labels and weights that it lacks are
    the root's. The user's key has `picked` some, others come from `elsewhere`.
    """
    roles = dict(picked or {})

    def missing(role: str) -> bool:
        return role not in roles and role not in elsewhere

    def look(role: str, place: str) -> None:
        if missing(role) and (name := find_role(catalogue, role, place)) not in (
            None,
            *roles.values(),
            *taken,
        ):
            roles[role] = str(name)

    for role in ("features", "labels", "weights", "logits"):
        look(role, group)
    if missing("features"):
        look("labels", "")
        if not missing("labels"):
            _find_unnamed_features(catalogue, group, roles, taken)
    by_option = {"features", "logits"} & {*elsewhere}
    if group and by_option:
        look("labels", "")
        look("weights", "")
    if not roles.keys() & {"features", "weights", "logits"} and not (
        "labels" in roles and by_option
    ):
        nameless = missing("features") and missing("labels")
        pair = _unnamed_pair(catalogue, group) if nameless else {}
        only = (
            None if pair or not missing("weights") else _only_dataset(catalogue, "weights", group)
        )
        only = None if only in taken else only
        head = {only, bias_of(catalogue, only)} if only else set()
        if by_option and (not only or catalogue.entries.keys() - head):
            return roles
        if taken and not only and not pair:
            return roles
        if pair is None or "labels" in roles or not (pair or only):
            raise DataError(
                f"{catalogue.path!r}{_place(group)} has neither features nor weights by name; "
                f"choose with {spelled('features')} or "
                f"{spelled('weights', catalogue.path + ':KEY')} among {catalogue}"
            )
        if only and (question := catalogue.entries[only].question):
            raise DataError(
                f"{catalogue.path!r}: {question}; {spelled('weights', catalogue.path)} takes all "
                "as the points of a code"
            )
        roles |= pair or {"weights": str(only)}
    if group:  # after its own have been looked for
        look("labels", "")
        look("weights", "")
    if (
        missing("bias")
        and "weights" in roles
        and (bias := bias_of(catalogue, roles["weights"])) is not None
    ):
        roles["bias"] = bias
    if not (roles.keys() | set(elsewhere)) & {"features", "logits"}:
        roles.pop("labels", None)
    return roles


def feature_groups(catalogue: Catalogue) -> dict[str, str]:
    """Return the prefix of the names in each group that holds features, by the group's name.

    Features are called so, or have a label for each row.
    """
    groups = {}
    words = [word for tier in NAMES["labels"] for word in tier]
    for name, entry in catalogue.entries.items():
        cut = max(name.rfind("/"), name.rfind(".")) + 1
        group, tier = name[:cut], _tier("features", name[cut:])
        labels = [
            catalogue.entries.get(place + word) for place in (group, "") for word in words if tier
        ]
        alike = any(y is not None and y.shape[:1] == entry.shape[:1] for y in labels)
        matrix = entry.real and len(entry.shape) == 2 and not NO_PARAMETER.search(group)
        if cut and matrix and (tier == 0 or (tier is not None and alike)):
            groups[group[:-1]] = group
    return groups


def add_sets(catalogue: Catalogue, groups: Mapping[str, str]) -> None:
    """Let groups that hold features be snapshots, where the root has no features: `train` and
    `test`, whose names say the split, and the epoch if they have one.
    """
    if (
        not groups
        or catalogue.snapshots
        or any(_tier("features", name) is not None for name in catalogue.entries)
        or (len(groups) < 2 and find_role(catalogue, "features"))
    ):
        return
    for name, prefix in groups.items():
        parts = re.split("[./]", name)
        pairs = [pair for part in parts for pair in epoch_or_step(part).items()]
        splits = [("split", _SPLITS[part.lower()]) for part in parts if part.lower() in _SPLITS]
        catalogue.snapshots[name] = dict([*pairs, *splits]) | catalogue.attributes_of(name)
        catalogue.prefixes[name] = prefix


def _unnamed_pair(catalogue: Catalogue, group: str) -> dict[str, str] | None:
    """Features and labels of a group whose names say nothing: one matrix, and one vector of as many
    whole numbers, of which some are equal and some are not. Empty where there is no such vector;
    None where the vector may be something else.
    """
    members = {
        name: entry
        for name, entry in _members(catalogue, group)
        if entry.real or entry.dtype == WORDS
    }
    matrices = [name for name, entry in members.items() if len(entry.shape) == 2 and entry.real]
    vectors = [name for name, entry in members.items() if len(entry.shape) == 1]
    if len(matrices) != 1 or re.split("[./_]", matrices[0])[-1] in WEIGHT_WORDS:
        return {}
    rows = members[matrices[0]].shape[0]
    if not all(_NUMBERED.search(name) for name in (*matrices, *vectors)):
        vectors = [name for name in vectors if members[name].shape[0] == rows]
    if not vectors or any("bias" in _roles_by_name(name.removeprefix(group)) for name in vectors):
        return {}
    values = stored_labels(catalogue, vectors[0])[0]
    with np.errstate(invalid="ignore"):
        whole = values.dtype.kind in "SUO" or (values == np.floor(values)).all()
    if (
        len(vectors) > 1
        or len(values) != rows
        or not (
            whole and 1 < len({*values} if values.dtype == object else np.unique(values)) < rows
        )
    ):
        return None
    note = f"taken as the labels of {matrices[0]!r}, as no name says what it is"
    catalogue.entries[vectors[0]] = replace(members[vectors[0]], note=note)
    return {"features": matrices[0], "labels": vectors[0]}


def find_role(catalogue: Catalogue, role: str, group: str = "") -> str | None:
    """The dataset of a group whose name says that it plays `role`; None where there is none."""
    candidates: dict[tuple[int, int], list[str]] = {}
    groups: list[str] = []
    for name, entry in _members(catalogue, group):
        bare, wrappers = _unwrapped(name.removeprefix(group))
        if (tier := _tier(role, bare)) is None:
            continue
        if entry.problem == GROUP:
            groups += [name] if not wrappers and "." not in bare else []
        elif tier == 0 or entry.problem or len(entry.shape) in _RANKS[role]:
            candidates.setdefault((tier, wrappers), []).append(name)
    if not candidates:
        # Perhaps the group is what the user takes for a dataset; the checks will say what it is.
        return next(iter(groups), None)
    best = candidates[min(candidates)]
    if len(best) > 1:
        texts = [
            f"{spelled(role, f'{catalogue.path}:{name}')} {catalogue.entries[name]}"
            for name in best
        ]
        raise DataError(
            f"{catalogue.path!r} has several datasets that may be {role}; choose one: "
            f"{abridge(texts)}"
        )
    if role == "weights" and best[0].endswith(".weight"):
        check_only(catalogue, dict(_members(catalogue, group)), best[0])
    return best[0]


def bias_of(catalogue: Catalogue, weights: str) -> str | None:
    """The bias that belongs to a dataset of weights: of the same layer, else the only one of the
    same place with an entry for each row, and with no weights of its own layer.
    """
    last = (*WEIGHT_WORDS, "classifier", "prototypes")
    own = _of_layer(catalogue, weights, last, BIAS_WORDS)
    if bias := next(iter(own), None) or head_bias(catalogue.entries, weights):
        return bias
    second = re.sub(r"\bvars/0$", "vars/1", weights)  # of a layer of Keras 3
    if second != weights and second in catalogue.entries:
        return second
    shape = catalogue.entries[weights].shape
    near, K = weights[: weights.rfind("/") + 1], shape[1:] if is_kernel(weights) else shape[:1]
    alone = [
        name
        for name, entry in _members(catalogue, near)
        if entry.shape == K
        and "bias" in _roles_by_name(name.removeprefix(near))
        and not _of_layer(catalogue, name, BIAS_WORDS, WEIGHT_WORDS)
    ]
    return alone[0] if len(alone) == 1 else None


def unused_vectors(catalogue: Catalogue, weights: str, K: int, used: Collection[str]) -> list[str]:
    """Return the vectors of K floats that may be a bias of the head and play no role.

    They belong to no other layer with a weight, to no stack of layers, and are no statistics.
    """
    inside = weights.startswith(catalogue.snapshots_in)
    group = weights[: weights.rfind("/") + 1] if inside else ""
    vectors = {
        name: entry.shape
        for name, entry in _members(catalogue, group)
        if entry.shape in ((K,), (1, K))
        and entry.real
        and not _WHOLE.search(entry.dtype)
        and name not in used
        and not NO_PARAMETER.search(name)
        and not _STATISTICS.search(name)
    }
    repeated = stacked(vectors)
    layers = {name: name[: max(name.rfind(sign) for sign in "./_") + 1] for name in vectors}
    return [
        name
        for name, layer in layers.items()
        if name not in repeated
        and not any(
            layer + word in catalogue.entries and layer + word != weights
            for word in (*WEIGHT_WORDS, "kernel", "gamma")
        )
    ]


def _of_layer(
    catalogue: Catalogue, name: str, last: Collection[str], words: Iterable[str]
) -> list[str]:
    """The entries called as `name` but for its last word, which is one of `last`, here `words`."""
    cut = max(name.rfind(sign) for sign in "./_") + 1
    word, colon, number = name[cut:].partition(":")
    tails = (colon + number, "") if number in READINGS else (colon + number,)
    names = (name[:cut] + each + tail for tail in tails for each in words if word in last)
    return [each for each in names if each in catalogue.entries]


def _only_dataset(catalogue: Catalogue, role: str, group: str) -> str | None:
    """The one dataset of a group that has the rank of `role`, whatever its name, or the one that
    can be a classifier; else None.
    """
    members = dict(_members(catalogue, group))
    fitting = [n for n, entry in members.items() if entry.real and len(entry.shape) in _RANKS[role]]
    if role == "labels" and len(fitting) > 1:
        fitting = [n for n in fitting if len(members[n].shape) == 1 and "int" in members[n].dtype]
    if not group and not fitting:
        # Whatever it is: the checks will say what is wrong.
        fitting = [name for name, entry in members.items() if entry.problem != GROUP]
    if role == "weights" and len(fitting) > 1:
        return only_head(catalogue, members)
    return fitting[0] if len(fitting) == 1 else None


def how_found(catalogue: Catalogue, weights: str) -> str | None:
    """Which entry of a state dict was taken for the classifier, and why; None elsewhere where the
    name says it.
    """
    tier = _tier("weights", _unwrapped(weights)[0])
    if tier == len(NAMES["weights"]) - 1:
        return f"{weights}: input embedding, as there is no output head of that name"
    matrices = sum(
        entry.real and len(entry.shape) == 2 and not NO_PARAMETER.search(name)
        for name, entry in catalogue.entries.items()
    )
    if tier is None and matrices > 1:
        return f"{weights}: the only one of {matrices} matrices that can be the classifier"
    if "." in weights and matrices > 1:
        return f"{weights}: by its name, of {matrices} matrices"
    return None


def _find_unnamed_features(
    catalogue: Catalogue, group: str, roles: dict[str, str], taken: Collection[str]
) -> None:
    """Where there are labels, the one matrix of as many rows whose name says nothing."""
    rows = catalogue.entries[roles["labels"]].shape[:1] if "labels" in roles else None
    rest = [
        name
        for name, entry in _members(catalogue, group)
        if entry.real
        and len(entry.shape) == 2
        and rows in (None, entry.shape[:1])
        and name not in (*roles.values(), *taken)
        and not _roles_by_name(name.removeprefix(group))
    ]
    if len(rest) == 1:
        roles["features"] = rest[0]
    elif len(rest) > 1:
        raise DataError(
            f"{catalogue.path!r}{_place(group)} has several matrices that may be features: "
            f"{abridge([*map(repr, rest)])}; choose with "
            f"{spelled('features', catalogue.path + ':KEY')}"
        )


def _role_of(catalogue: Catalogue, name: str, near: str, elsewhere: Collection[str]) -> str:
    """What a dataset is that the user named without saying."""
    roles = ("weights", "features", "logits", "labels", "bias")
    if by_name := _roles_by_name(name.removeprefix(near)):
        return min(by_name, key=roles.index)
    if "labels" in elsewhere:
        return "features"
    labels = find_role(catalogue, "labels", near) or find_role(catalogue, "labels")
    rows = catalogue.entries[name].shape[:1]
    alike = labels is not None and catalogue.entries[labels].shape[:1] == rows
    return "features" if alike and "features" not in elsewhere else "weights"


def _roles_by_name(name: str) -> set[str]:
    return {role for role in NAMES if _tier(role, _unwrapped(name)[0]) is not None}


def _members(catalogue: Catalogue, group: str) -> Iterable[tuple[str, Entry]]:
    covered = catalogue.snapshots_in == "snapshots/" and not catalogue.prefixes
    elsewhere = () if covered else map(catalogue.snapshot_prefix, catalogue.snapshots)
    apart = ("state/", "snapshots/", *elsewhere)
    for name, entry in catalogue.entries.items():
        if name.startswith(group) and not name.removeprefix(group).startswith(apart):
            yield name, entry


def _tier(role: str, bare: str) -> int | None:
    return next((i for i, names in enumerate(NAMES[role]) if bare in names), None)


def _unwrapped(name: str) -> tuple[str, int]:
    """The name without the wrappers before it, and how many there were."""
    parts = name.replace("/", ".").removesuffix(":0").split(".")
    bare = [*dropwhile(_WRAPPERS.__contains__, parts[:-1]), parts[-1]]
    return ".".join(bare), len(parts) - len(bare)


def _group(catalogue: Catalogue, key: str) -> str | None:
    """`key/` or `key.` where the key is no dataset but begins the names of some."""
    name = key.strip("/")
    if name in catalogue.entries and catalogue.entries[name].problem != GROUP:
        return None
    begun = (p for p in (f"{name}/", f"{name}.") if any(e.startswith(p) for e in catalogue.entries))
    return next(begun, None)


def _place(group: str) -> str:
    return f", group {group.rstrip('/.')!r}," if group else ""
