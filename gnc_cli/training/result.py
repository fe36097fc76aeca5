"""Results of `gnc train`: what a run came to, and how it got there."""

from dataclasses import dataclass, field
from typing import Any

from gnc_cli.brackets import Bracket, Number
from gnc_cli.collapse.result import FORMS, MeasureResult
from gnc_cli.records import HIGHER, LABEL, LOWER, NOT_IN_JSON, OFF_DASHBOARD, WORD, Result

_OF_A_FILE = ("file", "snapshot", "layer", "out", "attrs")
"""Measure's fields that say which file a row is from: here it is the run."""


@dataclass(frozen=True)
class EpochRow:
    """One epoch, as metrics.jsonl lists it; what was not measured after it is None."""

    epoch: int
    """Epochs done, from 1."""
    step: int
    """Steps of the optimizer done, all epochs together."""
    lr: float
    """Learning rate of the epoch's last step."""
    loss: Number = field(metadata=LOWER)
    """Mean loss of the epoch's samples, as they were trained on."""
    running_accuracy: float
    """Share of right answers among them: in train mode, augmented, the weights moving."""
    train_accuracy: float | None = field(default=None, metadata=HIGHER)
    """Share of the training set that is right after the epoch, in eval mode, every sample once."""
    test_accuracy: float | None = field(default=None, metadata=HIGHER)
    """Share of the test set that is right; None without a test set."""
    ood_accuracy: float | None = field(default=None, metadata=HIGHER)
    """Share of the out-of-distribution set that is right, its classes matched by name."""
    test_ncc_accuracy: float | None = field(default=None, metadata=HIGHER)
    """Nearest-class-mean accuracy of the test set, by the means of the training set."""
    gnc1: float | None = field(default=None, metadata=LOWER)
    """GNC1 of the training features, as in the paper: variability within classes."""
    gnc1_centred: float | None = field(default=None, metadata=LOWER)
    """The same with Sigma_B centred."""
    gnc2: Bracket | None = field(default=None, metadata=HIGHER)
    """GNC2 of the classifier: smallest one-vs-rest distance of its unit rows, certified."""
    gnc3: float | None = field(default=None, metadata=LOWER)
    """GNC3, as in the paper: distance of classifier and class means from self-duality."""
    gnc3_centred: float | None = field(default=None, metadata=LOWER)
    """The same of centred class means."""
    ncc_accuracy: float | None = field(default=None, metadata=HIGHER)
    """Share of the training set whose nearest class mean is its own."""
    seconds: float = field(default=0.0, metadata=LOWER)
    """Of training."""
    measure_seconds: float = 0.0
    """Of measuring after it."""
    images_per_second: float = field(default=0.0, metadata=HIGHER)
    """Of training."""


@dataclass(frozen=True)
class HeadFacts:
    """The classifier and what it costs."""

    kind: str
    """`learned`, `cmf` or `fixed`."""
    constraint: str
    """`sphere`: unit features and weights; `decay`: free lengths, held by weight decay."""
    tau: float
    """Temperature: logits are scores / tau. It is 1 with `decay`."""
    loss: str
    """`ce`, `hardmax`, `cosface` or `arcface`."""
    margin: float | None
    """Margin of `cosface` (a cosine) or `arcface` (radians)."""
    beta: float | None
    """Share of the old weights of `cmf` that stays at each step."""
    code: str | None
    """The file or the search that a fixed head is from."""
    assignment: str | None
    """How classes were placed on the code."""
    permutation: tuple[int, ...] | None
    """Class k has row permutation[k] of the code."""
    encoder_parameters: int
    """Parameters of the network before the classifier."""
    head_parameters: int
    """Parameters of the classifier: K d, trained or not."""
    trained_parameters: int
    """Parameters that the optimizer moves, network and classifier together."""
    saved_share: float = field(metadata=HIGHER)
    """Share of all parameters that need no gradient and no optimizer state, against `learned`."""
    margin_source: str | None = None
    """`given`, or the code or entry whose largest possible margin it is."""


class _Training(Result):
    """What `gnc train` returns: its lines are rows of epochs, under the run."""

    command = "train"
    csv_head = ("run",)

    @property
    def line_kinds(self) -> tuple[type, ...]:
        """The record of `lines`."""
        return (EpochRow,)


