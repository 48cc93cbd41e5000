"""Tracing: from a module and the rows of one micro-batch to an ONNX model in memory."""

import contextlib
import inspect
import io
import os
import re
import traceback
import warnings

import torch

from .anchors import given_names
from .blocks import Annotations
from .buffers import BuffersChange, KeptBuffers, Watch, buffers_of, check_norms, sizes_of, widen
from .decomposed import OPSET, Decomposed
from .errors import Error, user_line
from .device_functions import PrintedTensors
from .host_kernels import HostKernels, lacks_kernels
from .initializers import KeptInitializers
from .ops import Checkpoints, MarkedLosses, Overlap
from .stand_ins import StandIns
from .structure import Structure
from .traced_graph import PreparedGraphs


_UNUSED = "pipescope_unused"
_HERE = os.path.dirname(os.path.abspath(__file__))


class Traced:
    """An ONNX model, and how the module's arguments and results correspond to its inputs and outputs."""

    def __init__(self, arguments):
        self.onnx, self.initializers = b"", {}  # the model, and the values of its weights
        self.arguments, self.count_of_arguments = arguments, 0  # a Structure without tensors, and how many it needs
        self.inputs = []  # names
        self.results = None  # a Structure without tensors
        self.places = []  # number of each result's output, which several results may share
        self.shapes, self.types = [], []  # shapes of the outputs of a micro-batch; types of their elements
        self.is_lifted = False  # each input is one row of a micro-batch of 1
        self.printed = []  # tensors that the model prints: (how, number of an output)
        self.kept = {}  # name of a buffer that the model changes in inference: the number of the output with its value
        self.written = {}  # number of an input that the model changes: the number of its output
        self.asked, self.anchored = (), {}  # names of anchored tensors; {name of an input or weight: the number of its output}
        self.loss = None  # the number of the output that is the loss
        self.trainable = None  # numbers of outputs that depend on parameters, if they had to be found out
        self.buffers = {}  # types of those that the module changes; in training, their new values are the last outputs
        self.annotations = Annotations()
        self.tied_rows = 0  # rows of the last input, which the module does not take, but all results depend on
        self.values = None  # what differs from replica to replica, which are inputs that the module does not take
        self.is_half = self.overlaps = False
        self.needs_values = False  # while it is traced, so that large products must be computed
        self.computes_half = False  # somewhere in the model, so that PyTorch may lack kernels for it
        self.warnings = []

    def all_inputs(self, tensors):
        """Return the tensors that the traced model takes: those of the module's arguments, and others."""
        hidden = self.values.examples(self.buffers) if self.values else []
        return [*tensors, *(tensor.unsqueeze(0) for tensor in hidden), *([torch.zeros(self.tied_rows)] if self.tied_rows else [])]

    def arguments_of(self, tensors):
        """Return the tensors that the module takes, of those that the traced model takes, and those of the replicas."""
        tensors = tensors[:-1] if self.tied_rows else tensors
        tensors = [tensor.squeeze(0) for tensor in tensors] if self.is_lifted else list(tensors)
        count = self.count_of_arguments
        return tuple(tensors[:count]), tensors[count:]

    def count_of_states(self, training):
        """The number of outputs, the last ones, that are new values of buffers."""
        return len(self.buffers) if training else 0


class _SeveralScalars(Exception):
    """Several results could be the loss."""


class _NeedsValues(Exception):
    """The model reads values while it is traced, but large products were left out."""


def bind_arguments(module, args, kwargs):
    """Return (positional, named) arguments of module.forward. Refuses what forward does not take."""
    signature = inspect.signature(module.forward)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise Error(f"{type(module).__name__}.forward: {error}.") from None
    # An argument that is None or a tensor by default may also be left out.
    for name, parameter in signature.parameters.items():
        if parameter.default is None or isinstance(parameter.default, torch.Tensor):
            bound.arguments.setdefault(name, parameter.default)
    bound.arguments = {name: bound.arguments[name] for name in signature.parameters if name in bound.arguments}
    return list(bound.args), dict(bound.kwargs)


