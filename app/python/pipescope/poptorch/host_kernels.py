"""Lets PyTorch compute on the host while a model is traced, whatever types the model has.

PyTorch has no half-precision kernels for most operators on a CPU. Where one is missing, the operator runs in float32 and its
results are rounded. Only types and shapes of these values matter: the devices compute the model anew.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import stand_ins


def _mapped(function, value):
    if isinstance(value, torch.Tensor):
        return function(value)
    return type(value)(_mapped(function, each) for each in value) if type(value) in (list, tuple) else value


def _widened(tensor):
    return tensor.float() if tensor.dtype == torch.float16 else tensor


def _narrowed(tensor):
    return tensor.half() if tensor.dtype == torch.float32 else tensor


def _written(function, args):
    """Return the tensors that the operator writes into, by their position."""
    return [args[number] for number, each in enumerate(function._schema.arguments[: len(args)])
            if each.alias_info is not None and each.alias_info.is_write]


def _activations(function, args):
    """Return the type of the activations of a product, whose weights may have another one; None for other operators."""
    name = function.overloadpacket.__name__
    place = 1 if name in ("addmm", "baddbmm", "addmv") else 0 if name in ("mm", "bmm", "mv", "convolution") else None
    return None if place is None else args[place].dtype


class HostKernels(TorchDispatchMode):
    """While it is entered, operators without a kernel for half precision compute in float32."""

    active = False

    def __enter__(self):
        HostKernels.active = True
        return super().__enter__()

    def __exit__(self, *failure):
        HostKernels.active = False
        return super().__exit__(*failure)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        try:
            return function(*args, **kwargs)
        except RuntimeError as error:
            if "Half" not in str(error):
                raise
        wide = [_mapped(_widened, each) for each in args]
        results = function(*wide, **{name: _mapped(_widened, each) for name, each in kwargs.items()})
        if written := _written(function, args):
            for tensor, value in zip(written, _written(function, wide)):
                tensor.copy_(value)
            return written[0] if isinstance(results, torch.Tensor) else tuple(written)
        keeps = kwargs.get("dtype") is not None or _activations(function, args) == torch.float32
        return results if keeps else _mapped(_narrowed, results)


def lacks_kernels(error):
    """Return True if an error, or one that led to it, says that PyTorch has no kernel for half precision."""
    while error is not None:
        if isinstance(error, RuntimeError) and "Half" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def as_activations(x, weight):
    """Return a weight in the type of the activations that it meets, as PopTorch does where one is half and the other is not."""
    real = (torch.float16, torch.float32)
    differs = weight is not None and weight.dtype in real and x.dtype in real and weight.dtype != x.dtype
    return weight.to(x.dtype) if differs else weight


def convolution(function, x, weight, bias, stride, padding, dilation, groups, transposed=False, output_padding=0):
    """Compute a convolution as `function` does. PyTorch's tracer loses convolutions while HostKernels is entered."""
    weight, bias = as_activations(x, weight), as_activations(x, bias)
    axes = weight.dim() - 2
    listed = [[each] * axes if isinstance(each, int) else list(each) for each in (stride, padding, dilation, output_padding)]

    def traced(x, weight, bias):
        if not HostKernels.active:
            rest = (output_padding, groups, dilation) if transposed else (dilation, groups)
            return function(x, weight, bias, stride, padding, *rest)
        batched = x if x.dim() == axes + 2 else x.unsqueeze(0)
        made = torch._convolution(batched, weight, bias, *listed[:3], transposed, listed[3], groups, False, False, True, True)
        return made if x.dim() == axes + 2 else made.squeeze(0)

    return stand_ins.convolution(traced, x, weight, bias, *listed[:3], transposed, listed[3])
