"""Roles of the datasets of a file: features, labels, weights, bias or logits.

A role is found by the user's key, by one of many names, or as the only dataset that fits.
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
"""Prefixes that training frameworks put before the names of a model's parameters."""
_SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("test", "testing"), "test"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "val"),
}
"""The split by the name of a group, in lower case."""
_NUMBERED_NAME = re.compile(r"(^|[./])(arr_)?\d+$")
"""Names that count arrays, as numpy.savez and lists have them."""
_STATISTICS = re.compile(r"(running|moving)_(mean|var)")
"""Names of the statistics of a normalisation layer."""
_WHOLE_NUMBER_DTYPE = re.compile(r"int|bool|[<>|=][iub]\d")
"""Dtypes of whole numbers."""
_RANKS = {"features": (2,), "labels": (1, 2), "weights": (2,), "bias": (1,), "logits": (2,)}


class Piece(NamedTuple):
    """One dataset of one file."""

    path: str
    name: str
    head: str | None = None
    """Reason for the choice of weights that the user did not name."""
    model: str | None = None
    """Folder of the model that the weights are from."""
    note: str | None = None
    """Steps of a model's head after W h + b that change no winner."""
    tied: str | None = None
    """The input embedding of the file that config.json ties to a model's head."""
    by_key: bool = False
    """True if the user's key is the dataset."""


def dataset_for(catalogue: Catalogue, role: str, key: str | None) -> str:
    """Return the dataset that `--role FILE` or `--role FILE:key` means; a key may name a group.

    Raises:
        DataError: there is none; the message lists the datasets.
    """
    group = "" if key is None else _group(catalogue, key)
    name = None
    if group is not None:
        name = find_role(catalogue, role, group) or _only_dataset(catalogue, role, group)
        if role == "features" and "weights" in _roles_by_name(str(name).removeprefix(group)):
            name = None  # a classifier: only its own key makes it features
    if name is None and key is not None:
        # Also a group without such a dataset: later checks refuse it.
        return catalogue.find_dataset(key)
    if name is None:
        raise DataError(
            f"{catalogue.path!r} has no dataset that is called {role}; name one, as "
            f"{catalogue.path}:KEY, of {catalogue}"
        )
    return name


def roles_of_file(
    catalogue: Catalogue,
    key: str | None,
    option_roles: Collection[str],
    role: str | None = None,
    option_names: Collection[str] = (),
) -> dict[str, str]:
    """Return the datasets of a file by role, as far as it has them.

    Args:
        catalogue: the datasets of the file.
        key: a dataset, or a group in which to look.
        option_roles: roles of datasets that options name.
        role: the role for which an option names the file: `FILE:key` is then only that dataset.
            None: a dataset has the role of its name, else it is features if labels have the same
            number of rows, else weights; the other datasets of the group have roles too.
        option_names: datasets of the file that options name.

    Raises:
        DataError: several datasets may have a role, or none has.
    """
    group = "" if key is None else _group(catalogue, key)
    if role is None and group is not None:
        return roles_of_group(catalogue, group, option_roles, option_names=option_names)
    name = catalogue.find_dataset(key or "") if role is None else dataset_for(catalogue, role, key)
    if role is not None and group is None:
        return {role: name}
    parent = name[: name.rfind("/") + 1]
    keyed_roles = {role or _role_of(catalogue, name, parent, option_roles): name}
    return roles_of_group(catalogue, parent, option_roles, keyed_roles, option_names)


def roles_of_group(
    catalogue: Catalogue,
    group: str,
    option_roles: Collection[str],
    keyed_roles: dict[str, str] | None = None,
    option_names: Collection[str] = (),
) -> dict[str, str]:
    """Return the datasets of a group (`snapshots/final/`) by role.

    Labels and weights that the group lacks are the root's.

    Args:
        catalogue: the datasets of the file.
        group: prefix of the names in the group; empty for the root.
        option_roles: roles of datasets that options name.
        keyed_roles: datasets by role that the user's key names.
        option_names: datasets of the file that options name.

    Raises:
        DataError: several datasets may have a role, or the group has neither features nor weights.
    """
    roles = dict(keyed_roles or {})

    def missing(role: str) -> bool:
        return role not in roles and role not in option_roles

    def look(role: str, place: str) -> None:
        if missing(role) and (name := find_role(catalogue, role, place)) not in (
            None,
            *roles.values(),
            *option_names,
        ):
            roles[role] = str(name)

    for role in ("features", "labels", "weights", "logits"):
        look(role, group)
    if missing("features"):
        look("labels", "")
        if not missing("labels"):
            _find_unnamed_features(catalogue, group, roles, option_names)
    by_option = {"features", "logits"} & {*option_roles}
    if group and by_option:
        look("labels", "")
        look("weights", "")
    if not roles.keys() & {"features", "weights", "logits"} and not (
        "labels" in roles and by_option
    ):
        nameless = missing("features") and missing("labels")
        pair = _unnamed_pair(catalogue, group) if nameless else {}
        weights = (
            None if pair or not missing("weights") else _only_dataset(catalogue, "weights", group)
        )
        weights = None if weights in option_names else weights
        head = {weights, bias_of(catalogue, weights)} if weights else set()
        if by_option and (not weights or catalogue.entries.keys() - head):
            return roles
        if option_names and not weights and not pair:
            return roles
        if pair is None or "labels" in roles or not (pair or weights):
            raise DataError(
                f"{catalogue.path!r}{_place(group)} has neither features nor weights by name; "
                f"choose with {spelled('features')} or "
                f"{spelled('weights', catalogue.path + ':KEY')} among {catalogue}"
            )
        if weights and (question := catalogue.entries[weights].question):
            raise DataError(
                f"{catalogue.path!r}: {question}; {spelled('weights', catalogue.path)} takes all "
                "as the points of a code"
            )
        roles |= pair or {"weights": str(weights)}
    if group:  # datasets of the group come before those of the root
        look("labels", "")
        look("weights", "")
    if (
        missing("bias")
        and "weights" in roles
        and (bias := bias_of(catalogue, roles["weights"])) is not None
    ):
        roles["bias"] = bias
    if not (roles.keys() | set(option_roles)) & {"features", "logits"}:
        roles.pop("labels", None)
    return roles


