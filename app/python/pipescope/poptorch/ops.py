"""Functions that models call."""

import torch

from .errors import Error, caller_line


def identity_loss(x, reduction):
    """Mark a value as the loss, reduced by "mean", "sum" or "none"."""
    if reduction in ("mean", 1):
        return torch.mean(x)
    if reduction in ("sum", 0):
        return torch.sum(x)
    if reduction in ("none", 2):
        return x
    raise ValueError(f'identity_loss: reduction is {reduction!r}, but must be "mean", "sum" or "none".')


class Checkpoints:
    """The values that a model wants to keep, by the scope in which they are marked."""

    count = None  # while a model is traced


def recomputationCheckpoint(*tensors):
    """Keep these values instead of computing them again in the backward pass. Returns them."""
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
