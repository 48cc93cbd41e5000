"""Arithmetic and comparisons that PyTorch's ONNX exporter refuses or exports wrongly."""

import math

import torch
import torch.nn.functional as F

from ..buffers import sizes_of
from ..errors import Error
from .rules import rule


@rule(torch.exp2, torch.Tensor.exp2, torch.special.exp2)
def _exp2(x):
    return torch.exp(x * math.log(2.0))


@rule(torch.isclose, torch.Tensor.isclose)
def _isclose(x, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    close = (x - other).abs() <= atol + rtol * other.abs()
    same = x == other  # infinities
    if x.is_floating_point():
        close = close & torch.isfinite(other)
    if equal_nan:
        same = same | ((x != x) & (other != other))
    return close | same


@rule(torch.square, torch.Tensor.square)
def _square(x):
    x = x.to(torch.int64) if x.dtype == torch.bool else x
    return x * x


def _scaled_sum(x, product, beta, alpha):
    """beta · x + alpha · product. As in PyTorch, a beta of 0 leaves out x, which may hold anything."""
    product = product if alpha == 1 else alpha * product
    return product.clone() if beta == 0 else (x if beta == 1 else beta * x) + product


@rule(torch.addmv, torch.Tensor.addmv)
def _addmv(x, matrix, vector, *, beta=1, alpha=1):
    if alpha == 0:  # the product is left out, too, and may hold anything
        return torch.zeros_like(x) if beta == 0 else x * beta
    return _scaled_sum(x, torch.mv(matrix, vector), beta, alpha)


@rule(torch.addr, torch.Tensor.addr)
def _addr(x, first, second, *, beta=1, alpha=1):
    return _scaled_sum(x, first.unsqueeze(1) * second.unsqueeze(0), beta, alpha)


@rule(torch.addbmm, torch.Tensor.addbmm)
def _addbmm(x, first, second, *, beta=1, alpha=1):
    if alpha == 0:
        return torch.zeros_like(x) if beta == 0 else x * beta
    return _scaled_sum(x, torch.bmm(first, second).sum(0), beta, alpha)


@rule(torch.chain_matmul, torch.linalg.multi_dot)
def _chain_matmul(*matrices):
    matrices = matrices[0] if isinstance(matrices[0], (tuple, list)) else matrices
    made = matrices[0]
    for matrix in matrices[1:]:
        made = torch.matmul(made, matrix)
    return made


@rule(F.softplus)
def _softplus(x, beta=1, threshold=20):
    # The function is the identity above the threshold, with the slope 1. Float32 shows no difference from 20 on.
    if beta == 1 and threshold >= 20:
        return F.softplus(x)
    return torch.where(x * beta > threshold, x, F.softplus(x * beta) / beta)


@rule(torch.clamp, torch.Tensor.clamp, torch.clip, torch.Tensor.clip)
def _clamp(x, min=None, max=None):
    numbers = [each for each in (min, max) if each is not None]
    if not x.is_floating_point() and any(isinstance(each, float) for each in numbers):
        x = x.to(torch.get_default_dtype())
    tensors = any(isinstance(each, torch.Tensor) for each in numbers)
    if not tensors:
        return torch.clamp(x, min, max)
    if min is not None:
        x = torch.maximum(x, torch.as_tensor(min, dtype=x.dtype))
    return x if max is None else torch.minimum(x, torch.as_tensor(max, dtype=x.dtype))


@rule(torch.where)
def _where(condition, x=None, y=None):
    if x is None:
        return torch.where(condition)
    kind = torch.result_type(x, y)
    x, y = (each.to(kind) if isinstance(each, torch.Tensor) else torch.tensor(each, dtype=kind) for each in (x, y))
    return torch.where(condition, x, y)


@rule(torch.hypot, torch.Tensor.hypot)
def _hypot(x, y):
    return (x * x + y * y).sqrt()


@rule(torch.heaviside, torch.Tensor.heaviside)
def _heaviside(x, values):
    zero = torch.zeros_like(x)
    return torch.where(x == 0, values.expand(sizes_of(x)), torch.where(x > 0, torch.ones_like(x), zero))


@rule(torch.signbit, torch.Tensor.signbit)
def _signbit(x):
    return x < 0


def _only_real(function):
    """A function that leaves whole numbers as they are."""
    return lambda x, **settings: function(x, **settings) if x.is_floating_point() else x.clone()


for _name in ("floor", "ceil", "round"):
    rule(getattr(torch, _name), getattr(torch.Tensor, _name))(_only_real(getattr(torch, _name)))


@rule(torch.positive, torch.Tensor.positive)
def _positive(x):
    return x.clone()


@rule(torch.sgn, torch.Tensor.sgn, torch.sign, torch.Tensor.sign)
def _sign(x):
    return x.clone() if x.dtype == torch.bool else torch.sign(x)


@rule(torch.relu, torch.Tensor.relu, F.relu)
def _relu(x, inplace=False):
    if x.is_floating_point():
        return F.relu(x, inplace)
    made = torch.clamp(x, min=0)
    return x.copy_(made) if inplace else made


@rule(torch.isnan, torch.Tensor.isnan)
def _isnan(x):
    return torch.isnan(x) if x.is_floating_point() else torch.zeros(sizes_of(x), dtype=torch.bool)


@rule(torch.isinf, torch.Tensor.isinf)
def _isinf(x):
    return x.abs() == math.inf if x.is_floating_point() else torch.zeros(sizes_of(x), dtype=torch.bool)


@rule(torch.isposinf, torch.Tensor.isposinf)
def _isposinf(x):
    return x == math.inf


@rule(torch.isneginf, torch.Tensor.isneginf)
def _isneginf(x):
    return x == -math.inf


@rule(torch.sinc, torch.Tensor.sinc, torch.special.sinc)
def _sinc(x):
    x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    angle = x * math.pi
    safe = torch.where(x == 0, torch.ones_like(x), angle)
    return torch.where(x == 0, torch.ones_like(x), torch.sin(safe) / safe)


@rule(torch.deg2rad, torch.Tensor.deg2rad)
def _deg2rad(x):
    return x * (math.pi / 180)


@rule(torch.rad2deg, torch.Tensor.rad2deg)
def _rad2deg(x):
    return x * (180 / math.pi)


@rule(torch.logaddexp, torch.Tensor.logaddexp)
def _logaddexp(x, y):
    return torch.maximum(x, y) + torch.log1p(torch.exp(-(x - y).abs()))


@rule(torch.xlogy, torch.Tensor.xlogy, torch.special.xlogy)
def _xlogy(x, y):
    safe = torch.where(x == 0, torch.ones_like(x * y), y * torch.ones_like(x))
    return x * torch.log(safe)


def _check_adaptive(name, x, axes, wanted):
    """Refuse an adaptive pooling whose windows would differ in size, as PopTorch does."""
    sizes = sizes_of(x)[-axes:]
    for size, made in zip(sizes, wanted if isinstance(wanted, (tuple, list)) else [wanted] * axes):
        if made is not None and int(made) > 0 and size % int(made):
            raise Error(f"{name} of {list(sizes)} to {wanted}: devices pool in windows of one size, and {made} does not divide {size}. "
                        f"Choose a divisor of {size}, or resize the input first, with interpolate.")


def _without_batch(function, name, axes):
    """A pooling of inputs that may have no axis for the batch."""

    def decomposition(x, *args, **kwargs):
        if name.startswith("adaptive"):
            _check_adaptive(name.removesuffix("_with_indices"), x, axes, kwargs.get("output_size", *args[:1]))
        if x.dim() == axes + 2:
            return function(x, *args, **kwargs)
        made = function(x.unsqueeze(0), *args, **kwargs)
        return tuple(each.squeeze(0) for each in made) if isinstance(made, tuple) else made.squeeze(0)

    return decomposition


for _axes in (1, 2, 3):
    for _name in (f"avg_pool{_axes}d", f"adaptive_avg_pool{_axes}d", f"adaptive_max_pool{_axes}d", f"max_pool{_axes}d",
                  f"adaptive_max_pool{_axes}d_with_indices", f"max_pool{_axes}d_with_indices", f"lp_pool{_axes}d"):
        if hasattr(F, _name):
            rule(getattr(F, _name))(_without_batch(getattr(F, _name), _name, _axes))


@rule(F.group_norm)
def _group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    shape = sizes_of(x)
    if len(shape) > 2:
        return F.group_norm(x, num_groups, weight, bias, eps)
    grouped = x.reshape(shape[0], num_groups, -1).float()  # PyTorch, too, rounds once
    centred = grouped - grouped.mean(-1, keepdim=True)
    variance = (centred * centred).mean(-1, keepdim=True)
    y = (centred / (variance + eps).sqrt()).reshape(shape)
    wide = [1, shape[1], *[1] * (len(shape) - 2)]
    y = y if weight is None else y * weight.reshape(wide).float()
    return (y if bias is None else y + bias.reshape(wide).float()).to(x.dtype)
