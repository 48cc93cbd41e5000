"""ONNX forms of operators that PyTorch's exporter lacks, by the name of the operator in a traced graph."""

import torch
from torch.onnx import symbolic_helper as helper

from ..functional_graph import type_of


def _unary(name):
    def symbol(graph, x):
        return graph.op(name, x).setType(x.type())

    return symbol


def _as_bool(graph, x):
    return x if type_of(x) == torch.bool else graph.op("Cast", x, to_i=9).setType(x.type().with_dtype(torch.bool))


def _logical_not(graph, x):
    return graph.op("Not", _as_bool(graph, x)).setType(x.type().with_dtype(torch.bool))


def _logical(name):
    def symbol(graph, x, y):
        made = graph.op(name, _as_bool(graph, x), _as_bool(graph, y))
        return made.setType(x.type().with_dtype(torch.bool).with_sizes(None))

    return symbol


def _isfinite(graph, x):
    kind = x.type().with_dtype(torch.bool)
    if type_of(x) not in (torch.float16, torch.float32):
        return graph.op("Equal", x, x).setType(kind)
    infinite = graph.op("IsInf", x).setType(kind)
    return graph.op("Not", graph.op("Or", infinite, graph.op("IsNaN", x).setType(kind)).setType(kind)).setType(kind)


def _bitwise(name, logical):
    """Truth values have ONNX's operators; whole numbers have those of Pipescope."""

    def symbol(graph, x, y):
        x, y = _promoted(graph, x, y)
        made = graph.op(logical if type_of(x) == torch.bool else f"pipescope::{name}", x, y)
        return made.setType(x.type().with_sizes(None))

    return symbol


def _promoted(graph, x, y):
    """Bring two operands to one type, as PyTorch does: a number without axes takes the type of the other."""
    kinds = [type_of(x), type_of(y)]
    if None in kinds:
        kinds = [kind for kind in kinds if kind is not None] * 2
    ranks = [helper._get_tensor_rank(each) for each in (x, y)]
    if ranks[0] == 0 and ranks[1] != 0:
        kind = kinds[1]
    elif ranks[1] == 0 and ranks[0] != 0:
        kind = kinds[0]
    else:
        kind = torch.promote_types(*kinds)
    numbers = {torch.bool: 9, torch.uint8: 2, torch.int8: 3, torch.int16: 5, torch.int32: 6, torch.int64: 7}

    def cast(value):
        if type_of(value) == kind:
            return value
        return graph.op("Cast", value, to_i=numbers[kind]).setType(value.type().with_dtype(kind))

    return cast(x), cast(y)


def _bitwise_not(graph, x):
    if type_of(x) == torch.bool:
        return graph.op("Not", x).setType(x.type())
    return graph.op("pipescope::BitwiseNot", x).setType(x.type())


def _ravel(graph, x):
    return graph.op("Reshape", x, graph.op("Constant", value_t=torch.tensor([-1])))


@helper.parse_args("v", "i", "v", "v")
def _scatter_add(graph, x, dim, index, source):
    # The exporter's own form wants to know shapes, which it forgets behind operators of Pipescope.
    return graph.op("ScatterElements", x, index, source, axis_i=dim, reduction_s="add").setType(x.type())


SYMBOLS = {
    "aten::scatter_add": _scatter_add,
    "aten::ravel": _ravel,
    **{f"aten::{name}": _unary(name.capitalize()) for name in ("sinh", "cosh", "asinh", "acosh", "atanh")},
    "aten::logical_not": _logical_not,
    "aten::logical_and": _logical("And"),
    "aten::logical_or": _logical("Or"),
    "aten::logical_xor": _logical("Xor"),
    "aten::isfinite": _isfinite,
    "aten::bitwise_not": _bitwise_not,
    **{f"aten::{form}": _bitwise(name, logical) for name, logical, forms in (
        ("BitwiseAnd", "And", ("bitwise_and", "__and_")), ("BitwiseOr", "Or", ("bitwise_or", "__or_")),
        ("BitwiseXor", "Xor", ("bitwise_xor", "__xor_"))) for form in forms},
}
