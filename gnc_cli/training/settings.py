"""All that decides a run of `gnc train`, resolved and checked: what config.json holds."""

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gnc_cli.errors import DataError, UsageError
from gnc_cli.parameters import spelled
from gnc_cli.training.presets import defaults, preset_settings

_PARAMETERS = {"subset": "classes_subset"}
"""Settings that the public function calls otherwise."""
_FREE = ("epochs", "measure_every", "snapshot_every")
"""What a resumed run may change; the learning rate then follows the new number of epochs, a step
schedule too unless its milestones were asked for."""
_PATHS = (
    "data", "fonts", "ood", "head", "backbone_weights", "init_from", "assignment", "similarity",
)  # fmt: skip
"""Settings that may hold a path, of which config.json keeps the last part alone."""


@dataclass(frozen=True)
class Settings:
    """Every choice of a run but the machine it runs on; plain JSON."""

    data: str
    model: str
    head: str
    """`learned`, `cmf`, `fixed:FILE` or `fixed:solve`."""
    constraint: str
    tau: float
    loss: str
    epochs: int
    batch_size: int
    optimizer: str
    lr: float
    momentum: float
    weight_decay: float
    schedule: str
    milestones: tuple[int, ...]
    gamma: float
    warmup: float
    precision: str
    channels_last: bool
    stem: str
    width: float
    norm: str
    beta: float
    classes: int | None = None
    subset: tuple[str, ...] | None = None
    image_size: int | None = None
    fonts: str | None = None
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
    clip: float | None = None
    compile: bool = False
    measure_every: int | None = None
    snapshot_every: int | None = None
    preset: str | None = None
    seed: int = 0

    @property
    def kind(self) -> str:
        """`learned`, `cmf` or `fixed`."""
        return self.head.partition(":")[0]

    @property
    def code(self) -> str | None:
        """Where a fixed code is from: a file, or `solve`."""
        return self.head.partition(":")[2] or None

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary for config.json."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Settings":
        """Settings as config.json has them.

        Raises:
            DataError: something is missing or unknown: the file is of another version.
        """
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()
        }
        try:
            return cls(**values)
        except TypeError as error:
            raise DataError(
                f"config.json does not hold the settings of this version of gnc ({error}); "
                "start a new run"
            ) from error


def settings_of(given: Mapping[str, Any]) -> Settings:
    """Settings from what was asked for: that first, then the preset, then defaults.

    Args:
        given: values by name; None is not asked for.

    Raises:
        UsageError: an unknown word, a number out of range, options that contradict each other.
    """
    asked = {name: value for name, value in given.items() if value is not None}
    _check_head(asked.get("head", "learned"))
    chosen = dict(asked)
    if "preset" in asked:
        chosen = preset_settings(asked["preset"], asked) | asked
    settings = Settings(**(defaults(chosen) | chosen))
    _check_milestones(settings)
    _check_together(settings, asked)
    return settings


def resumed(stored: Settings, given: Mapping[str, Any]) -> Settings:
    """The settings of a run that goes on; it may be given more epochs, or measured otherwise.

    Raises:
        UsageError: an option asks for something else than the run was started with; or the run has
            a `package.module:factory`, which is imported only where the caller names it too.
    """
    asked = {name: value for name, value in given.items() if value is not None}
    for name, value in asked.items():
        was = getattr(stored, name)
        same = value == was or (name in _PATHS and _last_part(value) == _last_part(was))
        if name not in _FREE and not same:
            raise UsageError(
                f"{spelled(_PARAMETERS.get(name, name))} {_shown(value)}: the run to resume has "
                f"{_shown(was)}; leave the option out, or start a new run"
            )
    if ":" in str(stored.model) and "model" not in asked:
        raise UsageError(
            "the run to resume has a network of somebody's own, and a run folder does not decide "
            f"which code is imported; if you trust that code, add {spelled('model', stored.model)}"
        )
    again = (*_FREE, *_PATHS)
    settings = dataclasses.replace(stored, **{n: v for n, v in asked.items() if n in again})
    steps = stored.schedule == "step"
    if steps and stored.milestones == _usual_milestones(stored, stored.epochs):
        moved = _usual_milestones(stored, settings.epochs)
        settings = dataclasses.replace(settings, milestones=moved)
    _check_milestones(settings)
    return settings


