#include "profiler/import/recognise/infer_messages.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::Pass;

/// True for the slice of a backend on a host ("gloo:send"), which makes no further calls. A queue of an
/// accelerator executes the calls, so that "nccl:send" there spans the kernel of the message.
bool isTransfer(const RecordedPass& slice) {
  if (slice.queue >= 0) return false;
  const std::string& name = slice.name;
  const std::size_t colon = name.find(':');
  return colon != std::string::npos && colon + 1 < name.size() && name[colon + 1] != ':' &&
         name[colon + 1] != ' ' && !name.starts_with("PP:");
}

/// True if slices state that they are of different messages.
bool differ(const RecordedPass& one, const RecordedPass& other) {
  return (one.statesPass && other.statesPass && one.pass != other.pass) ||
         (one.microBatch >= 0 && other.microBatch >= 0 && one.microBatch != other.microBatch);
}

/// Takes over what only an inner slice of a message states.
void addFacts(const RecordedPass& slice, RecordedPass& whole) {
  if (whole.peer < 0) whole.peer = slice.peer;
  if (whole.stage < 0) whole.stage = slice.stage;
  if (whole.microBatch < 0) whole.microBatch = slice.microBatch;
  if (!whole.step) whole.step = slice.step;
  if (whole.statesPass || !slice.statesPass) return;
  whole.pass = slice.pass;
  whole.statesPass = true;
}

/// True if a slice is of the same message as the slices before it, whose calls end at `callsEnd`. On a queue
/// of an accelerator the next message may start when the one before it ends.
bool belongs(const RecordedPass& slice, const RecordedPass& whole, Ticks callsEnd) {
  if (whole.device != slice.device || whole.queue != slice.queue || !slice.statesPosting) return false;
  return (slice.queue < 0 ? slice.start : slice.end) <= callsEnd && !differ(whole, slice);
}

