"""The base of all groups of options: values by name, freezing, copying and printing."""

import copy

from .log import note_once


class OptionsGroup:
    """A group of options. Once a model or a data loader has used it, it can no longer be changed."""

    #: Options of PopTorch that this group lacks, and what to do instead.
    _absent = {}
    #: Options that only real machines have: they are accepted, and a line of the log says why they have no effect.
    _hardware_only = {}

    def __init__(self, **values):
        self.__dict__["_values"] = dict(values)
        self.__dict__["_is_frozen"] = False

    def _check_changeable(self, name):
        if self._is_frozen:
            raise AttributeError(
                f"Can't modify frozen {type(self).__name__}: a model or a data loader uses these options "
                f"already. Change a copy from clone() instead of {name}."
            )

    def _set(self, name, value):
        self._check_changeable(name)
        self._values[name] = value
        return self

    def __getattr__(self, name):
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        if name in type(self)._hardware_only:
            return self._without_effect(name)
        if name in type(self)._absent:
            raise AttributeError(f"{name} is not implemented on emulated devices: {type(self)._absent[name]}.")
        raise AttributeError(f"{type(self).__name__} has no option {name}.")

    def _without_effect(self, name):
        def accept(*args, **kwargs):
            self._check_changeable(name)
            note_once(f"{name} has no effect on emulated devices: {type(self)._hardware_only[name]}.")
            return self

        return accept

    def __setattr__(self, name, value):
        if name == "__class__":  # libraries give a group a class of their own, derived from its one
            object.__setattr__(self, name, value)
            return
        if name not in self._values:
            raise AttributeError(f"{type(self).__name__} has no option {name}.")
        self._set(name, value)

    def _freeze(self):
        self.__dict__["_is_frozen"] = True

    def checkIsFrozen(self, option=None):
        """Raise AttributeError if the options can no longer be changed."""
        self._check_changeable(option or "changing these")

    def _thawed(self):
        other = copy.copy(self)
        other.__dict__["_values"] = copy.deepcopy(self._values)
        other.__dict__["_is_frozen"] = False
        return other

    def __deepcopy__(self, memo):
        return self._thawed()

    def toDict(self):
        """Return all values by name."""
        return {name: value for name, value in self._values.items() if name != "_popart_options"}

    def __copy__(self):
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __repr__(self):
        # A comma follows the values even where there are none, as PopTorch prints it.
        values = ", ".join(f"{name}={value!r}" for name, value in self._values.items())
        tail = f"_warnings={{}}, _warnings_disabled=set(), _is_frozen={self._is_frozen}"
        return f"{type(self).__name__}({values}, {tail})"


class PopartOptions:
    """The settings of PopART. They are kept and printed, but there is no PopART to pass them to."""

    def __init__(self):
        self.options = {"instrumentWithHardwareCycleCounter": False, "rearrangeAnchorsOnHost": False}
        self._is_frozen = False

    def __repr__(self):
        return f"_PopartOptions({', '.join(f'{name}={value}' for name, value in self.options.items())})"

    def __deepcopy__(self, memo):
        other = PopartOptions()
        other.options = dict(self.options)
        return other

    def _accept(self, what):
        if self._is_frozen:
            raise AttributeError(f"Can't modify frozen _PopartOptions: a model or a data loader uses these options already. Change a "
                                 f"copy from clone() instead of {what}.")
        note_once(f"The emulated devices have no PopART, so its {what} has no effect.")

    def set(self, key, value):
        """Accept an option of PopART, which has no effect: a line of the log says so."""
        self._accept(f"option {key}")
        self.options[key] = value
        return self

    def setEngineOptions(self, engine_options):
        """Accept options of Poplar. Those that ask for a profile are read from POPLAR_ENGINE_OPTIONS only."""
        for key in engine_options:
            self._accept(f"engine option {key}")
        return self

    def setPatterns(self, patterns, level=2):
        """Accept patterns of PopART's compiler, which have no effect."""
        self._accept("choice of patterns")
        return self
