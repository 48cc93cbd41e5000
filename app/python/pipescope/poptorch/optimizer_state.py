"""The optimizer of a compiled model: its settings and its state on the devices."""

import torch

from . import optim, saved_model
from .enums import ConnectionType
from .errors import Error
from .popart_names import own_settings, settings_of, shown_names

#: Entries of a state beside tensors of the optimizer.
_COUNTS = ("optimizer/updates", "optimizer/loss_scale")
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
        if self._options.Training.automatic_loss_scaling:
            state[_FACTOR] = torch.tensor(self._executable.loss_scale / self._first_loss_scale)
        return state

    def _settings(self):
        """The settings of the optimizer on the devices, and what it counts: {name: tensor}."""
        content = saved_model.tensors_of(self._state(), ())
        counts = {name: content[name].double() for name in _COUNTS if name in content}  # all settings are real numbers
        return {**{name: torch.tensor(value) for name, value in self._executable.optimizer_settings.items()},
                **settings_of(self._rule, self._names_of_parameters(), float(self._executable.loss_scale)), **counts}

    def _names_of_settings(self):
        """Names of the settings of the optimizer, as PopART gives them."""
        return list(settings_of(self._rule, self._names_of_parameters(), 1.0)) if self._training else []

    def _take_optimizer_state(self):
        """Load the state and the settings that the optimizer got by load_state_dict()."""
        state = self._optimizer._take_loaded() if hasattr(self._optimizer, "_take_loaded") else None
        if state is None:
            return
        self.setOptimizer(self._optimizer)  # load_state_dict() has changed its groups
        factor = state.pop(_FACTOR, None)
        current = self._state()
        weights = {name for name, _, _ in self._executable.weights}
        own = {shown: name for name, shown in shown_names(saved_model.tensors_of(current, weights)).items()}
        self._set_state(saved_model.with_state({own.get(name, name): value for name, value in state.items()}, current))
        if factor is not None and self._options.Training.automatic_loss_scaling:
            self._executable.loss_scale = float(factor) * self._first_loss_scale
        self._take_settings(self._optimizer._loaded_settings)

    def _take_settings(self, loaded):
        """Take over settings by PopART's names where they are others than those of the optimizer's groups."""
        names, scale = self._names_of_parameters(), float(self._executable.loss_scale)
        known = settings_of(self._rule, names, scale)
        changed = {name: value for name, value in loaded.items() if name in known and float(value) != float(known[name])}
        if not changed or self._options.Training.automatic_loss_scaling:
            return
        all_settings, groups = {**known, **changed}, [dict(group) for group in self._rule.groups]
        scale = float(all_settings["lossScaling_FLOAT"])
        for group, weights in zip(groups, self._rule.parameters(names)):
            values = [own_settings(self._rule.name, group, weight, all_settings, scale) for weight in weights]
            if any(each != values[0] for each in values):
                raise Error("The state of the optimizer gives weights of one parameter group different settings: give these weights groups "
                            "of their own in the optimizer.")
            group.update(values[0] if values else {})
        rule = optim.Rule(self._rule.name, groups, self._rule.members)
        self._change_settings(rule, scale)
        self._rule = rule

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
        # A program in float32 without a loss scale gives the results of any.
        if self._scales_loss or self._traced.computes_half:
            self._executable.loss_scale = scale
