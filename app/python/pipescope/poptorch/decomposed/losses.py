"""Losses that PyTorch's ONNX exporter refuses, written with functions that it can export."""

import functools
import math

import torch
import torch.nn.functional as F

from ..buffers import sizes_of
from .rules import RULES, rule


def _reduced(values, reduction, size_average=None, reduce=None):
    if size_average is not None or reduce is not None:
        reduction = F._Reduction.legacy_get_string(size_average, reduce, emit_warning=False)
    if reduction == "none":
        return values
    if reduction not in ("mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return values.mean() if reduction == "mean" else values.sum()


def _loss(function, is_weighted=False):
    """Register a loss whose values by element are given. The arguments of reductions come last, as in PyTorch.

    With `is_weighted`, elements may have weights, which newer versions of PyTorch take: a mean is then the sum divided by that
    of the weights.
    """

    def register(values):
        @functools.wraps(values)
        def decomposition(*args, size_average=None, reduce=None, reduction="mean", **kwargs):
            weight = kwargs.pop("weight", None) if is_weighted else None
            elements = values(*args, **kwargs)
            if weight is None:
                return _reduced(elements, reduction, size_average, reduce)
            if size_average is not None or reduce is not None:
                reduction = F._Reduction.legacy_get_string(size_average, reduce, emit_warning=False)
            whole = _reduced(elements * weight, reduction)
            return whole / weight.mean() if reduction == "mean" else whole

        RULES[function] = decomposition
        return decomposition

    return register


@_loss(F.l1_loss, is_weighted=True)
def _l1(x, target):
    return (x - target).abs()


@_loss(F.mse_loss, is_weighted=True)
def _mse(x, target):
    return (x - target) * (x - target)


@_loss(F.smooth_l1_loss)
def _smooth_l1(x, target, beta=1.0):
    far = (x - target).abs()
    return far if beta == 0 else torch.where(far < beta, far * far * (0.5 / beta), far - 0.5 * beta)


@_loss(F.huber_loss)
def _huber(x, target, delta=1.0, weight=None):
    far = (x - target).abs()
    values = torch.where(far < delta, far * far * 0.5, (far - 0.5 * delta) * delta)
    return values if weight is None else values * weight


@_loss(F.binary_cross_entropy)
def _binary_cross_entropy(x, target, weight=None):
    # PyTorch limits the logarithms to −100, so that a probability of 0 gives a finite loss.
    values = -(target * x.log().clamp(min=-100.0) + (1 - target) * (1 - x).log().clamp(min=-100.0))
    return values if weight is None else values * weight


@_loss(F.poisson_nll_loss)
def _poisson(x, target, log_input=True, full=False, eps=1e-8):
    values = x.exp() - target * x if log_input else x - target * (x + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        values = values + torch.where(target > 1, stirling, torch.zeros_like(stirling))
    return values


@_loss(F.hinge_embedding_loss)
def _hinge(x, target, margin=1.0):
    zero = torch.zeros_like(x)
    return torch.where(target == 1, x, zero) + torch.where(target == -1, (margin - x).clamp(min=0.0), zero)


@rule(F.kl_div)
def _kl_div(x, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    if log_target:
        values = target.exp() * (target - x)
    else:
        # 0 · log 0 counts as 0.
        safe = torch.where(target > 0, target, torch.ones_like(target))
        values = torch.where(target > 0, target * (safe.log() - x), torch.zeros_like(x))
    if reduction == "batchmean":
        return values.sum() / sizes_of(x)[0]
    return _reduced(values, reduction, size_average, reduce)


@_loss(F.margin_ranking_loss)
def _ranking(first, second, target, margin=0.0):
    return (-target * (first - second) + margin).clamp(min=0.0)


@_loss(F.soft_margin_loss)
def _soft_margin(x, target):
    return torch.log1p((-target * x).exp())


@_loss(F.cosine_embedding_loss)
def _cosine(first, second, target, margin=0.0):
    scale = ((first * first).sum(-1) + 1e-12) * ((second * second).sum(-1) + 1e-12)
    cosine = (first * second).sum(-1) / scale.sqrt()
    zero = torch.zeros_like(cosine)
    return torch.where(target == 1, 1 - cosine, zero) + torch.where(
        target == -1, (cosine - margin).clamp(min=0.0), zero)


@_loss(F.triplet_margin_loss)
def _triplet(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False):
    def distance(a, b):
        return ((a - b + eps).abs() ** p).sum(-1) ** (1.0 / p)

    away = distance(anchor, negative)
    if swap:
        away = torch.minimum(away, distance(positive, negative))
    return (distance(anchor, positive) - away + margin).clamp(min=0.0)


@_loss(F.multi_margin_loss)
def _multi_margin(x, target, p=1, margin=1.0, weight=None):
    chosen = x.gather(-1, target.unsqueeze(-1))
    values = (margin - chosen + x).clamp(min=0.0) ** p
    if weight is not None:
        values = values * weight[target].unsqueeze(-1)
    own = torch.arange(x.shape[-1]) == target.unsqueeze(-1)
    return torch.where(own, torch.zeros_like(values), values).sum(-1) / x.shape[-1]


_IMPOSSIBLE = -1e30  # the logarithm of the probability of what cannot be; differences of infinities would be NaN


def _in_rows(targets, lengths, longest):
    """Targets that follow each other in one axis, as a row for each sample."""
    first = lengths.cumsum(0) - lengths
    places = (first.unsqueeze(1) + torch.arange(longest).unsqueeze(0)).clamp(max=max(sizes_of(targets)[0] - 1, 0))
    return targets.index_select(0, places.reshape(-1)).reshape(sizes_of(places))


def _moved(alpha, steps):
    """Values that stood `steps` places in front."""
    return F.pad(alpha, (steps, 0), value=_IMPOSSIBLE)[:, : sizes_of(alpha)[1]]


def _sum_of_paths(*logs):
    top = functools.reduce(torch.maximum, logs).detach()
    return top + torch.log(sum((each - top).exp() for each in logs))


@rule(F.ctc_loss)
def _ctc(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    if log_probs.dim() == 2:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0) if targets.dim() == 1 else targets
    lengths = [torch.as_tensor(each).reshape(-1).to(torch.int64) for each in (input_lengths, target_lengths)]
    steps, rows = sizes_of(log_probs)[:2]
    if targets.dim() == 1:
        constant = not isinstance(target_lengths, torch.Tensor)
        targets = _in_rows(targets, lengths[1], int(max(target_lengths)) if constant else sizes_of(targets)[0])
    targets = targets.to(torch.int64)
    longest = sizes_of(targets)[1]
    # Blanks stand between the labels and at both ends. A path may leave out a blank between different labels.
    blanks = torch.full([rows, longest, 1], blank, dtype=torch.int64)
    states = torch.cat([torch.cat([blanks, targets.unsqueeze(2)], 2).reshape(rows, 2 * longest),
                        torch.full([rows, 1], blank, dtype=torch.int64)], 1)
    before = torch.cat([torch.full([rows, 2], blank, dtype=torch.int64), states[:, :-2]], 1)[:, : 2 * longest + 1]
    skips = (states != blank) & (states != before)
    alpha = torch.where(torch.arange(2 * longest + 1).unsqueeze(0) < 2, log_probs[0].gather(1, states),
                        torch.full([1, 1], _IMPOSSIBLE))
    for step in range(1, steps):
        leaps = torch.where(skips, _moved(alpha, 2), torch.full([1, 1], _IMPOSSIBLE))
        moved = log_probs[step].gather(1, states) + _sum_of_paths(alpha, _moved(alpha, 1), leaps)
        alpha = torch.where((lengths[0] > step).unsqueeze(1), moved, alpha)
    last = (2 * lengths[1]).unsqueeze(1)
    label = torch.where(last > 0, alpha.gather(1, (last - 1).clamp(min=0)), torch.full([1, 1], _IMPOSSIBLE))
    values = -_sum_of_paths(alpha.gather(1, last), label).squeeze(1)
    none = torch.zeros_like(values) if zero_infinity else torch.full_like(values, math.inf)
    values = torch.where(values > 1e20, none, values)
    if reduction == "mean":
        return (values / lengths[1].clamp(min=1)).mean()
    return _reduced(values, reduction)


@rule(F.cross_entropy)
def _cross_entropy(x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                   label_smoothing=0.0):
    classes = 1 if x.dim() > 1 else 0
    by_probability = target.is_floating_point()
    if not by_probability and label_smoothing == 0.0:
        return F.cross_entropy(x, target, weight, size_average, ignore_index, reduce, reduction)
    if size_average is not None or reduce is not None:
        reduction = F._Reduction.legacy_get_string(size_average, reduce, emit_warning=False)
    logs = F.log_softmax(x, classes)
    shape = [1] * x.dim()
    shape[classes] = x.shape[classes]
    weighted = logs if weight is None else logs * weight.view(shape)
    if by_probability:
        if label_smoothing > 0:
            target = target * (1 - label_smoothing) + label_smoothing / x.shape[classes]
        values = -(weighted * target).sum(classes)
        return values.sum() / (x.numel() / x.shape[classes]) if reduction == "mean" else _reduced(values, reduction)
    kept = target != ignore_index
    index = torch.where(kept, target, torch.zeros_like(target))
    chosen = -weighted.gather(classes, index.unsqueeze(classes)).squeeze(classes)
    smooth = -weighted.sum(classes) / x.shape[classes]
    values = (1 - label_smoothing) * chosen + label_smoothing * smooth
    values = torch.where(kept, values, torch.zeros_like(values))
    if reduction != "mean":
        return _reduced(values, reduction)
    each = kept.to(x.dtype) if weight is None else kept.to(x.dtype) * weight[index]
    return values.sum() / each.sum()
