#include "engine/compiler/replica_count.h"

#include <fmt/format.h>

namespace pipescope::compile {
namespace {

base::Status checkGroup(const char* key, std::int64_t group, int replicas, int processes) {
  if (replicas / processes % group == 0) return {};
  if (processes > 1)
    return base::badInput(
        fmt::format("{} is {}, which does not divide the {} replicas of an instance: groups cannot span "
                    "instances.",
                    key, group, replicas / processes));
  return base::badInput(fmt::format(
      "{} is {}, which does not divide the {} replicas: neighbouring replicas make groups of that size.", key,
      group, replicas));
}

base::Status checkTrainingReplicas(const ModelRequest& request, const ReplicaRequest& asked, int replicas) {
  PIPESCOPE_TRY(checkGroup("training.input_replica_grouping", asked.inputGroup, replicas, request.processes));
  PIPESCOPE_TRY(checkGroup("training.norm_replicas", request.update.normReplicas, replicas, 1));
  if (asked.compares && (replicas == 1 || !request.computesNumbers)) {
    return base::badInput(
        "training.check_replicas compares the weights of several replicas that compute: set "
        "training.replication_factor above 1 and numerics on, or leave it out.");
  }
  if (request.update.normReplicas > 1 && !request.scales.empty()) {
    return base::badInput(
        "training.norm_replicas couples replicas within each micro-batch, which is emulated for replicas of "
        "equal speed only: leave out [[device_scale]], or set norm_replicas to 1.");
  }
  return {};
}

base::Result<int> replicasOfDevices(std::int64_t devices, int places) {
  if (devices < places) {
    return base::badInput(fmt::format(
        "system.devices is {}, but the stages need {}: raise it, or use fewer stages.", devices, places));
  }
  if (devices % places != 0) {
    return base::badInput(fmt::format(
        "system.devices is {}, which does not divide into replicas of {} devices: use {} or {}, or say with "
        "training.replication_factor how many replicas there are.",
        devices, places, devices / places * places, (devices / places + 1) * places));
  }
  return static_cast<int>(devices / places);
}

}  // namespace

base::Result<int> countReplicas(const ModelRequest& request, const ExecutableRequest& executable,
                                int places) {
  const bool training = executable.kind == model::ExecutableKind::training;
  int replicas = executable.replicas.count;
  if (request.devices > 0 && executable.replicas.fillsDevices) {
    PIPESCOPE_ASSIGN(replicas, replicasOfDevices(request.devices, places));
  } else if (request.devices > 0 && replicas * places > request.devices) {
    return base::badInput(
        fmt::format("{} replicas of {} device{} need {}, but system.devices is {}: raise it, or lower "
                    "{}.replication_factor.",
                    replicas, places, places == 1 ? "" : "s", replicas * places, request.devices,
                    training ? "training" : "inference"));
  }
  if (training) PIPESCOPE_TRY(checkTrainingReplicas(request, executable.replicas, replicas));
  if (!training)
    PIPESCOPE_TRY(checkGroup("inference.input_replica_grouping", executable.replicas.inputGroup, replicas,
                             request.processes));
  if (replicas / request.processes > numerics::kMostReplicas && request.computesNumbers) {
    return base::badInput(fmt::format(
        "One process computes at most {} replicas, but there are {}: use --no-numerics for time and "
        "memory only.",
        numerics::kMostReplicas, replicas / request.processes));
  }
  return replicas;
}

base::Status checkScales(const std::vector<emulate::DeviceScale>& scales, int devicesUsed) {
  for (const emulate::DeviceScale& scale : scales) {
    if (scale.device < devicesUsed) continue;
    return base::badInput(
        fmt::format("[[device_scale]] names device {}, but the run uses devices 0 to {} only.", scale.device,
                    devicesUsed - 1));
  }
  return {};
}

}  // namespace pipescope::compile
