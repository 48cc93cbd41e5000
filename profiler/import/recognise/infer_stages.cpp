#include "profiler/import/recognise/infer_stages.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "profiler/import/recognise/infer_messages.h"

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::Pass;

/// A rank whose passes state no stage.
struct OpenRank {
  DeviceId device;
  std::int64_t rank = -1;
  bool first = true;                  ///< receives nothing before the first forward pass of a step
  std::int64_t before = -1;           ///< rank that feeds the first forward pass of a step; −1: not stated
  std::set<std::int64_t> neighbours;  ///< ranks that it receives messages from, as far as these are stated
  std::int64_t computations = 0;
};

/// Stage and replica of a rank.
using Place = std::pair<std::int32_t, std::int32_t>;

/// Finds what feeds the forward passes of a device with which its steps begin.
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

/// True if the passes of a rank state no stage.
bool isOpen(const std::vector<RecordedPass*>& passes) {
  return std::ranges::none_of(
      passes, [](const RecordedPass* pass) { return model::isComputePass(pass->pass) && pass->stage >= 0; });
}

std::vector<OpenRank> openRanks(const PassesOfDevice& byDevice, const std::vector<RecordedPass>& receives) {
  std::map<DeviceId, std::vector<const RecordedPass*>> received;
  for (const RecordedPass& side : receives) received[side.device].push_back(&side);
  std::vector<OpenRank> open;
  for (const auto& [device, passes] : byDevice) {
    StepBegins begins(received[device]);
    std::int64_t computations = 0;
    for (const RecordedPass* pass : passes) {
      if (!model::isComputePass(pass->pass)) continue;
      ++computations;
      begins.add(*pass);
    }
    if (computations == 0 || !isOpen(passes)) continue;
    open.push_back({device, passes.front()->rank, begins.first(), begins.peer(), {}, computations});
    for (const RecordedPass* side : received[device])
      if (side->peer >= 0) open.back().neighbours.insert(side->peer);
  }
  std::ranges::stable_sort(open, {}, &OpenRank::rank);
  return open;
}

/// Places by the ranks that messages state; nothing if these form no pipelines of the same length.
std::vector<Place> placesByPeers(const std::vector<OpenRank>& ranks) {
  std::map<std::int64_t, std::size_t> after;  // index of the rank that each rank feeds
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

/// True if ranks receive messages from ranks whose traces are missing.
bool lacksPeers(const std::vector<OpenRank>& ranks) {
  std::set<std::int64_t> known;
  for (const OpenRank& rank : ranks) known.insert(rank.rank);
  return std::ranges::any_of(
      ranks, [&](const OpenRank& rank) { return !std::ranges::includes(known, rank.neighbours); });
}

/// Places where traces of ranks are missing. The ranks of a pipeline and their neighbours, the missing ones
/// too, form a line; nothing if they do not, as where ranks hold several chunks of the model and form a ring,
/// or if the first rank of a line is missing, because nobody knows how many are missing before it.
std::vector<Place> placesInLines(const std::vector<OpenRank>& ranks) {
  std::map<std::int64_t, std::set<std::int64_t>> beside;
  std::map<std::int64_t, std::size_t> known;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].rank < 0 || !known.emplace(ranks[i].rank, i).second) return {};
    for (const std::int64_t other : ranks[i].neighbours) {
      beside[ranks[i].rank].insert(other);
      beside[other].insert(ranks[i].rank);
    }
  }
  std::vector<Place> places(ranks.size(), Place(-1, -1));
  std::size_t placed = 0, length = 0;
  std::int32_t replica = 0;
  for (const OpenRank& first : ranks) {
    if (!first.first) continue;
    std::int64_t last = -1, at = first.rank;
    std::int32_t stage = 0;
    std::set<std::int64_t> line;
    while (at >= 0) {
      std::set<std::int64_t> next = beside[at];
      next.erase(last);
      if (next.size() > 1 || !line.insert(at).second) return {};
      if (const auto own = known.find(at); own != known.end()) {
        const OpenRank& rank = ranks[own->second];
        if (places[own->second].first >= 0 || rank.first != (stage == 0)) return {};
        if (!rank.first && rank.before != last) return {};
        places[own->second] = {stage, replica};
        ++placed;
      }
      ++stage;
      last = at;
      at = next.empty() ? -1 : *next.begin();
    }
    if (replica++ > 0 && length != line.size()) return {};
    length = line.size();
  }
  return placed == ranks.size() && length > 1 ? places : std::vector<Place>();
}

/// True if the ranks of each pipeline follow each other at equal distances, as far as they are stated.
bool areEven(const std::vector<OpenRank>& ranks, const std::vector<Place>& places) {
  std::map<Place, std::int64_t> rankOf;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].rank < 0) return true;
    rankOf[places[i]] = ranks[i].rank;
  }
  std::set<std::int64_t> distances;
  for (const auto& [place, rank] : rankOf)
    if (const auto next = rankOf.find({place.first + 1, place.second}); next != rankOf.end())
      distances.insert(next->second - rank);
  return distances.size() <= 1;
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

StagesInferred inferStages(RecordedEvents& events, const PassesOfDevice& byDevice) {
  // The call that posts a receive ends long before the message arrives.
  std::vector<RecordedPass> receives;
  for (const RecordedPass& side : events.receives)
    if (const auto own = byDevice.find(side.device); own != byDevice.end() && isOpen(own->second))
      receives.push_back(side);
  const std::vector<OpenRank> ranks = openRanks(byDevice, joinedSlices(std::move(receives), false));
  std::vector<Place> places;
  const bool lacks = lacksPeers(ranks);
  if (events.leavesOutMessages()) {
    places.clear();  // Nobody knows which ranks come first.
  } else if (lacks) {
    places = placesInLines(ranks);
  } else if (places = placesByPeers(ranks); places.empty()) {
    places = placesByOrder(ranks, !events.receives.empty());
    if (!places.empty() && !areEven(ranks, places)) places.clear();
  }
  StagesInferred inferred;
  if (places.empty()) {
    for (const OpenRank& rank : ranks) inferred.unplaced += lacks ? rank.computations : 0;
    return inferred;
  }
  std::map<DeviceId, Place> placeOf;
  for (std::size_t i = 0; i < ranks.size(); ++i) placeOf[ranks[i].device] = places[i];
  for (auto* list : {&events.passes, &events.sends, &events.receives}) {
    for (RecordedPass& pass : *list) {
      const auto place = placeOf.find(pass.device);
      if (place == placeOf.end() || pass.stage >= 0) continue;
      pass.stage = place->second.first;
      if (pass.replica.empty()) pass.replica = std::to_string(place->second.second);
      inferred.placed += list == &events.passes && model::isComputePass(pass.pass) ? 1 : 0;
    }
  }
  return inferred;
}

}  // namespace pipescope::importing
