"""Hyperparameters: the arguments of __init__ that modules and data modules keep."""

import argparse
import inspect


class Hyperparameters(dict):
    """A dictionary whose entries are attributes, too: hparams["lr"] or hparams.lr."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"There is no hyperparameter {name}; there are: {', '.join(self) or 'none'}.") from None

    def __setattr__(self, name, value):
        self[name] = value


def _arguments_of_init(frame):
    """Return the arguments of the __init__ that runs in `frame`, and of those of derived classes that called it."""
    calls, owner = [], None
    while frame is not None and frame.f_code.co_name == "__init__":
        names, _, keywords, values = inspect.getargvalues(frame)
        if not names or (owner is not None and values[names[0]] is not owner):
            break
        owner = values[names[0]]
        calls.append({**{name: values[name] for name in names[1:]}, **(values[keywords] if keywords else {})})
        frame = frame.f_back
    return {name: value for call in calls for name, value in call.items()}


def arguments_from(checkpoint, function):
    """Return the kept hyperparameters of a checkpoint as arguments of `function`, without those that it does not take."""
    kept, name = checkpoint.get("hyper_parameters", {}), checkpoint.get("hparams_name")
    if name:
        return {name: Hyperparameters(kept)}
    parameters = inspect.signature(function).parameters
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        return dict(kept)
    return {each: value for each, value in kept.items() if each in parameters}


class KeepsHyperparameters:
    """Part of modules and data modules that keeps arguments of __init__."""

    _hparams, _logs_hparams = None, True
    _hparams_name = None  # the argument that held all of them as a dictionary

    @property
    def hparams(self):
        """The arguments that save_hyperparameters() kept."""
        if self._hparams is None:
            self._hparams = Hyperparameters()
        return self._hparams

    def save_hyperparameters(self, *args, ignore=None, frame=None, logger=True):
        """Keep the arguments of __init__ in hparams and in checkpoints: all, or those named, but for those to `ignore`.

        In place of names, a dictionary or argparse.Namespace gives the hyperparameters themselves. With logger=False, loggers
        do not write them.
        """
        given = _arguments_of_init(frame or inspect.currentframe().f_back)
        whole = [each for each in args if isinstance(each, (dict, argparse.Namespace))]
        names = {each for each in args if isinstance(each, str)}
        if len(whole) + len(names) < len(set(map(id, args))):
            raise TypeError("save_hyperparameters() takes names of arguments, or a dictionary or Namespace of values.")
        left_out = {ignore} if isinstance(ignore, str) else set(ignore or ())
        self._hparams_name = next((name for name, value in given.items() if whole and value is whole[0]), None)
        if whole:
            given = {name: value for each in whole for name, value in (each if isinstance(each, dict) else vars(each)).items()}
        elif names:
            given = {name: value for name, value in given.items() if name in names}
        self.hparams.update({name: value for name, value in given.items() if name not in left_out})
        self._logs_hparams = logger
