"""The trainer: fits, validates, tests and predicts on emulated IPUs and HPUs, or on the CPU."""

import contextlib
import math
import os
import random
import sys
import types
import warnings

import numpy
import torch

from .. import instances, torch_versions
from . import callbacks as callback_kinds
from .arguments import accelerator_of, check_interval, check_nothing, clipping, sanity_steps
from .callbacks import Callback, ModelCheckpoint
from .data import device_loader, limited
from .errors import MisconfigurationException
from .hooks import call_hook, check_hooks
from .loggers import loggers_of
from .loops import EvaluationLoop, TrainingLoop
from .module import LightningDataModule, LightningModule, loader_of
from .optimizers import optimizer_and_schedulers
from .plugins import precision_of
from .results import Metrics
from .steps import DeviceRunner, HostRunner
from .strategies import accumulation, strategy_of

_SEED = "PL_GLOBAL_SEED"


def seed_everything(seed=None, workers=False):
    """Seed Python, NumPy and PyTorch, and the devices of trainers that are made later. Returns the seed."""
    seed = int(os.environ.get(_SEED, 0)) if seed is None else int(seed)
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed_everything: {seed} must be from 0 to 2**32 − 1.")
    os.environ[_SEED] = str(seed)
    os.environ["PL_SEED_WORKERS"] = str(int(workers))
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)
    return seed


def _module_of_data(loaders, datamodule):
    """Return loaders and data module. A data module may stand in the place of the loaders."""
    return (None, loaders) if isinstance(loaders, LightningDataModule) else (loaders, datamodule)


