"""Turns a traced graph with in-place operators and views into one that only computes new values.

PyTorch's exporter drops most writes through views. A write such as `x[0].add_(1)` becomes three steps here: read the row,
add, and put the result back into a new value of `x`. Every later use of `x` or of another view of it reads that value.

Views are not known by name. Each operator whose schema may return a view runs once on an example with the same strides. A
second run on the numbers of all elements says which element of the viewed tensor each element of the view is.
"""

import torch

from .errors import Error

#: In-place operators that change only how a tensor views its storage.
_VIEWS_IN_PLACE = {f"aten::{name}_" for name in (
    "as_strided detach squeeze swapaxes swapdims t transpose unsqueeze").split()}
#: Their results are truth values, which the written tensor keeps in its own type.
_COMPARISONS = {f"aten::{name}" for name in (
    "eq ge greater greater_equal gt le less less_equal lt ne not_equal logical_and logical_not logical_or logical_xor").split()}
#: A value that was computed anew may lie in memory in another way, where view() would fail.
_RESHAPES = {"aten::view": "aten::reshape"}
_TYPES = {"Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64,
          "Half": torch.float16, "Float": torch.float32, "Double": torch.float64, "Bool": torch.bool,
          "BFloat16": torch.bfloat16}
_NUMBERS = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5,
            torch.float32: 6, torch.float64: 7, torch.bool: 11, torch.bfloat16: 15}


class _Unknown(Exception):
    """An argument is computed, so its value is not known while tracing."""


def _is_tensor(value):
    return isinstance(value.type(), torch._C.TensorType)


def type_of(value):
    """Return the type of the elements of a traced tensor, or None."""
    return _TYPES.get(value.type().scalarType()) if _is_tensor(value) else None


def _example(value):
    """Return a tensor with the shape, strides and type of a traced one, without values."""
    sizes, strides = value.type().sizes(), value.type().strides()
    if sizes is None:
        raise _Unknown
    kind = type_of(value) or torch.float32
    return torch.empty(sizes, dtype=kind) if strides is None else torch.empty_strided(sizes, strides, dtype=kind)


def known(value):
    """Return the plain value of an argument: a constant, or computed from constants and shapes."""
    node = value.node()
    kind = node.kind()
    if kind == "prim::Constant":
        return value.toIValue()
    if kind in ("prim::ListConstruct", "prim::TupleConstruct"):
        return [known(each) for each in node.inputs()]
    if kind == "aten::size":
        sizes = node.inputsAt(0).type().sizes()
        if sizes is None:
            raise _Unknown
        return list(sizes) if node.inputsSize() == 1 else sizes[known(node.inputsAt(1))]
    if kind == "prim::NumToTensor":
        return torch.tensor(known(node.inputsAt(0)))
    if kind in ("aten::Int", "aten::IntImplicit", "aten::ScalarImplicit", "aten::Float", "aten::FloatImplicit"):
        return known(node.inputsAt(0)).item()
    if not kind.startswith("aten::") or node.outputsSize() != 1 or kind.endswith("_"):
        raise _Unknown
    return _run(node, [known(each) for each in node.inputs()])


def _run(node, values):
    """Run an operator on values in the order of its schema."""
    operator = getattr(torch.ops.aten, _RESHAPES.get(node.kind(), node.kind())[len("aten::") :].rstrip("_"))
    names = torch._C.parse_schema(node.schema()).arguments
    positional = [value for value, each in zip(values, names) if not each.kwarg_only]
    return operator(*positional, **{each.name: value for value, each in zip(values, names) if each.kwarg_only})


class _Storage:
    """The memory that a tensor and its views share: the value that it has now, and how often it was written."""

    def __init__(self, value):
        self.value, self.version = value, 0


class _View:
    """A tensor on a storage: all of it, or a view of `parent` made by `node` (as one of several results: number `index`)."""

    def __init__(self, storage, parent=None, node=None, index=None):
        self.storage, self.parent, self.node, self.index = storage, parent, node, index
        self.value, self.version = None, -1  # the last value that was read, and the version that it belongs to
        self.like = None  # a traced value with its shape and type

    def keep(self, value):
        self.value, self.version = value, self.storage.version


