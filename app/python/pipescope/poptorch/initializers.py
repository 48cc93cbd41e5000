"""Weights of an ONNX model, which go into its bytes without a detour through PyTorch's exporter.

A message of Protocol Buffers that is given twice is merged, so a second graph that only holds tensors adds them.
"""

import torch

#: ONNX's numbers of the types of elements.
_TYPES = {torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int16: 5, torch.int32: 6, torch.int64: 7, torch.bool: 9,
          torch.float16: 10, torch.float64: 11}


def varint(number):
    """Return a number as Protocol Buffers write it."""
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes(parts) + bytes([number])


def field(tag, content):
    """Return a field of bytes as a list of its parts."""
    parts = content if isinstance(content, list) else [content]
    return [tag + varint(sum(len(part) for part in parts)), *parts]


def _initializer(name, tensor):
    sizes = list(tensor.shape)
    values = memoryview(tensor.detach().contiguous().numpy()).cast("B") if tensor.numel() else b""
    head = b"".join(b"\x08" + varint(size) for size in sizes) + b"\x10" + varint(_TYPES[tensor.dtype])  # dims, data_type
    return field(b"\x2a", [head, *field(b"\x42", name.encode()), *field(b"\x4a", values)])  # name, raw_data


def with_initializers(onnx, tensors):
    """Return the bytes of an ONNX model with these tensors, {name: tensor}, as the values of its inputs of these names."""
    graph = [part for name, tensor in tensors.items() for part in _initializer(name, tensor)]
    return b"".join([onnx, *field(b"\x3a", graph)]) if tensors else onnx


class KeptInitializers:
    """While it is entered, PyTorch's exporter leaves the weights in `tensors`; it must be told not to export them.

    It also does not infer the shapes of the whole model again, which the trace knows and Pipescope infers itself.
    """

    def __enter__(self):
        self.tensors = {}
        self._passes = torch._C._jit_pass_onnx_deduplicate_initializers, torch._C._jit_pass_onnx_graph_shape_type_inference
        torch._C._jit_pass_onnx_deduplicate_initializers = self._keep
        torch._C._jit_pass_onnx_graph_shape_type_inference = lambda *arguments: None
        return self

    def __exit__(self, *failure):
        torch._C._jit_pass_onnx_deduplicate_initializers, torch._C._jit_pass_onnx_graph_shape_type_inference = self._passes

    def _keep(self, graph, tensors, training):
        self.tensors = self._passes[0](graph, tensors, training)
        return self.tensors
