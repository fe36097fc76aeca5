"""Pictures brought to another size or number of channels: a data set beside another one."""

import numpy as np

from gnc_cli.io.images.image_set import Pictures

__all__ = ["FittedImages", "fitted"]

_BLOCK = 1024
_LUMA = np.array([19595, 38470, 7471])
"""Red, green and blue in 65536ths of their luminance (ITU-R BT.601), as Pillow weighs them."""


def fitted(images: Pictures, channels: int, size: int) -> Pictures:
    """The same pictures with so many channels and pixels; those in memory stay there.

    Args:
        images: (N, C, S, S).
        channels: 1 or 3; colours become their luminance, greys all three colours.
        size: pixels a side, resized with antialiasing.
    """
    if images.shape[1:] == (channels, size, size):
        return images
    view = FittedImages(images, channels, size)
    if not isinstance(images, np.ndarray):
        return view
    whole = np.empty(view.shape, np.uint8)
    for start in range(0, len(images), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(images)))
        whole[rows] = view[rows]
    return whole


class FittedImages:
    """`Pictures` that are fitted when asked for; arguments as those of `fitted`."""

    def __init__(self, images: Pictures, channels: int, size: int) -> None:
        self._images = images
        self.shape = (len(images), channels, size, size)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray:
        """uint8 (n, C, S, S)."""
        pictures = self._images[rows]
        _, channels, size, _ = self.shape
        if channels == 1 and pictures.shape[1] == 3:
            grey = np.tensordot(pictures.astype(np.int64), _LUMA, axes=(1, 0))
            pictures = ((grey + 0x8000) >> 16).astype(np.uint8)[:, None]
        if pictures.shape[2] != size:
            pictures = _resized(pictures, size)
        if channels == 3 and pictures.shape[1] == 1:
            pictures = np.repeat(pictures, 3, axis=1)
        return pictures


def _resized(pictures: np.ndarray, size: int) -> np.ndarray:
    from PIL import Image

    count, channels = pictures.shape[:2]
    planes = np.empty((count * channels, size, size), np.uint8)
    for target, plane in zip(planes, pictures.reshape(-1, *pictures.shape[2:]), strict=True):
        image = Image.fromarray(np.ascontiguousarray(plane))
        target[:] = np.asarray(image.resize((size, size), Image.Resampling.BILINEAR))
    return planes.reshape(count, channels, size, size)
