"""Tensors that Options.anchorTensor asks for: values of the graph, inputs, weights, gradients, updated weights and settings."""

import numpy
import torch

from .enums import OutputMode
from .errors import Error
from .log import note_once

_GRADIENT, _UPDATED = "Gradient___", "UpdatedVar___"
_LOSS_SCALE = "finalLossScale"
_MODES = {OutputMode.Final: "final", OutputMode.All: "all", OutputMode.Sum: "sum", OutputMode.EveryN: "every_n"}


def names_of_weights(weights):
    """Return the names of the gradients of trained weights, of the weights after an update, and of the loss scale."""
    return [*(f"{kind}{name}" for kind in (_GRADIENT, _UPDATED) for name in weights), *([_LOSS_SCALE] if weights else [])]


def given_names(count):
    """Return the names of so many inputs of a model."""
    return ["input" if number == 0 else f"input.{number}" for number in range(count)]


class Anchor:
    """A tensor that calls return under a short name. Without an output mode of its own it has that of the model."""

    def __init__(self, short, long, mode, period):
        self.short, self.name, self.mode, self.period = short, long, mode, period
        self.kind = next((kind for kind in (_GRADIENT, _UPDATED) if long.startswith(kind)), "")
        self.weight = long[len(self.kind) :] if self.kind else None
        self.tensor = long  # the name in the graph

    @property
    def output(self):
        """The name of the output that holds the values."""
        return f"gradient of {self.weight}" if self.kind == _GRADIENT else self.tensor

    @property
    def is_setting(self):
        """True for the loss scale and for what settings_of() of popart_names.py gives."""
        return self.name in (_LOSS_SCALE, "lossScaling_FLOAT") or "___specific___" in self.name


class Anchors:
    """The anchored tensors of a model, and how a call returns their values."""

    def __init__(self, options):
        self._options = options
        self._anchors = [Anchor(short, long, *options.anchor_modes.get(short, (None, 1)))
                         for short, long in options.anchored_tensors.items()]
        self._loss = None

    @property
    def names(self):
        """The names of the anchored tensors."""
        return [each.name for each in self._anchors]

    def check(self, tensors, weights, outputs, loss, own, settings):
        """Refuse what the model does not have. `tensors` and `outputs` are names of the graph, `weights` those that are trained.

        `own` is {name: name of the output} of inputs and weights, `settings` names the settings of the optimizer.
        """
        self._loss = loss
        for each in self._anchors:
            if each.is_setting and loss is not None and each.name in [_LOSS_SCALE, *settings]:
                continue
            if each.name == "loss" and loss is not None and "loss" not in tensors:
                each.tensor = loss
            if each.name in own:
                each.tensor = own[each.name]
                continue
            if each.kind and each.weight not in weights:
                each.weight = each.weight.removeprefix("model.")  # the name that older versions gave
            if each.tensor not in tensors if not each.kind else each.weight not in weights:
                raise Error(f'anchorTensor: {each.short} names the tensor "{each.name}", but the model has none of that name: '
                            "take one of getTensorNames().")
            if each.mode is not None and each.tensor in outputs:
                raise Error(f'anchorTensor: "{each.name}" is a result of the model, which follows outputMode: leave its output mode '
                            "out.")
            if each.mode is not None:
                note_once("anchorTensor: emulated devices copy anchored tensors when they copy results, so that an output mode of "
                          "their own changes the values that are returned, but not the time.")

    def graph_tensors(self):
        """The names of tensors of the graph, which become outputs of the traced model."""
        return [each.tensor for each in self._anchors if not each.kind and not each.is_setting]

    def configure(self, toml):
        """Add what the devices return to a configuration."""
        gradients = list(dict.fromkeys(each.weight for each in self._anchors if each.kind == _GRADIENT))
        if gradients:
            toml.set("training.returned_gradients", gradients)
        modes = {}
        for each in self._anchors:
            if each.kind == _UPDATED or each.is_setting:
                continue
            rule = (each.mode, each.period)
            if modes.setdefault(each.output, rule) != rule:
                raise Error(f'anchorTensor: "{each.name}" is anchored twice with different output modes: choose one.')
        for output, (mode, period) in modes.items():
            if mode is not None:
                toml.add("model.returned", output=output, mode=_MODES[mode],
                         period=period if mode == OutputMode.EveryN else None)

    def watched_weights(self):
        """The names of weights whose values after each update are asked for."""
        return list(dict.fromkeys(each.weight for each in self._anchors if each.kind == _UPDATED))

    def values(self, answer, settings):
        """Return {short name: tensor} of a call. `settings` returns {name: tensor} of the settings of the optimizer."""
        return {each.short: torch.from_numpy(self._value(each, answer, settings)) for each in self._anchors}

    def _value(self, anchor, answer, settings):
        if anchor.name == _LOSS_SCALE:
            return numpy.array(answer["loss_scale"], numpy.float32)  # scale of the last update
        if anchor.is_setting:
            return settings()[anchor.name].numpy()
        if anchor.kind == _UPDATED:
            return self._updated(anchor, answer["weights"][anchor.weight])
        if not anchor.kind and anchor.tensor == self._loss:
            return answer["returned_losses"]
        return answer["outputs"][anchor.output]

    def _updated(self, anchor, values):
        """The values that an output mode returns of those after each update; every replica has the same ones."""
        mode = OutputMode(self._options.output_mode) if anchor.mode is None else anchor.mode
        period = self._options.output_return_period if anchor.mode is None else anchor.period
        chosen = {OutputMode.All: values, OutputMode.EveryN: values[period - 1 :: period], OutputMode.Final: values[-1:],
                  OutputMode.Sum: values.sum(0, keepdims=True)}[mode]
        chosen = numpy.repeat(chosen, self._options.replication_factor, axis=0)
        return chosen.reshape(-1, *values.shape[2:]) if values.ndim > 1 else chosen
