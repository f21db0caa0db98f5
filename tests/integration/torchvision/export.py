"""One network of torchvision and inputs for it, as ONNX's backend tests hold them: export.py NAME FOLDER [--exact]

Writes FOLDER/model.onnx and FOLDER/test_data_set_0/input_<i>.pb. Weights are random, from a fixed seed; nothing is
downloaded. They are fitted to a few inputs, layer by layer, so that values neither fade nor grow: the outputs of a
convolution or a matrix product have deviation 1, and a batch normalization has the statistics of what it reads.
Parameters that start as a constant, such as zeros, get random values. Inputs are clouds rather than noise, which
looks the same everywhere after a few layers. With --exact it writes FOLDER/exact.npy instead, the first output in
double precision. Prints a line of JSON: the inputs' shapes and the number of weights.
"""

import json
import os
import sys
import warnings

import numpy
import onnx
import torch
import torchvision
from onnx import numpy_helper
from torch import nn

OPSET = 17
NORMALIZATIONS = (nn.BatchNorm2d, nn.BatchNorm3d, torchvision.ops.FrozenBatchNorm2d)


def input_shapes(name, builder):
    if builder.__module__.endswith("optical_flow.raft"):
        return [(1, 3, 128, 160)] * 2
    if ".video" in builder.__module__:
        if "mvit" in name or name == "s3d":
            return [(1, 3, 16, 224, 224)]
        return [(1, 3, 8, 112, 112)]
    if ".detection" in builder.__module__:
        return [(3, 320, 320)]
    return [(1, 3, 299, 299) if "inception" in name else (1, 3, 224, 224)]


def clouds(shape, count=1):
    """Smooth random values in [-1, 1] at several scales, times `count` along the first axis of a batch."""
    *leading, height, width = shape
    planes = count
    for extent in leading:
        planes *= extent
    total = torch.zeros(1, planes, height, width)
    for cells in (2, 5, 12, 40):
        coarse = torch.rand(1, planes, cells, cells) * 2 - 1
        total += nn.functional.interpolate(coarse, (height, width), mode="bilinear")
    total *= torch.rand(1, planes, 1, 1) + 0.3
    if len(leading) > 1:
        leading[0] *= count
    return (total / 2).clamp(-1, 1).reshape(*leading, height, width)


def build(name, builder):
    options = {}
    if ".detection" in builder.__module__:
        options = {"weights_backbone": None, "box_score_thresh": 0.3}
        if not name.startswith("ssd"):
            options.update(min_size=320, max_size=320)
        if not name.startswith(("faster", "mask", "keypoint")):
            options["score_thresh"] = options.pop("box_score_thresh")
    elif ".segmentation" in builder.__module__:
        options = {"weights_backbone": None}
    elif ".quantization" in builder.__module__:
        options = {"quantize": False}
    return builder(weights=None, **options)


def vary_constants(model):
    """Random values for parameters that all have one value; weights of a normalization stay near it."""
    for parameter in model.parameters():
        low, high = parameter.min(), parameter.max()
        if parameter.numel() == 1 or low != high:
            continue
        if low == 0 and parameter.dim() == 2:
            nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5)
        elif low == 0 or low == 1:
            parameter.add_(0.2 * torch.rand_like(parameter) - 0.1)
        else:  # the small scales of residual branches
            nn.init.uniform_(parameter, 0.2, 0.5)


def fit(model, inputs):
    """One run of the model that scales the weights of each layer by what they make of its input."""
    seen = set()

    def statistics(layer, values):
        if layer in seen:
            return
        seen.add(layer)
        axes = [0, *range(2, values[0].dim())]
        mean = values[0].mean(axes)
        layer.running_mean.copy_(mean)
        # What hardly varies is not blown up.
        layer.running_var.copy_(values[0].var(axes, unbiased=False) + 0.02 * mean.square() + 1e-3)

    def scale(layer, values, result):
        if layer in seen:
            return result
        seen.add(layer)
        factor = 1 / result.std().clamp(min=1e-6)
        layer.weight.mul_(factor)
        if layer.bias is not None:
            layer.bias.mul_(factor)
        return result * factor

    hooks = []
    for layer in model.modules():
        if isinstance(layer, NORMALIZATIONS):
            hooks.append(layer.register_forward_pre_hook(statistics))
        elif type(layer) in (nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d, nn.Linear):
            hooks.append(layer.register_forward_hook(scale))
    model(*inputs)
    for hook in hooks:
        hook.remove()


def quantize(model, inputs):
    """As torchvision's quantize_model, for whichever engine this PyTorch has."""
    engine = next(e for e in ("fbgemm", "onednn", "qnnpack") if e in torch.backends.quantized.supported_engines)
    torch.backends.quantized.engine = engine
    per_channel = engine != "qnnpack"
    model.qconfig = torch.ao.quantization.QConfig(
        activation=torch.ao.quantization.default_observer,
        weight=torch.ao.quantization.default_per_channel_weight_observer
        if per_channel
        else torch.ao.quantization.default_weight_observer,
    )
    model.fuse_model()
    torch.ao.quantization.prepare(model, inplace=True)
    model(*inputs)
    torch.ao.quantization.convert(model, inplace=True)


# PyTorch 1.13 exports no zeroing in place, which version 2 of the Swin transformer has.
torch.onnx.register_custom_op_symbolic("aten::zero", lambda graph, values: graph.op("Sub", values, values), OPSET)


class LastFlow(nn.Module):
    """An optical flow network that gives its last estimate only."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, first, second):
        return self.model(first, second)[-1]


def main(name, folder, exact=None):
    warnings.filterwarnings("ignore")
    torch.manual_seed(1)
    builder = torchvision.models.get_model_builder(name)
    is_detection = ".detection" in builder.__module__
    shapes = input_shapes(name, builder)
    inputs = [clouds(shape) for shape in shapes]
    if is_detection:
        several = [[*inputs, clouds(shapes[0])]]
    else:
        several = [torch.cat([tensor, clouds(tensor.shape, 2)]) for tensor in inputs]
    model = build(name, builder).eval()
    with torch.no_grad():
        vary_constants(model)
        fit(model, several)
        weights = sum(parameter.numel() for parameter in model.parameters())
        if ".quantization" in builder.__module__:
            quantize(model, several)
    if ".optical_flow" in builder.__module__:
        model = LastFlow(model)
    if exact:
        with torch.no_grad():
            result = model.double()(*(tensor.double() for tensor in inputs))
        first = next(iter(result.values())) if isinstance(result, dict) else result
        numpy.save(f"{folder}/exact.npy", first.numpy())
        return
    os.makedirs(f"{folder}/test_data_set_0", exist_ok=True)
    for i, tensor in enumerate(inputs):
        onnx.save_tensor(numpy_helper.from_array(tensor.numpy()), f"{folder}/test_data_set_0/input_{i}.pb")
    arguments = (inputs,) if is_detection else tuple(inputs)
    torch.onnx.export(model, arguments, f"{folder}/model.onnx", opset_version=OPSET)
    print(json.dumps({"inputs": shapes, "weights": weights}))


main(*sys.argv[1:])
