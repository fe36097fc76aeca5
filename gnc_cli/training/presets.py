"""What a setting may be, the paper's settings by figure, and the defaults of a run.

Paper: sections 4 and 5, appendices A and B. Its common recipe is SGD with momentum 0.9, learning
rate 0.1, and cosine annealing over 200 epochs; its code adds nesterov and weight decay 5e-4.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

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


def preset_settings(preset: str, choices: Mapping[str, Any]) -> dict[str, Any]:
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


def defaults(chosen: Mapping[str, Any]) -> dict[str, Any]:
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