def feature_groups(catalogue: Catalogue) -> dict[str, str]:
    """Return the prefix of the names in each group that holds features, by the group's name.

    Features have such a name, or a label for each row.
    """
    groups = {}
    words = [word for tier in NAMES["labels"] for word in tier]
    for name, entry in catalogue.entries.items():
        cut = max(name.rfind("/"), name.rfind(".")) + 1
        group, tier = name[:cut], _tier("features", name[cut:])
        labels = [
            catalogue.entries.get(place + word) for place in (group, "") for word in words if tier
        ]
        labelled = any(y is not None and y.shape[:1] == entry.shape[:1] for y in labels)
        matrix = entry.real and len(entry.shape) == 2 and not NO_PARAMETER.search(group)
        if cut and matrix and (tier == 0 or (tier is not None and labelled)):
            groups[group[:-1]] = group
    return groups


def add_sets(catalogue: Catalogue, groups: Mapping[str, str]) -> None:
    """Add groups that hold features to the snapshots, if the root has no features.

    Names such as `train` and `test` give the split, and the epoch if they have one.
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
        catalogue.snapshots[name] = dict([*pairs, *splits]) | catalogue.read_attributes(name)
        catalogue.prefixes[name] = prefix


def _unnamed_pair(catalogue: Catalogue, group: str) -> dict[str, str] | None:
    """Return features and labels of a group whose names do not tell the roles.

    They are one matrix, and one vector with a whole number for each row, of which some are equal
    and some are not. Empty if there is no such vector; None if the vector may be something else.
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
    if not all(_NUMBERED_NAME.search(name) for name in (*matrices, *vectors)):
        vectors = [name for name in vectors if members[name].shape[0] == rows]
    if not vectors or any("bias" in _roles_by_name(name.removeprefix(group)) for name in vectors):
        return {}
    values = stored_labels(catalogue, vectors[0]).values
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
    note = f"taken as the labels of {matrices[0]!r}, as no name tells its role"
    catalogue.entries[vectors[0]] = replace(members[vectors[0]], note=note)
    return {"features": matrices[0], "labels": vectors[0]}


def find_role(catalogue: Catalogue, role: str, group: str = "") -> str | None:
    """Return the dataset of a group whose name tells that it has `role`; None if there is none.

    Raises:
        DataError: there are several.
    """
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
        # The user may take the group for a dataset; later checks say that it is a group.
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
    """Return the bias that belongs to a dataset of weights; None if there is none.

    It is that of the same layer, else the only one of the same group with an entry for each row,
    and without weights in its own layer.
    """
    endings = (*WEIGHT_WORDS, "classifier", "prototypes")
    biases = _layer_entries(catalogue, weights, endings, BIAS_WORDS)
    if bias := next(iter(biases), None) or head_bias(catalogue.entries, weights):
        return bias
    second = re.sub(r"\bvars/0$", "vars/1", weights)  # of a layer of Keras 3
    if second != weights and second in catalogue.entries:
        return second
    shape = catalogue.entries[weights].shape
    group, K = weights[: weights.rfind("/") + 1], shape[1:] if is_kernel(weights) else shape[:1]
    biases = [
        name
        for name, entry in _members(catalogue, group)
        if entry.shape == K
        and "bias" in _roles_by_name(name.removeprefix(group))
        and not _layer_entries(catalogue, name, BIAS_WORDS, WEIGHT_WORDS)
    ]
    return biases[0] if len(biases) == 1 else None


