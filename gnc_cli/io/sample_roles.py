"""Which dataset of a file plays which role: by its name, by the user's key, or as the only one."""

from collections.abc import Collection
from dataclasses import dataclass

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue
from gnc_cli.io.hdf5 import GROUP
from gnc_cli.io.names import bias_of, find_role, looks_like, matrices, only_dataset

__all__ = ["Piece", "dataset_for", "roles_of_file", "roles_of_snapshot"]


@dataclass(frozen=True)
class Piece:
    """One dataset of one file."""

    path: str
    name: str


def dataset_for(catalogue: Catalogue, role: str, key: str | None) -> str:
    """The dataset that `--role FILE` or `--role FILE:key` means; the key may name a group.

    Raises:
        DataError: there is none, or the choice is not clear; lists what there is.
    """
    group = "" if key is None else _group(catalogue, key)
    if key is not None and group is None:
        return catalogue.named(key)
    name = find_role(catalogue, role, group or "") or only_dataset(catalogue, role, group or "")
    if name is None and key is not None:
        return catalogue.named(key)  # a group that holds no such thing; the checks will say so
    if name is None:
        raise DataError(
            f"{catalogue.path!r} has no dataset that is called {role}; choose with "
            f"--{role} {catalogue.path}:KEY among {catalogue}"
        )
    return name


def roles_of_file(
    catalogue: Catalogue,
    key: str | None = None,
    given: Collection[str] = (),
    role: str | None = None,
) -> dict[str, str]:
    """The datasets of a file by role: features, labels, weights, bias, logits, as far as they go.

    Args:
        catalogue: of the file.
        key: a dataset, or a group in which to look.
        given: roles that come from elsewhere.
        role: for which an option names the file: `FILE:key` is then that dataset alone. None: a
            dataset is what its name says, else features where labels have as many rows, and
            weights otherwise; the others come along.

    Raises:
        DataError: nothing to measure, or the choice is not clear; lists what there is.
    """
    group = "" if key is None else _group(catalogue, key)
    if role is None and group is not None:
        return _roles(catalogue, group, {}, given)
    name = catalogue.named(key or "") if role is None else dataset_for(catalogue, role, key)
    if role is not None and group is None:
        return {role: name}
    near = name[: name.rfind("/") + 1]
    return _roles(catalogue, near, {role or _role_of(catalogue, name, near, given): name}, given)


def roles_of_snapshot(
    catalogue: Catalogue, snapshot: str, given: Collection[str] = ()
) -> dict[str, str]:
    """The same for `/snapshots/<snapshot>`; labels and weights that it lacks are the root's.

    Raises:
        DataError: see `roles_of_file`.
    """
    return _roles(catalogue, f"snapshots/{snapshot}/", {}, given)


def _roles(
    catalogue: Catalogue, group: str, picked: dict[str, str], given: Collection[str]
) -> dict[str, str]:
    found = dict(picked)

    def missing(role: str) -> bool:
        return role not in found and role not in given

    def look(role: str, place: str) -> None:
        if missing(role) and (name := find_role(catalogue, role, place)) not in (
            None, *found.values()
        ):  # fmt: skip
            found[role] = str(name)

    for role in ("features", "labels", "weights", "logits"):
        look(role, group)
    if missing("features"):
        if missing("labels") and group:
            look("labels", "")
        if not missing("labels"):
            _unnamed_features(catalogue, group, found)
    own = found.keys() | set(given)
    if not own & {"features", "weights", "logits"}:
        only = only_dataset(catalogue, "weights", group)
        if only is None or only in found.values():
            raise DataError(
                f"{catalogue.path!r}{_place(group)} has neither features nor weights by name; "
                f"choose with --features or --weights {catalogue.path}:KEY among {catalogue}"
            )
        found["weights"] = only
    if group:  # after its own have been looked for
        look("labels", "")
        look("weights", "")
    if missing("bias") and "weights" in found:
        bias = bias_of(catalogue, found["weights"])
        if bias is not None:
            found["bias"] = bias
    if not (found.keys() | set(given)) & {"features", "logits"}:
        found.pop("labels", None)
    return found


def _unnamed_features(catalogue: Catalogue, group: str, found: dict[str, str]) -> None:
    """Where there are labels, the one nameless matrix with as many rows is the features."""
    rest = [name for name in matrices(catalogue, group) if name not in found.values()]
    if "labels" in found:
        rows = catalogue.entries[found["labels"]].shape[:1]
        rest = [name for name in rest if catalogue.entries[name].shape[:1] == rows]
    if len(rest) == 1:
        found["features"] = rest[0]
    elif len(rest) > 1:
        raise DataError(
            f"{catalogue.path!r}{_place(group)} has several matrices that may be features: "
            f"{', '.join(map(repr, rest))}; choose with --features {catalogue.path}:KEY"
        )


def _role_of(catalogue: Catalogue, name: str, near: str, given: Collection[str]) -> str:
    """What a dataset is that the user named without saying."""
    spoken = looks_like(name.removeprefix(near))
    for role in ("weights", "features", "logits", "labels", "bias"):
        if role in spoken:
            return role
    if "labels" in given:
        return "features"
    labels = find_role(catalogue, "labels", near) or find_role(catalogue, "labels")
    rows = catalogue.entries[name].shape[:1]
    alike = labels is not None and catalogue.entries[labels].shape[:1] == rows
    return "features" if alike and "features" not in given else "weights"


def _group(catalogue: Catalogue, key: str) -> str | None:
    """`key/` or `key.` where the key is no dataset but begins the names of some."""
    name = key.strip("/")
    if name in catalogue.entries and catalogue.entries[name].problem != GROUP:
        return None
    for prefix in (f"{name}/", f"{name}."):
        if any(entry.startswith(prefix) for entry in catalogue.entries):
            return prefix
    return None


def _place(group: str) -> str:
    return f", group {group.rstrip('/.')!r}," if group else ""
