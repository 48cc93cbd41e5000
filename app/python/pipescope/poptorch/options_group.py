"""The base of all groups of options: values by name, freezing, copying and printing."""

import copy


class OptionsGroup:
    """A group of options. Once a model or a data loader has used it, it can no longer be changed."""

    #: Options of PopTorch that this group lacks, and what to do instead.
    _absent = {}

    def __init__(self, **values):
        self.__dict__["_values"] = dict(values)
        self.__dict__["_is_frozen"] = False

    def _set(self, name, value):
        if self._is_frozen:
            raise AttributeError(
                f"Can't modify frozen {type(self).__name__}: a model or a data loader uses these options "
                f"already. Change a copy from clone() instead of {name}."
            )
        self._values[name] = value
        return self

    def __getattr__(self, name):
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        if name in type(self)._absent:
            raise AttributeError(f"{name} is not implemented on emulated devices: {type(self)._absent[name]}.")
        raise AttributeError(f"{type(self).__name__} has no option {name}.")

    def __setattr__(self, name, value):
        if name not in self._values:
            raise AttributeError(f"{type(self).__name__} has no option {name}.")
        self._set(name, value)

    def _freeze(self):
        self.__dict__["_is_frozen"] = True

    def _thawed(self):
        other = copy.copy(self)
        other.__dict__["_values"] = copy.deepcopy(self._values)
        other.__dict__["_is_frozen"] = False
        return other

    def __copy__(self):
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __repr__(self):
        # As PopTorch prints it: a comma follows the values even where there are none.
        values = ", ".join(f"{name}={value!r}" for name, value in self._values.items())
        tail = f"_warnings={{}}, _warnings_disabled=set(), _is_frozen={self._is_frozen}"
        return f"{type(self).__name__}({values}, {tail})"


class _PopartOptions:
    """The settings of PopART that PopTorch prints. They can be read, but there is no PopART to pass them to."""

    def __repr__(self):
        return "_PopartOptions(instrumentWithHardwareCycleCounter=False, rearrangeAnchorsOnHost=False)"

    def __deepcopy__(self, memo):
        return self

    def set(self, key, value):
        raise AttributeError(f"The emulated devices have no PopART, so its option {key} cannot be set.")


POPART = _PopartOptions()
