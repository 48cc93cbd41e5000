"""Nested arguments and results: tuples, lists and dictionaries of tensors, None and plain values."""

import collections

import torch

from .errors import Error

_PLAIN = (type(None), bool, int, float, str)


class ICustomArgParser:
    """Says which tensors an object of a type of the user's holds: derive a class, and pass it to registerCustomArgParser."""

    def yieldTensors(self, struct):
        """Yield the tensors of an object, always in the same order."""
        raise NotImplementedError("yieldTensors")

    def reconstruct(self, original_structure, tensor_iterator):
        """Return an object like the original one, with the next tensors of the iterator in place of its own."""
        raise NotImplementedError("reconstruct")


_parsers = {}


def registerCustomArgParser(python_type, parser):
    """Let models and data loaders take and return objects of this type."""
    if not isinstance(parser, ICustomArgParser):
        raise TypeError(f"registerCustomArgParser takes an object of a class derived from ICustomArgParser, not "
                        f"{type(parser).__name__}.")
    _parsers[python_type] = parser


def parser_of(value):
    """Return the parser of an object, or None."""
    return next((_parsers[kind] for kind in type(value).__mro__ if kind in _parsers), None)


class _Custom:
    """Stands for an object of a registered type, whose tensors have these places."""

    def __init__(self, parser, like, places):
        self.parser, self.like, self.places = parser, like, places

    def build(self, tensors):
        return self.parser.reconstruct(self.like, iter([tensors[place.number] for place in self.places]))


class _Place:
    """Stands for the tensor with this number."""

    def __init__(self, number):
        self.number = number


class Structure:
    """The nesting of tensors. Values that are no tensors are constants of the traced model."""

    def __init__(self, values):
        self.tensors = []  # tensors in order; they are given back to the caller, and released by release()
        self._tree = self._take(values)

    def _take(self, value):
        if isinstance(value, torch.Tensor):
            self.tensors.append(value)
            return _Place(len(self.tensors) - 1)
        if parser := parser_of(value):
            return _Custom(parser, value, [self._take(each) for each in parser.yieldTensors(value)])
        if isinstance(value, dict):
            # The order of the keys does not matter, so that it does not decide about the order of the tensors.
            taken = {key: self._take(value[key]) for key in sorted(value, key=str)}
            return _rebuilt_dict(value, {key: taken[key] for key in value})
        if isinstance(value, (tuple, list)):
            return _rebuilt(value, [self._take(each) for each in value])
        if isinstance(value, _PLAIN):
            return value
        raise Error(
            f"Models take and return tensors, tuples, lists and dictionaries of them, not {type(value).__name__}. Register "
            "a parser for it with registerCustomArgParser."
        )

    @staticmethod
    def holds_tensor(value):
        """Return True for a tensor, and for nested values that begin with one."""
        if isinstance(value, dict):
            return Structure.holds_tensor(next(iter(value.values()), None))
        if isinstance(value, (tuple, list)):
            return bool(value) and Structure.holds_tensor(value[0])
        return isinstance(value, torch.Tensor) or parser_of(value) is not None

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


def _rebuilt_dict(like, values):
    """A dictionary of the kind of `like`, such as an OrderedDict."""
    if type(like) is dict:
        return values
    made = type(like)() if isinstance(like, collections.OrderedDict) else type(like).__new__(type(like))
    made.update(values)
    return made


def _rebuilt(like, values):
    """A tuple, named tuple or list of the kind of `like`."""
    return type(like)(*values) if hasattr(like, "_fields") else type(like)(values)


def _build(tree, tensors):
    if isinstance(tree, _Place):
        return tensors[tree.number]
    if isinstance(tree, _Custom):
        return tree.build(tensors)
    if isinstance(tree, dict):
        return _rebuilt_dict(tree, {key: _build(each, tensors) for key, each in tree.items()})
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
    if isinstance(here, _Custom) and isinstance(there, _Custom) and type(here.like) is type(there.like):
        return "" if len(here.places) == len(there.places) else f"{place} holds another number of tensors"
    if _holds(here) and type(here) is type(there):
        if isinstance(here, dict) and set(here) != set(there):
            return f"{place} had the keys {list(here)} and now has {list(there)}"
        if len(here) != len(there):
            return f"{place} had {len(here)} members and now has {len(there)}"
        pairs = [(here[key], there[key]) for key in here] if isinstance(here, dict) else zip(here, there)
        return next((text for old, new in pairs if (text := _difference(old, new, place))), "")
    if type(here) is type(there) and not _holds(here) and here == there:
        return ""
    return f"{place} was {_name(here)} and now is {_name(there)}"