class _Places:
    """The elements of a tensor that a view has, in its order. Shapes and order decide how to read and write them."""

    def __init__(self, view, shape):
        self.shape, self.count = list(shape), 1
        for size in shape:
            self.count *= size
        numbers = torch.arange(self.count).reshape(shape)
        if view.node.kind() == "aten::as_strided":  # counts in memory
            numbers = _example(view.parent.like).to(torch.int64).copy_(numbers)
        inputs = [numbers if each.unique() == view.parent_input else known(each) for each in view.node.inputs()]
        found = _run(view.node, inputs)
        self.numbers = found if view.index is None else found[view.index]
        self.is_whole = self.numbers.numel() == self.count and torch.equal(self.numbers.flatten(), torch.arange(self.count))

    def order(self):
        """Return the axes of the view that, in this order, give the tensor; None: it is no reordering of axes."""
        if self.numbers.numel() != self.count:
            return None
        order = sorted(range(self.numbers.dim()), key=lambda axis: (-self.numbers.stride(axis), axis))
        turned = self.numbers.permute(order) if order else self.numbers
        return order if torch.equal(turned.flatten(), torch.arange(self.count)) else None

    def stretch(self):
        """Return (axis, first, end) if the view is a stretch of one axis in the order of the tensor."""
        mask = torch.zeros(self.count, dtype=torch.bool)
        mask[self.numbers.flatten()] = True
        mask = mask.reshape(self.shape)
        for axis in range(len(self.shape)):
            rows = mask.movedim(axis, 0).reshape(self.shape[axis], -1)
            kept = rows.all(1).nonzero().flatten()
            if len(kept) == 0 or int(mask.sum()) != len(kept) * rows.shape[1]:
                continue
            first, end = int(kept[0]), int(kept[-1]) + 1
            part = torch.arange(self.count).reshape(self.shape).narrow(axis, first, end - first)
            if len(kept) == end - first and torch.equal(part.flatten(), self.numbers.flatten()):
                return axis, first, end
        return None


class Editor:
    """Inserts operators in front of a node, with its place in the user's code and its scope."""

    def __init__(self, graph, node):
        self._graph, self._node = graph, node

    def constant(self, value):
        self._graph.setInsertPoint(self._node)
        made = self._graph.insertConstant(value)
        made.node().copyMetadata(self._node)
        return made

    def op(self, kind, arguments, like, sizes=None, dtype=None):
        """Insert an operator. Its result has the type of the value `like`, or other sizes, or another type of elements."""
        values = [each if isinstance(each, torch._C.Value) else self.constant(each) for each in arguments]
        return self._insert(self._graph.create(kind, values, 1), like, sizes, dtype)

    def listed(self, values):
        node = self._graph.create("prim::ListConstruct", values, 1)
        node.insertBefore(self._node)
        node.copyMetadata(self._node)
        node.output().setType(torch._C.ListType(torch._C.TensorType.get()))
        return node.output()

    def clone(self, node, value):
        """Insert a copy of an operator that views another value."""
        if node.kind() in _RESHAPES:
            return self.op(_RESHAPES[node.kind()], [value, *list(node.inputs())[1:]], node.output())
        copy = self._graph.createClone(node, lambda each: value if each.unique() == node.inputsAt(0).unique() else each)
        return self._insert(copy, node.output())

    def _insert(self, node, like, sizes=None, dtype=None):
        node.insertBefore(self._node)
        node.copyMetadata(self._node)
        node.output().setType(like.type())
        if sizes is not None or dtype is not None or like.type().sizes() is None:
            shape = like.type().sizes() if sizes is None else sizes
            if shape is not None:
                node.output().inferTypeFrom(torch.empty(shape, dtype=dtype or type_of(like) or torch.float32))
        return node.output()

    def reshaped(self, value, sizes, like):
        if value.type().sizes() == list(sizes):
            return value
        return self.op("aten::reshape", [value, list(sizes)], like, list(sizes))

    def cast(self, value, dtype):
        if type_of(value) in (dtype, None) or dtype is None:
            return value
        return self.op("aten::to", [value, _NUMBERS[dtype], False, False, None], value, None, dtype)


def _shape(value):
    sizes = value.type().sizes()
    if sizes is None:
        raise _Unknown
    return list(sizes)


