"""The base of callbacks, and how they watch a logged value."""

from .errors import MisconfigurationException


class Callback:
    """Hooks that are called with the trainer and the module.

    Besides those below: on_STAGE_start, on_STAGE_end, on_STAGE_epoch_start, on_STAGE_epoch_end, on_STAGE_batch_start and
    on_STAGE_batch_end with STAGE = validation, test or predict; on_sanity_check_start, on_sanity_check_end, on_exception,
    on_save_checkpoint, on_load_checkpoint.
    """

    def state_dict(self):
        """Return what a checkpoint keeps of this callback."""
        return {}

    def load_state_dict(self, state_dict):
        """Take over what a checkpoint kept."""

    def setup(self, trainer, pl_module, stage=None):
        """Called before a stage."""

    def teardown(self, trainer, pl_module, stage=None):
        """Called after a stage."""

    def on_fit_start(self, trainer, pl_module):
        """Called before the first epoch."""

    def on_fit_end(self, trainer, pl_module):
        """Called after the last epoch."""

    def on_train_start(self, trainer, pl_module):
        """Called before training."""

    def on_train_end(self, trainer, pl_module):
        """Called after training."""

    def on_train_epoch_start(self, trainer, pl_module):
        """Called before each epoch of training."""

    def on_train_epoch_end(self, trainer, pl_module):
        """Called after each epoch of training and its validation."""

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        """Called before each training batch."""

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        """Called after each training batch."""


def better(mode, name):
    """Return the comparison (new, old) of a mode, "min" or "max", of the callback `name`."""
    if mode not in ("min", "max"):
        raise ValueError(f'{name}: mode is "{mode}", but must be "min" or "max".')
    return (lambda new, old: new < old) if mode == "min" else (lambda new, old: new > old)


def monitored(trainer, monitor, name):
    """Return the value that the callback `name` monitors, a tensor."""
    metrics = trainer.callback_metrics
    if monitor not in metrics:
        known = ", ".join(metrics) or "none"
        raise MisconfigurationException(
            f'{name} monitors "{monitor}", but logged are: {known}. Log it in an epoch-end hook, or on the CPU in a step.'
        )
    return metrics[monitor]
