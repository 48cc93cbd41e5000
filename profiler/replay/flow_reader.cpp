#include "profiler/replay/flow_reader.h"

#include <algorithm>
#include <cmath>

namespace pipescope::replay {
namespace {

class FlowReader {
 public:
  FlowReader(const analysis::Catalog& catalog, const CallRows& rows, Recording& recording)
      : catalog_(catalog), rows_(rows), recording_(recording) {}

  /// A trace states no sizes of messages, only how long each was under way.
  void readMeasured() {
    std::map<model::PlacementId, const model::Placement*> placements;
    for (const model::Placement& p : rows_.placements) placements[p.id] = &p;
    for (const model::Transfer& transfer : rows_.transfers) {
      const auto from = placements.find(transfer.from);
      const bool forward = transfer.kind == model::TransferKind::activation;
      if (from == placements.end() || (!forward && transfer.kind != model::TransferKind::gradient)) continue;
      const int stage = from->second->stage, other = stage + (forward ? 1 : -1);
      if (stage < 0 || other < 0 || std::max(stage, other) >= recording_.stageCount()) continue;
      for (ReplicaCosts& replica : recording_.replicas)
        if (replica.number == from->second->replica) addMeasured(replica, stage, other, transfer);
    }
    for (ReplicaCosts& replica : recording_.replicas)
      for (Flow& flow : replica.flows) setUsual(flow);
  }

  void read() {
    for (const model::Placement& p : rows_.placements) stageOf_[p.id] = p.stage;
    readPaces();
    for (ReplicaCosts& replica : recording_.replicas) {
      largest_.clear();
      linkNames_.clear();
      addBoundaries(replica);
      addTransfers(replica);
    }
  }

 private:
  void addMeasured(ReplicaCosts& replica, int from, int to, const model::Transfer& transfer) {
    const auto placeOfStage = [&](int stage) {
      return recording_.placeOfStage[static_cast<std::size_t>(stage)];
    };
    if (placeOfStage(from) == placeOfStage(to) || transfer.iteration < 0 ||
        transfer.iteration >= recording_.iterations || transfer.microBatch < 0 ||
        transfer.microBatch >= recording_.microBatches)
      return;
    auto flow = std::find_if(replica.flows.begin(), replica.flows.end(), [&](const Flow& known) {
      return known.fromStage == from && known.toStage == to && known.kind == transfer.kind;
    });
    if (flow == replica.flows.end()) {
      flow = replica.flows.emplace(flow);
      flow->fromStage = from;
      flow->toStage = to;
      flow->kind = transfer.kind;
      flow->recorded.assign(
          static_cast<std::size_t>(recording_.iterations) * static_cast<std::size_t>(recording_.microBatches),
          Ticks(-1));
    }
    flow->fromLane = transfer.fromLane;
    flow->toLane = transfer.toLane;
    flow->recorded[recording_.indexOf(transfer.iteration, transfer.microBatch)] =
        std::max(transfer.end - transfer.start, Ticks(0));
  }

  /// Messages that the trace lacks take as long as the others do on average.
  static void setUsual(Flow& flow) {
    double sum = 0, count = 0;
    for (const Ticks ticks : flow.recorded) {
      if (ticks.count < 0) continue;
      sum += static_cast<double>(ticks.count);
      ++count;
    }
    flow.ticks = flow.cost.alone = Ticks(count > 0 ? std::llround(sum / count) : 0);
    for (Ticks& ticks : flow.recorded)
      if (ticks.count < 0) ticks = flow.ticks;
  }

  bool barrier() const { return recording_.orders.front().progression == model::ScheduleKind::barrier; }

