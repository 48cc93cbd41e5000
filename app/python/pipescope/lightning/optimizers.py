"""What configure_optimizers returns, and when learning-rate schedulers are stepped."""

import warnings

import torch

from ..torch_versions import note_step
from .errors import MisconfigurationException

_DEFAULTS = {"interval": "epoch", "frequency": 1, "monitor": None, "strict": True, "name": None}
_PLATEAU = torch.optim.lr_scheduler.ReduceLROnPlateau


def _parts(given):
    """Return optimizers, schedulers and the value to monitor out of each form that Lightning documents."""
    if isinstance(given, dict):
        unknown = set(given) - {"optimizer", "lr_scheduler", "monitor"}
        if unknown or "optimizer" not in given:
            raise MisconfigurationException(
                f'configure_optimizers returns a dictionary with the key "{min(unknown, key=str)}", which is not supported.'
                if unknown else 'configure_optimizers returns a dictionary without the key "optimizer".')
        schedulers = [given["lr_scheduler"]] if given.get("lr_scheduler") is not None else []
        return [given["optimizer"]], schedulers, given.get("monitor")
    if isinstance(given, (list, tuple)):
        if len(given) == 2 and isinstance(given[0], (list, tuple)):
            schedulers = given[1]
            return list(given[0]), list(schedulers) if isinstance(schedulers, (list, tuple)) else [schedulers], None
        if len(given) == 1 and isinstance(given[0], dict):
            return _parts(given[0])
        return list(given), [], None
    return [given], [], None


def _scheduler(given, monitor, optimizer):
    """Return the entries of one scheduler, all of them."""
    entries = dict(given) if isinstance(given, dict) else {"scheduler": given, "monitor": monitor}
    entries.setdefault("reduce_on_plateau", isinstance(entries.get("scheduler"), _PLATEAU))
    unknown = set(entries) - {"scheduler", "reduce_on_plateau", *_DEFAULTS}
    if unknown:
        raise MisconfigurationException(f"lr_scheduler has the key {min(unknown, key=str)}, which is not supported.")
    if "scheduler" not in entries:
        raise MisconfigurationException('lr_scheduler is a dictionary without the key "scheduler".')
    entries = {**_DEFAULTS, **entries}
    scheduler, frequency = entries["scheduler"], entries["frequency"]
    if not callable(getattr(scheduler, "step", None)) or not hasattr(scheduler, "optimizer"):
        raise MisconfigurationException(f"lr_scheduler is a {type(scheduler).__name__}, not a scheduler of torch.optim.lr_scheduler.")
    if scheduler.optimizer is not optimizer:
        raise MisconfigurationException(
            f"The {type(scheduler).__name__} belongs to an optimizer that configure_optimizers does not return: make it with the "
            "optimizer that is returned.")
    if entries["interval"] not in ("step", "epoch"):
        raise MisconfigurationException(f'lr_scheduler has the interval {entries["interval"]!r}, but must have "step" or "epoch".')
    if isinstance(frequency, bool) or not isinstance(frequency, int) or frequency < 1:
        raise MisconfigurationException(f"lr_scheduler has the frequency {frequency!r}, but must have a whole number of at least 1.")
    if entries["reduce_on_plateau"] and entries["monitor"] is None:
        raise MisconfigurationException(
            'ReduceLROnPlateau needs a value to monitor: return {"optimizer": …, "lr_scheduler": {"scheduler": …, "monitor": '
            '"val_loss"}}.')
    return entries


def optimizer_and_schedulers(given):
    """Return the optimizer, and the schedulers as dictionaries with all keys, of what configure_optimizers returned."""
    optimizers, schedulers, monitor = _parts(given)
    if len(optimizers) != 1:
        raise MisconfigurationException(
            f"configure_optimizers returns {len(optimizers)} optimizers, but one is supported: give one optimizer "
            "with several parameter groups.")
    optimizer = optimizers[0]
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise MisconfigurationException("configure_optimizers must return an optimizer.")
    return optimizer, [_scheduler(each, monitor, optimizer) for each in schedulers]


def step_schedulers(schedulers, interval, number, metrics, plateau):
    """Step the schedulers of an interval at its batch or epoch `number`, from 1: those that watch a value (`plateau`), or the others.

    As in Lightning, the others are stepped before a validation, and those that watch a value after it.
    """
    for each in schedulers:
        if each["interval"] != interval or each["reduce_on_plateau"] != plateau or number % each["frequency"] != 0:
            continue
        scheduler, monitor = each["scheduler"], each["monitor"]
        # Devices update the weights, so torch's optimizer may never have stepped; it would warn of that.
        note_step(scheduler.optimizer)
        if not plateau:
            scheduler.step()
        elif monitor in metrics:
            scheduler.step(metrics[monitor])
        else:
            known = f'lr_scheduler monitors "{monitor}", but logged are: {", ".join(metrics) or "none"}.'
            if each["strict"]:
                raise MisconfigurationException(f'{known} Log it before, or pass "strict": False.')
            warnings.warn(f"{known} The learning rate stays as it is.", stacklevel=2)
