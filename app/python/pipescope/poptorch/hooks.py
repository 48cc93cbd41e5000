"""Functions that run before and after a model is compiled."""

import collections

import torch

#: {number: function}, in the order in which they were registered.
before_compiling, after_compiling = collections.OrderedDict(), collections.OrderedDict()


def _register(hooks, hook, name):
    if not callable(hook):
        raise RuntimeError(f"{name}: the hook must be callable, but is {type(hook).__name__}.")
    handle = torch.utils.hooks.RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def registerPreCompileHook(hook):
    """Call `hook` without arguments before each model is compiled. Returns a handle whose remove() ends that."""
    return _register(before_compiling, hook, "registerPreCompileHook")


def registerPostCompileHook(hook):
    """Call `hook` without arguments after each model was compiled. Returns a handle whose remove() ends that."""
    return _register(after_compiling, hook, "registerPostCompileHook")


def call(hooks):
    for hook in list(hooks.values()):
        hook()
