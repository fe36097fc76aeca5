"""The options of `gnc train`."""

from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from gnc_cli import parsing
from gnc_cli.options.declare import OUTPUT, RUN, Ints, door, integer, option, positive

__all__ = [
    "Assignment", "Augment", "BackboneWeights", "BatchSize", "Beta", "ChannelsLast", "ClipNorm",
    "Compile", "Constraint", "ConstraintChoice", "DataSet", "Epochs", "FeatureDim", "Fonts",
    "HeadChoice", "ImageClasses", "ImageSize", "InitFrom", "LearningRate", "Loss",
    "LossChoice", "LossMargin", "LrFactor", "MeasureEvery", "Milestones", "Model", "Momentum",
    "NamedClasses", "NormChoice", "NormLayers", "Ood", "Optimizer", "OptimizerChoice", "Precision",
    "PrecisionChoice", "Preset", "PresetChoice", "RunOut", "RunResume", "Schedule",
    "ScheduleChoice", "Similarity", "SnapshotEvery", "Stem", "StemChoice", "TrainDecay",
    "TrainSeed", "TrainTau", "TrainTimeLimit", "Warmup", "Width",
]  # fmt: skip


class Preset(StrEnum):
    """Experiments of the paper."""

    FIG2 = "fig2"
    FIG4 = "fig4"
    FIG5 = "fig5"
    B1 = "b1"
    B3 = "b3"
    B6 = "b6"
    FINETUNE = "finetune"


class Stem(StrEnum):
    """The first layers of a network."""

    AUTO = "auto"
    SMALL = "small"
    IMAGENET = "imagenet"


class NormLayers(StrEnum):
    """Normalisation inside the network."""

    BATCH = "batch"
    GROUP = "group"
    NONE = "none"


class Constraint(StrEnum):
    """What holds features and weights."""

    SPHERE = "sphere"
    DECAY = "decay"


class Loss(StrEnum):
    """What is minimised."""

    CE = "ce"
    HARDMAX = "hardmax"
    COSFACE = "cosface"
    ARCFACE = "arcface"


class Optimizer(StrEnum):
    """Who takes the steps."""

    SGD = "sgd"
    ADAMW = "adamw"
    ADAM = "adam"


class Schedule(StrEnum):
    """How the learning rate falls."""

    COSINE = "cosine"
    STEP = "step"
    CONSTANT = "constant"


class Precision(StrEnum):
    """Of the network; head and loss are float32 always."""

    AUTO = "auto"
    FLOAT32 = "float32"
    BF16 = "bf16"
    FP16 = "fp16"


_DATA = "Data"
_NETWORK = "Network"
_HEAD = "Classifier and loss"
_TRAINING = "Training"


def _share(text: str) -> float:
    return parsing.number(text, least=0.0, below=1.0)


def _at_least_zero(text: str) -> float:
    return parsing.number(text, least=0.0)


def _epochs(text: str) -> Ints:
    return Ints(parsing.integers(text, least=1))


DataSet = Annotated[
    str | None,
    option("--data", panel=_DATA, metavar="NAME",
           help="glyphs (characters of fonts, nothing to download), cifar10[:PATH], "
           "cifar100[:PATH], folder:PATH (class folders) or h5:PATH. Default glyphs."),
]  # fmt: skip
ImageClasses = Annotated[
    int | None,
    option("--classes", "--K", "-K", panel=_DATA, metavar="INT", parser=integer(2),
           help="The first so many classes. Default 100 of glyphs, all of other data."),
]  # fmt: skip
NamedClasses = Annotated[
    str | None,
    option("--classes-subset", panel=_DATA, metavar="NAMES",
           help="These classes only, by name: cat,dog,truck."),
]  # fmt: skip
ImageSize = Annotated[
    int | None,
    option("--image-size", panel=_DATA, metavar="PIXELS", parser=integer(8),
           help="Side of the square images. Default 32 for glyphs, else that of the data."),
]  # fmt: skip
Fonts = Annotated[
    str | None,
    option("--fonts", panel=_DATA, metavar="DIR",
           help="Glyphs of the TrueType and OpenType fonts in this folder. Default: 12 DejaVu "
           "styles."),
]  # fmt: skip
Augment = Annotated[
    str | None,
    option("--augment", panel=_DATA, metavar="NAMES",
           help="Of crop, flip, rotate; or none. Default all, but no flip of glyphs."),
]  # fmt: skip
Ood = Annotated[
    str | None,
    option("--ood", panel=_DATA, metavar="NAME",
           help="Another set (folder:PATH, h5:PATH) to test on, its classes matched by name."),
]  # fmt: skip

