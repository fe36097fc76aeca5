"""The network of a run: encoder, head and loss put together, from seeds or from a checkpoint."""

import os
from typing import TYPE_CHECKING

from gnc_cli.errors import DataError
from gnc_cli.io.run_checkpoints import read_checkpoint
from gnc_cli.io.runs import read_tensors
from gnc_cli.networks.classifier import Classifier
from gnc_cli.networks.encoders import build_encoder, load_backbone
from gnc_cli.networks.head_memory import check_head_fits
from gnc_cli.networks.losses import make_loss
from gnc_cli.networks.parameters import count_parameters
from gnc_cli.results import HeadFacts
from gnc_cli.workflows.train_head import HeadPlan, build_head
from gnc_cli.workflows.train_settings import Settings

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = ["build_network", "head_facts", "load_start"]


def build_network(
    settings: Settings,
    plan: HeadPlan,
    shape: tuple[int, ...],
    device: "torch.device",
    processes: int = 1,
) -> Classifier:
    """A fresh network, its weights from the seed.

    Args:
        settings: of the run.
        plan: of the head.
        shape: of the training images, (N, C, S, S).
        device: where it shall be trained; the head must fit there.
        processes: that share each batch.

    Raises:
        UnavailableError: it does not.
        DataError, UsageError: a model of the user's own that cannot be used.
    """
    check_head_fits(
        plan.d, plan.K, -(-settings.batch_size // processes),
        head="decay" if settings.constraint == "decay" else settings.kind,
        optimizer=settings.optimizer, device=device,
    )  # fmt: skip
    encoder = build_encoder(
        settings.model, channels=shape[1], image_size=shape[-1], feature_dim=plan.d,
        stem=settings.stem, width=settings.width, norm=settings.norm, seed=settings.seed,
    )  # fmt: skip
    head = build_head(settings, plan)
    loss = make_loss(settings.loss, tau=head.tau, margin=plan.margin)
    return Classifier(encoder, head, loss)


def load_start(model: Classifier, settings: Settings) -> list[str]:
    """Take over the encoder of a checkpoint, where one was asked for; the head starts fresh.

    Returns:
        One line for the log: what was not taken.

    Raises:
        DataError: no checkpoint, or one of another network.
    """
    if settings.backbone_weights is not None:
        tensors = read_tensors(settings.backbone_weights)
        if any(name.startswith("training.model.") for name in tensors):
            raise DataError(
                f"--backbone-weights {settings.backbone_weights!r} is a checkpoint of gnc train; "
                "give it to --init-from"
            )
        left = load_backbone(model.encoder, tensors)
        return [f"from {os.path.basename(settings.backbone_weights)}; left out: "
                f"{', '.join(left) or 'nothing'}"]  # fmt: skip
    if settings.init_from is not None:
        left = _take_over(model.encoder, settings.init_from)
        return [f"encoder of {os.path.basename(settings.init_from.rstrip('/'))}; left out: "
                f"{', '.join(left) or 'nothing'}"]  # fmt: skip
    return []


def _take_over(encoder: "nn.Module", path: str) -> list[str]:
    """The encoder of an earlier run; a last layer of another dimension stays fresh."""
    if os.path.isdir(path):
        best = os.path.join(path, "best.pt")
        path = best if os.path.isfile(best) else os.path.join(path, "last.pt")
    state = read_checkpoint(path)
    try:
        stored = state["training"]["model"]
    except (KeyError, TypeError) as error:
        raise DataError(
            f"--init-from {path!r} is no checkpoint of gnc train; for those of others there is "
            "--backbone-weights"
        ) from error
    start = "encoder."
    tensors = {k.removeprefix(start): v for k, v in stored.items() if k.startswith(start)}
    return load_backbone(encoder, tensors)


def head_facts(settings: Settings, plan: HeadPlan, model: Classifier) -> HeadFacts:
    """The classifier in words and numbers."""
    encoder = count_parameters(model.encoder)
    saved = model.head.saved_parameters
    return HeadFacts(
        kind=settings.kind,
        constraint=settings.constraint,
        tau=model.head.tau,
        loss=settings.loss,
        margin=plan.margin,
        beta=settings.beta if settings.kind == "cmf" else None,
        code=plan.code_name,
        assignment=(settings.assignment or "identity") if settings.kind == "fixed" else None,
        permutation=plan.permutation,
        encoder_parameters=encoder,
        head_parameters=plan.K * plan.d,
        trained_parameters=sum(p.numel() for p in model.parameters() if p.requires_grad),
        saved_share=saved / (encoder + plan.K * plan.d),
        margin_source=plan.margin_source,
    )
