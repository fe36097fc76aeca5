"""A call of `train`: the declaration of its arguments."""

import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from gnc_cli.errors import UsageError
from gnc_cli.io.arguments import Call
from gnc_cli.parameters import (
    DURATION,
    MOST_CLASSES,
    MOST_DIMENSIONS,
    MOST_SAMPLES,
    Device,
    Force,
    Kind,
    Parameter,
    Path,
    PlotOrPage,
    Read,
    Threads,
    one_of,
    real,
    whole,
    wholes,
)
from gnc_cli.training.settings import Constraint, Loss, Optimizer, Precision, Preset, Schedule

if TYPE_CHECKING:
    from gnc_cli.training.result import EpochRow

_MAX_EPOCHS = 10**7
_MOVES = ("crop", "flip", "rotate")
_DATA = "Data"
_NETWORK = "Network"
_HEAD = "Classifier and loss"
_TRAINING = "Training"
_RUN = "Effort and machine"
_OUTPUT = "Output"


def _split_names(value: Any) -> tuple[str, ...]:
    """Split `cat, dog` into two names."""
    names = tuple(n.strip() for n in value.split(",")) if isinstance(value, str) else tuple(value)
    if not all(names):
        raise UsageError(f"{value!r} has an empty name; write cat,dog,truck")
    return names


def _check_moves(value: Any) -> tuple[str, ...]:
    """Split names of `_MOVES`; `none` is an empty list."""
    names = () if value == "none" else _split_names(value)
    for name in names:
        if name not in _MOVES:
            raise UsageError(f"{name!r} is unknown; choose of {', '.join(_MOVES)}, or none")
    return names


