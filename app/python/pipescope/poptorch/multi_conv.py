"""Multi-convolutions: convolutions that run side by side on shares of an IPU's tiles.

While a model is traced, each multi-convolution is a scope around its operators, so that the names of ONNX nodes hold
its number: "/multi_conv@group0/conv1/Conv".
"""

import re

import torch

from .blocks import Annotations, _close_scope
from .enums import MultiConvPartialsType, MultiConvPlanType
from .errors import Error, caller_line
from .log import note_once

_SCOPE = re.compile(r"multi_conv@group(\d+)(?:_\d+)?/")


def assign_convolutions(nodes, annotations):
    """Return the names of the convolutions of each parallel multi-convolution. `nodes` are (operator, name)."""
    groups = [[] for _ in annotations.multi_convs]
    for operator, name in nodes:
        found = _SCOPE.search(name)
        if found and operator == "Conv":
            groups[int(found.group(1))].append(name)
    for names, (line, _) in zip(groups, annotations.multi_convs):
        if not names:
            raise Error(f"The MultiConv at {line} holds no convolution (Unexpected end_multi_conv): leave it out.")
    return [names for names, (_, plan) in zip(groups, annotations.multi_convs) if plan == MultiConvPlanType.Parallel]


def _listed(value):
    return value if isinstance(value, (list, tuple)) else [value]


class MultiConv:
    """A scope: the convolutions that are made inside run side by side, and so do their gradients.

    They must not depend on each other. What else is made inside runs as it does outside. Results are the same bits.
    """

    def __init__(self):
        self._plan, self._pushed = MultiConvPlanType.Parallel, False

    def planType(self, value):
        """Choose how the convolutions run: MultiConvPlanType.Parallel, or Serial for one after another."""
        if value is not None and not isinstance(value, MultiConvPlanType):
            raise AssertionError("Invalid plan type!")
        self._plan = MultiConvPlanType.Parallel if value is None else value
        return self

    def enableConvDithering(self, value):
        """Accept the choice. True lets convolutions begin on other tiles of real IPUs."""
        values = value if isinstance(value, (list, tuple)) else [value]
        if not all(each is None or isinstance(each, bool) for each in values):
            raise ValueError("value must be bool or list of bools")
        if any(values):
            self._without_effect("enableConvDithering", "each convolution begins where its share of the tiles does")
        return self

    def availableMemoryProportions(self, value):
        """Accept shares of memory for temporaries, which hold for whole IPUs: a line of the log says so."""
        for each in _listed(value):
            if not isinstance(each, (int, float)):
                raise ValueError("value must be float or list of floats")
        return self._without_effect("availableMemoryProportions", "Options.setAvailableMemoryProportion holds for a whole IPU")

    def partialsTypes(self, value):
        """Accept types of partial sums, which hold for whole models: a line of the log says so."""
        for each in _listed(value):
            if each not in (torch.float32, torch.float16) and not isinstance(each, MultiConvPartialsType):
                raise ValueError("Invalid partials types. Expecting torch.float or torch.half")
        return self._without_effect("partialsTypes", "Options.Precision.setPartialsType holds for the whole model")

    def perConvReservedTiles(self, value):
        """Accept a number of tiles: they are divided in proportion to the multiply-adds of the convolutions."""
        assert isinstance(value, int)
        return self._without_effect("perConvReservedTiles", "the tiles are divided by the multiply-adds of the convolutions")

    def cycleBackOff(self, value):
        """Accept a share of cycles, for the same reason without effect."""
        assert isinstance(value, float)
        return self._without_effect("cycleBackOff", "the tiles are divided by the multiply-adds of the convolutions")

    def _without_effect(self, name, why):
        note_once(f"MultiConv.{name} has no effect on emulated IPUs: {why}.")
        return self

    def __enter__(self):
        annotations, state = Annotations.current, torch._C._get_tracing_state()
        if annotations is None or state is None:
            return self
        if annotations.in_multi_conv:
            raise Error(
                f"A MultiConv is opened within another one at {caller_line()} (Nested poptorch.MultiConv is not "
                "supported): close the outer one first."
            )
        state.push_scope(f"MultiConv::multi_conv@group{len(annotations.multi_convs)}")
        annotations.multi_convs.append((caller_line(), self._plan))
        annotations.in_multi_conv = self._pushed = True
        return self

    def __exit__(self, *failure):
        if self._pushed:
            _close_scope()
            Annotations.current.in_multi_conv = self._pushed = False
