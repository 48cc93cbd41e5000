"""The loops of a trainer: epochs of training with the validations between them, and one pass over the data of an evaluation."""

import contextlib
import math

import torch

from .errors import MisconfigurationException
from .module import LightningModule
from .optimizers import step_schedulers
from .results import Results


_EMPTY = "The loader for training gave no batch: it has fewer samples than one call takes."


def _knows_length(loader):
    try:
        len(loader)
    except TypeError:
        return False
    return True


def numbered(batches):
    """Yield (number, batch, True for the last one) of `batches`: a loader, and the number of batches to use or None.

    No batch is fetched that is not used. A loader that does not know its length is read one batch ahead.
    """
    loader, count = batches
    if count == 0:
        return
    there, number = iter(loader), 0
    reads_ahead = not _knows_length(loader)
    ahead = next(there, there)
    while ahead is not there:
        batch, is_last = ahead, number + 1 == count
        if reads_ahead and not is_last:
            ahead = next(there, there)
        yield number, batch, is_last or ahead is there
        if is_last:
            return
        if not reads_ahead:
            ahead = next(there, there)
        number += 1


def tell_epoch(loader, epoch):
    """Tell samplers with set_epoch() the number of the epoch, as that of torch.utils.data.distributed shuffles by it."""
    first, second = getattr(loader, "sampler", None), getattr(getattr(loader, "batch_sampler", None), "sampler", None)
    for sampler in (first,) if first is second else (first, second):
        if callable(getattr(sampler, "set_epoch", None)):
            sampler.set_epoch(epoch)


def _as_outputs(results):
    """Return the results of a training step as Lightning hands them to hooks: a dictionary; empty if the step returned None."""
    return results if isinstance(results, dict) else {} if results is None else {"loss": results}


@contextlib.contextmanager
def _evaluating(trainer, model):
    """Set the module to evaluation and compute no gradients. Afterwards each part has the mode that it had."""
    modes = [(part, part.training) for part in model.modules()]
    if trainer.accelerator_name == "cpu":
        model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        if trainer.accelerator_name == "cpu":
            for part, mode in modes:
                part.training = mode


class EvaluationLoop:
    """Runs a stage over its loaders: "validation" or "test", with their logged values, or "predict"."""

    def __init__(self, trainer, model, stage, loaders):
        self._trainer, self._model, self._stage, self.loaders = trainer, model, stage, loaders
        self._written = 0  # batches whose values were written to loggers

    @property
    def is_empty(self):
        """True if no batch is asked for."""
        return all(count == 0 for _, count in self.loaders)

    def run(self):
        """Run once. Returns a list of what was logged, and one of what the steps returned: an entry for each loader."""
        trainer, stage = self._trainer, self._stage
        metrics, before = trainer.metrics, (trainer.metrics.results, trainer.metrics.at_step)
        outer, trainer._running = trainer._running, stage
        metrics.results, metrics.at_step = None if stage == "predict" else Results(training=False), False
        try:
            with _evaluating(trainer, self._model):
                return self._run(metrics)
        finally:
            metrics.results, metrics.at_step = before
            trainer._loader_number, trainer._running = None, outer

    def _run(self, metrics):
        trainer, stage = self._trainer, self._stage
        trainer._call(f"on_{stage}_start")
        trainer._call(f"on_{stage}_epoch_start")
        several, logged, outputs = len(self.loaders) > 1, [], []
        for number, batches in enumerate(self.loaders):
            trainer._loader_number = number if several else None
            if metrics.results is not None:
                metrics.results.loader = trainer._loader_number
            outputs.append(self._steps(batches, metrics))
            if metrics.results is not None:
                metrics.results.close()
            logged.append(metrics.keep())
        if metrics.results is not None:
            metrics.results.loader = None
        trainer._loader_number = None
        if stage != "predict":
            trainer._epoch_end(f"{stage}_epoch_end", outputs if several else outputs[0])
        trainer._call(f"on_{stage}_epoch_end")
        ends = metrics.keep()
        if not trainer.sanity_checking:
            trainer._write({name: value for values in (*logged, ends) for name, value in values.items()})
        trainer._call(f"on_{stage}_end")
        return [{**values, **ends} for values in logged], outputs

    def _steps(self, batches, metrics):
        trainer, stage, results = self._trainer, self._stage, []
        tell_epoch(batches[0], trainer.current_epoch)
        for number, batch, _ in numbered(batches):
            metrics.at_step, trainer._batch_number = metrics.results is not None, number
            if metrics.results is not None:
                metrics.results.begin_batch(batch)
            place = (number,) if trainer._loader_number is None else (number, trainer._loader_number)
            trainer._call(f"on_{stage}_batch_start", batch, *place)
            results.append(trainer._runner.step(stage, batch))
            trainer._call(f"on_{stage}_batch_end", results[-1], batch, *place)
            values = metrics.keep()
            if not trainer.sanity_checking:
                trainer._write(values, self._written, epoch=False)
                self._written += 1
            if metrics.results is not None:
                metrics.results.begin_batch(None)
        metrics.at_step = False
        return results


