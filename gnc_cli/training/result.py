"""Results of `gnc train`: the last values of a run, and its epochs."""

from dataclasses import dataclass, field
from typing import Any

from gnc_cli.brackets import Bracket, Number
from gnc_cli.collapse.result import FORMS, MeasureResult
from gnc_cli.records import HIGHER, LABEL, LOWER, NOT_IN_JSON, OFF_DASHBOARD, WORD, Result

_FILE_FIELDS = ("file", "snapshot", "layer", "out", "attrs")
"""Fields of measure's record that name the file of a row, which is a run here."""


@dataclass(frozen=True)
class EpochRow:
    """One epoch, as a line of metrics.jsonl; values that were not measured are None."""

    epoch: int
    """Number of epochs done, from 1."""
    step: int
    """Number of steps of the optimizer in all epochs."""
    lr: float
    """Learning rate of the epoch's last step."""
    loss: Number = field(metadata=LOWER)
    """Mean loss of the epoch's samples during training."""
    running_accuracy: float
    """Share of right answers during training: in train mode, on augmented images."""
    train_accuracy: float | None = field(default=None, metadata=HIGHER)
    """Accuracy on the training set after the epoch, in eval mode, every sample once."""
    test_accuracy: float | None = field(default=None, metadata=HIGHER)
    """Accuracy on the test set; None without a test set."""
    ood_accuracy: float | None = field(default=None, metadata=HIGHER)
    """Accuracy on the out-of-distribution set, whose classes are matched by name."""
    test_ncc_accuracy: float | None = field(default=None, metadata=HIGHER)
    """Nearest-class-mean accuracy on the test set, by the means of the training set."""
    gnc1: float | None = field(default=None, metadata=LOWER)
    """GNC1 of the training features, as in the paper: variability within classes."""
    gnc1_centred: float | None = field(default=None, metadata=LOWER)
    """GNC1 with Sigma_B centred."""
    gnc2: Bracket | None = field(default=None, metadata=HIGHER)
    """GNC2 of the classifier: smallest one-vs-rest distance of its unit rows, certified."""
    gnc3: float | None = field(default=None, metadata=LOWER)
    """GNC3, as in the paper: distance of classifier and class means from self-duality."""
    gnc3_centred: float | None = field(default=None, metadata=LOWER)
    """GNC3 with centred class means."""
    ncc_accuracy: float | None = field(default=None, metadata=HIGHER)
    """Share of training samples whose nearest class mean is that of their class."""
    seconds: float = field(default=0.0, metadata=LOWER)
    """Time of training, in seconds."""
    measure_seconds: float = 0.0
    """Time of measuring after it, in seconds."""
    images_per_second: float = field(default=0.0, metadata=HIGHER)
    """Number of images per second of training."""


@dataclass(frozen=True)
class HeadFacts:
    """The classifier and its cost."""

    kind: str
    """`learned`, `cmf` or `fixed`."""
    constraint: str
    """`sphere`: unit features and weights; `decay`: free lengths, bounded by weight decay."""
    tau: float
    """Temperature: logits are scores / tau. It is 1 with `decay`."""
    loss: str
    """`ce`, `hardmax`, `cosface` or `arcface`."""
    margin: float | None
    """Margin of `cosface` (a cosine) or `arcface` (radians)."""
    beta: float | None
    """Share of the old weights of `cmf` that stays at each step."""
    code: str | None
    """File or search that a fixed head comes from."""
    assignment: str | None
    """Rule that assigned the classes to the rows of the code."""
    permutation: tuple[int, ...] | None
    """Class k has row permutation[k] of the code."""
    encoder_parameters: int
    """Number of parameters of the network before the classifier."""
    head_parameters: int
    """Number of parameters of the classifier: K d, trained or not."""
    trained_parameters: int
    """Number of parameters that the optimizer trains, network and classifier together."""
    saved_share: float = field(metadata=HIGHER)
    """Share of all parameters that need no gradient and optimizer state, unlike with `learned`."""
    margin_source: str | None = None
    """`given`, or the code or entry whose largest possible margin it is."""


class _Training(Result):
    """A result of `gnc train`, whose lines are rows of epochs, with the run."""

    command = "train"
    csv_head = ("run",)

    @property
    def line_kinds(self) -> tuple[type, ...]:
        """Record of `lines`."""
        return (EpochRow,)


