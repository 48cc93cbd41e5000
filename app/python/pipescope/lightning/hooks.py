"""The hooks of Lightning that a trainer calls, and those that it refuses because devices do their work."""

import inspect

from .errors import MisconfigurationException

_STEP = "a step runs as one program on the devices"
_MOVED = "no batch is moved to a device by the program; prepare it in the data loader"

#: Hooks of modules and callbacks that are never called, and why.
_NOT_CALLED = {
    "on_before_optimizer_step": f"{_STEP}, with the update of the weights",
    "on_before_zero_grad": f"{_STEP}, with the update of the weights",
    "on_before_backward": f"{_STEP}, with its backward pass",
    "on_after_backward": f"{_STEP}, with its backward pass",
    "optimizer_step": f"{_STEP}, with the update of the weights; use a learning-rate scheduler",
    "optimizer_zero_grad": f"{_STEP}, with the update of the weights",
    "lr_scheduler_step": "schedulers are stepped by their interval and frequency",
    "configure_gradient_clipping": "clipping gradients is an option of the optimizers in poptorch.optim (max_grad_norm)",
    "configure_callbacks": "callbacks are passed to the trainer",
    "training_step_end": f"{_STEP}; do it at the end of training_step",
    "validation_step_end": f"{_STEP}; do it at the end of validation_step",
    "test_step_end": f"{_STEP}; do it at the end of test_step",
    "transfer_batch_to_device": _MOVED,
    "on_before_batch_transfer": _MOVED,
    "on_after_batch_transfer": _MOVED,
    "tbptt_split_batch": "a call takes whole samples; cut them in the data loader",
}


def check_hooks(source):
    """Refuse a module, data module or callback that overrides a hook which is never called."""
    for name, why in _NOT_CALLED.items():
        if callable(getattr(source, name, None)):
            raise MisconfigurationException(f"{type(source).__name__}.{name} would never be called: {why}.")


def call_hook(source, name, *arguments):
    """Call a hook if the source has it. `dataloader_idx`, the last argument of hooks of batches, may be left out in it."""
    hook = getattr(source, name, None)
    if hook is None:
        return
    if name.endswith(("_batch_start", "_batch_end")):
        kinds = [each.kind for each in inspect.signature(hook).parameters.values()]
        takes_all = inspect.Parameter.VAR_POSITIONAL in kinds
        arguments = arguments if takes_all else (*arguments, 0)[: len(kinds)]
    hook(*arguments)
