"""What a training run was, in a person's words: data, network, head, recipe, time."""

from typing import Any

from gnc_cli.results.figures import count

__all__ = [
    "data_text", "head_text", "matched_text", "network_text", "recipe_text", "saved_text",
    "speed_text",
]  # fmt: skip

_SHOWN = 6
"""Milestones listed at most."""
_HEADS = {"learned": "learned", "cmf": "class means of the features", "fixed": "fixed"}


def data_text(data: dict[str, Any]) -> str:
    """`100 classes; images: 900 training, 300 test; 32 x 32, 1 channel`."""
    said = [f"{count(data['classes'])} classes"] if data.get("classes") else []
    test = "test"
    if str(data.get("split", "")).startswith("each fifth"):
        test = "test (each fifth of a class)"
    kinds = (("training", "train_images"), (test, "test_images"), ("OOD", "ood_images"))
    images = [f"{count(data[key])} {name}" for name, key in kinds if data.get(key)]
    said += [f"images: {', '.join(images)}"] if images else []
    if images and not data.get("test_images"):
        said[-1] += ", no test set"
    if data.get("image_size"):
        channels = data.get("channels")
        size = f"{data['image_size']} x {data['image_size']}"
        said.append(size + (f", {channels} channel{'' if channels == 1 else 's'}" * bool(channels)))
    return "; ".join(said)


def matched_text(data: dict[str, Any]) -> str:
    """Of the out-of-distribution set: `folder:stl, 9 of 10 classes matched by name`."""
    found = data.get("ood")
    if found is None:
        return "classes matched by name"
    of = f"{count(found['classes_matched'])} of {count(data['classes'])}"
    return f"{found['name']}, {of} classes matched by name"


def network_text(r: dict[str, Any]) -> str:
    """The network with its width and norm where they are unusual, and its parameters."""
    recipe = r["recipe"]
    width = f", width {recipe['width']:g}" if recipe.get("width") not in (None, 1) else ""
    norm = f", {recipe['norm']} norm" if recipe.get("norm") not in (None, "batch") else ""
    return f"{r['model']}{width}{norm}, {count(r['head']['encoder_parameters'])} parameters"


def head_text(r: dict[str, Any]) -> str:
    """What the classifier is, its loss, and how classes were placed on it."""
    head = r["head"]
    said = [_HEADS.get(head["kind"], head["kind"])]
    if head["beta"] is not None:
        said[0] += f", beta {head['beta']:g}"
    if head["code"] is not None:
        said[0] += f": {head['code']}"
    if head["assignment"] not in (None, "identity"):
        said.append(f"classes placed: {head['assignment']}")
    if head["constraint"] == "sphere":  # hardmax is of the cosines: it has no temperature
        tau = "" if head["loss"] == "hardmax" else f", tau {head['tau']:g}"
        said.append(f"on the sphere{tau}")
    else:
        said.append("free lengths, weight decay")
    margin = "" if head["margin"] is None else f" with margin {head['margin']:.4g}"
    if head.get("margin_source") not in (None, "given"):
        margin += f", the largest of {head['margin_source']}"
    said.append(f"loss {head['loss']}{margin}")
    return "; ".join(said)


def saved_text(head: dict[str, Any]) -> str:
    """The parameters that a head saves; empty where it saves none."""
    if not head["saved_share"]:
        return ""
    saved = f"{count(head['head_parameters'])} of the head need no gradient and no optimiser state"
    return f"{saved}: {100.0 * head['saved_share']:.2g} % of all parameters"


def recipe_text(r: dict[str, Any]) -> str:
    """Optimiser, schedule, batch, precision and seed as they were; last the preset."""
    recipe = r["recipe"]
    momentum = f", momentum {recipe['momentum']:g}" if recipe.get("momentum") else ""
    said = [f"{recipe['optimizer']}{momentum}, lr {recipe['lr']:g}, {recipe['schedule']}"]
    if recipe.get("milestones"):
        said[-1] += f" {_listed(recipe['milestones'])} x {recipe['gamma']:g}"
    said[-1] += f", warm-up {recipe['warmup']:g}" if recipe.get("warmup") else ""
    said[-1] += f", weight decay {recipe['weight_decay']:g}"
    said[-1] += f", clip {recipe['clip']:g}" if recipe.get("clip") else ""
    said += [f"batches of {count(recipe['batch_size'])}, {recipe['precision']}"]
    said += [f"seed {r['seed']}"]
    said += [f"started from {recipe['start']}"] if recipe.get("start") else []
    return "; ".join(said + ([f"preset {recipe['preset']}"] if recipe.get("preset") else []))


def _listed(epochs: list[int]) -> str:
    """`27, 53`; of many the first and the last."""
    shown = list(map(str, epochs))
    if len(shown) > _SHOWN:
        shown = [*shown[: _SHOWN - 2], "...", shown[-1]]
    return ", ".join(shown)


def speed_text(r: dict[str, Any]) -> str:
    """Epochs, their seconds in all sessions of the run, speed, measuring, and where it ran."""
    epochs = f"{count(r['epochs'])} epoch{'' if r['epochs'] == 1 else 's'}"
    spent = sum(row["seconds"] + row["measure_seconds"] for row in r["history"])
    said = [f"{epochs} in {_seconds(spent)}"]
    if r["images_per_second"]:
        said.append(f"{count(round(r['images_per_second']))} images/s")
    said.append(f"measuring {100.0 * r['measure_share']:.2g} %")
    where = r["device"] if r["processes"] == 1 else f"{r['processes']} processes on {r['device']}"
    return ", ".join([*said, where])


def _seconds(seconds: float) -> str:
    """`2 min 41 s`, `1 h 5 min`, `12.3 s`.

    >>> _seconds(161.0), _seconds(3900.0), _seconds(12.34), _seconds(59.99)
    ('2 min 41 s', '1 h 5 min', '12.3 s', '1 min 0 s')
    """
    if round(seconds, 1) < 60.0:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
