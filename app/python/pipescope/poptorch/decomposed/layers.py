"""Dropout, random numbers and layers that PyTorch's ONNX exporter refuses or exports wrongly.

The random numbers are drawn by the devices.
"""

import torch
import torch.nn.functional as F

from ..buffers import Watch, sizes_of
from .rules import RULES, rule
from ..errors import Error, caller_line
from ..host_kernels import as_activations, convolution
from ..stand_ins import product

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
    RULES[_function] = _dropout_of_channels(_dimensions)


@rule(torch.feature_dropout)
def _feature_dropout(x, p, train):
    return x * _kept_features(x, p, x.dim() - 2) if train and p > 0 else x


_SELU = -1.7580993408473766  # the value that SELU tends to, below


def _alpha(x, kept, p):
    scale = ((1 - p) * (1 + p * _SELU * _SELU)) ** -0.5
    return scale * (x * kept + _SELU * (1 - kept)) - scale * p * _SELU


@rule(F.alpha_dropout)
def _alpha_dropout(x, p=0.5, training=False, inplace=False):
    if not training or p == 0:
        return x
    return _alpha(x, F.dropout(torch.ones_like(x), p, True) * (1 - p), p)


@rule(F.feature_alpha_dropout)
def _feature_alpha_dropout(x, p=0.5, training=False, inplace=False):
    if not training or p == 0:
        return x
    return _alpha(x, _kept_features(x, p, x.dim() - 2) * (1 - p), p)


@rule(F.rrelu)
def _rrelu(x, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    slope = lower + (upper - lower) * torch.rand_like(x) if training else (lower + upper) / 2
    return torch.where(x >= 0, x, x * slope)


@rule(F.gumbel_softmax)
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
    RULES[_function] = _in_layers(_function, _function is torch.lstm)


def _same_padding(function, dimensions):
    """A convolution whose padding may be "same" or "valid", and whose weight may be computed, as by spectral norm."""

    def decomposition(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if not isinstance(weight, torch.nn.Parameter):
            weight = weight.reshape(sizes_of(weight))  # The exporter asks for its shape.
        if not isinstance(padding, str):
            return convolution(function, x, weight, bias, stride, padding, dilation, groups)
        if padding == "valid":
            return convolution(function, x, weight, bias, stride, 0, dilation, groups)
        spread = [dilation] * dimensions if isinstance(dilation, int) else list(dilation)
        pads = []
        for axis in reversed(range(dimensions)):
            whole = spread[axis] * (weight.shape[2 + axis] - 1)
            pads += [whole // 2, whole - whole // 2]
        return convolution(function, F.pad(x, pads), weight, bias, stride, 0, dilation, groups)

    return decomposition


for _dimensions, _function in ((1, torch.conv1d), (2, torch.conv2d), (3, torch.conv3d)):
    RULES[_function] = _same_padding(_function, _dimensions)


@rule(F.linear)
def _linear(x, weight, bias=None):
    return product(F.linear, x, as_activations(x, weight), as_activations(x, bias))


def _product(function):
    return lambda *tensors, **settings: function(*tensors, **settings) if settings else product(function, *tensors)


for _name in ("mm", "bmm", "matmul"):
    RULES[getattr(torch, _name)] = RULES[getattr(torch.Tensor, _name)] = _product(getattr(torch, _name))
RULES[torch.Tensor.__matmul__] = _product(torch.matmul)


def _transposed(function):
    def decomposition(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return convolution(function, x, weight, bias, stride, padding, dilation, groups, True, output_padding)

    return decomposition


for _function in (torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d):
    RULES[_function] = _transposed(_function)


@rule(F.pad)
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


def _refuse_renorm(max_norm):
    if max_norm is not None:
        raise Error(f"The embedding at {caller_line()} has a max_norm, which is not supported, because it would change the "
                    "weight in the forward pass: normalise the rows that it returns instead.")


@rule(F.embedding)
def _embedding(indices, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    # The exporter forgets that the row for padding gets no gradient.
    _refuse_renorm(max_norm)
    rows = F.embedding(indices, weight, None, None, norm_type, scale_grad_by_freq, sparse)
    if padding_idx is None or not Watch.current.training:
        return rows
    padding = padding_idx if padding_idx >= 0 else weight.shape[0] + padding_idx
    return torch.where((indices == padding).unsqueeze(-1), rows.detach(), rows)


@rule(F.embedding_bag)
def _embedding_bag(indices, weight, offsets=None, max_norm=None, *args, **kwargs):
    _refuse_renorm(max_norm)
    return F.embedding_bag(indices, weight, offsets, None, *args, **kwargs)


@rule(F.bilinear)
def _bilinear(first, second, weight, bias=None):
    y = torch.einsum("...i,oij,...j->...o", first, weight, second)
    return y if bias is None else y + bias


@rule(F.fold)
def _fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    # A transposed convolution whose kernels have one 1 each.
    def pair(value):
        return [value, value] if isinstance(value, int) else list(value)

    if x.dim() == 2:  # without a batch
        return _fold(x.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    whole, kernel, spread, pads, steps = map(pair, (output_size, kernel_size, dilation, padding, stride))
    batch, rows = sizes_of(x)[0], sizes_of(x)[1]
    channels, area = rows // (kernel[0] * kernel[1]), kernel[0] * kernel[1]
    places = [(whole[i] + 2 * pads[i] - spread[i] * (kernel[i] - 1) - 1) // steps[i] + 1 for i in range(2)]
    extra = [whole[i] + 2 * pads[i] - spread[i] * (kernel[i] - 1) - 1 - (places[i] - 1) * steps[i] for i in range(2)]
    kernels = torch.eye(area, dtype=x.dtype).reshape(area, 1, *kernel)
    parts = x.reshape(batch * channels, area, *places)  # each channel by itself
    y = F.conv_transpose2d(parts, kernels, None, steps, pads, extra, 1, spread)
    return y.reshape(batch, channels, *whole)


@rule(F.instance_norm)
def _instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1,
                   eps=1e-5):
    if running_mean is not None and use_input_stats:
        # The exporter's form is no valid ONNX. The statistics are buffers that move.
        axes = list(range(2, x.dim()))
        mean, variance = x.detach().mean(axes).mean(0), x.detach().var(axes).mean(0)
        Watch.current.write(running_mean, (1 - momentum) * running_mean + momentum * mean)
        Watch.current.write(running_var, (1 - momentum) * running_var + momentum * variance)
        running_mean = running_var = None
    return F.instance_norm(x, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@rule(F.threshold, torch.threshold)
def _threshold(x, threshold, value, inplace=False):
    return torch.where(x > threshold, x, torch.full_like(x, value))


@rule(torch.channel_shuffle, F.channel_shuffle)
def _channel_shuffle(x, groups):
    return x.view(x.shape[0], groups, -1, *x.shape[2:]).transpose(1, 2).reshape(x.shape)


@rule(F.native_channel_shuffle)
def _native_channel_shuffle(x, groups):
    return _channel_shuffle(x, groups)