def _usual_milestones(stored: Settings, epochs: int) -> tuple[int, ...]:
    """Those of such a run of so many epochs where nobody says."""
    chosen: dict[str, Any] = {"epochs": epochs, "data": stored.data}
    if stored.preset is not None:
        chosen = preset_settings(stored.preset, chosen) | {"epochs": epochs}
    found: tuple[int, ...] = (defaults(chosen) | chosen)["milestones"]
    return found


def _last_part(value: str | None) -> str | None:
    """`folder:/home/ada/tiny` as `folder:tiny`, `/tmp/code.h5:W` as `code.h5:W`."""
    if value is None:
        return None
    kind, colon, path = value.partition(":")
    if "/" in kind:
        kind, colon, path = "", "", value
    return kind + colon + os.path.basename(path.rstrip("/"))


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _check_head(head: str) -> None:
    kind, colon, code = head.partition(":")
    if kind not in ("learned", "cmf", "fixed") or bool(code) != (kind == "fixed") or (
        bool(colon) != bool(code)
    ):
        raise UsageError(
            f"{spelled('head')} {head!r} is unknown; choose learned, cmf, fixed:FILE or fixed:solve"
        )


def _check_milestones(settings: Settings) -> None:
    if settings.schedule == "step" and not settings.milestones:
        raise UsageError(
            f"{spelled('schedule', 'step')} needs {spelled('milestones')}, such as 100,150"
        )
    if not _rising(settings.milestones):
        raise UsageError(
            f"{spelled('milestones')} {_shown(settings.milestones)}: give rising epochs from 1"
        )


def _rising(milestones: tuple[int, ...]) -> bool:
    return all(a < b for a, b in zip((0, *milestones), milestones, strict=False))


def _check_together(settings: Settings, asked: Mapping[str, Any]) -> None:
    """Refuse options that say nothing in this run, or contradict each other."""
    if settings.classes is not None and settings.subset is not None:
        raise UsageError(
            f"{spelled('classes')} and {spelled('classes_subset')} exclude each other; "
            "keep one of them"
        )
    decay, fixed = settings.constraint == "decay", settings.kind == "fixed"
    if decay and settings.kind != "learned":
        raise UsageError(
            f"{spelled('head', settings.head)} lies on the sphere; "
            f"leave out {spelled('constraint', 'decay')}"
        )
    if decay and ("tau" in asked or settings.loss != "ce"):
        raise UsageError(
            f"{spelled('constraint', 'decay')} has free lengths: it takes neither "
            f"{spelled('tau')} nor {spelled('loss')}"
        )
    if settings.margin is not None and settings.loss not in ("cosface", "arcface"):
        raise UsageError(
            f"{spelled('margin')} belongs to {spelled('loss', 'cosface')} or arcface; "
            "name one of them"
        )
    if "beta" in asked and settings.kind != "cmf":
        raise UsageError(f"beta belongs to {spelled('head', 'cmf')}; leave it out")
    if settings.assignment is not None and not fixed:
        raise UsageError(
            f"{spelled('assignment')} places classes on a fixed code; "
            f"add {spelled('head', 'fixed:FILE')}"
        )
    if settings.similarity is not None and settings.assignment not in ("best", "worst"):
        raise UsageError(
            f"{spelled('similarity')} is for {spelled('assignment', 'best')} or worst; "
            "name one of them"
        )
    if settings.fonts is not None and not settings.data.startswith("glyphs"):
        raise UsageError(
            f"{spelled('fonts')} is for {spelled('data', 'glyphs')}, not for {settings.data!r}; "
            "leave it out"
        )
    if settings.backbone_weights is not None and settings.init_from is not None:
        raise UsageError(
            f"{spelled('backbone_weights')} and {spelled('init_from')} exclude each other; "
            "keep one of them"
        )
    for name, wanted, needs in (
        ("momentum", "optimizer", "sgd"), ("milestones", "schedule", "step"),
        ("gamma", "schedule", "step"),
    ):  # fmt: skip
        if name in asked and getattr(settings, wanted) != needs:
            raise UsageError(
                f"{name} belongs to {spelled(wanted, needs)}; leave it out, or add that"
            )
