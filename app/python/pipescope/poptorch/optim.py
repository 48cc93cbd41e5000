"""Optimizers with PopTorch's additional settings. torch.optim's own classes of the same families work, too."""

import weakref

import torch

from .errors import Error


def _type_name(dtype, name):
    if dtype in (None, torch.float32):
        return "float32"
    if dtype in (torch.float16,):
        return "float16"
    raise ValueError(f"{name} is {dtype}, but must be torch.float16 or torch.float32.")


#: What the optimizers of this file have beyond torch's.
_OWN = {"loss_scaling", "accum_type", "max_grad_norm", "velocity_scaling", "bias_correction", "max_weight_norm",
        "use_tf_variant", "velocity_accum_type", "first_order_momentum_accum_type", "second_order_momentum_accum_type"}


class _Settings:
    """What all optimizers of this file have beyond torch's."""

    def _keep(self, loss_scaling=1.0, accum_type=None, max_grad_norm=None, **state_types):
        """Check and keep the settings. `state_types` are those of accumulators that are state, by their names."""
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

    def _runs_in(self, executor):
        self._executor = weakref.ref(executor)

    def state_dict(self):
        """Return PyTorch's dictionary with the state that the devices hold, as the bytes of an .npz file ("devices")."""
        executor = self._executor() if self._executor is not None else None
        compiled = executor is not None and executor.isCompiled()
        devices = executor._state() if compiled else self._loaded
        return super().state_dict() if devices is None else {**super().state_dict(), "devices": devices}

    def load_state_dict(self, state_dict):
        """Load what state_dict() returned. Weights stay as they are. A model that is not compiled takes it when it is."""
        rest = dict(state_dict)
        self._loaded = rest.pop("devices", None)
        super().load_state_dict(rest)
        executor = self._executor() if self._executor is not None else None
        if executor is not None and executor.isCompiled():
            executor._take_optimizer_state()

    def _take_loaded(self):
        """Return the state that waits for the devices, once; None: none does."""
        loaded, self._loaded = self._loaded, None
        return loaded


class SGD(_Settings, torch.optim.SGD):
    """Stochastic gradient descent. The first step applies dampening, too."""

    def __init__(self, params, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, *,
                 loss_scaling=1.0, velocity_scaling=1.0, use_combined_accum=False, accum_type=None,
                 velocity_accum_type=None, max_grad_norm=None):
        if use_combined_accum:
            raise NotImplementedError(
                "use_combined_accum=True is not implemented: the devices keep the sum of gradients apart from the velocity. "
                "Leave it out; updates are the same as long as momentum and weight_decay stay as they are."
            )
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov)
        self._keep(loss_scaling, accum_type, max_grad_norm, velocity_accum_type=velocity_accum_type)
        self.velocity_scaling = velocity_scaling


class Adam(_Settings, torch.optim.Adam):
    """Adam, with L2 regularisation."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, *,
                 loss_scaling=1.0, accum_type=None, first_order_momentum_accum_type=None,
                 second_order_momentum_accum_type=None, max_grad_norm=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)
        self._keep(loss_scaling, accum_type, max_grad_norm,
                   first_order_momentum_accum_type=first_order_momentum_accum_type,
                   second_order_momentum_accum_type=second_order_momentum_accum_type)


class AdamW(_Settings, torch.optim.AdamW):
    """Adam with decoupled weight decay."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, amsgrad=False, *,
                 loss_scaling=1.0, accum_type=None, first_order_momentum_accum_type=None,
                 second_order_momentum_accum_type=None, max_grad_norm=None, bias_correction=True):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)
        self._keep(loss_scaling, accum_type, max_grad_norm,
                   first_order_momentum_accum_type=first_order_momentum_accum_type,
                   second_order_momentum_accum_type=second_order_momentum_accum_type)
        self.bias_correction = bias_correction