def unused_vectors(
    catalogue: Catalogue, weights: str, K: int, role_names: Collection[str]
) -> list[str]:
    """Return the vectors of K floats that may be a bias of the head and are not in `role_names`.

    They belong to no other layer with a weight, to no stack of layers, and are not statistics.
    """
    inside = weights.startswith(catalogue.snapshots_prefix)
    group = weights[: weights.rfind("/") + 1] if inside else ""
    vectors = {
        name: entry.shape
        for name, entry in _members(catalogue, group)
        if entry.shape in ((K,), (1, K))
        and entry.real
        and not _WHOLE_NUMBER_DTYPE.search(entry.dtype)
        and name not in role_names
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


def _layer_entries(
    catalogue: Catalogue, name: str, endings: Collection[str], words: Iterable[str]
) -> list[str]:
    """Return the entries named as `name` with its last word, one of `endings`, in `words`."""
    cut = max(name.rfind(sign) for sign in "./_") + 1
    word, colon, number = name[cut:].partition(":")
    tails = (colon + number, "") if number in READINGS else (colon + number,)
    names = (name[:cut] + last + tail for tail in tails for last in words if word in endings)
    return [entry for entry in names if entry in catalogue.entries]


def _only_dataset(catalogue: Catalogue, role: str, group: str) -> str | None:
    """Return the only dataset of a group with the rank of `role`, or that can be a classifier.

    Its name does not count; None if there is not exactly one.
    """
    members = dict(_members(catalogue, group))
    fitting = [n for n, entry in members.items() if entry.real and len(entry.shape) in _RANKS[role]]
    if role == "labels" and len(fitting) > 1:
        fitting = [n for n in fitting if len(members[n].shape) == 1 and "int" in members[n].dtype]
    if not group and not fitting:
        # Later checks say what is wrong with it.
        fitting = [name for name, entry in members.items() if entry.problem != GROUP]
    if role == "weights" and len(fitting) > 1:
        return only_head(catalogue, members)
    return fitting[0] if len(fitting) == 1 else None


def head_reason(catalogue: Catalogue, weights: str) -> str | None:
    """Return the reason for the choice of a classifier in a state dict; None if it is obvious."""
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
    catalogue: Catalogue, group: str, roles: dict[str, str], option_names: Collection[str]
) -> None:
    """Add the only matrix without a telling name as features, if it has a row for each label.

    Raises:
        DataError: there are several.
    """
    rows = catalogue.entries[roles["labels"]].shape[:1] if "labels" in roles else None
    rest = [
        name
        for name, entry in _members(catalogue, group)
        if entry.real
        and len(entry.shape) == 2
        and rows in (None, entry.shape[:1])
        and name not in (*roles.values(), *option_names)
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


def _role_of(catalogue: Catalogue, name: str, group: str, option_roles: Collection[str]) -> str:
    """Return the role of a dataset that the user named without its role."""
    roles = ("weights", "features", "logits", "labels", "bias")
    if by_name := _roles_by_name(name.removeprefix(group)):
        return min(by_name, key=roles.index)
    if "labels" in option_roles:
        return "features"
    labels = find_role(catalogue, "labels", group) or find_role(catalogue, "labels")
    rows = catalogue.entries[name].shape[:1]
    labelled = labels is not None and catalogue.entries[labels].shape[:1] == rows
    return "features" if labelled and "features" not in option_roles else "weights"


def _roles_by_name(name: str) -> set[str]:
    return {role for role in NAMES if _tier(role, _unwrapped(name)[0]) is not None}


def _members(catalogue: Catalogue, group: str) -> Iterable[tuple[str, Entry]]:
    covered = catalogue.snapshots_prefix == "snapshots/" and not catalogue.prefixes
    snapshots = () if covered else map(catalogue.snapshot_prefix, catalogue.snapshots)
    separate = ("state/", "snapshots/", *snapshots)
    for name, entry in catalogue.entries.items():
        if name.startswith(group) and not name.removeprefix(group).startswith(separate):
            yield name, entry


def _tier(role: str, bare: str) -> int | None:
    return next((i for i, names in enumerate(NAMES[role]) if bare in names), None)


def _unwrapped(name: str) -> tuple[str, int]:
    """Return the name without its wrappers, and their number."""
    parts = name.replace("/", ".").removesuffix(":0").split(".")
    bare = [*dropwhile(_WRAPPERS.__contains__, parts[:-1]), parts[-1]]
    return ".".join(bare), len(parts) - len(bare)


def _group(catalogue: Catalogue, key: str) -> str | None:
    """Return `key/` or `key.` if the key is not a dataset but a prefix of datasets; else None."""
    name = key.strip("/")
    if name in catalogue.entries and catalogue.entries[name].problem != GROUP:
        return None
    groups = (f"{name}/", f"{name}.")
    return next((g for g in groups if any(e.startswith(g) for e in catalogue.entries)), None)


def _place(group: str) -> str:
    return f", group {group.rstrip('/.')!r}," if group else ""
