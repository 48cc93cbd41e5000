"""Optimizers with PopTorch's additional settings. torch.optim's own classes of the same families work, too."""

import inspect
import weakref

import torch

from .errors import Error
from .log import logger, note_once


def _type_name(dtype, name):
    if dtype in (None, torch.float32):
        return "float32"
    if dtype in (torch.float16,):
        return "float16"
    raise ValueError(f"{name} is {dtype}, but must be torch.float16 or torch.float32.")


#: Settings that the optimizers of this file have beyond torch's.
_OWN = {"loss_scaling", "accum_type", "max_grad_norm", "velocity_scaling", "bias_correction", "max_weight_norm",
        "use_tf_variant", "velocity_accum_type", "variable_attrs", "use_combined_accum", "first_order_momentum_accum_type", "second_order_momentum_accum_type"}


class VariableAttributes:
    """The settings of an optimizer that may change after a model was compiled: those that the program gave itself."""

    def __init__(self, variable_attributes, allowed_attributes):
        self._variable_attributes, self._allowed_attributes = list(variable_attributes), list(allowed_attributes)

    def isConstant(self, attr):
        """Return True if the setting is fixed when the model is compiled."""
        return attr not in self._variable_attributes

    def _check(self, attr):
        assert attr in self._allowed_attributes, (
            f"Unknown attribute {attr}: the optimizer has {', '.join(self._allowed_attributes)}.")

    def markAsConstant(self, attr):
        """Fix a setting when the model is compiled."""
        self._check(attr)
        self._variable_attributes = [each for each in self._variable_attributes if each != attr]

    def markAsVariable(self, attr):
        """Let a setting change later."""
        self._check(attr)
        if self.isConstant(attr):
            self._variable_attributes.append(attr)


#: Arguments of optimizers that are no settings of an update.
_NO_SETTINGS = {"self", "params", "args", "kwargs", "amsgrad", "use_combined_accum", "bias_correction", "use_tf_variant",
                "centered", "accum_type", "velocity_accum_type", "first_order_momentum_accum_type",
                "second_order_momentum_accum_type", "max_grad_norm"}


class Optimizer:
    """The base of all optimizers of this file, with their settings beyond torch's."""

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        known = [name for each in cls.__mro__ if each.__dict__.get("__init__") for name in inspect.signature(each).parameters]
        try:
            given = inspect.signature(cls.__init__).bind(self, *args, **kwargs).arguments
        except TypeError:  # a copy, or arguments that __init__ refuses itself
            given = {}
        given = {**given, **given.get("kwargs", {})}
        allowed = [name for name in dict.fromkeys(known) if name not in _NO_SETTINGS]
        self.variable_attrs = VariableAttributes([name for name in allowed if given.get(name) is not None], allowed)
        return self

    def _keep(self, loss_scaling=None, accum_type=None, max_grad_norm=None, **state_types):
        """Check and keep the settings. `state_types` are those of accumulators that are state, by their names."""
        loss_scaling = 1.0 if loss_scaling is None else loss_scaling
        if not loss_scaling > 0:
            raise ValueError(f"loss_scaling is {loss_scaling}, but must be above 0.")
        for name, dtype in state_types.items():
            setattr(self, name, torch.float16 if _type_name(dtype, name) == "float16" else torch.float32)
        self.loss_scaling = loss_scaling
        self.accum_type = _type_name(accum_type, "accum_type")
        self.max_grad_norm = max_grad_norm

    def __getstate__(self):
        # PyTorch's keeps only groups and state, so that a copy would lose what this file adds.
        return {**super().__getstate__(), **{name: value for name, value in self.__dict__.items() if name in _OWN}}

    # --- state on the devices ------------------------------------------------------------------------------
    _executor = None  # weak reference to the model that trains with this optimizer
    _loaded = None  # state for the devices, until the model is compiled
    _loaded_settings = {}  # settings that the state held

    def _runs_in(self, executor):
        self._executor = weakref.ref(executor)

    def _compiled_executor(self):
        executor = self._executor() if self._executor is not None else None
        return executor if executor is not None and executor.isCompiled() else None

    def has_state(self):
        """Return True if state_dict() holds state of the devices."""
        return self._state_on_devices() is not None

    def _state_on_devices(self):
        if self._loaded is not None:  # until a model takes it
            return self._loaded
        executor = self._compiled_executor()
        return None if executor is None else executor._optimizer_state()

    def state_dict(self):
        """Return PyTorch's dictionary with the state that the devices hold.

        "ipu_state" is {name: tensor} and "ipu_param" {name: setting}; both are None before a model is compiled.
        """
        state, executor = self._state_on_devices(), self._compiled_executor()
        settings = self._loaded_settings if executor is None or self._loaded is not None else executor._settings()
        return {**super().state_dict(), "ipu_state": state, "ipu_param": None if state is None else settings}

    get_state_dict = state_dict

    def load_state_dict(self, state_dict):
        """Load what state_dict() returned. Weights stay as they are. A model takes it at its next call."""
        if not state_dict:
            raise RuntimeError("Cannot load optimizer state dictionary because it is empty.")
        if "ipu_state" not in state_dict:
            raise RuntimeError("Only IPU optimizer states can be loaded onto the IPU: this one has no \"ipu_state\".")
        rest = {name: value for name, value in state_dict.items() if name not in ("ipu_state", "ipu_param")}
        state = state_dict["ipu_state"]
        self._loaded_settings = dict(state_dict.get("ipu_param") or {})
        self._loaded = None if state is None else dict(state)
        super().load_state_dict(rest)

    set_state_dict = load_state_dict

    def _take_loaded(self):
        """Return the state that waits for the devices, once; None: none does."""
        loaded, self._loaded = self._loaded, None
        return loaded