Model = Annotated[
    str | None,
    option("--model", panel=_NETWORK, metavar="NAME",
           help="cnn, resnet18, resnet50, densenet121, resnext50, or package.module:factory. "
           "Default cnn for glyphs, else resnet18."),
]  # fmt: skip
FeatureDim = Annotated[
    int | None,
    option("--feature-dim", "--d", "-d", panel=_NETWORK, metavar="INT", parser=integer(2),
           help="Dimension of the features. Default 10; 64 beyond 200 classes, 256 beyond 5000; "
           "that of a fixed code."),
]  # fmt: skip
Width = Annotated[
    float | None,
    option("--width", panel=_NETWORK, metavar="FACTOR", parser=positive,
           help="Channels of the network, times this: 0.25 for small machines. Default 1."),
]  # fmt: skip
StemChoice = Annotated[
    Stem | None,
    option("--stem", panel=_NETWORK,
           help="small (3x3, no pooling) or imagenet. Default auto: small under 96 pixels."),
]  # fmt: skip
NormChoice = Annotated[
    NormLayers | None,
    option("--norm", panel=_NETWORK, help="Normalisation layers of the network. Default batch."),
]
BackboneWeights = Annotated[
    str | None,
    option("--backbone-weights", panel=_NETWORK, metavar="FILE",
           help="Start from a checkpoint with torchvision's names: .pt, .pth, .safetensors."),
]  # fmt: skip
InitFrom = Annotated[
    str | None,
    option("--init-from", panel=_NETWORK, metavar="RUN",
           help="Start from the network of an earlier run: its folder, or a checkpoint in it."),
]  # fmt: skip

HeadChoice = Annotated[
    str | None,
    option("--head", panel=_HEAD, metavar="KIND",
           help="learned; cmf (moving class means, nothing to train); fixed:FILE (a code); "
           "fixed:solve (a Softmax Code solved first). Default learned."),
]  # fmt: skip
ConstraintChoice = Annotated[
    Constraint | None,
    option("--constraint", panel=_HEAD,
           help="sphere: unit features and weights, with --tau; decay: free lengths, held by "
           "weight decay. Default sphere."),
]  # fmt: skip
TrainTau = Annotated[
    float | None,
    option("--tau", panel=_HEAD, metavar="FLOAT", parser=positive,
           help="Temperature: logits are cosines / tau. Default 0.1."),
]  # fmt: skip
Beta = Annotated[
    float | None,
    option("--beta", panel=_HEAD, metavar="FLOAT", parser=door(_share),
           help="cmf: the share of the old weights that stays at each step. Default 0.9."),
]  # fmt: skip
LossChoice = Annotated[
    Loss | None,
    option("--loss", panel=_HEAD,
           help="ce, hardmax (its limit at temperature 0), cosface, arcface. Default ce."),
]  # fmt: skip
LossMargin = Annotated[
    float | None,
    option("--margin", panel=_HEAD, metavar="FLOAT", parser=door(_at_least_zero),
           help="Of cosface (a cosine) or arcface (radians). Default: the largest that the fixed "
           "code, or the best known one, can satisfy."),
]  # fmt: skip
Assignment = Annotated[
    str | None,
    option("--assignment", panel=_HEAD, metavar="HOW",
           help="Classes onto a fixed code: identity, random, best or worst (similar classes near "
           "or far), a FILE, or all (a run each, up to symmetry). Default identity."),
]  # fmt: skip
Similarity = Annotated[
    str | None,
    option("--similarity", panel=_HEAD, metavar="FILE",
           help="Similarity of the classes (K, K) for best and worst. Default: of the class means "
           "of a short learned run."),
]  # fmt: skip

