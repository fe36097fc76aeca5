"""What decides a run of `gnc train`: arguments, a file of them, presets of the paper, and defaults.

Paper: sections 4 and 5, appendices A and B. Its common recipe is SGD with momentum 0.9, learning
rate 0.1, and cosine annealing over 200 epochs; its code adds nesterov and weight decay 5e-4.
"""

import dataclasses
import difflib
import inspect
import os
import re
import threading
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from gnc_cli.console.removed import REMOVED
from gnc_cli.errors import DataError, OutputError, UsageError
from gnc_cli.io.inputs import decoded, open_input
from gnc_cli.parameters import Path, declared, spelled
from gnc_cli.parsing import shown
from gnc_cli.records import read_plain
from gnc_cli.runtime.deadline import Deadline, Progress
from gnc_cli.training.result import EpochRow

_DEEPEST = 100
"""Parts of a key of TOML."""
_FREE = ("epochs", "measure_every", "snapshot_every")
"""What a resumed run may change; the learning rate then follows the new number of epochs, a step
schedule too unless its milestones were asked for."""
_PATHS = (
    "data",
    "fonts",
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
    "fonts": ("data", ("glyphs",)),
    "script": ("data", ("glyphs",)),
    "momentum": ("optimizer", ("sgd",)),
    "milestones": ("schedule", ("step",)),
}
"""Settings that say nothing unless another has one of these values."""
_OF_THE_CALLER = ("force", "resume")
"""Arguments that no file of settings may have."""
_EXCLUDING = (("classes", "classes_subset"), ("backbone_weights", "init_from"))

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
"""Settings that teach a few hundred images nothing: too few steps, too long ones."""
_OF_THE_OPTIMIZER = ("optimizer", "lr", "momentum", "weight_decay", "warmup")
"""Settings that another optimiser than the preset's does not learn with."""
_STYLES = 9
"""Training images of a class of glyphs."""
_STEPS = 900
"""With so many, 100 classes are learned in a minute."""


@dataclass(frozen=True)
class Options:
    """Where and how long, and whom to call: what does not change the result."""

    device: str
    threads: int | None
    out: str | None
    resume: bool
    force: bool
    plot: str | None
    logger: str | None
    interrupt: threading.Event | None
    progress: Progress | None
    on_run: Callable[[str], None] | None
    on_epoch: Callable[[EpochRow], None] | None
    deadline: Deadline
    """The time limit, from the call on, and the interruption."""


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
    warmup: float
    precision: str
    width: float
    beta: float
    classes: int | None = None
    classes_subset: tuple[str, ...] | None = None
    images_per_class: int | None = None
    image_size: int | None = None
    fonts: str | None = None
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
    def kind(self) -> str:
        """`learned`, `cmf` or `fixed`."""
        return self.head.partition(":")[0]

    @property
    def code(self) -> str | None:
        """Where a fixed code is from: a file, or `solve`."""
        return self.head.partition(":")[2] or None

    @property
    def label(self) -> str:
        """Data and network: the end of a dated folder's name."""
        return f"{self.data.partition(':')[0]}-{self.model.rpartition(':')[2]}"

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Settings":
        """Settings as config.json has them, each of its type and in its range."""
        from gnc_cli.training.api import train

        try:
            for name in stored.keys() - {field.name for field in dataclasses.fields(cls)}:
                raise ValueError(f"field {name!r} is unknown")
            settings: Settings = read_plain(cls, stored)
            for name, parameter in declared(train).items():
                parameter.read(name, getattr(settings, name, None))
            return settings
        except ValueError as error:
            raise DataError(
                f"config.json does not hold the settings of this version of gnc ({error}); "
                "start a new run"
            ) from error


