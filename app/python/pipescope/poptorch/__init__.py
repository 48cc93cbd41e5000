"""PopTorch's surface on emulated IPUs: `import pipescope.poptorch as poptorch`.

Models are traced with torch.onnx.export, computed on this machine, and timed by the device models of Pipescope. What is
not implemented is refused with a sentence.
"""

import os as _os

try:
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise ImportError("pipescope.poptorch needs PyTorch: install python3-torch, or torch with pip.") from _error

from . import optim, profiling
from .blocks import BeginBlock, Block, BlockFunction, removeBlocks
from .data_loader import AsynchronousDataAccessor, DataLoader
from .enums import (AnchorMode, AutoStage, CommGroupType, ConnectionType, DataLoaderMode, HalfFloatCastingBehavior, Liveness,
                    MatMulSerializationMode, MeanReductionStrategy, MultiConvPartialsType, MultiConvPlanType, OutputMode, OverlapMode,
                    ReductionType, SharingStrategy, SyncPattern, VariableRetrievalMode)
from .decoders import ctc_beam_search_decoder
from .device_functions import (CPU, Attribute, NameScope, cond, dynamic_slice, dynamic_update, for_loop,
                               ipu_print_tensor, serializedMatMul, set_available_memory)
from .errors import Error, RecoverableError, UnrecoverableError
from .log import logger, setLogLevel
from .hooks import registerPostCompileHook, registerPreCompileHook
from .model import PoplarExecutor, inferenceModel, load, trainingModel
from .multi_conv import MultiConv
from .ops import (identity_loss, isRunningOnIpu, nearest, nop, recomputationCheckpoint, set_overlap_for_input,
                  set_overlap_for_output)
from .options import Options, TensorLocationSettings
from .structure import ICustomArgParser, registerCustomArgParser
from .strategies import (ParallelPhasedExecution, Phase, PipelinedExecution, SerialPhasedExecution, ShardedExecution,
                         Stage)


def ipuHardwareIsAvailable(num_ipus=1):
    """Return True: programs find their IPUs, which are emulated. PIPESCOPE_IPU_HARDWARE=0 makes it False."""
    return _os.environ.get("PIPESCOPE_IPU_HARDWARE", "1") != "0"


def ipuHardwareVersion():
    """Return 2, the generation of the emulated IPUs (Mk2). It is 0 where ipuHardwareIsAvailable() is False."""
    return 2 if ipuHardwareIsAvailable() else 0


__all__ = [name for name in dir() if not name.startswith("_")]

_ABSENT = {
    "custom_op": "write the operator with functions of PyTorch",
    "autocast": "call half() on the model",
    "fps": "choose the points on the host",
}


def __getattr__(name):
    if name in _ABSENT:
        raise AttributeError(f"poptorch.{name} is not implemented on emulated IPUs: {_ABSENT[name]}.")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
