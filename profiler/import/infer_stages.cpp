#include "profiler/import/infer_stages.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "profiler/import/message_passes.h"

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::Pass;

/// A rank whose passes state no stage.
struct OpenRank {
  DeviceId device;
  std::int64_t rank = -1;
  bool first = true;         ///< receives nothing before the first forward pass of a step
  std::int64_t before = -1;  ///< rank that feeds the first forward pass of a step; −1: not stated
};

/// Stage and replica of a rank.
using Place = std::pair<std::int32_t, std::int32_t>;

/// What feeds the forward passes of a device with which its steps begin.
class StepBegins {
 public:
  explicit StepBegins(const std::vector<const RecordedPass*>& receives) : receives_(receives) {}

  /// Passes come in the order of their starts.
  void add(const RecordedPass& pass) {
    if (pass.pass == Pass::forward && steps_.insert(pass.step.value_or(-1)).second) {
      const auto message = std::ranges::find_if(receives_, [&](const RecordedPass* side) {
        return side->end > before_ && side->end <= pass.end && side->start < pass.end;
      });
      if (message != receives_.end()) {
        ++fed_;
        if ((*message)->peer >= 0) ++peers_[(*message)->peer];
      }
    }
    before_ = std::max(before_, pass.end);
  }

  bool first() const { return 2 * fed_ < static_cast<std::int64_t>(steps_.size()); }
  /// The rank that feeds most of them; −1: not stated.
  std::int64_t peer() const {
    const auto most = std::ranges::max_element(peers_, {}, [](const auto& entry) { return entry.second; });
    return first() || most == peers_.end() ? -1 : most->first;
  }

 private:
  const std::vector<const RecordedPass*>& receives_;
  std::set<std::int64_t> steps_;
  std::map<std::int64_t, std::int64_t> peers_;
  std::int64_t fed_ = 0;
  Ticks before_ = Ticks(INT64_MIN);  // end of the computations before
};

std::vector<OpenRank> openRanks(const PassesOfDevice& byDevice, const std::vector<RecordedPass>& receives) {
  std::map<DeviceId, std::vector<const RecordedPass*>> received;
  for (const RecordedPass& side : receives) received[side.device].push_back(&side);
  std::vector<OpenRank> open;
  for (const auto& [device, passes] : byDevice) {
    StepBegins begins(received[device]);
    std::int64_t computations = 0;
    bool stated = false;
    for (const RecordedPass* pass : passes) {
      if (!model::isComputePass(pass->pass)) continue;
      ++computations;
      stated = stated || pass->stage >= 0;
      begins.add(*pass);
    }
    if (computations > 0 && !stated)
      open.push_back({device, passes.front()->rank, begins.first(), begins.peer()});
  }
  std::ranges::stable_sort(open, {}, &OpenRank::rank);
  return open;
}

/// Places by the ranks that messages state; nothing if these form no pipelines of the same length.
std::vector<Place> placesByPeers(const std::vector<OpenRank>& ranks) {
  std::map<std::int64_t, std::size_t> after;  // by rank: index of the rank that it feeds
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].rank < 0 || ranks[i].first != (ranks[i].before < 0)) return {};
    if (!ranks[i].first && !after.emplace(ranks[i].before, i).second) return {};
  }
  std::vector<Place> places(ranks.size(), Place(-1, -1));
  std::size_t placed = 0, length = 0;
  std::int32_t replica = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!ranks[i].first) continue;
    std::int32_t stage = 0;
    for (std::size_t at = i;;) {
      places[at] = {stage++, replica};
      ++placed;
      const auto next = after.find(ranks[at].rank);
      if (next == after.end()) break;
      at = next->second;
    }
    if (replica++ > 0 && length != static_cast<std::size_t>(stage)) return {};
    length = static_cast<std::size_t>(stage);
  }
  return placed == ranks.size() && length > 1 ? places : std::vector<Place>();
}

/// Places by the order of the ranks; nothing if they form no pipelines.
std::vector<Place> placesByOrder(const std::vector<OpenRank>& ranks, bool messages) {
  const std::size_t count = ranks.size();
  const auto isFirst = [&](std::size_t i) { return messages ? ranks[i].first : i == 0; };
  std::size_t replicas = 0;
  for (std::size_t i = 0; i < count; ++i) replicas += isFirst(i) ? 1 : 0;
  if (count < 2 || replicas == 0 || count % replicas != 0 || count == replicas) return {};
  const std::size_t stages = count / replicas;
  // The ranks of a pipeline are neighbours, or those of a stage are.
  bool pipelines = true, layers = true;
  for (std::size_t i = 0; i < count; ++i) {
    pipelines = pipelines && isFirst(i) == (i % stages == 0);
    layers = layers && isFirst(i) == (i < replicas);
  }
  if (!pipelines && !layers) return {};
  std::vector<Place> places;
  for (std::size_t i = 0; i < count; ++i)
    places.emplace_back(static_cast<std::int32_t>(pipelines ? i % stages : i / replicas),
                        static_cast<std::int32_t>(pipelines ? i / stages : i % replicas));
  return places;
}

}  // namespace

std::int64_t inferStages(RecordedEvents& events, const PassesOfDevice& byDevice) {
  // The call that posts a receive ends long before the message arrives.
  const std::vector<OpenRank> ranks = openRanks(byDevice, joinedSlices(events.receives, false));
  std::vector<Place> places = placesByPeers(ranks);
  if (places.empty()) places = placesByOrder(ranks, !events.receives.empty());
  if (places.empty()) return 0;
  std::map<DeviceId, Place> placeOf;
  for (std::size_t i = 0; i < ranks.size(); ++i) placeOf[ranks[i].device] = places[i];
  std::int64_t inferred = 0;
  for (auto* list : {&events.passes, &events.sends, &events.receives}) {
    for (RecordedPass& pass : *list) {
      const auto place = placeOf.find(pass.device);
      if (place == placeOf.end() || pass.stage >= 0) continue;
      pass.stage = place->second.first;
      if (pass.replica.empty()) pass.replica = std::to_string(place->second.second);
      inferred += list == &events.passes && model::isComputePass(pass.pass) ? 1 : 0;
    }
  }
  return inferred;
}

}  // namespace pipescope::importing
