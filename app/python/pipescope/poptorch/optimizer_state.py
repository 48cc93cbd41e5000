"""The optimizer of a compiled model: its settings and its state on the devices."""

import torch

from . import optim, saved_model
from .enums import ConnectionType
from .errors import Error
from .popart_names import LOSS_SCALE, own_settings, settings_of, shown_names

#: Entries of a state beside tensors of the optimizer.
_COUNTS = ("optimizer/updates", "optimizer/loss_scale")
#: PopART's prefix of the number of updates, which it counts for each weight.
_STEP = "Step___"
#: PopTorch's name of the loss scale ÷ the first one.
_FACTOR = "lossScaleUpdateFactor"


class OptimizerState:
    """The part of PoplarExecutor that knows the optimizer."""

    def setOptimizer(self, optimizer):
        """Use other settings of the same optimizer from the next call on."""
        if not self._training:
            raise Error("Inference has no optimizer.")
        rule = optim.settings_of(optimizer)
        if self.isCompiled() and optim.accumulator_of(optimizer) != self._accumulator:
            raise ValueError(f"accum_type was {self._accumulator} when the model was compiled and cannot become "
                             f"{optim.accumulator_of(optimizer)}: make a new model.")
        if type(optimizer) is not type(self._optimizer):
            optim.warn_if_derived(optimizer)
        if rule.name != self._rule.name:
            raise Error(f"The optimizer was {self._rule.name} and cannot become {rule.name}: make a new model.")
        if self.isCompiled():
            self._change_rule(rule, optimizer)
        self._rule, self._optimizer = rule, optimizer
        self._follow(optimizer)

    def _follow(self, optimizer):
        """Let an optimizer of poptorch.optim ask for the state on the devices."""
        if hasattr(optimizer, "_runs_in"):
            optimizer._runs_in(self)

    def _optimizer_state(self):
        """The optimizer's state on the devices: {name: tensor}; None for a model that has never been on devices."""
        if ConnectionType(self._options.connection_type) == ConnectionType.Never:
            return None
        weights = {name for name, _, _ in self._executable.weights}
        content = saved_model.tensors_of(self._state(), weights)
        shown = shown_names(content)
        state = {shown[name]: tensor for name, tensor in content.items() if name not in _COUNTS}
        updates = content[_COUNTS[0]].double()  # a program may load any real number
        for weight in (weight for group in self._rule.parameters(self._names_of_parameters()) for weight in group):
            kept = [tensor for name, tensor in state.items() if weight in self._grouped and name.endswith("___" + weight)]
            state[_STEP + weight] = updates.expand(len(kept[0])).clone() if kept else updates.clone()
        if self._options.Training.automatic_loss_scaling:
            state[_FACTOR] = torch.tensor(self._executable.loss_scale / self._first_loss_scale)
        return state

    def _settings(self):
        """The settings of the optimizer on the devices, by PopART's names: {name: tensor}."""
        return {**settings_of(self._rule, self._names_of_parameters(), float(self._executable.loss_scale)), **self._own_settings}

    def _names_of_settings(self):
        """Names of the settings of the optimizer, as PopART gives them."""
        return list(settings_of(self._rule, self._names_of_parameters(), 1.0)) if self._training else []

    def _take_optimizer_state(self):
        """Load the state and the settings that the optimizer got by load_state_dict()."""
        state = self._optimizer._take_loaded() if hasattr(self._optimizer, "_take_loaded") else None
        if state is None:
            return
        self.setOptimizer(self._optimizer)  # load_state_dict() has changed its groups
        factor, steps = state.pop(_FACTOR, None), [state.pop(name).max() for name in list(state) if name.startswith(_STEP)]
        current = self._state()
        weights = {name for name, _, _ in self._executable.weights}
        own = {shown: name for name, shown in shown_names(saved_model.tensors_of(current, weights)).items()}
        # The devices count the updates of all weights together.
        counts = {_COUNTS[0]: max(steps).round().clamp(min=0)} if steps else {}
        self._set_state(saved_model.with_state({**{own.get(name, name): value for name, value in state.items()}, **counts}, current))
        if factor is not None and self._options.Training.automatic_loss_scaling:
            self._executable.loss_scale = float(factor) * self._first_loss_scale
        self._take_settings(self._optimizer._loaded_settings)

    def _take_settings(self, loaded):
        """Take over settings by PopART's names where they are others than those of the optimizer's groups.

        Each weight may have settings of its own, which hold until setOptimizer().
        """
        names, scale = self._names_of_parameters(), float(self._executable.loss_scale)
        known = settings_of(self._rule, names, scale)
        if self._options.Training.automatic_loss_scaling:
            known.pop(LOSS_SCALE)
        changed = {name: value for name, value in loaded.items() if name in known and float(value) != float(known[name])}
        if not changed:
            return
        settings = {**known, **changed}
        scale = float(settings.get(LOSS_SCALE, scale))
        for group, weights in zip(self._rule.groups, self._rule.parameters(names)):
            for weight in weights:
                self._executable.set_optimizer_of(weight, own_settings(self._rule.name, group, weight, settings, scale))
        self._change_loss_scale(scale)
        self._own_settings = changed

    def _change_rule(self, rule, optimizer):
        names = self._names_of_parameters()
        if rule.parameters(names) != self._rule.parameters(names):
            raise Error("The optimizer has other parameter groups than the one that was compiled: make a new model.")
        self._change_settings(rule, float(getattr(optimizer, "loss_scaling", 1.0)))

    def _change_settings(self, rule, scale):
        for group, settings in enumerate(rule.groups, -1):
            values = {name: float(value) for name, value in settings.items()}
            if group < 0 or group in self._compiled_groups:
                self._executable.set_optimizer(values, None if group < 0 else self._compiled_groups.index(group))
        self._own_settings = {}
        self._change_loss_scale(scale)

    def _change_loss_scale(self, scale):
        # A program in float32 without a loss scale gives the results of any.
        if self._scales_loss or self._traced.computes_half:
            self._executable.loss_scale = scale
