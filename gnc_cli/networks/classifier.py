"""A network that classifies: an encoder, a head on its features, and the loss it is trained on."""

from torch import Tensor, nn

from gnc_cli.errors import UsageError
from gnc_cli.networks.head import Head
from gnc_cli.networks.losses import Loss
from gnc_cli.networks.unit_rows import widened

__all__ = ["Classifier"]


class Classifier(nn.Module):
    """Images and labels in, losses and right answers out: one module to wrap, save and train.

    The encoder runs under the caller's autocast; head and loss in float32.

    Example:
        >>> import torch
        >>> from gnc_cli.networks.heads import SphereHead
        >>> from gnc_cli.networks.losses import make_loss
        >>> model = Classifier(nn.Linear(8, 3), SphereHead(3, 5), make_loss("ce", tau=0.1))
        >>> losses, right = model(torch.ones(4, 8), torch.tensor([0, 1, 2, 3]))
        >>> losses.shape, right.dtype
        (torch.Size([4]), torch.bool)
    """

    def __init__(self, encoder: nn.Module, head: Head, loss: Loss) -> None:
        """Put the three together.

        Args:
            encoder: images to raw features (N, d).
            head: of the same d.
            loss: of the head's scores, made with the head's tau (`losses.make_loss`).

        Raises:
            UsageError: encoder and head disagree about d, or the loss adds a margin to scores that
                are no cosines.
        """
        d = getattr(encoder, "feature_dim", head.d)
        if d != head.d:
            raise UsageError(f"the encoder gives features of d={d}, the head takes d={head.d}")
        margin = getattr(loss, "margin", None)
        if margin is not None and not head.sphere:
            raise UsageError(
                f"margin {margin} is for cosines; take a head on the sphere, or the loss ce"
            )
        super().__init__()
        self.encoder, self.head, self.loss = encoder, head, loss

    def features(self, images: Tensor) -> Tensor:
        """Raw features, (N, d) float32."""
        return widened(self.encoder(images))

    def forward(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Losses (N,) float32 and which answers are right (N,) bool, of labels (N,) int64.

        In training mode the head absorbs the batch first (`ClassMeanHead`).
        """
        features = self.features(images)
        if self.training:
            self.head.absorb(features, labels)
        scores = self.head.scores(features)
        right = scores.detach().max(dim=1).indices == labels  # half the time of argmax on a CPU
        return self.loss(scores, labels), right
