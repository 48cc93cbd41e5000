"""Nested arguments and results: tuples, lists and dictionaries of tensors, None and plain values."""

import torch

from .errors import Error

_PLAIN = (type(None), bool, int, float, str)


class _Place:
    """Stands for the tensor with this number."""

    def __init__(self, number):
        self.number = number


class Structure:
    """How tensors are nested. Values that are no tensors are constants of the traced model."""

    def __init__(self, values):
        self.tensors = []  # in order; they are given back to the caller, and released by release()
        self._tree = self._take(values)

    def _take(self, value):
        if isinstance(value, torch.Tensor):
            self.tensors.append(value)
            return _Place(len(self.tensors) - 1)
        if isinstance(value, dict):
            return {key: self._take(each) for key, each in value.items()}
        if isinstance(value, (tuple, list)):
            return _rebuilt(value, [self._take(each) for each in value])
        if isinstance(value, _PLAIN):
            return value
        raise Error(
            f"Models take and return tensors, tuples, lists and dictionaries of them, not {type(value).__name__}."
        )

    def release(self):
        """Forget the tensors, but not how they are nested. Returns them."""
        tensors, self.tensors = self.tensors, []
        return tensors

    def build(self, tensors):
        """Return the nested values with other tensors in their places."""
        return _build(self._tree, tensors)

    def difference(self, other):
        """Return how the arguments (positional, named) of another call differ, as a text; empty: not at all."""
        (args, kwargs), (others, named) = self._tree, other._tree
        if len(args) != len(others):
            return f"it was compiled for {len(args)} arguments, but {len(others)} were given"
        if set(kwargs) != set(named):
            return f"it was compiled for the named arguments {sorted(kwargs)}, but {sorted(named)} were given"
        pairs = [(str(number), old, new) for number, (old, new) in enumerate(zip(args, others))]
        pairs += [(name, kwargs[name], named[name]) for name in kwargs]
        return next((text for name, old, new in pairs if (text := _difference(old, new, f"argument {name}"))), "")


def _rebuilt(like, values):
    """A tuple, named tuple or list of the kind of `like`."""
    return type(like)(*values) if hasattr(like, "_fields") else type(like)(values)


def _build(tree, tensors):
    if isinstance(tree, _Place):
        return tensors[tree.number]
    if isinstance(tree, dict):
        return {key: _build(each, tensors) for key, each in tree.items()}
    if isinstance(tree, (tuple, list)):
        return _rebuilt(tree, [_build(each, tensors) for each in tree])
    return tree


def _name(tree):
    return "a tensor" if isinstance(tree, _Place) else f"a {type(tree).__name__}" if _holds(tree) else repr(tree)


def _holds(tree):
    return isinstance(tree, (dict, tuple, list))


def _difference(here, there, place):
    if isinstance(here, _Place) and isinstance(there, _Place):
        return ""
    if _holds(here) and type(here) is type(there):
        if isinstance(here, dict) and list(here) != list(there):
            return f"{place} had the keys {list(here)} and now has {list(there)}"
        if len(here) != len(there):
            return f"{place} had {len(here)} members and now has {len(there)}"
        pairs = [(here[key], there[key]) for key in here] if isinstance(here, dict) else zip(here, there)
        return next((text for old, new in pairs if (text := _difference(old, new, place))), "")
    if type(here) is type(there) and not _holds(here) and here == there:
        return ""
    return f"{place} was {_name(here)} and now is {_name(there)}"
