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
from .enums import (AnchorMode, AutoStage, CommGroupType, ConnectionType, DataLoaderMode, HalfFloatCastingBehavior, Liveness,
                    MeanReductionStrategy, MultiConvPartialsType, MultiConvPlanType, OutputMode, OverlapMode,
                    ReductionType, SharingStrategy, SyncPattern)
from .errors import Error
from .log import setLogLevel
from .model import PoplarExecutor, inferenceModel, load, trainingModel
from .multi_conv import MultiConv
from .ops import (identity_loss, isRunningOnIpu, nop, recomputationCheckpoint, set_overlap_for_input,
                  set_overlap_for_output)
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

_ABSENT = {
    "custom_op": "write the operator with functions of PyTorch",
    "for_loop": "write the loop in Python, which is traced with its number of rounds",
    "cond": "use torch.where, which computes both sides",
    "ipu_print_tensor": "return the tensor as another output of the model",
    "serializedMatMul": "use torch.matmul, and setAvailableMemoryProportion for its temporaries",
    "set_available_memory": "use Options.setAvailableMemoryProportion, which holds for a whole IPU",
    "CPU": "compute on the host before or after the call",
    "autocast": "call half() on the model",
    "ctc_beam_search_decoder": "decode on the host, from the scores that the model returns",
    "NameScope": "use Block, or modules with names",
    "fps": "choose the points on the host",
}


def __getattr__(name):
    if name in _ABSENT:
        raise AttributeError(f"poptorch.{name} is not implemented on emulated IPUs: {_ABSENT[name]}.")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
