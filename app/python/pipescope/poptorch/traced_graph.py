"""Prepares a traced graph before PyTorch's exporter makes ONNX of it."""

import contextlib

import torch

from .decomposed.writing import expand_indices
from .functional_graph import Editor, functionalise, type_of
from .host_kernels import HostKernels
from .log import logger

_DOUBLE, _FLOAT = 7, 6  # PyTorch's numbers of types


def _type_arguments(node):
    """Return the positions of the arguments that are types."""
    text = node.schema().partition("(")[2]
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += letter in "(["
        if letter == ")" and depth == 0 or letter == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
            if letter == ")":
                break
        depth -= letter in ")]"
    return [number for number, each in enumerate(part for part in parts if part != "*") if each.startswith("ScalarType")]


def _as_float(value):
    if type_of(value) == torch.float64:
        value.setType(value.type().with_dtype(torch.float32))
        return True
    return False


def _narrow_constant(graph, node):
    tensor = node.output().toIValue()
    if not isinstance(tensor, torch.Tensor) or tensor.dtype != torch.float64 or tensor.dim() == 0:
        return False  # one without axes is a number of the program, which has no type of its own
    graph.setInsertPoint(node)
    made = graph.insertConstant(tensor.float())
    made.node().copyMetadata(node)
    node.output().replaceAllUsesWith(made)
    return True


def narrow_doubles(graph):
    """Make float32 of everything that is float64, as PopTorch does, and say so once."""
    found = any([_as_float(value) for value in graph.inputs()])
    for node in list(graph.nodes()):
        if node.kind() == "prim::Constant":
            found = _narrow_constant(graph, node) or found
            continue
        for number in _type_arguments(node) if node.kind().startswith("aten::") else ():
            argument = node.inputsAt(number)
            if argument.node().kind() == "prim::Constant" and argument.toIValue() == _DOUBLE:
                graph.setInsertPoint(node)
                node.replaceInput(number, graph.insertConstant(_FLOAT))
                found = True
        for value in node.outputs():
            if not (node.kind() == "prim::Constant" or value.type().kind() != "TensorType"):
                found = _as_float(value) or found
    if found:
        logger.warning("The model computes in float64, which the devices lack: it is narrowed to float32.")


#: Operators whose factors have one type on the devices: that of the activations, which come first.
_PRODUCTS = {f"aten::{name}" for name in "_convolution linear matmul mm bmm mv addmm baddbmm addmv prelu batch_norm".split()}
#: Sums and products of truth values are truth values.
_OF_TRUTH_VALUES = {"aten::add": "aten::logical_or", "aten::mul": "aten::logical_and"}
_FIRST = {"aten::addmm": 1, "aten::baddbmm": 1, "aten::addmv": 1}
#: Operators in which a number without axes, such as the root of a shape, takes the type of the other operand.
_ARITHMETIC = {f"aten::{name}" for name in "add sub rsub mul div pow".split()}


def join_types(graph):
    """Cast weights to the type of the activations that they meet, as PopTorch does where one is half and the other is not."""
    real = (torch.float16, torch.float32)
    for node in list(graph.nodes()):
        if node.kind() in _OF_TRUTH_VALUES and type_of(node.output()) == torch.bool:
            made = Editor(graph, node).op(_OF_TRUTH_VALUES[node.kind()], list(node.inputs())[:2], node.output())
            node.output().replaceAllUsesWith(made)
        if node.kind() in _ARITHMETIC and type_of(node.output()) in real:
            made, editor = type_of(node.output()), Editor(graph, node)
            for number, value in enumerate(list(node.inputs())[:2]):
                if type_of(value) in real and type_of(value) != made and value.type().dim() == 0:
                    node.replaceInput(number, editor.cast(value, made))
        if node.kind() not in _PRODUCTS:
            continue
        wanted = type_of(node.inputsAt(_FIRST.get(node.kind(), 0)))
        editor = Editor(graph, node)
        for number, value in enumerate(list(node.inputs())):
            if node.kind() == "aten::batch_norm" and number in (3, 4):
                continue  # running statistics
            if wanted in real and type_of(value) in real and type_of(value) != wanted:
                node.replaceInput(number, editor.cast(value, wanted))


class PreparedGraphs:
    """While it is entered, PyTorch's exporter gets graphs without in-place operators and without float64.

    `is_half` says that models compute in half precision, for which PyTorch lacks kernels.
    """

    def __init__(self, is_half):
        self._kernels = HostKernels() if is_half else contextlib.nullcontext()

    def __enter__(self):
        self._trace = torch.onnx.utils._trace_and_get_graph_from_model
        torch.onnx.utils._trace_and_get_graph_from_model = self._prepared
        return self

    def __exit__(self, *failure):
        torch.onnx.utils._trace_and_get_graph_from_model = self._trace

    def _prepared(self, model, args):
        with self._kernels:
            graph, outputs = self._trace(model, args)
            functionalise(graph)
            expand_indices(graph)
        narrow_doubles(graph)
        join_types(graph)
        graph.setInsertPoint(graph.block())  # at the end, as it was
        return graph, outputs
