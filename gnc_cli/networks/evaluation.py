"""What a network makes of images: features in eval mode, in order, batch by batch."""

from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gnc_cli.networks.device_images import DeviceImages, Pictures
from gnc_cli.networks.modes import in_eval_mode
from gnc_cli.networks.precision import autocast

if TYPE_CHECKING:
    from gnc_cli.networks.classifier import Classifier
    from gnc_cli.networks.normalisation import Normalisation

__all__ = ["evaluate"]


def evaluate(
    model: "Classifier",
    images: Pictures | DeviceImages,
    *,
    normalisation: "Normalisation",
    device: torch.device,
    batch_size: int,
    precision: str = "float32",
    channels_last: bool = False,
    rows: range | None = None,
) -> Generator[tuple[Tensor, slice], None, None]:
    """Features of every image, or of some rows, no sample left out.

    The network is in eval mode until the last batch was taken or the iterator is closed; then each
    of its modules is as it was before. Memory is that of one batch.

    Args:
        model: on the device.
        images: uint8 (N, C, S, S); those that live on the device already are not moved again.
        rows: consecutive rows, such as one process's share; None for all.

    Yields:
        Raw features, float32 (n, d), on the device, and their rows.
    """
    rows = range(len(images)) if rows is None else rows
    if not isinstance(images, DeviceImages):
        images = DeviceImages(images, device, resident_bytes=0)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    batches = [
        slice(first, min(first + batch_size, rows.stop))
        for first in range(rows.start, rows.stop, batch_size)
    ]
    places = (torch.arange(batch.start, batch.stop) for batch in batches)
    with in_eval_mode(model), closing(images.stream(places)) as stream:
        for batch, pixels in zip(batches, stream, strict=True):
            # Not around the yield: whoever takes the batch is in no mode of ours.
            with torch.inference_mode(), autocast(precision, device):
                inputs = normalisation.apply(pixels).contiguous(memory_format=layout)
                features = model.features(inputs)
            yield features, batch
