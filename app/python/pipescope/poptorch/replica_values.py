"""Values that differ from replica to replica: weights in groups of replicas, and buffers of each replica's own.

Emulated replicas share their weights. A weight with groups is therefore one tensor with an axis of groups in front, and a buffer
of each replica's own is an input: hidden inputs, which the program does not see, say what belongs to a micro-batch.
"""

import contextlib
import weakref

import torch

from .buffers import buffers_of
from .enums import CommGroupType, VariableRetrievalMode
from .errors import Error
from .log import note_once


def group_of_each(kind, size, replicas, what):
    """Return the number of the group of each replica. `what` names the caller in the sentence of an Error."""
    kind = CommGroupType(kind)
    if kind == CommGroupType.All:
        return [0] * replicas
    if kind == CommGroupType.NoGrouping:
        return list(range(replicas))
    if size < 1 or replicas % size != 0:
        raise Error(f"{what}: groups of {size} replicas do not divide the {replicas} replicas of Options.replicationFactor.")
    if kind == CommGroupType.Consecutive:
        return [replica // size for replica in range(replicas)]
    return [replica % (replicas // size) for replica in range(replicas)]


def _set_groups(parameter, comm_group_type, shards, variable_retrieval_mode=VariableRetrievalMode.OnePerGroup):
    """Give each group of replicas its own values of a parameter of a model, which has an axis of groups in front.

    `comm_group_type` is a CommGroupType, `shards` the number of replicas in a group. Call it before the model is compiled, on a
    parameter that is an attribute of the model, as in model.weight.replicaGrouping(…).
    """
    model = getattr(parameter, "_pipescope_model", lambda: None)()
    if model is None:
        raise Error("replicaGrouping: call it on a parameter of a poptorch model itself, as in model.weight.replicaGrouping(…), because "
                    "each model has groups of its own.")
    model._group_replicas(parameter, CommGroupType(comm_group_type), int(shards), VariableRetrievalMode(variable_retrieval_mode))


torch.nn.Parameter.replicaGrouping = _set_groups


def reached_through(model, value):
    """Remember, for replicaGrouping, the model whose attribute a parameter is. Returns the value."""
    if isinstance(value, torch.nn.Parameter):
        value._pipescope_model = weakref.ref(model)
    return value


class ReplicaValues:
    """The values of a model that differ among its replicas. `grouped` is {name of a weight: (kind of groups, replicas in one)}."""

    def __init__(self, module, options, grouped, training):
        self._module, self._replicas = module, options.replication_factor
        self._groups, self._buffers, self._seen = {}, {}, {}
        self.keeps_buffers = not training and not options.broadcast_buffers and self._replicas > 1
        weights = dict(module.named_parameters())
        for name, (kind, size) in grouped.items():
            numbers = group_of_each(kind, size, self._replicas, f"replicaGrouping of {name}")
            count = max(numbers) + 1
            if count > 1 and list(weights[name].shape[:1]) != [count]:
                raise Error(f"replicaGrouping: {name} has the shape {list(weights[name].shape)}, but its first axis must be that of the "
                            f"{count} groups of replicas.")
            if count > 1:
                self._groups[name] = numbers
        if self._groups:
            note_once("replicaGrouping: the values are those of groups of their own, but a profile counts the memory of a weight's groups "
                      "on each IPU together.")
        self._choices = list(dict.fromkeys(tuple(numbers) for numbers in self._groups.values()))

    def check(self, optimizer, processes):
        """Refuse what would mix the groups of a weight."""
        if self._groups and processes > 1:
            raise Error("replicaGrouping works for the replicas of one process: use replicationFactor instead of several instances.")
        if self._groups and optimizer is not None and getattr(optimizer, "max_grad_norm", None):
            raise Error("replicaGrouping: max_grad_norm would take the norm of all groups together: leave it out.")
        if self._groups and hasattr(optimizer, "max_weight_norm"):
            raise Error("replicaGrouping: LAMB would take the norms of all groups together: use AdamW.")

    def spreads_inputs(self, options):
        """Return True if the inputs of groups of replicas must be given to each of them, because some inputs differ."""
        return options.input_group_size > 1 and (
            bool(self._choices or self._buffers) or options.input_group_type == CommGroupType.Orthogonal)

    def spread(self, values, options, blocks):
        """Return an array with a block of rows for each replica, of one with a block for each group with the same input."""
        parts = self._replicas // options.input_group_size
        values = values.reshape(blocks // parts, parts, values.shape[0] // blocks, *values.shape[1:])
        numbers = group_of_each(options.input_group_type, options.input_group_size, self._replicas, "inputReplicaGrouping")
        values = values[:, numbers]
        return values.reshape(-1, *values.shape[3:])

    @property
    def needs_lifting(self):
        """True if there are hidden inputs, whose first axis is not that of the rows."""
        return bool(self._choices) or self.keeps_buffers

    def examples(self, changing):
        """Return the hidden inputs of one micro-batch. `changing` names the buffers that the model changes."""
        if self.keeps_buffers:
            places = buffers_of(self._module)
            for name in changing:
                value = places[name][0]._buffers[places[name][1]]
                self._buffers.setdefault(name, value.detach().clone().unsqueeze(0).repeat(self._replicas, *[1] * value.dim()))
        return [*(torch.zeros((), dtype=torch.int64) for _ in self._choices), *(value[0].clone() for value in self._buffers.values())]

    @contextlib.contextmanager
    def installed(self, hidden):
        """Put the values of one micro-batch into the module meanwhile."""
        number_of, changed = dict(zip(self._choices, hidden)), []
        for name, numbers in self._groups.items():
            path, _, key = name.rpartition(".")
            owner = self._module.get_submodule(path)
            changed.append((owner, key, dict(owner._parameters)))
            weight = owner._parameters.pop(key)
            owner.__dict__[key] = weight.index_select(0, number_of[tuple(numbers)].reshape(1)).squeeze(0)
        places = buffers_of(self._module)
        for name, value in zip(self._buffers, hidden[len(self._choices):]):
            owner, key = places[name]
            owner._buffers[key] = value.clone()
        try:
            yield
        finally:
            for owner, key, weights in reversed(changed):
                del owner.__dict__[key]
                owner._parameters.clear()
                owner._parameters.update(weights)  # in the order that PyTorch's exporter relies on

    def arrays(self, steps):
        """Return the hidden inputs of a call as tensors with a row for each micro-batch of each replica."""
        here = dict(self._module.named_buffers())
        for name, value in self._buffers.items():
            if self._seen.get(name, here[name]._version) != here[name]._version:
                value.copy_(here[name].unsqueeze(0))  # the program has set it since the last call
        numbers = [torch.tensor(choice * steps, dtype=torch.int64) for choice in self._choices]
        return [*numbers, *(value.repeat(steps, *[1] * (value.dim() - 1)) for value in self._buffers.values())]

    def take(self, name, rows):
        """Keep what the replicas have made of a buffer, and put that of the first replica into the module. False: it is shared."""
        if name not in self._buffers:
            return False
        kept, here = self._buffers[name], dict(self._module.named_buffers())[name]
        kept.copy_(rows.reshape(-1, *kept.shape)[-1])
        here.copy_(kept[0])
        self._seen[name] = here._version
        return True
