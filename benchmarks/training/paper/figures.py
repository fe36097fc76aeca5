"""The figures of arXiv 2310.05351 as runs of `gnc`: small enough for one core."""

from collections.abc import Iterator
from dataclasses import dataclass

FONTS = "{fonts}"
"""Stands in the options for the folder of fonts, wherever it lies."""
BEFORE = "{before}"
"""Stands in the options for the folder of the run that comes before."""
TAUS = {"1": "1", "1/5": "0.2", "1/10": "0.1"}
CLOTHES = {
    "Shirt": "T-shirt/top,Sneaker,Shirt,Ankle boot",
    "Sneaker": "T-shirt/top,Shirt,Sneaker,Ankle boot",
    "Ankle boot": "T-shirt/top,Shirt,Ankle boot,Sneaker",
}
"""Four classes in their order around the circle, by the one opposite the T-shirt."""
SIX = {
    "alike near": "T-shirt/top,Shirt,Pullover,Coat,Ankle boot,Sneaker",
    "mixed": "T-shirt/top,Ankle boot,Shirt,Pullover,Sneaker,Coat",
    "alike far": "Shirt,Sneaker,T-shirt/top,Pullover,Ankle boot,Coat",
}


@dataclass(frozen=True)
class Case:
    """One run of the program."""

    figure: str
    name: str
    """Says all that differs from other runs of the figure; without the seed `group`."""
    seed: int
    options: tuple[str, ...]
    """The command and its options, without those of the machine and the output."""
    before: tuple[str, ...] = ()
    """The options of a run whose network it starts from; none for a new network."""

    @property
    def case(self) -> str:
        """The key of its row."""
        return f"{self.figure} {self.name} seed {self.seed}"


@dataclass(frozen=True)
class Figure:
    """What a figure asks, and what it costs."""

    title: str
    paper: str
    """What the paper reports."""
    minutes: float
    """Of one core, or of a GPU and the cores beside it, all runs together."""
    cuda: bool = False
    """Wants a GPU: left out unless it is named."""


FIGURES = {
    "4": Figure(
        "Figure 4: four classes on the circle, learned and placed",
        "learned 91.45 %; fixed 91.90, 92.13 and, cat and dog apart, 89.95 %",
        30,
    ),
    "b2": Figure(
        "Figure B.2: 30 unconstrained features in the plane",
        "weight decay: lengths and angles uneven; sphere: even",
        1,
    ),
    "b1": Figure(
        "Figure B.1: 30 syllables in the plane, weight decay against the sphere",
        "weight decay: lengths and angles uneven; sphere: even",
        10,
    ),
    "2": Figure(
        "Figure 2 and table B.5: temperatures, Fashion-MNIST, d = 3, K = 10",
        "tau 1, 1/5, 1/6, 1/7: GNC2 ~0, .553, .582, .591; test 41.99, 73.95, 73.94, 74.14 %; NCC "
        "51.7 % at tau 1 against 99.85 %",
        25,
    ),
    "b6": Figure(
        "Figure B.6: six classes on the circle, learned and placed",
        "learned 91.82 %; fixed 91.60, 91.95 and, pairs apart, 86.37 %",
        35,
    ),
    "5": Figure(
        "Figure 5: class means, learned and fixed classifiers, Hangul, d = 10, K = 200",
        "class means and learned equal within noise, with fewer parameters",
        40,
    ),
    "3": Figure("Figure 3: test accuracy against d, Hangul, K = 200", "shape only", 45),
    "fine-tuning": Figure(
        "Section 5: fine-tuning to other fonts, Hangul, d = 10, K = 200",
        "MoCo v2 to CIFAR10, there and on STL10: class means 98.00 and 90.67, learned 97.00 and "
        "87.42 %",
        30,
    ),
    "2-hangul": Figure("Figure 2 on Hangul, d = 10, K = 500", "see figure 2", 60),
    "b3": Figure(
        "Figure B.3: Hangul, d = 64, K = 2000",
        "faces, d = 512, K = 10000: GNC2 ends at .695 to .716",
        40,
    ),
    "heads": Figure("Which d and which head: Hangul, K = 1000", "no such table", 50),
    "b4": Figure(
        "Figure B.4: ResNet18, Hangul, d = 512, K = 10000",
        "faces, tau 1/10, 1/20, 1/50: GNC2 .399, .641, .695",
        15,
        cuda=True,
    ),
}
"""In the order of their cost."""


