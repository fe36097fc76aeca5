"""What `measure_model` says of ten kinds of networks, beside formulas of a few lines.

    python -m benchmarks.measure.models

Every network is trained for some seconds on ten classes of random images (or of tokens), so that
its accuracy is neither 0 nor 1. Its features are then computed by hand from its layers: accuracy is
a count of largest logits, GNC2 a least-squares problem per class with SciPy's `nnls`. Needs the
extra `trainers`.
"""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import lightning
import numpy as np
import torch
from scipy.optimize import nnls
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel

from benchmarks.report import machine, table, write_section
from gnc_cli import measure_model
from gnc_cli.errors import GncError

N, K, SIDE, STEPS = 600, 10, 8, 25
Batches = list[Any]


class Case(NamedTuple):
    """A trained network and what is true of it."""

    name: str
    model: nn.Module
    loader: Batches
    step: dict[str, Any]
    """Arguments that the plain call asks for; empty where it needs none."""
    written: str
    """The same as a reader writes it."""
    features: Callable[[], Tensor]
    """By hand, (N, d)."""
    labels: Tensor
    weights: Tensor | None
    """(K, d); None where there is no classifier."""
    logits: Callable[[Tensor], Tensor] | None


def images() -> tuple[Tensor, Tensor]:
    """Images (N, 3, SIDE, SIDE) around ten random ones, and labels (N,)."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(N) % K
    centres = torch.randn(K, 3, SIDE, SIDE, generator=generator)
    return centres[labels] + 4.0 * torch.randn(N, 3, SIDE, SIDE, generator=generator), labels


def trained(model: nn.Module, loss: Callable[[], Tensor]) -> None:
    """Some steps of Adam; then eval mode."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    model.eval()


class TimmLike(nn.Module):
    """A residual block, pooling, and timm's nested head with `get_classifier`."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.block = nn.Conv2d(3, 24, 3, padding=1), nn.Conv2d(24, 24, 3, padding=1)
        self.head = nn.Module()
        self.head.fc = nn.Linear(24, K)

    def get_classifier(self) -> nn.Module:
        return self.head.fc

    def forward_features(self, x: Tensor) -> Tensor:
        x = self.stem(x).relu()
        return (x + self.block(x).relu()).mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.head.fc(self.forward_features(x))


class ViTLike(nn.Module):
    """Patches, one encoder layer, a class token and `head`."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 32, 4, stride=4)
        self.token = nn.Parameter(torch.zeros(1, 1, 32))
        self.position = nn.Parameter(0.1 * torch.randn(1, 5, 32))
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, K)

    def forward_features(self, x: Tensor) -> Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], dim=1) + self.position
        return self.norm(self.layer(x))[:, 0]

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.forward_features(x))


class Cosine(nn.Module):
    """Logits 16 cos, of a matrix that is called `prototypes`."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.prototypes = nn.Parameter(torch.randn(K, d))

    def forward(self, x: Tensor) -> Tensor:
        return 16.0 * F.linear(F.normalize(x), F.normalize(self.prototypes))


class ArcFace(nn.Module):
    """An embedding; `margin` owns the classifier, and is called by the loss alone."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE**2, 32), nn.Tanh())
        self.embedding, self.margin = nn.Linear(32, 16), nn.Module()
        self.margin.weight = nn.Parameter(torch.randn(K, 16))

    def forward(self, x: Tensor) -> Tensor:
        return self.embedding(self.encoder(x))

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        cosines = F.linear(F.normalize(self(x)), F.normalize(self.margin.weight))
        angles = cosines.clamp(-0.999, 0.999).arccos() + 0.2 * F.one_hot(y, K)
        return F.cross_entropy(16.0 * angles.cos(), y)


