"""Sizes of tensors, and numbers that follow from them. They do not change between calls, so the devices get constants.

While PyTorch traces, a size is a tensor without axes, and the traced graph computes what follows from it. Many functions, such as
max_pool1d(x, x.size(2)), take no tensor there.
"""

import os

import torch

#: Functions of sizes, which PyTorch records as those of whole numbers or of tensors without axes.
_OF_SIZES = {
    "prim::NumToTensor": lambda size: size, "aten::Int": lambda size: size, "aten::neg": lambda size: -size,
    "aten::add": lambda size, other, factor=1: size + factor * other, "aten::sub": lambda size, other, factor=1: size - factor * other,
    "aten::mul": lambda size, other: size * other, "aten::floor_divide": lambda size, other: size // other,
    "aten::remainder": lambda size, other: size % other,
}


def _whole_number(value):
    """Return the number that a value of the graph always is, or None."""
    made = value.node().kind() == "prim::Constant" and value.toIValue()
    if isinstance(made, torch.Tensor) and made.dim() == 0 and made.dtype == torch.int64:
        return made.item()
    return made if type(made) is int else None


def fold_sizes(graph):
    """Make constants of the sizes in a traced graph and of what is computed from them: some operators take no others."""
    for node in list(graph.nodes()):
        if node.kind() == "aten::size" and node.inputsSize() == 2:
            sizes, place = node.inputsAt(0).type().sizes(), _whole_number(node.inputsAt(1))
            result = None if sizes is None or place is None else sizes[place]
        elif node.kind() in _OF_SIZES:
            numbers = [_whole_number(each) for each in node.inputs()]
            if None in numbers or node.kind() in ("aten::floor_divide", "aten::remainder") and numbers[1] == 0:
                continue
            result = _OF_SIZES[node.kind()](*numbers)
        else:
            continue
        if result is None:
            continue
        graph.setInsertPoint(node)
        made = graph.insertConstant(torch.tensor(result) if node.output().type().kind() == "TensorType" else result)
        made.node().copyMetadata(node)
        node.output().replaceAllUsesWith(made)


_SIZES = {torch.Tensor.size, torch.Tensor.shape.__get__, torch.Tensor.numel, torch.Tensor.nelement, torch.Tensor.__len__}
_TORCH = os.path.dirname(torch.__file__) + os.sep


def asks_for_size(function, caller):
    """Return True if a frame of a program asks for the size of a tensor. It gets numbers, as it does without a trace.

    PyTorch's own functions get what PyTorch records: some of them expect tensors while it traces.
    """
    return function in _SIZES and not caller.f_code.co_filename.startswith(_TORCH)