def _given(**values):
    """The values that are not None, where PyTorch has defaults of its own."""
    return {name: value for name, value in values.items() if value is not None}


class SGD(Optimizer, torch.optim.SGD):
    """Stochastic gradient descent. The first step applies dampening, too."""

    def __init__(self, params, lr, momentum=None, dampening=None, weight_decay=None, nesterov=None, maximize=False,
                 foreach=None, *, loss_scaling=None, velocity_scaling=None, use_combined_accum=False, accum_type=None,
                 velocity_accum_type=None, max_grad_norm=None):
        if use_combined_accum:
            note_once("use_combined_accum: emulated devices keep the sum of gradients apart from the velocity. Updates are the "
                      "same as long as momentum and weight_decay stay as they are.")
            if velocity_accum_type is not None:
                raise ValueError("velocity_accum_type is only used with use_combined_accum=False, where the velocity has a type "
                                 "of its own.")
        elif velocity_scaling is not None:
            raise ValueError("velocity_scaling is only used with use_combined_accum=True: leave it out.")
        super().__init__(params, lr, momentum or 0.0, dampening or 0.0, weight_decay or 0.0, bool(nesterov),
                         maximize=maximize, foreach=foreach)
        self.use_combined_accum = use_combined_accum
        self._keep(loss_scaling, accum_type, max_grad_norm, velocity_accum_type=velocity_accum_type)
        self.velocity_scaling = velocity_scaling if velocity_scaling is not None else 1.0


def _moved_moments(state, parameter, betas):
    """Move the moments of a parameter by its gradient, on the host. Returns them."""
    if not state:
        state.update(step=0, exp_avg=torch.zeros_like(parameter), exp_avg_sq=torch.zeros_like(parameter))
    state["step"] += 1
    state["exp_avg"].mul_(betas[0]).add_(parameter.grad, alpha=1 - betas[0])
    state["exp_avg_sq"].mul_(betas[1]).addcmul_(parameter.grad, parameter.grad, value=1 - betas[1])
    return state["exp_avg"], state["exp_avg_sq"]


class Adam(Optimizer, torch.optim.Adam):
    """Adam, with L2 regularisation."""

    def __init__(self, params, lr=None, betas=None, eps=None, weight_decay=None, amsgrad=None, *, loss_scaling=None,
                 accum_type=None, first_order_momentum_accum_type=None,
                 second_order_momentum_accum_type=None, max_grad_norm=None):
        super().__init__(params, **_given(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad))
        self._keep(loss_scaling, accum_type, max_grad_norm,
                   first_order_momentum_accum_type=first_order_momentum_accum_type,
                   second_order_momentum_accum_type=second_order_momentum_accum_type)