class Trainer:
    """Runs a LightningModule.

    `accelerator` is "ipu", "hpu" or "cpu" ("auto": the CPU). `devices` is the number of replicas on IPUs (a power of
    two; a model of k IPUs takes k · devices) and of cards on HPUs, a text with a number, or "auto" (4 IPU replicas, 8
    cards). `precision` is 32, 16 (IPUs) or "bf16" (HPUs). limit_*_batches are numbers of batches or shares of them.
    `val_check_interval` is a share of an epoch, or a number of batches; on devices a call counts as a batch.
    """

    def __init__(self, accelerator="auto", devices=None, strategy=None, precision=32, max_epochs=None, min_epochs=None,
                 max_steps=-1, min_steps=None, limit_train_batches=None, limit_val_batches=None, limit_test_batches=None,
                 limit_predict_batches=None, accumulate_grad_batches=1, callbacks=None, logger=False, plugins=None,
                 gradient_clip_val=None, gradient_clip_algorithm=None, check_val_every_n_epoch=1, val_check_interval=None,
                 num_sanity_val_steps=None, log_every_n_steps=50, enable_progress_bar=True, enable_checkpointing=False,
                 default_root_dir=None, fast_dev_run=False, **nothing):
        check_nothing(nothing)
        self.accelerator, self.num_devices = accelerator_of(accelerator, strategy, devices)
        self.accelerator_name = self.accelerator.name
        self.strategy = strategy_of(strategy, self.accelerator_name)
        self.precision = precision_of(32 if precision is None else precision, plugins, self.accelerator_name)
        self.gradient_clip_algorithm = clipping(gradient_clip_val, gradient_clip_algorithm, self.accelerator_name)
        self.gradient_clip_val, self.accumulate_grad_batches = gradient_clip_val, accumulation(accumulate_grad_batches)
        log_every_n_steps = 50 if log_every_n_steps is None else log_every_n_steps
        if log_every_n_steps < 0:
            raise ValueError(f"log_every_n_steps is {log_every_n_steps}, but must be at least 1, or 0 for no steps.")
        self.val_check_interval = check_interval(val_check_interval, check_val_every_n_epoch)
        self.check_val_every_n_epoch, self.log_every_n_steps = check_val_every_n_epoch, log_every_n_steps
        if max_steps < -1 or (max_epochs or 0) < -1:
            raise MisconfigurationException(
                f"max_steps is {max_steps} and max_epochs {max_epochs}, but must be at least 0, or -1 for no limit.")
        self.max_steps, self.min_steps = max_steps, min_steps or 0
        self.min_epochs = min_epochs or (0 if min_steps is None else 1)  # as in Lightning, with min_steps one epoch is whole
        self.max_epochs = max_epochs if max_epochs is not None else (1000 if max_steps == -1 else -1)
        self._limits = {"training": limit_train_batches, "validation": limit_val_batches, "test": limit_test_batches,
                        "predict": limit_predict_batches}
        self._sanity_steps, self.fast_dev_run = sanity_steps(num_sanity_val_steps), fast_dev_run
        if fast_dev_run:
            self._only_try(1 if fast_dev_run is True else int(fast_dev_run))
        self.enable_progress_bar, self.default_root_dir = enable_progress_bar is not False, str(default_root_dir or os.getcwd())
        self.loggers = [] if fast_dev_run else loggers_of(logger, self.default_root_dir)
        self.callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
        if enable_checkpointing and not any(isinstance(each, ModelCheckpoint) for each in self.callbacks):
            self.callbacks.append(ModelCheckpoint())
        callback_kinds.check(self.callbacks, self.accelerator_name)
        self.callbacks.sort(key=lambda each: isinstance(each, ModelCheckpoint))  # they see what others log
        self.seed = int(os.environ[_SEED]) if _SEED in os.environ else None
        self.current_epoch = self.global_step = 0
        self.should_stop, self.sanity_checking, self.fits, self.metrics = False, False, False, Metrics()
        self.optimizer = self.lightning_module = None
        self.num_training_batches, self.num_val_batches = math.inf, []
        self._schedulers, self._runner, self._last_loss = [], None, None
        # Answers to a step or hook while it runs: the place in the loops, and whether this batch changes the weights.
        self._on_devices, self._hook, self._batch_number, self._loader_number, self._updates_now = "", "", 0, None, False
        self._batches_that_stepped, self._in_epoch, self._ended_whole = 0, False, True
        self._running, self.is_last_batch = None, False  # the stage that runs, and whether its batch ends the epoch
        self._function, self._status, self.datamodule = None, "initializing", None

    def _only_try(self, count):
        """Run `count` batches of each stage, as fast_dev_run asks."""
        self._limits = dict.fromkeys(self._limits, count)
        self.max_epochs, self.max_steps, self._sanity_steps = 1, count, 0
        self.val_check_interval, self.check_val_every_n_epoch = 1.0, 1

    # --- questions of users --------------------------------------------------------------------------------
    @property
    def logger(self):
        """The first logger, or None."""
        return self.loggers[0] if self.loggers else None

    @property
    def optimizers(self):
        """The optimizer of the module, in a list; empty before fit()."""
        return [] if self.optimizer is None else [self.optimizer]

    @property
    def callback_metrics(self):
        """The logged values that callbacks may monitor, as tensors: {name: value}."""
        return self.metrics.callbacks

    @property
    def logged_metrics(self):
        """The values that were logged with logger=True, as tensors: {name: value}."""
        return self.metrics.logged

    @property
    def progress_bar_metrics(self):
        """The values that were logged with prog_bar=True, as numbers: {name: value}."""
        return self.metrics.shown

    @property
    def writes_now(self):
        """True if the values of this batch go to the loggers."""
        every = self.log_every_n_steps
        return every != 0 and ((self._batches_that_stepped + 1) % every == 0 or self.should_stop)

    @property
    def estimated_stepping_batches(self):
        """How many updates fit() makes, or calls of devices; math.inf if nothing says it."""
        most = math.inf if self.max_steps == -1 else self.max_steps
        if self.max_epochs == -1 or self.num_training_batches == math.inf:
            return most
        together = self.accumulate_grad_batches if self.accelerator_name == "cpu" else 1
        return min(most, math.ceil(self.num_training_batches / together) * max(self.max_epochs, 1))

    @property
    def state(self):
        """What runs, in Lightning's words: fn ("fit", "validate" …), stage ("train", "sanity_check" …) and status."""
        words = {"training": "train", "validation": "validate"}
        stage = "sanity_check" if self.sanity_checking else words.get(self._running, self._running)
        return types.SimpleNamespace(fn=self._function, stage=stage, status=self._status, finished=self._status == "finished",
                                     stopped=self._status in ("finished", "interrupted"))

    @property
    def training(self):
        """True while fit() trains, and not while it validates in between."""
        return self._running == "training" and not self.sanity_checking

    @property
    def validating(self):
        """True while validate() runs, or a validation of fit()."""
        return self._running == "validation" and not self.sanity_checking

    @property
    def testing(self):
        """True while test() runs."""
        return self._running == "test"

    @property
    def predicting(self):
        """True while predict() runs."""
        return self._running == "predict"

    @property
    def evaluating(self):
        """True while a validation or test runs, also the few batches of the sanity check."""
        return self.validating or self.testing or self.sanity_checking

    @property
    def instance(self):
        """The number of this process among those of a launcher, from 0. The first one writes files."""
        return instances.getInstanceIndex()

    @property
    def is_global_zero(self):
        """True in the process that writes files."""
        return self.instance == 0

    @property
    def global_rank(self):
        """The number of this process among those of a launcher, from 0."""
        return self.instance

    @property
    def local_rank(self):
        """The number of this process among those on its host, from 0."""
        return instances.getLocalInstanceIndex()

    @property
    def world_size(self):
        """The number of processes of a launcher; 1 without one. Replicas are devices of one process."""
        return instances.getNumInstances()

    @property
    def checkpoint_folder(self):
        """The folder where ModelCheckpoint writes unless it has one of its own."""
        root = self.logger.log_dir if self.logger else self.default_root_dir
        return os.path.join(root, "checkpoints")

    @property
    def checkpoint_callback(self):
        """The first ModelCheckpoint, or None."""
        return next((each for each in self.callbacks if isinstance(each, ModelCheckpoint)), None)

    # --- stages --------------------------------------------------------------------------------------------
    def fit(self, model, train_dataloaders=None, val_dataloaders=None, datamodule=None, ckpt_path=None):
        """Train a module for max_epochs epochs or max_steps updates, and validate it in between."""
        train_dataloaders, datamodule = _module_of_data(train_dataloaders, datamodule)
        self.should_stop = False
        with self._stage(model, datamodule, "fit"):
            train = self._batches(self._loader(train_dataloaders, model, datamodule, "train_dataloader", "fit()"), "training")
            self.num_training_batches = math.inf if train[1] is None else train[1]
            validation = val_dataloaders if val_dataloaders is not None else self._optional_loader(
                model, datamodule, "val_dataloader")
            self.optimizer, self._schedulers = optimizer_and_schedulers(model.configure_optimizers())
            self._runner.prepare("training", self.optimizer)
            validates = validation is not None and type(model).validation_step is not LightningModule.validation_step
            validation = self._prepare_stage("validation", validation) if validates else None
            self.num_val_batches = [count for _, count in validation.loaders] if validates else []
            ckpt_path = self._resumed(ckpt_path)
            if ckpt_path is not None:
                self._restore(model, ckpt_path)
            training = TrainingLoop(self, model, train, validation)
            training.check_interval()
            self._call("on_fit_start")
            if validation is not None and ckpt_path is None:
                self._check_sanity(validation)
            training.run()
            self._call("on_fit_end")

    def _resumed(self, ckpt_path):
        """Return the path of the checkpoint to continue from. As in Lightning, "last" means none before there is one."""
        if ckpt_path != "last":
            return self._evaluated(self.lightning_module, ckpt_path, "fit()")[1]
        saved = self.checkpoint_callback
        path = None if saved is None else saved.last_model_path or saved.newest_last(self)
        if not path:
            warnings.warn('fit() got ckpt_path="last", but no such checkpoint was saved: training begins anew.', stacklevel=3)
        return path or None

    def _check_sanity(self, validation):
        """Run a few batches of the validation before training, so that its faults show early. What it logs is forgotten."""
        most = self._sanity_steps
        first = [(loader, most if count is None else count if most is None else min(count, most))
                 for loader, count in validation.loaders]
        if all(count == 0 for _, count in first):
            return
        self.sanity_checking = True
        state = torch.get_rng_state(), random.getstate(), numpy.random.get_state()
        try:
            self._call("on_sanity_check_start")
            EvaluationLoop(self, self.lightning_module, "validation", first).run()
            self._call("on_sanity_check_end")
        finally:
            self.sanity_checking = False
            torch.set_rng_state(state[0])
            random.setstate(state[1])
            numpy.random.set_state(state[2])
            self.metrics.forget()

    def _updates(self):
        """The weight updates of the training batch that ran."""
        if self.accelerator_name == "cpu":
            return int(self._updates_now)
        return self._runner.options(True).device_iterations if self._plain_options() else \
            self.strategy.training_opts.device_iterations

    def _plain_options(self):
        return getattr(self.strategy, "training_opts", None) is None

    def validate(self, model=None, dataloaders=None, ckpt_path=None, verbose=True, datamodule=None):
        """Run validation_step over the loader. Returns [{name: value}] of what was logged, and prints it if `verbose`.

        Several loaders on the CPU give a dictionary each, and /dataloader_idx_N after the names.
        Without a module, the one of the stage before is taken, with the weights of its best checkpoint if there is one.
        `ckpt_path` is a path, "best" or "last".
        """
        return self._evaluation(model, dataloaders, datamodule, ckpt_path, verbose, "validate", "validation")

    def test(self, model=None, dataloaders=None, ckpt_path=None, verbose=True, datamodule=None):
        """Run test_step over the loader, otherwise as validate()."""
        return self._evaluation(model, dataloaders, datamodule, ckpt_path, verbose, "test", "test")

    def predict(self, model=None, dataloaders=None, datamodule=None, return_predictions=None, ckpt_path=None):
        """Run predict_step over the loader. Returns the list of its results, one a call, unless told not to.

        Several loaders on the CPU give a list each.
        """
        model, ckpt_path = self._evaluated(model, ckpt_path, "predict()")
        dataloaders, datamodule = _module_of_data(dataloaders, datamodule)
        with self._stage(model, datamodule, "predict"):
            loader = self._loader(dataloaders, model, datamodule, "predict_dataloader", "predict()")
            if ckpt_path is not None:
                self._restore(model, ckpt_path)
            loop = self._prepare_stage("predict", loader)
            _, results = loop.run()
            return None if return_predictions is False else results if len(results) > 1 else results[0]

    def _evaluated(self, model, ckpt_path, name):
        """Return the module to evaluate, and the path of the checkpoint to load or None."""
        saved = self.checkpoint_callback
        if model is None:
            model = self.lightning_module
            if model is None:
                raise MisconfigurationException(f"{name} needs a LightningModule: pass one, or call fit() before.")
            if ckpt_path is None and saved is not None:
                ckpt_path = saved.best_model_path or None
        if ckpt_path in ("best", "last"):
            path = getattr(saved, f"{ckpt_path}_model_path", "")
            if not path:
                raise MisconfigurationException(
                    f'{name} got ckpt_path="{ckpt_path}", but no such checkpoint was saved: add a ModelCheckpoint'
                    f"{' with save_last=True' if ckpt_path == 'last' else ''}, and call fit() before."
                )
            ckpt_path = path
        return model, ckpt_path

    def _evaluation(self, model, dataloaders, datamodule, ckpt_path, verbose, name, stage):
        model, ckpt_path = self._evaluated(model, ckpt_path, f"{name}()")
        dataloaders, datamodule = _module_of_data(dataloaders, datamodule)
        with self._stage(model, datamodule, name):
            loader = self._loader(dataloaders, model, datamodule, f"{'val' if name == 'validate' else name}_dataloader",
                                  f"{name}()")
            if ckpt_path is not None:
                self._restore(model, ckpt_path)
            loop = self._prepare_stage(stage, loader)
            if loop.is_empty:
                return []
            logged, _ = loop.run()
            logged = [{metric: value.item() for metric, value in each.items()} for each in logged]
            if verbose and self.instance == 0:
                for each in logged:
                    for metric, value in each.items():
                        print(f"{name} {metric}: {value:.6g}")
            return logged

    def _prepare_stage(self, stage, loaders):
        """Return the loop of a stage over its loader, or over several of them on the CPU."""
        loaders = list(loaders) if isinstance(loaders, (list, tuple)) else [loaders]
        if len(loaders) != 1 and self.accelerator_name != "cpu":
            raise MisconfigurationException(
                f"The {stage} got {len(loaders)} loaders, but takes one on {self.accelerator_name.upper()}s, where a step is compiled "
                "once: join the data sets, or evaluate them one after the other.")
        self._runner.prepare(stage)
        loop = EvaluationLoop(self, self.lightning_module, stage, [self._batches(loader, stage) for loader in loaders])
        if loop.is_empty and self._limits[stage] != 0:
            warnings.warn(f"The loader of the {stage} gives no batch: is its data set empty, or does drop_last drop all?", stacklevel=3)
        return loop

    # --- parts of stages -----------------------------------------------------------------------------------
    @contextlib.contextmanager
    def _stage(self, model, datamodule, name):
        if not isinstance(model, LightningModule):
            raise TypeError(f"{name}() takes a LightningModule, not {type(model).__name__}.")
        if not getattr(model, "automatic_optimization", True):
            raise MisconfigurationException(
                f"{type(model).__name__} sets automatic_optimization = False, which is not supported: a step runs as one program "
                "on the devices, with the update of the weights. Leave it True, and return the loss from training_step.")
        self.lightning_module, model.trainer = model, self
        self.metrics.forget()
        self.fits, self._in_epoch = name == "fit", False
        self._running = {"fit": "training", "validate": "validation"}.get(name, name)
        self._function, self._status, self.datamodule = name, "running", datamodule
        for source in (model, *self.callbacks, *([] if datamodule is None else [datamodule])):
            check_hooks(source)
        if datamodule is not None:
            datamodule.trainer = self
            datamodule.prepare_data()
        call_hook(model, "prepare_data")
        if datamodule is not None:
            datamodule.setup(name)
        for callback in self.callbacks:
            callback.setup(self, model, name)
        model.setup(name)
        for logger in self.loggers if self.instance == 0 else ():
            sources = [source for source in (datamodule, model) if getattr(source, "_logs_hparams", False)]
            logger.log_hyperparams({name: value for source in sources for name, value in source.hparams.items()})
        self._runner = (HostRunner if self.accelerator_name == "cpu" else DeviceRunner)(self, model)
        try:
            yield
        except BaseException as error:
            self._status = "interrupted"
            for callback in self.callbacks:
                call_hook(callback, "on_exception", self, model, error)
            raise
        finally:
            self._runner.finish()
            self.metrics.results = None
            if datamodule is not None:
                datamodule.teardown(name)
            for callback in self.callbacks:
                callback.teardown(self, model, name)
            model.teardown(name)
            self._running, self._status = None, "finished" if self._status == "running" else self._status

    def _optional_loader(self, model, datamodule, method):
        source = datamodule if datamodule is not None else model
        return loader_of(source, method)

    def _loader(self, given, model, datamodule, method, name):
        loader = given if given is not None else self._optional_loader(model, datamodule, method)
        if hasattr(given, method):
            loader = loader_of(given, method)  # another module in place of a loader
        if loader is None:
            raise MisconfigurationException(f"{name} needs data: pass a loader, or define {method}.")
        if isinstance(loader, (list, tuple)) and len(loader) == 1:
            loader = loader[0]
        if isinstance(loader, (list, tuple, dict)) and (method == "train_dataloader" or isinstance(loader, dict)):
            raise MisconfigurationException(f"{name} got {len(loader)} loaders, but takes one.")
        return loader

    def _batches(self, loader, stage):
        if self.accelerator_name != "cpu":
            loader = device_loader(loader, self, self._runner.options(stage == "training"), stage)
            self._runner.expect(stage, loader.combinedBatchSize)
        names = {"training": "limit_train_batches", "validation": "limit_val_batches"}
        return loader, limited(loader, self._limits[stage], names.get(stage, f"limit_{stage}_batches"))

    def _call(self, hook, *arguments):
        """Call a hook of all callbacks and then of the module. Returns what that of the module returned.

        At the end of an epoch, callbacks that monitor a value come after the module, which may log it there.
        """
        late = [each for each in self.callbacks if hook == "on_train_epoch_end" and isinstance(each, callback_kinds.MONITORS)]
        with self._in_hook(hook):
            for callback in (each for each in self.callbacks if each not in late):
                call_hook(callback, hook, self, self.lightning_module, *arguments)
            result = call_hook(self.lightning_module, hook, *arguments)
            for callback in late:
                call_hook(callback, hook, self, self.lightning_module, *arguments)
        return result

    def _epoch_end(self, hook, outputs):
        with self._in_hook(hook):
            getattr(self.lightning_module, hook)(outputs)

    @contextlib.contextmanager
    def _in_hook(self, hook):
        """Say which hook runs, for the values that it logs."""
        before, self._hook = self._hook, hook
        try:
            yield
        finally:
            self._hook = before

    # --- values --------------------------------------------------------------------------------------------
    @contextlib.contextmanager
    def _tracing(self, stage):
        self._on_devices = stage
        try:
            yield
        finally:
            self._on_devices = ""

    def _log(self, name, value, **settings):
        """Log a value for the hook that runs."""
        if self._on_devices:
            step = f"{self._on_devices}_step"
            raise MisconfigurationException(
                f'self.log("{name}") is called in {step}, which runs on the devices: return the value from {step}, and '
                f"log it in {self._on_devices}_epoch_end."
            )
        if self.metrics.results is None:
            raise MisconfigurationException(
                f'self.log("{name}") is called {f"in {self._hook}" if self._hook else "outside of the loops of a trainer"}, where '
                "Lightning does not log: call it in a step of training, validation or test, or in a hook of their batches or "
                "epochs.")
        self.metrics.results.log(self._hook, name, value, **settings)

    def _write(self, values, step=None, epoch=True):
        """Write values to the loggers at a step, by default that of the training, with the number of the epoch unless told not to."""
        if not values or self.instance != 0:
            return
        row = {**({"epoch": self.current_epoch} if epoch else {}), **{name: float(value) for name, value in values.items()}}
        for logger in self.loggers:
            logger.log_metrics(row, self._batches_that_stepped if step is None else step)
            logger.save()

    def _show(self):
        if not self.enable_progress_bar or self.instance != 0:
            return
        values = {**({} if self._last_loss is None else {"loss": self._last_loss}), **self.progress_bar_metrics}
        shown = "  ".join(f"{name} {value:.4f}" for name, value in values.items())
        of = f"/{self.max_epochs}" if self.max_epochs != -1 else ""
        print(f"Epoch {self.current_epoch + 1}{of}  {shown}", file=sys.stderr)

    # --- checkpoints ---------------------------------------------------------------------------------------
    def save_checkpoint(self, filepath, weights_only=False):
        """Save weights, optimizer state, epoch and hyperparameters. load_from_checkpoint and ckpt_path read them.

        `weights_only` leaves out what only a training that continues needs.
        """
        module = self.lightning_module
        checkpoint = {"epoch": self.current_epoch, "global_step": self.global_step,
                      "state_dict": module.state_dict(), "hyper_parameters": dict(module.hparams),
                      "hparams_name": module._hparams_name}
        trains = self._runner is not None and self._runner.has("training")
        if not weights_only and (trains or self.accelerator_name == "cpu" and self.optimizer is not None):
            checkpoint["optimizer_states"] = self._optimizer_state()
            checkpoint["lr_schedulers"] = [each["scheduler"].state_dict() for each in self._schedulers]
            checkpoint["callbacks"] = callback_kinds.states(self.callbacks)
            checkpoint["loop"] = {"next_epoch": self.current_epoch + int(self._in_epoch), "batches": self._batches_that_stepped,
                                  "is_whole": self._ended_whole or not self._in_epoch}
        self._call("on_save_checkpoint", checkpoint)
        os.makedirs(os.path.dirname(os.path.abspath(filepath)), exist_ok=True)
        torch.save(checkpoint, filepath)

    def _optimizer_state(self):
        if self.accelerator_name == "cpu":
            return self.optimizer.state_dict()
        model = self._runner.model("training")
        if not model.isCompiled():
            return b""
        return model._state()

    def _restore(self, model, path):
        checkpoint = torch_versions.load(path)
        self._call("on_load_checkpoint", checkpoint)
        model.load_state_dict(checkpoint["state_dict"])
        if not self._runner.has("training"):
            return
        if "optimizer_states" not in checkpoint:
            raise MisconfigurationException(
                f"fit() cannot continue from {path}, which holds weights only: save it without save_weights_only, or load the weights "
                "with load_from_checkpoint.")
        loop = checkpoint.get("loop", {})
        if not loop.get("is_whole", True):
            raise MisconfigurationException(
                f"fit() cannot continue from {path}, which was saved within epoch {checkpoint['epoch']}: data loaders start anew, so "
                "give a checkpoint of the end of an epoch.")
        self.current_epoch, self.global_step = loop.get("next_epoch", checkpoint["epoch"] + 1), checkpoint["global_step"]
        self._batches_that_stepped = loop.get("batches", self.global_step)
        callback_kinds.restore(self.callbacks, checkpoint.get("callbacks", {}))
        for each, state in zip(self._schedulers, checkpoint.get("lr_schedulers", [])):
            each["scheduler"].load_state_dict(state)
        state = checkpoint.get("optimizer_states")
        if self.accelerator_name == "cpu":
            self.optimizer.load_state_dict(state)
        elif state:
            self._runner.model("training").loadWhenCompiled(state)


__all__ = ["Callback", "Trainer", "seed_everything"]
