"""The settings of a run: those of the call, of a preset, and defaults.

Presets are the settings of the paper's figures (sections 4 and 5, appendices A and B). Its common
recipe is SGD with momentum 0.9, learning rate 0.1, and cosine annealing over 200 epochs. Its code
adds nesterov and weight decay 5e-4.
"""

import dataclasses
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import Any

from gnc_cli.errors import UsageError
from gnc_cli.parameters import excludes, requires, spelled
from gnc_cli.plain import read_plain

Preset = StrEnum("Preset", "fig2 fig4 fig5 b1 b3 b6 finetune")
Constraint = StrEnum("Constraint", "sphere decay")
Loss = StrEnum("Loss", "ce hardmax cosface arcface")
Optimizer = StrEnum("Optimizer", "sgd adamw adam")
Schedule = StrEnum("Schedule", "cosine step constant")
Precision = StrEnum("Precision", "auto float32 bf16 fp16")

_PAPER_RECIPE: dict[str, Any] = {
    "model": "resnet18",
    "head": "learned",
    "constraint": "sphere",
    "loss": "ce",
    "optimizer": "sgd",
    "lr": 0.1,
    "momentum": 0.9,
    "weight_decay": 5e-4,
    "schedule": "cosine",
    "warmup": 0.0,
    "batch_size": 128,
    "precision": "auto",
    "augment": ("crop", "flip", "rotate"),
}

PRESETS: dict[str, dict[str, Any]] = {
    "fig2": {
        "data": "cifar100",
        "feature_dim": 10,
        "tau": 1 / 7,
        "epochs": 200,
        "measure_every": 5,
    },
    "fig4": {
        "data": "cifar10",
        "classes_subset": ("automobile", "cat", "dog", "truck"),
        "feature_dim": 2,
        "tau": 0.05,
        "epochs": 800,
        "schedule": "step",
        "milestones": (200, 400, 600),
    },
    "fig5": {
        "data": "cifar100",
        "feature_dim": 10,
        "tau": 0.1,
        "epochs": 200,
        "head": "cmf",
        "beta": 0.9,
    },
    "b1": {
        "data": "cifar100",
        "classes": 30,
        "feature_dim": 2,
        "tau": 1 / 70,
        "epochs": 1600,
        "schedule": "step",
        "milestones": (700, 1400),
    },
    "b3": {"data": "cifar100", "feature_dim": 10, "tau": 0.1, "epochs": 200},
    "b6": {
        "data": "cifar10",
        "feature_dim": 2,
        "tau": 0.2,
        "epochs": 600,
        "schedule": "step",
        "classes_subset": ("automobile", "cat", "deer", "dog", "horse", "truck"),
        "milestones": (200, 400),
    },
    "finetune": {
        "data": "cifar10",
        "model": "resnet50",
        "image_size": 224,
        "epochs": 5,
        "batch_size": 100,
        "optimizer": "adam",
        "lr": 1e-5,
        "weight_decay": 0.0,
        "augment": (),
    },
}
"""Figures 2, 4, 5, B.1 (both sides: `constraint`), B.3, B.6, and the fine-tuning of section 5."""

