#include "app/run/request/replicas.h"

#include <fmt/format.h>

#include <set>

namespace pipescope::app {
namespace {

using config::Configuration;

base::Status checkGroup(const Configuration& c, const char* key, int replicas) {
  const std::int64_t group = c.integer(key);
  if (replicas % group == 0) return {};
  return base::badInput(fmt::format(
      "{} is {}, which does not divide the {} replicas: neighbouring replicas make groups of that size.", key,
      group, replicas));
}

base::Status checkReplicas(const Configuration& c, int replicas) {
  PIPESCOPE_TRY(checkGroup(c, "training.input_replica_grouping", replicas));
  PIPESCOPE_TRY(checkGroup(c, "training.norm_replicas", replicas));
  if (c.boolean("training.check_replicas") && (replicas == 1 || !c.boolean("execution.numerics"))) {
    return base::badInput(
        "training.check_replicas compares the weights of several replicas that compute: set "
        "training.replication_factor above 1 and numerics on, or leave it out.");
  }
  if (c.integer("training.norm_replicas") > 1 && !c.tables("device_scale").empty()) {
    return base::badInput(
        "training.norm_replicas couples replicas within each micro-batch, which is emulated for replicas of "
        "equal "
        "speed only: leave out [[device_scale]], or set norm_replicas to 1.");
  }
  return {};
}

base::Result<int> fromDevices(const Configuration& c, int devicesPerReplica) {
  const auto devices = static_cast<int>(c.integer("system.devices"));
  if (devices < devicesPerReplica) {
    return base::badInput(
        fmt::format("system.devices is {}, but the stages need {}: raise it, or use fewer stages.", devices,
                    devicesPerReplica));
  }
  if (devices % devicesPerReplica != 0) {
    return base::badInput(fmt::format(
        "system.devices is {}, which does not divide into replicas of {} devices: use {} or {}, or say with "
        "training.replication_factor how many replicas there are.",
        devices, devicesPerReplica, devices / devicesPerReplica * devicesPerReplica,
        (devices / devicesPerReplica + 1) * devicesPerReplica));
  }
  return devices / devicesPerReplica;
}

}  // namespace

base::Result<int> chooseReplicas(const Configuration& c, bool training, int devicesPerReplica) {
  const char* key = training ? "training.replication_factor" : "inference.replication_factor";
  const bool devicesGiven = c.integer("system.devices") > 0;
  const bool follows = training || c.text("execution.mode") == "inference";
  auto replicas = static_cast<int>(c.integer(key));
  if (devicesGiven && follows && !c.given(key)) {
    PIPESCOPE_ASSIGN(replicas, fromDevices(c, devicesPerReplica));
  } else if (devicesGiven && replicas * devicesPerReplica > c.integer("system.devices")) {
    return base::badInput(fmt::format(
        "{} replicas of {} devices need {}, but system.devices is {}: raise it, or lower {}.", replicas,
        devicesPerReplica, replicas * devicesPerReplica, c.integer("system.devices"), key));
  }
  if (training) PIPESCOPE_TRY(checkReplicas(c, replicas));
  constexpr int kMostComputed = 64;
  if (replicas > kMostComputed && c.boolean("execution.numerics")) {
    return base::badInput(
        fmt::format("{} replicas are too many to compute in one process, which takes {}: use --no-numerics "
                    "for time and memory "
                    "only.",
                    replicas, kMostComputed));
  }
  return replicas;
}

base::Result<std::vector<emulate::DeviceScale>> deviceScales(const Configuration& c, int devicesUsed) {
  std::vector<emulate::DeviceScale> scales;
  std::set<std::int64_t> seen;
  for (const config::Settings& entry : c.tables("device_scale")) {
    const std::int64_t device = entry.integer("device");
    if (!seen.insert(device).second)
      return base::badInput(fmt::format("[[device_scale]] names device {} twice: leave one out.", device));
    if (device >= devicesUsed) {
      return base::badInput(
          fmt::format("[[device_scale]] names device {}, but the run uses devices 0 to {} only.", device,
                      devicesUsed - 1));
    }
    scales.push_back({static_cast<int>(device), entry.real("compute"), entry.real("link")});
  }
  return scales;
}

}  // namespace pipescope::app
