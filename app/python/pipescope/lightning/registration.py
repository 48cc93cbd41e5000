"""Registers the emulated accelerators and their strategies with PyTorch Lightning itself, where it is installed.

Lightning's own trainer then runs a LightningModule on emulated devices: `Trainer(accelerator="ipu",
strategy="ipu_strategy", devices=2)`, or with an object from `strategies_of()`.
"""

import contextlib
import importlib
import importlib.util
import os

import torch

from .. import instances
from ..aliases import is_alias
from ..torch_versions import note_step
from . import accelerators
from .data import device_loader
from .errors import MisconfigurationException
from .steps import DeviceRunner
from .strategies import _NAMES, accumulation

#: The names of Lightning's package, the newer one first.
PACKAGES = ("lightning.pytorch", "pytorch_lightning")

_STATE = "pipescope"  # the key of the devices' state in the state of an optimizer
_STAGES = {"train": "training", "sanity_check": "validation", "validate": "validation", "test": "test",
           "predict": "predict"}


def installed_package():
    """Return the name of Lightning's package, or None if Lightning is not installed."""
    for name in PACKAGES:
        with contextlib.suppress(ModuleNotFoundError):
            if importlib.util.find_spec(name) is not None and not is_alias(name):
                return name
    return None


class _View:
    """Answers a DeviceRunner's questions about its trainer from Lightning's trainer."""

    def __init__(self, trainer, strategy, kind, devices, accumulated):
        self.accumulate_grad_batches = accumulated
        self._trainer, self.strategy, self.accelerator_name, self.num_devices = trainer, strategy, kind.name, devices
        text = str(getattr(trainer, "precision", "32"))
        self.precision = "bf16" if text.startswith("bf16") else 16 if text.startswith("16") else 32
        seed = os.environ.get("PL_GLOBAL_SEED")
        self.seed = int(seed) if seed else None

    @contextlib.contextmanager
    def _tracing(self, stage):
        def refuse(name, *args, **kwargs):
            raise MisconfigurationException(
                f'self.log("{name}") is called in {stage}_step, which runs on the devices: return the value, and log it '
                "in an epoch-end hook."
            )

        module = self._trainer.lightning_module
        module.__dict__["log"] = refuse
        try:
            yield
        finally:
            module.__dict__.pop("log", None)


@contextlib.contextmanager
def translated(exception):
    """Raise what this package refuses as Lightning's own exception."""
    try:
        yield
    except MisconfigurationException as error:
        raise exception(str(error)) from error


def _exception_of(package):
    """Return Lightning's MisconfigurationException."""
    for name in (f"{package}.utilities.exceptions", "lightning_fabric.utilities.exceptions", "lightning.fabric.utilities.exceptions"):
        with contextlib.suppress(ImportError, AttributeError):
            return importlib.import_module(name).MisconfigurationException
    return MisconfigurationException