@dataclass(frozen=True)
class TrainResult(_Training):
    """A trained network and its collapse: the result of `gnc train`."""

    run: str = field(metadata=LABEL)
    """The run folder, as the user named it."""
    outcome: str = field(metadata=WORD)
    """`completed`, `time_limit` or `interrupted`."""
    advice: str | None
    """One sentence: what to do next; None where there is nothing to say."""
    data: dict[str, Any] = field(
        metadata={"question": ("name", "image_size", "train_images", "test_images")}
    )
    """Name, counts, image size, classes, what was dropped or merged, warnings."""
    model: str
    """Name of the network, as in `--model`."""
    head: HeadFacts
    """The classifier and what it costs."""
    recipe: dict[str, Any] = field(metadata=OFF_DASHBOARD)
    """Optimizer, schedule, batch size, precision, augmentation, preset."""
    seed: int
    """Decides everything random in the run."""
    device: str
    """Where it ran: `cpu`, `cuda` or `cuda:1`."""
    processes: int
    """Processes that trained together."""
    epochs: int
    """Epochs done."""
    epochs_asked: int
    """Epochs that `--epochs`, the preset or the default asks for."""
    loss: float | None = field(metadata=LOWER)
    """Mean loss of the last epoch's samples, as they were trained on; None before the first
    epoch."""
    train_accuracy: float | None = field(metadata=HIGHER)
    """Share of the training set that is right in eval mode, when measured last."""
    test_accuracy: float | None = field(metadata=HIGHER)
    """Share of the test set that is right, when measured last; None without a test set."""
    ood_accuracy: float | None = field(metadata=HIGHER)
    """Share of the `--ood` set that is right, when measured last; None without one."""
    test_ncc_accuracy: float | None = field(metadata=HIGHER)
    """Share of the test set whose nearest class mean (of the training set) is its own; None without
    a test set."""
    best: dict[str, Any] | None
    """Epoch and accuracy of best.pt: of the test set, of the training set where there is none."""
    measure_share: float = field(metadata=LOWER)
    """Share of the wall time that measuring took."""
    images_per_second: float | None = field(metadata=HIGHER)
    """Images per second of training, the median over epochs."""
    history: tuple[EpochRow, ...]
    """One row per epoch, as in metrics.jsonl."""
    measured: MeasureResult | None = field(
        default=None, metadata={"spread": _OF_A_FILE}, repr=False
    )
    """Measure's record of the training features when they were measured last, None where they never
    were; its fields stand in the JSON beside those above, `epoch` a fraction where the run stopped
    inside one."""
    extras: dict[str, Any] = field(
        default_factory=dict, metadata=NOT_IN_JSON, repr=False, compare=False
    )
    """Arrays for plots: `features`, `labels`, `weights` where d is 2 or 3; never printed."""

    @property
    def title(self) -> str:
        """What was measured: the heading of a report."""
        m = self.measured
        return "" if m is None else f"d = {m.d:,}, K = {m.K:,}"

    @property
    def forms(self) -> dict[str, str]:
        """Which form of GNC1 and GNC3 means something: `MeasureResult.forms`."""
        return FORMS if self.measured is None else self.measured.forms

    @property
    def why_centred(self) -> str:
        """Why, in words."""
        return "" if self.measured is None else self.measured.why_centred

    def lines(self) -> list[dict[str, Any]]:
        """One row per epoch."""
        return [{"run": self.run} | row for row in self.to_json()["history"]]


@dataclass(frozen=True)
class TrainSeries(_Training):
    """One run for each placement of the classes on a fixed code (`--assignment all`)."""

    run: str = field(metadata=LABEL)
    """The folder that holds the runs."""
    outcome: str
    """That of the last run: `completed`, `time_limit` or `interrupted`."""
    rows: tuple[TrainResult, ...]
    """One run per placement."""
    single: bool = field(default=False, metadata=NOT_IN_JSON)
    """Whether one run was asked for: the command prints it in place of the series."""

    def lines(self) -> list[dict[str, Any]]:
        """One row per run and epoch."""
        return [line for row in self.rows for line in row.lines()]
