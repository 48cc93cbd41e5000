"""Tracing: from a module and the rows of one micro-batch to an ONNX model in memory."""

import copy
import inspect
import io
import re
import traceback
import warnings

import torch

from .blocks import Annotations
from .errors import Error, user_line
from .ops import Checkpoints

OPSET = 14


class Traced:
    """An ONNX model, and how the module's arguments and results correspond to its inputs and outputs."""

    def __init__(self):
        self.onnx = b""
        self.inputs = []  # names
        self.shapes = []  # of the outputs of one micro-batch
        self.single = True  # the module returns a tensor, not a tuple
        self.annotations = Annotations()
        self.is_half = False


def flatten(values):
    """Return the tensors in nested tuples, lists and dictionaries, in order."""
    if isinstance(values, torch.Tensor):
        return [values]
    if isinstance(values, dict):
        values = values.values()
    if isinstance(values, (tuple, list)) or hasattr(values, "__iter__"):
        return [tensor for each in values for tensor in flatten(each)]
    raise Error(f"Models take and return tensors, tuples, lists and dictionaries of them, not {type(values).__name__}.")


def bind_arguments(module, args, kwargs):
    """Return the arguments of module.forward as a list without names. Defaults at the end are left out."""
    signature = inspect.signature(module.forward)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise Error(f"{type(module).__name__}.forward: {error}.") from None
    names = list(bound.arguments)
    whole = [name for name in signature.parameters][: len(names)]
    if any(p.kind == p.VAR_KEYWORD for p in signature.parameters.values()) or names != whole:
        missing = next((name for name in whole if name not in names), names[-1])
        raise Error(f"{type(module).__name__}.forward: pass {missing}, too, because arguments follow it.")
    values = []
    for name, value in bound.arguments.items():
        values.extend(value if signature.parameters[name].kind == inspect.Parameter.VAR_POSITIONAL else [value])
    while values and values[-1] is None:
        values.pop()
    return values


def _is_half(module):
    kinds = {p.dtype for p in module.parameters() if p.is_floating_point()}
    if kinds == {torch.float16}:
        return True
    if torch.float16 in kinds or torch.bfloat16 in kinds:
        raise Error(
            f"The parameters of {type(module).__name__} have several types ({', '.join(sorted(map(str, kinds)))}): "
            "make them all float32, or all half."
        )
    return False


def _operator_line(module, arguments, operator):
    """Return the line of the user's code that called an operator, as "aten::roll"."""
    try:
        graph, _ = torch.jit._get_trace_graph(module, tuple(arguments), strict=False)[:2]
    except Exception:  # the trace only serves a better sentence
        return ""
    for node in graph.nodes():
        if node.kind() == operator:
            places = re.findall(r"(\S+)\((\d+)\): (\w+)", node.sourceRange())
            places = [place for place in places if "/torch/" not in place[0] and "/poptorch/" not in place[0]]
            if places:
                return f"{places[0][0]}:{places[0][1]} ({places[0][2]})"
    return ""


def _refuse(module, arguments, error):
    text = str(error).split("\n")[0]
    operator = re.search(r"aten::\w+", text)
    line = _operator_line(module, arguments, operator.group()) if operator else ""
    line = line or user_line(traceback.extract_tb(error.__traceback__))
    where = f" at {line}" if line else ""
    raise Error(f"{type(module).__name__} cannot be traced{where}: {text}") from error


def _capture_structure(traced):
    def hook(module, inputs, outputs):
        traced.single = isinstance(outputs, torch.Tensor)
        traced.shapes = [tuple(output.shape) for output in flatten(outputs)]

    return hook


def trace(module, arguments, input_names, training):
    """Trace the module with the tensors of one micro-batch."""
    traced = Traced()
    traced.is_half = _is_half(module)
    if traced.is_half:
        module = copy.deepcopy(module).float()
        arguments = [a.float() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in arguments]
    was_training = module.training
    module.train(training)
    hook = module.register_forward_hook(_capture_structure(traced))
    traced.inputs = input_names
    buffer = io.BytesIO()
    Checkpoints.count = 0
    try:
        with traced.annotations, torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            # Torch warns of its own code. Warnings that name the user's code stay.
            warnings.filterwarnings("ignore", module=r"torch\.")
            torch.onnx.export(
                module, tuple(arguments), buffer, input_names=input_names, opset_version=OPSET,
                training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False, keep_initializers_as_inputs=False,
            )
    except Error:
        raise
    except Exception as error:
        _refuse(module, arguments, error)
    finally:
        Checkpoints.count = None
        hook.remove()
        module.train(was_training)
    traced.onnx = buffer.getvalue()
    return traced
