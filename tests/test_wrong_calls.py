"""Arguments of the wrong kind (`io/arguments.py`) end in errors of gnc, in the words of Python."""

import contextlib
import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli import GNCMetrics, bounds, compare, measure, solve, train
from gnc_cli.errors import GncError, UsageError
from gnc_cli.parameters import declared

E, LABELS = np.eye(3), np.arange(3)
NAN, LARGEST = float("nan"), 2**63 - 1
LONG_TEXT = "1" * 50_000


ARRAYS: dict[str, tuple[Callable[[], Any], str]] = {
    "complex": (lambda: E * (1 + 2j), "must be an array of real numbers, got dtype complex128"),
    "sparse tensor": (lambda: torch.eye(3).to_sparse(), "must be a dense tensor of numbers"),
    "conjugate": (lambda: (torch.eye(3) * 1j).conj(), "got a complex one; give weights.real"),
    "nested tensor": (
        lambda: torch.nested.nested_tensor([torch.eye(3)], layout=torch.jagged),
        r"got a nested one; give torch.cat\(weights.unbind\(\)\)",
    ),
    "quantised tensor": (
        lambda: torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.qint8),
        r"got a quantized one; give weights.dequantize\(\)",
    ),
    "meta tensor": (lambda: torch.eye(3, device="meta"), "got one on the meta device"),
    "tensor without storage": (
        lambda: torch._subclasses.FakeTensorMode().from_tensor(torch.eye(3)),
        "must be a dense tensor of numbers, got FakeTensor; give a plain tensor",
    ),
    "ragged": (lambda: [[1, 2], [3]], "must be rows of one length"),
    "words": (lambda: [["a", "b"], ["c", "d"]], "must be an array of real numbers"),
    "truth values": (lambda: E > 0, "must be an array of real numbers, got dtype bool"),
}


def _metrics() -> GNCMetrics:
    metrics = GNCMetrics(3, 3)
    metrics.update(E, LABELS)
    return metrics


TAKE_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "weights": lambda a: measure(weights=a),
    "features": lambda a: measure(features=a, labels=LABELS),
    "labels": lambda a: measure(features=E, labels=a),
    "bias": lambda a: measure(features=E, labels=LABELS, weights=E, bias=a),
    "logits": lambda a: measure(features=E, labels=LABELS, logits=a),
    "a code": compare,
    "init": lambda a: solve(3, 3, init=a, restarts=0),
    "fixed": lambda a: solve(3, 5, fixed=a),
    "features of update": lambda a: GNCMetrics(3, 3).update(a, LABELS),
    "labels of update": lambda a: GNCMetrics(3, 3).update(E, a),
    "logits of update": lambda a: GNCMetrics(3, 3).update(E, LABELS, a),
    "weights of compute": lambda a: _metrics().compute(a),
    "features of judge": lambda a: _metrics().judge(a, LABELS),
    "weights of judge": lambda a: _metrics().judge(E, LABELS, a),
    "bias of judge": lambda a: _metrics().judge(E, LABELS, E, a),
}


@pytest.mark.filterwarnings("ignore:torch.quantize:UserWarning")
@pytest.mark.parametrize(
    ("name", "kind"),
    [*(("weights", kind) for kind in ARRAYS), *((name, "complex") for name in TAKE_ARRAYS)],
)
def test_arrays(name: str, kind: str) -> None:
    make, message = ARRAYS[kind]
    with pytest.raises(GncError, match=message) as caught:
        TAKE_ARRAYS[name](make())
    text = str(caught.value)
    assert (
        text.removeprefix("--").startswith(name.partition(" of ")[0])
        and "\n" not in text
        and len(text) < 200
    )


CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: solve(), r"missing d and K; give both"),
    (lambda: solve(3), r"missing K; give both, such as d=3 and K=24"),
    (lambda: measure(), "nothing to measure; give a file, or in Python arrays: "),
    (
        lambda: measure(E, LABELS),
        r"got an array of shape \(3, 3\); arrays have names: measure\(features=X, labels",
    ),
    (lambda: measure(feature=E), r"measure\(\) has no argument 'feature'; did you mean features\?"),
    (
        lambda: solve(3, 4, restart=2),
        r"solve\(\) has no argument 'restart'; did you mean restarts\?",
    ),
    (lambda: bounds(zzz=2), r"bounds\(\) has no argument 'zzz'; see help\(bounds\)"),
    (lambda: GNCMetrics(3, 3, normalise=True), r"GNCMetrics\(\) has .*did you mean normalize\?"),
    (lambda: measure(features=E, weights=E), "no labels; give labels, or the features only: fea"),
    (lambda: measure(labels=LABELS), "neither features nor weights were found; give features$"),
    (
        lambda: measure(features=0 * E, labels=LABELS),
        "remove them, or measure with normalize='off'$",
    ),
    (lambda: compare(), r"nothing to compare; give files"),
    (lambda: bounds(), "give two of d, K and a margin"),
    (lambda: solve(NAN, 4), "d nan is not a number"),
    (lambda: solve(3j, 4), "is not a number"),
    (lambda: solve(np.array([3, 4]), 4), "is not a number"),
    (lambda: solve(torch.tensor([3, 4]), 4), "is not a number"),
    (lambda: solve(LARGEST, 4), "d 9223372036854775807 is too large; give at most 1e6"),
    (lambda: solve(3, LARGEST), "K 9223372036854775807 is too large; give at most 1e9"),
    (lambda: bounds(3, LONG_TEXT), r"K 1{60}... \(50000 characters\) is too large"),
    (lambda: solve(3, 4, seed=1.5), "seed 1.5 is not a whole number"),
    (lambda: solve(3, 4, seed=True), "seed True is not a number"),
    (lambda: solve(3, 4, seed=None), "seed must be a whole number, got None"),
    (lambda: solve(3, 4, n=None), "n must be a whole number, got None"),
    (lambda: solve(3, 4, problem=None), "problem must be a text, got None"),
    (lambda: solve(3, 4, method=5), "method 5 is not one of auto, descent"),
    (lambda: solve(3, 4, device=5), "device must be a text, got 5"),
    (lambda: solve(3, 4, symmetry=5), "symmetry must be a text, got 5"),
    (lambda: solve(construction=5), "construction must be a text, got 5"),
    (lambda: solve(resume="x"), "resume must be True or False, got 'x'"),
    (lambda: solve(3, 4, force="x"), "force must be True or False"),
    (lambda: solve(3, 4, out=5), "out must be the path of a file or folder, got 5"),
    (lambda: solve(3, 4, out=["a"]), "out must be the path"),
    (lambda: solve(3, 4, plot=5), "plot must be the path"),
    (lambda: solve(3, 4, problem="ufm", tau=[None]), "tau None is not a number"),
    (lambda: solve(3, 4, target=NAN), "target nan is not a number"),
    (
        lambda: solve(3, 4, problem="ufm", tau=[1.0, 0.5]),
        r"^solve\(\) returns one result, and tau has 2 values; call solve_sweep\(\)$",
    ),
    (lambda: solve(3, 4, list_constructions=True), "no argument 'list_constructions'"),
    (lambda: bounds([None], 4), "d None is not a number"),
    (lambda: bounds(range(2, 10**9), 4), "has more than 100,000 values"),
    (lambda: bounds(3, 4, lp="x"), "lp must be True or False"),
    (lambda: bounds(3, 4, table=5), "table must be a table of known codes or the path of one"),
    (lambda: bounds(3, 4, quantity=3), "quantity 3 is not one of"),
    (lambda: compare(None), "files must be|a code must be"),
    (lambda: compare(E, digits=1.5), "digits 1.5 is not a whole number"),
    (lambda: compare(E, tolerance=None), "tolerance must be a number, got None"),
    (lambda: compare(E, export=""), "export '' is empty"),
    (lambda: train(out="a\0"), "out 'a\\\\x00' has a NUL character"),
    (lambda: compare(list="x"), "list must be True or False"),
    (lambda: compare(list=True, d=LARGEST, K=4), "d 9223372036854775807 is too large"),
    (lambda: measure(5), "files must be the path of a file, or several, got 5"),
    (lambda: measure(weights=E, K=1.5), "K 1.5 is not a whole number"),
    (lambda: measure(features=E, labels=LABELS, K=LARGEST), "is too large; give at most 1e8"),
    (lambda: measure(weights=E, select=5), "select must be a dictionary or pairs"),
    (
        lambda: measure(weights=E, prefix_dims=[2]),
        r"returns one result, and prefix_dims makes one per prefix; call measure_series\(\)$",
    ),
    (
        lambda: measure(weights=E, out="a.jsonl"),
        r"and out='a.jsonl' keeps those of several calls; call measure_series\(\)$",
    ),
    (lambda: measure(weights=E, normalize=5), "normalize 5 is not one of"),
    (lambda: measure(weights=E, reference=E), "reference must be a number or the path"),
    (lambda: measure(weights=E, classes=5), "classes must be a list, or the path"),
    (lambda: train(model=5), "model must be a text, got 5"),
    (lambda: train(epochs=1.5), "epochs 1.5 is not a whole number"),
    (lambda: train(epochs=LARGEST), "is too large; give at most 1e7"),
    (lambda: train(feature_dim=LARGEST), "feature_dim 9223372036854775807 is too large"),
    (lambda: train(data=5), "data must be a text, got 5"),
    (lambda: train(head=["cmf"]), "head must be a text"),
    (lambda: train(similarity=5), "similarity must be the path"),
    (lambda: train(augment=5), "augment must be names, got 5"),
    (lambda: train(config=5), "config must be the path"),
    (lambda: train(similarity=E), "similarity must be the path"),
    (lambda: GNCMetrics(d=NAN, K=6), "d nan is not a number"),
    (lambda: GNCMetrics(3, LARGEST), "K 9223372036854775807 is too large"),
    (lambda: GNCMetrics(2.5, 3), "d 2.5 is not a whole number"),
    (lambda: GNCMetrics(None, 3), "d must be a whole number, got None"),
    (lambda: GNCMetrics(3, 3, normalize="x"), "normalize must be True or False"),
    (lambda: GNCMetrics(3, 3, variants="some"), "variants 'some' is not one of"),
    (lambda: GNCMetrics(3, 3, reference=NAN), "reference nan is not a number"),
    (lambda: _metrics().judge(E, LABELS, workers=0), "workers 0 is too small"),
]


