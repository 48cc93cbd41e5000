"""Writes at indices: x[…] = values and index_put, which PyTorch's ONNX exporter gets wrong for many kinds of indices."""

import torch

from .buffers import sizes_of
from .decomposition_rules import RULES, rule


def _spread(values, shape):
    """Broadcast to a shape. Leading axes of length 1 may be too many, as in PyTorch's writes."""
    while values.dim() > len(shape):
        values = values.squeeze(0)
    return values.expand(shape)


def _is_mask(index):
    return index.dtype in (torch.bool, torch.uint8)


def _masked(x, mask, values):
    """Write where the mask, which covers the first axes of x, is true. Values are one, or one for each place in order."""
    mask, rest = mask.to(torch.bool), sizes_of(x)[mask.dim() :]
    wide = mask.reshape(sizes_of(mask) + [1] * len(rest))
    if values.dim() <= len(rest) or sizes_of(values)[0] == 1:
        return torch.where(wide, _spread(values, sizes_of(x)), x)
    flat = mask.reshape(-1)
    places = (flat.to(torch.int64).cumsum(0) - 1).clamp(0, sizes_of(values)[0] - 1)
    return torch.where(wide, values.index_select(0, places).reshape(sizes_of(x)), x)


def _numbers(index, size):
    index = index.to(torch.int64)
    return torch.where(index < 0, index + size, index)


def _put(x, indices, values, accumulate=False):
    """Return x with values at the indices, a list with a tensor or None for each of the first axes of x."""
    values = values.to(x.dtype)
    if len(indices) == 1 and _is_mask(indices[0]) and not accumulate:
        return _masked(x, indices[0], values)
    indices = [each for index in indices for each in (
        index.nonzero().unbind(1) if index is not None and _is_mask(index) else (index,))]
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    shape = sizes_of(x)
    picked = torch.broadcast_tensors(*(indices[axis] for axis in axes))
    block, rest = sizes_of(picked[0]), [axis for axis in range(len(shape)) if axis not in axes]
    # What is picked stands at its own place if its axes are neighbours, otherwise in front.
    first = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0
    before, after = rest[:first], rest[first:]
    wanted = [shape[axis] for axis in before] + block + [shape[axis] for axis in after]
    values = _spread(values, wanted)
    order = [*range(len(before), len(before) + len(block)), *range(len(before)),
             *range(len(before) + len(block), len(wanted))]
    rows, columns = 1, 1
    for axis in axes:
        rows *= shape[axis]
    for axis in rest:
        columns *= shape[axis]
    place = torch.zeros((), dtype=torch.int64)
    for axis, index in zip(axes, picked):
        place = place * shape[axis] + _numbers(index, shape[axis])
    place = place.reshape(-1, 1)
    flat = x.permute(axes + rest).reshape(rows, columns)
    values = values.permute(order).reshape(-1, columns)
    place = place.expand(sizes_of(values))
    made = flat.scatter_add(0, place, values) if accumulate else flat.scatter(0, place, values)
    back = [(axes + rest).index(axis) for axis in range(len(shape))]
    return made.reshape([shape[axis] for axis in axes + rest]).permute(back)


@rule(torch.index_put, torch.Tensor.index_put)
def _index_put(x, indices, values, accumulate=False):
    return _put(x, list(indices), values, accumulate)


def _parts(x, index):
    """Divide an index into one that only views, and the tensors for the axes of that view."""
    index = list(index) if isinstance(index, tuple) else [index]
    index = [torch.tensor(each) if isinstance(each, list) else each for each in index]
    taken = sum(each.dim() if isinstance(each, torch.Tensor) and _is_mask(each) else 1 for each in index
                if each is not None and each is not Ellipsis)
    if Ellipsis not in [each for each in index if not isinstance(each, torch.Tensor)]:
        index.append(Ellipsis)
    view, tensors = [], []
    for each in index:
        if each is Ellipsis:
            view += [slice(None)] * (x.dim() - taken)
            tensors += [None] * (x.dim() - taken)
        elif isinstance(each, torch.Tensor):
            axes = each.dim() if _is_mask(each) else 1
            view += [slice(None)] * axes
            tensors.append(each)
        else:
            view.append(each)
            if not isinstance(each, int):
                tensors.append(None)
    while tensors and tensors[-1] is None:
        tensors.pop()
    return tuple(view), tensors


def _set(x, index, value):
    value = value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=x.dtype)
    view, tensors = _parts(x, index)
    target = x[view]
    if tensors:
        target.copy_(_put(target, tensors, value))
    else:
        target.copy_(_spread(value, sizes_of(target)))


def _has_tensor(index):
    index = index if isinstance(index, tuple) else (index,)
    return any(isinstance(each, (torch.Tensor, list)) for each in index)


@rule(torch.Tensor.__setitem__)
def _setitem(x, index, value):
    if not _has_tensor(index):
        return torch.Tensor.__setitem__(x, index, value)
    return _set(x, index, value)


RULES[torch.masked_fill] = RULES[torch.Tensor.masked_fill] = lambda x, mask, value: torch.where(
    mask.to(torch.bool), value.to(x.dtype) if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=x.dtype), x)


@rule(torch.masked_scatter, torch.Tensor.masked_scatter)
def _masked_scatter(x, mask, source):
    mask = mask.to(torch.bool).expand(sizes_of(x))
    return _masked(x.reshape(-1), mask.reshape(-1), source.reshape(-1)).reshape(sizes_of(x))
