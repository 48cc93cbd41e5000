"""Random numbers. The devices draw them, so each is made of uniform or normal numbers, which ONNX can say."""

import math

import torch

from ..buffers import sizes_of
from .rules import RULES, rule


def _like(x):
    """Uniform numbers above 0 and below 1 in the shape of a tensor, in float32."""
    return torch.rand(sizes_of(x), dtype=torch.float32).clamp(1e-7, 1 - 6e-8)


def _filled(name, draw):
    """A method such as uniform_, which fills a tensor."""

    def decomposition(x, *args, generator=None, **kwargs):
        return x.copy_(draw(x, *args, **kwargs))

    RULES[getattr(torch.Tensor, name)] = decomposition


_filled("uniform_", lambda x, *args, **named: _uniform(x, *args, **{{"from": "low", "to": "high"}.get(k, k): v for k, v in named.items()}))
_filled("normal_", lambda x, mean=0, std=1: torch.randn(sizes_of(x)) * std + mean)
_filled("exponential_", lambda x, lambd=1: -torch.log(_like(x)) / lambd)
_filled("cauchy_", lambda x, median=0, sigma=1: median + sigma * torch.tan(math.pi * (_like(x) - 0.5)))
_filled("log_normal_", lambda x, mean=1, std=2: torch.exp(torch.randn(sizes_of(x)) * std + mean))
_filled("geometric_", lambda x, p: torch.ceil(torch.log(_like(x)) / math.log(1 - p)))
_filled("bernoulli_", lambda x, p=0.5: (_like(x) < p).to(torch.float32))
_filled("random_", lambda x, *args, **kwargs: _whole(x, *args, **kwargs))


def _uniform(x, low=0.0, high=1.0):
    return torch.rand(sizes_of(x)) * (high - low) + low


def _whole(x, low=0, high=None, to=None, **named):
    low, high = named.get("from", low), high if to is None else to
    if high is None and low:
        low, high = 0, low
    if high is None:
        high = 2**24 if x.is_floating_point() else min(torch.iinfo(x.dtype).max, 2**24)
    return torch.floor(torch.rand(sizes_of(x)) * (high - low)) + low


def _size(size):
    return list(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list, torch.Size)) else list(size)


@rule(torch.randint)
def _randint(low, high=None, size=None, *, generator=None, dtype=torch.int64, **kwargs):
    if size is None:
        low, high, size = 0, low, high
    drawn = torch.floor(torch.rand([int(each) for each in size]) * (high - low)) + low
    return drawn.to(torch.int64 if dtype is None else dtype)


@rule(torch.randint_like)
def _randint_like(x, low, high=None, *, dtype=None, **kwargs):
    low, high = (0, low) if high is None else (low, high)
    return _randint(low, high, sizes_of(x), dtype=x.dtype if dtype is None else dtype)


@rule(torch.randperm)
def _randperm(n, *, generator=None, dtype=torch.int64, **kwargs):
    return torch.rand(n).topk(n)[1].to(dtype)


@rule(torch.bernoulli, torch.Tensor.bernoulli)
def _bernoulli(x, p=None, *, generator=None):
    return (torch.rand(sizes_of(x)) < (x if p is None else p)).to(x.dtype)


@rule(torch.normal)
def _normal(mean, std=1.0, size=None, *, generator=None, **kwargs):
    shape = size if size is not None else sizes_of(mean if isinstance(mean, torch.Tensor) else std)
    if isinstance(mean, torch.Tensor) and isinstance(std, torch.Tensor):
        shape = torch.broadcast_shapes(sizes_of(mean), sizes_of(std))
    kinds = [each.dtype for each in (mean, std) if isinstance(each, torch.Tensor)]
    drawn = torch.randn(list(shape)) * std + mean
    return drawn.to(kinds[0]) if kinds else drawn


@rule(torch.multinomial, torch.Tensor.multinomial)
def _multinomial(x, num_samples, replacement=False, *, generator=None):
    # The largest of log p + Gumbel noise is a draw from p; the next largest ones are draws without replacement.
    logs = torch.log(x)
    if not replacement:
        return (logs - torch.log(-torch.log(_like(x)))).topk(num_samples, -1)[1]
    noise = -torch.log(-torch.log(torch.rand([*sizes_of(x)[:-1], num_samples, sizes_of(x)[-1]]).clamp(1e-7, 1 - 6e-8)))
    return (logs.unsqueeze(-2) + noise).argmax(-1)