def _is_half(module):
    kinds = {p.dtype for p in module.parameters() if p.is_floating_point()}
    if torch.bfloat16 in kinds:
        raise Error(f"The parameters of {type(module).__name__} are bfloat16, which IPUs lack: call half() or float().")
    return kinds == {torch.float16}


def _operator_line(module, tensors, operator):
    """Return the line of the user's code that called an operator, as "aten::roll"."""
    try:
        with HostKernels():
            graph, _ = torch.jit._get_trace_graph(module, tuple(tensors), strict=False)[:2]
    except Exception:  # the trace only serves a better sentence
        return ""
    # An argument that cannot be exported, such as `out`, is one more than other calls of the operator have.
    nodes = [node for node in graph.nodes() if node.kind() == operator]
    for node in sorted(nodes, key=lambda node: -len(list(node.inputs()))):
        places = re.findall(r"(\S+)\((\d+)\): ([\w<>]+)", node.sourceRange())
        places = [place for place in places if "/torch/" not in place[0] and "/poptorch/" not in place[0]]
        if places:
            return f"{places[0][0]}:{places[0][1]} ({places[0][2]})"
    return ""


#: Operators of PyTorch whose ONNX forms may be refused when they are compiled, by the ONNX operator.
_SOURCES = {
    "NonZero": ("nonzero", "index", "masked_select", "where", "argwhere", "nonzero_numpy"),
    "Unique": ("unique", "_unique2", "unique_dim", "unique_consecutive"),
    "Expand": ("repeat_interleave", "expand", "expand_as"),
    "Range": ("arange",),
    "Reshape": ("view", "reshape", "flatten", "unflatten"),
    "Tile": ("repeat", "tile"),
    "Slice": ("slice", "narrow"),
}


def line_of_refusal(module, traced, tensors, training, sentence):
    """Return the line of the user's code that called the operator which a sentence of the compiler names, or ""."""
    named = re.search(r"(?:^|: )\S+ (\w+): ", sentence)
    if named is None:
        return ""
    tensors = traced.all_inputs(tensors)
    with _FlatForward(module, traced, training):
        for name in _SOURCES.get(named.group(1), (named.group(1).lower(),)):
            if line := _operator_line(module, tensors, f"aten::{name}"):
                return line
    return ""


def _refuse(module, tensors, error):
    text = re.split(r" Please feel free| ?\[Caused by|\n", str(error))[0].rstrip(". ")
    operator = re.search(r"aten::\w+", text)
    argument = re.search(r"for argument '\w+' of node '_?([a-z]+)", text)
    exporter = re.match(r"Unsupported: ONNX export of operator (\w+.*)|Exporting the operator '(\S+)'", text)
    if exporter:
        text = f"the operator {exporter.group(1) or exporter.group(2)} is not supported"
    if argument:
        text = f"an argument of the operator {argument.group(1)} is not supported, such as out="
    word = re.match(r"\w+", exporter.group(1)) if exporter and exporter.group(1) else argument and argument.group(1)
    word = word.group() if isinstance(word, re.Match) else word
    name = operator.group() if operator else f"aten::{word.lower()}" if word else None
    line = _operator_line(module, tensors, name) if name else ""
    line = line or user_line(traceback.extract_tb(error.__traceback__))
    where = f" at {line}" if line else ""
    raise Error(f"{type(module).__name__} cannot be traced{where}: {text}.") from error


