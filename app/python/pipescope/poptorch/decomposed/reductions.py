"""Reductions and searches along axes that PyTorch's ONNX exporter refuses or exports wrongly."""

import math

import torch

from ..buffers import sizes_of
from .rules import RULES, axis_of, rule
from ..errors import Error, caller_line


def _axes(x, dim):
    """The axes as a list; all of them where none are given."""
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return list(range(x.dim()))
    return [axis_of(axis, x) for axis in ([dim] if isinstance(dim, int) else dim)]


def _is_real(x):
    return x.is_floating_point()


def _extremum(function):
    def decomposition(x, dim=(), keepdim=False):
        if x.dim() == 0:
            return x.clone()
        if x.dtype == torch.bool:
            return function(x.to(torch.int32), _axes(x, dim), keepdim).to(torch.bool)
        return function(x, _axes(x, dim), keepdim)

    return decomposition


def _of_all_or_one(function):
    """max() or min() of truth values, which the devices compute of numbers only."""

    def decomposition(x, *args, **kwargs):
        if x.dtype != torch.bool or args and isinstance(args[0], torch.Tensor) or "other" in kwargs:
            return function(x, *args, **kwargs)
        made = function(x.to(torch.int32), *args, **kwargs)
        return made.to(torch.bool) if isinstance(made, torch.Tensor) else type(made)((made[0].to(torch.bool), made[1]))

    return decomposition


RULES[torch.max] = RULES[torch.Tensor.max] = _of_all_or_one(torch.max)
RULES[torch.min] = RULES[torch.Tensor.min] = _of_all_or_one(torch.min)
RULES[torch.amax] = RULES[torch.Tensor.amax] = _extremum(torch.amax)
RULES[torch.amin] = RULES[torch.Tensor.amin] = _extremum(torch.amin)


@rule(torch.nansum, torch.Tensor.nansum)
def _nansum(x, dim=None, keepdim=False, *, dtype=None):
    if _is_real(x):
        x = torch.where(x != x, torch.zeros_like(x), x)
    return x.sum(_axes(x, dim), keepdim, dtype=dtype) if x.dim() else x.sum(dtype=dtype)


@rule(torch.nanmean, torch.Tensor.nanmean)
def _nanmean(x, dim=None, keepdim=False, *, dtype=None):
    kept = (x == x).to(x.dtype)
    return _nansum(x, dim, keepdim, dtype=dtype) / kept.sum(_axes(x, dim), keepdim)


@rule(torch.count_nonzero, torch.Tensor.count_nonzero)
def _count_nonzero(x, dim=None):
    counted = (x != 0).to(torch.int64)
    return counted.sum(_axes(x, dim)) if x.dim() else counted


def _middle(x, dim, keepdim):
    """The lower median along an axis, and where it is."""
    count = sizes_of(x)[dim]
    k = (count - 1) // 2 + 1
    values, places = x.topk(k, dim, largest=False, sorted=True)
    values, places = values.narrow(dim, k - 1, 1), places.narrow(dim, k - 1, 1)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


@rule(torch.median, torch.Tensor.median)
def _median(x, dim=None, keepdim=False):
    if dim is None:
        return _middle(x.flatten(), 0, False)[0] if x.dim() else x.clone()
    if x.dim() == 0:
        return torch.return_types.median((x.clone(), torch.zeros((), dtype=torch.int64)))
    return torch.return_types.median(_middle(x, axis_of(dim, x), keepdim))