@dataclass(frozen=True)
class TrainResult(_Training):
    """A trained network and its collapse, the result of `gnc train`."""

    run: str = field(metadata=LABEL)
    """Run folder, as the user named it."""
    outcome: str = field(metadata=WORD)
    """`completed`, `time_limit` or `interrupted`."""
    advice: str | None
    """Next step, in one sentence; None if there is none."""
    data: dict[str, Any] = field(
        metadata={"question": ("name", "image_size", "train_images", "test_images")}
    )
    """Name, counts, image size, classes, dropped and merged ones, warnings."""
    model: str
    """Name of the network, as in `--model`."""
    head: HeadFacts
    """The classifier and its cost."""
    recipe: dict[str, Any] = field(metadata=OFF_DASHBOARD)
    """Optimizer, schedule, batch size, precision, augmentation, preset."""
    seed: int
    """Seed of everything random in the run."""
    device: str
    """Device: `cpu`, `cuda` or `cuda:1`."""
    processes: int
    """Number of processes that trained together."""
    epochs: int
    """Number of epochs done."""
    epochs_asked: int
    """Number of epochs of `--epochs`, the preset or the default."""
    loss: float | None = field(metadata=LOWER)
    """Mean loss of the last epoch's samples during training; None before the first epoch."""
    train_accuracy: float | None = field(metadata=HIGHER)
    """Accuracy on the training set in eval mode, at the last measurement."""
    test_accuracy: float | None = field(metadata=HIGHER)
    """Accuracy on the test set, at the last measurement; None without a test set."""
    ood_accuracy: float | None = field(metadata=HIGHER)
    """Accuracy on the `--ood` set, at the last measurement; None without one."""
    test_ncc_accuracy: float | None = field(metadata=HIGHER)
    """Share of test samples whose nearest class mean (of the training set) is that of their class;
    None without a test set."""
    best: dict[str, Any] | None
    """Epoch and accuracy of best.pt: on the test set, else on the training set."""
    measure_share: float = field(metadata=LOWER)
    """Share of measurements in the wall time."""
    images_per_second: float | None = field(metadata=HIGHER)
    """Number of images per second of training, the median over epochs."""
    history: tuple[EpochRow, ...]
    """Rows of the epochs, as in metrics.jsonl."""
    measured: MeasureResult | None = field(
        default=None, metadata={"spread": _FILE_FIELDS}, repr=False
    )
    """Measure's record of the training features at the last measurement; None without one. In the
    JSON its fields are next to those above; `epoch` is a fraction if the run stopped in one."""
    extras: dict[str, Any] = field(
        default_factory=dict, metadata=NOT_IN_JSON, repr=False, compare=False
    )
    """Arrays for plots: `features`, `labels`, `weights` if d is 2 or 3; never printed."""

    @property
    def title(self) -> str:
        """Heading of a report: dimension and number of classes."""
        m = self.measured
        return "" if m is None else f"d = {m.d:,}, K = {m.K:,}"

    @property
    def forms(self) -> dict[str, str]:
        """Forms of GNC1 and GNC3 that are meaningful, as in `MeasureResult.forms`."""
        return FORMS if self.measured is None else self.measured.forms

    @property
    def centring_reason(self) -> str:
        """Reason for the centred forms, in words."""
        return "" if self.measured is None else self.measured.centring_reason

    def lines(self) -> list[dict[str, Any]]:
        """Return one row per epoch."""
        return [{"run": self.run} | row for row in self.to_json()["history"]]


@dataclass(frozen=True)
class TrainSeries(_Training):
    """Runs for all assignments of the classes to a fixed code (`--assignment all`)."""

    run: str = field(metadata=LABEL)
    """Folder with the runs."""
    outcome: str
    """Outcome of the last run: `completed`, `time_limit` or `interrupted`."""
    rows: tuple[TrainResult, ...]
    """Runs, one per assignment."""
    single: bool = field(default=False, metadata=NOT_IN_JSON)
    """True for a single run, which the command prints in place of the series."""

    def lines(self) -> list[dict[str, Any]]:
        """Return one row per run and epoch."""
        return [line for row in self.rows for line in row.lines()]
