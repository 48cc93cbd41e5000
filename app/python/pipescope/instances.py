"""The place of a process among those that `pipescope poprun` started. Without the launcher it is alone, with one replica.

`pipescope.popdist` gives users these functions; the names are PopDist's.
"""

import atexit
import os
import sys

from ._pipescope import interface


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


def leave_at_exit():
    """Leave the other instances when this process ends well. After an exception it ends without, so that the
    launcher ends the others."""
    if getNumInstances() == 1 or leave_at_exit.__dict__.get("done"):
        return
    leave_at_exit.done = True
    shown = sys.excepthook

    def remember(*failure):
        leave_at_exit.failed = True
        shown(*failure)

    sys.excepthook = remember
    atexit.register(lambda: None if leave_at_exit.__dict__.get("failed") else interface.leave_instances())
