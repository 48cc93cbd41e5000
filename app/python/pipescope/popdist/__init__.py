"""PopDist's names: what an instance that `pipescope poprun` started knows of the others.

Without the launcher there is one instance with one replica. `popdist.poptorch.Options` needs PyTorch.
"""

import functools

from ..instances import (getInstanceIndex, getLocalInstanceIndex, getNumInstances, getNumIpusPerReplica, getNumLocalReplicas,
                         getNumTotalReplicas, isPopdistEnvSet)

__all__ = ["execute_on_instances", "getInstanceIndex", "getLocalInstanceIndex", "getNumInstances", "getNumIpusPerReplica",
           "getNumLocalReplicas", "getNumTotalReplicas", "init", "isPopdistEnvSet"]


def init():
    """Check what the launcher says, before anything else is done. Instances connect when a model is compiled.

    A variable of the environment that is no whole number is a ValueError.
    """
    for ask in (getNumInstances, getInstanceIndex, getLocalInstanceIndex, getNumTotalReplicas, getNumIpusPerReplica):
        ask()


def execute_on_instances(instances, *others):
    """Decorate a function: it runs on these instances only (numbers from 0, or a set of them) and returns None on others.

    A number outside the instances is a ValueError when the function is called.
    """
    chosen = {instances, *others} if isinstance(instances, int) else {*instances, *others}

    def decorate(function):
        @functools.wraps(function)
        def on_some(*args, **kwargs):
            wrong = [each for each in chosen if not 0 <= each < getNumInstances()]
            if wrong:
                raise ValueError(f"execute_on_instances: there is no instance {wrong[0]} among {getNumInstances()}.")
            return function(*args, **kwargs) if getInstanceIndex() in chosen else None

        return on_some

    return decorate


def __getattr__(name):
    # The sub-module needs PyTorch, which the functions above do not.
    if name == "poptorch":
        import importlib

        return importlib.import_module(".poptorch", __name__)
    raise AttributeError(f"popdist has no {name}.")
