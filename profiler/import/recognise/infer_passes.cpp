#include "profiler/import/recognise/infer_passes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "profiler/import/recognise/infer_messages.h"

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::Pass;

/// One side of a message on its rank.
struct RankMessage {
  Ticks start, end;
  bool sends = false;
};

struct RankEvents {
  DeviceId device;
  std::int64_t rank = -1;
  std::vector<RankMessage> messages;              // messages in the order of their starts
  std::vector<std::pair<Ticks, Ticks>> backward;  // operators, in the order of their starts
  std::vector<Ticks> steps;                       // starts of training steps, in order
  std::int64_t sends = 0, receives = 0;
};

std::vector<RankEvents> ranksOf(const RecordedEvents& events) {
  std::map<DeviceId, RankEvents> ranks;
  for (const bool sends : {true, false}) {
    for (const RecordedPass& side : joinedSlices(sends ? events.sends : events.receives, sends)) {
      RankEvents& rank = ranks[side.device];
      rank.device = side.device;
      rank.rank = side.rank;
      rank.messages.push_back({side.start, side.end, sends});
      ++(sends ? rank.sends : rank.receives);
    }
  }
  for (const RecordedStretch& stretch : events.backwardOperators)
    if (const auto rank = ranks.find(stretch.device); rank != ranks.end())
      rank->second.backward.emplace_back(stretch.start, stretch.end);
  for (const RecordedStep& step : events.steps)
    if (const auto rank = ranks.find(step.device); rank != ranks.end())
      rank->second.steps.push_back(step.start);
  std::vector<RankEvents> list;
  for (auto& [device, rank] : ranks) {
    std::stable_sort(rank.messages.begin(), rank.messages.end(),
                     [](const RankMessage& a, const RankMessage& b) { return a.start < b.start; });
    std::sort(rank.backward.begin(), rank.backward.end());
    std::sort(rank.steps.begin(), rank.steps.end());
    list.push_back(std::move(rank));
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return list;
}

/// True if the numbers of messages are those of one pipeline in the order of the ranks.
bool formPipeline(const std::vector<RankEvents>& ranks) {
  if (ranks.size() < 2) return false;
  const std::int64_t once = ranks.front().sends;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const bool end = i == 0 || i + 1 == ranks.size();
    const std::int64_t wanted = end ? once : 2 * once;
    if (ranks[i].rank < 0 || ranks[i].sends != wanted || ranks[i].receives != wanted ||
        ranks[i].backward.empty())
      return false;
  }
  return once > 0;
}

/// Divides the ranks into pipelines: those that messages join, if all messages state the rank of the other
/// side.
std::vector<std::vector<RankEvents>> pipelinesOf(const RecordedEvents& events,
                                                 std::vector<RankEvents> ranks) {
  std::map<std::int64_t, std::int64_t> joined;  // a rank of the same pipeline; itself: the one that names it
  const auto named = [&](std::int64_t rank) {
    joined.emplace(rank, rank);
    while (joined[rank] != rank) rank = joined[rank] = joined[joined[rank]];
    return rank;
  };
  for (const auto* sides : {&events.sends, &events.receives}) {
    for (const RecordedPass& side : *sides) {
      if (side.rank < 0 || side.peer < 0) return {std::move(ranks)};
      const std::int64_t one = named(side.rank), other = named(side.peer);
      joined[std::max(one, other)] = std::min(one, other);
    }
  }
  std::map<std::int64_t, std::vector<RankEvents>> pipelines;
  for (RankEvents& rank : ranks) pipelines[named(rank.rank)].push_back(std::move(rank));
  std::vector<std::vector<RankEvents>> list;
  for (auto& [first, pipeline] : pipelines) list.push_back(std::move(pipeline));
  return list;
}

class RankPasses {
 public:
  /// `replica`: of all passes.
  RankPasses(const RankEvents& rank, std::int32_t stage, std::int32_t stages, std::string replica,
             std::vector<RecordedPass>& passes)
      : rank_(rank), stage_(stage), stages_(stages), replica_(std::move(replica)), passes_(passes) {}

