"""The settings of a run: what was asked for, what a preset says, and defaults."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from gnc_cli.errors import UsageError
from gnc_cli.parameters import excludes, requires, spelled
from gnc_cli.plain import read_plain
from gnc_cli.training.presets import Constraint, Loss, defaults, preset_settings
from gnc_cli.training.recipe import Recipe

_FREE = ("epochs", "measure_every", "snapshot_every")
"""What a resumed run may change; the cosine follows the new number of epochs."""
_PATHS = (
    "data",
    "ood",
    "head",
    "backbone_weights",
    "init_from",
    "assignment",
    "similarity",
)
"""Settings that may hold a path, of which config.json keeps the last part alone."""
_BELONGS_TO = {
    "margin": ("loss", ("cosface", "arcface")),
    "beta": ("head", ("cmf",)),
    "assignment": ("head", ("fixed:FILE",)),
    "similarity": ("assignment", ("best", "worst")),
    "script": ("data", ("glyphs",)),
    "momentum": ("optimizer", ("sgd",)),
    "milestones": ("schedule", ("step",)),
}
"""Settings that say nothing unless another has one of these values."""
_EXCLUDING = (("classes", "classes_subset"), ("backbone_weights", "init_from"))
_PAGE_SNAPSHOTS = 8
"""Snapshots of a run that a page shows."""


@dataclass(frozen=True, kw_only=True)
class Settings(Recipe):
    """Every choice of a run but the machine it runs on; plain JSON."""

    data: str
    model: str
    head: str
    """`learned`, `cmf`, `fixed:FILE` or `fixed:solve`."""
    constraint: Constraint
    tau: float
    loss: Loss
    width: float
    beta: float
    classes: int | None = None
    classes_subset: tuple[str, ...] | None = None
    images_per_class: int | None = None
    image_size: int | None = None
    script: str | None = None
    augment: tuple[str, ...] | None = None
    """None: crop and rotation, and flips where mirror images keep their class."""
    ood: str | None = None
    feature_dim: int | None = None
    """None: that of the fixed code, else by the number of classes."""
    backbone_weights: str | None = None
    init_from: str | None = None
    margin: float | None = None
    assignment: str | None = None
    similarity: str | None = None
    measure_every: int | None = None
    snapshot_every: int | None = None
    preset: str | None = None
    seed: int = 0

    @property
    def head_kind(self) -> str:
        """`learned`, `cmf` or `fixed`."""
        return self.head.partition(":")[0]

    @property
    def head_code(self) -> str | None:
        """Where a fixed code is from: a file, or `solve`."""
        return self.head.partition(":")[2] or None

    @property
    def label(self) -> str:
        """Data and network: the end of a dated folder's name."""
        return f"{self.data.partition(':')[0]}-{self.model.rpartition(':')[2]}"

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Settings":
        """Settings as config.json has them; ValueError names the field that is wrong."""
        names = {setting.name for setting in dataclasses.fields(cls)}
        for name in stored.keys() - names:
            raise ValueError(f"field {name!r} is unknown")
        settings: Settings = read_plain(cls, stored)
        for name in ("epochs", "batch_size", "tau", "lr", "width"):
            if not 0 < getattr(settings, name) < math.inf:
                raise ValueError(f"field {name!r} is not above 0")
        return settings


def settings_of(choices: Mapping[str, Any], *, page: bool = False) -> Settings:
    """Return what was asked for, then what the preset says, then defaults.

    Args:
        choices: the settings that the caller chose.
        page: snapshots are kept for a page of the run.

    Raises:
        UsageError: choices contradict each other, or say nothing in this run.
    """
    kind, colon, code = choices.get("head", "learned").partition(":")
    fixed = kind == "fixed"
    if kind not in ("learned", "cmf", "fixed") or not bool(colon) == bool(code) == fixed:
        raise UsageError(
            f"{spelled('head')} {choices['head']!r} is unknown; choose learned, cmf, fixed:FILE or "
            "fixed:solve"
        )
    preset = preset_settings(choices["preset"], choices) if "preset" in choices else {}
    chosen = {**preset, **choices}
    settings = Settings(**(defaults(chosen) | chosen))
    _check_together(settings, choices)
    if page and settings.snapshot_every is None:
        every = max(1, settings.epochs // _PAGE_SNAPSHOTS)  # features as they move
        settings = dataclasses.replace(settings, snapshot_every=every)
    return settings


def _check_together(settings: Settings, choices: Mapping[str, Any]) -> None:
    """Refuse options that say nothing in this run, or contradict each other."""
    for one, other in _EXCLUDING:
        if one in choices and other in choices:
            raise excludes(one, spelled(other))
    odd = settings.head_kind != "learned" or "tau" in choices or settings.loss != "ce"
    if settings.constraint == "decay" and odd:
        raise UsageError(
            f"{spelled('constraint', 'decay')} excludes {spelled('head')}, {spelled('tau')} and "
            f"{spelled('loss')}, as its rows have free norms; drop them"
        )
    for name, (other, values) in _BELONGS_TO.items():
        kinds = [value.partition(":")[0] for value in values]
        if name in choices and str(getattr(settings, other)).partition(":")[0] not in kinds:
            wanted = " or ".join([spelled(other, values[0]), *values[1:]])
            raise requires(name, wanted, f"add that, or drop {spelled(name)}")


def resumed_settings(stored: Settings, choices: Mapping[str, Any]) -> Settings:
    """Return the settings of a run that goes on, perhaps with more epochs or measured otherwise.

    A `package.module:factory` is imported only where the caller names it too.
    """
    for name, value in choices.items():
        was = getattr(stored, name)
        same = value == was or (name in _PATHS and _last_part(value) == _last_part(was))
        if name not in _FREE and not same:
            raise UsageError(
                f"{spelled(name)} {_shown(value)}: the run to resume has {_shown(was)}; "
                "leave the option out, or start a new run"
            )
    if ":" in stored.model and "model" not in choices:
        raise UsageError(
            "the run to resume has a network of somebody's own, and a run folder does not decide "
            f"which code is imported; if you trust that code, add {spelled('model', stored.model)}"
        )
    again = (*_FREE, *_PATHS)
    return dataclasses.replace(stored, **{n: v for n, v in choices.items() if n in again})


def _last_part(value: str | None) -> str | None:
    """`folder:/home/ada/tiny` as `folder:tiny`, `/tmp/code.h5:W` as `code.h5:W`."""
    if value is None:
        return None
    kind, colon, path = value.partition(":")
    if "/" in kind or len(kind) == 1:  # of a path, its drive at most
        kind, colon, path = "", "", value
    return kind + colon + PurePath(path).name


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
