#include "profiler/analysis/memory/pool_placer.h"

#include <algorithm>
#include <numeric>

namespace pipescope::analysis {
namespace {

using model::MemoryPlace;
using Use = model::UnitPool::Use;
using Spans = std::vector<AddressSpan>;

/// The holes that `busy` leaves in the spans.
Spans holesOf(const Spans& spans, const Spans& busy) {
  Spans holes;
  for (const AddressSpan& span : spans) {
    std::int64_t at = span.from;
    for (const AddressSpan& taken : busy) {
      if (taken.to <= at) continue;
      if (taken.from >= span.to) break;
      if (taken.from > at) holes.push_back({at, taken.from});
      at = taken.to;
    }
    if (at < span.to) holes.push_back({at, span.to});
  }
  return holes;
}

class PoolPlacer {
 public:
  PoolPlacer(const std::vector<SharedItem>& items, const std::vector<model::UnitPool>& pools)
      : items_(items), order_(items.size()) {
    for (const model::UnitPool& pool : pools) {
      if (pool.use == Use::alwaysLive || pool.use == Use::gap) continue;
      spansOf(pool.use == Use::interleaved      ? MemoryPlace::interleaved
              : pool.use == Use::ownElement     ? MemoryPlace::ownElement
              : pool.use == Use::anotherElement ? MemoryPlace::anotherElement
                                                : MemoryPlace::anywhere)
          .push_back({pool.from, pool.from + pool.bytes});
    }
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_,
                             [&](std::size_t a, std::size_t b) { return items_[a].first < items_[b].first; });
  }

  SharedPlaces place() {
    constexpr MemoryPlace kAny = MemoryPlace::anywhere, kOwn = MemoryPlace::ownElement,
                          kThird = MemoryPlace::anotherElement, kWide = MemoryPlace::interleaved;
    for (const std::vector<MemoryPlace>& preferred :
         {std::vector{kAny, kOwn, kThird, kWide}, {kWide, kThird, kOwn, kAny}}) {
      restart();
      const bool found = walk(ofPlace(kWide), {}, [](const SharedItem&) { return std::vector{kWide}; }) &&
                         walk(ofPlace(kOwn), {}, [](const SharedItem&) { return std::vector{kOwn}; }) &&
                         walk(ofPlace(kThird), {}, [](const SharedItem&) { return std::vector{kThird}; }) &&
                         walk(ofPlace(kAny), demanding(), [&](const SharedItem&) { return preferred; });
      if (found) return std::move(places_);
    }
    restart();
    walk(order_, {}, [](const SharedItem& item) {
      return item.place == kWide    ? std::vector{kWide, kAny, kOwn, kThird}
             : item.place == kOwn   ? std::vector{kOwn, kAny, kThird, kWide}
             : item.place == kThird ? std::vector{kThird, kAny, kOwn, kWide}
                                    : std::vector{kAny, kOwn, kThird, kWide};
    });
    countMisplaced();
    return std::move(places_);
  }

 private:
  Spans& spansOf(MemoryPlace place) { return spans_[static_cast<std::size_t>(place)]; }

  void restart() {
    places_ = {};
    places_.pieces.resize(items_.size());
  }

  std::vector<std::size_t> ofPlace(MemoryPlace place) const {
    std::vector<std::size_t> found;
    std::ranges::copy_if(order_, std::back_inserter(found),
                         [&](std::size_t i) { return items_[i].place == place; });
    return found;
  }
  std::vector<std::size_t> demanding() const {
    std::vector<std::size_t> found;
    std::ranges::copy_if(order_, std::back_inserter(found),
                         [&](std::size_t i) { return items_[i].place != MemoryPlace::anywhere; });
    return found;
  }