@dataclass(frozen=True, eq=False)
class Train(Call):
    """A call of `train`, with None for arguments that are not passed."""

    _: KW_ONLY
    data: Annotated[
        str | None,
        Parameter(
            "glyphs (characters of fonts, nothing to download); fashion-mnist, mnist, "
            "kmnist, emnist, cifar10 or cifar100, each with or without :PATH; folder:PATH "
            "(class folders), idx:DIR, npz:FILE or h5:FILE. Default glyphs.",
            group=_DATA,
            metavar="NAME",
        ),
    ] = None
    classes: Annotated[
        int | None,
        Parameter(
            "Number of classes (the first K of the data set). Default 100 of glyphs, all of "
            "other data.",
            whole(2, MOST_CLASSES),
            _DATA,
            short="--K -K",
        ),
    ] = None
    classes_subset: Annotated[
        Read[Sequence[str] | str | None, tuple[str, ...] | None],
        Parameter(
            "Only these classes, by name: cat,dog,truck.",
            Kind("NAMES", _split_names, noun="names"),
            _DATA,
        ),
    ] = Read(None)
    images_per_class: Annotated[
        int | None,
        Parameter(
            "Number of training images per class (the first N); tests take all. Default all.",
            whole(1, MOST_SAMPLES),
            _DATA,
            metavar="N",
        ),
    ] = None
    image_size: Annotated[
        int | None,
        Parameter(
            "Side of the square images. Default 32 for glyphs, else that of the data.",
            whole(8, 1024),
            _DATA,
            metavar="PIXELS",
        ),
    ] = None
    script: Annotated[
        str | None,
        Parameter(
            "Letters of one script, first those that most fonts have: hangul, han, kana, latin, "
            "greek, cyrillic, or another name of Unicode. Default: all.",
            group=_DATA,
            metavar="NAME",
        ),
    ] = None
    augment: Annotated[
        Read[Sequence[str] | str | None, tuple[str, ...] | None],
        Parameter(
            "Comma-separated: crop, flip, rotate; or none. Default all, but flip only for colour "
            "images and fashion-mnist.",
            Kind("NAMES", _check_moves, noun="names"),
            _DATA,
        ),
    ] = Read(None)
    ood: Annotated[
        str | None,
        Parameter(
            "Another set for out-of-distribution tests, named like --data. Its classes "
            "are matched by name. For other fonts: glyphs:DIR.",
            group=_DATA,
            metavar="NAME",
        ),
    ] = None
    model: Annotated[
        str | None,
        Parameter(
            "cnn, resnet18, resnet50, densenet121, resnext50, or package.module:factory, "
            "called as factory(channels=, image_size=, feature_dim=) for a module from "
            "images to features. Default cnn for glyphs, else resnet18.",
            group=_NETWORK,
            metavar="NAME",
        ),
    ] = None
    feature_dim: Annotated[
        int | None,
        Parameter(
            "Dimension of the features. Default 10; 64 beyond 200 classes, 256 beyond 5000; "
            "with --head fixed:FILE the code's dimension.",
            whole(2, MOST_DIMENSIONS),
            _NETWORK,
            short="--d -d",
        ),
    ] = None
    width: Annotated[
        float | None,
        Parameter(
            "Factor of the network's channels: 0.25 for small machines. Default 1.",
            real(greater_than=0.0, maximum=100.0),
            _NETWORK,
            metavar="FACTOR",
        ),
    ] = None
    backbone_weights: Annotated[
        Path | None,
        Parameter(
            "Start from a checkpoint with torchvision's names: .pt, .pth, .safetensors.",
            group=_NETWORK,
            metavar="FILE",
            reads=True,
        ),
    ] = None
    init_from: Annotated[
        Path | None,
        Parameter(
            "Start from the network of an earlier run: its folder, or a checkpoint in it.",
            group=_NETWORK,
            metavar="RUN",
            reads=True,
        ),
    ] = None
    head: Annotated[
        str | None,
        Parameter(
            "learned; cmf (moving class means, nothing to train); fixed:FILE (a code); "
            "fixed:solve (a Softmax Code solved first). Default learned.",
            group=_HEAD,
            metavar="KIND",
        ),
    ] = None
    constraint: Annotated[
        str | None,
        Parameter(
            "sphere: unit features and weights, with --tau; decay: free lengths, bounded by "
            "weight decay. Default sphere.",
            one_of(Constraint),
            _HEAD,
        ),
    ] = None
    tau: Annotated[
        float | None,
        Parameter(
            "Temperature: logits are cosines / tau. Default 0.1.", real(greater_than=0.0), _HEAD
        ),
    ] = None
    beta: Annotated[
        float | None,
        Parameter(
            "Share of the old weights that cmf keeps at each step. Default 0.9.",
            real(minimum=0.0, less_than=1.0),
            _HEAD,
            in_shell=False,
        ),
    ] = None
    loss: Annotated[
        str | None,
        Parameter(
            "ce, hardmax (its limit at temperature 0), cosface, arcface. Default ce.",
            one_of(Loss),
            _HEAD,
        ),
    ] = None
    margin: Annotated[
        float | None,
        Parameter(
            "Margin of cosface (difference of cosines) or arcface (radians). Default: the "
            "largest that the fixed code, or the best known one, can satisfy.",
            real(minimum=0.0),
            _HEAD,
        ),
    ] = None
    assignment: Annotated[
        str | None,
        Parameter(
            "Assignment of classes to the rows of a fixed code: identity, random, best or worst "
            "(similar classes close or far apart), a FILE, or all (one run per assignment, up to "
            "symmetry). Default identity.",
            group=_HEAD,
            metavar="HOW",
        ),
    ] = None
    similarity: Annotated[
        Path | None,
        Parameter(
            "Similarity of the classes (K, K) for best and worst. Default: cosines of the class "
            "means of a short learned run.",
            group=_HEAD,
            metavar="FILE",
            reads=True,
        ),
    ] = None
    config: Annotated[
        Path | None,
        Parameter(
            "Options from a TOML file, by their names (epochs = 20); also the settings that "
            "have no option: beta (default 0.9), momentum (0.9) and warmup (a twentieth of "
            "the epochs, at most 5). Options of the command line win. It may set neither force, "
            "resume nor a model of your own, and no output that exists.",
            group=_TRAINING,
            metavar="FILE",
            reads=True,
        ),
    ] = None
    preset: Annotated[
        str | None,
        Parameter(
            "The paper's settings: figure 2, 4, 5, B.1, B.3 or B.6, or the fine-tuning of "
            "section 5. Options of the command line win.",
            one_of(Preset),
            _TRAINING,
        ),
    ] = None
    epochs: Annotated[
        int | None,
        Parameter(
            "Passes over the training set. Default 200; for glyphs about 900 steps (60 "
            "epochs for 100 classes).",
            whole(1, _MAX_EPOCHS),
            _TRAINING,
        ),
    ] = None
    batch_size: Annotated[
        int | None,
        Parameter(
            "Images per step, of all processes together. Default 128; for glyphs 64, or "
            "fewer where classes are few.",
            whole(2, MOST_SAMPLES),
            _TRAINING,
        ),
    ] = None
    optimizer: Annotated[
        str | None,
        Parameter(
            "Optimizer. Default adamw for glyphs, cnn and models of your own, else sgd with "
            "nesterov.",
            one_of(Optimizer),
            _TRAINING,
        ),
    ] = None
    lr: Annotated[
        float | None,
        Parameter(
            "Peak learning rate. Default 0.1 for sgd, 0.003 for adamw and adam.",
            real(greater_than=0.0, maximum=1e6),
            _TRAINING,
        ),
    ] = None
    momentum: Annotated[
        float | None,
        Parameter(
            "Momentum of sgd. Default 0.9.",
            real(minimum=0.0, less_than=1.0),
            _TRAINING,
            in_shell=False,
        ),
    ] = None
    weight_decay: Annotated[
        float | None,
        Parameter(
            "Weight decay. Default 0.0005 for sgd, 0.01 for adamw, 0 for adam.",
            real(minimum=0.0, maximum=1e6),
            _TRAINING,
        ),
    ] = None
    schedule: Annotated[
        str | None,
        Parameter(
            "cosine, step (a tenth at each of --milestones) or constant. Default cosine.",
            one_of(Schedule),
            _TRAINING,
        ),
    ] = None
    milestones: Annotated[
        Read[Sequence[int] | str | None, tuple[int, ...] | None],
        Parameter(
            "Epochs of the step schedule: 200,400. Default at 1/2 and 3/4.",
            wholes(1, _MAX_EPOCHS),
            _TRAINING,
            metavar="EPOCHS",
        ),
    ] = Read(None)
    warmup: Annotated[
        float | None,
        Parameter(
            "Epochs of linear warm-up. Default a twentieth of the epochs, at most 5; 0 in "
            "the presets, except on glyphs.",
            real(minimum=0.0),
            _TRAINING,
            in_shell=False,
        ),
    ] = None
    precision: Annotated[
        str | None,
        Parameter(
            "float32, bf16 or fp16 inside the network; head and loss are float32. Default "
            "auto: bf16 on GPUs that have it.",
            one_of(Precision),
            _RUN,
        ),
    ] = None
    seed: Annotated[
        int | None,
        Parameter(
            "Same seed, same machine: same result. Default 0; a resumed run keeps its own.",
            whole(0),
            _RUN,
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        Parameter(
            "Wall time. The run then ends with its last measurement, and can be resumed. "
            "Default none.",
            DURATION,
            _RUN,
        ),
    ] = None
    device: Device = "auto"
    threads: Threads = None
    out: Annotated[
        Path | None,
        Parameter("The run folder. Default a dated one under runs/.", group=_OUTPUT, metavar="DIR"),
    ] = None
    resume: Annotated[
        bool,
        Parameter(
            "Continue from the last checkpoint in the --out folder, with its settings.",
            group=_OUTPUT,
        ),
    ] = False
    force: Force = False
    measure_every: Annotated[
        int | None,
        Parameter(
            "Epochs between measurements of collapse and accuracy; the first, the last and those "
            "of snapshots are always measured. Default: at most 10 % of the run time.",
            whole(1, _MAX_EPOCHS),
            _OUTPUT,
            metavar="EPOCHS",
        ),
    ] = None
    snapshot_every: Annotated[
        int | None,
        Parameter(
            "Epochs between snapshots of features and weights, for gnc measure. Default: "
            "only the last epoch.",
            whole(1, _MAX_EPOCHS),
            _OUTPUT,
            metavar="EPOCHS",
        ),
    ] = None
    plot: PlotOrPage = None
    on_run: Callable[[str], None] | None = None
    on_epoch: "Callable[[EpochRow], None] | None" = None

    @property
    def folder(self) -> str | None:
        """Run folder, as the caller named it."""
        return None if self.out is None else os.fspath(self.out)
