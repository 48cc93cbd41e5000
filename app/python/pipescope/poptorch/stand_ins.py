"""Large products while a model is traced: only the shape of their results matters, so they are not computed.

A trace records which operator makes which value. PyTorch records it from a product of much smaller tensors, which stand for
the real ones, and a tensor of zeros with the shape of the real result takes its place. Where a model reads values while it is
traced, it is traced again with real products.
"""

import contextlib

import torch

_WORTH = 4_000_000  # multiplications; smaller products are computed


@contextlib.contextmanager
def untraced():
    """Run functions of PyTorch meanwhile, without a record in the traced graph and without gradients."""
    state, had_gradients = torch._C._get_tracing_state(), torch.is_grad_enabled()
    torch._C._set_tracing_state(None)
    torch._C._set_grad_enabled(False)
    try:
        yield
    finally:
        torch._C._set_grad_enabled(had_gradients)
        torch._C._set_tracing_state(state)


class StandIns:
    """Says whether large products may be left out in this trace, and whether one was."""

    allowed = used = False

    @classmethod
    def begin(cls, allowed):
        cls.allowed, cls.used = allowed, False


def _count(sizes):
    total = 1
    for size in sizes:
        total *= size
    return total


def _small(tensor, sizes):
    """A tensor of these sizes that stands for another one in the trace."""
    if sizes is None or list(sizes) == list(tensor.shape):
        return tensor
    made = torch.zeros(sizes, dtype=tensor.dtype)
    made.requires_grad_(tensor.requires_grad and tensor.is_floating_point())
    return made


def _whole(tensor):
    """A tensor, or None, that stands for itself."""
    return tensor, None


def _traced(function, given, shape):
    """Trace a function of (tensor, sizes of what stands for it). The result gets the sizes `shape`; None: its own size."""
    with untraced():
        small = [_small(*each) for each in given]
    for made, (tensor, _) in zip(small, given):
        if made is not tensor:
            torch._C._set_value_trace(made, torch._C._get_value_trace(tensor))
    result = function(*small)
    value, needs_gradient = torch._C._get_value_trace(result), result.requires_grad
    with untraced():
        shape = [own if size is None else size for size, own in zip(shape, result.shape)]
        made = torch.zeros(shape, dtype=result.dtype)
        value.inferTypeFrom(made)
        if needs_gradient:
            torch._C._set_grad_enabled(True)
            made = made + result.flatten()[:1].reshape([1] * len(shape))  # no leaf, so that it may be written
    torch._C._set_value_trace(made, value)
    StandIns.used = True
    return made


def _may_stand_in(multiplications):
    return StandIns.allowed and torch._C._get_tracing_state() is not None and multiplications >= _WORTH


def _product_sizes(first, second):
    """Return the sizes of what stands for two factors, and those of their product."""
    rows, columns = list(first.shape), list(second.shape)
    lead = list(torch.broadcast_shapes(rows[:-2], columns[:-2]))
    small = [[1] * (len(rows) - 1) + rows[-1:], [1] * (len(columns) - 2) + columns[-2:-1] + [1]]
    return small, [*lead, rows[-2], columns[-1]]


def product(function, *tensors):
    """Call mm, bmm, matmul, addmm or baddbmm with its tensors, or linear with x, weight and bias."""
    first, second = tensors[-2:] if function.__name__ != "linear" else tensors[:2]
    if not StandIns.allowed or first.dim() < 2 or second.dim() < 2 or torch._C._get_tracing_state() is None:
        return function(*tensors)
    with untraced():
        if function.__name__ == "linear":
            shape = [*first.shape[:-1], second.shape[0]]
            given = [(first, [1] * (first.dim() - 1) + [first.shape[-1]]), *map(_whole, tensors[1:])]
        else:
            small, shape = _product_sizes(first, second)
            given = [(each, [1] * each.dim()) for each in tensors[:-2]] + list(zip((first, second), small))
        multiplications = _count(shape) * first.shape[-1]
    return _traced(function, given, shape) if _may_stand_in(multiplications) else function(*tensors)


def convolution(function, x, weight, bias, stride, padding, dilation, transposed, output_padding):
    """Return function(x, weight, bias). The other arguments are lists with a number for each axis and say which shape it makes."""
    axes = weight.dim() - 2
    if not StandIns.allowed or x.dim() != axes + 2 or torch._C._get_tracing_state() is None:
        return function(x, weight, bias)
    with untraced():
        shape, least = [x.shape[0], None], [1, x.shape[1]]
        for axis in range(axes):
            size, kernel = x.shape[2 + axis], dilation[axis] * (weight.shape[2 + axis] - 1) + 1
            if transposed:
                grown = kernel - 2 * padding[axis] + output_padding[axis]
                shape.append((size - 1) * stride[axis] + grown)
                least.append(1 + max(0, -(-(1 - grown) // stride[axis])))
            else:
                shape.append((size + 2 * padding[axis] - kernel) // stride[axis] + 1)
                least.append(max(1, kernel - 2 * padding[axis]))
        places = x.shape if transposed else [shape[0], weight.shape[0], *shape[2:]]
        multiplications = _count(places) * _count(weight.shape[1:])
    if min(shape[2:]) < 1 or not _may_stand_in(multiplications):
        return function(x, weight, bias)
    return _traced(function, [(x, least), _whole(weight), _whole(bias)], shape)
