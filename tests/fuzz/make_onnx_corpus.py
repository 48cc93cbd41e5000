#!/usr/bin/env python3
"""Makes the seeds of corpus/onnx, each for one special case: make_onnx_corpus.py FOLDER (python3-onnx)."""
import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, type_=F, shape=(2, 3)):
    return helper.make_tensor_value_info(name, type_, shape)


def model(nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def tensor(name, array):
    return numpy_helper.from_array(np.array(array), name)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name="n_" + op, **attributes)


def body(nodes, inputs, outputs):
    return helper.make_graph(nodes, "body", inputs, outputs)


def seeds():
    x, y = value("x"), value("y", F, None)
    yield "relu", model([node("Relu", ["x"], ["y"])], [x], [y])
    yield "dense", model([node("Gemm", ["x", "w", "b"], ["s"]), node("Softmax", ["s"], ["y"])], [x], [y],
                         [tensor("w", np.ones((3, 2), np.float32)), tensor("b", np.zeros(2, np.float32))])
    yield "conv", model([node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), node("MaxPool", ["c"], ["y"], kernel_shape=[2, 2])],
                        [value("x", F, (1, 1, 4, 4))], [y], [tensor("w", np.ones((1, 1, 3, 3), np.float32))])
    yield "conv_absurd", model([node("Conv", ["x", "w"], ["y"], pads=[2**62] * 4, strides=[-1, 0], dilations=[2**40] * 2, group=-3)],
                               [value("x", F, (1, 1, 4, 4))], [y], [tensor("w", np.ones((1, 1, 3, 3), np.float32))])
    yield "pool_absurd", model([node("AveragePool", ["x"], ["y"], kernel_shape=[2**62, 0], strides=[0, 0])],
                               [value("x", F, (1, 1, 4, 4))], [y])
    yield "cycle", model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"])], [x], [value("b")])
    yield "missing_input", model([node("Add", ["x", "ghost"], ["y"])], [x], [y])
    yield "giant_input", model([node("Relu", ["x"], ["y"])], [value("x", F, (2**40, 2**40))], [y])
    yield "giant_fill", model([node("ConstantOfShape", ["s"], ["y"])], [], [y], [tensor("s", [2**31, 2**31, 2**31])])
    yield "negative_fill", model([node("ConstantOfShape", ["s"], ["y"])], [], [y], [tensor("s", [-5, 3])])
    yield "expand_giant", model([node("Expand", ["x", "s"], ["y"])], [x], [y], [tensor("s", [2**30, 2**30, 2, 3])])
    yield "tile_giant", model([node("Tile", ["x", "s"], ["y"])], [x], [y], [tensor("s", [2**62, 4])])
    yield "range_giant", model([node("Range", ["a", "b", "c"], ["y"])], [], [value("y", I, None)],
                               [tensor("a", np.int64(0)), tensor("b", np.int64(2**62)), tensor("c", np.int64(1))])
    yield "range_zero_step", model([node("Range", ["a", "b", "c"], ["y"])], [], [value("y", I, None)],
                                   [tensor("a", np.int64(0)), tensor("b", np.int64(9)), tensor("c", np.int64(0))])
    yield "pad_giant", model([node("Pad", ["x", "p"], ["y"])], [x], [y], [tensor("p", [2**61] * 4)])
    yield "pad_negative", model([node("Pad", ["x", "p"], ["y"])], [x], [y], [tensor("p", [-9, -9, -9, -9])])
    yield "slice_extremes", model([node("Slice", ["x", "a", "b", "c", "d"], ["y"])], [x], [y],
                                  [tensor("a", [-2**63, 5]), tensor("b", [2**63 - 1, -2**63]), tensor("c", [0, 1]), tensor("d", [2**63 - 1, -2**63])])
    yield "gather_outside", model([node("Gather", ["x", "i"], ["y"])], [x], [y], [tensor("i", [7, -9])])
    yield "scatter_outside", model([node("ScatterElements", ["x", "i", "u"], ["y"])], [x], [y],
                                   [tensor("i", [[9, -9, 0]]), tensor("u", np.ones((1, 3), np.float32))])
    yield "reshape_absurd", model([node("Reshape", ["x", "s"], ["y"])], [x], [y], [tensor("s", [-1, -1, 0])])
    yield "transpose_absurd", model([node("Transpose", ["x"], ["y"], perm=[1, 1])], [x], [y])
    yield "split_absurd", model([node("Split", ["x", "s"], ["y", "z"], axis=-7)], [x], [y], [tensor("s", [-1, 4])])
    yield "topk_absurd", model([node("TopK", ["x", "k"], ["y", "z"])], [x], [y], [tensor("k", [2**40])])
    yield "onehot_giant", model([node("OneHot", ["i", "d", "v"], ["y"])], [value("i", I, (2,))], [y],
                                [tensor("d", np.int64(2**60)), tensor("v", np.array([0, 1], np.float32))])
    yield "resize_giant", model([node("Resize", ["x", "", "s"], ["y"])], [value("x", F, (1, 1, 2, 2))], [y],
                                [tensor("s", np.array([1, 1, 1e9, 1e9], np.float32))])
    yield "resize_nan", model([node("Resize", ["x", "", "s"], ["y"])], [value("x", F, (1, 1, 2, 2))], [y],
                              [tensor("s", np.array([1, 1, np.nan, -1], np.float32))])
    yield "einsum_absurd", model([node("Einsum", ["x"], ["y"], equation="ij...->,->")], [x], [y])
    yield "lstm", model([node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2)], [value("x", F, (3, 1, 2))], [y],
                        [tensor("w", np.ones((1, 8, 2), np.float32)), tensor("r", np.ones((1, 8, 2), np.float32))])
    yield "lstm_absurd", model([node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2**40)], [value("x", F, (3, 1, 2))], [y],
                               [tensor("w", np.ones((1, 8, 2), np.float32)), tensor("r", np.ones((1, 8, 2), np.float32))])
    recurrent = [tensor("w", np.ones((1, 8, 2), np.float32)), tensor("r", np.ones((1, 8, 2), np.float32))]
    yield "lstm_coupled", model([node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2, clip=0.5, input_forget=1)],
                                [value("x", F, (3, 2, 2))], [y], recurrent)
    yield "gru_both", model([node("GRU", ["x", "w", "r", "", "l"], ["y"], direction="bidirectional", linear_before_reset=1,
                                  clip=1e-30)], [value("x", F, (3, 2, 2))], [y],
                            [tensor("w", np.ones((2, 6, 2), np.float32)), tensor("r", np.ones((2, 6, 2), np.float32)),
                             tensor("l", np.array([2, 0], np.int32))])
    yield "rnn_activation", model([node("RNN", ["x", "w", "r"], ["y"], activations=["Elu"], activation_alpha=[float("nan")])],
                                  [value("x", F, (3, 2, 2))], [y],
                                  [tensor("w", np.ones((1, 2, 2), np.float32)), tensor("r", np.ones((1, 2, 2), np.float32))])
    yield "resize_wide", model([node("Resize", ["x", "", "", "s"], ["y"], mode="linear")], [x], [y],
                               [tensor("s", [0, 2**24])])
    yield "window_giant", model([node("HannWindow", ["n"], ["y"])], [], [y], [tensor("n", np.int64(2**40))])
    yield "neg_unsigned", model([node("Neg", ["x"], ["y"])], [value("x", TensorProto.UINT8)], [value("y", TensorProto.UINT8, None)])
    yield "own_loss", model([node("Mul", ["x", "w"], ["y"]), node("ReduceMean", ["y"], ["l"], keepdims=0)], [x],
                            [value("l", F, ()), y], [tensor("w", np.ones(3, np.float32))])
    yield "quantize", model([node("QuantizeLinear", ["x", "s"], ["q"]), node("DequantizeLinear", ["q", "s"], ["y"])], [x], [y],
                            [tensor("s", np.float32(0))])
    yield "nms", model([node("NonMaxSuppression", ["b", "s", "m"], ["y"])],
                       [value("b", F, (1, 3, 4)), value("s", F, (1, 1, 3))], [value("y", I, None)], [tensor("m", [2**62])])
    yield "batch_norm", model([node("BatchNormalization", ["x", "s", "s", "s", "s"], ["y", "m", "v"], training_mode=1)], [x],
                              [y], [tensor("s", np.ones(3, np.float32))])
    yield "dropout_old", model([node("Dropout", ["x"], ["y", "m"], ratio=0.5)], [x], [y], opset=9)
    yield "softmax_old", model([node("Softmax", ["x"], ["y"], axis=-5)], [x], [y], opset=11)
    yield "loss", model([node("SoftmaxCrossEntropyLoss", ["x", "t"], ["y"])], [x, value("t", I, (2,))], [value("y", F, ())])
    one = helper.make_tensor("t", B, (), [1])
    then = body([node("Relu", ["x"], ["t"])], [], [value("t")])
    other = body([node("Neg", ["x"], ["e"])], [], [value("e")])
    yield "branch", model([node("If", ["c"], ["y"], then_branch=then, else_branch=other)], [value("c", B, ()), x], [y])
    loop = body([node("Add", ["v", "x"], ["w"])], [value("i", I, ()), value("c", B, ()), value("v")],
                [value("c", B, ()), value("w"), value("w")])
    yield "loop_endless", model([node("Loop", ["", "", "x"], ["y", "s"], body=loop)], [x], [y])
    yield "loop_long", model([node("Loop", ["m", "", "x"], ["y", "s"], body=loop)], [x], [y], [tensor("m", np.int64(2**62))])
    drawing = body([node("RandomNormalLike", ["v"], ["w"])], [value("i", I, ()), value("c", B, ()), value("v")],
                   [value("c", B, ()), value("w"), value("w")])
    yield "loop_random", model([node("Loop", ["m", "", "x"], ["y", "s"], body=drawing)], [x], [y], [tensor("m", np.int64(3))])
    scan = body([node("Add", ["a", "r"], ["b"])], [value("a", F, (3,)), value("r", F, (3,))], [value("b", F, (3,)), value("b", F, (3,))])
    yield "scan", model([node("Scan", ["z", "x"], ["y", "s"], body=scan, num_scan_inputs=1)], [x], [y],
                        [tensor("z", np.zeros(3, np.float32))])
    yield "scan_absurd", model([node("Scan", ["z", "x"], ["y", "s"], body=scan, num_scan_inputs=1, scan_input_axes=[2**60],
                                     scan_output_directions=[9])], [x], [y], [tensor("z", np.zeros(3, np.float32))])
    yield "scan_lists", model([node("Scan", ["z", "x"], ["y", "s"], body=scan, num_scan_inputs=1, scan_input_axes=[0, 0],
                                    scan_output_axes=[])], [x], [y], [tensor("z", np.zeros(3, np.float32))])
    nested = body([node("Relu", ["x"], ["t0"])], [], [value("t0")])
    for depth in range(1, 12):
        nested = body([node("If", ["c"], [f"t{depth}"], then_branch=nested, else_branch=nested)], [], [value(f"t{depth}")]) \
            if depth < 4 else body([node("If", ["c"], [f"t{depth}"], then_branch=nested)], [], [value(f"t{depth}")])
    yield "nested", model([node("If", ["c"], ["y"], then_branch=nested)], [x], [y], [one.__class__.FromString(
        helper.make_tensor("c", B, (), [1]).SerializeToString())])
    external = helper.make_tensor("w", F, (3,), [0, 0, 0])
    external.ClearField("float_data")
    external.data_location = TensorProto.EXTERNAL
    entry = external.external_data.add()
    entry.key, entry.value = "location", "../../../../../../etc/passwd"
    yield "external_escape", model([node("Add", ["x", "w"], ["y"])], [x], [y], [external])
    short = tensor("w", np.ones(3, np.float32))
    short.dims[0] = 2**50
    yield "initializer_giant", model([node("Add", ["x", "w"], ["y"])], [x], [y], [short])


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, made in seeds():
        made.producer_name = ""
        with open(os.path.join(folder, name + ".onnx"), "wb") as file:
            file.write(made.SerializeToString())


main()
