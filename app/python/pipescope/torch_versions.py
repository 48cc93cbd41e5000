"""Functions for what differs between versions of PyTorch."""

import torch


def note_step(optimizer):
    """Note that the devices made a step of this optimizer. Schedules of learning rates otherwise warn that nobody made one.

    Older versions of PyTorch look at the number of steps, newer ones at a mark.
    """
    optimizer._step_count = getattr(optimizer, "_step_count", 0) + 1
    optimizer._opt_called = True


def load(path, map_location=None):
    """Read a file of torch.save with all objects that it holds, which version 2.6 does only if it is told so.

    Reading runs the code that the file names, so the file must come from somebody whom the user trusts.
    """
    return torch.load(path, map_location=map_location, weights_only=False)
