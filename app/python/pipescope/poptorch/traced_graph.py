"""Prepares a traced graph before PyTorch's exporter makes ONNX of it."""

import contextlib

import torch

from .decomposed.sizes import fold_sizes
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
#: Functions whose results are real numbers, whatever type their arguments have.
_REAL = {f"aten::{name}" for name in (
    "acos acosh asin asinh atan atanh cos cosh erf exp log log10 log1p log2 logsumexp reciprocal rsqrt sigmoid sin sinh sqrt tan "
    "tanh").split()}


def join_types(graph):
    """Cast operands to one type: weights to that of the activations that they meet, as PopTorch does where one is half and the
    other is not, and whole numbers to float32 where the function computes real ones.
    """
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
        if node.kind() in _REAL and type_of(node.output()) in real and type_of(node.inputsAt(0)) not in (*real, None):
            node.replaceInput(0, Editor(graph, node).cast(node.inputsAt(0), type_of(node.output())))
        if node.kind() not in _PRODUCTS:
            continue
        wanted = type_of(node.inputsAt(_FIRST.get(node.kind(), 0)))
        editor = Editor(graph, node)
        for number, value in enumerate(list(node.inputs())):
            if node.kind() == "aten::batch_norm" and number in (3, 4):
                continue  # running statistics
            if wanted in real and type_of(value) in real and type_of(value) != wanted:
                node.replaceInput(number, editor.cast(value, wanted))


def _keep_shapes(made, known):
    """Give ONNX values the shapes of the traced values that they stand for, where the exporter lost them: it cannot export what
    follows otherwise.
    """
    for value, traced in zip(made if isinstance(made, (list, tuple)) else [made], known):
        if not isinstance(value, torch._C.Value) or not {value.type().kind(), traced.type().kind()} == {"TensorType"}:
            continue
        if value.type().sizes() is None and traced.type().sizes() is not None:
            value.setType(value.type().with_sizes(traced.type().sizes()))


class PreparedGraphs:
    """While it is entered, PyTorch's exporter gets graphs without in-place operators and without float64, and keeps their shapes.

    `is_half` says that models compute in half precision, for which PyTorch lacks kernels.
    """

    def __init__(self, is_half):
        self._kernels = HostKernels() if is_half else contextlib.nullcontext()

    def __enter__(self):
        self._trace = torch.onnx.utils._trace_and_get_graph_from_model
        torch.onnx.utils._trace_and_get_graph_from_model = self._prepared
        self._run = torch.onnx._run_symbolic_function
        torch.onnx._run_symbolic_function = self._exported
        return self

    def __exit__(self, *failure):
        torch.onnx.utils._trace_and_get_graph_from_model = self._trace
        torch.onnx._run_symbolic_function = self._run

    def _exported(self, graph, block, node, inputs, *arguments):
        _keep_shapes(inputs, node.inputs())  # PyTorch 2.6 forgets shapes after it exported the operator that made them, too
        made = self._run(graph, block, node, inputs, *arguments)
        _keep_shapes(made, node.outputs())
        return made

    def _prepared(self, model, args):
        with self._kernels:
            graph, outputs = self._trace(model, args)
            functionalise(graph)
            expand_indices(graph)
        fold_sizes(graph)
        narrow_doubles(graph)
        join_types(graph)
        graph.setInsertPoint(graph.block())  # at the end, as it was
        return graph, outputs
