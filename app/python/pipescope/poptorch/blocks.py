"""Blocks: which part of a model an operator belongs to.

While a model is traced, each block is a scope around its operators, so that the names of ONNX nodes hold their block
and its number: "/model/B1@0/layer1/conv/Conv". A block that lasts until the next one begins cannot be one scope,
because scopes of modules end in between. Its scope, "B1@from0", stands around every module that is entered while it
lasts, and the order of the nodes decides about operators between these modules.
"""

import functools
import re

import torch

from .errors import Error, caller_line

# Torch appends "_1" to the name of a scope that is opened a second time.
_SCOPE = re.compile(r"@(from|)(\d+)(?:_\d+)?(?:/|$)")


def _open_scope(block, mark):
    name = re.sub(r"[^\w.-]", "_", block)
    _tracing().push_scope(f"Block::{name}@{mark}")


def _tracing():
    return torch._C._get_tracing_state()


def _close_scope():
    """Close the innermost scope. An error has ended the tracing already."""
    if _tracing() is not None:
        _tracing().pop_scope()


class Annotations:
    """The blocks that one tracing of a model meets, in program order. Use it in a with statement."""

    current = None  # set while a model is traced

    def __init__(self):
        self.ids = []  # block ids in the order of their first use
        self.ipus = {}  # block id -> IPU, or None
        self.origins = {}  # block id -> id that the user gave; they differ where a block is on several IPUs
        self.begun = []  # the numbers of the blocks that begin without an end
        self.is_open = False  # true within a Block
        self.multi_convs = []  # line of the user's code for each MultiConv, and how its convolutions run
        self.in_multi_conv = False
        self._automatic = 0
        self._scopes = []  # number of scopes to close behind each module that is running
        self._hooks = []

    def __enter__(self):
        Annotations.current = self
        module = torch.nn.modules.module
        self._hooks = [
            module.register_module_forward_pre_hook(self._before_module),
            module.register_module_forward_hook(self._after_module),
        ]
        return self

    def __exit__(self, *failure):
        Annotations.current = None
        for hook in self._hooks:
            hook.remove()

    def _before_module(self, module, inputs):
        self._scopes.append(0)
        if self.begun and _tracing() is not None:
            self._open_begun()

    def _after_module(self, module, inputs, outputs):
        for _ in range(self._scopes.pop()):
            _close_scope()

    def _open_begun(self):
        _open_scope(self.ids[self.begun[-1]], f"from{len(self.begun) - 1}")
        self._scopes[-1] += 1

    def begin(self, user_id, ipu_id):
        """Begin a block that lasts until the next one begins."""
        if _tracing() is not None:
            self.begun.append(self.number(user_id, ipu_id))
            self._open_begun()

    def number(self, user_id, ipu_id):
        """Return the number of a block, which is new or has been met before."""
        if user_id is None and not Block._automatic:
            user_id = f"ipu{ipu_id}"
        elif user_id is None:
            user_id = str(self._automatic)
            self._automatic += 1
        user_id = str(user_id)
        if user_id not in self.ipus:
            self.ids.append(user_id)
            self.ipus[user_id] = ipu_id
            self.origins[user_id] = user_id
        elif ipu_id is not None and self.ipus[user_id] not in (None, ipu_id):
            return self._part_on(user_id, ipu_id)
        elif ipu_id is not None:
            self.ipus[user_id] = ipu_id
        return self.ids.index(user_id)

    def _part_on(self, user_id, ipu_id):
        """Return the number of the part of a block that is on another IPU than the block was first."""
        part = f"{user_id} on IPU {ipu_id}"
        if part not in self.ipus:
            self.ids.append(part)
            self.ipus[part], self.origins[part] = ipu_id, user_id
        return self.ids.index(part)

    def blocks_of(self, nodes):
        """Return the block id of each node (None: it stands in no block). `nodes` are names in program order."""
        blocks, last = [], None
        for name in nodes:
            found = _SCOPE.findall(name)
            begun = [int(number) for kind, number in found if kind == "from"]
            last = max([*begun, *([] if last is None else [last])], default=None)
            inside = [int(number) for kind, number in found if kind == ""]
            if inside:
                blocks.append(self.ids[inside[-1]])
            else:
                blocks.append(None if last is None else self.ids[self.begun[last]])
        return blocks


