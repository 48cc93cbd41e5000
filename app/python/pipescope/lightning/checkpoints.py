"""ModelCheckpoint: when checkpoints are saved, under which names, and which of them stay."""

import math
import os
import re
import sys

from .callback import Callback, better, monitored
from .errors import MisconfigurationException

#: A field of a file name with the word and "=" before it, and its format: val_loss={val_loss:.2f}.
_FIELD = re.compile(r"((?:[\w/.-]+=)?)\{([^{}:]+)(?::([^{}]*))?\}")


class ModelCheckpoint(Callback):
    """Saves checkpoints: the best `save_top_k` by a value (−1: all), and the last one with `save_last`.

    Without `monitor` it saves the newest. `filename` may hold {epoch}, {step} and names of logged values. It saves at the end
    of every `every_n_epochs` epochs (default: 1) or, where validations do not run once in every epoch, after each
    validation; `save_on_train_epoch_end` says which. `every_n_train_steps` saves after so many updates instead. A file
    that is there from another run stays: names get -v1, -v2 and so on.
    """

    def __init__(self, dirpath=None, filename=None, monitor=None, verbose=False, save_last=None, save_top_k=1,
                 save_weights_only=False, mode="min", auto_insert_metric_name=True, every_n_train_steps=None,
                 train_time_interval=None, every_n_epochs=None, save_on_train_epoch_end=None):
        if monitor is None and save_top_k not in (-1, 0, 1):
            raise MisconfigurationException(f"save_top_k={save_top_k} needs a value to monitor.")
        if save_top_k < -1:
            raise MisconfigurationException(f"save_top_k is {save_top_k}, but must be at least -1.")
        if train_time_interval is not None:
            raise MisconfigurationException(
                "train_time_interval is not supported, because devices are emulated: use every_n_epochs or every_n_train_steps.")
        if every_n_train_steps is not None and every_n_epochs is not None:
            raise MisconfigurationException("every_n_train_steps and every_n_epochs exclude each other: give one of them.")
        for name, value in (("every_n_epochs", every_n_epochs), ("every_n_train_steps", every_n_train_steps)):
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}, but must be at least 1.")
        self.dirpath, self.filename, self.monitor, self.mode = dirpath, filename, monitor, mode
        self.verbose, self.save_weights_only, self.auto_insert_metric_name = verbose, save_weights_only, auto_insert_metric_name
        self.save_top_k, self.save_last, self.every_n_train_steps = save_top_k, bool(save_last), every_n_train_steps
        self.every_n_epochs = every_n_epochs if every_n_train_steps is None and every_n_epochs else 1
        self.save_on_train_epoch_end = save_on_train_epoch_end
        self._better = better(mode, "ModelCheckpoint")
        self.best_k_models, self.best_model_path, self.best_model_score, self.last_model_path = {}, "", None, ""
        self._saved_at, self._counted = None, 0

    def state_dict(self):
        """Return what a checkpoint keeps."""
        return {"dirpath": self.dirpath, "best_k_models": dict(self.best_k_models), "best_model_path": self.best_model_path,
                "best_model_score": self.best_model_score, "last_model_path": self.last_model_path}

    def load_state_dict(self, state_dict):
        """Take over what a checkpoint kept, so that its files stay among the best; of another folder, the path of the best one."""
        names = ("best_k_models", "best_model_path", "best_model_score", "last_model_path")
        for name in names if state_dict["dirpath"] == self.dirpath else ("best_model_path",):
            setattr(self, name, state_dict[name])

    # --- when it saves -------------------------------------------------------------------------------------
    def _saves_epochs(self, trainer):
        if self.save_on_train_epoch_end is not None:
            return self.save_on_train_epoch_end
        if trainer.check_val_every_n_epoch != 1:
            return False
        return trainer.val_check_interval == 1.0 or not trainer.num_val_batches or set(trainer.num_val_batches) == {0}

    def on_fit_start(self, trainer, pl_module):
        self._counted = trainer.global_step

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        every, before, self._counted = self.every_n_train_steps, self._counted, trainer.global_step
        if every is not None and self._counted // every != before // every:
            self._save(trainer)

    def on_train_epoch_end(self, trainer, pl_module):
        if self.every_n_train_steps is None and self._saves_epochs(trainer):
            self._save_of_epoch(trainer)

    def on_validation_end(self, trainer, pl_module):
        """Called after each validation."""
        fits = trainer.fits and not trainer.sanity_checking
        if fits and self.every_n_train_steps is None and not self._saves_epochs(trainer):
            self._save_of_epoch(trainer)

    def _save_of_epoch(self, trainer):
        if (trainer.current_epoch + 1) % self.every_n_epochs == 0:
            self._save(trainer)

    def _save(self, trainer):
        if trainer.instance != 0 or trainer.fast_dev_run or trainer.global_step == self._saved_at:
            return
        values = {**trainer.callback_metrics, "epoch": trainer.current_epoch, "step": trainer.global_step}
        if self.save_top_k != 0:
            self._save_best(trainer, self._path(trainer, values))
        if self.save_last:
            before, self.last_model_path = self.last_model_path, self._free(self._named(trainer, "last"), self.last_model_path)
            self._write(trainer, self.last_model_path)
            if before and before != self.last_model_path:
                self._remove(before)

    # --- names of files ------------------------------------------------------------------------------------
    def _named(self, trainer, name):
        return os.path.join(self.dirpath or trainer.checkpoint_folder, name + ".ckpt")

    def _path(self, trainer, values):
        name = re.sub(_FIELD, lambda field: self._text(field, values), self.filename or "epoch={epoch}-step={step}")
        return self._named(trainer, name)

    def _text(self, field, values):
        """The text of a field such as {epoch:02d}. As in Lightning, {epoch} becomes epoch=3 unless told not to."""
        before, key, form = field.groups()
        if key not in values:
            known = ", ".join(values)
            raise MisconfigurationException(f"ModelCheckpoint: filename holds {{{key}}}, but logged are: {known}.")
        value = values[key]
        text = format(value if isinstance(value, int) else float(value), form or "")
        named = before.endswith(f"{key}=") or not self.auto_insert_metric_name
        return f"{before}{text}" if named else f"{before}{key}={text}"

    def newest_last(self, trainer):
        """Return the path of the last checkpoint that another run saved here, or None."""
        folder = os.path.dirname(self._named(trainer, "last"))
        there = [os.path.join(folder, name) for name in os.listdir(folder)] if os.path.isdir(folder) else []
        there = [path for path in there if re.fullmatch(r"last(-v\d+)?\.ckpt", os.path.basename(path))]
        return max(there, key=os.path.getmtime, default=None)

    @staticmethod
    def _free(path, own):
        """The path, with a number if a file is there that is not `own`."""
        stem, number, free = path[: -len(".ckpt")], 0, path
        while free != own and os.path.exists(free):
            number += 1
            free = f"{stem}-v{number}.ckpt"
        return free

    # --- which files stay ----------------------------------------------------------------------------------
    def _write(self, trainer, path):
        trainer.save_checkpoint(path, self.save_weights_only)
        self._saved_at = trainer.global_step
        if self.verbose:
            print(f"ModelCheckpoint: saved {path}.", file=sys.stderr)

    def _save_best(self, trainer, path):
        if self.monitor is None:
            before = self.best_model_path if self.save_top_k == 1 else ""
            path = self._free(path, before)
            self.best_model_path = path
            self.best_k_models = {path: None} if self.save_top_k == 1 else {**self.best_k_models, path: None}
            self._write(trainer, path)
            if before and before != path:
                self._remove(before)
            return
        score = monitored(trainer, self.monitor, "ModelCheckpoint")
        if math.isnan(score):
            score = score.new_tensor(math.inf if self.mode == "min" else -math.inf)
        ranked = sorted(self.best_k_models.items(), key=lambda item: item[1], reverse=self.mode == "max")
        worst = ""
        if self.save_top_k > 0 and len(ranked) >= self.save_top_k:
            worst, its = ranked[-1]
            if not self._better(score, its):
                return
            self.best_k_models.pop(worst)
        path = self._free(path, worst)
        self.best_k_models[path] = score
        pick = min if self.mode == "min" else max
        self.best_model_path = pick(self.best_k_models, key=self.best_k_models.get)
        self.best_model_score = self.best_k_models[self.best_model_path]
        self._write(trainer, path)
        if worst and worst != path:
            self._remove(worst)

    @staticmethod
    def _remove(path):
        if os.path.exists(path):
            os.remove(path)
