"""Functions that move, pick and scatter elements and that PyTorch's ONNX exporter refuses or exports wrongly."""

import torch

from ..buffers import sizes_of
from .rules import axis_of, rule
from ..emitted import emit
from ..errors import Error, caller_line


@rule(torch.roll, torch.Tensor.roll)
def _roll(x, shifts, dims=None):
    if dims is None or isinstance(dims, (tuple, list)) and not dims:
        return _roll(x.flatten(), shifts, 0).reshape(sizes_of(x))
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    for shift, dim in zip(shifts, [dims] if isinstance(dims, int) else dims):
        dim = axis_of(dim, x)
        size = sizes_of(x)[dim]
        back = int(shift) % size if size else 0
        if back:
            x = torch.cat([x.narrow(dim, size - back, back), x.narrow(dim, 0, size - back)], dim)
    return x


def _row_index(x, dim, index, source):
    """An index along one axis, widened to the shape of the source, as scatter takes it."""
    own = axis_of(dim, x)
    shape = [-1 if axis == own else 1 for axis in range(x.dim())]
    return index.reshape(shape).expand(sizes_of(source)).to(torch.int64)


_IDENTITIES = {"sum": lambda kind: 0, "prod": lambda kind: 1, "mean": lambda kind: 0,
               "amax": lambda kind: torch.finfo(kind).min if kind.is_floating_point else torch.iinfo(kind).min,
               "amin": lambda kind: torch.finfo(kind).max if kind.is_floating_point else torch.iinfo(kind).max}
_REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "mean": "add", "amax": "max", "amin": "min"}
_NAMES = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _combined(x, dim, index, source, reduction):
    """Combine elements of the source with those of x at the indices, by "add", "mul", "max" or "min"."""
    if reduction == "add":
        return x.scatter_add(dim, index, source)
    trains = x.requires_grad or source.requires_grad
    if reduction == "mul" and trains:
        return _product_with_gradient(x, dim, index, source)
    if reduction in ("max", "min") and (x.requires_grad or source.requires_grad):
        return _extremum_with_gradient(x, dim, index, source, reduction)
    return _extremum(x, dim, index, source, reduction)


def _extremum(x, dim, index, source, reduction):
    def compute(data, places, values):
        return data.scatter_reduce(dim, places, values, _NAMES[reduction])

    return emit("ScatterElements", compute, x, index, source, axis_i=axis_of(dim, x), reduction_s=reduction)


def _extremum_with_gradient(x, dim, index, source, reduction):
    """The elements that are the extremum share its gradient, so it is written as their mean."""
    found = _extremum(x.detach(), dim, index, source.detach(), reduction)
    ours = (x == found).to(x.dtype).detach()
    theirs = (source == found.gather(dim, index)).to(x.dtype).detach()
    count = ours.scatter_add(dim, index, theirs)
    return (x * ours / count).scatter_add(dim, index, source * theirs / count.gather(dim, index))


def _product_with_gradient(x, dim, index, source):
    """The product, plus differences of 0 whose slopes are the products of the other factors."""
    fixed, theirs = x.detach(), source.detach()
    whole = _extremum(fixed, dim, index, theirs, "mul")
    one = [torch.where(each == 0, torch.ones_like(each), each) for each in (fixed, theirs)]
    rest = _extremum(one[0], dim, index, one[1], "mul")
    zeros = [(each == 0).to(x.dtype) for each in (fixed, theirs)]
    count = zeros[0].scatter_add(dim, index, zeros[1])

    def slope(values, nonzero, is_zero, rest, count):
        # A factor of 0 has the product of the others as its slope, unless another one is 0, too.
        return torch.where(count - is_zero > 0, torch.zeros_like(values), rest / nonzero)

    ours = slope(fixed, one[0], zeros[0], rest, count).detach()
    shared = slope(theirs, one[1], zeros[1], rest.gather(dim, index), count.gather(dim, index)).detach()
    return (whole.detach() + ours * (x - fixed)).scatter_add(dim, index, shared * (source - theirs))


@rule(torch.bucketize)
def _bucketize(x, boundaries, *, out_int32=False, right=False):
    x = x if isinstance(x, torch.Tensor) else torch.tensor(x)
    wide = x.unsqueeze(-1)
    below = wide >= boundaries if right else wide > boundaries
    return below.to(torch.int32 if out_int32 else torch.int64).sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