PresetChoice = Annotated[
    Preset | None,
    option("--preset", panel=_TRAINING,
           help="The paper's settings of this figure; options given beside it win."),
]  # fmt: skip
Epochs = Annotated[
    int | None,
    option("--epochs", panel=_TRAINING, metavar="INT", parser=integer(1),
           help="Passes over the training set. Default 200; for glyphs what makes some 900 steps, "
           "60 of 100 classes."),
]  # fmt: skip
BatchSize = Annotated[
    int | None,
    option("--batch-size", panel=_TRAINING, metavar="INT", parser=integer(2),
           help="Images a step, of all processes together. Default 128; 64 for glyphs, fewer for "
           "few classes."),
]  # fmt: skip
OptimizerChoice = Annotated[
    Optimizer | None,
    option("--optimizer", panel=_TRAINING,
           help="Default adamw for glyphs, cnn and models of your own, else sgd with nesterov."),
]  # fmt: skip
LearningRate = Annotated[
    float | None,
    option("--lr", panel=_TRAINING, metavar="FLOAT", parser=positive,
           help="Peak learning rate. Default 0.1 for sgd, 0.003 for adamw and adam."),
]  # fmt: skip
Momentum = Annotated[
    float | None,
    option("--momentum", panel=_TRAINING, metavar="FLOAT", parser=door(_share),
           help="Of sgd. Default 0.9."),
]  # fmt: skip
TrainDecay = Annotated[
    float | None,
    option("--weight-decay", panel=_TRAINING, metavar="FLOAT", parser=door(_at_least_zero),
           help="Default 0.0005 for sgd, 0.01 for adamw, 0 for adam."),
]  # fmt: skip
ScheduleChoice = Annotated[
    Schedule | None,
    option("--schedule", panel=_TRAINING,
           help="cosine, step (times --gamma at each of --milestones) or constant. Default "
           "cosine."),
]  # fmt: skip
Milestones = Annotated[
    Ints | None,
    option("--milestones", panel=_TRAINING, metavar="EPOCHS", parser=door(_epochs),
           help="Epochs of the step schedule: 200,400. Default at 1/2 and 3/4."),
]  # fmt: skip
LrFactor = Annotated[
    float | None,
    option("--gamma", panel=_TRAINING, metavar="FLOAT",
           parser=door(partial(parsing.number, above=0.0, most=1.0)),
           help="Factor of the step schedule. Default 0.1."),
]  # fmt: skip
Warmup = Annotated[
    float | None,
    option("--warmup", panel=_TRAINING, metavar="EPOCHS", parser=door(_at_least_zero),
           help="Epochs of linear warm-up. Default one in twenty, at most 5; none in the paper's "
           "recipes."),
]  # fmt: skip
ClipNorm = Annotated[
    float | None,
    option("--clip", panel=_TRAINING, metavar="NORM", parser=positive,
           help="Largest norm of the gradient. Default none."),
]  # fmt: skip
PrecisionChoice = Annotated[
    Precision | None,
    option("--precision", panel=RUN,
           help="float32, bf16 or fp16 inside the network; head and loss are float32. Default "
           "auto: bf16 on GPUs that have it."),
]  # fmt: skip
ChannelsLast = Annotated[
    bool | None,
    option("--channels-last/--channels-first", panel=RUN,
           help="Memory layout of the images. Default channels last."),
]  # fmt: skip
Compile = Annotated[
    bool,
    typer.Option("--compile", rich_help_panel=RUN, show_default=False,
                 help="Compile the network first: pays off in long runs on a GPU."),
]  # fmt: skip
TrainSeed = Annotated[
    int | None,  # None is not asked for: a resumed run keeps its own
    option("--seed", panel=RUN, metavar="INT", parser=integer(0),
           help="Same seed, same machine: same result. Default 0."),
]  # fmt: skip
TrainTimeLimit = Annotated[
    float | None,
    option("--time-limit", panel=RUN, metavar="SECONDS", parser=positive,
           help="Wall time; the run then ends with what was measured last, and can be resumed. "
           "Default none."),
]  # fmt: skip

RunOut = Annotated[
    str | None,
    option("--out", panel=OUTPUT, metavar="DIR",
           help="The run folder. Default a dated one under runs/."),
]  # fmt: skip
RunResume = Annotated[
    bool,
    option("--resume", panel=OUTPUT,
           help="Go on from the last checkpoint in the --out folder, with its settings."),
]  # fmt: skip
MeasureEvery = Annotated[
    int | None,
    option("--measure-every", panel=OUTPUT, metavar="EPOCHS", parser=integer(1),
           help="Measure collapse and accuracy after so many epochs; after the first, the last and "
           "those of snapshots always. Default: as often as takes a tenth of the time."),
]  # fmt: skip
SnapshotEvery = Annotated[
    int | None,
    option("--snapshot-every", panel=OUTPUT, metavar="EPOCHS", parser=integer(1),
           help="Keep features and weights after so many epochs, for gnc measure. Default: of the "
           "last alone."),
]  # fmt: skip