@pytest.mark.parametrize(("call", "message"), CALLS, ids=[m[:40] for _, m in CALLS])
def test_arguments(call: Callable[[], Any], message: str, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GncError, match=message) as caught:
        call()
    text = str(caught.value)
    assert not re.search(r"\bgnc \w|--\w", text) and "\n" not in text and len(text) < 250
    assert not [*tmp_path.iterdir()]


def test_numbers_of_other_libraries_are_numbers() -> None:
    assert solve(np.int64(3), torch.tensor(4), seed=np.uint8(0)).K == 4
    assert bounds(range(2, 5), "1e2", margin=np.float32(0.5), lp=np.False_).best[0].K == 100
    assert measure(weights=np.ma.array(E)).K == 3


def test_an_option_is_honoured_or_refused(gnc: Any, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("y.npz", features=np.eye(7), labels=np.arange(7))
    np.savetxt("square.txt", [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    for words, message in [
        (("measure", "y.npz", "--K", "3"), "out of range for K = 3"),
        (("compare", "square.txt", "--export", ""), "--export '' is empty"),
        (("train", "--resume", "--out", "mistyped"), "'mistyped' is not a run of gnc train"),
        (("measure", ""), "FILES '' is empty"),
    ]:
        run = gnc(*words)
        assert run.exit_code in (2, 3) and re.search(message, run.stderr), run.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"y.npz", "square.txt"}


def test_a_notebook_shows_an_error_in_one_line() -> None:
    with pytest.raises(GncError) as caught:
        bounds()
    (line,) = caught.value._render_traceback_()
    assert line == f"UsageError: {caught.value}" and line.startswith("UsageError: give two of d, K")


def test_ipython_prints_that_line() -> None:
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell.instance()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        shell.run_cell("import gnc_cli; gnc_cli.bounds()")
    assert printed.getvalue().startswith("UsageError: give two of d, K and a margin")
    assert "\n" not in printed.getvalue().strip()


@pytest.mark.parametrize("function", [solve, measure, bounds, train, compare])
@given(data=st.data(), value=st.binary() | st.binary().map(bytearray))
def test_bytes_are_no_argument(function: Callable[..., Any], data: Any, value: Any) -> None:
    """To Python they are whole numbers, and a path to `os`: every parameter names itself."""
    parameters = declared(function)
    name = data.draw(st.sampled_from(sorted(parameters)))
    with pytest.raises(UsageError, match=f"^{name} must be .*, got byte|^{name} must be .*, got b"):
        function(value) if parameters[name].argument else function(**{name: value})
