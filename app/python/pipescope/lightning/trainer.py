"""The trainer: fits, validates, tests and predicts on emulated IPUs and HPUs, or on the CPU."""

import contextlib
import os
import random
import sys

import torch

from .. import instances
from .._pipescope import interface
from . import callbacks as callback_kinds
from .accelerators import CPUAccelerator, HPUAccelerator, IPUAccelerator, device_count
from .callbacks import Callback, ModelCheckpoint
from .data import device_loader, limited
from .errors import MisconfigurationException
from .hooks import call_hook, check_hooks
from .loggers import loggers_of
from .module import LightningDataModule, LightningModule, loader_of
from .plugins import precision_of
from .steps import DeviceRunner, HostRunner
from .strategies import accumulation, strategy_of

_ACCELERATORS = {"cpu": CPUAccelerator, "ipu": IPUAccelerator, "hpu": HPUAccelerator}
_SEED = "PL_GLOBAL_SEED"


def seed_everything(seed=None, workers=False):
    """Seed Python, NumPy and PyTorch, and the devices of trainers that are made later. Returns the seed."""
    import numpy

    seed = int(os.environ.get(_SEED, 0)) if seed is None else int(seed)
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed_everything: {seed} must be from 0 to 2**32 − 1.")
    os.environ[_SEED] = str(seed)
    os.environ["PL_SEED_WORKERS"] = str(int(workers))
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)
    return seed


# Arguments of Lightning's trainer that this one does not support, with the values that are accepted because they
# change nothing.
_NOTHING = {
    "barebones": (False,), "benchmark": (None, False, True), "detect_anomaly": (False,), "deterministic": (None, False, True),
    "enable_model_summary": (None, False), "gradient_clip_algorithm": (None,), "inference_mode": (True,), "max_time": (None,),
    "num_nodes": (1,), "num_sanity_val_steps": (None, 0), "overfit_batches": (0, 0.0), "profiler": (None,),
    "reload_dataloaders_every_n_epochs": (0,), "sync_batchnorm": (False,), "use_distributed_sampler": (True,),
    "val_check_interval": (None, 1.0), "min_steps": (None,), "track_grad_norm": (-1, -1.0), "move_metrics_to_cpu": (False,),
    "multiple_trainloader_mode": ("max_size_cycle",), "replace_sampler_ddp": (True,), "amp_backend": ("native",),
    "auto_lr_find": (False,), "auto_scale_batch_size": (False,), "resume_from_checkpoint": (None,),
}
# Older ways to name devices, and what says the same.
_OLDER = {"gpus": "cuda", "tpu_cores": "tpu", "ipus": "ipu", "hpus": "hpu"}


def _check_nothing(given):
    for name, value in given.items():
        if name in _OLDER:
            if value is not None:
                raise MisconfigurationException(
                    f"Trainer({name}={value!r}) is the older way to name devices: use accelerator=\"{_OLDER[name]}\", "
                    f"devices={value!r}." if _OLDER[name] in _ACCELERATORS else
                    f"Trainer({name}={value!r}): there are no such devices; use accelerator=\"ipu\" or \"hpu\"."
                )
            continue
        if name not in _NOTHING:
            raise TypeError(f"Trainer has no argument {name}.")
        if not any(value is known or (value == known and type(value) is type(known)) for known in _NOTHING[name]):
            known = " or ".join(map(repr, _NOTHING[name]))
            raise MisconfigurationException(f"Trainer({name}={value!r}) is not implemented: leave it out, or pass {known}.")


def _module_of_data(loaders, datamodule):
    """Return loaders and data module. A data module may stand in the place of the loaders."""
    return (None, loaders) if isinstance(loaders, LightningDataModule) else (loaders, datamodule)


