"""Callbacks of a trainer."""

import math
import os
import re

from .errors import MisconfigurationException


class Callback:
    """Hooks that are called with the trainer and the module.

    Besides those below: on_STAGE_start, on_STAGE_end, on_STAGE_epoch_start, on_STAGE_epoch_end, on_STAGE_batch_start and
    on_STAGE_batch_end with STAGE = validation, test or predict; on_exception, on_save_checkpoint, on_load_checkpoint.
    """

    def setup(self, trainer, pl_module, stage=None):
        """Called before a stage."""

    def teardown(self, trainer, pl_module, stage=None):
        """Called after a stage."""

    def on_fit_start(self, trainer, pl_module):
        """Called before the first epoch."""

    def on_fit_end(self, trainer, pl_module):
        """Called after the last epoch."""

    def on_train_start(self, trainer, pl_module):
        """Called before training."""

    def on_train_end(self, trainer, pl_module):
        """Called after training."""

    def on_train_epoch_start(self, trainer, pl_module):
        """Called before each epoch of training."""

    def on_train_epoch_end(self, trainer, pl_module):
        """Called after each epoch of training and its validation."""

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        """Called before each training batch."""

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        """Called after each training batch."""


def _better(mode, name):
    if mode not in ("min", "max"):
        raise ValueError(f'{name}: mode is "{mode}", but must be "min" or "max".')
    return (lambda new, old: new < old) if mode == "min" else (lambda new, old: new > old)


def _monitored(trainer, monitor, name):
    if monitor not in trainer.callback_metrics:
        known = ", ".join(trainer.callback_metrics) or "none"
        raise MisconfigurationException(
            f'{name} monitors "{monitor}", but logged are: {known}. Log it in an epoch-end hook.'
        )
    return trainer.callback_metrics[monitor]


class EarlyStopping(Callback):
    """Ends training when a value has not become better by `min_delta` for `patience` epochs."""

    def __init__(self, monitor, min_delta=0.0, patience=3, mode="min", stopping_threshold=None, check_finite=True):
        self.monitor, self.min_delta, self.patience = monitor, abs(min_delta), patience
        self.stopping_threshold, self.check_finite = stopping_threshold, check_finite
        self._better, self._sign = _better(mode, "EarlyStopping"), -1.0 if mode == "min" else 1.0
        self.best_score, self.wait_count, self.stopped_epoch = None, 0, 0

    def on_train_epoch_end(self, trainer, pl_module):
        value = _monitored(trainer, self.monitor, "EarlyStopping")
        stops = self.check_finite and not math.isfinite(value)
        if self.best_score is None or self._better(value - self._sign * self.min_delta, self.best_score):
            self.best_score, self.wait_count = value, 0
        else:
            self.wait_count += 1
        stops = stops or self.wait_count >= self.patience
        if self.stopping_threshold is not None:
            stops = stops or self._better(value, self.stopping_threshold)
        if stops:
            self.stopped_epoch = trainer.current_epoch
            trainer.should_stop = True


#: A field of a file name with the word and "=" before it, and its format: val_loss={val_loss:.2f}.
_FIELD = re.compile(r"((?:[\w/.-]+=)?)\{([^{}:]+)(?::([^{}]*))?\}")


class ModelCheckpoint(Callback):
    """Saves checkpoints: the best `save_top_k` by a value (−1: all), and the last one with `save_last`.

    Without `monitor` it saves the newest. `filename` may hold {epoch}, {step} and names of logged values.
    """

    def __init__(self, dirpath=None, filename=None, monitor=None, mode="min", save_top_k=1, save_last=False,
                 every_n_epochs=1):
        if monitor is None and save_top_k not in (-1, 0, 1):
            raise MisconfigurationException(f"save_top_k={save_top_k} needs a value to monitor.")
        if every_n_epochs < 1:
            raise ValueError(f"every_n_epochs is {every_n_epochs}, but must be at least 1.")
        self.dirpath, self.filename, self.monitor, self.mode = dirpath, filename, monitor, mode
        self.save_top_k, self.save_last, self.every_n_epochs = save_top_k, save_last, every_n_epochs
        self._better = _better(mode, "ModelCheckpoint")
        self.best_k_models, self.best_model_path, self.best_model_score, self.last_model_path = {}, "", None, ""

    def _path(self, trainer, values):
        name = re.sub(_FIELD, lambda field: self._text(field, values), self.filename or "epoch={epoch}-step={step}")
        return os.path.join(self.dirpath or trainer.checkpoint_folder, name + ".ckpt")

    @staticmethod
    def _text(field, values):
        """The text of a field such as {epoch:02d}. As in Lightning, {epoch} becomes epoch=3."""
        before, key, form = field.groups()
        if key not in values:
            known = ", ".join(values)
            raise MisconfigurationException(f"ModelCheckpoint: filename holds {{{key}}}, but logged are: {known}.")
        value = values[key]
        text = format(value, form or ("" if isinstance(value, int) else ".4f"))
        return f"{before}{text}" if before.endswith(f"{key}=") else f"{before}{key}={text}"

    def on_train_epoch_end(self, trainer, pl_module):
        if (trainer.current_epoch + 1) % self.every_n_epochs != 0 or trainer.instance != 0:
            return
        values = {**trainer.callback_metrics, "epoch": trainer.current_epoch, "step": trainer.global_step}
        path = self._path(trainer, values)
        if self.save_top_k != 0:
            self._save_best(trainer, path)
        if self.save_last:
            self.last_model_path = os.path.join(os.path.dirname(path), "last.ckpt")
            trainer.save_checkpoint(self.last_model_path)

    def _save_best(self, trainer, path):
        if self.monitor is None:
            self._remove_all_but(trainer, path if self.save_top_k == 1 else None)
            trainer.save_checkpoint(path)
            self.best_k_models[path] = None
            self.best_model_path = path
            return
        score = _monitored(trainer, self.monitor, "ModelCheckpoint")
        ranked = sorted(self.best_k_models.items(), key=lambda item: item[1], reverse=self.mode == "max")
        if self.save_top_k > 0 and len(ranked) >= self.save_top_k:
            worst, its = ranked[-1]
            if not self._better(score, its):
                return
            self._forget(worst)
        trainer.save_checkpoint(path)
        self.best_k_models[path] = score
        pick = min if self.mode == "min" else max
        self.best_model_path = pick(self.best_k_models, key=self.best_k_models.get)
        self.best_model_score = self.best_k_models[self.best_model_path]

    def _forget(self, path):
        self.best_k_models.pop(path)
        if os.path.exists(path):
            os.remove(path)

    def _remove_all_but(self, trainer, path):
        for known in list(self.best_k_models) if path is not None else []:
            if known != path:
                self._forget(known)


class LearningRateMonitor(Callback):
    """Logs the learning rate of each parameter group at the end of each epoch."""

    def on_train_epoch_end(self, trainer, pl_module):
        for number, group in enumerate(trainer.optimizer.param_groups):
            name = f"lr-{type(trainer.optimizer).__name__}" + (f"/pg{number + 1}" if number else "")
            trainer._log(name, group["lr"], True)


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