class AdamW(Optimizer, torch.optim.AdamW):
    """Adam with decoupled weight decay."""

    def __init__(self, params, lr=None, betas=None, eps=None, weight_decay=None, amsgrad=None, *, loss_scaling=None,
                 bias_correction=None, accum_type=None, first_order_momentum_accum_type=None,
                 second_order_momentum_accum_type=None, max_grad_norm=None):
        super().__init__(params, **_given(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad))
        self._keep(loss_scaling, accum_type, max_grad_norm,
                   first_order_momentum_accum_type=first_order_momentum_accum_type,
                   second_order_momentum_accum_type=second_order_momentum_accum_type)
        self.bias_correction = True if bias_correction is None else bias_correction

    @torch.no_grad()
    def step(self, closure=None):
        """Make an update on the host. PyTorch's own always corrects the bias of the moments."""
        if self.bias_correction:
            return super().step(closure)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    first, second = _moved_moments(self.state[parameter], parameter, group["betas"])
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    parameter.sub_(group["lr"] * first / (second.sqrt() + group["eps"]))
        return loss


class RMSprop(Optimizer, torch.optim.RMSprop):
    """RMSprop. TensorFlow's variant adds eps under the root, and takes the rate into the velocity."""

    def __init__(self, params, lr=None, alpha=None, eps=None, weight_decay=None, momentum=None, centered=None, *,
                 loss_scaling=None, accum_type=None, first_order_momentum_accum_type=None,
                 second_order_momentum_accum_type=None, use_tf_variant=False, max_grad_norm=None):
        super().__init__(params, **_given(lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum,
                                          centered=centered))
        self._keep(loss_scaling, accum_type, max_grad_norm,
                   first_order_momentum_accum_type=first_order_momentum_accum_type,
                   second_order_momentum_accum_type=second_order_momentum_accum_type)
        self.use_tf_variant = use_tf_variant


