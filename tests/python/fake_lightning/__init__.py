"""A stand-in for PyTorch Lightning, which Debian does not have.

It has the parts of Lightning's public interface that a strategy and an accelerator meet: both registries, the base classes,
and a trainer that calls a strategy in the order in which Lightning's loops do. It is no copy of Lightning.
"""

from . import accelerators, strategies  # noqa: F401
from .utilities.exceptions import MisconfigurationException  # noqa: F401


class _Stage:
    """The stage of a trainer, as an enumeration whose value is a text."""

    def __init__(self, value):
        self.value = value


class State:
    stage = _Stage("train")


class Trainer:
    """Fits and validates with one strategy from the registry."""

    def __init__(self, accelerator, strategy, devices, max_epochs=1, accumulate_grad_batches=1, precision="32-true",
                 gradient_clip_val=None):
        kind = accelerators.AcceleratorRegistry.get(accelerator)
        self.strategy = strategies.StrategyRegistry.get(strategy) if isinstance(strategy, str) else strategy
        self.strategy.accelerator = kind
        self.strategy.parallel_devices = kind.get_parallel_devices(kind.parse_devices(devices))
        self.max_epochs, self.accumulate_grad_batches, self.precision = max_epochs, accumulate_grad_batches, precision
        self.gradient_clip_val = gradient_clip_val
        self.state, self.lightning_module, self.losses, self.global_step = State(), None, [], 0

    @property
    def num_devices(self):
        """The devices of strategies that are parallel; others have one, as in Lightning."""
        return len(self.strategy.parallel_devices) if isinstance(self.strategy, strategies.ParallelStrategy) else 1

    def _connect(self, model, stage):
        self.lightning_module = self.strategy.lightning_module = model
        model.trainer = self
        self.state.stage = _Stage(stage)

    def fit(self, model, loader, checkpoint=None):
        self._connect(model, "train")
        self.strategy.optimizers = [model.configure_optimizers()]
        self.strategy.setup(self)
        if checkpoint is not None:
            self.strategy.load_optimizer_state_dict(checkpoint)
        loader = self.strategy.process_dataloader(loader)
        for _ in range(self.max_epochs):
            for number, batch in enumerate(loader):

                def closure(batch=batch, number=number):
                    loss = self.strategy.training_step(batch, number)
                    self.strategy.backward(loss, self.strategy.optimizers[0])
                    return loss

                self.losses.append(self.strategy.optimizer_step(self.strategy.optimizers[0], closure).item())
                self.global_step += (number + 1) % self.accumulate_grad_batches == 0  # Lightning's count, of its own batches
        self.strategy.teardown()

    def validate(self, model, loader):
        self._connect(model, "validate")
        self.strategy.setup(self)
        results = [self.strategy.validation_step(batch, number)
                   for number, batch in enumerate(self.strategy.process_dataloader(loader))]
        self.strategy.teardown()
        return results
