"""What is asked of `gnc train`, and the settings of a run that follow from it."""

import dataclasses
import math
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from gnc_cli.console.options import REMOVED
from gnc_cli.errors import DataError, OutputError, UsageError
from gnc_cli.io.arguments import check_files
from gnc_cli.io.inputs import decoded, open_input
from gnc_cli.parameters import Parameter, Path, excludes, is_page, requires, spelled
from gnc_cli.parsing import shown
from gnc_cli.records import read_plain
from gnc_cli.runtime.deadline import Call
from gnc_cli.training.presets import (
    Constraint,
    Loss,
    Optimizer,
    Precision,
    Schedule,
    defaults,
    preset_settings,
)
from gnc_cli.training.result import EpochRow

_FREE = ("epochs", "measure_every", "snapshot_every")
"""What a resumed run may change; the cosine follows the new number of epochs."""
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
_PAGE_SNAPSHOTS = 8
"""Snapshots of a run that a page shows."""
_MAX_CONFIG, _MAX_LINE = 64_000, 1000
"""Bytes and letters of a line: of a key `a.b.c`, tomllib keeps every beginning."""


@dataclass(frozen=True, kw_only=True)
class Request(Call):
    """The arguments of `api.train`, each checked by itself; None where the caller says nothing."""

    data: str | None = None
    classes: int | None = None
    classes_subset: Sequence[str] | str | None = None
    images_per_class: int | None = None
    image_size: int | None = None
    fonts: Path | None = None
    script: str | None = None
    augment: Sequence[str] | str | None = None
    ood: str | None = None
    model: str | None = None
    feature_dim: int | None = None
    width: float | None = None
    backbone_weights: Path | None = None
    init_from: Path | None = None
    head: str | None = None
    constraint: str | None = None
    tau: float | None = None
    beta: float | None = None
    loss: str | None = None
    margin: float | None = None
    assignment: str | None = None
    similarity: Path | None = None
    preset: str | None = None
    epochs: int | None = None
    batch_size: int | None = None
    optimizer: str | None = None
    lr: float | None = None
    momentum: float | None = None
    weight_decay: float | None = None
    schedule: str | None = None
    milestones: Sequence[int] | str | None = None
    warmup: float | None = None
    precision: str | None = None
    seed: int | None = None
    time_limit: float | None = None
    device: str = "auto"
    threads: int | None = None
    out: Path | None = None
    resume: bool = False
    measure_every: int | None = None
    snapshot_every: int | None = None
    logger: str | None = None
    plot: Path | None = None
    on_run: Callable[[str], None] | None = None
    on_epoch: Callable[[EpochRow], None] | None = None

    @property
    def folder(self) -> str | None:
        """The run folder, as the caller named it."""
        return None if self.out is None else os.fspath(self.out)

    @property
    def choices(self) -> dict[str, Any]:
        """The settings that the caller chose, paths as texts."""
        names = [setting.name for setting in dataclasses.fields(Settings)]
        chosen = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return {
            name: os.fspath(value) if isinstance(value, os.PathLike) else value
            for name, value in chosen.items()
        }


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


def settings_of(request: Request) -> Settings:
    """What was asked for, then what the preset says, then defaults."""
    choices = request.choices
    kind, colon, code = choices.get("head", "learned").partition(":")
    fixed = kind == "fixed"
    if kind not in ("learned", "cmf", "fixed") or not bool(colon) == bool(code) == fixed:
        raise UsageError(
            f"{spelled('head')} {choices['head']!r} is unknown; choose learned, cmf, fixed:FILE or "
            "fixed:solve"
        )
    preset = preset_settings(choices["preset"], choices) if "preset" in choices else {}
    chosen = preset | choices
    settings = Settings(**(defaults(chosen) | chosen))
    _check_together(settings, choices)
    if is_page(request.plot) and settings.snapshot_every is None:
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


def resumed_settings(stored: Settings, request: Request) -> Settings:
    """The settings of a run that goes on; it may be given more epochs, or measured otherwise.

    A `package.module:factory` is imported only where the caller names it too.
    """
    choices = request.choices
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


def with_config(request: Request, config: Path, declared: Mapping[str, Parameter]) -> Request:
    """The request with arguments of a TOML file where the caller left the default.

    The file is data: only the caller decides which code is imported and which files are replaced.

    Args:
        request: as the caller made it.
        config: the file.
        declared: the options that it may set, by name.
    """
    name = os.fspath(config)
    with open_input(name) as file:
        text = decoded(file, name, "expected options of gnc train as TOML", _MAX_CONFIG)
    if (letters := max(map(len, text.split("\n")))) > _MAX_LINE:
        raise DataError(
            f"{name!r} has a line of {letters:,} letters, more than {_MAX_LINE:,}; write a long "
            "list in several lines"
        )
    try:
        stored = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name!r} is not TOML: {error}") from error
    known = [parameter for parameter in declared if parameter != "config"]
    usual, more = Request(), {}
    for key, value in stored.items():
        if key not in known:
            hint = REMOVED.get(f"--{key.replace('_', '-')}", "gnc train --help lists them")
            raise UsageError(f"{name!r} sets {key!r}, which is no option of gnc train; {hint}")
        if getattr(request, key) != getattr(usual, key):
            continue
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
        more[key] = declared[key].read(key, value)
    whole = dataclasses.replace(request, **more)
    check_files(declared, {key: getattr(whole, key) for key in known})
    return whole
