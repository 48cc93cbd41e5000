"""Functions of models that PyTorch lacks: loops, conditions, moving windows, products in parts, printing."""

import contextlib
import sys

import torch

from .blocks import _close_scope
from .buffers import Watch, sizes_of
from .enums import MatMulSerializationMode
from .errors import ArgumentError, Error, caller_line
from .log import note_once


def _same_kind(made, given):
    return list(made.shape) == list(given.shape) and made.dtype == given.dtype


def for_loop(count, body, inputs=None):
    """Run `body` so often, with its results as its next arguments.

    `inputs` is a list of tensors. `body` takes as many tensors and returns tensors of the same shapes and types. Returns the
    results of the last round as a list. Each round stands in the profile.
    """
    inputs = [] if inputs is None else inputs
    if not isinstance(inputs, list):
        raise ArgumentError(f"for_loop: pass the inputs as a list of tensors, not {type(inputs).__name__}.")
    for number, each in enumerate(inputs):
        if not isinstance(each, torch.Tensor):
            raise ArgumentError(f"for_loop: input {number} is {type(each).__name__}, but must be a tensor.")
    values = [each.clone() for each in inputs]
    for _ in range(int(count)):
        made = body(*values)
        made = [made] if isinstance(made, torch.Tensor) else list(made)
        if len(made) != len(inputs) or not all(map(_same_kind, made, inputs)):
            raise Error(f"for_loop at {caller_line()}: the body returns {[_kind(each) for each in made]}, but takes "
                        f"{[_kind(each) for each in inputs]} (outputs must match the inputs in number, shape and type).")
        values = made
    return values


def _kind(tensor):
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def cond(condition, then_body, then_inputs, else_body, else_inputs):
    """Return the results of `then_body` where the condition is true, otherwise those of `else_body`, as a list.

    `condition` is a tensor with one element; each body takes its list of inputs. Both sides are computed, and the devices
    choose between the results, which must agree in number, shape and type.
    """
    if condition.numel() != 1:
        raise Error(f"cond at {caller_line()}: the condition has {condition.numel()} elements, but must have one.")
    sides = []
    for body, inputs in ((then_body, then_inputs), (else_body, else_inputs)):
        made = body(*inputs)
        sides.append([made] if isinstance(made, torch.Tensor) else list(made))
    if len(sides[0]) != len(sides[1]) or not all(map(_same_kind, *sides)):
        raise Error(f"cond at {caller_line()}: the bodies return {[_kind(each) for each in sides[0]]} and "
                    f"{[_kind(each) for each in sides[1]]}, which must agree in number, shape and type.")
    chosen = condition.reshape(()).to(torch.bool)
    return [torch.where(chosen, yes, no) for yes, no in zip(*sides)]


def _window(name, start, dim, size, step, length):
    if not isinstance(start, torch.Tensor) or start.numel() != 1:
        raise ArgumentError(f"{name}: start must be a tensor with one element.")
    if start.is_floating_point():
        raise ArgumentError(f"{name}: start must hold a whole number, not {start.dtype}.")
    if size == 0:
        raise ArgumentError(f"{name}: size is 0. The start and end of a slice must be different.")
    if size < 0 or step < 1:
        raise ArgumentError(f"{name}: size is {size} and step is {step}, but both must be at least 1. Taking a slice of a tensor with "
                            "the end less than the start is not supported.")
    if size > length:
        raise ArgumentError(f"{name}: a window of {size} is longer than the axis {dim}, which has {length}.")
    return start.reshape(1).clamp(0, length - size) + torch.arange(0, size, step, dtype=start.dtype)


def dynamic_slice(tensor, dim, start, size, step):
    """Return every `step`-th of `size` elements along `dim`, from a start that is a tensor with one whole number.

    A start at which the window would not fit is moved to the nearest one at which it does.
    """
    return tensor.index_select(dim, _window("dynamic_slice", start, dim, size, step, tensor.shape[dim]))