class Lit(lightning.LightningModule):
    """A Lightning module with a network inside."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE**2, 24), nn.ReLU())
        self.out = nn.Linear(24, K)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.network(x))


def cases() -> list[Case]:
    """Ten networks, trained."""
    torch.manual_seed(1)
    x, y = images()
    size = 3 * SIDE**2
    pairs = list(zip(x.split(64), y.split(64), strict=True))
    found = []

    def plain(name: str, model: Any, features: Any, head: Any, loader: Batches = pairs) -> None:
        trained(model, lambda: F.cross_entropy(model(x), y))
        weights = getattr(head, "weight", getattr(head, "prototypes", None))
        found.append(Case(name, model, loader, {}, "", lambda: features(x), y, weights, head))

    mlp = nn.Sequential(nn.Flatten(), nn.Linear(size, 32), nn.Tanh(), nn.Linear(32, K))
    plain("torch: MLP", mlp, mlp[:-1], mlp[-1])
    cnn = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(128, K),
    )
    plain("torch: Sequential CNN", cnn, cnn[:-1], cnn[-1])
    timm, vit = TimmLike(), ViTLike()
    plain(
        "timm-like ResNet, head.fc",
        timm,
        timm.forward_features,
        timm.get_classifier(),
        [{"image": a, "label": b} for a, b in pairs],
    )
    indexed = [(a, b, torch.arange(len(b))) for a, b in pairs]
    plain("ViT-like, batches (x, y, index)", vit, vit.forward_features, vit.head, indexed)

    encoder = nn.Sequential(nn.Flatten(), nn.Linear(size, 32), nn.Tanh(), nn.Linear(32, 16))
    apart = nn.Linear(16, K)
    trained(nn.ModuleList([encoder, apart]), lambda: F.cross_entropy(apart(encoder(x)), y))
    found.append(
        Case(
            "embedding network, no classifier",
            encoder,
            pairs,
            {"weights": "means"},
            "weights='means'",
            lambda: encoder(x),
            y,
            None,
            None,
        )
    )
    body = nn.Sequential(nn.Flatten(), nn.Linear(size, 16))
    cosine = nn.Sequential(body, Cosine(16))
    plain("cosine head, prototypes (K, d)", cosine, body, cosine[1])
    arc = ArcFace()
    trained(arc, lambda: arc.loss(x, y))
    W = arc.margin.weight
    found.append(
        Case(
            "ArcFace, margin.weight",
            arc,
            pairs,
            {"weights": F.normalize(W)},
            "weights=normalize(W)",
            lambda: arc(x),
            y,
            W,
            lambda h: F.linear(F.normalize(h), F.normalize(W)),
        )
    )

    words = torch.randint(K, 30, (N, 6), generator=torch.Generator().manual_seed(2))
    words[:, 2] = torch.where(torch.rand(N) < 0.8, y, words[:, 2])
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    bert = BertForSequenceClassification(
        BertConfig(vocab_size=30, intermediate_size=32, num_labels=K, **sizes)
    )
    trained(bert, lambda: F.cross_entropy(bert(words).logits, y))
    parts = zip(words.split(64), y.split(64), strict=True)
    named = [{"input_ids": a, "labels": b} for a, b in parts]
    found.append(
        Case(
            "transformers: BERT classification",
            bert,
            named,
            {},
            "",
            lambda: bert.bert(words).pooler_output,
            y,
            bert.classifier.weight,
            bert.classifier,
        )
    )
    text = torch.cumsum(torch.randint(1, 3, (120, 12)), dim=1) % 20
    config = GPT2Config(vocab_size=20, n_positions=12, n_embd=32, n_layer=1, n_head=2)
    gpt = GPT2LMHeadModel(config)
    trained(gpt, lambda: gpt(text, labels=text).loss)
    tokens = [{"input_ids": t, "labels": t} for t in text.split(40)]
    found.append(
        Case(
            "transformers: GPT-2, next token",
            gpt,
            tokens,
            {},
            "",
            lambda: gpt.transformer(text).last_hidden_state[:, :-1].flatten(0, 1),
            text[:, 1:].flatten(),
            gpt.lm_head.weight,
            gpt.lm_head,
        )
    )
    lit = Lit()
    plain(
        "lightning: module, {'x', 'y'}",
        lit,
        lit.network,
        lit.out,
        [{"x": a, "y": b} for a, b in pairs],
    )
    return found


def truth(case: Case) -> dict[str, float | None]:
    """Accuracy and GNC2 by formulas: means of unit rows where there is no classifier."""
    with torch.no_grad():
        H, y = case.features().double().numpy(), case.labels.numpy()
        right = None
        if case.logits is not None:
            logits = case.logits(torch.as_tensor(H, dtype=torch.float32))
            right = float((logits.argmax(dim=1) == case.labels).double().mean())
    if case.weights is None:
        units = H / np.linalg.norm(H, axis=1, keepdims=True)
        W = np.array([units[y == k].mean(axis=0) for k in range(K)])
    else:
        W = case.weights.detach().double().numpy()
    W = W / np.linalg.norm(W, axis=1, keepdims=True)
    distances = []
    for k in range(len(W)):
        # The nearest point of the hull: weights >= 0 whose sum, a heavy row, is 1.
        V, heavy = np.delete(W, k, axis=0), 1e5
        A = np.vstack([V.T, np.full(len(V), heavy)])
        a, _ = nnls(A, np.append(W[k], heavy))
        distances.append(np.linalg.norm(W[k] - V.T @ (a / a.sum())))
    return {"accuracy": right, "gnc2": float(min(distances)), "K": float(len(W))}


def printed(case: Case, **step: Any) -> dict[str, Any]:
    """What `measure_model` says."""
    try:
        result = measure_model(case.model, case.loader, **step)
    except GncError as error:
        return {"error": str(error)}
    return {
        "K": result.K,
        "accuracy": result.accuracy,
        "gnc2": result.gnc2.lower,
        "warnings": list(result.warnings),
    }


def cell(row: dict[str, Any]) -> str:
    """K, accuracy and GNC2, or the beginning of an error; whether there was a warning."""
    if "error" in row:
        return f"refused: {row['error'][:60].rsplit(' ', 1)[0]} ..."
    accuracy = "-" if row["accuracy"] is None else f"{row['accuracy']:.4f}"
    warned = ", warning" if any("rows" in w for w in row.get("warnings", ())) else ""
    return f"K = {row['K']:g}, {accuracy}, {row['gnc2']:.6f}{warned}"


def main() -> None:
    """Measure and write the section."""
    logging.disable(logging.WARNING)
    head = ["network", "printed", "after the step it names", "true value"]
    lines = []
    for case in cases():
        step = f"`{case.written}`: {cell(printed(case, **case.step))}" if case.step else "-"
        lines.append(
            [
                case.name,
                cell(printed(case)),
                step,
                cell(truth(case)),
            ]
        )
    text = table(head, lines)
    print(text)
    write_section(
        "models",
        "## Ten kinds of networks: measure_model(model, loader)\n\n"
        f"Machine: {machine()}. Each cell: K, accuracy, GNC2. Each network is trained for "
        f"{STEPS} steps on {N} samples of ten classes; the true value is computed by hand from its "
        f"layers (`benchmarks.measure.models`).\n\n{text}",
    )


if __name__ == "__main__":
    main()
