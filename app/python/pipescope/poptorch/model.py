"""Models on emulated devices: trainingModel and inferenceModel."""

import os
import re
import tempfile
import time
import warnings

import numpy
import torch

from .. import instances
from .._pipescope import interface
from ..torch_versions import note_step
from . import configuration, engine_options, hooks, optim, saved_model
from .anchors import Anchors, given_names, names_of_weights
from .buffers import KeptBuffers, count_batches, mark_as_written
from .data_loader import rows_per_call
from .enums import CommGroupType, ConnectionType, OutputMode, VariableRetrievalMode
from .errors import CompileError, Error, StateError
from .initializers import with_initializers
from .figures import Figures, with_outputs
from .log import logger
from .optimizer_state import OptimizerState
from .options import Options
from .replica_values import ReplicaValues, reached_through
from .structure import Structure
from .trace import bind_arguments, line_of_refusal, trace
from .weights import Weights
from .wrapped import free, take


#: Names of PopTorch's executor that this one lacks, and what to do instead.
_ABSENT = {
    "rng_state": "random numbers follow from Options.randomSeed and the number of updates, which save() keeps",
}


def _in_words_of_python(sentence):
    """Return a sentence of the compiler, with what a program of PyTorch can do in place of keys of a configuration."""
    match = re.search(r"(; `pipescope infer`|: give .*model\.assume)", sentence)
    return f"{sentence[: match.start()]}: keep the shape, as torch.where(mask, x, 0) does" if match else sentence