def settings_of(given: Mapping[str, Any]) -> Settings:
    """Settings from what was asked for (not None): that first, then the preset, then defaults."""
    asked = {name: value for name, value in given.items() if value is not None}
    kind, colon, code = asked.get("head", "learned").partition(":")
    fixed = kind == "fixed"
    if kind not in ("learned", "cmf", "fixed") or not bool(colon) == bool(code) == fixed:
        raise UsageError(
            f"{spelled('head')} {asked['head']!r} is unknown; choose learned, cmf, fixed:FILE or "
            "fixed:solve"
        )
    chosen = preset_settings(asked["preset"], asked) | asked if "preset" in asked else asked
    settings = Settings(**(defaults(chosen) | chosen))
    _check_together(settings, asked)
    return settings


def resumed(stored: Settings, given: Mapping[str, Any]) -> Settings:
    """The settings of a run that goes on; it may be given more epochs, or measured otherwise.

    A `package.module:factory` is imported only where the caller names it too.
    """
    asked = {name: value for name, value in given.items() if value is not None}
    for name, value in asked.items():
        was = getattr(stored, name)
        same = value == was or (name in _PATHS and _last_part(value) == _last_part(was))
        if name not in _FREE and not same:
            raise UsageError(
                f"{spelled(name)} {_shown(value)}: the run to resume has {_shown(was)}; "
                "leave the option out, or start a new run"
            )
    if ":" in str(stored.model) and "model" not in asked:
        raise UsageError(
            "the run to resume has a network of somebody's own, and a run folder does not decide "
            f"which code is imported; if you trust that code, add {spelled('model', stored.model)}"
        )
    again = (*_FREE, *_PATHS)
    settings = dataclasses.replace(stored, **{n: v for n, v in asked.items() if n in again})

    def usual_milestones(epochs: int) -> tuple[int, ...]:
        run = {"epochs": epochs, "data": stored.data, "preset": stored.preset}
        return settings_of(run).milestones

    if stored.schedule == "step" and stored.milestones == usual_milestones(stored.epochs):
        settings = dataclasses.replace(settings, milestones=usual_milestones(settings.epochs))
    return settings


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


def _check_together(settings: Settings, asked: Mapping[str, Any]) -> None:
    """Refuse options that say nothing in this run, or contradict each other."""
    for one, other in _EXCLUDING:
        if one in asked and other in asked:
            raise UsageError(f"{spelled(one)} and {spelled(other)} exclude each other; keep one")
    decay = spelled("constraint", "decay")
    if settings.constraint == "decay" and settings.kind != "learned":
        raise UsageError(f"{spelled('head', settings.head)} lies on the sphere; leave out {decay}")
    if settings.constraint == "decay" and ("tau" in asked or settings.loss != "ce"):
        raise UsageError(
            f"{decay} has free lengths: it takes neither {spelled('tau')} nor {spelled('loss')}"
        )
    for name, (other, values) in _BELONGS_TO.items():
        kinds = [value.partition(":")[0] for value in values]
        if name in asked and str(getattr(settings, other)).partition(":")[0] not in kinds:
            wanted = " or ".join([spelled(other, values[0]), *values[1:]])
            raise UsageError(f"{spelled(name)} belongs to {wanted}; leave it out, or add that")
    if list(settings.milestones) != sorted(settings.milestones):
        raise UsageError(
            f"{spelled('milestones')} {_shown(settings.milestones)}: give rising epochs from 1"
        )


