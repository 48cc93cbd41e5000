"""Enumerations of options. The numbers are those that PopTorch prints."""

import enum


class OutputMode(enum.IntEnum):
    """The micro-batches of a call that return their results."""

    Final = 0
    EveryN = 1
    All = 2
    Sum = 3
    Default = 4


#: The older name of OutputMode.
AnchorMode = OutputMode


class ConnectionType(enum.IntEnum):
    """The moment at which a model attaches to its devices: the first compilation, the first call, or never."""

    Always = 0
    OnDemand = 1
    Never = 2


class SyncPattern(enum.IntEnum):
    """The ways in which replicas synchronise with the host."""

    Full = 0
    SinglePipeline = 1
    ReplicaAndLadder = 2


class ReductionType(enum.Enum):
    """The ways in which gradients of micro-batches and replicas are combined."""

    Sum = 0
    Mean = 1


class MeanReductionStrategy(enum.Enum):
    """The ways to form a mean: as a running mean, or by one division at the end."""

    Running = 0
    Post = 1


class HalfFloatCastingBehavior(enum.Enum):
    """Printed among the precision options, but only used by a tracer that this package does not have."""

    FloatDowncastToHalf = 0
    HalfUpcastToFloat = 1
    Default = 2


class CommGroupType(enum.IntEnum):
    """Groups of replicas."""

    All = 0
    Consecutive = 1
    Orthogonal = 2
    NoGrouping = 3


class DataLoaderMode(enum.IntEnum):
    """The ways in which a data loader works: in the caller, ahead of the caller, or ahead with smaller batches."""

    Sync = 0
    Async = 1
    AsyncRebatched = 2


class AutoStage(enum.IntEnum):
    """The ways in which blocks become stages where no stages are given."""

    SameAsIpu = 0
    AutoIncrement = 1


class Liveness(enum.IntEnum):
    """The time in which the tensors of a phase lie in the memory of the chip."""

    AlwaysLive = 0
    OffChipAfterFwd = 1
    OffChipAfterFwdNoOverlap = 2
    OffChipAfterEachPhase = 3


class OverlapMode(enum.IntEnum):
    """The loop that hides the copies of a tensor from or to the host."""

    NoOverlap = 0
    OverlapAccumulationLoop = 1
    OverlapDeviceIterationLoop = 2


class SharingStrategy(enum.IntEnum):
    """Kept for programs that name it. Loaders read ahead on threads, which share all memory."""

    SharedMemory = 0
    FileSystem = 1
    Fork = 2
    ForkServer = 3


class MultiConvPlanType(enum.IntEnum):
    """The ways in which the convolutions of a MultiConv run: side by side, or one after another."""

    Parallel = 0
    Serial = 1


class MultiConvPartialsType(enum.IntEnum):
    """The deprecated names of the types of partial sums in a MultiConv."""

    Float = 0
    Half = 1


class MatMulSerializationMode(enum.Enum):
    """The axis that serializedMatMul divides."""

    InputChannels = "input_channels"
    ReducingDim = "reducing_dim"
    OutputChannels = "output_channels"
    Disabled = "none"


class VariableRetrievalMode(enum.IntEnum):
    """The replicas from which a variable is read."""

    OnePerGroup = 0
    AllReplicas = 1
