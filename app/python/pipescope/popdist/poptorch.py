"""Options of an instance that `pipescope poprun` started."""

from .. import poptorch
from ..poptorch.options import _DistributedOptions
from . import getInstanceIndex, getNumInstances, getNumIpusPerReplica, getNumLocalReplicas, isPopdistEnvSet


def _refuse(call, advice):
    raise RuntimeError(f"Cannot call `{call}` with popdist.poptorch.Options: {advice}.")


class _Distributed(_DistributedOptions):
    """The place of this instance among the others, which the launcher decides."""

    def disable(self):
        """Refused: the launcher decides how many instances there are."""
        _refuse("Distributed.disable", "start the program without `pipescope poprun` instead")

    def setEnvVarNames(self, var_num_processes, var_process_id):
        """Refused: the launcher sets the variables."""
        _refuse("Distributed.setEnvVarNames", "`pipescope poprun` sets the variables")

    def configureProcessId(self, process_id, num_processes=None):
        """Refused: the launcher numbers the instances."""
        _refuse("Distributed.configureProcessId", "`pipescope poprun` numbers the instances")


class Options(poptorch.Options):
    """poptorch.Options with the replicas of this instance and its place among the others.

    `ipus_per_replica` must be what the launcher was told with --ipus-per-replica. Without a launcher it may be any.
    """

    def __init__(self, ipus_per_replica=None):
        super().__init__()
        launched = getNumIpusPerReplica()
        if ipus_per_replica is not None and ipus_per_replica != launched and isPopdistEnvSet():
            raise ValueError(
                f"ipus_per_replica is {ipus_per_replica}, but the launcher was started with --ipus-per-replica "
                f"{launched}: change one of them."
            )
        self._set("replication_factor", getNumLocalReplicas())
        self.Distributed.configureProcessId(getInstanceIndex(), getNumInstances())
        self.Distributed.__class__ = _Distributed
        self.__dict__["_hidden"]["ipus_per_replica"] = ipus_per_replica or launched

    def replicationFactor(self, replication_factor):
        """Refused: the launcher decides the number of replicas."""
        _refuse("replicationFactor", "pass --num-replicas to `pipescope poprun`")

    def useIpuId(self, ipu_id):
        """Refused: the launcher decides about the devices."""
        _refuse("useIpuId", "`pipescope poprun` decides about the devices")
