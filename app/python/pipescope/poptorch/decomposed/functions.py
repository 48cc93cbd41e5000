"""Elementwise functions and changes of shape that PyTorch's ONNX exporter refuses or exports wrongly."""

import math

import torch

from ..buffers import sizes_of
from .rules import axis_of, rule
from ..errors import Error, caller_line


@rule(torch.unflatten, torch.Tensor.unflatten)
def _unflatten(x, dim, sizes):
    sizes = [size[1] if isinstance(size, (tuple, list)) else size for size in sizes]
    dim = axis_of(dim, x)
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


@rule(torch.expm1, torch.Tensor.expm1, torch.special.expm1)
def _expm1(x):
    # Near 0, exp(x) − 1 would lose digits.
    return torch.tanh(x / 2) * (torch.exp(x) + 1)


@rule(torch.addcdiv, torch.Tensor.addcdiv)
def _addcdiv(x, first, second, *, value=1):
    return x + value * (first / second)


@rule(torch.autograd.grad, torch.Tensor.backward)
def _gradient(*args, **kwargs):
    raise Error(f"The model computes a gradient itself at {caller_line()}, as for a gradient penalty, which is not supported: "
                "the devices differentiate the whole model once.")


@rule(torch.dot, torch.Tensor.dot)
def _dot(first, second):
    # The exporter does not know that its form has no axes.
    return (first * second).sum()


@rule(torch.atan2, torch.Tensor.atan2, torch.arctan2, torch.Tensor.arctan2)
def _atan2(y, x):
    angle = torch.atan(y / x)
    turned = torch.where(y >= 0, angle + math.pi, angle - math.pi)
    upright = torch.sign(y) * (math.pi / 2)
    return torch.where(x > 0, angle, torch.where(x < 0, turned, upright))


@rule(torch.trunc, torch.Tensor.trunc, torch.fix, torch.Tensor.fix)
def _trunc(x):
    return torch.sign(x) * torch.floor(x.abs()) if x.is_floating_point() else x


@rule(torch.floor_divide, torch.Tensor.floor_divide, torch.Tensor.__floordiv__)
def _floor_divide(x, divisor):
    # The exporter rounds towards 0. Whole numbers are divided by it as they are.
    kinds = [each.is_floating_point() if isinstance(each, torch.Tensor) else isinstance(each, float)
             for each in (x, divisor)]
    return torch.floor(x / divisor) if any(kinds) else torch.div(x, divisor, rounding_mode="floor")


@rule(torch.frac, torch.Tensor.frac)
def _frac(x):
    return x - _trunc(x)


@rule(torch.fmod, torch.Tensor.fmod)
def _fmod(x, divisor):
    kinds = [each.is_floating_point() if isinstance(each, torch.Tensor) else isinstance(each, float)
             for each in (x, divisor)]
    whole = _trunc(x / divisor) if any(kinds) else torch.div(x, divisor, rounding_mode="trunc")
    return x - whole * divisor


@rule(torch.erfc, torch.Tensor.erfc, torch.special.erfc)
def _erfc(x):
    return 1 - torch.erf(x)


@rule(torch.logit, torch.Tensor.logit, torch.special.logit)
def _logit(x, eps=None):
    x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    x = x if eps is None else x.clamp(eps, 1 - eps)
    return torch.log(x / (1 - x))


@rule(torch.nan_to_num, torch.Tensor.nan_to_num)
def _nan_to_num(x, nan=None, posinf=None, neginf=None):
    limits = torch.finfo(x.dtype)
    x = torch.where(x != x, torch.full_like(x, nan or 0.0), x)
    x = torch.where(x == math.inf, torch.full_like(x, limits.max if posinf is None else posinf), x)
    return torch.where(x == -math.inf, torch.full_like(x, limits.min if neginf is None else neginf), x)


@rule(torch.hstack)
def _hstack(tensors):
    tensors = [tensor if tensor.dim() > 0 else tensor.reshape(1) for tensor in tensors]
    return torch.cat(tensors, 0 if tensors[0].dim() == 1 else 1)


@rule(torch.column_stack)
def _column_stack(tensors):
    return torch.cat([tensor.reshape(-1, 1) if tensor.dim() < 2 else tensor for tensor in tensors], 1)


@rule(torch.vstack, torch.row_stack)
def _vstack(tensors):
    return torch.cat([tensor.reshape(1, -1) if tensor.dim() < 2 else tensor for tensor in tensors], 0)


@rule(torch.index_add, torch.Tensor.index_add)
def _index_add(x, dim, index, source, *, alpha=1):
    dim = axis_of(dim, x)
    shape = [-1 if axis == dim else 1 for axis in range(x.dim())]
    return x.scatter_add(dim, index.reshape(shape).expand(sizes_of(source)), source * alpha)


@rule(torch.tile, torch.Tensor.tile)
def _tile(x, *dims):
    dims = list(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else list(dims)
    return x.repeat([1] * (x.dim() - len(dims)) + dims)


@rule(torch.take_along_dim, torch.Tensor.take_along_dim)
def _take_along_dim(x, indices, dim=None):
    if dim is None:
        return x.flatten().gather(0, indices.flatten())
    dim = axis_of(dim, x)
    shape = list(torch.broadcast_shapes([1 if i == dim else n for i, n in enumerate(x.shape)],
                                        [1 if i == dim else n for i, n in enumerate(indices.shape)]))

    def widened(tensor):
        return tensor.expand([tensor.shape[i] if i == dim else n for i, n in enumerate(shape)])

    return widened(x).gather(dim, widened(indices))


@rule(torch.Tensor.mT.__get__, torch.Tensor.mH.__get__, torch.Tensor.H.__get__, torch.Tensor.adjoint, torch.adjoint)
def _transposed(x):
    return x.transpose(-2, -1)  # of real numbers
