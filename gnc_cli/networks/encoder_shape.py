"""What a built-in network is built from: images, features, stem, width and norm."""

from dataclasses import dataclass

__all__ = ["EncoderShape"]


@dataclass(frozen=True)
class EncoderShape:
    """Settings that every built-in network understands."""

    channels: int
    """Channels of the images."""
    feature_dim: int | None
    """Outputs of the last linear layer; None leaves that layer out."""
    stem: str
    """Which stem: "small" or "imagenet"."""
    width: float
    """Factor of the published number of channels."""
    norm: str
    """Which normalisation: "batch", "group" or "none"."""