  /// Tensors between the same two stages travel together.
  void addBoundaries(ReplicaCosts& replica) {
    for (const model::Boundary& boundary : catalog_.boundaries) {
      const int stages = recording_.stageCount();
      if (boundary.executable != recording_.executable.id || boundary.fromStage < 0 || boundary.toStage < 0 ||
          boundary.fromStage >= stages || boundary.toStage >= stages)
        continue;
      if (recording_.placeOfStage[static_cast<std::size_t>(boundary.fromStage)] ==
          recording_.placeOfStage[static_cast<std::size_t>(boundary.toStage)])
        continue;
      const auto known = std::find_if(replica.flows.begin(), replica.flows.end(), [&](const auto& flow) {
        return flow.fromStage == boundary.fromStage && flow.toStage == boundary.toStage &&
               flow.kind == boundary.kind;
      });
      if (known == replica.flows.end()) {
        Flow flow;
        flow.fromStage = boundary.fromStage;
        flow.toStage = boundary.toStage;
        flow.kind = boundary.kind;
        flow.bytes = boundary.bytes;
        flow.cost.alone = boundary.ticks;
        replica.flows.push_back(flow);
        largest_.resize(replica.flows.size());
        largest_.back() = boundary.bytes;
        linkNames_.push_back(linkName(boundary));
      } else {
        known->bytes += boundary.bytes;
        ++known->cost.tensors;
        Bytes& largest = largest_[static_cast<std::size_t>(known - replica.flows.begin())];
        if (boundary.ticks > known->cost.alone) largest = boundary.bytes;
        known->cost.alone = std::max(known->cost.alone, boundary.ticks);
      }
    }
  }

  /// Index of the flow that the transfer belongs to; −1: none of this replica.
  int flowOf(const ReplicaCosts& replica, const model::Transfer& transfer) const {
    const model::DeviceId from = catalog_.deviceOf(transfer.fromLane),
                          to = catalog_.deviceOf(transfer.toLane);
    const auto stage = stageOf_.find(transfer.from);
    int found = -1;
    for (std::size_t i = 0; i < replica.flows.size(); ++i) {
      const Flow& flow = replica.flows[i];
      if (flow.kind != transfer.kind || deviceOf(replica, flow.fromStage) != from ||
          deviceOf(replica, flow.toStage) != to)
        continue;
      // A device with several chunks may send the same way from several stages.
      if (found < 0 || (stage != stageOf_.end() && stage->second == flow.fromStage))
        found = static_cast<int>(i);
    }
    return found;
  }

  model::DeviceId deviceOf(const ReplicaCosts& replica, int stage) const {
    const auto place = static_cast<std::size_t>(recording_.placeOfStage[static_cast<std::size_t>(stage)]);
    return place < replica.devices.size() ? replica.devices[place] : model::DeviceId();
  }

  void addTransfers(ReplicaCosts& replica) {
    const std::size_t count =
        static_cast<std::size_t>(recording_.iterations) * static_cast<std::size_t>(recording_.microBatches);
    for (Flow& flow : replica.flows) flow.recorded.assign(count, Ticks(-1));
    std::vector<double> sums(replica.flows.size()), counts(sums);
    std::vector<Ticks> last(sums.size());
    for (const model::Transfer& transfer : rows_.transfers) {
      const int index = flowOf(replica, transfer);
      if (index < 0) continue;
      const auto i = static_cast<std::size_t>(index);
      Flow& flow = replica.flows[i];
      const Ticks ticks = transfer.end - transfer.start;
      flow.link = transfer.link;
      flow.fromLane = transfer.fromLane;
      flow.toLane = transfer.toLane;
      last[i] = ticks;
      sums[i] += static_cast<double>(ticks.count);
      ++counts[i];
      if (transfer.iteration >= 0 && transfer.iteration < recording_.iterations && transfer.microBatch >= 0 &&
          transfer.microBatch < recording_.microBatches)
        flow.recorded[recording_.indexOf(transfer.iteration, transfer.microBatch)] = ticks;
    }
    for (std::size_t i = 0; i < replica.flows.size(); ++i) {
      Flow& flow = replica.flows[i];
      if (counts[i] > 0) flow.ticks = Ticks(std::llround(sums[i] / counts[i]));
      // All copies of a cycle with a barrier begin together, so that each takes as long in every cycle.
      if (barrier() && counts[i] > 0) flow.ticks = last[i];
      for (Ticks& ticks : flow.recorded)
        if (ticks.count < 0) ticks = flow.ticks;
      if (barrier() || std::all_of(flow.recorded.begin(), flow.recorded.end(),
                                   [&](Ticks ticks) { return ticks == flow.ticks; }))
        flow.recorded.clear();
      separateLatency(flow, linkNames_[i], largest_[i]);
    }
  }

