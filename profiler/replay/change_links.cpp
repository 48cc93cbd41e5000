// Links between devices, the link to the host, and the host itself.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/pipeline/links/system_links.h"
#include "profiler/replay/change.h"

namespace pipescope::replay {
namespace {

using model::Pass;

/// The factor by which a bandwidth changes. A plain number is in bytes per second.
base::Result<double> bandwidthFactor(const std::string& key, const std::string& value, double before) {
  if (before <= 0) {
    if (!value.starts_with("*") && !value.ends_with("%"))
      return base::badInput(fmt::format(
          "{}: the recording does not hold one bandwidth for these links, so only a factor (*2) or "
          "a percentage (+10%) can be applied.",
          key));
    before = 1;
  }
  PIPESCOPE_ASSIGN(const double after, changedNumber(key, value, before));
  if (after <= 0) return base::badInput(fmt::format("{} must be more than 0.", key));
  return after / before;
}

/// Divides the part of the time that depends on the bandwidth by `factor`; the latency stays.
Ticks faster(const Flow& flow, Ticks ticks, double factor) {
  const Ticks fixed = std::min(flow.cost.fixed, ticks);
  return fixed + scaled(ticks - fixed, 1 / factor);
}

void speedUp(Flow& flow, double factor) {
  for (Ticks* ticks : {&flow.cost.alone, &flow.ticks}) *ticks = faster(flow, *ticks, factor);
  for (Ticks& ticks : flow.recorded) ticks = faster(flow, ticks, factor);
}

void speedUpCollectives(ReplicaCosts& replica, double factor) {
  const auto isCollective = [](Pass pass) { return pass == Pass::collective; };
  for (StageCosts& stage : replica.stages) {
    for (StageWork& work : stage.works) {
      for (Pieces* pieces : {&work.forward, &work.backward, &work.weight}) {
        scale(*pieces, 1 / factor, isCollective);
        for (Piece& piece : *pieces) piece.delay = scaled(piece.delay, 1 / factor);
      }
    }
    for (Pieces& update : stage.updates) scale(update, 1 / factor, isCollective);
    for (OverlappedPiece& overlapped : stage.overlapped) {
      overlapped.piece.ticks = scaled(overlapped.piece.ticks, 1 / factor);
      for (Ticks& delay : overlapped.delays) delay = scaled(delay, 1 / factor);
    }
    for (TiedPiece& tied : stage.tied) tied.piece.ticks = scaled(tied.piece.ticks, 1 / factor);
  }
}

bool hasCollectives(const Recording& recording) {
  const auto any = [](const Pieces& pieces) {
    return std::any_of(pieces.begin(), pieces.end(),
                       [](const Piece& piece) { return piece.pass == Pass::collective; });
  };
  for (const StageCosts& stage : recording.replicas.front().stages) {
    if (!stage.overlapped.empty() || !stage.tied.empty() ||
        std::any_of(stage.updates.begin(), stage.updates.end(), any))
      return true;
  }
  return false;
}

bool hasTransfers(const Recording& recording) {
  const auto& flows = recording.replicas.front().flows;
  return std::any_of(flows.begin(), flows.end(), [](const auto& flow) { return flow.ticks.count > 0; });
}

base::Status changeAllLinks(const ChangeContext& context, Changed& changed, const std::string&,
                            const std::string& value) {
  if (!hasTransfers(changed.recording) && !hasCollectives(changed.recording))
    return base::badInput(
        "The recording holds no transfers between devices, so it does not tell what another bandwidth would "
        "change.");
  double common = -1;
  for (const model::Link& link : context.catalog.links) {
    if (!link.from.valid() || !link.to.valid()) continue;
    common = common < 0 || common == link.bytesPerSecond ? link.bytesPerSecond : 0;
  }
  PIPESCOPE_ASSIGN(const double factor, bandwidthFactor("links.bandwidth", value, common));
  for (ReplicaCosts& replica : changed.recording.replicas) {
    for (Flow& flow : replica.flows) speedUp(flow, factor);
    speedUpCollectives(replica, factor);
  }
  return {};
}

/// True if the way of a flow leads over several links, one of which has this name.
bool crosses(const analysis::Catalog& catalog, model::ExecutableId executable, const Flow& flow,
             const std::string& name) {
  if (flow.link.valid()) return false;
  const auto route = analysis::routeBetween(catalog, executable, catalog.deviceOf(flow.fromLane),
                                            catalog.deviceOf(flow.toLane));
  return std::ranges::any_of(route, [&](model::LinkId link) { return catalog.links[link].name == name; });
}

base::Status changeNamedLink(const ChangeContext& context, Changed& changed, const std::string& name,
                             const std::string& value) {
  const std::string key = fmt::format("links.{}.bandwidth", name);
  const auto& links = context.catalog.links;
  const auto named =
      std::find_if(links.begin(), links.end(), [&](const model::Link& link) { return link.name == name; });
  if (named == links.end()) {
    std::string known;
    for (const model::Link& link : links) {
      if (known.size() > 200) break;
      known += (known.empty() ? "" : ", ") + link.name;
    }
    return base::badInput(fmt::format("There is no link \"{}\". The recording names the links {}.", name,
                                      known.empty() ? "of no device" : known));
  }
  PIPESCOPE_ASSIGN(const double factor, bandwidthFactor(key, value, named->bytesPerSecond));
  bool used = false, crossed = false;
  for (ReplicaCosts& replica : changed.recording.replicas) {
    for (Flow& flow : replica.flows) {
      const model::Link* link = links.find(flow.link);
      crossed = crossed || crosses(context.catalog, changed.recording.executable.id, flow, name);
      if (link == nullptr || link->name != name) continue;
      speedUp(flow, factor);
      used = true;
    }
  }
  if (crossed)
    changed.remarks.push_back(
        fmt::format("Transfers whose way leads over several links cross \"{}\", too. The recording does not "
                    "tell which of "
                    "their links takes longest, so they keep their time.",
                    name));
  if (!used && !crossed)
    changed.remarks.push_back(fmt::format("No recorded transfer between stages uses the link \"{}\".", name));
  return {};
}

/// Copies between host and devices.
base::Status changeHostLink(const ChangeContext&, Changed& changed, const std::string&,
                            const std::string& value) {
  PIPESCOPE_ASSIGN(const double factor, bandwidthFactor("links.host.bandwidth", value, 0));
  bool any = false;
  const auto all = [](Pass) { return true; };
  for (ReplicaCosts& replica : changed.recording.replicas) {
    for (StageCosts& stage : replica.stages) {
      for (StageWork& work : stage.works) {
        any = any || !work.hostIn.empty() || !work.hostOut.empty();
        for (Pieces* pieces : {&work.hostIn, &work.hostOut}) scale(*pieces, 1 / factor, all);
      }
    }
  }
  if (!any)
    return base::badInput(
        "The recording holds no copies between host and devices, so it does not tell what another bandwidth "
        "of "
        "the host's link would change.");
  return {};
}

/// The mean length of an iteration of the recorded call.
Ticks iterationTicks(const Recording& recording) {
  const Ticks all = recording.run.end - recording.run.start - recording.host.call -
                    recording.host.firstDelay.value_or(Ticks(0));
  return Ticks(all.count / std::max(1, recording.iterations));
}

base::Status changeHostRate(const ChangeContext&, Changed& changed, const std::string&,
                            const std::string& value) {
  clock::Host& host = changed.recording.host;
  const bool waits = host.step.count > 0 || host.loaderTicks > 0;
  if (!waits)
    return base::badInput(
        "The recording holds no work of the host that devices wait for (data.loader_rate and the keys of "
        "[host]), so it does not tell what a faster or slower host would change.");
  PIPESCOPE_ASSIGN(const double factor, bandwidthFactor("host_rate", value, 0));
  const Ticks before = host.step;
  host.step = scaled(host.step, 1 / factor);
  const Ticks delay = host.firstDelay.value_or(Ticks(0));
  if (host.readsResults) {
    host.firstDelay = scaled(delay, 1 / factor);
  } else if (before.count > 0) {
    // The host works on the first step while the devices do the last one of the call before, which is taken
    // to be like those of this call.
    const Ticks beside = delay.count > 0 ? before - delay : host.call + iterationTicks(changed.recording);
    host.firstDelay = std::max(host.step - beside, Ticks(0));
  }
  changed.recording.hostTicksPerMicroBatch /= factor;
  host.loaderTicks /= factor;
  return {};
}

}  // namespace

std::vector<ChangeKind> linkChanges() {
  return {
      {"links.bandwidth", "bandwidth between devices",
       "all links between devices, with the collectives over them", changeAllLinks},
      {"links.host.bandwidth", "bandwidth to the host", "copies between host and devices", changeHostLink},
      {"links.NAME.bandwidth", "bandwidth of a link", "transfers over the link of this name",
       changeNamedLink},
      {"host_rate", "speed of the host", "the rate at which the host prepares samples and issues steps",
       changeHostRate},
  };
}

}  // namespace pipescope::replay
