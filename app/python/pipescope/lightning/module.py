"""LightningModule and LightningDataModule: what users derive from."""

import copy

import torch

from .. import torch_versions
from .errors import MisconfigurationException
from .hooks import call_hook
from .hyperparameters import KeepsHyperparameters, arguments_from


class _Hooks:
    """Hooks that modules and callbacks may override. They do nothing here."""

    def setup(self, stage=None):
        """Called before a stage: "fit", "validate", "test" or "predict"."""

    def teardown(self, stage=None):
        """Called after a stage."""


class LightningModule(torch.nn.Module, _Hooks, KeepsHyperparameters):
    """A model with its steps and optimizer.

    On IPUs and HPUs a step is traced once with the first batch: plain Python values, such as batch_idx, become
    constants, and its results are returned to the epoch-end hooks. Log there, not in the step. On the CPU, steps log.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.trainer = None
        self.automatic_optimization = True  # a trainer refuses False

    def __deepcopy__(self, memo):
        # A copy has the same trainer, which holds files and callbacks that cannot be copied.
        memo[id(self.trainer)] = self.trainer
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return made

    # --- steps and hooks of users ---------------------------------------------------------------------------
    def training_step(self, batch, batch_idx):
        """Return the loss, a tensor without axes, or a dictionary with the key "loss"."""
        raise MisconfigurationException(f"{type(self).__name__} has no training_step, which fit() needs.")

    def validation_step(self, batch, batch_idx):
        """Return tensors for validation_epoch_end."""
        raise MisconfigurationException(f"{type(self).__name__} has no validation_step, which validate() needs.")

    def test_step(self, batch, batch_idx):
        """Return tensors for test_epoch_end."""
        raise MisconfigurationException(f"{type(self).__name__} has no test_step, which test() needs.")

    def predict_step(self, batch, batch_idx):
        """Return predictions. Without it, those of forward."""
        return self(batch)

    def configure_optimizers(self):
        """Return an optimizer, ([optimizer], [scheduler]), or {"optimizer": …, "lr_scheduler": …}."""
        raise MisconfigurationException(f"{type(self).__name__} has no configure_optimizers, which fit() needs.")

    def training_epoch_end(self, outputs):
        """Called with the results of all training steps of an epoch."""

    def validation_epoch_end(self, outputs):
        """Called with the results of all validation steps."""

    def test_epoch_end(self, outputs):
        """Called with the results of all test steps."""

    def on_fit_start(self):
        """Called before the first epoch."""

    def on_fit_end(self):
        """Called after the last epoch."""

    def on_train_start(self):
        """Called before training."""

    def on_train_end(self):
        """Called after training."""

    def on_train_epoch_start(self):
        """Called before each epoch of training."""

    def on_train_epoch_end(self):
        """Called after each epoch of training."""

    def on_train_batch_start(self, batch, batch_idx):
        """Called before each training batch, on the host."""

    def on_train_batch_end(self, outputs, batch, batch_idx):
        """Called after each training batch, on the host, with what the step returned."""

    # --- parts that the trainer gives ----------------------------------------------------------------------
    @property
    def current_epoch(self):
        """The number of the epoch, from 0."""
        return self.trainer.current_epoch if self.trainer else 0

    @property
    def global_step(self):
        """The number of weight updates so far."""
        return self.trainer.global_step if self.trainer else 0

    @property
    def logger(self):
        """The trainer's first logger, or None."""
        return self.trainer.logger if self.trainer else None

    @property
    def device(self):
        """The host: tensors outside steps lie in its memory."""
        return torch.device("cpu")

    def optimizers(self):
        """Return the optimizer of the trainer."""
        return self.trainer.optimizer

    def log(self, name, value, prog_bar=False, logger=None, on_step=None, on_epoch=None, reduce_fx="mean", enable_graph=False,
            sync_dist=False, sync_dist_group=None, add_dataloader_idx=True, batch_size=None, metric_attribute=None,
            rank_zero_only=False):
        """Log a number, or the mean of a tensor. `prog_bar` shows it with the epoch, `logger` (True) writes it to the loggers.

        `on_step` logs the value of the batch, `on_epoch` that of the epoch; with both, names end in _step and _epoch. Steps
        of training and hooks of their batches log by batch unless told otherwise, those of validation and test by epoch.
        Hooks of epochs log by epoch only. The values of an epoch are joined by `reduce_fx`: "mean", weighted by
        `batch_size` (default: the rows of the batch), "sum", "min" or "max". `sync_dist` also joins the values of all
        instances that poprun started; every instance must log it. With several loaders, names end in /dataloader_idx_N
        unless `add_dataloader_idx` is False. Refused within a step on IPUs and HPUs, because the step runs on the devices.
        """
        if self.trainer is None:
            raise MisconfigurationException(f'log("{name}"): the module has no trainer yet.')
        refused = {"enable_graph": (enable_graph, "values are logged without their graphs"),
                   "sync_dist_group": (sync_dist_group, "values are joined over all instances"),
                   "metric_attribute": (metric_attribute, "metrics are numbers here"),
                   "rank_zero_only": (rank_zero_only and sync_dist, "sync_dist needs the values of all instances")}
        for argument, (given, why) in refused.items():
            if given:
                raise MisconfigurationException(f'self.log("{name}", {argument}={given!r}) is not supported: {why}.')
        self.trainer._log(name, value, on_step=on_step, on_epoch=on_epoch, reduce_fx=reduce_fx, batch_size=batch_size,
                          adds_loader=bool(add_dataloader_idx), shown=bool(prog_bar), logged=logger is None or bool(logger),
                          sync_dist=bool(sync_dist))

    def log_dict(self, dictionary, **kwargs):
        """Log {name: value}, with the arguments of log()."""
        for name, value in dictionary.items():
            self.log(name, value, **kwargs)

    def print(self, *args, **kwargs):
        """Print, in the first instance only."""
        if self.trainer is None or self.trainer.instance == 0:
            print(*args, **kwargs)

    def freeze(self):
        """Train no parameter."""
        for parameter in self.parameters():
            parameter.requires_grad = False
        self.eval()

    @classmethod
    def load_from_checkpoint(cls, checkpoint_path, map_location=None, hparams_file=None, strict=True, **kwargs):
        """Make a module with the weights of a checkpoint. `kwargs` are arguments of __init__ besides those kept.

        `map_location` is that of torch.load, for tensors of files from another device. The module's on_load_checkpoint is
        called with what the checkpoint holds.
        """
        if hparams_file is not None:
            raise MisconfigurationException("hparams_file is not supported: pass the arguments of __init__ by their names.")
        checkpoint = torch_versions.load(checkpoint_path, map_location)
        module = cls(**{**arguments_from(checkpoint, cls.__init__), **kwargs})
        call_hook(module, "on_load_checkpoint", checkpoint)
        module.load_state_dict(checkpoint["state_dict"], strict=strict is not False)
        return module


class LightningDataModule(_Hooks, KeepsHyperparameters):
    """The data loaders of a model."""

    def __init__(self):
        self.trainer = None

    def prepare_data(self):
        """Called once before the data is needed."""


def loader_of(source, name):
    """Return what the method `name` of a module or data module returns, or None if it has none."""
    method = getattr(source, name, None)
    return method() if callable(method) else None
