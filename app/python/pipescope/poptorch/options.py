"""Options of models and data loaders, with PopTorch's names, defaults and printed form."""

import copy
import json
import os

from .enums import CommGroupType, ConnectionType, OutputMode, SyncPattern
from .log import logger, note_once
from .location_options import TensorLocationSettings, _TensorLocationOptions
from .options_file import ConfigFileError, call_option, load_options
from .options_group import OptionsGroup, PopartOptions
from .precision_options import _PrecisionOptions
from .strategies import PipelinedExecution, _Strategy
from .training_options import _TrainingOptions

__all__ = ["ConfigFileError", "Options", "TensorLocationSettings"]


class _DistributedOptions(OptionsGroup):
    _hardware_only = {"IPUoFConfigFiles": "there are no partitions of real machines, and the number of IPUs chooses the system"}

    def __init__(self):
        super().__init__(
            num_distributed_processes=int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1")),
            distributed_process_id=int(os.environ.get("OMPI_COMM_WORLD_RANK", "0")),
            ipuof_configs={},
            _gcd_mappings={},
        )

    def disable(self):
        """Ignore the environment: this process is alone."""
        return self.configureProcessId(0, 1)

    def setEnvVarNames(self, var_num_processes, var_process_id):
        """Take the number of processes and the number of this one from these variables."""
        return self.configureProcessId(int(os.environ.get(var_process_id, "0")), int(os.environ.get(var_num_processes, "1")))

    def configureProcessId(self, process_id, num_processes):
        """Say which of several processes this one is. Data loaders divide the data by it."""
        if not 0 <= process_id < num_processes:
            raise ValueError(f"Process {process_id} of {num_processes} does not exist: count from 0.")
        self._set("num_distributed_processes", int(num_processes))
        return self._set("distributed_process_id", int(process_id))

    @property
    def processId(self):
        return self.distributed_process_id

    @property
    def numProcesses(self):
        return self.num_distributed_processes


class _JitOptions(OptionsGroup):
    def __init__(self):
        super().__init__(trace_model=False)

    def traceModel(self, trace_model):
        """Accept it: models are always traced."""
        return self._set("trace_model", bool(trace_model))


def _positive(name, value):
    if int(value) < 1:
        raise ValueError(f"{name} is {value}, but must be at least 1.")
    return int(value)


