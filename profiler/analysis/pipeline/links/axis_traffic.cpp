#include "profiler/analysis/pipeline/links/axis_traffic.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "profiler/analysis/device_places.h"
#include "profiler/analysis/pipeline/collective_uses.h"
#include "profiler/analysis/pipeline/links/collective_groups.h"

namespace pipescope::analysis {
namespace {

/// Bytes that a chip of a stage sends along an axis among so many ranks, by kind of collective.
using SentOfStage = std::map<std::string, double>;
using StageKey = std::tuple<std::int32_t, model::MeshAxis, std::int64_t>;  ///< stage, axis, ranks

class TrafficSums {
 public:
  TrafficSums(const Catalog& catalog, model::ExecutableId executable)
      : catalog_(catalog), executable_(executable), chipsOfBox_(systemParts(catalog).chipsOfBox) {}

  void addCollectives(const std::vector<CollectiveUse>& uses) {
    std::map<StageKey, SentOfStage> sent;
    for (const CollectiveUse& use : uses)
      sent[{use.stage, use.row.axis, use.row.ranks}][use.row.kind] += use.sent;
    std::vector<AxisShare> shares;
    for (const auto& [key, kinds] : sent)
      shares.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), 0});
    for (const CollectiveGroup& group : collectiveGroups(catalog_, executable_, shares)) {
      double all = 0, between = 0;
      for (const auto& [kind, each] : sent[{group.stage, group.axis, group.ranks}]) {
        const double bytes = each * static_cast<double>(group.chips.size());
        all += bytes;
        if (chipsOfBox_ > 0) between += partBetweenBoxes(kind, group.chips, chipsOfBox_) * bytes;
      }
      add(group.axis, LinkReach::betweenBoxes, between, group.chips, group.chips.size());
      add(group.axis, inside(), all - between, group.chips, group.chips.size());
    }
  }

  /// Adds what stages send to each other for the micro-batches of an iteration, in all replicas and ranks.
  void addBoundaries(double microBatches) {
    using Chips = std::map<std::pair<std::int32_t, std::int32_t>, model::DeviceId>;  // by replica and rank
    std::map<std::int32_t, Chips> ofStage;
    const auto places = devicePlaces(catalog_, executable_);
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(places.size()); ++d) {
      const DevicePlace& place = places[model::DeviceId(d)];
      for (const std::int32_t stage : place.stages)
        ofStage[stage][{place.replica, place.rank}] = model::DeviceId(d);
    }
    for (const model::Boundary& boundary : catalog_.boundaries) {
      if (boundary.executable != executable_) continue;
      const Chips& receivers = ofStage[boundary.toStage];
      for (const auto& [key, from] : ofStage[boundary.fromStage]) {
        const auto to = receivers.find(key);
        if (to == receivers.end() || to->second == from) continue;
        const bool leaves = chipsOfBox_ > 0 && from.value / chipsOfBox_ != to->second.value / chipsOfBox_;
        add(model::MeshAxis::pipe, leaves ? LinkReach::betweenBoxes : inside(),
            static_cast<double>(boundary.bytes.count) * microBatches, {from}, 2);
      }
    }
  }

  std::vector<AxisTraffic> take() const {
    std::vector<AxisTraffic> rows;
    for (const auto& [key, sum] : sums_)
      rows.push_back({key.first, key.second, sum.chips, sum.senders,
                      sum.bytes / static_cast<double>(sum.senders), sum.bytes});
    return rows;
  }

 private:
  struct Sum {
    std::int64_t chips = 0, senders = 0;
    double bytes = 0;
    std::vector<bool> sends;  ///< by device
  };

  LinkReach inside() const { return chipsOfBox_ > 0 ? LinkReach::withinBox : LinkReach::notKnown; }

  void add(model::MeshAxis axis, LinkReach reach, double bytes, const std::vector<model::DeviceId>& senders,
           std::size_t chips) {
    constexpr double kRounding = 0.5;  // of a byte
    if (bytes < kRounding) return;
    Sum& sum = sums_[{axis, reach}];
    sum.chips = std::max(sum.chips, static_cast<std::int64_t>(chips));
    sum.bytes += bytes;
    sum.sends.resize(catalog_.devices.size());
    for (const model::DeviceId sender : senders) {
      if (sum.sends[static_cast<std::size_t>(sender.value)]) continue;
      sum.sends[static_cast<std::size_t>(sender.value)] = true;
      ++sum.senders;
    }
  }

  const Catalog& catalog_;
  const model::ExecutableId executable_;
  const std::int64_t chipsOfBox_;
  std::map<std::pair<model::MeshAxis, LinkReach>, Sum> sums_;
};

}  // namespace

double partBetweenBoxes(const std::string& kind, const std::vector<model::DeviceId>& chips,
                        std::int64_t chipsOfBox) {
  std::map<std::int64_t, double> inBox;  // chips of the group in each box
  for (const model::DeviceId chip : chips) ++inBox[chip.value / chipsOfBox];
  const auto all = static_cast<double>(chips.size()), boxes = static_cast<double>(inBox.size());
  if (boxes < 2) return 0;
  if (kind == "RingSend" || kind == "Broadcast") return boxes / all;
  if (kind != "AllToAll") return (boxes - 1) / (all - 1);
  double leaving = 0;
  for (const auto& [box, own] : inBox) leaving += own * (all - own);
  return leaving / (all * (all - 1));
}

Result<std::vector<AxisTraffic>> axisTraffic(const model::ProfileSource& source, const Catalog& catalog,
                                             model::ExecutableId executable) {
  const model::Executable* row = catalog.executable(executable);
  if (row == nullptr || catalog.measured() || catalog.lastRunOf(executable) == nullptr)
    return std::vector<AxisTraffic>();
  PIPESCOPE_ASSIGN(const std::vector<CollectiveUse> uses, collectiveUses(source, catalog, executable));
  TrafficSums sums(catalog, executable);
  sums.addCollectives(uses);
  sums.addBoundaries(static_cast<double>(row->microBatches));
  return sums.take();
}

}  // namespace pipescope::analysis