class RMSprop(_Settings, torch.optim.RMSprop):
    """RMSprop. TensorFlow's variant adds eps under the root, and takes the rate into the velocity."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False, *,
                 loss_scaling=1.0, accum_type=None, first_order_momentum_accum_type=None,
                 second_order_momentum_accum_type=None, use_tf_variant=False, max_grad_norm=None):
        super().__init__(params, lr, alpha, eps, weight_decay, momentum, centered)
        self._keep(loss_scaling, accum_type, max_grad_norm,
                   first_order_momentum_accum_type=first_order_momentum_accum_type,
                   second_order_momentum_accum_type=second_order_momentum_accum_type)
        self.use_tf_variant = use_tf_variant


class LAMB(_Settings, torch.optim.Optimizer):
    """Adam whose step is scaled by the ratio of the norms of weight and step."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, bias_correction=True, *,
                 loss_scaling=1.0, max_weight_norm=None, accum_type=None, first_order_momentum_accum_type=None,
                 second_order_momentum_accum_type=None, max_grad_norm=None):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        self._keep(loss_scaling, accum_type, max_grad_norm,
                   first_order_momentum_accum_type=first_order_momentum_accum_type,
                   second_order_momentum_accum_type=second_order_momentum_accum_type)
        self.bias_correction, self.max_weight_norm = bias_correction, max_weight_norm

    def step(self, closure=None):
        raise Error("This optimizer works on the devices: pass it to trainingModel and call the model.")


def _is_half(optimizer, name):
    return getattr(optimizer, name, torch.float32) == torch.float16


def _moments(optimizer):
    return {"half_moment1": _is_half(optimizer, "first_order_momentum_accum_type"),
            "half_moment2": _is_half(optimizer, "second_order_momentum_accum_type")}


def _adam(optimizer, group):
    if group.get("amsgrad"):
        raise Error(f"{type(optimizer).__name__} with amsgrad=True does not run on devices, as in PopTorch: leave it out.")
    return {"beta1": group["betas"][0], "beta2": group["betas"][1], "epsilon": group["eps"],
            "weight_decay": group["weight_decay"], **_moments(optimizer)}


def _sgd(optimizer, group):
    half = {"half_velocity": True} if _is_half(optimizer, "velocity_accum_type") and group["momentum"] else {}
    return {**half, "momentum": group["momentum"], "dampening": group["dampening"], "weight_decay": group["weight_decay"],
            "nesterov": bool(group["nesterov"]), "velocity_scaling": getattr(optimizer, "velocity_scaling", 1.0)}


def _adamw(optimizer, group):
    return {**_adam(optimizer, group), "bias_correction": bool(getattr(optimizer, "bias_correction", True))}


def _rmsprop(optimizer, group):
    return {"tensorflow_variant": bool(getattr(optimizer, "use_tf_variant", False)),
            "alpha": group["alpha"], "epsilon": group["eps"], "momentum": group["momentum"],
            "centered": bool(group["centered"]), "weight_decay": group["weight_decay"], **_moments(optimizer)}


def _lamb(optimizer, group):
    settings = {**_adam(optimizer, group), "bias_correction": bool(optimizer.bias_correction)}
    if optimizer.max_weight_norm is not None:
        settings["max_weight_norm"] = optimizer.max_weight_norm
    return settings


_FAMILIES = [
    (LAMB, "lamb", _lamb),
    (torch.optim.SGD, "sgd", _sgd),
    (torch.optim.AdamW, "adamw", _adamw),
    (torch.optim.Adam, "adam", _adam),
    (torch.optim.RMSprop, "rmsprop", _rmsprop),
]
_CLASSES = {SGD, Adam, AdamW, RMSprop, LAMB, torch.optim.SGD, torch.optim.AdamW, torch.optim.Adam, torch.optim.RMSprop}


class Rule:
    """The rule of an optimizer: its name and, by parameter group, its settings and the ids of its parameters."""

    def __init__(self, name, groups, members):
        self.name, self.groups, self._members = name, groups, members

    def parameters(self, names):
        """Return the names of the parameters of each group. `names` is {id: name} of a module."""
        return [[names[member] for member in members if member in names] for members in self._members]


def settings_of(optimizer):
    """Return the Rule of an optimizer, with its settings named as in a configuration."""
    if type(optimizer) not in _CLASSES:
        raise Error(
            f"{type(optimizer).__name__} is no optimizer of the devices: use SGD, Adam, AdamW, RMSprop or LAMB of "
            "poptorch.optim or torch.optim."
        )
    groups, members = [], []
    for group in optimizer.param_groups:
        if group.get("maximize"):
            raise Error(f"{type(optimizer).__name__} with maximize=True does not run on devices: negate the loss instead.")
        name, settings = next((name, settings) for kind, name, settings in _FAMILIES if isinstance(optimizer, kind))
        groups.append({"learning_rate": float(group["lr"]), **settings(optimizer, group)})
        members.append([id(parameter) for parameter in group["params"]])
    return Rule(name, groups, members)
