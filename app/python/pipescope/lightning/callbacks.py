"""Callbacks of a trainer."""

import math
import sys

import torch

from .callback import Callback, better, monitored
from .checkpoints import ModelCheckpoint
from .errors import MisconfigurationException


class EarlyStopping(Callback):
    """Ends training when a value has not become better by `min_delta` for `patience` checks.

    It checks at the end of each epoch or, where validations do not run once in every epoch, after each validation;
    `check_on_train_epoch_end` says which. Without `strict` it waits for a value that nobody logs. `stopping_threshold`
    ends training once the value is better than it, `divergence_threshold` once it is worse.
    """

    def __init__(self, monitor, min_delta=0.0, patience=3, verbose=False, mode="min", strict=True, check_finite=True,
                 stopping_threshold=None, divergence_threshold=None, check_on_train_epoch_end=None):
        self.monitor, self.min_delta, self.patience = monitor, abs(min_delta), patience
        self.verbose, self.strict, self.check_finite, self.mode = verbose, strict, check_finite, mode
        self.stopping_threshold, self.divergence_threshold = stopping_threshold, divergence_threshold
        self.check_on_train_epoch_end = check_on_train_epoch_end
        self._better = better(mode, "EarlyStopping")
        self.best_score, self.wait_count, self.stopped_epoch = torch.tensor(math.inf if mode == "min" else -math.inf), 0, 0

    def state_dict(self):
        """Return what a checkpoint keeps."""
        return {"best_score": self.best_score, "wait_count": self.wait_count, "stopped_epoch": self.stopped_epoch}

    def load_state_dict(self, state_dict):
        """Take over what a checkpoint kept."""
        self.best_score, self.wait_count, self.stopped_epoch = (
            state_dict["best_score"], state_dict["wait_count"], state_dict["stopped_epoch"])

    def _checks_epochs(self, trainer):
        if self.check_on_train_epoch_end is not None:
            return self.check_on_train_epoch_end
        return trainer.val_check_interval == 1.0 and trainer.check_val_every_n_epoch == 1

    def on_train_epoch_end(self, trainer, pl_module):
        if self._checks_epochs(trainer):
            self._run_early_stopping_check(trainer)

    def on_validation_end(self, trainer, pl_module):
        """Called after each validation."""
        if trainer.fits and not trainer.sanity_checking and not self._checks_epochs(trainer):
            self._run_early_stopping_check(trainer)

    def _run_early_stopping_check(self, trainer):  # the name that derived classes call in Lightning's pages
        if not self.strict and self.monitor not in trainer.callback_metrics:
            return
        value = monitored(trainer, self.monitor, "EarlyStopping")
        reason = self._reason(value)
        if reason:
            self.stopped_epoch = trainer.current_epoch
            trainer.should_stop = True
        if reason and self.verbose and trainer.instance == 0:
            print(f"EarlyStopping: {self.monitor} {reason}.", file=sys.stderr)

    def _reason(self, value):
        """Take a value into account, and return why training ends, if it does."""
        if self.check_finite and not math.isfinite(value):
            return f"is {float(value)}"
        if self.stopping_threshold is not None and self._better(value, self.stopping_threshold):
            return f"is {float(value):.6g}, better than the threshold {self.stopping_threshold}"
        if self.divergence_threshold is not None and self._better(self.divergence_threshold, value):
            return f"is {float(value):.6g}, worse than the threshold {self.divergence_threshold}"
        if self._better(value + (self.min_delta if self.mode == "min" else -self.min_delta), self.best_score):
            self.best_score, self.wait_count = value, 0
            return ""
        self.wait_count += 1
        return f"did not become better in {self.wait_count} checks" if self.wait_count >= self.patience else ""


class LearningRateMonitor(Callback):
    """Logs the learning rate of each parameter group when an epoch begins, or with `logging_interval="step"` as steps are logged.

    Without `logging_interval`, an optimizer whose schedulers are all stepped by batch is logged with the steps. Names are
    lr-SGD or the name of a scheduler, with /pg1, /pg2 … or the names of the groups after it where there are several.
    """

    def __init__(self, logging_interval=None):
        if logging_interval not in (None, "step", "epoch"):
            raise MisconfigurationException(f'logging_interval is {logging_interval!r}, but must be "step", "epoch" or None.')
        self.logging_interval = logging_interval

    def _interval(self, trainer):
        by_step = trainer._schedulers and all(each["interval"] == "step" for each in trainer._schedulers)
        return self.logging_interval or ("step" if by_step else "epoch")

    def on_train_epoch_start(self, trainer, pl_module):
        if self._interval(trainer) == "epoch":
            self._log(trainer)

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if self._interval(trainer) == "step" and trainer.writes_now:
            self._log(trainer)

    @staticmethod
    def _log(trainer):
        named = next((each["name"] for each in trainer._schedulers if each["name"] is not None), None)
        groups, rates = trainer.optimizer.param_groups, {}
        for number, group in enumerate(groups):
            own = group.get("name", f"pg{number + 1}" if len(groups) > 1 else None)
            rates[(named or f"lr-{type(trainer.optimizer).__name__}") + (f"/{own}" if own else "")] = group["lr"]
        trainer.callback_metrics.update({name: torch.tensor(float(rate)) for name, rate in rates.items()})
        trainer._write(rates, epoch=False)


class DeviceStatsMonitor(Callback):
    """Refused on IPUs and HPUs when the trainer starts: memory and time of the devices are in the profile."""


def check(callbacks, accelerator):
    """Refuse callbacks that the accelerator does not support."""
    for callback in callbacks:
        if not isinstance(callback, Callback):
            raise TypeError(f"{callback!r} is no Callback.")
        if isinstance(callback, DeviceStatsMonitor):
            raise MisconfigurationException(
                f"DeviceStatsMonitor is not supported on {accelerator}: memory and time of the emulated devices are in "
                "the profile (autoreport=True)."
            )


#: Callbacks that come after the hooks of the module at the end of an epoch.
MONITORS = (EarlyStopping, ModelCheckpoint)


def _named(callbacks):
    """Yield each callback with the name of its state in a checkpoint."""
    counts = {}
    for callback in callbacks:
        kind = type(callback).__qualname__
        counts[kind] = counts.get(kind, 0) + 1
        yield (kind if counts[kind] == 1 else f"{kind} {counts[kind]}"), callback


def states(callbacks):
    """Return what a checkpoint keeps of callbacks."""
    kept = {name: callback.state_dict() for name, callback in _named(callbacks)}
    return {name: state for name, state in kept.items() if state}


def restore(callbacks, kept):
    """Give callbacks what a checkpoint kept of them."""
    for name, callback in _named(callbacks):
        if name in kept:
            callback.load_state_dict(kept[name])


__all__ = ["Callback", "DeviceStatsMonitor", "EarlyStopping", "LearningRateMonitor", "ModelCheckpoint"]
