"""Modules that a training model has taken: module.destroy() frees one, as with PopTorch."""

import weakref

import torch

from .errors import Error

_executors = weakref.WeakKeyDictionary()  # {module: weak reference to the training model that has it}


def _executor_of(module):
    return _executors.get(module, lambda: None)()


def take(module, executor):
    """Note that a training model has the module. Refuses a module that another one has."""
    if _executor_of(module) is not None:
        raise Error(f"Model has already been wrapped in 'poptorch.trainingModel'. Call model.destroy() on the model to unwrap before "
                    f"wrapping again: another training model of this {type(module).__name__} would not see what the first one learns.")
    _executors[module] = weakref.ref(executor)


def free(module, executor):
    """Note that a training model no longer has the module."""
    if _executor_of(module) is executor:
        del _executors[module]


class _Destroy:
    """The function destroy() of a module that a training model has."""

    def __get__(self, module, kind=None):
        executor = None if module is None else _executor_of(module)
        if executor is None:
            raise AttributeError("destroy: no training model has this module.")
        return executor.destroy


torch.nn.Module.destroy = _Destroy()