class PoplarExecutor(Figures, Weights, OptimizerState):
    """A module that runs on emulated IPUs. The first call traces and compiles it."""

    def __init__(self, model, options, optimizer, training):
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"The model must be a torch.nn.Module, not {type(model).__name__}.")
        self._module, self._training = model, training
        given = Options() if options is None else options
        given._freeze()
        self._options = given.clone()
        if given.defaultOutputMode():
            self._options.outputMode(OutputMode.Final if training else OutputMode.All)
        self._options._freeze()
        self._optimizer = optimizer
        self._rule = optim.settings_of(optimizer) if training else None
        optim.warn_if_derived(optimizer)
        if training and optim.accumulator_of(optimizer) == "float16" and not getattr(optimizer, "use_combined_accum", False):
            self._options.Training._useRunningMean()
        self._follow(optimizer)
        self._program = self._executable = self._device = self._traced = None
        self._example, self._blocks = [], 1
        self._initializers, self._constants = [], {}  # names of the program's initial values; values that it cannot change
        self._calls, self._counters, self._uploaded = 0, {}, None
        self._outputs, self._names, self._compiled_groups, self._state_to_load = [], {}, [], None
        self._records, self._compilation_seconds = False, 0.0
        self._anchored = Anchors(self._options)
        self._own_settings = {}  # settings of single weights, by PopART's names, that a loaded state has given
        self._grouped = {}  # {name of a weight: (kind of groups, replicas in one)}

    # --- parts of a torch module ---------------------------------------------------------------------------
    @property
    def model(self):
        """The module."""
        return self._module

    @property
    def options(self):
        """The options, which can no longer be changed."""
        return self._options

    def __getattr__(self, name):
        """Return the module's attribute if the executor does not have one of this name."""
        if "_module" not in self.__dict__:
            raise AttributeError(name)
        if name in _ABSENT:
            raise AttributeError(f"{name} is not implemented on emulated devices: {_ABSENT[name]}.")
        return reached_through(self, getattr(self._module, name))

    def state_dict(self, *args, **kwargs):
        return self._module.state_dict(*args, **kwargs)

    def load_state_dict(self, state, strict=True):
        """Load the weights and, if the model is compiled, copy them to the devices."""
        result = self._module.load_state_dict(state, strict)
        if self.isCompiled():
            self.copyWeightsToDevice()
        return result

    def parameters(self, recurse=True):
        return self._module.parameters(recurse)

    def named_parameters(self, prefix="", recurse=True):
        return self._module.named_parameters(prefix, recurse)

    def named_buffers(self, prefix="", recurse=True):
        return self._module.named_buffers(prefix, recurse)

    def train(self, mode=True):
        self._module.train(mode)
        return self

    def eval(self):
        return self.train(False)

    # --- devices -------------------------------------------------------------------------------------------
    def isCompiled(self):
        """True after compile() or the first call."""
        return self._executable is not None

    def isAttachedToDevice(self):
        """True if the model may be called."""
        return self._device is not None and self._device.is_attached

    def attachToDevice(self):
        """Attach a compiled model to its devices."""
        self._must_be_compiled("attachToDevice")
        if ConnectionType(self._options.connection_type) == ConnectionType.Never:
            raise StateError("The connection type is Never, so the model is compiled only: it cannot attach to devices (Trying to run "
                             "a model on an offline device).")
        self._device.attach()

    def detachFromDevice(self):
        """Detach from the devices, so that other models can use them."""
        self._must_be_compiled("detachFromDevice")
        self._device.detach()

    def destroy(self):
        """Detach, and end the profile if there is one."""
        if self._device is not None:
            self._device.finish()
        self._program = self._executable = self._device = None
        free(self._module, self)

    def __del__(self):
        try:
            if self.__dict__.get("_device") is not None:
                self._device.finish()
        except Exception:  # the interpreter may be on its way out; the profile can be read without its end
            pass

    def _must_be_compiled(self, what):
        if not self.isCompiled():
            raise StateError(f"{what}: the model is not compiled yet (Model has not been compiled or has been destroyed.). Call compile() "
                        "with tensors, or the model itself.")

    def _group_replicas(self, parameter, kind, size, mode):
        """Give each group of replicas its own values of a parameter: see replicaGrouping."""
        if self.isCompiled():
            raise Error("replicaGrouping: the model is compiled already: call it before.")
        if mode != VariableRetrievalMode.OnePerGroup and kind != CommGroupType.NoGrouping:
            raise Error(f"replicaGrouping: {mode.name} is not implemented for replicas with the same values: use OnePerGroup.")
        self._grouped[next(name for name, each in self._module.named_parameters() if each is parameter)] = (kind, size)

    # --- compiling -----------------------------------------------------------------------------------------
    def _micro_batch(self, tensors):
        """The rows of each tensor in one micro-batch of one replica; None: all of a tensor that is not divided.

        Tensors are divided along their first axes, into as many parts as a call has micro-batches.
        """
        blocks = rows_per_call(1, self._options)
        if blocks == 1:
            return [tensor.shape[0] if tensor.dim() > 0 else None for tensor in tensors]
        for i, tensor in enumerate(tensors):
            if tensor.dim() == 0 or tensor.shape[0] == 0 or tensor.shape[0] % blocks != 0:
                raise Error(
                    f"Input {i} has {list(tensor.shape)}: invalid batch dimension. Its first axis must divide by {blocks} "
                    f"(deviceIterations {self._options.device_iterations} · gradientAccumulation "
                    f"{self._options.Training.gradient_accumulation} · replicas {self._options.replication_factor} ÷ "
                    f"{self._options.input_group_size})."
                )
        return [tensor.shape[0] // blocks for tensor in tensors]

    def _frozen(self):
        """Names of parameters that the optimizer does not train, and of buffers other than the statistics of norms."""
        trained = {id(p) for group in self._optimizer.param_groups for p in group["params"]}
        frozen = [n for n, p in self._module.named_parameters() if not p.requires_grad or id(p) not in trained]
        stays = self._module.training  # as a whole, so that norms keep the modes that they have
        statistics = {id(buffer) for module in self._module.modules()
                      if isinstance(module, (torch.nn.modules.batchnorm._NormBase,)) and (module.training or not stays)
                      for buffer in (module.running_mean, module.running_var) if buffer is not None}
        return frozen + [n for n, b in self._module.named_buffers()
                         if id(b) not in statistics and n not in self._traced.buffers and b.is_floating_point()]

    @torch.inference_mode(False)  # tensors of inference mode cannot be traced
    def compile(self, *args, **kwargs):
        """Trace and compile the model with the tensors of a call, without running it."""
        if self.isCompiled():
            raise Error("The model is compiled already: make a new one from the module to compile it again.")
        self._check_updatable_buffers()
        arguments = Structure(bind_arguments(self._module, args, kwargs))
        tensors = arguments.release()
        if any(tensor.requires_grad for tensor in tensors):
            logger.warning("Input tensor has requires_grad=True set. This tensor will be detached because backward pass via inputs is "
                           "not supported.")
        rows = self._micro_batch(tensors)
        tensors = [tensor.float() if tensor.dtype == torch.float64 else tensor for tensor in tensors]
        self._example = [tensor.clone() if count is None else tensor[:count].clone() for tensor, count in zip(tensors, rows)]
        self._blocks = rows_per_call(1, self._options)
        # Inputs without a common first axis each get one of length 1, and the micro-batch is one row.
        self._values = ReplicaValues(self._module, self._options, self._grouped, self._training)
        self._values.check(self._optimizer, instances.getNumInstances())
        is_lifted = len(set(rows)) != 1 or rows[0] in (None, 0) or self._values.needs_lifting
        begun = time.perf_counter()
        hooks.call(hooks.before_compiling)
        name = self._options.model_name or ("training" if self._training else "inference")
        nodes = self._compile_traced(name, arguments, 1 if is_lifted else rows[0], is_lifted)
        instances.leave_at_exit()
        logger.info("%s: %d operators traced and compiled in %.2f s; a call takes %.6f s on the devices", name, nodes,
                    time.perf_counter() - begun, self._program.call_seconds(0))
        self._open_device(name)
        self._compilation_seconds = time.perf_counter() - begun
        hooks.call(hooks.after_compiling)

    def _compile_traced(self, name, arguments, rows, is_lifted):
        """Trace and compile. A model whose results do not depend on inputs is traced again with one that they depend on."""
        example = [tensor.unsqueeze(0) for tensor in self._example] if is_lifted else self._example
        is_tied, needs_weight, splits = not example, False, False
        while True:
            self._trace(arguments, example, is_lifted, rows if is_tied else 0, needs_weight)
            toml, outline, onnx = self._configuration(name, rows, splits)
            logger.debug("%s: configuration\n%s", name, toml)
            try:
                self._program = interface.compile(toml, name, onnx)
                if self._program.executables[0].inputs or is_tied:
                    self._executable = interface.Executable(self._program, 0) if self._program.fits else None
                    return len(outline["nodes"])
                is_tied = True
            except ValueError as error:
                if not is_tied and ("there is nothing to run" in str(error) or "has no outputs" in str(error)):
                    is_tied = True
                elif not needs_weight and "no loss that depends on weights" in str(error):
                    needs_weight = True
                elif not splits and "stages must ascend" in str(error) and hasattr(self._options.strategy, "phases"):
                    splits = True
                else:
                    line = line_of_refusal(self._module, self._traced, example, self._training, str(error))
                    where = f"{type(self._module).__name__} cannot be compiled at {line}: " if line else ""
                    raise CompileError(f"{where}{_in_words_of_python(str(error))}{'.' if line else ''}") from error

    def _trace(self, arguments, example, is_lifted, tied_rows, needs_weight):
        buffers = KeptBuffers(self._module)
        try:
            self._traced = trace(self._module, arguments, example, self._training, is_lifted, tied_rows,
                                 self._options.Precision.running_statistics_always_float, needs_weight, self._values,
                                 self._anchored.names)
        finally:
            buffers.restore()  # tracing ran the module
        self._spreads = self._values.spreads_inputs(self._options)
        self._parts = self._blocks * (self._options.input_group_size if self._spreads else 1)
        if (self._traced.written or self._traced.kept) and self._blocks > 1 and not self._values.keeps_buffers:
            warnings.warn(f"{type(self._module).__name__} changes its inputs or, in inference, buffers in place. A call has "
                          f"{self._blocks} micro-batches, which all begin with the values of the call, and only what the "
                          "output mode returns is written back.")

    def _configuration(self, name, rows, splits):
        """Return the configuration of the traced model (TOML), its outline, and the ONNX model."""
        weights = self._traced.initializers
        outline = interface.outline(with_initializers(self._traced.onnx, {each: torch.zeros(()) for each in weights}), name)
        self._initializers = outline["weights"]
        frozen = self._frozen() if self._training else ()
        trained = [each for each, _ in self._module.named_parameters()
                   if self._training and each in outline["weights"] and each not in frozen]
        settings = self._names_of_settings()
        self._tensor_names = [*outline["tensors"], *names_of_weights(trained), *settings, *given_names(len(self._example)),
                              *self._host_tensors(), *(["loss"] if self._training else [])]
        loss = outline["outputs"][self._traced.loss] if self._training else None
        own = {name: outline["outputs"][place] for name, place in self._traced.anchored.items()}
        self._anchored.check(outline["tensors"], trained, outline["outputs"], loss, own, settings)
        onnx = with_outputs(with_initializers(self._traced.onnx, weights), [each for each in self._anchored.graph_tensors() if each not in outline["outputs"]])
        self._outputs = outline["outputs"][: len(outline["outputs"]) - self._traced.count_of_states(self._training)]
        self._accumulator = optim.accumulator_of(self._optimizer)
        self._first_loss_scale = float(getattr(self._optimizer, "loss_scaling", 1.0))
        self._scales_loss = self._first_loss_scale != 1.0 or self._options.Training.automatic_loss_scaling
        toml, self._compiled_groups = configuration.build(
            self._options, self._traced, outline, rows, self._rule, self._optimizer,
            self._names_of_parameters(), frozen,
            [name for name, value in self._host_tensors().items()
             if value.dim() == 0 and (isinstance(value, torch.nn.Parameter) or name in self._traced.buffers)],
            self._anchored, splits, self._spreads,
        )
        return toml, outline, onnx

    def _names_of_parameters(self):
        """{id: name} of all parameters."""
        return {id(parameter): name for name, parameter in self._module.named_parameters()}

    def _open_device(self, name):
        own = self._options.profile_dir
        asked = (own, 0) if own else engine_options.profile_request()
        folder, calls = asked if asked and instances.getInstanceIndex() == 0 else (None, 0)
        profile, self._records = "", folder is not None
        if folder is not None:
            os.makedirs(os.path.join(folder, name), exist_ok=True)
            profile = os.path.join(folder, name, "profile.pop")
        device = interface.Device(self._program, profile, f"pipescope.poptorch {type(self._module).__name__}", calls)
        if not self._program.fits:
            if profile:
                device.attach()
                device.finish()
            raise Error("Out of memory: " + " ".join(self._program.overflow))
        # An output of a loop that is unrolled gets another name, but keeps its place. The loss is no output.
        made = [output for output, _, _ in self._executable.info.outputs]
        expected = [output for number, output in enumerate(self._outputs) if number != self._traced.loss]
        self._names = dict(zip(expected, made)) if len(made) >= len(expected) else {}
        self._device = device
        here, sent = self._host_tensors(), {weight for weight, _, _ in self._executable.weights}
        self._constants = {each: here[each].detach().clone() for each in self._initializers if each in here and each not in sent}
        self._uploaded = self._versions()  # the traced model holds the values
        if ConnectionType(self._options.connection_type) == ConnectionType.Always:
            device.attach()

    # --- calls ---------------------------------------------------------------------------------------------
    @torch.inference_mode(False)
    def __call__(self, *args, **kwargs):
        if not self.isCompiled():
            self.compile(*args, **kwargs)
        if not self.isAttachedToDevice():
            self.attachToDevice()
        given = Structure(bind_arguments(self._module, args, kwargs))
        if different := self._traced.arguments.difference(given):
            raise Error(
                f"The model cannot take these arguments, because {different}: make another model from the module."
            )
        tensors = given.release()
        self._check_shapes(tensors)
        self._load_state()
        self._take_optimizer_state()
        if not self._training and self._uploaded != self._versions():
            self.copyWeightsToDevice()
        arrays = self._inputs_of_call(tensors)
        self._calls += 1
        try:
            answer = self._executable.call(self._device, f"call {self._calls}", arrays, self._anchored.watched_weights())
        except RuntimeError as error:
            raise Error(str(error)) from error
        self._last = {name: answer[name] for name in ("emulated_seconds", "emulated_ticks")}
        if self._options.log_cycle_count:
            logger.info("call %d took %d cycles", self._calls, self._last["emulated_ticks"])
        self._anchors = self._anchored.values(answer, self._settings)
        self._record(answer)
        if self._training:
            self.copyWeightsToHost()
            count_batches(self._module, self._options.device_iterations * self._options.Training.gradient_accumulation)
            note_step(self._optimizer)
        return self._results(answer, tensors)

    def _inputs_of_call(self, tensors):
        """Return {name: array} of all inputs of the program."""
        arrays = [self._array(tensor) for tensor in tensors]
        if self._traced.is_lifted:
            arrays = [each.reshape(self._blocks, *part.shape) for each, part in zip(arrays, self._example)]
        if self._spreads:
            arrays = [self._values.spread(each, self._options, self._blocks) for each in arrays]
        if self._values.needs_lifting:
            arrays += [self._array(each) for each in self._values.arrays(self._parts // self._options.replication_factor)]
        if self._traced.tied_rows:
            arrays.append(numpy.zeros(self._parts * self._traced.tied_rows, numpy.float32))
        return dict(zip(self._traced.inputs, arrays))

    def _check_shapes(self, tensors):
        """Refuse tensors that do not divide into micro-batches, or into others than those that the model was compiled for."""
        self._micro_batch(tensors)
        for i, (tensor, part) in enumerate(zip(tensors, self._example)):
            wanted = list(part.shape) if self._blocks == 1 else [part.shape[0] * self._blocks, *part.shape[1:]]
            if list(tensor.shape) != wanted:
                raise Error(f"Input {i} has the shape {list(tensor.shape)}, but the model was compiled for {wanted} (expected "
                            f"{torch.Size(wanted)} but got {tensor.shape}): make another model from the module.")
            if (torch.float32 if tensor.dtype == torch.float64 else tensor.dtype) != part.dtype:
                raise Error(f"Input {i} is {tensor.dtype}, but the model was compiled for {part.dtype} (expected {part.dtype} but "
                            f"got {tensor.dtype}): convert it, or make another model from the module.")

    @staticmethod
    def _array(tensor):
        values = tensor.detach().cpu()
        # NumPy has no bfloat16, and IPUs have no float64, which PopTorch narrows, too.
        values = values.float() if values.dtype in (torch.bfloat16, torch.float64) else values
        return values.contiguous().numpy()

    def _record(self, answer):
        """Record the mean of the returned losses, and the learning rate, in the profile."""
        if not self._records or not self._training or instances.getInstanceIndex() > 0:
            return
        values = {"learning_rate": self._executable.optimizer_settings["learning_rate"]}
        if len(answer["returned_losses"]):
            values["loss"] = float(numpy.mean(answer["returned_losses"], dtype=numpy.float64))
        for name, value in values.items():
            if name not in self._counters:
                self._counters[name] = self._device.add_counter(0, name, "")
            self._device.add_sample(self._counters[name], answer["run"], value)

    def _results(self, answer, given):
        """The results of the module, with the rows that the output mode returns in place of each tensor."""
        made = [answer["outputs"].get(self._names.get(name, name)) for name in self._outputs]
        if self._traced.loss is not None:
            made[self._traced.loss] = answer["returned_losses"]
        outputs = [None if each is None else self._shaped(number, torch.from_numpy(each)) for number, each in enumerate(made)]
        for show, place in self._traced.printed:
            show(outputs[place].numpy())
        with torch.no_grad():
            self._write_back(outputs, given)
        return self._traced.results.build([outputs[place] for place in self._traced.places])

    def _shaped(self, number, values):
        """Return the rows of an output as PyTorch would: a single value without axes has none."""
        shape, kind = self._traced.shapes[number], self._traced.types[number]
        count = 1
        for size in shape:
            count *= size
        parts = values.numel() // count if count else 1
        wanted = ([parts] if parts != 1 else []) if not shape else [shape[0] * parts, *shape[1:]]
        return values.reshape(wanted).to(kind)

    def _write_back(self, outputs, given):
        """Change what the model changes in place: the caller's tensors, and buffers in inference."""
        here = self._host_tensors()
        targets = [(given[number], place) for number, place in self._traced.written.items()]
        targets += [(here[name], place) for name, place in self._traced.kept.items() if not self._values.take(name, outputs[place])]
        for tensor, place in targets:
            if tensor.numel() == outputs[place].numel():
                tensor.copy_(outputs[place].reshape(tensor.shape))
                mark_as_written(tensor)

    # --- files ---------------------------------------------------------------------------------------------
    def save(self, path, export_model=None, save_rng_state=True):
        """Save a compiled model: weights, optimizer state and random numbers, and the module itself.

        `export_model` True demands that the module can be pickled, False leaves it out, None saves it if possible.

        poptorch.load() makes a model from the file; load() and loadExecutable() take over its state. Random numbers are a
        function of the number of updates, so `save_rng_state=False` is refused.
        """
        self._must_be_compiled("save")
        if not save_rng_state:
            raise NotImplementedError(
                "save_rng_state=False is not implemented: random numbers follow from the updates. Leave it out."
            )
        self._take_optimizer_state()
        saved_model.write(saved_model.file_of(path), self, self._state(), export_model)

    def compileAndExport(self, path, *args, export_model=None, save_rng_state=True, **kwargs):
        """Compile the model with the tensors of a call, unless it is compiled, and save it."""
        if not self.isCompiled():
            self.compile(*args, **kwargs)
        self.save(path, export_model, save_rng_state)

    def _state(self):
        """Weights and optimizer state, as the bytes of an .npz file."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state.npz")
            self._executable.save(path)
            with open(path, "rb") as file:
                return file.read()

    def load(self, path):
        """Load the state that save() wrote."""
        self._must_be_compiled("load")
        self._set_state(saved_model.read(path)["state"])

    def loadExecutable(self, path):
        """Compile the model for the inputs of a model that was saved, and load its state."""
        content = saved_model.read(path)
        args, kwargs = saved_model.example_of(content)
        self.compile(*args, **kwargs)
        self._set_state(content["state"])

    def _set_state(self, state):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state.npz")
            with open(path, "wb") as file:
                file.write(state)
            self._executable.load(path)
        self.copyWeightsToHost()

    def loadWhenCompiled(self, state):
        """Load weights and optimizer state (bytes) as soon as the model is compiled. PopTorch has no such function."""
        self._state_to_load = state
        if self.isCompiled():
            self._load_state()

    def _load_state(self):
        if self._state_to_load is None:
            return
        state, self._state_to_load = self._state_to_load, None
        self._set_state(state)

    def emulatedSecondsPerCall(self):
        """The emulated time of one call. PopTorch has no such function."""
        self._must_be_compiled("emulatedSecondsPerCall")
        return self._program.call_seconds(0)


def trainingModel(model, options=None, optimizer=None):
    """Return the model for training. Without an optimizer it is SGD with a learning rate of 0.01."""
    if optimizer is None:
        optimizer = optim.SGD(model.parameters(), lr=0.01)
    module = model.model if isinstance(model, PoplarExecutor) else model
    executor = PoplarExecutor(module, options, optimizer, training=True)
    take(module, executor)
    return executor


def inferenceModel(model, options=None, optimizer=None):
    """Return the model for inference. It takes over the weights of the module at each call."""
    if optimizer is not None:
        raise Error("An optimizer was passed to inferenceModel, but inference trains nothing: leave it out.")
    module = model.model if isinstance(model, PoplarExecutor) else model
    executor = PoplarExecutor(module, options, None, training=False)
    configuration.check_inference(executor.options)
    return executor


def load(path, edit_opts_fn=None):
    """Return the compiled model that PoplarExecutor.save wrote. `edit_opts_fn` may change its options before."""
    content = saved_model.read(path)
    if "model" not in content:
        raise Error(f"{path} was saved with export_model=False: make the model from its module, and call loadExecutable.")
    module, options, optimizer, training = content["model"]
    options = options.clone()
    if ConnectionType(options.connection_type) == ConnectionType.Never:
        options.connectionType(ConnectionType.Always)  # it was compiled for devices that were not there
    if edit_opts_fn is not None:
        edit_opts_fn(options)
    model = PoplarExecutor(module, options, optimizer, training)
    args, kwargs = saved_model.example_of(content)
    model.compile(*args, **kwargs)
    model._set_state(content["state"])
    return model
