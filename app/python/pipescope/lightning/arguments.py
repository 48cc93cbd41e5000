"""Arguments of Lightning's trainer: those that have no effect here, and checks of the others."""

from .accelerators import CPUAccelerator, HPUAccelerator, IPUAccelerator, device_count
from .errors import MisconfigurationException

ACCELERATORS = {"cpu": CPUAccelerator, "ipu": IPUAccelerator, "hpu": HPUAccelerator}

# Arguments of Lightning's trainer that this one does not support, with the values that are accepted because they
# change nothing.
_NOTHING = {
    "barebones": (False,), "benchmark": (None, False, True), "detect_anomaly": (False,), "deterministic": (None, False, True),
    "enable_model_summary": (None, False), "inference_mode": (True, False), "max_time": (None,),
    "num_nodes": (1,), "overfit_batches": (0, 0.0), "profiler": (None,),
    "reload_dataloaders_every_n_epochs": (0,), "sync_batchnorm": (False,), "use_distributed_sampler": (True,),
    "track_grad_norm": (-1, -1.0), "move_metrics_to_cpu": (False,),
    "multiple_trainloader_mode": ("max_size_cycle",), "replace_sampler_ddp": (True,), "amp_backend": ("native",),
    "auto_lr_find": (False,), "auto_scale_batch_size": (False,), "resume_from_checkpoint": (None,),
}
# Older ways to name devices, and what says the same.
_OLDER = {"gpus": "cuda", "tpu_cores": "tpu", "ipus": "ipu", "hpus": "hpu"}


def check_nothing(given):
    for name, value in given.items():
        if name in _OLDER:
            if value is not None:
                raise MisconfigurationException(
                    f"Trainer({name}={value!r}) is the older way to name devices: use accelerator=\"{_OLDER[name]}\", "
                    f"devices={value!r}." if _OLDER[name] in ACCELERATORS else
                    f"Trainer({name}={value!r}): there are no such devices; use accelerator=\"ipu\" or \"hpu\"."
                )
            continue
        if name not in _NOTHING:
            raise TypeError(f"Trainer has no argument {name}.")
        if not any(value is known or (value == known and type(value) is type(known)) for known in _NOTHING[name]):
            known = " or ".join(map(repr, _NOTHING[name]))
            raise MisconfigurationException(f"Trainer({name}={value!r}) is not implemented: leave it out, or pass {known}.")


def accelerator_of(accelerator, strategy, devices):
    """Return the accelerator of a trainer and the number of its devices."""
    if isinstance(accelerator, str):
        name = accelerator if accelerator != "auto" else getattr(strategy, "accelerator", "") or "cpu"
        if name not in ACCELERATORS:
            raise ValueError(f'accelerator is "{accelerator}", but must be "ipu", "hpu", "cpu" or "auto".')
        kind = ACCELERATORS[name]
    else:
        kind = accelerator if isinstance(accelerator, type) else type(accelerator)
        if kind not in ACCELERATORS.values():
            raise TypeError(f"{accelerator!r} is no accelerator.")
    return kind, device_count(kind, devices)


def check_interval(interval, every):
    """Return val_check_interval: a share of an epoch from 0.0 to 1.0, or a number of batches."""
    if every is not None and (isinstance(every, bool) or not isinstance(every, int) or every < 1):
        raise ValueError(f"check_val_every_n_epoch is {every!r}, but must be a whole number of at least 1, or None.")
    if interval is None:
        return 1.0
    if isinstance(interval, bool) or not isinstance(interval, (int, float)):
        raise TypeError(f"val_check_interval is {interval!r}, but must be a share of an epoch or a number of batches.")
    if isinstance(interval, float) and (not 0.0 <= interval <= 1.0 or every is None):
        raise MisconfigurationException(
            f"val_check_interval is {interval}, but a share must be from 0.0 to 1.0." if every is not None else
            f"val_check_interval is the share {interval}, but check_val_every_n_epoch=None counts batches over all epochs: give a "
            "number of batches.")
    if isinstance(interval, int) and interval < 1:
        raise ValueError(f"val_check_interval is {interval}, but a number of batches must be at least 1.")
    return interval


def sanity_steps(asked):
    """Return how many batches are validated before training: Lightning's 2, or those asked for; None: all of them (-1)."""
    if asked is None:
        return 2
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < -1:
        raise ValueError(f"num_sanity_val_steps is {asked!r}, but must be a number of batches, or -1 for all.")
    return None if asked == -1 else asked


def clipping(value, algorithm, accelerator):
    """Check how gradients are clipped. Returns "norm" or "value"."""
    if algorithm not in (None, "norm", "value"):
        raise MisconfigurationException(f'gradient_clip_algorithm is {algorithm!r}, but must be "norm" or "value".')
    if value and accelerator != "cpu":
        raise MisconfigurationException(
            f"gradient_clip_val={value}: clipping gradients is not supported on "
            f"{accelerator.upper()}s. On IPUs an optimizer of poptorch.optim with max_grad_norm does it."
        )
    return algorithm or "norm"