class Trainer:
    """Runs a LightningModule.

    `accelerator` is "ipu", "hpu" or "cpu" ("auto": the CPU). `devices` is the number of replicas on IPUs (a power of
    two; a model of k IPUs takes k · devices) and of cards on HPUs, a text with a number, or "auto" (4 IPU replicas, 8
    cards). `precision` is 32, 16 (IPUs) or "bf16" (HPUs). limit_*_batches are numbers of batches or shares of them.
    """

    def __init__(self, accelerator="auto", devices=None, strategy=None, precision=32, max_epochs=None, min_epochs=None,
                 max_steps=-1, limit_train_batches=None, limit_val_batches=None, limit_test_batches=None,
                 limit_predict_batches=None, accumulate_grad_batches=1, callbacks=None, logger=False, plugins=None,
                 gradient_clip_val=None, check_val_every_n_epoch=1, log_every_n_steps=50, enable_progress_bar=True,
                 enable_checkpointing=False, default_root_dir=None, fast_dev_run=False, **nothing):
        _check_nothing(nothing)
        self.accelerator, self.num_devices = self._choose(accelerator, strategy, devices)
        self.accelerator_name = self.accelerator.name
        self.strategy = strategy_of(strategy, self.accelerator_name)
        self.precision = precision_of(precision, plugins, self.accelerator_name)
        if gradient_clip_val and self.accelerator_name != "cpu":
            raise MisconfigurationException(
                f"gradient_clip_val={gradient_clip_val}: clipping gradients is not supported on "
                f"{self.accelerator_name.upper()}s. On IPUs an optimizer of poptorch.optim with max_grad_norm does it."
            )
        accumulate_grad_batches = accumulation(accumulate_grad_batches)
        if check_val_every_n_epoch < 1 or log_every_n_steps < 1:
            raise ValueError("check_val_every_n_epoch and log_every_n_steps must be at least 1.")
        self.gradient_clip_val, self.accumulate_grad_batches = gradient_clip_val, accumulate_grad_batches
        self.max_steps, self.min_epochs = max_steps, min_epochs or 0
        self.max_epochs = max_epochs if max_epochs is not None else (1000 if max_steps == -1 else sys.maxsize)
        self._limits = {"training": limit_train_batches, "validation": limit_val_batches, "test": limit_test_batches,
                        "predict": limit_predict_batches}
        if fast_dev_run:
            count = 1 if fast_dev_run is True else int(fast_dev_run)
            self._limits = dict.fromkeys(self._limits, count)
            self.max_epochs = 1
        self.check_val_every_n_epoch, self.log_every_n_steps = check_val_every_n_epoch, log_every_n_steps
        self.enable_progress_bar, self.default_root_dir = enable_progress_bar, str(default_root_dir or os.getcwd())
        self.loggers = [] if fast_dev_run else loggers_of(logger, self.default_root_dir)
        self.callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
        if enable_checkpointing and not any(isinstance(each, ModelCheckpoint) for each in self.callbacks):
            self.callbacks.append(ModelCheckpoint())
        callback_kinds.check(self.callbacks, self.accelerator_name)
        self.callbacks.sort(key=lambda each: isinstance(each, ModelCheckpoint))  # they see what others log
        self.seed = int(os.environ[_SEED]) if _SEED in os.environ else None
        self.current_epoch = self.global_step = 0
        self.should_stop, self.callback_metrics, self.progress_bar_metrics = False, {}, {}
        self.optimizer = self.lightning_module = None
        self._schedulers, self._on_devices, self._batch_number = [], "", 0
        self._runner, self._pending, self._in_host_step = None, {}, False
        self._last_loss = None

    @staticmethod
    def _choose(accelerator, strategy, devices):
        if isinstance(accelerator, str):
            name = accelerator if accelerator != "auto" else getattr(strategy, "accelerator", "") or "cpu"
            if name not in _ACCELERATORS:
                raise ValueError(f'accelerator is "{accelerator}", but must be "ipu", "hpu", "cpu" or "auto".')
            kind = _ACCELERATORS[name]
        else:
            kind = accelerator if isinstance(accelerator, type) else type(accelerator)
            if kind not in _ACCELERATORS.values():
                raise TypeError(f"{accelerator!r} is no accelerator.")
        return kind, device_count(kind, devices)

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
    def instance(self):
        """The number of this process among those of a launcher, from 0. The first one writes files."""
        return instances.getInstanceIndex()

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
        with self._stage(model, datamodule, "fit"):
            train = self._loader(train_dataloaders, model, datamodule, "train_dataloader", "fit()")
            validation = val_dataloaders if val_dataloaders is not None else self._optional_loader(
                model, datamodule, "val_dataloader")
            self._configure_optimizers(model)
            self._runner.prepare("training", self.optimizer)
            train = self._batches(train, "training")
            validates = validation is not None and type(model).validation_step is not LightningModule.validation_step
            validation = self._prepare_stage("validation", validation) if validates else None
            if ckpt_path is not None:
                self._restore(model, ckpt_path)
            self._fit(model, train, validation)

    def _fit(self, model, train, validation):
        self._call("on_fit_start")
        self._call("on_train_start")
        first = self.current_epoch
        for self.current_epoch in range(first, self.max_epochs):
            self._train_epoch(model, train)
            if validation is not None and (self.current_epoch + 1) % self.check_val_every_n_epoch == 0:
                self._evaluate(model, "validation", validation)
            self._call("on_train_epoch_end")
            self._step_schedulers("epoch")
            self._show()
            self._flush()
            done = self.max_steps != -1 and self.global_step >= self.max_steps
            if done or (self.should_stop and self.current_epoch + 1 >= self.min_epochs):
                break
        self._call("on_train_end")
        self._call("on_fit_end")

    def _train_epoch(self, model, train):
        loader, count = train
        self._call("on_train_epoch_start")
        kept = type(model).training_epoch_end is not LightningModule.training_epoch_end
        outputs, number = [], None
        for number, batch in enumerate(loader):
            if count is not None and number >= count:
                break
            self._batch_number = number
            self._call("on_train_batch_start", batch, number)
            results = self._runner.step("training", batch, self.optimizer)
            loss = results["loss"] if isinstance(results, dict) else results
            self._last_loss = loss.detach().float().mean().item()
            self.global_step += self._updates(number)
            self._step_schedulers("step")
            self._call("on_train_batch_end", results, batch, number)
            if kept:
                outputs.append(results if isinstance(results, dict) else {"loss": results})
            if self.global_step % self.log_every_n_steps == 0:
                self._log("train_loss_step", self._last_loss, True)
                self._flush()
            if self.max_steps != -1 and self.global_step >= self.max_steps:
                break
        if number is None:
            raise MisconfigurationException("The loader for training gave no batch: it has fewer samples than one call takes.")
        if kept:
            model.training_epoch_end(outputs)

    def _updates(self, number):
        """The weight updates of a training batch."""
        if self.accelerator_name == "cpu":
            return int((number + 1) % self.accumulate_grad_batches == 0)
        return self._runner.options(True).device_iterations if self._plain_options() else \
            self.strategy.training_opts.device_iterations

    def _plain_options(self):
        return getattr(self.strategy, "training_opts", None) is None

    def validate(self, model=None, dataloaders=None, ckpt_path=None, verbose=True, datamodule=None):
        """Run validation_step over the loader. Returns [{name: value}] of what was logged, and prints it if `verbose`.

        Without a module, the one of the stage before is taken, with the weights of its best checkpoint if there is one.
        `ckpt_path` is a path, "best" or "last".
        """
        return self._evaluation(model, dataloaders, datamodule, ckpt_path, verbose, "validate", "validation")

    def test(self, model=None, dataloaders=None, ckpt_path=None, verbose=True, datamodule=None):
        """Run test_step over the loader, otherwise as validate()."""
        return self._evaluation(model, dataloaders, datamodule, ckpt_path, verbose, "test", "test")

    def predict(self, model=None, dataloaders=None, datamodule=None, return_predictions=None, ckpt_path=None):
        """Run predict_step over the loader. Returns the list of its results, one a call, unless told not to."""
        model, ckpt_path = self._evaluated(model, ckpt_path, "predict()")
        dataloaders, datamodule = _module_of_data(dataloaders, datamodule)
        with self._stage(model, datamodule, "predict"):
            loader = self._loader(dataloaders, model, datamodule, "predict_dataloader", "predict()")
            if ckpt_path is not None:
                self._restore(model, ckpt_path)
            stage = self._prepare_stage("predict", loader)
            self._call("on_predict_start")
            self._call("on_predict_epoch_start")
            results = self._steps(model, "predict", stage)
            self._call("on_predict_epoch_end")
            self._call("on_predict_end")
            return None if return_predictions is False else results

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
            before = dict(self.callback_metrics)
            self.callback_metrics = {}
            self._evaluate(model, stage, self._prepare_stage(stage, loader))
            logged, self.callback_metrics = self.callback_metrics, {**before, **self.callback_metrics}
            self._flush()
            if verbose and self.instance == 0:
                for metric, value in logged.items():
                    print(f"{name} {metric}: {float(value):.6g}")
            return [logged]

    def _prepare_stage(self, stage, loader):
        self._runner.prepare(stage)
        return self._batches(loader, stage)

    def _steps(self, model, stage, batches):
        loader, count = batches
        results = []
        for number, batch in enumerate(loader):
            if count is not None and number >= count:
                break
            self._batch_number = number
            self._call(f"on_{stage}_batch_start", batch, number)
            results.append(self._runner.step(stage, batch))
            self._call(f"on_{stage}_batch_end", results[-1], batch, number)
        return results

    def _evaluate(self, model, stage, batches):
        self._call(f"on_{stage}_start")
        self._call(f"on_{stage}_epoch_start")
        results = self._steps(model, stage, batches)
        getattr(model, f"{stage}_epoch_end")(results)
        self._call(f"on_{stage}_epoch_end")
        self._call(f"on_{stage}_end")

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
        for source in (model, *self.callbacks, *([] if datamodule is None else [datamodule])):
            check_hooks(source)
        if datamodule is not None:
            datamodule.trainer = self
            datamodule.prepare_data()
            datamodule.setup(name)
        model.setup(name)
        for callback in self.callbacks:
            callback.setup(self, model, name)
        for logger in self.loggers if self.instance == 0 else ():
            logger.log_hyperparams(model.hparams)
        self._runner = (HostRunner if self.accelerator_name == "cpu" else DeviceRunner)(self, model)
        try:
            yield
        except BaseException as error:
            for callback in self.callbacks:
                call_hook(callback, "on_exception", self, model, error)
            raise
        finally:
            self._runner.finish()
            for callback in self.callbacks:
                callback.teardown(self, model, name)
            model.teardown(name)
            if datamodule is not None:
                datamodule.teardown(name)
            self._flush()

    def _optional_loader(self, model, datamodule, method):
        source = datamodule if datamodule is not None else model
        return loader_of(source, method)

    def _loader(self, given, model, datamodule, method, name):
        loader = given if given is not None else self._optional_loader(model, datamodule, method)
        if hasattr(given, method):
            loader = loader_of(given, method)  # another module in place of a loader
        if loader is None:
            raise MisconfigurationException(f"{name} needs data: pass a loader, or define {method}.")
        if isinstance(loader, (list, tuple)):
            if len(loader) != 1:
                raise MisconfigurationException(f"{name} got {len(loader)} loaders, but takes one.")
            loader = loader[0]
        return loader

    def _batches(self, loader, stage):
        if self.accelerator_name != "cpu":
            loader = device_loader(loader, self, self._runner.options(stage == "training"), stage)
            self._runner.expect(stage, loader.combinedBatchSize)
        names = {"training": "limit_train_batches", "validation": "limit_val_batches"}
        return loader, limited(loader, self._limits[stage], names.get(stage, f"limit_{stage}_batches"))

    def _configure_optimizers(self, model):
        given = model.configure_optimizers()
        schedulers = []
        if isinstance(given, dict):
            given, schedulers = given["optimizer"], [given["lr_scheduler"]] if "lr_scheduler" in given else []
        elif isinstance(given, (list, tuple)) and len(given) == 2 and isinstance(given[1], (list, tuple)):
            given, schedulers = given
        optimizers = list(given) if isinstance(given, (list, tuple)) else [given]
        if len(optimizers) != 1 or not isinstance(optimizers[0], torch.optim.Optimizer):
            raise MisconfigurationException(
                f"configure_optimizers returns {len(optimizers)} optimizers, but one is supported: give one optimizer "
                "with several parameter groups."
                if len(optimizers) != 1 else "configure_optimizers must return an optimizer."
            )
        self.optimizer = optimizers[0]
        self._schedulers = [each if isinstance(each, dict) else {"scheduler": each} for each in schedulers]
        for each in self._schedulers:
            unknown = set(each) - {"scheduler", "interval", "frequency", "monitor", "name"}
            if unknown:
                raise MisconfigurationException(f"lr_scheduler has the key {sorted(unknown)[0]}, which is not supported.")

    def _step_schedulers(self, interval):
        count = self.current_epoch + 1 if interval == "epoch" else self.global_step
        for each in self._schedulers:
            if each.get("interval", "epoch") != interval or count % each.get("frequency", 1) != 0:
                continue
            scheduler = each["scheduler"]
            # Weights are updated on the devices, so torch's optimizer never steps; it would warn of that.
            self.optimizer._step_count = 1
            if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
                scheduler.step(callback_kinds._monitored(self, each.get("monitor"), "ReduceLROnPlateau"))
            else:
                scheduler.step()

    def _call(self, hook, *arguments):
        for callback in self.callbacks:
            call_hook(callback, hook, self, self.lightning_module, *arguments)
        call_hook(self.lightning_module, hook, *arguments)

    # --- values --------------------------------------------------------------------------------------------
    @contextlib.contextmanager
    def _tracing(self, stage):
        self._on_devices = stage
        try:
            yield
        finally:
            self._on_devices = ""

    def _check_log(self, name, on_step, on_epoch):
        if self._in_host_step and on_epoch:
            raise MisconfigurationException(
                f'self.log("{name}", on_epoch=True) in a step is not implemented: log the mean in the epoch-end hook.'
            )
        if not self._in_host_step and on_step and not self._on_devices:
            raise MisconfigurationException(f'self.log("{name}", on_step=True) belongs to a step.')

    def _log(self, name, value, logged, shown=False, sync_dist=False):
        if self._on_devices:
            step = f"{self._on_devices}_step"
            raise MisconfigurationException(
                f'self.log("{name}") is called in {step}, which runs on the devices: return the value from {step}, and '
                f"log it in {self._on_devices}_epoch_end."
            )
        value = value.detach().float().mean().item() if isinstance(value, torch.Tensor) else float(value)
        if sync_dist:
            instances.leave_at_exit()
            values = interface.instance_values(value)
            value = sum(values) / len(values)
        self.callback_metrics[name] = value
        if shown:
            self.progress_bar_metrics[name] = value
        if logged:
            self._pending[name] = value

    def _flush(self):
        if self._pending and self.instance == 0:
            for logger in self.loggers:
                logger.log_metrics({"epoch": self.current_epoch, **self._pending}, self.global_step)
                logger.save()
        self._pending = {}

    def _show(self):
        if not self.enable_progress_bar or self.instance != 0:
            return
        values = {**({} if self._last_loss is None else {"loss": self._last_loss}), **self.progress_bar_metrics}
        shown = "  ".join(f"{name} {value:.4f}" for name, value in values.items())
        print(f"Epoch {self.current_epoch + 1}/{self.max_epochs}  {shown}", file=sys.stderr)

    # --- checkpoints ---------------------------------------------------------------------------------------
    def save_checkpoint(self, filepath):
        """Save weights, optimizer state, epoch and hyperparameters. load_from_checkpoint and ckpt_path read them."""
        module = self.lightning_module
        checkpoint = {"epoch": self.current_epoch, "global_step": self.global_step,
                      "state_dict": module.state_dict(), "hyper_parameters": dict(module.hparams)}
        if self._runner is not None and self._runner.has("training"):
            checkpoint["optimizer_states"] = self._optimizer_state()
            checkpoint["lr_schedulers"] = [each["scheduler"].state_dict() for each in self._schedulers]
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
        checkpoint = torch.load(path)
        self._call("on_load_checkpoint", checkpoint)
        model.load_state_dict(checkpoint["state_dict"])
        if not self._runner.has("training"):
            return
        self.current_epoch, self.global_step = checkpoint["epoch"] + 1, checkpoint["global_step"]
        for each, state in zip(self._schedulers, checkpoint.get("lr_schedulers", [])):
            each["scheduler"].load_state_dict(state)
        state = checkpoint.get("optimizer_states")
        if self.accelerator_name == "cpu":
            self.optimizer.load_state_dict(state)
        elif state:
            self._runner.model("training").loadWhenCompiled(state)


__all__ = ["Callback", "Trainer", "seed_everything"]