  void propose() {
    std::optional<Ticks> from;  // end of the message before
    bool received = false;
    for (std::size_t i = 0; i <= rank_.messages.size(); ++i) {
      const bool last = i == rank_.messages.size();
      const bool sent = !last && rank_.messages[i].sends;
      if (from || !last)
        between(from, last ? std::nullopt : std::optional(rank_.messages[i].start), received, sent);
      if (last) break;
      from = rank_.messages[i].end;
      received = !rank_.messages[i].sends;
    }
  }

 private:
  /// Stretch between two messages.
  void between(std::optional<Ticks> from, std::optional<Ticks> to, bool received, bool sent) {
    const auto first = std::lower_bound(rank_.backward.begin(), rank_.backward.end(),
                                        std::pair(from.value_or(Ticks(INT64_MIN)), Ticks(INT64_MIN)));
    auto last = first;
    Ticks ended(INT64_MIN);
    for (; last != rank_.backward.end() && (!to || last->first < *to); ++last)
      ended = std::max(ended, last->second);
    const bool backward = last != first;
    if (to) ended = std::min(ended, *to);
    if (stage_ == 0) {
      if (received && backward && from) add(Pass::backward, *from, ended);
      if (sent && to) add(Pass::forward, forwardStart(backward ? std::optional(ended) : from, *to), *to);
    } else if (stage_ + 1 == stages_) {
      if (received && from && backward) {
        add(Pass::forward, *from, first->first);
        add(Pass::backward, first->first, ended);
      } else if (received && from && to && !sent) {
        add(Pass::forward, *from, *to);
      } else if (!received && sent && backward) {
        add(Pass::backward, first->first, ended);
      }
    } else if (received && sent && from && to) {
      add(backward ? Pass::backward : Pass::forward, *from, *to);
    }
  }

  /// A forward pass of the first rank begins behind what came before it, but not before its step.
  Ticks forwardStart(std::optional<Ticks> before, Ticks to) const {
    const auto after = std::upper_bound(rank_.steps.begin(), rank_.steps.end(), to);
    if (after == rank_.steps.begin()) return before.value_or(to);
    return before ? std::max(*before, *std::prev(after)) : *std::prev(after);
  }

  void add(Pass kind, Ticks start, Ticks end) {
    if (end <= start) return;
    RecordedPass pass;
    pass.device = rank_.device;
    pass.rank = rank_.rank;
    pass.start = start;
    pass.end = end;
    pass.pass = kind;
    pass.stage = stage_;
    pass.replica = replica_;
    pass.countsMicroBatch = true;
    pass.name = kind == Pass::forward ? "forward (proposed)" : "backward (proposed)";
    passes_.push_back(std::move(pass));
  }

  const RankEvents& rank_;
  const std::int32_t stage_, stages_;
  const std::string replica_;
  std::vector<RecordedPass>& passes_;
};

}  // namespace

std::int64_t inferPasses(RecordedEvents& events) {
  const bool recognised =
      std::any_of(events.passes.begin(), events.passes.end(),
                  [](const RecordedPass& pass) { return model::isComputePass(pass.pass); });
  if (recognised || events.sends.empty()) return 0;
  const std::vector<std::vector<RankEvents>> pipelines = pipelinesOf(events, ranksOf(events));
  std::vector<RecordedPass> proposed;
  for (std::size_t replica = 0; replica < pipelines.size(); ++replica) {
    const std::vector<RankEvents>& ranks = pipelines[replica];
    if (!formPipeline(ranks) || ranks.size() != pipelines.front().size()) return 0;
    const std::string name = pipelines.size() > 1 ? std::to_string(replica) : std::string();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto before = static_cast<std::ptrdiff_t>(proposed.size());
      RankPasses(ranks[i], static_cast<std::int32_t>(i), static_cast<std::int32_t>(ranks.size()), name,
                 proposed)
          .propose();
      // Each micro-batch has one forward and one backward pass on each rank. Other numbers mean that the
      // messages do not divide the passes.
      for (const Pass kind : {Pass::forward, Pass::backward})
        if (std::count_if(proposed.begin() + before, proposed.end(),
                          [&](const RecordedPass& pass) { return pass.pass == kind; }) != ranks.front().sends)
          return 0;
    }
  }
  events.passes.insert(events.passes.end(), proposed.begin(), proposed.end());
  return static_cast<std::int64_t>(proposed.size());
}

}  // namespace pipescope::importing
