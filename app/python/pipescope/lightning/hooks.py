"""The hooks of Lightning that a trainer calls, and those that it refuses because devices do their work."""

import inspect

from .errors import MisconfigurationException

_STEP = "a step runs as one program on the devices"
_MOVED = "no batch is moved to a device by the program; prepare it in the data loader"
_MODES = "the trainer itself sets the module to evaluation and back"

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
    "backward": f"{_STEP}, with its backward pass",
    "configure_callbacks": "callbacks are passed to the trainer",
    "configure_model": "make the layers in __init__ or setup()",
    "configure_sharded_model": "make the layers in __init__ or setup()",
    "on_validation_model_eval": _MODES, "on_validation_model_train": _MODES, "on_validation_model_zero_grad": _MODES,
    "on_test_model_eval": _MODES, "on_test_model_train": _MODES,
    "on_predict_model_eval": _MODES, "on_predict_model_train": _MODES,
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


def takes(function):
    """Return how many positional arguments a function takes, or None for any number."""
    kinds = [each.kind for each in inspect.signature(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    return sum(kind not in named for kind in kinds)


def call_hook(source, name, *arguments):
    """Call a hook if the source has it, and return what it returns.

    Hooks of batches may take or leave out the number of the loader, which is 0 for a single one.
    """
    hook = getattr(source, name, None)
    if hook is None:
        return None
    if name.endswith(("_batch_start", "_batch_end")):
        taken = takes(hook)
        arguments = arguments if taken is None else (*arguments, 0)[:taken]
    return hook(*arguments)