/// Sorts in place: there may be a million rows, and each is large.
template <class Less>
void sortInPlace(std::vector<RecordedPass>& rows, Less less) {
  std::vector<std::size_t> from(rows.size());
  std::iota(from.begin(), from.end(), std::size_t{0});
  std::stable_sort(from.begin(), from.end(),
                   [&](std::size_t a, std::size_t b) { return less(rows[a], rows[b]); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (from[i] == i) continue;
    RecordedPass first = std::move(rows[i]);
    std::size_t at = i;
    while (from[at] != i) {
      rows[at] = std::move(rows[from[at]]);
      at = std::exchange(from[at], at);
    }
    rows[at] = std::move(first);
    from[at] = at;
  }
}

/// Joins the slices of each message into the outermost one. Queues of an accelerator have messages of their
/// own. A send ends with its call, because the worker goes on while the backend transfers; a receive ends
/// with the transfer.
void joinSlices(std::vector<RecordedPass>& slices, bool sends) {
  sortInPlace(slices, [](const RecordedPass& a, const RecordedPass& b) {
    return std::tie(a.device, a.queue, a.start, b.end) < std::tie(b.device, b.queue, b.start, a.end);
  });
  std::size_t count = 0;      // number of messages so far: they stand where the first slices were
  Ticks callsEnd(INT64_MIN);  // end of the calls that the last one consists of
  bool transfers = false;     // the last one has a slice of a backend
  for (RecordedPass& slice : slices) {
    const bool transfer = isTransfer(slice);
    // Times in whole microseconds let the first slice of the backend begin behind the call that makes it.
    const Ticks rounding = transfer && !transfers ? kTimeResolution : Ticks(0);
    if (count > 0 && belongs(slice, slices[count - 1], callsEnd + rounding)) {
      RecordedPass& whole = slices[count - 1];
      whole.several = true;
      transfers = transfers || transfer;
      if (!sends || !transfer) whole.end = std::max(whole.end, slice.end);
      addFacts(slice, whole);
      if (!transfer) callsEnd = std::max(callsEnd, slice.end);
      continue;
    }
    callsEnd = transfer ? Ticks(INT64_MIN) : slice.end;
    transfers = transfer;
    if (&slices[count] != &slice) slices[count] = std::move(slice);
    slices[count++].several = false;
  }
  slices.resize(count);
  sortInPlace(slices, [](const RecordedPass& a, const RecordedPass& b) {
    return std::tie(a.device, a.start) < std::tie(b.device, b.start);
  });
}

bool isComplete(const RecordedPass& side) {
  return side.statesPass && side.stage >= 0 && side.microBatch >= 0;
}

/// The messages of one device in one direction, with the passes that they may belong to.
struct Direction {
  bool sends = false;
  std::vector<RecordedPass*> sides;  // sides in the order of their starts
  std::vector<RecordedPass*> all;    // computations of the device, in the order of their starts
  std::vector<std::size_t> passes;   // indices of those that have such a message

  bool fits(const RecordedPass& row, const RecordedPass& pass) const {
    if (row.statesPass && row.pass != pass.pass) return false;
    if (sends)
      return row.start + kTimeResolution >= pass.end || (row.start >= pass.start && row.end <= pass.end);
    return row.end <= pass.start + kTimeResolution || (row.start <= pass.end && row.end <= pass.end);
  }

  /// Messages that state their micro-batch belong to the nearest pass of it: the last one before a send, the
  /// first one behind a receive.
  std::int64_t assignStated() {
    // Indices in the order of time.
    std::map<std::pair<std::int32_t, Pass>, std::vector<std::size_t>> byMicroBatch;
    for (const std::size_t pass : passes)
      byMicroBatch[{all[pass]->microBatch, all[pass]->pass}].push_back(pass);
    std::set<std::size_t> taken;
    std::int64_t inferred = 0;
    std::vector<RecordedPass*> open;
    for (RecordedPass* side : sides) {
      const RecordedPass& row = *side;
      std::optional<std::size_t> nearest;
      const auto own = byMicroBatch.find({row.microBatch, row.pass});
      if (row.microBatch >= 0 && row.statesPass && own != byMicroBatch.end()) {
        for (const std::size_t pass : own->second) {
          if (taken.contains(pass) || (row.stage >= 0 && row.stage != all[pass]->stage)) continue;
          if (sends && all[pass]->end <= row.start + kTimeResolution) nearest = pass;
          if (!sends && all[pass]->start + kTimeResolution >= row.end && !nearest) nearest = pass;
        }
      }
      if (!nearest) {
        if (!isComplete(row)) open.push_back(side);
        continue;
      }
      inferred += isComplete(row) ? 0 : 1;
      take(*side, *all[*nearest]);
      taken.insert(*nearest);
    }
    std::erase_if(passes, [&](std::size_t pass) { return taken.contains(pass); });
    sides = std::move(open);
    return inferred;
  }

  std::int64_t assign() {
    std::int64_t assigned = assignStated();
    bool inOrder = sides.size() == passes.size();
    for (std::size_t i = 0; inOrder && i < sides.size(); ++i) inOrder = fits(*sides[i], *all[passes[i]]);
    if (inOrder) {
      for (std::size_t i = 0; i < sides.size(); ++i) take(*sides[i], *all[passes[i]]);
      return assigned + static_cast<std::int64_t>(sides.size());
    }
    std::size_t next = 0;  // messages keep their order
    for (const std::size_t pass : passes) {
      const std::size_t found = neighbour(pass, next);
      if (found == sides.size()) continue;
      take(*sides[found], *all[pass]);
      next = found + 1;
      ++assigned;
    }
    return assigned;
  }

  /// The receive that ended last before the pass, or the first send behind it, with no other pass between.
  /// `from` is moved past the messages that lie before all later passes, too.
  std::size_t neighbour(std::size_t index, std::size_t& from) const {
    const RecordedPass& pass = *all[index];
    const Ticks before = index == 0 ? Ticks(INT64_MIN) : all[index - 1]->start;
    const Ticks after = index + 1 == all.size() ? Ticks(INT64_MAX) : all[index + 1]->end;
    while (from < sides.size() && sides[from]->end <= before) ++from;
    std::size_t found = sides.size();
    for (std::size_t i = from; i < sides.size(); ++i) {
      const RecordedPass& row = *sides[i];
      if (row.start >= after) break;
      if (row.end <= before || !fits(*sides[i], pass)) continue;
      found = i;
      if (sends) break;
    }
    return found;
  }

  void take(RecordedPass& row, RecordedPass& pass) const {
    row.pass = pass.pass;
    row.statesPass = true;
    row.stage = pass.stage;
    row.microBatch = pass.microBatch;
    row.step = pass.step;
    row.replica = pass.replica;
    shorten(row, pass);
  }

  /// A worker that sends or receives within a pass computes nothing meanwhile. Another queue of an
  /// accelerator sends and receives beside the pass.
  void shorten(const RecordedPass& row, RecordedPass& pass) const {
    if (row.queue != pass.queue) return;
    if (sends && row.start > pass.start && row.start < pass.end) pass.end = row.start;
    if (!sends && row.end > pass.start && row.end < pass.end) pass.start = row.end;
  }
};

/// The stage at the other end of the message that brings the input of a pass, or takes its result away;
/// −1: none.
std::int32_t otherStage(const RecordedPass& pass, bool sends, std::int32_t stages) {
  if (pass.pass != Pass::forward && pass.pass != Pass::backward) return -1;
  const std::int32_t other = pass.stage + ((pass.pass == Pass::forward) == sends ? 1 : -1);
  return other >= stages ? -1 : other;
}

/// Finds the direction of messages that state the rank of the other side: the stages of both ranks tell in
/// which direction most of them go. Messages between ranks that are neighbours both ways, as in a ring of
/// two, stay open.
class DirectionsByPeer {
 public:
  explicit DirectionsByPeer(const RecordedEvents& events) {
    for (const RecordedPass& pass : events.passes) {
      if (!model::isComputePass(pass.pass) || pass.stage < 0 || pass.rank < 0) continue;
      stagesOf_[pass.rank].insert(pass.stage);
      stages_ = std::max(stages_, pass.stage + 1);
      if (pass.pass == Pass::forward || pass.pass == Pass::backward) ++passesOf_[pass.rank];
    }
    placeMissing(events);
  }

  void state(std::vector<RecordedPass>& sides, bool sends) const {
    for (RecordedPass& side : sides) {
      if (side.statesPass || side.rank < 0 || side.peer < 0) continue;
      const bool up = feeds(side.rank, side.peer), down = feeds(side.peer, side.rank);
      if (up == down) continue;
      side.pass = up == sends ? Pass::forward : Pass::backward;
      side.statesPass = true;
    }
  }

  std::int32_t stages() const { return stages_; }

 private:
  using Counts = std::map<std::int64_t, std::int64_t>;  // messages by the rank of the other side

  /// True if a stage of `from` has its next stage on `to`.
  bool feeds(std::int64_t from, std::int64_t to) const {
    const auto own = stagesOf_.find(from), other = stagesOf_.find(to);
    if (own == stagesOf_.end() || other == stagesOf_.end()) return false;
    return std::ranges::any_of(own->second,
                               [&](std::int32_t stage) { return other->second.contains(stage + 1); });
  }

  bool isMissing(std::int64_t rank) const { return rank >= 0 && !stagesOf_.contains(rank); }

  /// Places the ranks whose traces are missing by their messages with ranks that compute one stage.
  void placeMissing(const RecordedEvents& events) {
    std::map<std::int64_t, Counts> messages;
    for (const bool sends : {false, true}) {
      std::vector<RecordedPass> unpaired;  // slices whose other side is missing
      for (const RecordedPass& slice : sends ? events.sends : events.receives) {
        const auto own = stagesOf_.find(slice.rank);
        if (slice.peer < 0 || own == stagesOf_.end() || own->second.size() != 1) continue;
        if (isMissing(slice.peer)) {
          unpaired.push_back(slice);
        } else {
          messages[slice.rank].try_emplace(slice.peer, 0);
        }
      }
      for (const RecordedPass& side : joinedSlices(std::move(unpaired), sends))
        ++messages[side.rank][side.peer];
    }
    std::map<std::int64_t, std::set<std::int32_t>> places;
    for (const auto& [rank, counts] : messages) {
      const auto place = placeBeside(rank, counts);
      if (!place) continue;
      stages_ = std::max(stages_, place->second + 1);
      if (place->first >= 0) places[place->first].insert(place->second);
    }
    for (auto& [rank, stages] : places)
      if (stages.size() == 1) stagesOf_[rank] = std::move(stages);
  }

  /// The missing rank that exchanges messages with a rank, and its stage; rank −1 if it is one of two. A
  /// neighbour takes or sends a message for nearly every pass.
  std::optional<std::pair<std::int64_t, std::int32_t>> placeBeside(std::int64_t rank,
                                                                   const Counts& counts) const {
    constexpr double kLeastShare = 0.9, kMostShare = 1.1;
    const std::int32_t stage = *stagesOf_.at(rank).begin();
    const auto passes = passesOf_.find(rank);
    if (passes == passesOf_.end()) return std::nullopt;
    bool before = stage == 0, behind = false;  // the neighbours are known
    std::vector<std::int64_t> missing;
    for (const auto& [peer, count] : counts) {
      before = before || feeds(peer, rank);
      behind = behind || feeds(rank, peer);
      const double share = static_cast<double>(count) / static_cast<double>(passes->second);
      if (isMissing(peer) && share >= kLeastShare && share <= kMostShare) missing.push_back(peer);
    }
    const std::size_t open = (before ? 0 : 1) + (behind ? 0 : 1);
    if (missing.empty() || missing.size() > open) return std::nullopt;
    if (missing.size() == 2) return std::pair(std::int64_t{-1}, stage + 1);
    return std::pair(missing.front(), before ? stage + 1 : stage - 1);
  }

  std::map<std::int64_t, std::set<std::int32_t>> stagesOf_;  // keyed by rank
  Counts passesOf_;                                          // forward and backward passes of each rank
  std::int32_t stages_ = 0;
};

class MessageFinder {
 public:
  explicit MessageFinder(RecordedEvents& events) {
    for (RecordedPass& pass : events.passes) {
      if (!model::isComputePass(pass.pass) || pass.stage < 0 || pass.microBatch < 0) continue;
      computations_[pass.device].push_back(&pass);
      stagesOf_[pass.device].insert(pass.stage);
      byKey_[keyOf(pass)] = &pass;
      stages_ = std::max(stages_, pass.stage + 1);
      steps_ = steps_ || pass.step.has_value();
    }
    stages_ = std::max(stages_, events.stages);
    for (auto& [device, list] : computations_)
      std::stable_sort(list.begin(), list.end(),
                       [](const auto* a, const auto* b) { return a->start < b->start; });
  }

  std::int64_t find(std::vector<RecordedPass>& sides, bool sends) {
    joinSlices(sides, sends);
    // Messages of a device: those of any pass, of forward and of backward passes.
    std::map<std::pair<DeviceId, std::optional<Pass>>, Direction> directions;
    std::map<DeviceId, std::set<const RecordedPass*>> stated;
    for (RecordedPass& side : sides) {
      // Transfers of our own exports state their micro-batch if they have one.
      if (!side.statesPosting && side.microBatch < 0) continue;
      if (!isComplete(side) || (steps_ && !side.step)) {
        const auto pass = side.statesPass ? std::optional(side.pass) : std::nullopt;
        directions[{side.device, pass}].sides.push_back(&side);
      } else if (const auto pass = byKey_.find(keyOf(side)); pass != byKey_.end()) {
        stated[side.device].insert(pass->second);
        if (side.several) Direction{sends, {}, {}, {}}.shorten(side, *pass->second);
      }
    }
    std::int64_t assigned = 0;
    for (auto& [place, direction] : directions) {
      const auto& [device, kind] = place;
      direction.sends = sends;
      direction.all = computations_[device];
      for (std::size_t i = 0; i < direction.all.size(); ++i) {
        if (kind && direction.all[i]->pass != *kind) continue;
        const std::int32_t other = otherStage(*direction.all[i], sends, stages_);
        if (other >= 0 && !stagesOf_[device].contains(other) && !stated[device].contains(direction.all[i]))
          direction.passes.push_back(i);
      }
      assigned += direction.assign();
    }
    return assigned;
  }

 private:
  using Key = std::tuple<DeviceId, std::int64_t, std::int32_t, std::int32_t, Pass>;
  static Key keyOf(const RecordedPass& pass) {
    return {pass.device, pass.step.value_or(-1), pass.microBatch, pass.stage, pass.pass};
  }

  std::map<DeviceId, std::vector<RecordedPass*>> computations_;
  std::map<DeviceId, std::set<std::int32_t>> stagesOf_;
  std::map<Key, RecordedPass*> byKey_;
  std::int32_t stages_ = 0;
  bool steps_ = false;  // passes know their training step
};

}  // namespace

