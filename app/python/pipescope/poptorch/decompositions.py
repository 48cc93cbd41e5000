"""Functions of PyTorch that its ONNX exporter refuses or exports wrongly, written with functions that it can export.

While a model is traced, `Decomposed` puts these in their places. The random numbers of dropout are drawn by the devices.
"""

import functools
import math
import sys

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

_RULES = {}


def _rule(*functions):
    def register(decomposition):
        for function in functions:
            _RULES[function] = decomposition
        return decomposition

    return register


class Decomposed(TorchFunctionMode):
    """While it is entered, the functions of this file take the place of PyTorch's.

    `caught` is the list of warnings that are recorded meanwhile. They name the line that called a function of PyTorch.
    """

    def __init__(self, caught):
        super().__init__()
        self._caught = caught

    def __torch_function__(self, func, types, args=(), kwargs=None):
        known = len(self._caught)
        result = _RULES.get(func, func)(*args, **(kwargs or {}))
        for each in self._caught[known:]:
            if each.filename == __file__:
                caller = sys._getframe(1)
                while caller.f_code.co_filename == torch.overrides.__file__:
                    caller = caller.f_back
                each.filename, each.lineno = caller.f_code.co_filename, caller.f_lineno
        return result


# --- losses ------------------------------------------------------------------------------------------------------