class Options(OptionsGroup):
    """All options of a model. A setter returns the options, so that calls can follow each other."""

    _hardware_only = {
        "useIpuId": "all emulated IPUs are alike",
        "enableStableNorm": "norms always compute the variance from centred values",
        "disableModuleNamescope": "it only changes names",
        "sourceLocationExcludes": "messages name the innermost line outside of PyTorch",
        "appendToLocationExcludes": "messages name the innermost line outside of PyTorch",
        "maxRepeatLogs": "setLogLevel decides what is said",
    }

    def __init__(self):
        super().__init__(
            replication_factor=1,
            broadcast_buffers=True,
            device_iterations=1,
            log_dir=".",
            auto_round_num_ipus=False,
            anchored_tensors={},
            output_mode=OutputMode.Default.value,
            output_return_period=1,
            connection_type=ConnectionType.Always.value,
            sync_pattern=SyncPattern.Full.value,
            available_memory_proportion={},
        )
        groups = {
            "Distributed": _DistributedOptions(),
            "Jit": _JitOptions(),
            "Precision": _PrecisionOptions(),
            "TensorLocations": _TensorLocationOptions(),
            "Training": _TrainingOptions(),
        }
        self.__dict__.update(groups)
        self.__dict__["_groups"] = tuple(groups)
        self._share_popart(PopartOptions())
        # Options that PopTorch does not print.
        self.__dict__["_hidden"] = {
            "input_group_size": 1,
            "input_group_type": CommGroupType.Consecutive,
            "random_seed": None,
            "profile_dir": None,
            "strategy": PipelinedExecution(),
            "model_name": None,
            "cache_path": None,
            "cards": 0,  # number of Gaudis in place of IPUs
            "card_precision": 32,
            "ipu_model": os.environ.get("POPTORCH_IPU_MODEL", "0") == "1",
            "log_cycle_count": False,
            "synthetic_data": False,
            "show_progress_bar": True,
            "updatable_buffers": [],
            "anchor_modes": {},  # (mode, period) of anchored tensors with an output mode of their own
        }
        if os.environ.get("POPDIST_OFFLINE_MODE") == "1":
            self.useOfflineIpuTarget()
        self._read_environment()

    # --- devices -------------------------------------------------------------------------------------------
    def deviceIterations(self, device_iterations):
        """Repeat the program so often in each call."""
        return self._set("device_iterations", _positive("deviceIterations", device_iterations))

    def replicationFactor(self, replication_factor):
        """Run so many copies of the model in this process, on devices of their own."""
        return self._set("replication_factor", _positive("replicationFactor", replication_factor))

    def inputReplicaGrouping(self, input_group_size, input_group_type=CommGroupType.Consecutive):
        """Give so many replicas the same input: neighbouring ones, or Orthogonal ones. The number must divide the replicas."""
        kind = CommGroupType(input_group_type)
        if kind == CommGroupType.All or kind == CommGroupType.NoGrouping and input_group_size != 1:
            raise ValueError(f"inputReplicaGrouping takes consecutive or orthogonal groups, not {kind!r} with {input_group_size}.")
        self._hide("input_group_type", CommGroupType.Consecutive if kind == CommGroupType.NoGrouping else kind)
        return self._hide("input_group_size", _positive("inputReplicaGrouping", input_group_size))

    def autoRoundNumIPUs(self, auto_round_num_ipus=True):
        """Reserve more IPUs, which stay idle, where the model does not take a power of two. Otherwise it is refused."""
        return self._set("auto_round_num_ipus", bool(auto_round_num_ipus))

    def connectionType(self, connection_type):
        """Attach to the devices when the model is compiled, at the first call, or never."""
        return self._set("connection_type", ConnectionType(connection_type).value)

    def syncPattern(self, sync_pattern):
        """Choose which replicas synchronise with the host together. Several replicas have SyncPattern.Full only."""
        return self._set("sync_pattern", SyncPattern(sync_pattern).value)

    def useIpuModel(self, use_model):
        """Take any number of IPUs, as Graphcore's model of an IPU does. Devices are always emulated."""
        return self._hide("ipu_model", bool(use_model))

    def useOfflineIpuTarget(self, ipu_version=2):
        """Compile only: a call is refused."""
        return self.connectionType(ConnectionType.Never)

    def setAvailableMemoryProportion(self, available_memory_proportion):
        """Limit the memory of temporaries of products and convolutions: {"IPU0": 0.3}."""
        for key, value in available_memory_proportion.items():
            if not (key.startswith("IPU") and key[3:].isdigit()):
                raise ValueError(f'setAvailableMemoryProportion: "{key}" must be the name of an IPU, as "IPU0".')
            if not 0 < value <= 1:
                raise ValueError(f"setAvailableMemoryProportion: {key} is {value}, but must be above 0 and at most 1.")
        return self._set("available_memory_proportion", dict(available_memory_proportion))

    def setExecutionStrategy(self, strategy):
        """Choose how stages share the work."""
        if not isinstance(strategy, _Strategy):
            raise TypeError(f"{strategy!r} is no execution strategy.")
        return self._hide("strategy", strategy)

    # --- results and randomness ----------------------------------------------------------------------------
    def outputMode(self, output_mode, output_return_period=None):
        """Choose which micro-batches of a call return their results."""
        mode = OutputMode(output_mode)
        if mode == OutputMode.EveryN and (output_return_period is None or output_return_period < 1):
            raise ValueError("OutputMode.EveryN needs an output_return_period of at least 1.")
        self._set("output_return_period", int(output_return_period or 1) if mode == OutputMode.EveryN else 1)
        return self._set("output_mode", mode.value)

    #: The older name of outputMode.
    anchorMode = outputMode

    def anchorTensor(self, short_name, long_name, output_mode=None, output_return_period=None):
        """Return a tensor of the graph from every call, too: getAnchoredTensor(short_name).

        `long_name` is one of getTensorNames(), such as "Gradient___fc.bias". Without an output mode of its own it has that of
        the model.
        """
        follows = output_mode is None or OutputMode(output_mode) == OutputMode.Default
        every_n = not follows and OutputMode(output_mode) == OutputMode.EveryN
        period = _positive("output_return_period", output_return_period or 1) if every_n else 1
        own = {} if follows else {str(short_name): (OutputMode(output_mode), period)}
        others = {name: mode for name, mode in self.anchor_modes.items() if name != str(short_name)}
        self._hide("anchor_modes", {**others, **own})
        return self._set("anchored_tensors", {**self.anchored_tensors, str(short_name): str(long_name)})

    def enableSyntheticData(self, enabled):
        """Accept it: the devices compute the caller's tensors, whose copies take the time that they take on real ones."""
        if enabled:
            note_once("enableSyntheticData has no effect on emulated devices: they compute the tensors of the call, and "
                      "their times include the copies.")
        return self._hide("synthetic_data", bool(enabled))

    def updatableNamedBuffers(self, buffers):
        """Name the buffers that copyNamedBuffersToDevice() sends to the devices."""
        return self._hide("updatable_buffers", [str(name) for name in buffers])

    def defaultOutputMode(self):
        """Return True if no output mode was chosen."""
        return OutputMode(self.output_mode) == OutputMode.Default

    def logCycleCount(self, log_cycle_count=True):
        """Log the cycles of each call (level INFO), and let cycleCount() return them."""
        return self._hide("log_cycle_count", bool(log_cycle_count))

    def relaxOptimizerAttributesChecks(self, relax=True):
        """Accept it: other attributes of an optimizer than those of its class are never read."""
        return self

    def broadcastBuffers(self, broadcast_buffers=True):
        """Give each replica buffers of its own if False, which is refused for several replicas."""
        return self._set("broadcast_buffers", bool(broadcast_buffers))

    def randomSeed(self, random_seed):
        """Seed the random numbers of the devices and the shuffling of data loaders."""
        return self._hide("random_seed", int(random_seed))

    def _useCards(self, cards, precision):
        """Run on Gaudis: a replica on each card, in float32 (32) or bfloat16 ("bf16")."""
        self._hide("cards", int(cards))
        return self._hide("card_precision", precision)

    # --- files ---------------------------------------------------------------------------------------------
    def enableProfiling(self, profile_dir=None):
        """Write a profile into PROFILE_DIR/training or PROFILE_DIR/inference, which Pipescope opens."""
        return self._hide("profile_dir", str(profile_dir or self.log_dir))

    def enableExecutableCaching(self, path):
        """Accept it without effect, as PopTorch does for its model of an IPU; a line of the log says so.

        Nothing would be gained: most of the time goes into tracing, which must come first, because the traced model is
        what a cache would look for. Compiling for emulated devices then takes about as long as reading a file would.
        """
        logger.warning("enableExecutableCaching has no effect: emulated devices need no executable, and what is compiled "
                       "for them takes less time than the tracing before it, which a cache cannot save.")
        return self._hide("cache_path", str(path))

    def showCompilationProgressBar(self, show=True):
        """Let compilationTime() tell the time. Compiling for emulated devices is quick, and no bar is shown."""
        return self._hide("show_progress_bar", bool(show))

    def logDir(self, log_dir):
        """Choose the folder for reports."""
        return self._set("log_dir", str(log_dir))

    def modelName(self, name):
        """Name the model in reports. Default: training or inference."""
        return self._hide("model_name", str(name))

    def loadFromFile(self, path):
        """Call each line of a file on these options, such as "Training.gradientAccumulation(4)"."""
        load_options(self, path)
        return self

    # --- copies and text -----------------------------------------------------------------------------------
    @property
    def _execution_strategy(self):
        """The strategy, by the name that PopTorch's own programs look at."""
        return self._hidden["strategy"]

    def clone(self):
        """Return a copy that can be changed."""
        other = super()._thawed()
        for name in self._groups:
            other.__dict__[name] = getattr(self, name)._thawed()
        other.__dict__["_hidden"] = dict(self._hidden)
        other._share_popart(copy.deepcopy(self._Popart))
        return other

    def _share_popart(self, popart):
        """Let the groups print the settings of PopART that these options have."""
        self.__dict__["_Popart"] = popart
        for group in (self.Precision, self.Training):
            group._values["_popart_options"] = popart

    def _thawed(self):
        return self.clone()

    def toDict(self):
        """Return all values by name."""
        values = {**self._values, "input_group_size": self._hidden["input_group_size"]}
        for name in self._groups:
            values.update({k: v for k, v in getattr(self, name)._values.items() if k != "_popart_options"})
        return values

    def __getattr__(self, name):
        if name == "set" and "_values" in self.__dict__:
            raise AttributeError("Options are set by functions, as deviceIterations(4).")
        hidden = self.__dict__.get("_hidden", {})
        return hidden[name] if name in hidden else super().__getattr__(name)

    def __repr__(self):
        # This is, character by character, how PopTorch 3.0 prints its options.
        own = "Options(, ".join(f"{k}={v!r}" for k, v in self._values.items())
        groups = ", , ".join(f"{name}={getattr(self, name)!r}" for name in self._groups)
        return f"{own}{groups}, , _Popart={self._Popart!r})"

    def _hide(self, name, value):
        self._set("log_dir", self.log_dir)
        self._hidden[name] = value
        return self

    def _freeze(self):
        super()._freeze()
        self._Popart._is_frozen = True
        for name in self._groups:
            getattr(self, name)._freeze()

    def _read_environment(self):
        """Set the options in POPTORCH_DEFAULT_OPTIONS, a JSON object such as {"deviceIterations": 10}."""
        text = os.environ.get("POPTORCH_DEFAULT_OPTIONS")
        if text:
            for name, value in json.loads(text).items():
                call_option(self, name, value if isinstance(value, list) else [value], f"POPTORCH_DEFAULT_OPTIONS: {name}")
        if os.environ.get("POPTORCH_CACHE_DIR"):
            self.enableExecutableCaching(os.environ["POPTORCH_CACHE_DIR"])
