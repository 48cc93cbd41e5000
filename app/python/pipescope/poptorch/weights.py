"""Weights of a compiled model: from the module to the devices and back."""

import torch

from .buffers import mark_as_written, written_version
from .errors import Error


class Weights:
    """The part of PoplarExecutor that copies parameters and buffers."""

    def _host_tensors(self):
        """{name: tensor} of all parameters and buffers."""
        return {**dict(self._module.named_parameters()), **dict(self._module.named_buffers())}

    def _shared_names(self):
        """Names of the weights that both the module and the devices have."""
        here = self._host_tensors()
        return [(name, here[name]) for name, _, _ in self._executable.weights if name in here]

    def copyWeightsToHost(self):
        """Copy the weights from the devices into the parameters of the module."""
        self._must_be_compiled("copyWeightsToHost")
        with torch.no_grad():
            for name, tensor in self._shared_names():
                if name in self._traced.kept:
                    continue  # each call of inference brings this buffer back
                tensor.copy_(torch.from_numpy(self._executable.weight(name)))
                mark_as_written(tensor)

    def _check_constants(self):
        """Refuse another value of a tensor that the compiled program holds as a constant, such as a frozen parameter."""
        here = self._host_tensors()
        for name, value in self._constants.items():
            if name in here and not torch.equal(here[name], value):
                why = "no optimizer trains it" if self._training else "its values decided how the program was compiled"
                raise Error(f"{name} has other values than when the model was compiled, but it is a constant of the program, because "
                            f"{why}: make another model from the module.")

    def copyWeightsToDevice(self):
        """Copy the parameters of the module to the devices."""
        self._must_be_compiled("copyWeightsToDevice")
        self._check_constants()
        self._send([name for name, _ in self._shared_names()])
        self._uploaded = self._versions()

    def _send(self, names):
        here = self._host_tensors()
        for name, tensor in ((name, here[name]) for name in names):
            values = tensor.detach()
            narrow = values.dtype == torch.bfloat16 or name in self._traced.buffers
            values = values.float() if narrow else values
            self._executable.set_weight(name, values.contiguous().numpy())

    def copyNamedBuffersToDevice(self):
        """Copy the buffers that Options.updatableNamedBuffers names to the devices."""
        self._must_be_compiled("copyNamedBuffersToDevice")
        if not self._options.updatable_buffers:
            raise Error("copyNamedBuffersToDevice: no buffers are marked: call Options.updatableNamedBuffers([…]) first (No named "
                        "buffers marked as updatable via updatableNamedBuffers option).")
        self._send(self._options.updatable_buffers)

    def _check_updatable_buffers(self):
        buffers = dict(self._module.named_buffers())
        for name in self._options.updatable_buffers:
            if name not in buffers:
                raise Error(f"Options.updatableNamedBuffers names {name}, but the model has no buffer of that name; it has: "
                            f"{', '.join(buffers) or 'none'}.")

    def _versions(self):
        """Return a value that changes when inference must take over weights anew: parameters of any origin, and buffers
        that a call wrote.

        As in PopTorch, a buffer that the program itself has changed needs copyNamedBuffersToDevice or
        copyWeightsToDevice.
        """
        return [*((id(each), each._version) for each in self._module.parameters()),
                *((id(each), written_version(each)) for each in self._module.buffers())]
