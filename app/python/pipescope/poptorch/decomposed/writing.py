"""Reads and writes at indices, x[…] and x[…] = values, which PyTorch's ONNX exporter gets wrong for many kinds of indices."""

import torch

from ..buffers import sizes_of
from .rules import RULES, rule
from ..functional_graph import type_of


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


class _Places:
    """The elements of x to which indices point: a list with a tensor of numbers or None for each of the first axes of x.

    x is seen as rows, one for each combination of the indexed axes, and columns for the other axes.
    """

    def __init__(self, x, indices):
        self._shape = shape = sizes_of(x)
        self._axes = axes = [axis for axis, index in enumerate(indices) if index is not None]
        self._rest = rest = [axis for axis in range(len(shape)) if axis not in axes]
        picked = torch.broadcast_tensors(*(indices[axis] for axis in axes))
        self._block = sizes_of(picked[0])
        # Picked axes stand at their own place if they are neighbours, otherwise in front.
        first = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0
        self._before, self._after = rest[:first], rest[first:]
        self.wanted = [shape[axis] for axis in self._before] + self._block + [shape[axis] for axis in self._after]
        self._columns = 1
        for axis in rest:
            self._columns *= shape[axis]
        place = torch.zeros((), dtype=torch.int64)
        for axis, index in zip(axes, picked):
            place = place * shape[axis] + _numbers(index, shape[axis])
        self.rows = place.reshape(-1)

    def flat(self, x):
        """Return x as rows and columns."""
        rows = 1
        for axis in self._axes:
            rows *= self._shape[axis]
        return x.permute(self._axes + self._rest).reshape(rows, self._columns)

    def whole(self, flat):
        """Undo flat()."""
        order = self._axes + self._rest
        return flat.reshape([self._shape[axis] for axis in order]).permute([order.index(axis) for axis in range(len(order))])

    def picked_rows(self, values):
        """Return values in the shape of what is picked as rows."""
        count, before = len(self._block), len(self._before)
        order = [*range(before, before + count), *range(before), *range(before + count, len(self.wanted))]
        return values.permute(order).reshape(-1, self._columns)

    def picked(self, rows):
        """Undo picked_rows()."""
        count, before = len(self._block), len(self._before)
        made = rows.reshape(self._block + [self._shape[axis] for axis in self._rest])
        order = [*range(count, count + before), *range(count), *range(count + before, len(self.wanted))]
        return made.permute(order)


def put(x, indices, values, accumulate=False):
    """Return x with values at the indices, a list with a tensor or None for each of the first axes of x."""
    values = values.to(x.dtype)
    if len(indices) == 1 and _is_mask(indices[0]) and not accumulate:
        return _masked(x, indices[0], values)
    indices = [each for index in indices for each in (
        index.nonzero().unbind(1) if index is not None and _is_mask(index) else (index,))]
    places = _Places(x, indices)
    values = places.picked_rows(_spread(values, places.wanted))
    rows = places.rows.reshape(-1, 1).expand(sizes_of(values))
    flat = places.flat(x)
    return places.whole(flat.scatter_add(0, rows, values) if accumulate else flat.scatter(0, rows, values))


def pick(x, indices):
    """Return what x holds at the indices, tensors of numbers or None."""
    places = _Places(x, indices)
    return places.picked(places.flat(x).index_select(0, places.rows))


class _Pick(torch.nn.Module):
    """pick() as a module that can be traced; `places` says which of the indices are tensors."""

    def __init__(self, places):
        super().__init__()
        self._places = places

    def forward(self, x, *given):
        given = iter(given)
        return pick(x, [next(given) if place else None for place in self._places])


class _Put(torch.nn.Module):
    """put() as a module that can be traced; `places` says which of the indices are tensors."""

    def __init__(self, places, accumulate):
        super().__init__()
        self._places, self._accumulate = places, accumulate

    def forward(self, x, values, *given):
        given = iter(given)
        return put(x, [next(given) if place else None for place in self._places], values, self._accumulate)


def _example(value):
    return torch.zeros(value.type().sizes(), dtype=type_of(value))


def _replace(graph, node, module, tensors):
    """Replace a node by what a module does with these traced tensors."""
    made = torch.jit._get_trace_graph(module, tuple(map(_example, tensors)), strict=False)[0]
    graph.setInsertPoint(node)
    last = node.prev()
    output = graph.insertGraph(made, tensors)[0]
    each = node.prev()
    while each != last:
        each.copyMetadata(node)
        each = each.prev()
    node.output().replaceAllUsesWith(output)
    node.destroy()


def expand_indices(graph):
    """Replace reads and writes at indices in a traced graph by put() and pick().

    Python does not see the write in x[…] = values. The exporter reads at the wrong places if one of several indices is negative.
    """
    for node in list(graph.nodes()):
        if node.kind() not in ("aten::index_put", "aten::index"):
            continue
        x, listed, *rest = node.inputs()
        indices = list(listed.node().inputs())
        places = [isinstance(each.type(), torch._C.TensorType) for each in indices]
        given = [each for each, place in zip(indices, places) if place]
        tensors = [x, *rest[:1], *given]
        if any(each.type().sizes() is None or type_of(each) is None for each in tensors):
            continue  # the exporter knows some of these
        if rest:
            _replace(graph, node, _Put(places, bool(rest[1].toIValue())), tensors)
        elif len(given) > 1 and not any(type_of(each) in (torch.bool, torch.uint8) for each in given):
            _replace(graph, node, _Pick(places), tensors)


RULES[torch.masked_fill] = RULES[torch.Tensor.masked_fill] = lambda x, mask, value: torch.where(
    mask.to(torch.bool), value.to(x.dtype) if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=x.dtype), x)


@rule(torch.masked_scatter, torch.Tensor.masked_scatter)
def _masked_scatter(x, mask, source):
    mask = mask.to(torch.bool).expand(sizes_of(x))
    return _masked(x.reshape(-1), mask.reshape(-1), source.reshape(-1)).reshape(sizes_of(x))