_PAPER_NETWORKS = ("resnet18", "resnet50", "densenet121", "resnext50")
_DATA_SETTINGS = ("classes_subset", "classes", "image_size")
"""Settings that have no meaning on other data than the preset's."""
_GLYPH_CLASSES = {"fig4": {"classes": 4}, "b1": {"classes": 30}, "b6": {"classes": 6}}
_LARGE_SET_SETTINGS = (
    "model",
    "optimizer",
    "lr",
    "momentum",
    "weight_decay",
    "schedule",
    "milestones",
    "warmup",
    "batch_size",
    "epochs",
    "augment",
)
"""Settings of large data sets, which are too few and too large steps for a few hundred images."""
_OPTIMIZER_SETTINGS = ("optimizer", "lr", "momentum", "weight_decay", "warmup")
"""Settings of the preset's optimiser, with which another one does not learn."""
_GLYPHS_PER_CLASS = 9
"""Number of training images per class of glyphs, one per style."""
_GLYPH_STEPS = 900
"""Number of steps, after which 100 classes of glyphs are learned: a minute."""
_RESUME_SETTINGS = ("epochs", "measure_every", "snapshot_every")
"""Settings that a resumed run may change. The cosine follows the new number of epochs."""
_PATH_SETTINGS = (
    "data",
    "ood",
    "head",
    "backbone_weights",
    "init_from",
    "assignment",
    "similarity",
)
"""Settings that may be a path, of which config.json keeps only the last part."""
_REQUIREMENTS = {
    "margin": ("loss", ("cosface", "arcface")),
    "beta": ("head", ("cmf",)),
    "assignment": ("head", ("fixed:FILE",)),
    "similarity": ("assignment", ("best", "worst")),
    "script": ("data", ("glyphs",)),
    "momentum": ("optimizer", ("sgd",)),
    "milestones": ("schedule", ("step",)),
}
"""Settings that have no effect unless another one has one of these values."""
_EXCLUSIONS = (("classes", "classes_subset"), ("backbone_weights", "init_from"))
_PAGE_SNAPSHOTS = 8
"""Number of snapshots of a run that a page shows, which bounds its size."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings of the optimisation; the paper has SGD at 0.1, cosine, 200 epochs (section 3)."""

    epochs: int
    batch_size: int
    """Number of images per step of all processes together."""
    optimizer: Optimizer = Optimizer.sgd
    """`sgd` (with Nesterov momentum), `adamw` or `adam`."""
    lr: float = 0.1
    """Largest learning rate, which the schedule multiplies."""
    momentum: float = 0.9
    """Momentum of `sgd`."""
    weight_decay: float = 5e-4
    schedule: Schedule = Schedule.cosine
    """`cosine` to 0, `step` (a tenth at each milestone) or `constant`."""
    milestones: tuple[int, ...] = ()
    """Numbers of epochs after which `step` lowers the learning rate."""
    warmup: float = 0.0
    """Number of epochs, perhaps a fraction, in which the learning rate rises linearly."""
    precision: Precision = Precision.float32
    """Precision of the encoder: `float32`, `bf16`, `fp16`, or `auto` in settings. Head and loss are
    always float32."""

    def factor(self, step: int, steps_per_epoch: int) -> float:
        """Return the factor of the learning rate at `step`, counted from 0 over all epochs.

        It rises from `1 / w` to 1 in the first `w = warmup * steps_per_epoch` steps, and is
        multiplied by the schedule, whose cosine extends from the end of the warm-up to the end of
        the last epoch. It depends on the position alone, so that a resumed run needs no state.
        """
        warmup_steps = self.warmup * steps_per_epoch
        ramp = min(1.0, (step + 1) / warmup_steps) if warmup_steps else 1.0
        if self.schedule == "constant":
            return ramp
        if self.schedule == "step":
            epoch = step // steps_per_epoch
            return ramp * 0.1 ** sum(epoch >= milestone for milestone in self.milestones)
        decay_steps = self.epochs * steps_per_epoch - warmup_steps
        progress = min(1.0, max(0.0, step - warmup_steps) / decay_steps) if decay_steps > 0 else 0.0
        return ramp * 0.5 * (1.0 + math.cos(math.pi * progress))


@dataclass(frozen=True, kw_only=True)
class Settings(Recipe):
    """All settings of a run except those of the machine, as plain JSON."""

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
    """Moves of the images; None for crop, rotation, and flips if mirror images keep their class."""
    ood: str | None = None
    feature_dim: int | None = None
    """Dimension of the features; None for that of the fixed code, else by the number of classes."""
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
        """Source of a fixed code: a file, or `solve`."""
        return self.head.partition(":")[2] or None

    @property
    def label(self) -> str:
        """Data and network: the end of a dated folder's name."""
        return f"{self.data.partition(':')[0]}-{self.model.rpartition(':')[2]}"

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Settings":
        """Read settings from config.json; a ValueError names the field that is wrong."""
        names = {setting.name for setting in dataclasses.fields(cls)}
        for name in stored.keys() - names:
            raise ValueError(f"field {name!r} is unknown")
        settings: Settings = read_plain(cls, stored)
        for name in ("epochs", "batch_size", "tau", "lr", "width"):
            if not 0 < getattr(settings, name) < math.inf:
                raise ValueError(f"field {name!r} is not above 0")
        return settings


