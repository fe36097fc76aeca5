"""The settings of `gnc train`: what the paper used, figure by figure, and what learns otherwise.

Paper: sections 4 and 5, appendices A and B. Its common recipe is SGD with momentum 0.9, learning
rate 0.1, and cosine annealing over 200 epochs; its code adds nesterov and weight decay 5e-4.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["PRESETS", "defaults", "preset_settings"]

_COMMON: dict[str, Any] = {
    "model": "resnet18", "head": "learned", "constraint": "sphere", "loss": "ce",
    "optimizer": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 5e-4, "schedule": "cosine",
    "warmup": 0.0, "batch_size": 128, "precision": "auto", "augment": ("crop", "flip", "rotate"),
}  # fmt: skip

PRESETS: dict[str, dict[str, Any]] = {
    "fig2": {
        "data": "cifar100", "feature_dim": 10, "tau": 1 / 7, "epochs": 200, "measure_every": 5,
    },
    "fig4": {
        "data": "cifar10", "subset": ("automobile", "cat", "dog", "truck"), "feature_dim": 2,
        "tau": 0.05, "epochs": 800, "schedule": "step", "milestones": (200, 400, 600),
    },
    "fig5": {
        "data": "cifar100", "feature_dim": 10, "tau": 0.1, "epochs": 200, "head": "cmf",
        "beta": 0.9,
    },
    "b1": {
        "data": "cifar100", "classes": 30, "feature_dim": 2, "tau": 1 / 70, "epochs": 1600,
        "schedule": "step", "milestones": (700, 1400),
    },
    "b3": {"data": "cifar100", "feature_dim": 10, "tau": 0.1, "epochs": 200},
    "b6": {
        "data": "cifar10", "feature_dim": 2, "tau": 0.2, "epochs": 600, "schedule": "step",
        "subset": ("automobile", "cat", "deer", "dog", "horse", "truck"), "milestones": (200, 400),
    },
    "finetune": {
        "data": "cifar10", "model": "resnet50", "stem": "imagenet", "image_size": 224,
        "epochs": 5, "batch_size": 100, "optimizer": "adam", "lr": 1e-5, "weight_decay": 0.0,
        "augment": (),
    },
}  # fmt: skip
"""Figures 2, 4, 5, B.1 (both sides: `constraint`), B.3, B.6, and the fine-tuning of section 5."""

_PAPERS_NETWORKS = ("resnet18", "resnet50", "densenet121", "resnext50")

_OF_THE_DATA = ("subset", "classes", "image_size")
"""Settings that mean nothing on other data than the preset's."""
_CLASSES_OF_GLYPHS = {"fig4": {"classes": 4}, "b1": {"classes": 30}, "b6": {"classes": 6}}
_OF_LARGE_SETS = (
    "model", "optimizer", "lr", "momentum", "weight_decay", "schedule", "milestones", "warmup",
    "batch_size", "epochs", "augment", "stem",
)  # fmt: skip
"""Settings that teach a few hundred images nothing: too few steps, too long ones."""
_OF_THE_OPTIMIZER = ("lr", "momentum", "weight_decay", "warmup")
"""Settings that another optimiser than the preset's does not learn with."""

_STYLES = 9
"""Training images of a class of glyphs."""
_STEPS = 900
"""With so many, 100 classes are learned in a minute."""


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
        for name in _OF_THE_DATA:
            chosen.pop(name, None)
        if given["data"] == "glyphs":
            chosen |= _CLASSES_OF_GLYPHS.get(preset, {})
            for name in _OF_LARGE_SETS:
                chosen.pop(name, None)
    if "classes" in given or "subset" in given:
        for name in ("subset", "classes"):
            chosen.pop(name, None)
    small = given.get("model", chosen.get("model")) not in _PAPERS_NETWORKS
    usual = chosen.get("optimizer", "adamw")
    wanted = "adamw" if small and usual == "sgd" else usual
    if given.get("optimizer", wanted) != usual:
        for name in ("optimizer", *_OF_THE_OPTIMIZER):
            chosen.pop(name, None)
    if small:
        chosen.pop("stem", None)
    if "milestones" in chosen and "epochs" in given:
        share = given["epochs"] / chosen["epochs"]
        moved = (max(1, round(m * share)) for m in chosen["milestones"])
        chosen["milestones"] = tuple(dict.fromkeys(moved))
    return chosen


def defaults(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What a run takes where neither the user nor a preset says; depends on what they do say.

    AdamW with warm-up learns at every temperature in minutes; SGD at 0.1 wants the many steps and
    the norm layers of the paper's experiments. Glyphs come nine a class: few classes take smaller
    batches and more epochs, so that some 900 steps are made.

    Args:
        chosen: the settings so far.
    """
    glyphs = chosen.get("data", "glyphs").partition(":")[0] == "glyphs"
    found: dict[str, Any] = {
        "data": "glyphs", "model": "cnn" if glyphs else "resnet18", "stem": "auto", "width": 1.0,
        "norm": "batch", "head": "learned", "constraint": "sphere", "beta": 0.9,
        "loss": "ce", "epochs": 200, "batch_size": 128,
        "schedule": "cosine", "gamma": 0.1, "momentum": 0.9, "precision": "auto",
        "channels_last": True,
    }  # fmt: skip
    if glyphs:
        images = _STYLES * (chosen.get("classes") or len(chosen.get("subset") or ()) or 100)
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
