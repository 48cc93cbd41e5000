"""PyTorch Lightning's surface on emulated IPUs and HPUs: `import pipescope.lightning as pl`.

Lightning itself is not needed. What its IPU and HPU accelerators do not support is refused with a sentence.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise ImportError("pipescope.lightning needs PyTorch: install python3-torch, or torch with pip.") from _error

from . import accelerators, callbacks, loggers, plugins, strategies
from .callbacks import Callback
from .errors import MisconfigurationException
from .module import LightningDataModule, LightningModule
from .registration import register
from .trainer import Trainer, seed_everything

__all__ = ["Callback", "LightningDataModule", "LightningModule", "MisconfigurationException", "Trainer", "accelerators",
           "callbacks", "loggers", "plugins", "register", "seed_everything", "strategies"]

register()
