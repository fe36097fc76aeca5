"""How similar the classes are: from a file, or from the class means of a short learned run."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.readers import read_points
from gnc_cli.networks.assignment import class_similarity
from gnc_cli.numerics.threads import limit_threads
from gnc_cli.workflows.train_head import HeadPlan, feature_dim_of
from gnc_cli.workflows.train_run import Run
from gnc_cli.workflows.train_session import open_session
from gnc_cli.workflows.train_settings import Settings
from gnc_cli.workflows.train_together import of_first

if TYPE_CHECKING:
    import torch

    from gnc_cli.io.images.image_set import ImageData
    from gnc_cli.numerics.deadline import Deadline
    from gnc_cli.numerics.distributed import Processes

__all__ = ["learned_similarity", "read_similarity"]

_SHARE = 5
"""The short run takes one epoch for so many of the long one."""


def read_similarity(path: str, K: int) -> np.ndarray:
    """A symmetric matrix (K, K) from any file gnc reads.

    Raises:
        DataError: unreadable, of another shape, or not symmetric.
    """
    matrix = read_points(path).weights
    if matrix.shape != (K, K) or not np.allclose(matrix, matrix.T, atol=1e-6):
        raise DataError(
            f"--similarity {path!r} holds a matrix {matrix.shape}; give a symmetric one of "
            f"({K}, {K})"
        )
    return matrix


def learned_similarity(
    settings: Settings,
    data: "ImageData",
    processes: "Processes",
    device: "torch.device",
    deadline: "Deadline",
    threads: int | None,
) -> np.ndarray:
    """Cosines of the class means, (K, K), of a short run with a learned classifier.

    The same network, data and recipe with a fifth of the epochs, and cross-entropy, which needs no
    margin; nothing is written.

    Raises:
        DataError: stopped before its end: its classes would be placed for good by half a run.
    """
    K = len(data.class_names)
    short = dataclasses.replace(
        settings, head="learned", loss="ce", margin=None, assignment=None, similarity=None,
        ood=None, epochs=max(1, settings.epochs // _SHARE), snapshot_every=None,
        warmup=settings.warmup / _SHARE,
        milestones=tuple(dict.fromkeys(max(1, m // _SHARE) for m in settings.milestones)),
    )  # fmt: skip
    d = of_first(processes, lambda: feature_dim_of(settings, K))
    plan = HeadPlan(d, K, None, None, None, None)
    session = open_session(short, plan, data, None, processes, device)
    with limit_threads(session.threads(threads)):
        ending = Run(session, None, "", processes, deadline).to_the_end()
    if ending.outcome != "completed":
        raise DataError(
            f"--assignment {settings.assignment}: the short run that finds similar classes was "
            "stopped before its end, and nothing is written; allow more time, or give --similarity"
        )
    means, _ = session.measuring.class_means()
    return class_similarity(means)