@rule(torch.scatter_reduce, torch.Tensor.scatter_reduce)
def _scatter_reduce(x, dim, index, src, reduce, *, include_self=True):
    if x.dim() == 0:
        return _scatter_reduce(x.reshape(1), 0, index.reshape(-1), src.reshape(-1), reduce,
                               include_self=include_self).reshape(())
    for axis, size in enumerate(sizes_of(index)):
        src = src.narrow(axis, 0, size)
    base = x
    if not include_self:
        base = x.scatter(dim, index, torch.full_like(src, _IDENTITIES[reduce](x.dtype)))
    made = _combined(base, dim, index, src, _REDUCTIONS[reduce])
    if reduce != "mean":
        return made
    ones, zeros = torch.ones_like(src), torch.zeros_like(x)
    counts = (torch.ones_like(x) if include_self else zeros).scatter_add(dim, index, ones)
    counts = counts if include_self else counts.clamp(min=1)
    return made / counts if x.is_floating_point() else torch.div(made, counts, rounding_mode="floor")


@rule(torch.scatter, torch.Tensor.scatter)
def _scatter(x, dim, index, src=None, *, value=None, reduce=None):
    src = value if src is None else src
    if not isinstance(src, torch.Tensor):
        src = torch.full(sizes_of(index), src, dtype=x.dtype)
    if reduce is not None:
        return _scatter_reduce(x, dim, index, src, {"add": "sum", "multiply": "prod"}[reduce])
    for axis, size in enumerate(sizes_of(index)):
        src = src.narrow(axis, 0, size)
    return torch.scatter(x, dim, index.to(torch.int64), src)


@rule(torch.scatter_add, torch.Tensor.scatter_add)
def _scatter_add(x, dim, index, src):
    for axis, size in enumerate(sizes_of(index)):
        src = src.narrow(axis, 0, size)
    return torch.scatter_add(x, dim, index, src)


@rule(torch.index_reduce, torch.Tensor.index_reduce)
def _index_reduce(x, dim, index, source, reduce, *, include_self=True):
    return _scatter_reduce(x, dim, _row_index(x, dim, index, source), source, reduce, include_self=include_self)


@rule(torch.index_copy, torch.Tensor.index_copy)
def _index_copy(x, dim, index, source):
    return x.scatter(dim, _row_index(x, dim, index, source), source)


@rule(torch.index_fill, torch.Tensor.index_fill)
def _index_fill(x, dim, index, value):
    shape = sizes_of(x)
    dim = axis_of(dim, x)
    shape[dim] = sizes_of(index)[0] if index.dim() else 1
    filling = value.expand(shape) if isinstance(value, torch.Tensor) else torch.full(shape, value, dtype=x.dtype)
    return _index_copy(x, dim, index.reshape(-1), filling.to(x.dtype))


@rule(torch.take, torch.Tensor.take)
def _take(x, index):
    count = sizes_of(x.flatten())[0]
    return x.flatten().index_select(0, (index.flatten() % count)).reshape(sizes_of(index))


@rule(torch.broadcast_to, torch.Tensor.broadcast_to)
def _broadcast_to(x, *size):
    return x.expand(*size)


@rule(torch.cartesian_prod)
def _cartesian_prod(*tensors):
    if len(tensors) == 1:
        return tensors[0].clone()
    grids = torch.meshgrid(*tensors, indexing="ij")
    return torch.stack([grid.flatten() for grid in grids], 1)


@rule(torch.rot90, torch.Tensor.rot90)
def _rot90(x, k=1, dims=(0, 1)):
    for _ in range(k % 4):
        x = x.flip(dims[1]).transpose(*dims)
    return x


@rule(torch.fliplr, torch.Tensor.fliplr)
def _fliplr(x):
    return x.flip(1)


@rule(torch.flipud, torch.Tensor.flipud)
def _flipud(x):
    return x.flip(0)


@rule(torch.repeat_interleave, torch.Tensor.repeat_interleave)
def _repeat_interleave(x, repeats=None, dim=None, *, output_size=None):
    if not isinstance(repeats, int):
        raise Error(f"repeat_interleave at {caller_line()} repeats each element another number of times, so its shape would "
                    "depend on values: pass one number.")
    if dim is None:
        x, dim = x.flatten(), 0
    dim, shape = axis_of(dim, x), sizes_of(x)
    wide = x.unsqueeze(dim + 1).expand(*shape[: dim + 1], repeats, *shape[dim + 1 :])
    return wide.reshape(*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :])


@rule(torch.Tensor.expand_as)
def _expand_as(x, other):
    # The exporter computes the shape from the other tensor, and stops where that is a slice.
    return x.expand(sizes_of(other))


@rule(torch.nn.functional.one_hot)
def _one_hot(tensor, num_classes=-1):
    if num_classes < 0:
        raise Error(f"one_hot at {caller_line()}: the number of classes would follow from values (OneHot num classes must be specified and "
                    "must be constant.): pass num_classes.")
    return torch.nn.functional.one_hot(tensor, num_classes)
