#!/usr/bin/env python3
"""Makes digits.onnx: a small network for images of 1 x 28 x 28 in ten classes, untrained. Needs numpy and onnx.

With PyTorch the same is had by torch.onnx.export of such a module, with the batch axis dynamic; names of nodes are then
those of the module's layers, which [[model.blocks]] of train.toml chooses by prefix.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(1)
weights = []


def uniform(name, *shape):
    """Weights as PyTorch draws them: uniform within 1 / sqrt(inputs of an output)."""
    bound = 1 / np.sqrt(np.prod(shape[1:]))
    for suffix, extents in (("weight", shape), ("bias", shape[:1])):
        values = random.uniform(-bound, bound, extents).astype(np.float32)
        weights.append(numpy_helper.from_array(values, f"{name}.{suffix}"))
    return [f"{name}.weight", f"{name}.bias"]


def node(op, name, inputs, **attributes):
    return helper.make_node(op, inputs, [f"{name}.out"], name, **attributes)


nodes = [
    node("Conv", "features/conv1", ["image", *uniform("features.conv1", 8, 1, 5, 5)], kernel_shape=[5, 5]),
    node("Relu", "features/relu1", ["features/conv1.out"]),
    node("MaxPool", "features/pool1", ["features/relu1.out"], kernel_shape=[2, 2], strides=[2, 2]),
    node("Conv", "features/conv2", ["features/pool1.out", *uniform("features.conv2", 16, 8, 5, 5)], kernel_shape=[5, 5]),
    node("Relu", "features/relu2", ["features/conv2.out"]),
    node("MaxPool", "features/pool2", ["features/relu2.out"], kernel_shape=[2, 2], strides=[2, 2]),
    node("Flatten", "classifier/flatten", ["features/pool2.out"]),
    node("Gemm", "classifier/hidden", ["classifier/flatten.out", *uniform("classifier.hidden", 64, 256)], transB=1),
    node("Relu", "classifier/relu", ["classifier/hidden.out"]),
    helper.make_node("Gemm", ["classifier/relu.out", *uniform("classifier.out", 10, 64)], ["scores"], "classifier/out",
                     transB=1),
]
graph = helper.make_graph(nodes, "digits",
                          [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 28, 28])],
                          [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 10])], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "digits.onnx")