def _preset_settings(preset: str, choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a preset, adapted to the data, network and epochs of the call.

    The classes of the paper's data set are left out with other data. With glyphs, which are few,
    the subject of the experiment stays (dimension, temperature, classifier, number of classes), and
    network, optimiser, batches and epochs are the defaults. Learning rate and weight decay are left
    out with another optimiser, and the optimiser with a network of another kind than the paper's,
    as a small one learns nothing with SGD at 0.1. The milestones of a step schedule are scaled with
    the number of epochs.

    Example:
        >>> _preset_settings("fig4", {"epochs": 80})["milestones"]
        (20, 40, 60)
    """
    options = _PAPER_RECIPE | PRESETS[preset]
    if choices.get("data", options["data"]).partition(":")[0] != options["data"]:
        options = _drop(options, _DATA_SETTINGS)
        if choices["data"] == "glyphs":
            options = _drop(options, _LARGE_SET_SETTINGS) | _GLYPH_CLASSES.get(preset, {})
    if "classes" in choices or "classes_subset" in choices:
        options = _drop(options, ("classes", "classes_subset"))
    is_small = choices.get("model", options.get("model")) not in _PAPER_NETWORKS
    optimizer = options.get("optimizer", "adamw")
    expected = "adamw" if is_small and optimizer == "sgd" else optimizer
    if choices.get("optimizer", expected) != optimizer:
        options = _drop(options, _OPTIMIZER_SETTINGS)
    if "milestones" in options and "epochs" in choices:
        share = choices["epochs"] / options["epochs"]
        milestones = (max(1, round(m * share)) for m in options["milestones"])
        options["milestones"] = tuple(dict.fromkeys(milestones))
    return options


def _drop(options: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


def _defaults(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of all settings that neither the call nor a preset sets.

    AdamW with warm-up learns at every temperature in minutes. SGD at 0.1 requires the many steps
    and the normalisation layers of the paper's experiments. There are nine glyphs per class, so
    that few classes have smaller batches and more epochs, for some 900 steps.
    """
    glyphs = options.get("data", "glyphs").partition(":")[0] == "glyphs"
    defaults: dict[str, Any] = {
        "data": "glyphs",
        "model": "cnn" if glyphs else "resnet18",
        "width": 1.0,
        "head": "learned",
        "constraint": "sphere",
        "beta": 0.9,
        "loss": "ce",
        "epochs": 200,
        "batch_size": 128,
        "schedule": "cosine",
        "momentum": 0.9,
        "precision": "auto",
    }
    if glyphs:
        images = _GLYPHS_PER_CLASS * (
            options.get("classes") or len(options.get("classes_subset") or ()) or 100
        )
        defaults["batch_size"] = min(64, max(16, images // 4))
        steps = -(-images // options.get("batch_size", defaults["batch_size"]))
        defaults["epochs"] = min(300, max(30, round(_GLYPH_STEPS / steps)))
    is_paper_network = options.get("model", defaults["model"]) in _PAPER_NETWORKS and not glyphs
    defaults["optimizer"] = "sgd" if is_paper_network else "adamw"
    optimizer = options.get("optimizer", defaults["optimizer"])
    defaults["lr"] = 0.1 if optimizer == "sgd" else 3e-3
    defaults["weight_decay"] = {"sgd": 5e-4, "adamw": 1e-2, "adam": 0.0}[optimizer]
    epochs = options.get("epochs", defaults["epochs"])
    defaults["milestones"] = tuple(dict.fromkeys((max(1, epochs // 2), max(1, 3 * epochs // 4))))
    defaults["warmup"] = min(5.0, epochs / 20)
    defaults["tau"] = 0.1 if options.get("constraint", "sphere") == "sphere" else 1.0
    return defaults


def settings_of(choices: Mapping[str, Any], *, page: bool = False) -> Settings:
    """Return the settings of the call, completed by those of the preset, then by defaults.

    Args:
        choices: settings of the call.
        page: True to keep snapshots for a page of the run.

    Raises:
        UsageError: choices contradict each other, or have no effect in this run.
    """
    kind, colon, code = choices.get("head", "learned").partition(":")
    fixed = kind == "fixed"
    if kind not in ("learned", "cmf", "fixed") or not bool(colon) == bool(code) == fixed:
        raise UsageError(
            f"{spelled('head')} {choices['head']!r} is unknown; choose learned, cmf, fixed:FILE or "
            "fixed:solve"
        )
    preset = _preset_settings(choices["preset"], choices) if "preset" in choices else {}
    options = {**preset, **choices}
    settings = Settings(**(_defaults(options) | options))
    _check_together(settings, choices)
    if page and settings.snapshot_every is None:
        interval = max(1, settings.epochs // _PAGE_SNAPSHOTS)  # the page shows how features move
        settings = dataclasses.replace(settings, snapshot_every=interval)
    return settings


def _check_together(settings: Settings, choices: Mapping[str, Any]) -> None:
    """Refuse options that have no effect in this run, or contradict each other."""
    for first, second in _EXCLUSIONS:
        if first in choices and second in choices:
            raise excludes(first, spelled(second))
    needs_sphere = settings.head_kind != "learned" or "tau" in choices or settings.loss != "ce"
    if settings.constraint == "decay" and needs_sphere:
        raise UsageError(
            f"{spelled('constraint', 'decay')} excludes {spelled('head')}, {spelled('tau')} and "
            f"{spelled('loss')}, as its rows have free norms; drop them"
        )
    for name, (parent, values) in _REQUIREMENTS.items():
        kinds = [value.partition(":")[0] for value in values]
        if name in choices and str(getattr(settings, parent)).partition(":")[0] not in kinds:
            expected = " or ".join([spelled(parent, values[0]), *values[1:]])
            raise requires(name, expected, f"add that, or drop {spelled(name)}")


def resumed_settings(stored: Settings, choices: Mapping[str, Any]) -> Settings:
    """Return the settings of a resumed run, which may have other epochs and measurements.

    A `package.module:factory` is imported only if the call names it too.

    Raises:
        UsageError: a choice differs from a setting that is fixed, or the factory is not named.
    """
    for name, value in choices.items():
        stored_value = getattr(stored, name)
        is_same = value == stored_value or (
            name in _PATH_SETTINGS and _last_part(value) == _last_part(stored_value)
        )
        if name not in _RESUME_SETTINGS and not is_same:
            raise UsageError(
                f"{spelled(name)} {_format(value)}: the run to resume has {_format(stored_value)}; "
                "leave the option out, or start a new run"
            )
    if ":" in stored.model and "model" not in choices:
        raise UsageError(
            "the run to resume has a network of the user's own, and a run folder does not decide "
            f"which code is imported; if you trust that code, add {spelled('model', stored.model)}"
        )
    adopted = (*_RESUME_SETTINGS, *_PATH_SETTINGS)
    return dataclasses.replace(stored, **{n: v for n, v in choices.items() if n in adopted})


def _last_part(value: str | None) -> str | None:
    """Cut `folder:/home/ada/tiny` down to `folder:tiny`, `/tmp/code.h5:W` to `code.h5:W`."""
    if value is None:
        return None
    kind, colon, path = value.partition(":")
    if "/" in kind or len(kind) == 1:  # a path, and its drive at most
        kind, colon, path = "", "", value
    return kind + colon + PurePath(path).name


def _format(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