std::vector<RecordedPass> joinedSlices(std::vector<RecordedPass> slices, bool sends) {
  joinSlices(slices, sends);
  return slices;
}

std::int64_t inferMessages(RecordedEvents& events) {
  const DirectionsByPeer directions(events);
  events.stages = directions.stages();
  directions.state(events.receives, false);
  directions.state(events.sends, true);
  MessageFinder finder(events);
  // Receives first: a pass that waited for its input within itself begins later.
  const std::int64_t receives = finder.find(events.receives, false);
  return receives + finder.find(events.sends, true);
}

std::vector<std::pair<std::size_t, std::size_t>> pairMessages(const std::vector<RecordedPass>& sends,
                                                              const std::vector<RecordedPass>& receives) {
  const auto pointersTo = [](const std::vector<RecordedPass>& rows) {
    std::vector<const RecordedPass*> pointers;
    pointers.reserve(rows.size());
    for (const RecordedPass& row : rows) pointers.push_back(&row);
    return pointers;
  };
  return pairMessages(pointersTo(sends), pointersTo(receives));
}

std::vector<std::pair<std::size_t, std::size_t>> pairMessages(
    const std::vector<const RecordedPass*>& sends, const std::vector<const RecordedPass*>& receives) {
  using Key = std::tuple<std::string, std::int64_t, std::int32_t, std::int32_t, Pass>;
  using Ranks = std::tuple<std::int64_t, std::int64_t>;  // from, to
  std::map<Key, std::size_t> byPass;
  std::map<Ranks, std::vector<std::size_t>> byRanks;
  // Both slices of a transfer in our own exports have its times.
  std::map<std::tuple<Pass, Ticks, Ticks>, std::vector<std::size_t>> byTimes;
  const auto byStart = [](const std::vector<const RecordedPass*>& sides) {
    std::vector<std::size_t> order(sides.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return sides[a]->start < sides[b]->start; });
    return order;
  };
  for (const std::size_t i : byStart(sends)) {
    const RecordedPass& send = *sends[i];
    if (isComplete(send))
      byPass[{send.replica, send.step.value_or(-1), send.microBatch, send.stage, send.pass}] = i;
    if (send.rank >= 0 && send.peer >= 0) byRanks[{send.rank, send.peer}].push_back(i);
    if (!send.statesPosting && !isComplete(send)) byTimes[{send.pass, send.start, send.end}].push_back(i);
  }
  for (auto& [times, list] : byTimes) std::reverse(list.begin(), list.end());  // the first one is taken first
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::map<Ranks, std::size_t> received;
  for (const std::size_t i : byStart(receives)) {
    const RecordedPass& receive = *receives[i];
    if (receive.rank >= 0 && receive.peer >= 0) {
      const Ranks ranks(receive.peer, receive.rank);
      const std::size_t number = received[ranks]++;
      if (number < byRanks[ranks].size()) pairs.emplace_back(byRanks[ranks][number], i);
      continue;
    }
    if (!isComplete(receive)) {
      const auto same =
          receive.statesPosting ? byTimes.end() : byTimes.find({receive.pass, receive.start, receive.end});
      if (same == byTimes.end() || same->second.empty()) continue;
      pairs.emplace_back(same->second.back(), i);
      same->second.pop_back();
      continue;
    }
    const auto send = byPass.find({receive.replica, receive.step.value_or(-1), receive.microBatch,
                                   receive.stage + (receive.pass == Pass::forward ? -1 : 1), receive.pass});
    if (send != byPass.end()) pairs.emplace_back(send->second, i);
  }
  return pairs;
}

}  // namespace pipescope::importing