class _FlatForward:
    """Takes the place of a module's forward: flat tensors in, flat tensors out.

    It is set as an attribute of the module, which keeps the names of scopes and parameters.
    """

    def __init__(self, module, traced, training):
        self._module, self._traced, self._training = module, traced, training
        self._forward, self._own = module.forward, module.__dict__.get("forward")

    def __enter__(self):
        self._module.forward = self._call
        MarkedLosses.current, PrintedTensors.current = MarkedLosses(), []
        return self

    def __exit__(self, *failure):
        if self._own is None:
            del self._module.forward
        else:
            self._module.forward = self._own  # a function that the program has set on this module
        MarkedLosses.current = Watch.current = PrintedTensors.current = None

    def _call(self, *tensors):
        traced = self._traced
        given, hidden = traced.arguments_of(tensors)
        with traced.values.installed(hidden) if traced.values else contextlib.nullcontext():
            return self._run(given, tensors)

    def _run(self, given, tensors):
        traced = self._traced
        versions = [tensor._version for tensor in given]
        args, kwargs = traced.arguments.build(given)
        MarkedLosses.current.tensors = []
        PrintedTensors.current.clear()
        watch = Watch(self._module, traced.buffers if self._training else {}, self._training)
        results = Structure(self._forward(*args, **kwargs))
        if new := {name: kind for name, kind in watch.changed().items() if name not in traced.buffers}:
            raise BuffersChange(new)
        outputs = _Outputs(given)
        traced.places = [outputs.add(tensor) for tensor in results.release()]
        traced.results = results
        traced.written = {number: outputs.add(tensor) for number, (tensor, version) in enumerate(zip(given, versions))
                          if tensor._version != version}
        if self._training:
            traced.loss = _find_loss(self._module, traced, outputs, MarkedLosses.current.tensors)
            if _UNUSED in self._module._parameters:
                traced.loss = outputs.add(outputs.tensors[traced.loss].float()
                                          + (self._module._parameters[_UNUSED] * 0).sum())
            if outputs.tensors[traced.loss].dtype != torch.float32:
                traced.loss = outputs.add(outputs.tensors[traced.loss].float())  # the devices know no other loss
        traced.printed = [(show, outputs.add(tensor)) for show, tensor in PrintedTensors.current]
        if not self._training:
            places = buffers_of(self._module)
            traced.kept = {name: outputs.add(places[name][0]._buffers[places[name][1]]) for name in traced.buffers}
        own = {**dict(self._module.named_parameters()), **dict(self._module.named_buffers()),
               **dict(zip(given_names(len(given)), given))}
        traced.anchored = {name: outputs.add(own[name].clone()) for name in traced.asked if name in own}
        if traced.tied_rows:
            if not outputs.tensors:
                outputs.add(tensors[-1] + 0)  # a model without results, too, makes something
            outputs.tie(tensors[-1])
        traced.shapes = [sizes_of(tensor) for tensor in outputs.tensors]
        traced.types = [torch.float32 if tensor.dtype == torch.float64 else tensor.dtype for tensor in outputs.tensors]
        return (*outputs.tensors, *watch.assigned())


class _Outputs:
    """The different tensors among the results. An input that is returned becomes an output of its own."""

    def __init__(self, inputs):
        self._inputs, self._seen, self.tensors = {id(tensor) for tensor in inputs}, [], []

    def add(self, tensor):
        """Return the number of an output, which may be there already."""
        for number, known in enumerate(self._seen):
            if known is tensor:
                return number
        self._seen.append(tensor)
        self.tensors.append(tensor.clone() if id(tensor) in self._inputs else tensor)
        return len(self.tensors) - 1

    def tie(self, zeros):
        """Let all outputs depend on an input of zeros, without another value."""
        chosen = zeros.flatten()[0] == 0
        self.tensors = [torch.where(chosen, tensor, tensor) for tensor in self.tensors]

    def number(self, tensor):
        """Return the number of a tensor, or None if it is no output."""
        return next((number for number, known in enumerate(self._seen) if known is tensor), None)