  /// Places the items, which come in the order of their first steps, beside those that are placed already.
  /// Returns false at the first one that finds no room.
  template <class PoolsOf>
  bool walk(const std::vector<std::size_t>& wanted, const std::vector<std::size_t>& placed, PoolsOf poolsOf) {
    std::vector<std::size_t> live;
    std::size_t ended = 0;
    for (const std::size_t i : wanted) {
      const SharedItem& item = items_[i];
      std::erase_if(live, [&](std::size_t other) { return items_[other].end <= item.first; });
      while (ended < placed.size() && items_[placed[ended]].end <= item.first) ++ended;
      Spans busy;
      const auto addBusy = [&](std::size_t other) {
        busy.insert(busy.end(), places_.pieces[other].begin(), places_.pieces[other].end());
      };
      for (const std::size_t other : live) addBusy(other);
      for (std::size_t k = ended; k < placed.size() && items_[placed[k]].first < item.end; ++k) {
        if (items_[placed[k]].end > item.first) addBusy(placed[k]);
      }
      std::ranges::sort(busy, {}, &AddressSpan::from);
      if (!take(i, poolsOf(item), busy)) return false;
      live.push_back(i);
    }
    return true;
  }

  bool take(std::size_t i, const std::vector<MemoryPlace>& pools, const Spans& busy) {
    std::int64_t left = items_[i].bytes;
    Spans& pieces = places_.pieces[i];
    Spans holes;
    for (const MemoryPlace pool : pools) {
      for (const AddressSpan& hole : holesOf(spansOf(pool), busy)) {
        if (hole.bytes() >= left) {
          pieces = {{hole.from, hole.from + left}};
          return true;
        }
        holes.push_back(hole);
      }
    }
    for (const AddressSpan& hole : holes) {
      const std::int64_t here = std::min(left, hole.bytes());
      pieces.push_back({hole.from, hole.from + here});
      left -= here;
      if (left == 0) break;
    }
    std::ranges::sort(pieces, {}, &AddressSpan::from);
    return left == 0;
  }

  void countMisplaced() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].place == MemoryPlace::anywhere) continue;
      for (const AddressSpan& piece : places_.pieces[i]) {
        const bool inside = std::ranges::any_of(spansOf(items_[i].place), [&](const AddressSpan& span) {
          return span.from <= piece.from && piece.to <= span.to;
        });
        if (!inside) places_.misplaced += piece.bytes();
      }
    }
  }

  const std::vector<SharedItem>& items_;
  std::vector<std::size_t> order_;  ///< sorted by first step
  Spans spans_[4];                  ///< spans of each MemoryPlace
  SharedPlaces places_;
};

}  // namespace

model::UnitDemand demandOf(const std::vector<SharedItem>& items) {
  struct Change {
    std::int32_t step = 0;
    std::int64_t bytes = 0;
    MemoryPlace place = MemoryPlace::anywhere;
  };
  std::vector<Change> changes;
  for (const SharedItem& item : items) {
    changes.push_back({item.first, item.bytes, item.place});
    changes.push_back({item.end, -item.bytes, item.place});
  }
  std::ranges::sort(changes, [](const Change& a, const Change& b) {
    return a.step != b.step ? a.step < b.step : a.bytes < b.bytes;
  });
  model::UnitDemand most;
  std::int64_t all = 0, wide = 0, own = 0, third = 0;
  for (const Change& change : changes) {
    all += change.bytes;
    if (change.place == MemoryPlace::interleaved) wide += change.bytes;
    if (change.place == MemoryPlace::ownElement) own += change.bytes;
    if (change.place == MemoryPlace::anotherElement) third += change.bytes;
    most.all = std::max(most.all, all);
    most.interleaved = std::max(most.interleaved, wide);
    most.ownElement = std::max(most.ownElement, own);
    most.anotherElement = std::max(most.anotherElement, third);
  }
  return most;
}

SharedPlaces placeShared(const std::vector<SharedItem>& items, const std::vector<model::UnitPool>& pools) {
  return PoolPlacer(items, pools).place();
}

}  // namespace pipescope::analysis
