"""Strategies: how a module runs on emulated devices."""

import warnings

from .. import instances
from .errors import MisconfigurationException


def _poptorch():
    from .. import poptorch

    return poptorch


def _own_share(devices):
    """The devices of this process among those of all instances that a launcher started."""
    count = instances.getNumInstances()
    if devices % count != 0:
        raise MisconfigurationException(
            f"devices is {devices}, which does not divide by the {count} instances that poprun started."
        )
    return devices // count


def accumulation(given):
    """The batches of one weight update. Lightning also takes {epoch: batches}, which must say the same of all epochs here."""
    schedule = given if isinstance(given, dict) else {0: given}
    for epoch, batches in schedule.items():
        if any(isinstance(each, bool) or not isinstance(each, int) for each in (epoch, batches)) or epoch < 0 or batches < 1:
            raise MisconfigurationException(
                f"accumulate_grad_batches is {given!r}, but must be a whole number of at least 1, or {{epoch: number}}.")
    values = set(schedule.values()) | ({1} if 0 not in schedule else set())
    if len(values) != 1:
        raise MisconfigurationException(
            f"accumulate_grad_batches is {given!r}: emulated devices, as IPUs, do not support different numbers at different "
            "epochs, because the model is compiled once. Give one number.")
    return values.pop()


class Strategy:
    """The base of all strategies."""

    accelerator = ""


class SingleDeviceStrategy(Strategy):
    """One process on the CPU."""

    accelerator = "cpu"


class IPUStrategy(Strategy):
    """Training and inference on IPUs.

    `device_iterations` is the number of weight updates in each training call, or of micro-batches in each call for
    inference. `autoreport` writes profiles into the folder `autoreport_dir` (default: autoreport). `training_opts` and
    `inference_opts` are poptorch.Options that are used as they are; the trainer's devices and accumulate_grad_batches
    and `device_iterations` then have no effect on that stage.
    """

    accelerator = "ipu"

    def __init__(self, accelerator=None, device_iterations=1, autoreport=False, autoreport_dir=None,
                 parallel_devices=None, training_opts=None, inference_opts=None):
        if accelerator not in (None, "ipu"):
            raise MisconfigurationException(f"IPUStrategy is for the accelerator ipu, not {accelerator}.")
        if parallel_devices is not None:
            raise MisconfigurationException("IPUStrategy takes its devices from the trainer: leave out parallel_devices.")
        if device_iterations < 1:
            raise ValueError(f"device_iterations is {device_iterations}, but must be at least 1.")
        if autoreport_dir is not None and not autoreport:
            raise MisconfigurationException("autoreport_dir is given, but autoreport is False: set it.")
        self.device_iterations, self.autoreport, self.autoreport_dir = device_iterations, autoreport, autoreport_dir
        self.training_opts, self.inference_opts = training_opts, inference_opts

    def replicas(self, devices):
        """Return the number of replicas: that of custom options, or else of the trainer."""
        for custom in (self.training_opts, self.inference_opts):
            if custom is not None:
                return custom.replication_factor
        return devices

    def options(self, trainer, training):
        """Return the options of training or of inference."""
        custom = self.training_opts if training else self.inference_opts
        if custom is not None:
            self._warn_of_unused(trainer, training)
            options = custom.clone()
        else:
            options = _poptorch().Options()
            options.deviceIterations(self.device_iterations)
            options.replicationFactor(_own_share(self.replicas(trainer.num_devices)))
            if training:
                options.Training.gradientAccumulation(trainer.accumulate_grad_batches)
            if trainer.seed is not None:
                options.randomSeed(trainer.seed)
        if self.autoreport:
            options.enableProfiling(self.autoreport_dir or "autoreport")
        return options

    def _warn_of_unused(self, trainer, training):
        name = "training_opts" if training else "inference_opts"
        options = self.training_opts if training else self.inference_opts
        unused = []
        if self.device_iterations not in (1, options.device_iterations):
            unused.append(f"device_iterations={self.device_iterations}")
        if trainer.num_devices != options.replication_factor:
            unused.append(f"devices={trainer.num_devices}")
        if training and trainer.accumulate_grad_batches not in (1, options.Training.gradient_accumulation):
            unused.append(f"accumulate_grad_batches={trainer.accumulate_grad_batches}")
        if unused:
            warnings.warn(
                f"{' and '.join(unused)} have no effect, because {name} was passed, which has deviceIterations "
                f"{options.device_iterations}, replicationFactor {options.replication_factor} and gradientAccumulation "
                f"{options.Training.gradient_accumulation}: set these instead.",
                stacklevel=3,
            )


class HPUParallelStrategy(Strategy):
    """Data-parallel training on HPUs: a replica on each card, gradients averaged over HCCL's ring.

    `process_group_backend` may only be "hccl". `autoreport` writes profiles into the folder `autoreport_dir`.
    """

    accelerator = "hpu"

    def __init__(self, process_group_backend="hccl", autoreport=False, autoreport_dir=None):
        if process_group_backend not in (None, "hccl"):
            raise MisconfigurationException(
                f'process_group_backend is "{process_group_backend}", but HPUs exchange gradients with hccl.'
            )
        self.autoreport, self.autoreport_dir = autoreport, autoreport_dir

    def replicas(self, devices):
        """Return the number of cards."""
        return devices

    def options(self, trainer, training):
        """Return the options of training or of inference."""
        options = _poptorch().Options()
        options.replicationFactor(_own_share(trainer.num_devices))
        if training:
            options.Training.gradientAccumulation(trainer.accumulate_grad_batches)
        if trainer.seed is not None:
            options.randomSeed(trainer.seed)
        options._useCards(trainer.num_devices, trainer.precision)
        if self.autoreport:
            options.enableProfiling(self.autoreport_dir or "autoreport")
        return options


class HPUDDPStrategy(HPUParallelStrategy):
    """The name of HPUParallelStrategy in later versions."""


class SingleHPUStrategy(HPUParallelStrategy):
    """Training on one card."""

    def options(self, trainer, training):
        if trainer.num_devices != 1:
            raise MisconfigurationException(
                f"SingleHPUStrategy runs on one card, but devices is {trainer.num_devices}: use HPUParallelStrategy."
            )
        return super().options(trainer, training)


_NAMES = {"ipu_strategy": IPUStrategy, "hpu_parallel": HPUParallelStrategy, "hpu_ddp": HPUDDPStrategy,
          "hpu_single": SingleHPUStrategy}


def strategy_of(strategy, accelerator):
    """Return the strategy of a trainer. `strategy` is an object, a name, or None or "auto": that of the accelerator."""
    if strategy == "auto":
        strategy = None
    if isinstance(strategy, str) and strategy not in _NAMES:
        raise ValueError(f'There is no strategy "{strategy}": use {", ".join(_NAMES)}.')
    if isinstance(strategy, str):
        strategy = _NAMES[strategy]()
    if strategy is None:
        strategy = {"ipu": IPUStrategy, "hpu": HPUParallelStrategy, "cpu": SingleDeviceStrategy}[accelerator]()
    if not isinstance(strategy, Strategy):
        raise TypeError(f"{strategy!r} is no strategy: pass IPUStrategy() or HPUParallelStrategy().")
    if strategy.accelerator != accelerator:
        raise MisconfigurationException(
            f'{type(strategy).__name__} is for accelerator="{strategy.accelerator}", but the trainer has "{accelerator}".'
        )
    return strategy