  /// The name of the direct link between the devices of two stages; empty: the way leads over several.
  std::string linkName(const model::Boundary& boundary) const {
    const auto stages = catalog_.stagesOf(boundary.executable);
    const auto from = static_cast<std::size_t>(boundary.fromStage),
               to = static_cast<std::size_t>(boundary.toStage);
    if (boundary.fromStage < 0 || boundary.toStage < 0 || std::max(from, to) >= stages.size()) return {};
    for (const model::Link& link : catalog_.links)
      if (link.from == stages[from]->device && link.to == stages[to]->device) return link.name;
    return {};
  }

  /// Reads the pace of copies of different sizes over links of one name: the time of one byte, and the time
  /// of no byte.
  void readPaces() {
    std::map<std::string, std::map<std::int64_t, std::int64_t>> sizes;  // bytes → ticks
    for (const model::Boundary& boundary : catalog_.boundaries)
      if (boundary.ticks.count > 0) sizes[linkName(boundary)][boundary.bytes.count] = boundary.ticks.count;
    for (const auto& [name, points] : sizes) {
      if (points.size() < 2) continue;
      const auto first = *points.begin(), last = *points.rbegin();
      const double pace =
          static_cast<double>(last.second - first.second) / static_cast<double>(last.first - first.first);
      if (pace > 0)
        paces_[name] = {pace, static_cast<double>(first.second) - pace * static_cast<double>(first.first)};
    }
  }

  /// Separates the part of a copy that does not depend on the bandwidth. Without copies of several sizes, the
  /// capacity of the link tells it.
  void separateLatency(Flow& flow, const std::string& name, Bytes largest) const {
    const auto known = paces_.find(name);
    const model::Link* link = catalog_.links.find(flow.link);
    double pace = 0, fixed = 0;
    if (known != paces_.end()) {
      pace = known->second.ticksPerByte;
      fixed = known->second.fixedTicks;
    } else if (link != nullptr && link->bytesPerSecond > 0) {
      pace = static_cast<double>(recording_.ticksPerSecond) / link->bytesPerSecond;
      fixed = static_cast<double>(flow.cost.alone.count) - pace * static_cast<double>(largest.count);
    } else {
      return;
    }
    flow.cost.fixed = Ticks(std::max<std::int64_t>(std::llround(fixed), 0));
    flow.cost.ticksPerByte = pace;
    flow.cost.alone = flow.cost.fixed + Ticks(std::llround(static_cast<double>(flow.bytes.count) * pace));
  }

  struct Pace {
    double ticksPerByte = 0, fixedTicks = 0;
  };
  std::map<std::string, Pace> paces_;  ///< pace of each link, by its name
  const analysis::Catalog& catalog_;
  const CallRows& rows_;
  Recording& recording_;
  std::map<model::PlacementId, std::int32_t> stageOf_;
  // Largest tensor and link of each flow of the replica that is read.
  std::vector<Bytes> largest_;
  std::vector<std::string> linkNames_;
};

}  // namespace

void addFlows(const analysis::Catalog& catalog, const CallRows& rows, Recording& recording) {
  FlowReader reader(catalog, rows, recording);
  recording.measured ? reader.readMeasured() : reader.read();
}

}  // namespace pipescope::replay
