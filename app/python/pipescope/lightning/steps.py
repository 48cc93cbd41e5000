"""Steps of a module on emulated devices: each stage has a compiled model of its own."""

import contextlib

import torch

from .errors import MisconfigurationException
from .hooks import takes


_WITHOUT_LOSS = '{}.training_step returns a dictionary without the key "loss".'


class StepModule(torch.nn.Module):
    """Makes a step of a LightningModule the forward function of a module that can be traced."""

    def __init__(self, module, step):
        super().__init__()
        self.module = module
        self._step = step

    def forward(self, batch):
        step = getattr(self.module, self._step)
        results = step(*(batch, 0)[: takes(step)])
        if results is None:
            raise MisconfigurationException(
                f"{type(self.module).__name__}.{self._step} returns nothing: return tensors, in training the loss."
            )
        return results


class TrainingStep(StepModule):
    """training_step, whose loss is marked."""

    def forward(self, batch):
        from ..poptorch.ops import mark_loss

        results = super().forward(batch)
        name = type(self.module).__name__
        if isinstance(results, dict) and "loss" not in results:
            raise MisconfigurationException(_WITHOUT_LOSS.format(name))
        if isinstance(results, dict):
            return {**results, "loss": mark_loss(_scalar(results["loss"], name))}
        if not isinstance(results, torch.Tensor):
            raise MisconfigurationException(
                f"{name}.training_step returns a {type(results).__name__} (two losses?), but only one loss is "
                'supported: return it, or a dictionary with the key "loss".'
            )
        return mark_loss(_scalar(results, name))


def _scalar(loss, name):
    if not isinstance(loss, torch.Tensor) or loss.dim() != 0:
        shape = list(loss.shape) if isinstance(loss, torch.Tensor) else type(loss).__name__
        raise MisconfigurationException(
            f"{name}.training_step returns a loss of {shape}, but only one number is supported as the loss: return its "
            "mean or sum."
        )
    return loss


class DeviceRunner:
    """Runs the steps of a module on IPUs or HPUs."""

    loss_divisor = 1

    def __init__(self, trainer, module):
        self._trainer, self._module = trainer, module
        self._models, self._attached = {}, None
        self._rows = {}  # rows of a whole call, by stage
        if trainer.precision == 16:
            module.half()

    def options(self, training):
        """The options of training or inference."""
        return self._trainer.strategy.options(self._trainer, training)

    def prepare(self, stage, optimizer=None):
        """Make the model of a stage: "training", "validation", "test" or "predict"."""
        from .. import poptorch

        training = stage == "training"
        options = self.options(training)
        options.modelName(stage)
        step = TrainingStep if training else StepModule
        wrapped = step(self._module, f"{stage}_step")
        self._models[stage] = (
            poptorch.trainingModel(wrapped, options, optimizer) if training else poptorch.inferenceModel(wrapped, options)
        )

    def has(self, stage):
        """True if the model of a stage was made."""
        return stage in self._models

    def model(self, stage):
        """The model of a stage."""
        return self._models[stage]

    def _switch(self, stage):
        """Detach the model that ran before, and attach this one if it is compiled."""
        if self._attached == stage:
            return
        before = self._models.get(self._attached)
        if before is not None and before.isAttachedToDevice():
            before.detachFromDevice()
        model = self._models[stage]
        if model.isCompiled() and not model.isAttachedToDevice():
            model.attachToDevice()
        self._attached = stage

    def step(self, stage, batch, optimizer=None):
        """Run one call and return what the step returned."""
        self._switch(stage)
        model = self._models[stage]
        if self._trainer.precision == 16:
            batch = _half(batch)
        if optimizer is not None and model.isCompiled():
            model.setOptimizer(optimizer)
        whole = self._rows.get(stage)
        rows = _rows(batch) if stage == "predict" else None
        is_short = whole is not None and rows is not None and rows < whole
        with self._trainer._tracing(stage), _advice(self._trainer, stage):
            results = model(_changed(batch, lambda each: _padded(each, rows, whole)) if is_short else batch)
        return _changed(results, lambda each: _cut(each, rows, whole)) if is_short else results

    def expect(self, stage, rows):
        """Say how many rows a whole call of a stage takes. Shorter batches of predictions are filled up to them."""
        self._rows[stage] = rows

    def finish(self):
        """End profiles and free the devices."""
        for model in self._models.values():
            model.destroy()
        self._models, self._attached = {}, None


