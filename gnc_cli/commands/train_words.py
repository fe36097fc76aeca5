"""What a training run was, in a person's words: data, network, head, recipe, time."""

from typing import Any

from gnc_cli.results.figures import count

__all__ = [
    "data_text", "head_text", "network_text", "recipe_text", "saved_text", "speed_text",
]  # fmt: skip

_HEADS = {"learned": "learned", "cmf": "class means of the features", "fixed": "fixed"}


def data_text(data: dict[str, Any]) -> str:
    """`100 classes; images: 900 training, 300 test; 32 x 32, 1 channel`."""
    said = [f"{count(data['classes'])} classes"] if data.get("classes") else []
    kinds = (("training", "train_images"), ("test", "test_images"), ("OOD", "ood_images"))
    images = [f"{count(data[key])} {name}" for name, key in kinds if data.get(key)]
    said += [f"images: {', '.join(images)}"] if images else []
    if data.get("image_size"):
        channels = data.get("channels")
        size = f"{data['image_size']} x {data['image_size']}"
        said.append(size + (f", {channels} channel{'' if channels == 1 else 's'}" * bool(channels)))
    return "; ".join(said)


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
    if head["constraint"] == "sphere":
        said.append(f"on the sphere, tau {head['tau']:g}")
    else:
        said.append("free lengths, weight decay")
    margin = "" if head["margin"] is None else f" with margin {head['margin']:.4g}"
    said.append(f"loss {head['loss']}{margin}")
    return "; ".join(said)


def saved_text(head: dict[str, Any]) -> str:
    """The parameters that a head saves; empty where it saves none."""
    if not head["saved_share"]:
        return ""
    saved = f"{count(head['head_parameters'])} of the head need no gradient and no optimiser state"
    return f"{saved}: {100.0 * head['saved_share']:.2g} % of all parameters"


def recipe_text(r: dict[str, Any]) -> str:
    """Optimiser, schedule, batch, precision, preset and seed."""
    recipe = r["recipe"]
    said = [f"preset {recipe['preset']}"] if recipe.get("preset") else []
    said.append(f"{recipe['optimizer']}, lr {recipe['lr']:g}, {recipe['schedule']}")
    said[-1] += f", warm-up {recipe['warmup']:g}" if recipe.get("warmup") else ""
    said[-1] += f", weight decay {recipe['weight_decay']:g}"
    said.append(f"batches of {count(recipe['batch_size'])}, {recipe['precision']}")
    return "; ".join([*said, f"seed {r['seed']}"])


def speed_text(r: dict[str, Any]) -> str:
    """Epochs, seconds, speed, the share of measuring, and where it ran."""
    epochs = f"{count(r['epochs'])} epoch{'' if r['epochs'] == 1 else 's'}"
    said = [f"{epochs} in {_seconds(r['seconds'])}"]
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
