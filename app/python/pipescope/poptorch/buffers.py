"""Buffers that a model changes while it runs, such as running means and counters.

A first trace finds them. A second one reads each changed buffer through StopGradient, because no optimizer trains it, and
returns its new value through an operator AssignState of Pipescope's own domain. The compiler then moves the buffer after
every micro-batch, as it moves the statistics of norms.
"""

import warnings

import torch

from .errors import Error

_NORMS = torch.nn.modules.batchnorm._BatchNorm


def sizes_of(tensor):
    """The axes of a tensor as numbers: while a model is traced, its shape holds tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [int(size) for size in tensor.shape]


class BuffersChange(Exception):
    """The model changes these buffers ({name: type}), so it must be traced with them."""

    def __init__(self, types):
        super().__init__(", ".join(types))
        self.types = types


def buffers_of(module):
    """Return {name: (module that owns it, its key)} of all buffers but those of norms, which their operator moves."""
    found = {}
    for prefix, owner in module.named_modules():
        for key, value in owner._buffers.items():
            if value is not None and not isinstance(owner, _NORMS):
                found[f"{prefix}.{key}" if prefix else key] = (owner, key)
    return found


class KeptBuffers:
    """The buffers of a module with their values, which restore() gives back to it."""

    def __init__(self, module):
        self._kept = [(owner, key, value, value.clone()) for owner in module.modules()
                      for key, value in owner._buffers.items() if value is not None]

    def restore(self):
        with torch.no_grad():
            for owner, key, tensor, value in self._kept:
                owner._buffers[key] = tensor
                if not torch.equal(tensor, value):
                    tensor.copy_(value)


class _Assign(torch.autograd.Function):
    """AssignState: the new value of a buffer. `old` says which buffer it is."""

    @staticmethod
    def forward(context, old, new):
        return new.clone()

    @staticmethod
    def symbolic(graph, old, new):
        return graph.op("pipescope::AssignState", old, new).setType(old.type())


class Watch:
    """Watches the buffers of a module during one run of it. `types` are those of the buffers that are known to change.

    A changing buffer is float32 on the devices, which keep real numbers only. `training` says whether
    gradients will be computed: some functions that replace PyTorch's do more work then.
    """

    current = None  # set while a model is traced

    def __init__(self, module, types, training):
        self.module, self.training = module, training
        self._places, self._old = buffers_of(module), {}
        for name, kind in types.items():
            owner, key = self._places[name]
            self._old[name] = owner._buffers[key]
            owner._buffers[key] = owner._buffers[key].detach().clone().to(kind)
        self._seen = {name: (owner._buffers[key], owner._buffers[key]._version)
                      for name, (owner, key) in self._places.items()}
        self._types = types
        Watch.current = self

    def changed(self):
        """Return {name: type} of the buffers that have another value or stand for another tensor now."""
        types = {}
        for name, (tensor, version) in self._seen.items():
            owner, key = self._places[name]
            if key not in owner._buffers:
                raise Error(f"Buffer {name} is removed from the model when calling the forward method. Give it another value "
                            "instead.")
            if owner._buffers[key] is not tensor or tensor._version != version:
                types[name] = tensor.dtype
        return types

    def write(self, tensor, values):
        """Give the buffer that is this tensor other values. Returns what stands for it now."""
        for owner, key in self._places.values():
            if owner._buffers[key] is tensor:
                owner._buffers[key] = values
                return values
        return tensor.copy_(values)

    def assigned(self):
        """Return the tensors that give the changing buffers their new values, and give them back their old ones."""
        tensors = []
        for name, old in self._old.items():
            owner, key = self._places[name]
            tensors.append(self._assign(name, old, owner._buffers[key]))
            owner._buffers[key] = old  # The exporter takes the values of the model from here.
        return tensors

    def _assign(self, name, old, new):
        if new is None or sizes_of(new) != sizes_of(old) or new.dtype != self._types[name]:
            kind = "None" if new is None else f"{new.dtype} {sizes_of(new)}"
            raise Error(f"The model gives its buffer {name}, which is {self._types[name]} {sizes_of(old)}, the value "
                        f"{kind}: keep its type and shape.")
        return super(torch.autograd.Function, _Assign).apply(old, new.detach().to(old.dtype))


def widen(module, types):
    """Make the changing buffers float32."""
    places = buffers_of(module)
    for name in types:
        owner, key = places[name]
        owner._buffers[key] = owner._buffers[key].float()


def mark_as_written(tensor):
    """Note that a call has written the values that a tensor of the host has now."""
    tensor._pipescope_written = tensor._version


def written_version(tensor):
    """Return the version that a call has written last, or 0."""
    return getattr(tensor, "_pipescope_written", 0)


def count_batches(module, micro_batches):
    """Add to num_batches_tracked of norms what PyTorch would have added."""
    for each in module.modules():
        if isinstance(each, _NORMS) and each.training and each.num_batches_tracked is not None:
            each.num_batches_tracked += micro_batches


def check_norms(module):
    """Refuse norms whose statistics are plain means of all batches: devices move them by one factor."""
    for name, each in module.named_modules():
        if isinstance(each, _NORMS) and each.training and each.track_running_stats and each.momentum is None:
            raise Error(f"{type(each).__name__} {name} has momentum=None, but devices move running statistics by one "
                        "factor: give it a momentum, such as 0.1.")