@contextlib.contextmanager
def _advice(trainer, stage):
    """Say which argument of the trainer answers a refusal of the options."""
    from .. import poptorch

    try:
        yield
    except poptorch.Error as error:
        if isinstance(error.__cause__, MisconfigurationException):
            raise error.__cause__ from None
        text = str(error)
        if trainer.accelerator_name == "ipu" and text.startswith("gradientAccumulation is"):
            text += " Set Trainer(accumulate_grad_batches=…) to it."
        elif trainer.accelerator_name == "ipu" and stage != "training" and text.startswith("deviceIterations is"):
            text += " Set IPUStrategy(device_iterations=…) to it."
        else:
            raise
        raise MisconfigurationException(text) from error


def _changed(values, change):
    """The same nested values with other tensors."""
    if isinstance(values, torch.Tensor):
        return change(values)
    if isinstance(values, dict):
        return {key: _changed(value, change) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        made = [_changed(value, change) for value in values]
        return type(values)(*made) if hasattr(values, "_fields") else type(values)(made)
    return values


def _half(values):
    return _changed(values, lambda each: each.half() if each.is_floating_point() else each)


def _rows(values):
    """The rows of the first tensor of a batch, or None."""
    found = []
    _changed(values, lambda each: found.append(each) or each)
    return found[0].shape[0] if found and found[0].dim() > 0 else None


def _padded(tensor, rows, whole):
    """Repeat the last row until a call is full."""
    if tensor.dim() == 0 or tensor.shape[0] != rows:
        return tensor
    return torch.cat([tensor, tensor[-1:].expand(whole - rows, *tensor.shape[1:])])


def _cut(tensor, rows, whole):
    """Leave out the results of the rows that _padded() added."""
    return tensor[: tensor.shape[0] * rows // whole] if tensor.dim() > 0 and tensor.shape[0] % whole == 0 else tensor


class HostRunner:
    """Runs the steps of a module on the CPU, with PyTorch."""

    def __init__(self, trainer, module):
        self._trainer, self._module, self._stages = trainer, module, set()

    @property
    def loss_divisor(self):
        """What the loss of a training step was divided by."""
        return self._trainer.accumulate_grad_batches

    def prepare(self, stage, optimizer=None):
        """Nothing is compiled for the CPU."""
        self._stages.add(stage)

    def has(self, stage):
        """True if prepare() was called for the stage."""
        return stage in self._stages

    def step(self, stage, batch, optimizer=None):
        """Run one batch. In training add its gradients, and update the weights if the trainer says so.

        As in Lightning, every loss is divided by accumulate_grad_batches, and gradients are those of the batches since
        the update before, also where the last batch of an epoch makes the update early.
        """
        if stage != "training":
            return self._call(stage, batch)
        results = None

        def closure():
            nonlocal results
            with torch.enable_grad():
                results, loss = self._training_results(batch)
                if self._trainer._batch_number % self._trainer.accumulate_grad_batches == 0:
                    optimizer.zero_grad()
                if loss is not None:
                    loss.backward()
            if self._trainer._updates_now:
                self._clip(optimizer)
            return None if loss is None else loss.detach()

        if self._trainer._updates_now:
            optimizer.step(closure)
        else:
            closure()
        return results

    def _call(self, stage, batch):
        name = f"{stage}_step"
        step, loader = getattr(self._module, name), self._trainer._loader_number
        arguments = (batch, self._trainer._batch_number, *(() if loader is None else (loader,)))
        taken = takes(step)
        if loader is not None and taken is not None and taken < 3:
            raise MisconfigurationException(
                f"{type(self._module).__name__}.{name} takes no dataloader_idx, but there are several loaders: add it as the last "
                "argument.")
        with self._trainer._in_hook(name):
            return step(*arguments[:taken])

    def _training_results(self, batch):
        """Return what the step returned, without its graph, and the loss to differentiate; None to skip the batch."""
        results, name = self._call("training", batch), type(self._module).__name__
        if results is None:
            return None, None
        if isinstance(results, dict) and "loss" not in results:
            raise MisconfigurationException(_WITHOUT_LOSS.format(name))
        loss = _scalar(results["loss"] if isinstance(results, dict) else results, name) / self.loss_divisor
        others = results if isinstance(results, dict) else {}
        return {**_detached(others), "loss": loss.detach().clone()}, loss

    def _clip(self, optimizer):
        if self._trainer.gradient_clip_val:
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            clip = torch.nn.utils.clip_grad_value_ if self._trainer.gradient_clip_algorithm == "value" else \
                torch.nn.utils.clip_grad_norm_
            clip(parameters, self._trainer.gradient_clip_val)

    def finish(self):
        """Nothing to do."""
        self._stages = set()


def _detached(results):
    return _changed(results, torch.Tensor.detach)