@rule(torch.norm, torch.Tensor.norm)
def _norm(x, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    p = 2 if p is None or p == "fro" else p
    x = x if dtype is None else x.to(dtype)
    if p == "nuc":
        return torch.norm(x, p, dim, keepdim)
    return _vector_norm(x, p, dim, keepdim)


@rule(torch.linalg.vector_norm)
def _vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    x = x if dtype is None else x.to(dtype)
    axes = _axes(x, dim)
    size = x.abs()
    if x.dim() == 0:
        return (x != 0).to(x.dtype) if ord == 0 else size
    if ord == math.inf:
        return torch.amax(size, axes, keepdim)
    if ord == -math.inf:
        return torch.amin(size, axes, keepdim)
    if ord == 0:
        return (x != 0).to(x.dtype).sum(axes, keepdim)
    if ord == 1:
        return size.sum(axes, keepdim)
    if ord == 2:
        return (x * x).sum(axes, keepdim).sqrt()
    return (size**ord).sum(axes, keepdim) ** (1.0 / ord)


@rule(torch.linalg.norm)
def _linalg_norm(x, ord=None, dim=None, keepdim=False, *, dtype=None):
    if ord is None or dim is not None and isinstance(dim, int) or x.dim() == 1:
        return _vector_norm(x if ord is not None or dim is not None else x.flatten(), 2 if ord is None else ord,
                            dim, keepdim, dtype=dtype)
    return torch.linalg.norm(x, ord, dim, keepdim, dtype=dtype)


def _difference_norm(difference, p):
    """The p-norm along the last axis. The gradient of 0 is 0, as in PyTorch."""
    size = difference.abs()
    if p == math.inf:
        return torch.amax(size, [-1])
    if p == 0:
        return (difference != 0).to(difference.dtype).sum(-1)
    if p == 1:
        return size.sum(-1)
    powers = (difference * difference if p == 2 else size**p).sum(-1)
    return powers.sqrt() if p == 2 else powers ** (1.0 / p)


@rule(torch.pairwise_distance, torch.nn.functional.pairwise_distance)
def _pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    distance = _difference_norm(x1 - x2 + eps, p)
    return distance.unsqueeze(-1) if keepdim else distance


@rule(torch.cdist)
def _cdist(x1, x2, p=2.0, compute_mode=None):
    return _difference_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


@rule(torch.nn.functional.pdist, torch.pdist)
def _pdist(x, p=2.0):
    count = sizes_of(x)[0]
    rows, columns = torch.triu_indices(count, count, 1)
    return _difference_norm(x[rows] - x[columns], p)


@rule(torch.cumprod, torch.Tensor.cumprod)
def _cumprod(x, dim, *, dtype=None):
    # Each round multiplies by the products that end twice as far in front.
    x = x if dtype is None else x.to(dtype)
    x = x.to(torch.int64) if dtype is None and not _is_real(x) else x
    if x.dim() == 0:
        return x.clone()
    dim = axis_of(dim, x)
    count, shift = sizes_of(x)[dim], 1
    while shift < count:
        x = torch.cat([x.narrow(dim, 0, shift), x.narrow(dim, shift, count - shift) * x.narrow(dim, 0, count - shift)], dim)
        shift *= 2
    return x


@rule(torch.cumsum, torch.Tensor.cumsum)
def _cumsum(x, dim, *, dtype=None):
    # Whole numbers become int64 before they are added.
    return torch.cumsum(x if dtype is not None or _is_real(x) else x.to(torch.int64), dim, dtype=dtype)


@rule(torch.logcumsumexp, torch.Tensor.logcumsumexp)
def _logcumsumexp(x, dim):
    top = x.amax([dim], keepdim=True).detach()
    return (x - top).exp().cumsum(dim).log() + top


@rule(torch.sort, torch.Tensor.sort)
def _sort(x, dim=-1, descending=False, stable=False):
    # TopK keeps the order of equal elements.
    if x.dim() == 0:
        return torch.return_types.sort((x.clone(), torch.zeros((), dtype=torch.int64)))
    return torch.return_types.sort(tuple(x.topk(sizes_of(x)[axis_of(dim, x)], dim, largest=descending, sorted=True)))


@rule(torch.argsort, torch.Tensor.argsort)
def _argsort(x, dim=-1, descending=False, stable=False):
    return _sort(x, dim, descending)[1]


@rule(torch.msort, torch.Tensor.msort)
def _msort(x):
    return _sort(x, 0)[0]


@rule(torch.kthvalue, torch.Tensor.kthvalue)
def _kthvalue(x, k, dim=-1, keepdim=False):
    values, places = x.topk(k, dim, largest=False, sorted=True)
    values, places = values.narrow(dim, k - 1, 1), places.narrow(dim, k - 1, 1)
    found = (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))
    return torch.return_types.kthvalue(found)


@rule(torch.bincount, torch.Tensor.bincount)
def _bincount(x, weights=None, minlength=0):
    count = int(minlength)
    if count < 1:
        raise Error(f"bincount at {caller_line()} has no minlength, so its shape would depend on values: pass the number of bins.")
    ones = torch.ones_like(x, dtype=torch.int64) if weights is None else weights
    return torch.zeros(count, dtype=ones.dtype).scatter_add(0, x.to(torch.int64), ones)


def _of_truth(function):
    """all() or any() of numbers: what is not 0 is true."""

    def decomposition(x, *args, **kwargs):
        made = function(x if x.dtype == torch.bool else x != 0, *args, **kwargs)
        return made.to(torch.uint8) if x.dtype == torch.uint8 else made  # as PyTorch does for reasons of age

    return decomposition


RULES[torch.all] = RULES[torch.Tensor.all] = _of_truth(torch.all)
RULES[torch.any] = RULES[torch.Tensor.any] = _of_truth(torch.any)