class _Pass:
    def __init__(self, graph):
        self._graph = graph
        self._views = {}  # keyed by number of a traced value

    def run(self):
        for node in list(self._graph.nodes()):
            self._refresh(node)
            kind = node.kind()
            if kind == "prim::ListUnpack":
                self._unpack(node)
            elif kind in _VIEWS_IN_PLACE:
                self._become_view(node)
            elif kind.startswith("aten::") and "!)" in node.schema():
                self._write(node)
            elif kind.startswith("aten::") and "(a)" in node.schema() and node.outputsSize() == 1:
                self._add_view(node)
        self._refresh(self._graph.return_node())

    # --- views ---------------------------------------------------------------------------------------------
    def _view_of(self, value):
        """Return the view that a traced value is; a value that is new is the whole of a storage."""
        if value.unique() not in self._views:
            view = _View(_Storage(value))
            view.like = value
            view.keep(value)
            self._views[value.unique()] = view
        return self._views[value.unique()]

    def _add_view(self, node, index=None, output=None):
        output = output or node.output()
        source = node.inputsAt(0)
        if not _is_tensor(source) or not _is_tensor(output):
            return
        try:
            example = _example(source)
            values = [example if each.unique() == source.unique() else known(each) for each in node.inputs()]
            made = _run(node, values)
            made = made if index is None else made[index]
        except (_Unknown, RuntimeError):
            return  # an operator whose arguments are computed, such as a type, makes no view
        if made.storage().data_ptr() != example.storage().data_ptr() or made.numel() == 0:
            return
        parent = self._original(source)
        view = _View(parent.storage, parent, node, index)
        view.parent_input, view.like = source.unique(), output
        view.keep(output)
        self._views[output.unique()] = view

    def _original(self, source):
        """The view that the input of a node was before it was refreshed."""
        return self._refreshed.get(source.unique()) or self._view_of(source)

    def _unpack(self, node):
        maker = node.inputsAt(0).node()
        if maker.kind().startswith("aten::") and "(a" in maker.schema():
            self._refreshed = self._refreshed_by.get(maker.output().unique(), {})
            for index, output in enumerate(node.outputs()):
                self._add_view(maker, index, output)

    def _become_view(self, node):
        """Replace an operator such as unsqueeze_ by one that makes a view."""
        kind = node.kind()[:-1]
        made = self._graph.create(kind, list(node.inputs()), 1)
        made.insertBefore(node)
        made.copyMetadata(node)
        made.output().setType(node.output().type())
        node.output().replaceAllUsesWith(made.output())
        node.destroy()
        self._add_view(made)

    # --- reading -------------------------------------------------------------------------------------------
    _refreshed_by = None

    def _refresh(self, node):
        """Let a node read values that are not out of date."""
        self._refreshed = {}
        for number, value in enumerate(list(node.inputs())):
            view = self._views.get(value.unique())
            if view is None:
                continue
            new = self._read(view, Editor(self._graph, node))
            if new.unique() != value.unique():
                node.replaceInput(number, new)
            self._refreshed[new.unique()] = view
        if self._refreshed_by is None:
            self._refreshed_by = {}
        if node.outputsSize() == 1 and self._refreshed:
            self._refreshed_by[node.output().unique()] = self._refreshed

    def _read(self, view, editor):
        if view.version == view.storage.version:
            return view.value
        if view.parent is None:
            view.keep(view.storage.value)
            return view.value
        source = self._read(view.parent, editor)
        view.keep(self.viewed(view, source, editor))
        return view.value

    def viewed(self, view, source, editor):
        if view.index is None and view.node.kind() != "aten::as_strided":
            return editor.clone(view.node, source)
        places, sizes = _Places(view, _shape(source)), _shape(view.like)
        if places.is_whole:
            return editor.reshaped(source, sizes, view.like)
        if stretch := places.stretch():
            axis, first, end = stretch
            part = [end - first if number == axis else size for number, size in enumerate(places.shape)]
            return editor.reshaped(editor.op("aten::slice", [source, axis, first, end, 1], source, part), sizes, view.like)
        flat = editor.reshaped(source, [places.count], source)
        chosen = editor.op("aten::index_select", [flat, 0, places.numbers.flatten()], source, [places.numbers.numel()])
        return editor.reshaped(chosen, sizes, view.like)

    # --- writing -------------------------------------------------------------------------------------------
    def _write(self, node):
        output, editor = node.output(), Editor(self._graph, node)
        written = node.inputsAt(0)
        view = self._original(written)
        value = self._new_value(node, editor)
        self._store(view, value, editor)
        output.replaceAllUsesWith(value)
        self._views[value.unique()] = view
        node.destroy()

    def _new_value(self, node, editor):
        kind, values = node.kind(), list(node.inputs())
        written = values[0]
        dtype, sizes = type_of(written), written.type().sizes()
        if kind in ("aten::copy_", "aten::fill_") and _is_tensor(values[1]):
            source = editor.cast(values[1], dtype)
            if source.type().sizes() != sizes:
                return editor.op("aten::expand", [source, list(sizes), False], written, list(sizes))
            return editor.op("aten::clone", [source, None], written)  # the source may be written later
        if kind == "aten::fill_":
            return editor.op("aten::full_like", [written, values[1], None, None, None, None, None], written)
        if kind == "aten::zero_":
            return editor.op("aten::zeros_like", [written, None, None, None, None, None], written)
        name = kind[len("aten::") :]
        functional = "aten::__" + name[3:] if name.startswith("__i") else kind[:-1]
        if not name.endswith("_") or not torch._C._jit_get_schemas_for_operator(functional):
            place = node.sourceRange().strip().splitlines()
            raise Error(f"The model calls {name}, which writes into a tensor in a way that cannot be computed as a new value"
                        f"{f' at {place[0]}' if place else ''}: compute a new tensor instead.")
        others = {type_of(each) for each in values[1:] if _is_tensor(each)} - {dtype, None}
        made = torch.bool if functional in _COMPARISONS else None
        if made is None and others and dtype is not None:
            for other in others:
                dtype_made = torch.promote_types(made or dtype, other)
                made = dtype_made if dtype_made != dtype else made
        made_value = editor.op(functional, values, node.output(), None, made)
        return editor.cast(made_value, dtype) if made not in (None, dtype) else made_value

    def _store(self, view, value, editor):
        """Make `value` what the view shows. All other views of the storage are out of date after it."""
        if view.parent is None:
            view.storage.value, view.storage.version = value, view.storage.version + 1
            view.keep(value)
            return
        source = self._read(view.parent, editor)
        self._store(view.parent, self._put(view, source, value, editor), editor)
        view.keep(value)

    @staticmethod
    def _put(view, source, value, editor):
        """Return `source` with `value` in place of the elements of the view."""
        shape = _shape(source)
        places = _Places(view, shape)
        if places.is_whole:
            return editor.reshaped(value, shape, source)
        order = places.order()
        if order is not None:
            turned = [_shape(value)[axis] for axis in order]
            return editor.reshaped(editor.op("aten::permute", [value, order], source, turned), shape, source)
        stretch = places.stretch()
        if stretch is not None:
            return _Pass._joined(stretch, source, value, editor)
        flat, count = editor.reshaped(source, [places.count], source), places.numbers.numel()
        new = editor.op("aten::scatter", [flat, 0, places.numbers.flatten().clone(), editor.reshaped(value, [count], source)],
                        source, [places.count])
        return editor.reshaped(new, shape, source)

    @staticmethod
    def _joined(stretch, source, value, editor):
        (axis, first, end), shape = stretch, _shape(source)

        def sized(length):
            return [length if number == axis else size for number, size in enumerate(shape)]

        parts = []
        if first > 0:
            parts.append(editor.op("aten::slice", [source, axis, 0, first, 1], source, sized(first)))
        parts.append(editor.reshaped(value, sized(end - first), source))
        if end < shape[axis]:
            parts.append(editor.op("aten::slice", [source, axis, end, shape[axis], 1], source, sized(shape[axis] - end)))
        if len(parts) == 1:
            return parts[0]
        return editor.op("aten::cat", [editor.listed(parts), axis], source, shape)


#: Operators that return a list of views in parts that need not be alike, for which ONNX has no operator.
_LISTS = {f"aten::{name}" for name in "chunk dsplit hsplit tensor_split unsafe_chunk vsplit".split()}


def _slice_lists(graph):
    """Replace the parts that such operators return by slices."""
    work = _Pass(graph)
    for node in list(graph.nodes()):
        if node.kind() != "prim::ListUnpack" or node.inputsAt(0).node().kind() not in _LISTS:
            continue
        maker, editor = node.inputsAt(0).node(), Editor(graph, node)
        for index, output in enumerate(node.outputs()):
            view = _View(None, None, maker, index)
            view.parent_input, view.like = maker.inputsAt(0).unique(), output
            output.replaceAllUsesWith(work.viewed(view, maker.inputsAt(0), editor))


def functionalise(graph):
    """Change the traced graph so that no operator writes into a tensor. Raises Error for what it cannot express."""
    nodes = list(graph.nodes())
    try:
        if any(node.kind().startswith("aten::") and "!)" in node.schema() for node in nodes):
            _Pass(graph).run()
        _slice_lists(graph)
    except _Unknown:
        raise Error("The model writes through a view whose place depends on values that are computed: use torch.where or "
                    "scatter instead.") from None