def _reduced(values, reduction, size_average=None, reduce=None):
    if size_average is not None or reduce is not None:
        reduction = F._Reduction.legacy_get_string(size_average, reduce, emit_warning=False)
    if reduction == "none":
        return values
    if reduction not in ("mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return values.mean() if reduction == "mean" else values.sum()


def _loss(function):
    """Register a loss whose values by element are given. The arguments of reductions come last, as in PyTorch."""

    def register(values):
        @functools.wraps(values)
        def decomposition(*args, size_average=None, reduce=None, reduction="mean", **kwargs):
            return _reduced(values(*args, **kwargs), reduction, size_average, reduce)

        _RULES[function] = decomposition
        return decomposition

    return register


@_loss(F.l1_loss)
def _l1(x, target):
    return (x - target).abs()


@_loss(F.mse_loss)
def _mse(x, target):
    return (x - target) * (x - target)


@_loss(F.smooth_l1_loss)
def _smooth_l1(x, target, beta=1.0):
    far = (x - target).abs()
    return far if beta == 0 else torch.where(far < beta, far * far * (0.5 / beta), far - 0.5 * beta)


@_loss(F.huber_loss)
def _huber(x, target, delta=1.0):
    far = (x - target).abs()
    return torch.where(far < delta, far * far * 0.5, (far - 0.5 * delta) * delta)


@_loss(F.binary_cross_entropy)
def _binary_cross_entropy(x, target, weight=None):
    # PyTorch, too, lets no logarithm become less than −100.
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


@_rule(F.cross_entropy)
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


# --- dropout and other random numbers ----------------------------------------------------------------------------


def _kept_features(x, p, batched):
    """1 ÷ (1 − p) for channels that are kept, and 0 for the others."""
    channels = x[..., :1] if batched == 1 else x.flatten(2)[..., :1]
    return F.dropout(torch.ones_like(channels), p, True).view(*x.shape[:2], *[1] * (x.dim() - 2))


def _dropout_of_channels(dimensions):
    def decomposition(x, p=0.5, training=True, inplace=False):
        if not training or p == 0:
            return x
        if x.dim() == dimensions + 1:  # without a batch
            return decomposition(x.unsqueeze(0), p, training).squeeze(0)
        return x * _kept_features(x, p, dimensions)

    return decomposition


for _dimensions, _function in ((1, F.dropout1d), (2, F.dropout2d), (3, F.dropout3d)):
    _RULES[_function] = _dropout_of_channels(_dimensions)


@_rule(torch.feature_dropout)
def _feature_dropout(x, p, train):
    return x * _kept_features(x, p, x.dim() - 2) if train and p > 0 else x


_SELU = -1.7580993408473766  # the value that SELU tends to, below


def _alpha(x, kept, p):
    scale = ((1 - p) * (1 + p * _SELU * _SELU)) ** -0.5
    return scale * (x * kept + _SELU * (1 - kept)) - scale * p * _SELU


@_rule(F.alpha_dropout)
def _alpha_dropout(x, p=0.5, training=False, inplace=False):
    if not training or p == 0:
        return x
    return _alpha(x, F.dropout(torch.ones_like(x), p, True) * (1 - p), p)


@_rule(F.feature_alpha_dropout)
def _feature_alpha_dropout(x, p=0.5, training=False, inplace=False):
    if not training or p == 0:
        return x
    return _alpha(x, _kept_features(x, p, x.dim() - 2) * (1 - p), p)


@_rule(F.rrelu)
def _rrelu(x, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    slope = lower + (upper - lower) * torch.rand_like(x) if training else (lower + upper) / 2
    return torch.where(x >= 0, x, x * slope)


@_rule(F.gumbel_softmax)
def _gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    drawn = -torch.log(-torch.log(torch.rand_like(logits).clamp(1e-7, 1 - 1e-7)))
    soft = ((logits + drawn) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = (soft == soft.amax(dim, keepdim=True)).to(soft.dtype)
    return chosen - soft.detach() + soft


# --- layers --------------------------------------------------------------------------------------------------------


def _in_layers(function, gated):
    """Recurrent layers with dropout between them: one layer at a time."""

    def decomposition(x, hidden, weights, biases, layers, dropout, train, bidirectional, batch_first):
        if not (train and dropout > 0 and layers > 1):
            return function(x, hidden, weights, biases, layers, dropout, train, bidirectional, batch_first)
        width, ways = len(weights) // layers, 2 if bidirectional else 1
        ends = []
        for layer in range(layers):
            part = slice(layer * ways, (layer + 1) * ways)
            start = tuple(each[part] for each in hidden) if gated else hidden[part]
            results = function(x, start, weights[layer * width : (layer + 1) * width], biases, 1, 0.0, train,
                               bidirectional, batch_first)
            x = F.dropout(results[0], dropout, True) if layer + 1 < layers else results[0]
            ends.append(results[1:])
        return (x, *(torch.cat(each) for each in zip(*ends)))

    return decomposition


for _function in (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu):
    _RULES[_function] = _in_layers(_function, _function is torch.lstm)


def _same_padding(function, dimensions):
    """A convolution whose padding is "same" or "valid"."""

    def decomposition(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if not isinstance(padding, str):
            return function(x, weight, bias, stride, padding, dilation, groups)
        if padding == "valid":
            return function(x, weight, bias, stride, 0, dilation, groups)
        spread = [dilation] * dimensions if isinstance(dilation, int) else list(dilation)
        pads = []
        for axis in reversed(range(dimensions)):
            whole = spread[axis] * (weight.shape[2 + axis] - 1)
            pads += [whole // 2, whole - whole // 2]
        return function(F.pad(x, pads), weight, bias, stride, 0, dilation, groups)

    return decomposition


for _dimensions, _function in ((1, torch.conv1d), (2, torch.conv2d), (3, torch.conv3d)):
    _RULES[_function] = _same_padding(_function, _dimensions)


@_rule(F.pad)
def _pad(x, pad, mode="constant", value=None):
    # The exporter takes the wrong columns for circular padding.
    if mode != "circular":
        return F.pad(x, pad, mode, value)
    for number in range(len(pad) // 2):
        axis, before, after = x.dim() - 1 - number, pad[2 * number], pad[2 * number + 1]
        size = x.shape[axis]
        parts = [x.narrow(axis, size - before, before)] if before else []
        parts += [x] + ([x.narrow(axis, 0, after)] if after else [])
        x = torch.cat(parts, axis)
    return x


@_rule(F.threshold, torch.threshold)
def _threshold(x, threshold, value, inplace=False):
    return torch.where(x > threshold, x, torch.full_like(x, value))


@_rule(torch.channel_shuffle, F.channel_shuffle)
def _channel_shuffle(x, groups):
    return x.view(x.shape[0], groups, -1, *x.shape[2:]).transpose(1, 2).reshape(x.shape)


@_rule(F.native_channel_shuffle)
def _native_channel_shuffle(x, groups):
    return _channel_shuffle(x, groups)


# --- elementwise functions and shapes ------------------------------------------------------------------------------


@_rule(torch.unflatten, torch.Tensor.unflatten)
def _unflatten(x, dim, sizes):
    sizes = [size[1] if isinstance(size, (tuple, list)) else size for size in sizes]
    dim = dim % x.dim()
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


@_rule(torch.expm1, torch.Tensor.expm1, torch.special.expm1)
def _expm1(x):
    # Near 0, exp(x) − 1 would lose digits.
    return torch.tanh(x / 2) * (torch.exp(x) + 1)


@_rule(torch.addcdiv, torch.Tensor.addcdiv)
def _addcdiv(x, first, second, *, value=1):
    return x + value * (first / second)


@_rule(torch.atan2, torch.Tensor.atan2, torch.arctan2, torch.Tensor.arctan2)
def _atan2(y, x):
    angle = torch.atan(y / x)
    turned = torch.where(y >= 0, angle + math.pi, angle - math.pi)
    upright = torch.sign(y) * (math.pi / 2)
    return torch.where(x > 0, angle, torch.where(x < 0, turned, upright))


@_rule(torch.trunc, torch.Tensor.trunc, torch.fix, torch.Tensor.fix)
def _trunc(x):
    return torch.sign(x) * torch.floor(x.abs())


@_rule(torch.floor_divide, torch.Tensor.floor_divide, torch.Tensor.__floordiv__)
def _floor_divide(x, divisor):
    # The exporter rounds towards 0. Whole numbers are divided by it as they are.
    kinds = [each.is_floating_point() if isinstance(each, torch.Tensor) else isinstance(each, float)
             for each in (x, divisor)]
    return torch.floor(x / divisor) if any(kinds) else torch.div(x, divisor, rounding_mode="floor")


@_rule(torch.frac, torch.Tensor.frac)
def _frac(x):
    return x - _trunc(x)


@_rule(torch.fmod, torch.Tensor.fmod)
def _fmod(x, divisor):
    return x - _trunc(x / divisor) * divisor


@_rule(torch.erfc, torch.Tensor.erfc, torch.special.erfc)
def _erfc(x):
    return 1 - torch.erf(x)


@_rule(torch.logit, torch.Tensor.logit, torch.special.logit)
def _logit(x, eps=None):
    x = x if eps is None else x.clamp(eps, 1 - eps)
    return torch.log(x / (1 - x))


@_rule(torch.nan_to_num, torch.Tensor.nan_to_num)
def _nan_to_num(x, nan=None, posinf=None, neginf=None):
    limits = torch.finfo(x.dtype)
    x = torch.where(x != x, torch.full_like(x, nan or 0.0), x)
    x = torch.where(x == math.inf, torch.full_like(x, limits.max if posinf is None else posinf), x)
    return torch.where(x == -math.inf, torch.full_like(x, limits.min if neginf is None else neginf), x)


@_rule(torch.hstack)
def _hstack(tensors):
    tensors = [tensor if tensor.dim() > 0 else tensor.reshape(1) for tensor in tensors]
    return torch.cat(tensors, 0 if tensors[0].dim() == 1 else 1)


@_rule(torch.column_stack)
def _column_stack(tensors):
    return torch.cat([tensor.reshape(-1, 1) if tensor.dim() < 2 else tensor for tensor in tensors], 1)


@_rule(torch.vstack, torch.row_stack)
def _vstack(tensors):
    return torch.cat([tensor.reshape(1, -1) if tensor.dim() < 2 else tensor for tensor in tensors], 0)


@_rule(torch.tile, torch.Tensor.tile)
def _tile(x, *dims):
    dims = list(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else list(dims)
    return x.repeat([1] * (x.dim() - len(dims)) + dims)


@_rule(torch.take_along_dim, torch.Tensor.take_along_dim)
def _take_along_dim(x, indices, dim=None):
    if dim is None:
        return x.flatten().gather(0, indices.flatten())
    shape = list(torch.broadcast_shapes([1 if i == dim % x.dim() else n for i, n in enumerate(x.shape)],
                                        [1 if i == dim % x.dim() else n for i, n in enumerate(indices.shape)]))

    def widened(tensor):
        return tensor.expand([tensor.shape[i] if i == dim % x.dim() else n for i, n in enumerate(shape)])

    return widened(x).gather(dim, widened(indices))
