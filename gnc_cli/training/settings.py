"""The settings of a run: how the network is trained, what was asked for, what a preset says, and
defaults.

Presets are the paper's settings by figure (sections 4 and 5, appendices A and B). Its common recipe
is SGD with momentum 0.9, learning rate 0.1, and cosine annealing over 200 epochs; its code adds
nesterov and weight decay 5e-4.
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

_COMMON: dict[str, Any] = {
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

_PAPERS_NETWORKS = ("resnet18", "resnet50", "densenet121", "resnext50")
_OF_THE_DATA = ("classes_subset", "classes", "image_size")
"""Settings that mean nothing on other data than the preset's."""
_CLASSES_OF_GLYPHS = {"fig4": {"classes": 4}, "b1": {"classes": 30}, "b6": {"classes": 6}}
_OF_LARGE_SETS = (
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
_OF_THE_OPTIMIZER = ("optimizer", "lr", "momentum", "weight_decay", "warmup")
"""Settings that another optimiser than the preset's does not learn with."""
_STYLES = 9
"""Training images of a class of glyphs."""
_STEPS = 900
"""With this many, 100 classes are learned in a minute."""
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
class Recipe:
    """How a network is trained; the paper's is SGD at 0.1, cosine, 200 epochs (section 3)."""

    epochs: int
    batch_size: int
    """Of all processes together."""
    optimizer: Optimizer = Optimizer.sgd
    """`sgd` (with Nesterov momentum), `adamw` or `adam`."""
    lr: float = 0.1
    """Largest learning rate; the schedule multiplies it."""
    momentum: float = 0.9
    """Of `sgd`."""
    weight_decay: float = 5e-4
    schedule: Schedule = Schedule.cosine
    """`cosine` to 0, `step` (a tenth at each milestone) or `constant`."""
    milestones: tuple[int, ...] = ()
    """Of `step`: epochs done at which the learning rate falls."""
    warmup: float = 0.0
    """Epochs, also a part of one, over which the learning rate rises linearly."""
    precision: Precision = Precision.float32
    """Of the encoder: `float32`, `bf16`, `fp16`, or `auto` in settings; head and loss are always
    float32."""

    def factor(self, step: int, steps_per_epoch: int) -> float:
        """What the learning rate is multiplied by at `step`, from 0, all epochs counted.

        Linear from `1 / w` to 1 over the `w = warmup * steps_per_epoch` first steps, times the
        schedule; the cosine runs from the end of the warm-up to the end of the last epoch. It is a
        function of the position alone, so that a resumed run needs no schedule state.
        """
        warm = self.warmup * steps_per_epoch
        rise = min(1.0, (step + 1) / warm) if warm else 1.0
        if self.schedule == "constant":
            return rise
        if self.schedule == "step":
            epoch = step // steps_per_epoch
            return rise * 0.1 ** sum(epoch >= milestone for milestone in self.milestones)
        after = self.epochs * steps_per_epoch - warm
        done = min(1.0, max(0.0, step - warm) / after) if after > 0 else 0.0
        return rise * 0.5 * (1.0 + math.cos(math.pi * done))


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


def _preset_settings(preset: str, choices: Mapping[str, Any]) -> dict[str, Any]:
    """What a preset says, where other data or another number of epochs was asked for.

    The classes of the paper's data set are left out on other data. On glyphs, of which there are
    few, what the figure is about stays (dimension, temperature, classifier, number of classes), and
    network, optimiser, batches and epochs are those that learn there. The learning rate and decay
    are left out with another optimiser, the optimiser with a network that is not of the paper's
    kind (SGD at 0.1 teaches a small one nothing); the milestones of a step schedule move with the
    number of epochs.

    Example:
        >>> _preset_settings("fig4", {"epochs": 80})["milestones"]
        (20, 40, 60)
    """
    chosen = _COMMON | PRESETS[preset]
    if choices.get("data", chosen["data"]).partition(":")[0] != chosen["data"]:
        chosen = _without(chosen, _OF_THE_DATA)
        if choices["data"] == "glyphs":
            chosen = _without(chosen, _OF_LARGE_SETS) | _CLASSES_OF_GLYPHS.get(preset, {})
    if "classes" in choices or "classes_subset" in choices:
        chosen = _without(chosen, ("classes", "classes_subset"))
    small = choices.get("model", chosen.get("model")) not in _PAPERS_NETWORKS
    usual = chosen.get("optimizer", "adamw")
    wanted = "adamw" if small and usual == "sgd" else usual
    if choices.get("optimizer", wanted) != usual:
        chosen = _without(chosen, _OF_THE_OPTIMIZER)
    if "milestones" in chosen and "epochs" in choices:
        share = choices["epochs"] / chosen["epochs"]
        moved = (max(1, round(m * share)) for m in chosen["milestones"])
        chosen["milestones"] = tuple(dict.fromkeys(moved))
    return chosen


def _without(chosen: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in chosen.items() if name not in names}


def _defaults(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What a run takes where neither the user nor a preset says; depends on what they do say.

    AdamW with warm-up learns at every temperature in minutes; SGD at 0.1 wants the many steps and
    the norm layers of the paper's experiments. Glyphs come nine a class: few classes take smaller
    batches and more epochs, so that some 900 steps are made.
    """
    glyphs = chosen.get("data", "glyphs").partition(":")[0] == "glyphs"
    usual: dict[str, Any] = {
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
        K = chosen.get("classes") or len(chosen.get("classes_subset") or ()) or 100
        images = _STYLES * K
        usual["batch_size"] = min(64, max(16, images // 4))
        steps = -(-images // chosen.get("batch_size", usual["batch_size"]))
        usual["epochs"] = min(300, max(30, round(_STEPS / steps)))
    paper = chosen.get("model", usual["model"]) in _PAPERS_NETWORKS and not glyphs
    usual["optimizer"] = "sgd" if paper else "adamw"
    optimizer = chosen.get("optimizer", usual["optimizer"])
    usual["lr"] = 0.1 if optimizer == "sgd" else 3e-3
    usual["weight_decay"] = {"sgd": 5e-4, "adamw": 1e-2, "adam": 0.0}[optimizer]
    epochs = chosen.get("epochs", usual["epochs"])
    usual["milestones"] = tuple(dict.fromkeys((max(1, epochs // 2), max(1, 3 * epochs // 4))))
    usual["warmup"] = min(5.0, epochs / 20)
    usual["tau"] = 0.1 if chosen.get("constraint", "sphere") == "sphere" else 1.0
    return usual


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
    preset = _preset_settings(choices["preset"], choices) if "preset" in choices else {}
    chosen = {**preset, **choices}
    settings = Settings(**(_defaults(chosen) | chosen))
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
