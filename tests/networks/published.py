"""Names and shapes of torchvision's networks, written down from the architectures' own tables.

Table 1 of He et al. 2015, of Xie et al. 2016 and of Huang et al. 2016. The names are those of
torchvision's published checkpoints.
"""

from collections.abc import Iterator

__all__ = ["densenet121", "resnet"]

Shapes = dict[str, tuple[int, ...]]


def _norm(name: str, channels: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    for entry in ("weight", "bias", "running_mean", "running_var"):
        yield f"{name}.{entry}", (channels,)
    yield f"{name}.num_batches_tracked", ()


def _linear(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def resnet(model: str, outputs: int) -> Shapes:
    """resnet18, resnet50 or resnext50 with the ImageNet stem for colour images."""
    blocks = [2, 2, 2, 2] if model == "resnet18" else [3, 4, 6, 3]
    shapes: Shapes = {"conv1.weight": (64, 3, 7, 7), **dict(_norm("bn1", 64))}
    inputs = 64
    for layer, width in enumerate([64, 128, 256, 512], 1):
        for block in range(blocks[layer - 1]):
            if model == "resnet18":
                convs = [(width, inputs, 3), (width, width, 3)]
            elif model == "resnet50":
                convs = [(width, inputs, 1), (width, width, 3), (4 * width, width, 1)]
            else:
                inner = 2 * width
                convs = [(inner, inputs, 1), (inner, inner // 32, 3), (4 * width, inner, 1)]
            name = f"layer{layer}.{block}"
            for number, (out, into, kernel) in enumerate(convs, 1):
                shapes[f"{name}.conv{number}.weight"] = (out, into, kernel, kernel)
                shapes.update(_norm(f"{name}.bn{number}", out))
            if inputs != out or (block == 0 and layer > 1):
                shapes[f"{name}.downsample.0.weight"] = (out, inputs, 1, 1)
                shapes.update(_norm(f"{name}.downsample.1", out))
            inputs = out
    return {**shapes, **_linear("fc", inputs, outputs)}


def densenet121(outputs: int) -> Shapes:
    """With the ImageNet stem for colour images."""
    shapes: Shapes = {"features.conv0.weight": (64, 3, 7, 7), **dict(_norm("features.norm0", 64))}
    # Channels that enter each block, by the paper's table: 64, then half of what left the last.
    for block, (inputs, layers) in enumerate([(64, 6), (128, 12), (256, 24), (512, 16)], 1):
        for layer in range(layers):
            name = f"features.denseblock{block}.denselayer{layer + 1}"
            channels = inputs + 32 * layer
            shapes.update(_norm(f"{name}.norm1", channels))
            shapes[f"{name}.conv1.weight"] = (128, channels, 1, 1)
            shapes.update(_norm(f"{name}.norm2", 128))
            shapes[f"{name}.conv2.weight"] = (32, 128, 3, 3)
        if block < 4:
            channels = inputs + 32 * layers
            shapes.update(_norm(f"features.transition{block}.norm", channels))
            shapes[f"features.transition{block}.conv.weight"] = (channels // 2, channels, 1, 1)
    return {**shapes, **dict(_norm("features.norm5", 1024)), **_linear("classifier", 1024, outputs)}
