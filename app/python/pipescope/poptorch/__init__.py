"""PopTorch's surface on emulated IPUs: `import pipescope.poptorch as poptorch`.

Models are traced with torch.onnx.export, computed on this machine, and timed by the device models of Pipescope. What is
not implemented is refused with a sentence.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise ImportError("pipescope.poptorch needs PyTorch: install python3-torch, or torch with pip.") from _error

from . import optim
from .blocks import BeginBlock, Block, BlockFunction
from .data_loader import AsynchronousDataAccessor, DataLoader
from .enums import (AnchorMode, AutoStage, CommGroupType, ConnectionType, DataLoaderMode, Liveness, MeanReductionStrategy,
                    OutputMode, ReductionType, SharingStrategy, SyncPattern)
from .errors import Error
from .log import setLogLevel
from .model import PoplarExecutor, inferenceModel, load, trainingModel
from .ops import identity_loss, recomputationCheckpoint
from .options import Options, TensorLocationSettings
from .strategies import (ParallelPhasedExecution, Phase, PipelinedExecution, SerialPhasedExecution, ShardedExecution,
                         Stage)


def ipuHardwareIsAvailable(num_ipus=1):
    """Return False: IPUs are emulated."""
    return False


def ipuHardwareVersion():
    """Return 0: there is no hardware. The emulated IPUs are those of `pipescope devices`."""
    return 0


__all__ = [name for name in dir() if not name.startswith("_")]