def preset_settings(preset: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a preset says, where other data or another number of epochs was asked for.

    The classes of the paper's data set are left out on other data. On glyphs, of which there are
    few, what the figure is about stays (dimension, temperature, classifier, number of classes), and
    network, optimiser, batches and epochs are those that learn there. The learning rate and decay
    are left out with another optimiser, the optimiser with a network that is not of the paper's
    kind (SGD at 0.1 teaches a small one nothing); the milestones of a step schedule move with the
    number of epochs.

    Example:
        >>> preset_settings("fig4", {"epochs": 80})["milestones"]
        (20, 40, 60)
    """
    chosen = _COMMON | PRESETS[preset]
    if given.get("data", chosen["data"]).partition(":")[0] != chosen["data"]:
        chosen = _without(chosen, _OF_THE_DATA)
        if given["data"] == "glyphs":
            chosen = _without(chosen, _OF_LARGE_SETS) | _CLASSES_OF_GLYPHS.get(preset, {})
    if "classes" in given or "classes_subset" in given:
        chosen = _without(chosen, ("classes", "classes_subset"))
    small = given.get("model", chosen.get("model")) not in _PAPERS_NETWORKS
    usual = chosen.get("optimizer", "adamw")
    wanted = "adamw" if small and usual == "sgd" else usual
    if given.get("optimizer", wanted) != usual:
        chosen = _without(chosen, _OF_THE_OPTIMIZER)
    if "milestones" in chosen and "epochs" in given:
        share = given["epochs"] / chosen["epochs"]
        moved = (max(1, round(m * share)) for m in chosen["milestones"])
        chosen["milestones"] = tuple(dict.fromkeys(moved))
    return chosen


def _without(chosen: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in chosen.items() if name not in names}


def defaults(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What a run takes where neither the user nor a preset says; depends on what they do say.

    AdamW with warm-up learns at every temperature in minutes; SGD at 0.1 wants the many steps and
    the norm layers of the paper's experiments. Glyphs come nine a class: few classes take smaller
    batches and more epochs, so that some 900 steps are made.
    """
    glyphs = chosen.get("data", "glyphs").partition(":")[0] == "glyphs"
    found: dict[str, Any] = {
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
        found["batch_size"] = min(64, max(16, images // 4))
        steps = -(-images // chosen.get("batch_size", found["batch_size"]))
        found["epochs"] = min(300, max(30, round(_STEPS / steps)))
    paper = chosen.get("model", found["model"]) in _PAPERS_NETWORKS and not glyphs
    found["optimizer"] = "sgd" if paper else "adamw"
    optimizer = chosen.get("optimizer", found["optimizer"])
    found["lr"] = 0.1 if optimizer == "sgd" else 3e-3
    found["weight_decay"] = {"sgd": 5e-4, "adamw": 1e-2, "adam": 0.0}[optimizer]
    epochs = chosen.get("epochs", found["epochs"])
    found["milestones"] = tuple(dict.fromkeys((max(1, epochs // 2), max(1, 3 * epochs // 4))))
    found["warmup"] = min(5.0, epochs / 20)
    found["tau"] = 0.1 if chosen.get("constraint", "sphere") == "sphere" else 1.0
    return found


def with_config(
    config: Path, function: Callable[..., Any], asked: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a call, those at their defaults completed by a TOML file.

    The file is data: only the caller decides which code is imported and which files are replaced.
    """
    name = os.fspath(config)
    with open_input(name) as file:
        text = decoded(file, name, "expected TOML")
    keys = (key for line in text.splitlines() for key in re.split("[={,]", line.partition("#")[0]))
    if any(key.count(".") > _DEEPEST for key in keys):  # tomllib takes the square of their number
        raise DataError(f"{name!r} has a key of more than {_DEEPEST} parts; an option has one")
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, and what numbers are refused
        raise DataError(f"{name!r} is not TOML: {error}") from error
    known = [parameter for parameter in declared(function) if parameter != "config"]
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "gnc train --help lists them"
            hint = REMOVED.get(f"--{key.replace('_', '-')}", hint)
            raise UsageError(f"{name!r} sets {key!r}, which is no option of gnc train; {hint}")
    usual = inspect.signature(function).parameters
    given = {key: value for key, value in asked.items() if value != usual[key].default}
    for key in found.keys() - given.keys():
        value = found[key]
        if key in _OF_THE_CALLER or (key == "model" and ":" in str(value)):
            raise UsageError(
                f"{name!r} sets {key!r} to {shown(value)}, and a file decides neither which code "
                f"is imported nor which files are replaced; if you want it, add {spelled(key)}"
            )
        if key in ("out", "plot") and os.path.lexists(str(value)):
            raise OutputError(
                f"{name!r} sets {key!r} to {shown(value)}, which exists; to go on with it or to "
                f"replace it, add {spelled(key)}"
            )
    return {**asked, **found, **given}