def dynamic_update(input, src, dim, start, size):
    """Return `input` with `src` in place of the `size` elements along `dim` that begin at `start` (a tensor)."""
    if src.dim() != input.dim():
        raise ArgumentError(f"dynamic_update: input and src tensors must have same dimensionality. ({input.dim()}) vs ({src.dim()})")
    if src.dtype != input.dtype:
        raise ArgumentError(f"dynamic_update: input and src tensor must have same dtype. ({input.dtype} vs {src.dtype})")
    shape = [1] * input.dim()
    shape[dim] = -1
    places = _window("dynamic_update", start, dim, size, 1, input.shape[dim]).reshape(shape)
    return input.scatter(dim, places.expand(src.shape).to(torch.int64), src)


def serializedMatMul(lhs, rhs, mode, factor=0, keep_precision=False):
    """Return lhs @ rhs, computed in `factor` parts one after another, so that temporaries take less memory.

    lhs has the axes …, m, n and rhs the axes …, n, p. `mode` says which axis is divided: InputChannels (m), ReducingDim (n) or
    OutputChannels (p); Disabled divides none. The factor must divide the axis. Partial sums of ReducingDim are added in
    float32 if `keep_precision`.
    """
    mode = MatMulSerializationMode(mode)
    if mode == MatMulSerializationMode.Disabled or factor <= 1:
        return torch.matmul(lhs, rhs)
    tensor, axis = {MatMulSerializationMode.InputChannels: (lhs, -2), MatMulSerializationMode.ReducingDim: (lhs, -1),
                    MatMulSerializationMode.OutputChannels: (rhs, -1)}[mode]
    size = sizes_of(tensor)[axis]
    if size % factor != 0:
        raise Error(f"serializedMatMul at {caller_line()}: the factor {factor} does not divide the axis of {size} elements.")
    if mode == MatMulSerializationMode.InputChannels:
        return torch.cat([torch.matmul(part, rhs) for part in lhs.chunk(factor, -2)], -2)
    if mode == MatMulSerializationMode.OutputChannels:
        return torch.cat([torch.matmul(lhs, part) for part in rhs.chunk(factor, -1)], -1)
    parts = [torch.matmul(left, right) for left, right in zip(lhs.chunk(factor, -1), rhs.chunk(factor, -2))]
    total = parts[0].float() if keep_precision else parts[0]
    for part in parts[1:]:
        total = total + part
    return total.to(lhs.dtype)


def set_available_memory(tensor, available_memory_proportion):
    """Return the tensor. The share of memory for temporaries holds for whole IPUs, so a line of the log says that."""
    if not 0 < available_memory_proportion <= 1:
        raise ArgumentError(f"set_available_memory: the proportion is {available_memory_proportion}, but must be above 0 and at "
                         "most 1.")
    note_once("set_available_memory has no effect for single operators of emulated IPUs: "
              "Options.setAvailableMemoryProportion sets the proportion of a whole IPU.")
    return tensor


class PrintedTensors:
    """The tensors that a model prints: (how, tensor). `how` prints the values of one micro-batch."""

    current = None  # set while a model is traced


class _Layout:
    """The layout of a printed tensor: a row a line, between brackets that stand on lines of their own."""

    def __init__(self, threshold, edges, width, digits, form, separator, open_bracket, close_bracket):
        self._threshold, self._edges, self._width, self._digits, self._form = threshold, edges, width, digits, form
        self._separator, self._open, self._close = separator, open_bracket, close_bracket

    def text(self, values):
        self._shortens = values.size > self._threshold
        return self._part(values, 1)

    def _number(self, value):
        if value.dtype.kind != "f":
            return str(value)
        if self._form == "scientific":
            return f"{value:.{self._digits - 1}e}"
        return f"{value:.{self._digits - 1}f}" if self._form == "fixed" else f"{value:.{self._digits}g}"

    def _shown(self, values):
        if not self._shortens or len(values) <= 2 * self._edges:
            return list(values)
        return [*values[: self._edges], None, *values[-self._edges :]]

    def _part(self, values, depth):
        if values.ndim == 0:
            return self._number(values[()])
        parts = ["..." if each is None else self._number(each) if values.ndim == 1 else self._part(each, depth + 1)
                 for each in self._shown(values)]
        indent = "\n" + " " * depth
        if values.ndim > 1:
            return self._open + indent + indent.join(parts) + "\n" + " " * (depth - 1) + self._close
        lines = [self._open]
        for number, part in enumerate(parts):
            if len(lines[-1]) > 1 and len(lines[-1]) + len(part) > self._width:
                lines.append(" ")
            lines[-1] += part + (self._separator if number + 1 < len(parts) else "")
        return ("\n" + " " * depth).join(line.rstrip(" ") if line is not lines[-1] else line for line in lines) + self._close


