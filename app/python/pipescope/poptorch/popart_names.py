"""PopART's names of an optimizer's state and settings, which PopTorch's programs look for in state_dict()."""

import torch

#: PopART's name of the factor of the loss.
LOSS_SCALE = "lossScaling_FLOAT"
#: PopART's prefixes of the tensors that an optimizer keeps of each weight. Two optimizers have a velocity.
_PREFIXES = {"moment1": "Accl1", "moment2": "Accl2", "square_average": "Accl1", "average": "Accl3"}


def _shown(name, is_adaptive):
    """Return PopART's name of a tensor that Pipescope calls optimizer/WEIGHT/WHAT; other names stay as they are."""
    weight, _, what = name.removeprefix("optimizer/").rpartition("/")
    prefix = ("Accl2" if is_adaptive else "Accl") if what == "velocity" else _PREFIXES.get(what)
    return f"{prefix}___{weight}" if weight and prefix else name


def shown_names(names):
    """Return {Pipescope's name: PopART's name} of the state of one optimizer."""
    is_adaptive = any(name.endswith("/square_average") for name in names)
    return {name: _shown(name, is_adaptive) for name in names}


def settings_of(rule, names, loss_scale):
    """Return {PopART's name: tensor} of learning rates, weight decays and the loss scale. `names` is {id: name} of parameters."""
    settings = {LOSS_SCALE: loss_scale}
    for group, weights in zip(rule.groups, rule.parameters(names)):
        rate, decay = group["learning_rate"], group["weight_decay"]
        kinds = {"learningRate": rate, "weightDecay": decay}
        if rule.name == "sgd":
            kept = 1 - group["dampening"]
            kinds = {"scaledLearningRate0": rate * kept / loss_scale, "weightDecayScaleFactor0": 1 - rate * kept * decay}
        settings.update({f"{kind}___specific___{weight}": value for weight in weights for kind, value in kinds.items()})
    return {name: torch.tensor(float(value)) for name, value in settings.items()}


def own_settings(rule_name, group, weight, settings, loss_scale):
    """Return learning rate and weight decay of a weight from what settings_of() gives. `group` has the dampening."""
    values = {name.removesuffix(f"___specific___{weight}"): float(value) for name, value in settings.items()}
    if rule_name != "sgd":
        return {"learning_rate": values["learningRate"], "weight_decay": values["weightDecay"]}
    kept = 1 - group["dampening"]
    rate = values["scaledLearningRate0"] * loss_scale / kept if kept else group["learning_rate"]
    moved = rate * kept
    return {"learning_rate": rate, "weight_decay": (1 - values["weightDecayScaleFactor0"]) / moved if moved else group["weight_decay"]}