def _emulated_strategy(base, own, kind, exception):
    """Return a strategy of Lightning (`base`) that runs steps as our strategy `own` says, and refuses with `exception`."""

    class Emulated(base):
        """Steps run compiled on emulated devices, which also update the weights."""

        strategy_name = own.__name__

        def __init__(self, accelerator=None, checkpoint_io=None, precision_plugin=None, **settings):
            super().__init__(accelerator=accelerator, checkpoint_io=checkpoint_io, precision_plugin=precision_plugin)
            self.own, self.parallel_devices, self._runner, self._view = own(**settings), None, None, None
            self._rows = {}  # rows of a call, by stage
            self._loaded = None  # state of the devices out of a checkpoint, until they train
            self._kept = None  # the state that they had at the end, for checkpoints after it
            self._asked = None  # the accumulated batches that Lightning's trainer and its callbacks asked for

        # --- one process, whose tensors lie in the memory of the host ----------------------------------------
        root_device = property(lambda self: torch.device("cpu"))
        is_global_zero = property(lambda self: instances.getInstanceIndex() == 0)
        global_rank = property(lambda self: instances.getInstanceIndex())
        local_rank = node_rank = 0
        world_size = num_processes = num_nodes = 1
        is_distributed = False  # devices are replicas of one process, which reads all samples

        def model_to_device(self):
            """Tensors go to the devices with each call."""

        def broadcast(self, obj, src=0):
            return obj

        def barrier(self, *args, **kwargs):
            """One process waits for nobody."""

        def all_gather(self, tensor, group=None, sync_grads=False):
            return tensor

        def reduce(self, tensor, *args, **kwargs):
            return tensor

        # --- models of the stages ------------------------------------------------------------------------------
        def setup(self, trainer):
            super().setup(trainer)
            if not getattr(trainer.lightning_module, "automatic_optimization", True):
                raise exception("automatic_optimization = False is not supported: a step runs as one program on the devices, with "
                                "the update of the weights.")
            if len(self.optimizers) > 1:
                raise exception("One optimizer is supported: give it several parameter groups.")
            if getattr(trainer, "gradient_clip_val", None):
                raise exception(f"gradient_clip_val={trainer.gradient_clip_val}: clipping gradients is not supported on "
                                f"{kind.name.upper()}s. On IPUs an optimizer of poptorch.optim with max_grad_norm does it.")
            devices = len(self.parallel_devices) if self.parallel_devices else 1
            with translated(exception):
                self._view = _View(trainer, self.own, kind, devices, self._accumulated(trainer))
            self._take_accumulation(trainer)
            self._runner = DeviceRunner(self._view, trainer.lightning_module)

        @staticmethod
        def _schedules(trainer):
            """Lightning's callbacks that say how many batches are accumulated: GradientAccumulationScheduler."""
            return [each for each in getattr(trainer, "callbacks", ()) if isinstance(getattr(each, "scheduling", None), dict)]

        def _accumulated(self, trainer):
            given = [getattr(trainer, "accumulate_grad_batches", 1), *(each.scheduling for each in self._schedules(trainer))]
            return max(accumulation(each) for each in given)

        def _take_accumulation(self, trainer):
            """Let every batch of Lightning be an update, as one call of the devices takes all batches of an update."""
            self._asked = getattr(trainer, "accumulate_grad_batches", 1), [
                (each, each.scheduling) for each in self._schedules(trainer)]
            trainer.accumulate_grad_batches = 1
            for each, _ in self._asked[1]:
                each.scheduling = {0: 1}

        def _give_accumulation_back(self):
            if self._asked is not None:
                self.lightning_module.trainer.accumulate_grad_batches, schedules = self._asked
                for each, scheduling in schedules:
                    each.scheduling = scheduling
                self._asked = None

        def _stage(self):
            stage = self.lightning_module.trainer.state.stage
            return _STAGES[str(getattr(stage, "value", stage))]

        def process_dataloader(self, dataloader):
            with translated(exception):
                trainer = self.lightning_module.trainer
                view = self._view or _View(trainer, self.own, kind, len(self.parallel_devices or [None]), self._accumulated(trainer))
                options = self.own.options(view, self._stage() == "training")
                loader = device_loader(dataloader, view, options, self._stage())
            self._rows[self._stage()] = loader.combinedBatchSize
            return loader

        def _step(self, stage, batch):
            optimizer = self.optimizers[0] if stage == "training" else None
            with translated(exception):
                if not self._runner.has(stage):
                    self._runner.prepare(stage, optimizer)
                    self._give_loaded(stage)
                    self._runner.expect(stage, self._rows.get(stage))
                return self._runner.step(stage, batch, optimizer)

        def training_step(self, batch, *args, **kwargs):
            results = self._step("training", batch)
            if isinstance(results, dict):  # Lightning takes one number as the loss: the mean over the replicas
                return {**results, "loss": results["loss"].mean()}
            return results.mean()

        def validation_step(self, batch, *args, **kwargs):
            return self._step(self._stage(), batch)

        def test_step(self, batch, *args, **kwargs):
            return self._step("test", batch)

        def predict_step(self, batch, *args, **kwargs):
            return self._step("predict", batch)

        # --- the optimizer's state lies on the devices ---------------------------------------------------------------
        def optimizer_state(self, optimizer):
            state, kept = super().optimizer_state(optimizer), self._state_of_devices()
            return state if kept is None else {**state, _STATE: kept}

        def _state_of_devices(self):
            """The bytes of weights and moments; None before the devices have trained."""
            model = self._runner.model("training") if self._runner is not None and self._runner.has("training") else None
            return model._state() if model is not None and model.isCompiled() else self._kept

        def load_optimizer_state_dict(self, checkpoint):
            super().load_optimizer_state_dict(checkpoint)
            states = checkpoint["optimizer_states"]
            self._loaded = next((each[_STATE] for each in states if _STATE in each), None)
            if self._loaded is None and any(each.get("state") for each in states):
                raise exception("The checkpoint holds the state of an optimizer that another accelerator has trained with, which the "
                                "devices cannot take over: pass weights only (load_from_checkpoint), or resume where it was saved.")

        def _give_loaded(self, stage):
            if stage == "training" and self._loaded is not None:
                self._runner.model(stage).loadWhenCompiled(self._loaded)
                self._loaded = None

        # --- weights are updated on the devices ------------------------------------------------------------------
        def backward(self, closure_loss, *args, **kwargs):
            return closure_loss

        def optimizer_step(self, optimizer, *arguments, closure=None, **kwargs):
            # Lightning 1 passes the number of the optimizer before the closure.
            closure = closure or next(each for each in arguments if callable(each))
            note_step(optimizer)
            return closure()

        def teardown(self):
            if self._runner is not None:
                self._kept = self._state_of_devices()
                self._runner.finish()
            self._give_accumulation_back()
            super().teardown()

    Emulated.__name__ = Emulated.__qualname__ = own.__name__
    return Emulated