def cases(figure: str) -> Iterator[Case]:
    """The runs of one figure; seeds outermost, so that a part of them is a comparison too."""
    for seed in range(1 if figure in ("b1", "b2", "b3", "b4", "heads") else 3):
        runs = [*_RUNS[figure](), *(_bad_start() if (figure, seed) == ("4", 0) else ())]
        before = (*_first_fonts(), "--seed", str(seed)) if figure == "fine-tuning" else ()
        for name, options in runs:
            yield Case(figure, name, seed, (*options, "--seed", str(seed)), before)


_Runs = Iterator[tuple[str, tuple[str, ...]]]


def _train(text: str, *more: str) -> tuple[str, ...]:
    return ("train", *text.split(), *more)


_CIRCLE = (
    "--image-size 16 --width 0.5 -d 2 --batch-size 32 --epochs 150 --images-per-class 100 "
    "--measure-every 10 --model cnn --data fashion-mnist"
)


def _placed(orders: dict[str, str], tau: str, word: str) -> _Runs:
    """On the circle: learned at the paper's temperature and a higher one, and each order fixed."""
    some = next(iter(orders.values()))
    plain = ("--augment", "none", "--classes-subset")
    yield "learned", _train(f"{_CIRCLE} --tau {tau}", *plain, some)
    sgd = f"{_CIRCLE} --tau {tau} --optimizer sgd --lr 0.05"
    yield "learned by SGD", _train(sgd, *plain, some)
    if tau != "0.2":
        yield "learned, tau 0.2", _train(f"{_CIRCLE} --tau 0.2", *plain, some)
    yield "learned, augmented", _train(f"{_CIRCLE} --tau {tau}", "--classes-subset", some)
    for name, order in orders.items():
        fixed = f"{_CIRCLE} --tau {tau} --head fixed:solve"
        yield f"{word}{name}", _train(fixed, *plain, order)


def _figure4() -> _Runs:
    yield from _placed(CLOTHES, "0.05", "T-shirt opposite ")


def _bad_start() -> _Runs:
    """The random rows of seed 0 have T-shirt and shirt opposite each other for this class order."""
    for name, more in {"": "", " by SGD": " --optimizer sgd --lr 0.05"}.items():
        order = ("--augment", "none", "--classes-subset", CLOTHES["Sneaker"])
        yield (
            f"learned{name}, alike opposite at the start",
            _train(f"{_CIRCLE} --tau 0.05{more}", *order),
        )


def _b6() -> _Runs:
    yield from _placed(SIX, "0.2", "")


def _figure2() -> _Runs:
    shared = (
        "--data fashion-mnist --images-per-class 600 --image-size 16 --model cnn --width 0.5 -d 3 "
        "--epochs 40 --augment none --measure-every 4"
    )
    for name, tau in TAUS.items():
        yield f"tau {name}", _train(f"{shared} --tau {tau}")


def _hangul(K: int, d: int, some: str = "") -> tuple[str, ...]:
    """Syllables that most of the fonts have, K of them; of all fonts or of `some` folder."""
    size = 16 if K <= 500 else 32
    words = f"--script hangul --classes {K} --image-size {size} -d {d}"
    return _train(words, "--data", f"glyphs:{FONTS}{some}")