def _check_ids(user_id, ipu_id):
    if ipu_id is not None and int(ipu_id) < 0:
        raise ValueError(f"ipu_id is {ipu_id}: IPUs are counted from 0.")
    if user_id is None and ipu_id is None and not Block._automatic:
        raise ValueError("A block needs a user_id or an ipu_id, or Block.useAutoId() before it.")


class Block:
    """A scope: every operator that is made inside belongs to the block."""

    _automatic = False

    def __init__(self, user_id=None, ipu_id=None):
        _check_ids(user_id, ipu_id)
        self._user_id, self._ipu_id, self._pushed = user_id, ipu_id, False

    @staticmethod
    def useAutoId():
        """Give blocks without a user_id the ids "0", "1" … in the order in which the model runs them."""
        Block._automatic = True

    @staticmethod
    def start(user_id=None, ipu_id=None):
        """Begin a block that lasts until the next one begins."""
        _check_ids(user_id, ipu_id)
        if Annotations.current is not None:
            Annotations.current.begin(user_id, ipu_id)

    def __enter__(self):
        annotations = Annotations.current
        if annotations is None or _tracing() is None:
            return self
        if annotations.is_open:
            raise Error(f"A block is opened within another one at {caller_line()}: close the outer one first.")
        number = annotations.number(self._user_id, self._ipu_id)
        _open_scope(annotations.ids[number], number)
        annotations.is_open = self._pushed = True
        return self

    def __exit__(self, *failure):
        if self._pushed:
            _close_scope()
            Annotations.current.is_open = self._pushed = False


class _BeginsBlock:
    """A hook that begins a block when its module is called."""

    def __init__(self, user_id, ipu_id):
        self._ids = (user_id, ipu_id)

    def __call__(self, module, inputs):
        if Annotations.current is not None:
            Annotations.current.begin(*self._ids)


def BeginBlock(layer_to_call, user_id=None, ipu_id=None):
    """Begin a block at this module. It lasts until the next one begins. Returns the module."""
    _check_ids(user_id, ipu_id)
    if not isinstance(layer_to_call, torch.nn.Module):
        if not callable(layer_to_call):
            raise TypeError(f"BeginBlock takes a module or a function, not {type(layer_to_call).__name__}.")
        return _InBlock(layer_to_call, user_id, ipu_id)
    if any(isinstance(hook, _BeginsBlock) for hook in layer_to_call._forward_pre_hooks.values()):
        raise Error(f"This {type(layer_to_call).__name__} begins a block already: a module can begin only one.")
    layer_to_call.register_forward_pre_hook(_BeginsBlock(user_id, ipu_id))
    return layer_to_call


def removeBlocks(module):
    """Undo BeginBlock for a module and all modules in it."""
    for each in module.modules():
        for number, hook in list(each._forward_pre_hooks.items()):
            if isinstance(hook, _BeginsBlock):
                del each._forward_pre_hooks[number]


class _InBlock:
    """A function that begins a block when it is called."""

    def __init__(self, function, user_id, ipu_id):
        self._function, self._ids = function, (user_id, ipu_id)

    def __call__(self, *args, **kwargs):
        if Annotations.current is not None:
            Annotations.current.begin(*self._ids)
        return self._function(*args, **kwargs)


def BlockFunction(user_id=None, ipu_id=None):
    """Decorate a function: its operators belong to the block."""
    _check_ids(user_id, ipu_id)

    def decorate(function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            with Block(user_id, ipu_id):
                return function(*args, **kwargs)

        return inside

    return decorate
