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


def _rows_and_samples(points, samples, name):
    """Return points as rows of real numbers, and the number of the sample of each as a tensor, or None."""
    if not isinstance(points, torch.Tensor):
        raise Error(f"nearest takes tensors of points, but {name} is {type(points).__name__}.")
    if samples is None or isinstance(samples, list) and not samples:
        return points.reshape(points.shape[0], -1).float(), None
    samples = torch.as_tensor(samples)
    if list(samples.shape) != [points.shape[0]]:
        raise Error(f"nearest: {name} has {points.shape[0]} points, but the samples of {list(samples.shape)} points are given.")
    return points.reshape(points.shape[0], -1).float(), samples


def nearest(x, y, batch_x=None, batch_y=None):
    """Return the number of the point of `y` that is nearest to each point of `x`, as torch_cluster does.

    Points are rows, or single numbers. `batch_x` and `batch_y`, lists or tensors, say to which sample each point belongs: only
    points of one sample are compared. The result is a tensor of whole numbers, one for each point of `x`.
    """
    rows, samples = _rows_and_samples(x, batch_x, "x")
    columns, others = _rows_and_samples(y, batch_y, "y")
    if rows.shape[1] != columns.shape[1]:
        raise Error(f"nearest: the points of x have {rows.shape[1]} coordinates, but those of y have {columns.shape[1]}.")
    distances = (rows.unsqueeze(1) - columns.unsqueeze(0)).square().sum(2)
    if (samples is None) != (others is None):
        raise Error("nearest: give the samples of the points of x and of y, or of neither.")
    if samples is not None:
        distances = torch.where(samples.unsqueeze(1) == others.unsqueeze(0), distances, torch.full_like(distances, float("inf")))
    return distances.argmin(1)


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