def _figure2_hangul() -> _Runs:
    for name, tau in TAUS.items():
        yield f"tau {name}", (*_hangul(500, 10), *f"--tau {tau} --epochs 20".split())


def _figure3() -> _Runs:
    for d in (2, 3, 5, 10, 20, 50):
        yield f"d {d}", (*_hangul(200, d), *"--tau 0.1 --epochs 30 --measure-every 10".split())


def _figure5() -> _Runs:
    for name in ("learned", "cmf", "fixed:solve"):
        more = f"--tau 0.1 --epochs 30 --measure-every 10 --head {name}"
        yield name.removesuffix(":solve"), (*_hangul(200, 10), *more.split())


def _first_fonts() -> tuple[str, ...]:
    """A network that knows the Nanum fonts."""
    return (*_hangul(200, 10, "/nanum"), *"--tau 0.1 --epochs 40 --measure-every 40".split())


def _fine_tuning() -> _Runs:
    """It goes on to the Un fonts, and is tested on them and on the Baekmuk fonts."""
    shared = (
        *_hangul(200, 10, "/unfonts-core"),
        "--ood",
        f"glyphs:{FONTS}/baekmuk",
        "--init-from",
        BEFORE,
        *"--tau 0.1 --epochs 20 --measure-every 5 --optimizer adam".split(),
    )
    for rate in ("0.0003", "0.003"):
        for head in ("learned", "cmf"):
            yield f"{head}, rate {rate}", (*shared, "--head", head, "--lr", rate)


def _b1() -> _Runs:
    shared = f"{' '.join(_hangul(30, 2)[1:])} --width 0.5 --augment none"
    slow = f"{shared} --epochs 1500 --measure-every 100 --optimizer sgd --lr 0.05"
    yield "sphere, tau 1/70", _train(f"{slow} --tau 0.0142857")
    yield "weight decay", _train(f"{slow} --constraint decay --weight-decay 0.005")
    yield "sphere, AdamW, 200 epochs", _train(f"{shared} --tau 0.0142857 --epochs 200")


def _b2() -> _Runs:
    unconstrained = ("solve", *"--d 2 --K 30 --problem ufm".split())
    yield "sphere, tau 0.02", (*unconstrained, "--tau", "0.02")
    yield "weight decay 0.001", (*unconstrained, "--weight-decay", "0.001")


def _b3() -> _Runs:
    for name in ("10", "20", "50"):
        more = f"--tau {1 / int(name):g} --epochs 6 --batch-size 128 --measure-every 1"
        yield f"tau 1/{name}", (*_hangul(2000, 64), *more.split())


def _heads() -> _Runs:
    """Margins are the largest that the best known code of (d, K) can satisfy."""
    for d in (32, 8, 128):
        kinds = {"learned": "--head learned", "fixed": "--head fixed:solve"}
        if d == 32:
            kinds |= {
                "cmf": "--head cmf",
                "CosFace": "--loss cosface",
                "ArcFace": "--loss arcface",
                "fixed, CosFace": "--head fixed:solve --loss cosface",
            }
        for name, more in kinds.items():
            words = f"--width 0.5 --tau 0.05 --epochs 10 --measure-every 5 {more}"
            yield f"d = {d}, {name}", (*_hangul(1000, d), *words.split())


def _b4() -> _Runs:
    for name in ("10", "20", "50"):
        more = f"--tau {1 / int(name):g} --model resnet18 --batch-size 512 --epochs 12"
        machine = "--measure-every 3 --device cuda"
        yield f"tau 1/{name}", (*_hangul(10000, 512), *f"{more} {machine}".split())


_RUNS = {
    "4": _figure4,
    "b2": _b2,
    "b1": _b1,
    "2": _figure2,
    "b6": _b6,
    "5": _figure5,
    "3": _figure3,
    "fine-tuning": _fine_tuning,
    "2-hangul": _figure2_hangul,
    "b3": _b3,
    "heads": _heads,
    "b4": _b4,
}