class TrainingLoop:
    """Trains epoch by epoch. `validation` is an EvaluationLoop or None."""

    def __init__(self, trainer, model, train, validation):
        self._trainer, self._model, self._train, self._validation = trainer, model, train, validation
        self._seen = 0

    def run(self):
        """Run until max_epochs, max_steps or should_stop ends it."""
        trainer = self._trainer
        if self._train[1] == 0 and trainer._limits["training"] != 0:
            raise MisconfigurationException(_EMPTY)
        if self._train[1] == 0 or self._is_done():
            return
        trainer.metrics.results, trainer.metrics.at_step = Results(training=True), False
        trainer._call("on_train_start")
        while not self._is_done():
            self._run_epoch()
        trainer._call("on_train_end")

    def _reached_steps(self):
        return self._trainer.max_steps != -1 and self._trainer.global_step >= self._trainer.max_steps

    def _may_stop(self, epochs):
        """True if a callback asked to stop, and `epochs` whole epochs and the updates so far are enough."""
        trainer = self._trainer
        return trainer.should_stop and epochs >= trainer.min_epochs and trainer.global_step >= trainer.min_steps

    def _is_done(self):
        trainer = self._trainer
        whole = trainer.max_epochs != -1 and trainer.current_epoch >= trainer.max_epochs
        return whole or self._reached_steps() or self._may_stop(trainer.current_epoch)

    def _run_epoch(self):
        trainer, model, metrics = self._trainer, self._model, self._trainer.metrics
        trainer._in_epoch = True
        tell_epoch(self._train[0], trainer.current_epoch)
        trainer._call("on_train_epoch_start")
        outputs = self._run_batches()
        metrics.at_step = False
        metrics.results.close()
        if type(model).training_epoch_end is not LightningModule.training_epoch_end:
            trainer._epoch_end("training_epoch_end", outputs)
        trainer._call("on_train_epoch_end")
        values = metrics.keep()
        if trainer._ended_whole:
            self._step_schedulers("epoch", trainer.current_epoch + 1, plateau=True)
        trainer._write(values, trainer._batches_that_stepped - 1)
        trainer._show()
        metrics.results, trainer._in_epoch = Results(training=True), False
        trainer.current_epoch += 1

    def _run_batches(self):
        trainer, metrics = self._trainer, self._trainer.metrics
        kept = type(self._model).training_epoch_end is not LightningModule.training_epoch_end
        outputs, number = [], None
        trainer._ended_whole = False
        for number, batch, is_last in numbered(self._train):
            trainer._batch_number, metrics.at_step, trainer.is_last_batch = number, True, is_last
            trainer._updates_now = is_last or (number + 1) % trainer.accumulate_grad_batches == 0
            metrics.results.begin_batch(batch)
            if trainer._call("on_train_batch_start", batch, number) == -1:
                return outputs  # the module skips the rest of the epoch
            trainer._ended_whole = is_last
            made = self._run_batch(batch, number, is_last)
            metrics.results.begin_batch(None)
            if kept and made:
                outputs.append(made)
            if self._validates_after(number, is_last):
                self._validation.run()
            if self._stepped():
                self._step_schedulers("step", number + 1, plateau=True)
                trainer._batches_that_stepped += 1
            if self._reached_steps() or self._may_stop(trainer.current_epoch):
                return outputs
        if number is None:
            raise MisconfigurationException(_EMPTY)
        return outputs

    def _stepped(self):
        """True if the batch that ran ended with an update of the weights. A call of devices always does."""
        return self._trainer._updates_now or self._trainer.accelerator_name != "cpu"

    def _run_batch(self, batch, number, is_last):
        trainer = self._trainer
        made = _as_outputs(trainer._runner.step("training", batch, trainer.optimizer))
        if "loss" in made:
            trainer._last_loss = made["loss"].detach().float().mean().item() * trainer._runner.loss_divisor
        trainer.global_step += trainer._updates()
        self._seen += 1
        if self._stepped():
            self._step_schedulers("step", number + 1, plateau=False)
        if is_last:
            self._step_schedulers("epoch", trainer.current_epoch + 1, plateau=False)
        trainer._call("on_train_batch_end", made, batch, number)
        values = trainer.metrics.keep()
        if self._stepped() and trainer.writes_now:
            if "train_loss_step" not in values and trainer._last_loss is not None:
                if trainer.accelerator_name != "cpu":  # where a step cannot log it
                    trainer.callback_metrics["train_loss_step"] = torch.tensor(trainer._last_loss)
                values = {"train_loss_step": trainer._last_loss, **values}
            trainer._write(values)
        return made

    def _step_schedulers(self, interval, number, plateau):
        trainer = self._trainer
        step_schedulers(trainer._schedulers, interval, number, trainer.callback_metrics, plateau)

    # --- validation between batches ------------------------------------------------------------------------
    def _validates_after(self, number, is_last):
        trainer = self._trainer
        every = trainer.check_val_every_n_epoch
        if self._validation is None or self._validation.is_empty:
            return False
        if every is not None and (trainer.current_epoch + 1) % every != 0:
            return False
        if self._may_stop(trainer.current_epoch):
            return True
        interval = trainer.val_check_interval
        if isinstance(interval, float):
            if not _knows_length(self._train[0]):
                return is_last
            interval = max(1, int(self._train[1] * interval))
        return (self._seen if every is None else number + 1) % interval == 0

    def check_interval(self):
        """Refuse an interval of validations that never ends within an epoch."""
        interval, count = self._trainer.val_check_interval, self._train[1]
        if self._validation is None:
            return
        if isinstance(interval, float) and interval != 1.0 and not _knows_length(self._train[0]):
            raise MisconfigurationException(
                f"val_check_interval is the share {interval}, but the loader does not know its length: give a number of batches.")
        if isinstance(interval, int) and self._trainer.check_val_every_n_epoch is not None and interval > (count or math.inf):
            raise ValueError(
                f"val_check_interval is {interval}, but an epoch has {count} batches: lower it, or pass "
                "check_val_every_n_epoch=None to count over epochs.")
