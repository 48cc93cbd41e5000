"""Replaces functions of PyTorch that its ONNX exporter refuses or exports wrongly while a model is traced.

The functions in their places stand in the other files of this folder, each under the functions that it replaces (rules.py).
"""

import os
import sys
import warnings

import torch
import torch.utils.checkpoint
from torch.onnx import symbolic_helper as helper
from torch.onnx.symbolic_opset9 import _convolution as convolution_of_onnx
from torch.onnx.symbolic_opset14 import batch_norm as batch_norm_of_onnx
from torch.overrides import TorchFunctionMode

from ..functional_graph import type_of
from ..stand_ins import untraced
# These register their functions.
from . import arithmetic, functions, indexing, layers, losses, outputs, random, reductions, writing  # noqa: F401
from .sizes import asks_for_size
from .symbols import SYMBOLS

OPSET = 16  # opset of the exported models
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _tracing():
    return torch._C._get_tracing_state() is not None


def _detach_symbol(graph, x):
    return graph.op("pipescope::StopGradient", x).setType(x.type())


def _batch_norm(graph, *args):
    """PyTorch's running variance is that of a sample, ONNX's that of a population, so the operator is one of Pipescope.

    Statistics that the norm does not move are read through StopGradient. Otherwise they would be settings of the operator, and
    other values that the module gets after it was compiled would not reach the devices.
    """
    x, weight, bias, mean, variance, moves, *settings = args
    if not helper._get_const(moves, "i", "training") and not helper._is_none(mean):
        mean, variance = (_detach_symbol(graph, each) for each in (mean, variance))
    y = batch_norm_of_onnx(graph, x, weight, bias, mean, variance, moves, *settings)
    node = y.node()
    if node.kind() != "onnx::BatchNormalization" or not node.hasAttribute("training_mode") or not node.i("training_mode"):
        return y
    outputs = graph.op("pipescope::BatchNormalization", *node.inputs(), epsilon_f=node.f("epsilon"),
                       momentum_f=node.f("momentum"), training_mode_i=1, unbiased_i=1, outputs=node.outputsSize())
    for made, old in zip(outputs, node.outputs()):
        made.setType(old.type())
    return outputs[0]


def _convolution(graph, x, weight, *args):
    """The exporter forgets the shapes of what comes from operators that are not ONNX's, and needs that of a weight."""
    shape = weight.node().inputsAt(1).node() if weight.node().kind() == "onnx::Reshape" else None
    if shape is not None and shape.kind() == "onnx::Constant":
        weight.setType(weight.type().with_sizes(shape.t("value").tolist()))
    return convolution_of_onnx(graph, x, weight, *args)


@helper.parse_args("v", "is", "v", "v", "f", "b")
def _layer_norm(graph, x, shape, weight, bias, epsilon, _):
    """Newer exporters compute this norm of half precision in float64, which no device has. These are the operators of older ones."""
    axes, kind = list(range(-len(shape), 0)), type_of(x)

    def number(value):
        return graph.op("Constant", value_t=torch.tensor(value, dtype=kind))

    centred = graph.op("Sub", x, graph.op("ReduceMean", x, axes_i=axes))
    variance = graph.op("ReduceMean", graph.op("Pow", centred, number(2.0)), axes_i=axes)
    y = graph.op("Div", centred, graph.op("Sqrt", graph.op("Add", variance, number(epsilon))))
    if not helper._is_none(weight):
        y = graph.op("Mul", y, weight)
    return y if helper._is_none(bias) else graph.op("Add", y, bias)


def _detached(value):
    """The same value, nested or not, without the gradients of its tensors."""
    if isinstance(value, torch.Tensor):
        return value.detach() if value.requires_grad and value.is_floating_point() else value
    return type(value)(map(_detached, value)) if type(value) in (tuple, list) else value


_SYMBOLS = {**SYMBOLS, "aten::detach": _detach_symbol, "aten::batch_norm": _batch_norm, "aten::_convolution": _convolution,
            "aten::layer_norm": _layer_norm}


def _caller(frame):
    """The frame that called a function of PyTorch which calls this package."""
    while frame.f_code.co_filename == torch.overrides.__file__:
        frame = frame.f_back
    return frame


class _RunsAtOnce:
    """Takes the place of the autograd function of torch.utils.checkpoint: the devices decide what is computed again."""

    @staticmethod
    def apply(function, preserve, *args):
        return function(*args)


def _apply_and_warn(kind, *args, **kwargs):
    warnings.warn(
        f"The backward function of {kind.__name__} is not used: the devices differentiate its forward function. Write "
        "x + (f(x) - x).detach() for a value f(x) with the gradient of x.", stacklevel=2)
    return super(torch.autograd.Function, kind).apply(*args, **kwargs)


class Decomposed(TorchFunctionMode):
    """While it is entered, functions that can be exported take the place of others.

    ONNX knows no detach() and no no_grad(). They become operators StopGradient of Pipescope's own domain. `caught` is the
    list of warnings that are recorded meanwhile. They name the line that called a function of PyTorch.
    """

    def __init__(self, caught, training):
        super().__init__()
        self._caught, self._training, self._checkpoint = caught, training, torch.utils.checkpoint.CheckpointFunction
        self._no_grad, self._depth = (torch.no_grad.__enter__, torch.no_grad.__exit__), 0

    def _count_no_grad(self):
        """Count how many no_grad() are open. Functions of autograd switch gradients off, too, but not for good."""

        def enter(context):
            self._depth += 1
            return self._no_grad[0](context)

        def leave(context, *failure):
            self._depth -= 1
            return self._no_grad[1](context, *failure)

        torch.no_grad.__enter__, torch.no_grad.__exit__ = enter, leave

    def __enter__(self):
        if self._training:
            self._count_no_grad()
            torch.autograd.Function.apply = classmethod(_apply_and_warn)
        torch.utils.checkpoint.CheckpointFunction = _RunsAtOnce
        for name, symbol in _SYMBOLS.items():
            torch.onnx.register_custom_op_symbolic(name, symbol, OPSET)
        return super().__enter__()

    def __exit__(self, *failure):
        torch.no_grad.__enter__, torch.no_grad.__exit__ = self._no_grad
        if self._training:
            del torch.autograd.Function.apply
        torch.utils.checkpoint.CheckpointFunction = self._checkpoint
        for name in _SYMBOLS:
            torch.onnx.unregister_custom_op_symbolic(name, OPSET)
        return super().__exit__(*failure)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if _tracing() and asks_for_size(func, _caller(sys._getframe(1))):
            with untraced():
                return func(*args, **(kwargs or {}))
        known = len(self._caught)
        if self._depth > 0 and _tracing():
            args, kwargs = _detached(tuple(args)), {name: _detached(value) for name, value in (kwargs or {}).items()}
        result = outputs.call(func, outputs.replaced(func), args, kwargs or {})
        for each in self._caught[known:]:
            if each.filename.startswith(_PACKAGE):
                caller = _caller(sys._getframe(1))
                each.filename, each.lineno = caller.f_code.co_filename, caller.f_lineno
        return result
