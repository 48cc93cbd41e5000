"""Options of an instance that `pipescope poprun` started."""

from .. import poptorch
from . import getInstanceIndex, getNumInstances, getNumIpusPerReplica, getNumLocalReplicas


class Options(poptorch.Options):
    """poptorch.Options with the replicas of this instance and its place among the others.

    `ipus_per_replica` must be what the launcher was told with --ipus-per-replica, if it is given.
    """

    def __init__(self, ipus_per_replica=None):
        super().__init__()
        launched = getNumIpusPerReplica()
        if ipus_per_replica is not None and ipus_per_replica != launched:
            raise ValueError(
                f"ipus_per_replica is {ipus_per_replica}, but the launcher was started with --ipus-per-replica "
                f"{launched}: change one of them."
            )
        self._set("replication_factor", getNumLocalReplicas())
        self.Distributed.configureProcessId(getInstanceIndex(), getNumInstances())
        self.__dict__["_hidden"]["ipus_per_replica"] = launched

    def replicationFactor(self, replication_factor):
        """Refused: the launcher decides the number of replicas (--num-replicas)."""
        raise RuntimeError(
            f"replicationFactor({replication_factor}) cannot be called on PopDist's options: pass --num-replicas to "
            "`pipescope poprun`."
        )