def ipu_print_tensor(tensor, title="", print_gradient=True, summarise_threshold=1000, edge_items=3, max_line_width=80,
                     digits=4, float_format="auto", separator=" ", open_bracket="(", close_bracket=")"):
    """Print the values of a tensor on the error stream after each call that computes it. Returns the tensor.

    Large tensors are shortened: more than `summarise_threshold` elements show `edge_items` at each end of an axis.
    """
    if float_format not in ("auto", "fixed", "scientific", "none"):
        raise ArgumentError(f'ipu_print_tensor: float_format is "{float_format}", but must be auto, fixed, scientific or none.')

    layout = _Layout(summarise_threshold, edge_items, max_line_width, digits, float_format, separator or " ",
                     open_bracket, close_bracket)

    def show(values):
        text = layout.text(values)
        print(f"{title}: {text}" if title else text, file=sys.stderr, flush=True)

    if PrintedTensors.current is not None:
        if print_gradient and tensor.requires_grad:
            note_once("ipu_print_tensor prints no gradients on emulated devices.")
        value = tensor.clone()
        PrintedTensors.current.append((show, value))
        return tensor
    show(tensor.detach().cpu().numpy())
    return tensor


@contextlib.contextmanager
def _constants_beside(model, layer):
    """Make constants of the parameters of a layer that a model does not have, while both are traced."""
    own = {id(each) for each in model.parameters()}
    changed = [(each._parameters, key, value) for each in layer.modules() for key, value in each._parameters.items()
               if value is not None and id(value) not in own]
    for parameters, key, value in changed:
        parameters[key] = value.data
    try:
        yield
    finally:
        for parameters, key, value in changed:
            parameters[key] = value


class CPU:
    """A layer or function that PopTorch runs on the host in the middle of a model.

    Here the devices compute it with the rest of the model, which gives the same values; a line of the log says so.
    """

    def __init__(self, layer_to_call, ID):
        self._layer, self._id = layer_to_call, ID
        self.inputs = self.outputs = None

    def __call__(self, *inputs, **kwargs):
        note_once("poptorch.CPU: emulated devices compute this part of the model themselves, with the same values.")
        if not isinstance(self._layer, torch.nn.Module) or Watch.current is None:
            return self._layer(*inputs, **kwargs)
        with _constants_beside(Watch.current.module, self._layer):
            return self._layer(*inputs, **kwargs)


class NameScope:
    """A scope: its name becomes part of the names of all operators that are made inside."""

    def __init__(self, name):
        if not isinstance(name, str):
            raise ArgumentError("The name of a NameScope must be a text.")
        self._name, self._pushed = name, False

    def __enter__(self):
        state = torch._C._get_tracing_state()
        if state is not None:
            state.push_scope(f"NameScope::{self._name}")
            self._pushed = True
        return self

    def __exit__(self, *failure):
        if self._pushed:
            _close_scope()
            self._pushed = False


class Attribute:
    """A scope whose attributes PopTorch gives to the operators that are made inside. Emulated devices read none."""

    def __init__(self, **attributes):
        if not attributes:
            raise ArgumentError("Attribute needs at least one attribute, as Attribute(__outline={…}).")
        self._attributes = attributes

    def __enter__(self):
        for name in self._attributes:
            note_once(f"The attribute {name} of operators has no effect on emulated devices.")
        return self

    def __exit__(self, *failure):
        """Nothing was changed."""
