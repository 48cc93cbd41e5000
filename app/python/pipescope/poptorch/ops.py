"""Functions that models call."""

import torch

from .enums import OverlapMode
from .errors import Error, caller_line


class MarkedLosses:
    """The losses that a model marks while it runs: (value that is returned, loss without axes)."""

    current = None  # set while a model is traced

    def __init__(self):
        self.tensors = []


def identity_loss(x, reduction):
    """Mark a value as the loss of a training model.

    `x` is a tensor of any shape. `reduction` is "mean" (or 1), "sum" (or 0): a tensor without axes is returned; or
    "none" (or 2): `x` is returned, and the gradient is that of its sum. Another reduction is a ValueError.
    """
    if reduction in ("mean", 1):
        value = loss = torch.mean(x)
    elif reduction in ("sum", 0):
        value = loss = torch.sum(x)
    elif reduction in ("none", 2):
        value, loss = x, x if x.dim() == 0 else torch.sum(x)
    else:
        raise ValueError(f'identity_loss: reduction is {reduction!r}, but must be "mean", "sum" or "none".')
    if MarkedLosses.current is not None:
        MarkedLosses.current.tensors.append((value, loss))
    return value


def mark_loss(loss):
    """Mark a tensor without axes as the loss, without another operator."""
    if MarkedLosses.current is not None:
        MarkedLosses.current.tensors.append((loss, loss))
    return loss


def isRunningOnIpu():
    """Return True while a model runs for the emulated IPUs, which is when it is traced, and False on the host."""
    return MarkedLosses.current is not None


def nop(tensor):
    """Return the tensor. PopTorch keeps its compiler from moving operators across a nop, but this one moves none."""
    return tensor


class Overlap:
    """Remembers that a model asks for copies which run beside the computation."""

    asked = False  # set while a model is traced


def _overlapped(tensors, mode):
    if OverlapMode(mode) != OverlapMode.NoOverlap:
        Overlap.asked = True
    return tensors


def set_overlap_for_input(input_tensors, mode):
    """Copy inputs from the host while the other tiles compute. It needs TensorLocations.numIOTiles, and no pipeline.

    If one tensor asks for it, all inputs and outputs are copied so. Returns the tensors as they are.
    """
    return _overlapped(input_tensors, mode)


def set_overlap_for_output(output_tensors, mode):
    """Copy outputs to the host while the other tiles compute: see set_overlap_for_input."""
    return _overlapped(output_tensors, mode)


class Checkpoints:
    """The values that a model wants to keep, by the scope in which they are marked."""

    count = None  # set while a model is traced


def recomputationCheckpoint(*tensors):
    """Keep these values instead of computing them again in the backward pass of a pipelined model.

    Takes tensors of real numbers of any shape. Returns them: one tensor, or a tuple of several.
    """
    state = torch._C._get_tracing_state()
    if state is None or Checkpoints.count is None:
        return tensors[0] if len(tensors) == 1 else tensors
    kept = []
    for tensor in tensors:
        if not tensor.is_floating_point():
            raise Error(f"recomputationCheckpoint takes tensors of real numbers, but {caller_line()} passes another.")
        state.push_scope(f"Checkpoint::@checkpoint{Checkpoints.count}")
        Checkpoints.count += 1
        kept.append(tensor * 1.0)
        state.pop_scope()
    return kept[0] if len(kept) == 1 else tuple(kept)
