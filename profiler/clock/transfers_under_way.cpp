#include "profiler/clock/transfers_under_way.h"

#include <algorithm>

namespace pipescope::clock {
namespace {

/// Returns left · to ÷ from, rounded up.
base::Ticks atPace(base::Ticks left, base::Ticks to, base::Ticks from) {
  __extension__ using Wide = __int128;
  const Wide product = static_cast<Wide>(left.count) * to.count;
  return base::Ticks(static_cast<std::int64_t>((product + from.count - 1) / from.count));
}

}  // namespace

void TransfersUnderWay::begin(TransferUnderWay transfer) {
  transfer.end = transfer.start;
  transfer.ticks = base::Ticks(-1);
  add(transfer);
}

int TransfersUnderWay::beginLoad(TransferUnderWay collective) {
  collective.ticks = Contention::kLoadAlone;
  return add(collective);
}

int TransfersUnderWay::add(TransferUnderWay transfer) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<int>(all_.size()));
    all_.emplace_back();
  }
  const int index = unused_.back();
  unused_.pop_back();
  TransferUnderWay& own = all_[static_cast<std::size_t>(index)];
  transfer.changes = own.changes;
  own = transfer;
  const int group = contention_.groupOf(own.flow);
  if (group == Contention::kAlone) return index;
  std::vector<int>& active = active_[static_cast<std::size_t>(group)];
  const auto after = std::upper_bound(active.begin(), active.end(), own.flow, [&](int flow, int other) {
    return flow < all_[static_cast<std::size_t>(other)].flow;
  });
  active.insert(after, index);
  changed_.push_back(group);
  return index;
}

TransferUnderWay TransfersUnderWay::end(int index) {
  TransferUnderWay& transfer = all_[static_cast<std::size_t>(index)];
  ++transfer.changes;
  const int group = contention_.groupOf(transfer.flow);
  if (group != Contention::kAlone) {
    std::erase(active_[static_cast<std::size_t>(group)], index);
    changed_.push_back(group);
  }
  unused_.push_back(index);
  return transfer;
}

const std::vector<int>& TransfersUnderWay::retimed(base::Ticks now) {
  if (changed_.size() > 1) {
    std::ranges::sort(changed_);
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  }
  retimed_.clear();
  for (const int group : changed_) {
    const std::vector<int>& active = active_[static_cast<std::size_t>(group)];
    if (active.empty()) continue;
    flows_.clear();
    for (const int index : active) flows_.push_back(all_[static_cast<std::size_t>(index)].flow);
    const std::vector<base::Ticks>& ticks = contention_.together(flows_);
    for (std::size_t i = 0; i < active.size(); ++i) {
      TransferUnderWay& transfer = all_[static_cast<std::size_t>(active[i])];
      if (transfer.ticks == ticks[i]) continue;
      transfer.end =
          now + (transfer.ticks.count < 0 ? ticks[i] : atPace(transfer.end - now, ticks[i], transfer.ticks));
      transfer.ticks = ticks[i];
      ++transfer.changes;
      retimed_.push_back(active[i]);
    }
  }
  changed_.clear();
  return retimed_;
}

}  // namespace pipescope::clock