def _emulated_accelerator(base, kind, exception):
    """Return an accelerator of Lightning (`base`) with the devices of ours, which refuses with `exception`."""

    class Emulated(base):
        """Emulated devices: any number of them is there."""

        name = staticmethod(lambda: kind.name)

        def setup_device(self, device):
            """Devices are made with the model."""

        setup = setup_device

        def teardown(self):
            """Devices end with the model."""

        @staticmethod
        def parse_devices(devices):
            return accelerators.device_count(kind, devices)

        @staticmethod
        def get_parallel_devices(devices):
            return [torch.device("cpu")] * devices

        @staticmethod
        def auto_device_count():
            return kind.auto_device_count()

        @staticmethod
        def is_available():
            return True

        def get_device_stats(self, device):
            raise exception("Emulated devices have no counters: pass autoreport=True, and open the profile.")

    Emulated.__name__ = Emulated.__qualname__ = kind.__name__
    return Emulated


_KINDS = {"ipu": accelerators.IPUAccelerator, "hpu": accelerators.HPUAccelerator}


def strategies_of(package):
    """Return {name: class} of the emulated strategies as strategies of this package of Lightning."""
    module = importlib.import_module(f"{package}.strategies")
    base = getattr(module, "ParallelStrategy", module.Strategy)  # Lightning counts the devices of no other one
    return {name: _emulated_strategy(base, own, _KINDS[own.accelerator], _exception_of(package)) for name, own in _NAMES.items()}


def _choose_by_name(package):
    """Let Lightning's trainer take our strategies for the accelerators "ipu" and "hpu" where none is named."""
    try:
        module = importlib.import_module(f"{package}.trainer.connectors.accelerator_connector")
    except ModuleNotFoundError:
        return
    kind = getattr(module, "AcceleratorConnector", None) or module._AcceleratorConnector
    theirs = getattr(kind._choose_strategy, "theirs", kind._choose_strategy)

    def choose(self):
        if self._accelerator_flag == "ipu":
            return "ipu_strategy"
        if self._accelerator_flag == "hpu":
            return "hpu_parallel" if len(self._parallel_devices or ()) > 1 else "hpu_single"
        return theirs(self)

    choose.theirs = theirs
    kind._choose_strategy = choose


def register(package=None):
    """Register accelerators and strategies with Lightning. Returns their names; none if Lightning is not installed."""
    package = package or installed_package()
    if package is None:
        return []
    strategies = importlib.import_module(f"{package}.strategies")
    kinds = importlib.import_module(f"{package}.accelerators")
    for name, strategy in strategies_of(package).items():
        strategies.StrategyRegistry.register(name, strategy, description="emulated by Pipescope", override=True)
    for name, kind in _KINDS.items():
        made = _emulated_accelerator(kinds.Accelerator, kind, _exception_of(package))
        kinds.AcceleratorRegistry.register(name, made, description="emulated by Pipescope", override=True)
    _choose_by_name(package)
    return [*_NAMES, *_KINDS]
