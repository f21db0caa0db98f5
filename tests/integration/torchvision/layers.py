"""Quantized networks, one layer at a time.

A value next to the middle between two integers may be rounded to either, after sums in another order; the layers
behind enlarge that. So what is compared is each quantized value, given that all before it are the same.
"""

import onnx
from onnx import TensorProto, helper


def quantized_values(graph):
    return [node.output[0] for node in graph.node if node.op_type == "QuantizeLinear"]


def apart(model, shapes):
    """The network cut at its quantized values: each, of these shapes, is an input, and an output named NAME_made."""
    cut = onnx.ModelProto()
    cut.CopyFrom(model)
    constants = {tensor.name: tensor.data_type for tensor in cut.graph.initializer}
    for node in cut.graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = node.attribute[0].t.data_type
    for node in cut.graph.node:
        if node.op_type != "QuantizeLinear":
            continue
        name = node.output[0]
        node.output[0] = f"{name}_made"
        stored = constants[node.input[2]] if len(node.input) > 2 else TensorProto.UINT8
        cut.graph.output.append(helper.make_tensor_value_info(f"{name}_made", stored, shapes[name]))
        cut.graph.input.append(helper.make_tensor_value_info(name, stored, shapes[name]))
    return cut
