#include "engine/plan/split_search.h"

#include <algorithm>
#include <map>

namespace pipescope::plan {

std::int64_t countSplits(const SearchSpace& space) {
  if (space.stages == 0 || space.borders.size() + 1 < space.stages) return 0;
  constexpr std::int64_t kMost = std::int64_t{1} << 62U;
  std::int64_t count = 1;
  for (std::size_t k = 1; k < space.stages; ++k) {
    const auto factor = static_cast<std::int64_t>(space.borders.size() - k + 1);
    if (count > kMost / factor) return kMost;
    count = count * factor / static_cast<std::int64_t>(k);
  }
  return count;
}

namespace {

/// A split by indices into SearchSpace::borders, without the first stage, which begins at 0.
using BorderIndices = std::vector<std::size_t>;

class SplitSearch {
 public:
  SplitSearch(const SearchSpace& space, const Evaluate& evaluate, const Bound& bound,
              base::Progress& progress)
      : space_(space), evaluate_(evaluate), bound_(bound), progress_(progress) {}

  base::Result<std::optional<Found>> run() {
    const std::int64_t all = countSplits(space_);
    if (all == 0) return std::optional<Found>();
    exact_ = all <= space_.mostInAll;
    for (const Cuts& start : space_.starts) {
      if (const std::optional<BorderIndices> indices = indicesOf(start)) PIPESCOPE_TRY(attempt(*indices));
    }
    if (exact_) {
      PIPESCOPE_TRY(tryAll());
    } else {
      PIPESCOPE_TRY(climbFromStarts());
    }
    if (!best_) return std::optional<Found>();
    Found found{cutsOf(best_->first), best_->second, std::nullopt, exact_ && !progress_.cancelled(), tried_};
    if (second_) found.runnerUp = {cutsOf(second_->first), second_->second};
    return std::optional(std::move(found));
  }

 private:
  using Tried = std::pair<BorderIndices, Value>;

  Cuts cutsOf(const BorderIndices& indices) const {
    Cuts cuts{0};
    for (const std::size_t index : indices) cuts.push_back(space_.borders[index]);
    return cuts;
  }
  std::optional<BorderIndices> indicesOf(const Cuts& cuts) const {
    if (cuts.size() != space_.stages || cuts.front() != 0) return std::nullopt;
    BorderIndices indices;
    for (std::size_t s = 1; s < cuts.size(); ++s) {
      const auto at = std::ranges::lower_bound(space_.borders, cuts[s]);
      if (at == space_.borders.end() || *at != cuts[s]) return std::nullopt;
      indices.push_back(static_cast<std::size_t>(at - space_.borders.begin()));
    }
    return indices;
  }

  bool done() const { return progress_.cancelled() || (!exact_ && tried_ >= space_.mostTried); }

  /// Evaluates a split, unless its bound shows that it would be neither the best nor the second.
  base::Status attempt(const BorderIndices& indices) {
    if (values_.contains(indices)) return {};
    const Cuts cuts = cutsOf(indices);
    if (exact_ && bound_ && second_ && !(bound_(cuts) < second_->second)) return {};
    ++tried_;
    PIPESCOPE_ASSIGN(const std::optional<Value> value, evaluate_(cuts));
    values_.emplace(indices, value);
    if (!value) return {};
    if (!best_ || *value < best_->second) {
      second_ = best_;
      best_ = {indices, *value};
    } else if (!second_ || *value < second_->second) {
      second_ = {indices, *value};
    }
    if (!exact_) report(tried_, space_.mostTried);
    return {};
  }
  void report(std::int64_t done, std::int64_t all) const {
    progress_.report(static_cast<double>(done) / static_cast<double>(all + 1),
                     "searching for the best split");
  }

  base::Status tryAll() {
    BorderIndices indices;
    for (std::size_t k = 0; k + 1 < space_.stages; ++k) indices.push_back(k);
    const std::int64_t all = countSplits(space_);
    for (std::int64_t seen = 0; !done(); ++seen) {
      report(seen, all);
      PIPESCOPE_TRY(attempt(indices));
      if (!next(indices)) return {};
    }
    return {};
  }
  /// The next split in lexicographic order; false after the last.
  bool next(BorderIndices& indices) const {
    const std::size_t count = space_.borders.size();
    for (std::size_t k = indices.size(); k-- > 0;) {
      if (indices[k] + (indices.size() - k) >= count) continue;
      ++indices[k];
      for (std::size_t j = k + 1; j < indices.size(); ++j) indices[j] = indices[j - 1] + 1;
      return true;
    }
    return false;
  }