def _find_loss(module, traced, outputs, marked):
    """Return the number of the output that is the loss. A loss that is marked, but not returned, is added."""
    marked = [each for number, each in enumerate(marked) if all(each[1] is not other[1] for other in marked[:number])]
    if len(marked) > 1:
        # A loss from which another one is computed is a step on the way.
        marked = [each for each in marked if not any(_depends(other[1], each) for other in marked if other is not each)]
    if len(marked) > 1:
        raise Error(
            f"{type(module).__name__} calls identity_loss {len(marked)} times with losses that do not depend on each other "
            "(Multiple independent losses found in graph): add the losses up, and mark their sum."
        )
    if marked:
        value, loss = marked[0]
        known = outputs.number(loss)
        # A loss without reduction is returned as it is; the gradient is that of its sum.
        return outputs.add(loss) if known is None or value is not loss else known
    scalars = [number for number, tensor in enumerate(outputs.tensors)
               if tensor.dim() == 0 and tensor.is_floating_point()]
    if len(scalars) > 1 and traced.trainable is None:
        raise _SeveralScalars
    if len(scalars) > 1:
        scalars = [number for number in scalars if number in traced.trainable]
    if len(scalars) != 1:
        raise Error(
            f"{type(module).__name__} returns {len(scalars)} losses, but training needs one: return one tensor without "
            "axes, such as the result of a loss function, or mark one with identity_loss."
        )
    return scalars[0]


def _depends(loss, marked):
    """Return True if a traced loss is computed from another one that was marked (value, loss)."""
    goals = {torch._C._get_value_trace(each).unique() for each in marked}
    waiting, seen = [torch._C._get_value_trace(loss).node()], set()
    while waiting:
        for value in waiting.pop().inputs():
            if value.unique() in goals:
                return True
            if value.unique() not in seen:
                seen.add(value.unique())
                waiting.append(value.node())
    return False


def _trainable_scalars(module, traced, tensors):
    """Return the numbers of the results without axes that depend on parameters. Runs the module once."""
    given, hidden = traced.arguments_of(tensors)
    args, kwargs = traced.arguments.build(given)
    outputs = _Outputs(given)
    with torch.enable_grad(), HostKernels(), traced.values.installed(hidden) if traced.values else contextlib.nullcontext():
        for tensor in Structure(module(*args, **kwargs)).release():
            outputs.add(tensor)
    return [number for number, tensor in enumerate(outputs.tensors) if tensor.dim() == 0 and tensor.requires_grad]


def _export(module, traced, tensors, training):
    """Return the ONNX model."""
    buffer = io.BytesIO()
    tensors = traced.all_inputs(tensors)
    traced.inputs = [f"input_{number}" for number in range(len(tensors))]
    traced.annotations = Annotations()
    Checkpoints.count, Overlap.asked = 0, False
    StandIns.begin(not traced.needs_values)
    with (_FlatForward(module, traced, training), traced.annotations, warnings.catch_warnings(record=True) as caught,
          Decomposed(caught, training), PreparedGraphs(traced.computes_half), KeptInitializers() as kept):
        warnings.simplefilter("always")
        torch.onnx.export(
            module, tuple(tensors), buffer, input_names=traced.inputs, opset_version=OPSET,
            training=torch.onnx.TrainingMode.PRESERVE, export_params=False, do_constant_folding=False, keep_initializers_as_inputs=False,
        )
    traced.warnings = [each for each in caught if not each.filename.startswith(os.path.dirname(torch.__file__))
                       and not (issubclass(each.category, FutureWarning) and each.filename.startswith(_HERE))  # graph.op() of PyTorch
                       and "results are registered as constants" not in str(each.message)]  # numbers of the user's code
    traced.overlaps, traced.initializers = Overlap.asked, kept.tensors
    if StandIns.used and any(issubclass(each.category, torch.jit.TracerWarning) for each in traced.warnings):
        raise _NeedsValues
    return buffer.getvalue()


