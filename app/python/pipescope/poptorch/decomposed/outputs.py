"""Results that a model writes into tensors of its own: out=…, and methods such as clamp_."""

import torch

from ..buffers import Watch, sizes_of
from ..errors import Error, caller_line
from ..host_kernels import lacks_kernels
from ..stand_ins import untraced
from .rules import RULES

#: Functions that compute in the type of `out` if they get one and no `dtype`.
_IN_TYPE_OF_OUT = {getattr(owner, name) for owner in (torch, torch.Tensor) for name in "cumprod cumsum prod sum".split()}


def _check(function, args, kwargs):
    """Let PyTorch refuse what it does not write, such as real numbers into a tensor of whole numbers."""
    with untraced():
        try:
            function(*args, **kwargs)
        except RuntimeError as error:
            if not lacks_kernels(error):
                raise


def _empty_like(value):
    if isinstance(value, torch.Tensor):
        return torch.empty(sizes_of(value), dtype=value.dtype)
    return type(value)(map(_empty_like, value))


def _write(function, into, values):
    if sizes_of(values) == sizes_of(into):
        return Watch.current.write(into, values.to(into.dtype))
    if into.numel() > 0:
        raise Error(f"{function.__name__} at {caller_line()} makes a result of the shape {sizes_of(values)}, but out= has the shape "
                    f"{sizes_of(into)}: give it a tensor of the result's shape.")
    values = values.to(into.dtype)
    with untraced():
        into.resize_(sizes_of(values)).copy_(values)
    if torch._C._get_tracing_state() is not None:
        torch._C._set_value_trace(into, torch._C._get_value_trace(values))
    return into


def call(function, replacement, args, kwargs):
    """Call what takes the place of a function. ONNX has no `out`, so results are written into it afterwards.

    `out` may be a buffer (spectral norm does so), an empty tensor that gets the shape of the result, or one tensor for each
    of several results.
    """
    into = kwargs.get("out")
    if "out" not in kwargs:
        return replacement(*args, **kwargs)
    kwargs = {name: value for name, value in kwargs.items() if name != "out"}
    if into is None:
        return replacement(*args, **kwargs)
    _check(function, args, {**kwargs, "out": _empty_like(into)})
    if function in _IN_TYPE_OF_OUT and kwargs.get("dtype") is None:
        kwargs["dtype"] = into.dtype
    values = replacement(*args, **kwargs)
    if isinstance(into, torch.Tensor):
        return _write(function, into, values)
    return type(into)(_write(function, each, value) for each, value in zip(into, values))


def replaced(function):
    """Return what takes the place of a function. A method such as clamp_ writes what takes the place of clamp."""
    name = getattr(function, "__name__", "")
    if function in RULES or not name.endswith("_") or name.endswith("__"):
        return RULES.get(function, function)
    plain = RULES.get(getattr(torch.Tensor, name[:-1], None))
    if plain is None or getattr(torch.Tensor, name, None) is not function:
        return function

    def written(tensor, *args, **kwargs):
        with untraced():
            copy = tensor.detach().clone()
        _check(function, (copy, *args), kwargs)
        return tensor.copy_(plain(tensor, *args, **kwargs))

    return written