  base::Status climbFromStarts() {
    std::vector<BorderIndices> starts;
    for (const Cuts& start : space_.starts) {
      if (const std::optional<BorderIndices> indices = indicesOf(start)) starts.push_back(*indices);
    }
    if (starts.empty()) {
      BorderIndices even;
      for (std::size_t s = 1; s < space_.stages; ++s)
        even.push_back(s * space_.borders.size() / space_.stages);
      starts.push_back(even);
    }
    std::ranges::stable_sort(starts, [&](const auto& a, const auto& b) { return valueOf(a) < valueOf(b); });
    for (const BorderIndices& start : starts) PIPESCOPE_TRY(climb(start));
    return space_.stages > 1 ? kick() : base::Status();
  }

  /// The value of a split that was evaluated. Others are worse than every value.
  Value valueOf(const BorderIndices& indices) const {
    const auto at = values_.find(indices);
    if (at == values_.end() || !at->second) return {INT64_MAX, INT64_MAX};
    return *at->second;
  }

  /// Moves to a better neighbour as long as there is one. Returns where that ends.
  base::Result<BorderIndices> climb(BorderIndices at) {
    PIPESCOPE_TRY(attempt(at));
    for (bool moves = true; moves && !done();) {
      moves = false;
      for (const BorderIndices& neighbour : neighbours(at)) {
        if (done()) break;
        if (bound_ && !(bound_(cutsOf(neighbour)) < valueOf(at))) continue;
        PIPESCOPE_TRY(attempt(neighbour));
        if (!(valueOf(neighbour) < valueOf(at))) continue;
        at = neighbour;
        moves = true;
        break;
      }
    }
    return at;
  }

  /// Climbs again from splits near the best one, which leaves hollows that single moves do not. The choice
  /// of these splits is arbitrary but always the same.
  base::Status kick() {
    std::uint64_t state = 1;
    const auto below = [&](std::size_t count) {
      // The multiplier and the increment are Knuth's (MMIX); the upper bits are the good ones.
      state = state * 6364136223846793005U + 1442695040888963407U;
      return static_cast<std::size_t>((state >> 33U) % count);
    };
    for (int kicks = 0; kicks < space_.kicks && best_ && !done(); ++kicks) {
      BorderIndices at = best_->first;
      for (std::size_t moves = 1 + below(3); moves > 0; --moves) {
        const std::size_t k = below(at.size());
        const std::size_t first = k == 0 ? 0 : at[k - 1] + 1;
        const std::size_t end = k + 1 == at.size() ? space_.borders.size() : at[k + 1];
        at[k] = first + below(end - first);
      }
      const Value before = best_->second;
      PIPESCOPE_ASSIGN(const BorderIndices top, climb(at));
      if (valueOf(top) < before) kicks = 0;
    }
    return {};
  }

  /// Splits with a run of neighbouring borders moved together by 1, 2, 4 … places.
  std::vector<BorderIndices> neighbours(const BorderIndices& at) const {
    std::vector<BorderIndices> all;
    const std::size_t count = space_.borders.size();
    for (std::size_t first = 0; first < at.size(); ++first) {
      for (std::size_t end = first + 1; end <= at.size(); ++end) {
        const std::size_t down = at[first] - (first == 0 ? 0 : at[first - 1] + 1);
        const std::size_t up = (end == at.size() ? count : at[end]) - 1 - at[end - 1];
        const std::size_t farthest = end == first + 1 ? count : 1;
        for (std::size_t step = 1; step <= std::min(farthest, std::max(down, up)); step *= 2) {
          if (step <= down) all.push_back(moved(at, first, end, -static_cast<std::ptrdiff_t>(step)));
          if (step <= up) all.push_back(moved(at, first, end, static_cast<std::ptrdiff_t>(step)));
        }
      }
    }
    return all;
  }
  static BorderIndices moved(BorderIndices at, std::size_t first, std::size_t end, std::ptrdiff_t by) {
    for (std::size_t k = first; k < end; ++k)
      at[k] = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(at[k]) + by);
    return at;
  }

  const SearchSpace& space_;
  const Evaluate& evaluate_;
  const Bound& bound_;
  base::Progress& progress_;
  bool exact_ = false;
  std::int64_t tried_ = 0;
  std::map<BorderIndices, std::optional<Value>> values_;
  std::optional<Tried> best_, second_;
};

}  // namespace

base::Result<std::optional<Found>> searchSplits(const SearchSpace& space, const Evaluate& evaluate,
                                                const Bound& bound, base::Progress& progress) {
  return SplitSearch(space, evaluate, bound, progress).run();
}

}  // namespace pipescope::plan