class LAMB(Optimizer, torch.optim.Optimizer):
    """Adam whose step is scaled by the ratio of the norms of weight and step."""

    def __init__(self, params, lr=None, betas=None, eps=None, weight_decay=None, bias_correction=None, *, loss_scaling=None,
                 max_weight_norm=None, accum_type=None, first_order_momentum_accum_type=None,
                 second_order_momentum_accum_type=None, max_grad_norm=None):
        super().__init__(params, {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 1e-2,
                                  **_given(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)})
        self._keep(loss_scaling, accum_type, max_grad_norm,
                   first_order_momentum_accum_type=first_order_momentum_accum_type,
                   second_order_momentum_accum_type=second_order_momentum_accum_type)
        self.bias_correction = True if bias_correction is None else bias_correction
        self.max_weight_norm = max_weight_norm

    @torch.no_grad()
    def step(self, closure=None):
        """Make an update on the host, of the gradients that PyTorch computed. Returns the value of the closure."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)
        return loss

    def _update(self, parameter, group):
        state, (beta1, beta2) = self.state[parameter], group["betas"]
        first, second = _moved_moments(state, parameter, group["betas"])
        if self.bias_correction:
            first, second = first / (1 - beta1 ** state["step"]), second / (1 - beta2 ** state["step"])
        step = first / (second.sqrt() + group["eps"]) + group["weight_decay"] * parameter
        weight_norm, step_norm = parameter.norm(), step.norm()
        if self.max_weight_norm is not None:
            weight_norm = weight_norm.clamp(max=self.max_weight_norm)
        ratio = weight_norm / step_norm if weight_norm > 0 and step_norm > 0 else 1.0
        parameter.sub_(group["lr"] * ratio * step)


def _is_half(optimizer, name):
    return getattr(optimizer, name, torch.float32) == torch.float16


def _moments(optimizer):
    return {"half_moment1": _is_half(optimizer, "first_order_momentum_accum_type"),
            "half_moment2": _is_half(optimizer, "second_order_momentum_accum_type")}


def _decay(optimizer, group):
    """The weight decay of a group, and whether a later one is computed although this one is 0."""
    attributes = getattr(optimizer, "variable_attrs", None)
    varies = attributes is not None and not attributes.isConstant("weight_decay")
    return {"weight_decay": group["weight_decay"], **({"variable_decay": True} if varies and group["weight_decay"] == 0 else {})}


def _moment_settings(optimizer, group):
    if group.get("amsgrad"):
        raise Error(f"{type(optimizer).__name__} with amsgrad=True does not run on devices, as in PopTorch: leave it out.")
    return {"beta1": group["betas"][0], "beta2": group["betas"][1], "epsilon": group["eps"], **_moments(optimizer)}


def _adam(optimizer, group):
    return {**_moment_settings(optimizer, group), **_decay(optimizer, group)}


def _sgd(optimizer, group):
    half = {"half_velocity": True} if _is_half(optimizer, "velocity_accum_type") and group["momentum"] else {}
    return {**half, "momentum": group["momentum"], "dampening": group["dampening"], **_decay(optimizer, group),
            "nesterov": bool(group["nesterov"]), "velocity_scaling": getattr(optimizer, "velocity_scaling", 1.0)}


def _adamw(optimizer, group):
    return {**_moment_settings(optimizer, group), "weight_decay": group["weight_decay"],
            "bias_correction": bool(getattr(optimizer, "bias_correction", True))}


def _rmsprop(optimizer, group):
    return {"tensorflow_variant": bool(getattr(optimizer, "use_tf_variant", False)),
            "alpha": group["alpha"], "epsilon": group["eps"], "momentum": group["momentum"],
            "centered": bool(group["centered"]), **_decay(optimizer, group), **_moments(optimizer)}


def _lamb(optimizer, group):
    settings = {**_adam(optimizer, group), "bias_correction": bool(optimizer.bias_correction)}
    if optimizer.max_weight_norm is not None:
        settings["max_weight_norm"] = optimizer.max_weight_norm
    return settings


_FAMILIES = [
    (LAMB, "lamb", _lamb),
    (torch.optim.SGD, "sgd", _sgd),
    (AdamW, "adamw", _adamw),
    (torch.optim.AdamW, "adamw", _adamw),
    (torch.optim.Adam, "adam", _adam),
    (torch.optim.RMSprop, "rmsprop", _rmsprop),
]


def _family_of(optimizer):
    """Return (class, name, settings) of the family of an optimizer, whose update must be that of the family."""
    for kind, name, settings in _FAMILIES:
        if isinstance(optimizer, kind) and inspect.unwrap(type(optimizer).step) is inspect.unwrap(kind.step):
            return kind, name, settings
    raise Error(
        f"{type(optimizer).__name__} is no optimizer of the devices: use SGD, Adam, AdamW, RMSprop or LAMB of "
        "poptorch.optim or torch.optim, or a class derived from them that keeps step() as it is."
    )


def warn_if_derived(optimizer):
    """Say that the devices compute the update of the family of an optimizer of a class of the user's own."""
    if optimizer is None or type(optimizer) in {kind for kind, _, _ in _FAMILIES} | {Adam, RMSprop, SGD}:
        return
    logger.warning("%s: Poptorch does not run Python optimizer code directly: the devices compute the update of %s, with the settings "
                   "of this optimizer.", type(optimizer).__name__, _family_of(optimizer)[0].__name__)


def accumulator_of(optimizer):
    """Return the type of the sums of gradients, "float32" or "float16"."""
    kind = getattr(optimizer, "accum_type", "float32")
    return kind if isinstance(kind, str) else _type_name(kind, "accum_type")


class Rule:
    """The rule of an optimizer: its name and, by parameter group, its settings and the ids of its parameters."""

    def __init__(self, name, groups, members):
        self.name, self.groups, self.members = name, groups, members

    def parameters(self, names):
        """Return the names of the parameters of each group. `names` is {id: name} of a module."""
        return [[names[member] for member in members if member in names] for members in self.members]


def settings_of(optimizer):
    """Return the Rule of an optimizer, with its settings named as in a configuration."""
    _, name, settings = _family_of(optimizer)
    groups, members = [], []
    for group in optimizer.param_groups:
        if group.get("maximize"):
            raise Error(f"{type(optimizer).__name__} with maximize=True does not run on devices: negate the loss instead.")
        groups.append({"learning_rate": float(group["lr"]), **settings(optimizer, group)})
        members.append([id(parameter) for parameter in group["params"]])
    return Rule(name, groups, members)
