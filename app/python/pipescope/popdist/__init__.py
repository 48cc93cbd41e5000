"""PopDist's names: what an instance that `pipescope poprun` started knows of the others.

Without the launcher there is one instance with one replica. `popdist.poptorch.Options` needs PyTorch.
"""

import functools
import os


def _count(name, otherwise):
    text = os.environ.get(name)
    if text is None:
        return otherwise
    if not text.isdigit():
        raise ValueError(f'The environment variable {name} is "{text}", but must be a whole number.')
    return int(text)


def isPopdistEnvSet():
    """Return True if `pipescope poprun` started this process."""
    return "POPDIST_NUM_TOTAL_REPLICAS" in os.environ


def getNumInstances():
    """Return the number of processes."""
    return _count("OMPI_COMM_WORLD_SIZE", 1) if isPopdistEnvSet() else 1


def getInstanceIndex():
    """Return the number of this process, from 0."""
    return _count("OMPI_COMM_WORLD_RANK", 0) if isPopdistEnvSet() else 0


def getLocalInstanceIndex():
    """Return the number of this process among those on its host, from 0."""
    return _count("OMPI_COMM_WORLD_LOCAL_RANK", 0) if isPopdistEnvSet() else 0


def getNumTotalReplicas():
    """Return the number of replicas of all processes together."""
    return _count("POPDIST_NUM_TOTAL_REPLICAS", 1)


def getNumLocalReplicas():
    """Return the number of replicas of this process."""
    return getNumTotalReplicas() // getNumInstances()


def getNumIpusPerReplica():
    """Return the number of IPUs of one replica (--ipus-per-replica)."""
    return _count("POPDIST_NUM_IPUS_PER_REPLICA", 1)


def _leave_at_exit():
    """Leave the other instances when this process ends well. After an exception it ends without, so that the
    launcher ends the others."""
    import atexit
    import sys

    from .._pipescope import interface

    if getNumInstances() == 1 or _leave_at_exit.__dict__.get("done"):
        return
    _leave_at_exit.done = True
    shown = sys.excepthook

    def remember(*failure):
        _leave_at_exit.failed = True
        shown(*failure)

    sys.excepthook = remember
    atexit.register(lambda: None if _leave_at_exit.__dict__.get("failed") else interface.leave_instances())


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