def _warn(traced):
    """Repeat the warnings that name the user's code. Values of tensors that became constants are explained."""
    for each in traced.warnings:
        if issubclass(each.category, torch.jit.TracerWarning):
            text = (
                f"{each.filename}:{each.lineno} turns a tensor into a plain value. The model is traced once, so this "
                "value becomes a constant, and control flow that depends on it always takes the same way."
            )
            warnings.warn_explicit(text, UserWarning, each.filename, each.lineno)
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def _export_as_it_is(module, traced, tensors, training):
    """Export the module. What the first attempt learns about its loss or its buffers decides about the next one."""
    check_norms(module)
    kept = KeptBuffers(module)
    while True:
        try:
            if training:
                widen(module, traced.buffers)
            return _export(module, traced, tensors, training)
        except _SeveralScalars:
            kept.restore()
            traced.trainable = _trainable_scalars(module, traced, traced.all_inputs(tensors))
        except BuffersChange as change:
            traced.buffers = {**traced.buffers, **change.types}
        except Exception as error:
            if StandIns.used and not isinstance(error, Error):
                traced.needs_values = True  # it may have failed because of a value
            elif traced.computes_half or not lacks_kernels(error):
                raise
            else:
                traced.computes_half = True
        finally:
            kept.restore()


@contextlib.contextmanager
def _unused_weight(module, is_wanted):
    """Give the module a weight meanwhile, because the devices train nothing without one."""
    if is_wanted:
        module.register_parameter(_UNUSED, torch.nn.Parameter(torch.zeros(1)))
    try:
        yield
    finally:
        if is_wanted:
            del module._parameters[_UNUSED]


@contextlib.contextmanager
def _with_types_of_devices(module, float_statistics):
    """Narrow the module's float64 to float32 meanwhile, and keep running statistics in float32 if told so."""
    changed = []
    norms = torch.nn.modules.batchnorm._NormBase
    for each in module.modules():
        for key, value in [*each._parameters.items(), *each._buffers.items()]:
            if value is None or not value.is_floating_point() or value.dtype == torch.float32:
                continue
            if value.dtype == torch.float64 or float_statistics and isinstance(each, norms) and key in ("running_mean", "running_var"):
                changed.append((value, value.data))
                value.data = value.data.float()
    try:
        yield
    finally:
        for tensor, values in changed:
            tensor.data = values


def _is_raised_by_user(error):
    """Return True if the program itself raised the error, by a statement of its own."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].line.startswith("raise") and user_line(frames[-1:]) != ""


def trace(module, arguments, tensors, training, is_lifted=False, tied_rows=0, float_statistics=True, needs_weight=False, values=None,
          asked=()):
    """Trace the module with the tensors of one micro-batch. `arguments` is their Structure: (args, kwargs).

    `is_lifted` says that each tensor has one more axis than the module's argument, of length 1 and in front.
    `tied_rows` above 0 adds an input of so many rows, on which all results depend. `float_statistics` keeps running statistics in
    float32. `needs_weight` gives a loss that depends on no weight one that does not change it. `values` are ReplicaValues,
    and `asked` names anchored tensors.
    """
    traced = Traced(arguments)
    traced.count_of_arguments, traced.values, traced.asked = len(tensors), values, asked
    traced.is_lifted = is_lifted
    traced.is_half = _is_half(module)
    traced.computes_half = traced.is_half or any(tensor.dtype == torch.float16 for tensor in tensors)
    modes = [(each, each.training) for each in module.modules()]
    if module.training != training:
        module.train(training)
    traced.tied_rows = tied_rows
    try:
        with _unused_weight(module, needs_weight), torch.random.fork_rng(devices=[]), _with_types_of_devices(module, float_statistics):
            traced.onnx = _export_as_it_is(module, traced, tensors, training)
    except Error:
        raise
    except Exception as error:
        if _is_raised_by_user(error):
            raise
        with _FlatForward(module, traced, training):
            _refuse(module, traced.all_inputs(tensors), error)
    finally:
        Checkpoints.count = None
        for each, mode in modes:
            each.training = mode
    _warn(traced)
    return traced
