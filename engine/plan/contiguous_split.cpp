#include "engine/plan/contiguous_split.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

namespace pipescope::plan {

// Stages that share a set lie at one place. Places are numbered in the order of their first stages.
std::vector<int> placesOfSplit(const SplitProblem& problem, const std::vector<std::size_t>& first) {
  if (!problem.placeOfStage.empty()) return problem.placeOfStage;
  std::vector<std::size_t> joined(first.size());  ///< earlier stage on the same place, or the stage itself
  std::iota(joined.begin(), joined.end(), std::size_t{0});
  const auto root = [&](std::size_t stage) {
    while (joined[stage] != stage) stage = joined[stage];
    return stage;
  };
  const auto stageOf = [&](std::size_t unit) {
    return static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), unit) - first.begin()) - 1;
  };
  for (const std::vector<std::size_t>& set : problem.together) {
    for (const std::size_t unit : set) {
      const std::size_t a = root(stageOf(set.front())), b = root(stageOf(unit));
      joined[std::max(a, b)] = std::min(a, b);
    }
  }
  std::vector<int> places(first.size(), -1);
  int count = 0;
  for (std::size_t s = 0; s < first.size(); ++s) places[s] = root(s) == s ? count++ : places[root(s)];
  return places;
}

namespace {

/// State of a split whose first stages are chosen. It keeps only what later stages depend on: the places that
/// a later stage must join, because a set of `together` has units on both sides of the cut.
struct Label {
  std::vector<int> placeOfSet;      ///< place of each set that is open at the cut
  std::vector<std::int64_t> loads;  ///< loads of these places, if places are free
  double value = 0;                 ///< value that is minimised, over the stages so far
  std::size_t first = 0;            ///< the last stage's first unit
  std::size_t before = 0;           ///< index of the label at `first` that this one continues
  std::size_t number = 0;           ///< labels are continued in this order
};

/// Labels of one cut with the same open places, of which none is as good as another one in all respects.
class Front {
 public:
  explicit Front(std::vector<int> placeOfSet) : placeOfSet_(std::move(placeOfSet)) {}
  const std::vector<int>& placeOfSet() const { return placeOfSet_; }
  std::vector<Label>& labels() { return labels_; }

  void insert(const Label& made) {
    if (made.loads.size() == 1) return insertSorted(made);
    const auto noWorse = [](const Label& a, const Label& b) {
      return a.value <= b.value && std::equal(a.loads.begin(), a.loads.end(), b.loads.begin(),
                                              [](std::int64_t x, std::int64_t y) { return x <= y; });
    };
    if (std::ranges::any_of(labels_, [&](const Label& label) { return noWorse(label, made); })) return;
    std::erase_if(labels_, [&](const Label& label) { return noWorse(made, label); });
    labels_.push_back(made);
  }

 private:
  /// Labels with one open place ascend by its load and descend by value: there may be as many as there are
  /// cuts, because a place that a later stage must join may be kept free at the cost of the other stages.
  void insertSorted(const Label& made) {
    const auto at = std::ranges::lower_bound(labels_, made.loads.front(), {},
                                             [](const Label& label) { return label.loads.front(); });
    if (at != labels_.begin() && std::prev(at)->value <= made.value) return;
    if (at != labels_.end() && at->loads == made.loads && at->value <= made.value) return;
    const auto end =
        std::find_if(at, labels_.end(), [&](const Label& label) { return label.value < made.value; });
    labels_.insert(labels_.erase(at, end), made);
  }

  std::vector<int> placeOfSet_;
  std::vector<Label> labels_;
};

/// Dynamic programming over (stage, cut). A label that is no better than another one in any respect is
/// dropped, so that there is one label for each cut unless sets of `together` are open there.
class Splitter {
 public:
  explicit Splitter(const SplitProblem& problem) : p_(problem), fixed_(!problem.placeOfStage.empty()) {
    const std::size_t units = p_.units();
    cost_.assign(units + 1, 0);
    again_.assign(units + 1, 0);
    works_.assign(units + 1, 0);
    for (std::size_t u = 0; u < units; ++u) {
      cost_[u + 1] = cost_[u] + p_.cost[u];
      again_[u + 1] = again_[u] + p_.again[u];
      works_[u + 1] = works_[u] + (p_.works[u] ? 1 : 0);
    }
    open_.resize(units + 1);
    for (std::size_t set = 0; set < p_.together.size(); ++set) {
      const std::vector<std::size_t>& members = p_.together[set];
      for (std::size_t cut = members.front() + 1; cut <= members.back(); ++cut) open_[cut].push_back(set);
    }
    // Stages that each have a place of their own cannot share a set, so no cut may lie between its units.
    const bool apart = fixed_ && std::set<int>(p_.placeOfStage.begin(), p_.placeOfStage.end()).size() ==
                                     p_.placeOfStage.size();
    for (std::size_t u = 1; u < units; ++u)
      if (p_.mayCut[u] && !(apart && !open_[u].empty())) cuts_.push_back(u);
    std::vector<std::int64_t> least(p_.stages() + 1, 0);  ///< exchange at the cheapest cut before each stage
    for (std::size_t s = 1; s < p_.stages() && !cuts_.empty(); ++s) {
      const auto exchange = [&](std::size_t cut) { return p_.exchange[s][cut]; };
      least[s] = exchange(std::ranges::min(cuts_, {}, exchange));
    }
    cuts_.push_back(units);
    leastAfter_.assign(p_.stages() + 1, 0);
    for (std::size_t s = p_.stages(); s-- > 0;)
      leastAfter_[s] = leastAfter_[s + 1] + p_.fixed[s] + least[s] + least[s + 1];
  }

  std::optional<StageSplit> run() {
    if (works_.back() < static_cast<std::int64_t>(p_.stages()) || cuts_.size() < p_.stages()) return {};
    // A small bound makes the search short. A split at cheap cuts alone is found soon, and no better split
    // has a larger load.
    constexpr std::size_t kCheapCuts = 512;
    std::optional<StageSplit> known;
    if (cuts_.size() > 2 * kCheapCuts) {
      const std::vector<std::size_t> all = std::exchange(cuts_, cheapestCuts(kCheapCuts));
      known = smallestLoad();
      cuts_ = all;
    }
    std::optional<StageSplit> best = known ? solve(known->largest, false) : smallestLoad();
    if (!best) return {};
    mostSquares_ = 0;
    for (const std::int64_t cost : best->stageCost) mostSquares_ += squareOf(cost);
    return solve(best->largest, true);
  }

  /// True if there is a split whose loads are at most `bound`.
  bool canHold(std::int64_t bound) {
    if (works_.back() < static_cast<std::int64_t>(p_.stages()) || cuts_.size() < p_.stages()) return false;
    return solve(bound, false).has_value();
  }

 private:
  std::int64_t worstLoad() const {
    std::int64_t sum = cost_.back() + again_.back();
    for (const std::int64_t each : p_.fixed) sum += std::max<std::int64_t>(0, each);
    for (std::size_t s = 1; s < p_.stages(); ++s)
      sum += 2 * *std::max_element(p_.exchange[s].begin(), p_.exchange[s].end());
    return sum;
  }

  /// The split with the smallest load, found with bounds that grow from the smallest that can be.
  std::optional<StageSplit> smallestLoad() {
    const std::int64_t most = worstLoad();
    std::int64_t bound = leastLoad();
    while (true) {
      if (std::optional<StageSplit> found = solve(bound, false)) return found;
      if (bound >= most) return {};
      bound = std::min(most, bound + std::max<std::int64_t>(1, bound / 24));
    }
  }

  /// The cut of each of `count` stretches at which neighbours exchange least, and the end.
  std::vector<std::size_t> cheapestCuts(std::size_t count) const {
    if (p_.stages() < 2) return cuts_;
    const std::size_t cuts = cuts_.size() - 1;
    const auto cutAt = [&](std::size_t i) {
      return cuts_.begin() + static_cast<std::ptrdiff_t>(i * cuts / count);
    };
    std::vector<std::size_t> cheap;
    for (std::size_t i = 0; i < count; ++i)
      cheap.push_back(*std::ranges::min_element(cutAt(i), cutAt(i + 1), {},
                                                [&](std::size_t cut) { return p_.exchange[1][cut]; }));
    cheap.push_back(cuts_.back());
    return cheap;
  }

  std::int64_t leastLoad() const {
    const auto stages = static_cast<std::int64_t>(p_.stages());
    const std::int64_t share = (cost_.back() + leastAfter_.front() + stages - 1) / stages;
    // Units between neighbouring cuts stay together.
    std::int64_t most = 0;
    std::size_t before = 0;
    for (const std::size_t cut : cuts_) most = std::max(most, cost_[cut] - cost_[std::exchange(before, cut)]);
    return std::max(share, most);
  }

  /// The cost of a stage without its exchanges.
  std::int64_t unitsCost(std::size_t stage, std::size_t first, std::size_t end) const {
    return p_.fixed[stage] + cost_[end] - cost_[first] +
           (p_.recomputes[stage] ? again_[end] - again_[first] : 0);
  }
  std::int64_t costOf(std::size_t stage, std::size_t first, std::size_t end) const {
    std::int64_t sum = unitsCost(stage, first, end);
    if (stage > 0) sum += p_.exchange[stage][first];
    if (stage + 1 < p_.stages()) sum += p_.exchange[stage + 1][end];
    return sum;
  }

  bool holds(std::size_t set, std::size_t first, std::size_t end) const {
    const std::vector<std::size_t>& members = p_.together[set];
    const auto at = std::lower_bound(members.begin(), members.end(), first);
    return at != members.end() && *at < end;
  }

  /// The best split whose loads are at most `bound`. It minimises the largest load, or the sum of squares.
  std::optional<StageSplit> solve(std::int64_t bound, bool squares) {
    bound_ = bound;
    squares_ = squares;
    const std::size_t stages = p_.stages(), units = p_.units();
    labels_.assign(stages + 1, std::vector<std::vector<Label>>(units + 1));
    labels_[0][0].push_back({});
    count_ = 0;
    for (std::size_t s = 0; s < stages; ++s) {
      fronts_.assign(units + 1, {});
      if (s == 0) extend(s, 0);
      for (std::size_t i = 0; s > 0 && i + 1 < cuts_.size(); ++i) extend(s, cuts_[i]);
      for (const std::size_t cut : cuts_) complete(s + 1, cut);
    }
    const std::vector<Label>& last = labels_[stages][units];
    if (last.empty()) return std::nullopt;
    return splitOf(std::min_element(last.begin(), last.end(),
                                    [](const Label& a, const Label& b) { return a.value < b.value; }) -
                   last.begin());
  }

  /// Lets stage `stage` begin at `first` and tries all its ends.
  void extend(std::size_t stage, std::size_t first) {
    if (labels_[stage][first].empty()) return;
    const bool last = stage + 1 == p_.stages();
    auto end = last ? std::prev(cuts_.end()) : std::upper_bound(cuts_.begin(), cuts_.end(), first);
    // An end after which the other stages could not hold the rest is not worth a label (roomIsLeft).
    const auto left = static_cast<std::int64_t>(p_.stages() - stage - 1);
    const auto leavesTooMuch = [&](std::size_t cut) {
      return cost_.back() - cost_[cut] + leastAfter_[stage + 1] > left * bound_;
    };
    if (!last) end = std::partition_point(end, cuts_.end(), leavesTooMuch);
    for (; end != cuts_.end() && (last || *end < p_.units()); ++end) {
      if (unitsCost(stage, first, *end) > bound_) return;
      const std::int64_t cost = costOf(stage, first, *end);
      if (cost > bound_ || works_[*end] == works_[first]) continue;
      if (p_.fits && !p_.fits(stage, first, *end)) continue;
      for (std::size_t i = 0; i < labels_[stage][first].size(); ++i)
        continueLabel(stage, first, *end, cost, i);
    }
  }

  void continueLabel(std::size_t stage, std::size_t first, std::size_t end, std::int64_t cost,
                     std::size_t index) {
    const Label& from = labels_[stage][first][index];
    std::int64_t load = cost;
    std::vector<char>& joined = joined_;
    joined.assign(from.loads.size(), false);
    for (std::size_t i = 0; i < open_[first].size(); ++i) {
      if (!holds(open_[first][i], first, end)) continue;
      const int place = from.placeOfSet[i];
      if (fixed_ && place != p_.placeOfStage[stage]) return;
      if (fixed_ || joined[static_cast<std::size_t>(place)] != 0) continue;
      joined[static_cast<std::size_t>(place)] = true;
      load += from.loads[static_cast<std::size_t>(place)];
    }
    if (load > bound_) return;
    const double value =
        squares_ ? from.value + squareOf(cost) : std::max(from.value, static_cast<double>(load));
    // A cut without an open place keeps one label.
    std::vector<Front>& fronts = fronts_[end];
    if (open_[end].empty() && !fronts.empty() && fronts.front().labels().front().value <= value) return;
    Label& to = made_;
    to.first = first;
    to.before = index;
    to.value = value;
    open(stage, first, end, from, load, to);
    if (!roomIsLeft(stage, end, to)) return;
    to.number = ++count_;
    auto front = std::ranges::find(fronts, to.placeOfSet, &Front::placeOfSet);
    if (front == fronts.end()) front = fronts.emplace(front, to.placeOfSet);
    front->insert(to);
  }

  /// Puts the labels of a cut into one row, in the order in which they were made.
  void complete(std::size_t stages, std::size_t cut) {
    std::vector<Label>& all = labels_[stages][cut];
    for (Front& front : fronts_[cut]) std::ranges::move(front.labels(), std::back_inserter(all));
    std::ranges::sort(all, {}, &Label::number);
  }

  static double squareOf(std::int64_t cost) { return static_cast<double>(cost) * static_cast<double>(cost); }

  /// Fills in the places that later stages must join.
  void open(std::size_t stage, std::size_t first, std::size_t end, const Label& from, std::int64_t load,
            Label& to) {
    std::vector<int>& number = number_;  ///< of an earlier place in the new label
    number.assign(from.loads.size(), -1);
    int own = -1;  ///< of the stage's place
    to.placeOfSet.clear();
    to.loads.clear();
    for (const std::size_t set : open_[end]) {
      const auto at = std::lower_bound(open_[first].begin(), open_[first].end(), set);
      const bool earlier = at != open_[first].end() && *at == set;
      const int place = earlier ? from.placeOfSet[static_cast<std::size_t>(at - open_[first].begin())] : -1;
      if (fixed_) {
        to.placeOfSet.push_back(earlier ? place : p_.placeOfStage[stage]);
        continue;
      }
      const bool here = !earlier || joined_[static_cast<std::size_t>(place)] != 0;
      int& known = here ? own : number[static_cast<std::size_t>(place)];
      if (known < 0) {
        known = static_cast<int>(to.loads.size());
        to.loads.push_back(here ? load : from.loads[static_cast<std::size_t>(place)]);
      }
      to.placeOfSet.push_back(known);
    }
  }

  /// False if the stages that follow cannot hold the rest, or if a better split is known. Each open place
  /// takes in one of them.
  bool roomIsLeft(std::size_t stage, std::size_t end, const Label& to) const {
    const auto left = static_cast<std::int64_t>(p_.stages() - stage - 1);
    const std::int64_t held = std::accumulate(to.loads.begin(), to.loads.end(), std::int64_t{0});
    const std::int64_t units = cost_.back() - cost_[end] + leastAfter_[stage + 1];
    if (left == 0) return true;
    if (units + held > left * bound_) return false;
    // The squares of the rest are smallest if all stages cost the same. A margin allows for rounding.
    const double least = squareOf(std::max<std::int64_t>(0, units)) / static_cast<double>(left);
    return !squares_ || to.value + least <= mostSquares_ * (1 + 1e-9);
  }

  StageSplit splitOf(std::ptrdiff_t index) const {
    StageSplit split;
    std::size_t end = p_.units(), at = static_cast<std::size_t>(index);
    for (std::size_t s = p_.stages(); s > 0; --s) {
      const Label& label = labels_[s][end][at];
      split.first.insert(split.first.begin(), label.first);
      split.stageCost.insert(split.stageCost.begin(), costOf(s - 1, label.first, end));
      end = label.first;
      at = label.before;
    }
    split.placeOfStage = placesOfSplit(p_, split.first);
    std::vector<std::int64_t> loads(p_.stages(), 0);
    for (std::size_t s = 0; s < p_.stages(); ++s)
      loads[fixed_ ? s : static_cast<std::size_t>(split.placeOfStage[s])] += split.stageCost[s];
    split.largest = *std::ranges::max_element(loads);
    return split;
  }

  const SplitProblem& p_;
  bool fixed_;
  std::vector<std::int64_t> cost_, again_, works_;  ///< sums over the units before
  std::vector<std::int64_t> leastAfter_;  ///< fixed costs and least exchange of a stage and those after it
  std::vector<std::size_t> cuts_;         ///< cuts at which stages may end, ascending
  std::vector<std::vector<std::size_t>> open_;  ///< sets with units on both sides of each cut, ascending
  std::int64_t bound_ = 0;
  bool squares_ = false;
  double mostSquares_ = 0;                               ///< of a split that is known: no better one has more
  std::vector<std::vector<std::vector<Label>>> labels_;  ///< [stages so far][cut]
  std::vector<std::vector<Front>> fronts_;               ///< by cut: of the stage that is extended
  std::size_t count_ = 0;                                ///< of labels
  Label made_;                                           ///< these three keep their memory
  std::vector<char> joined_;                             ///< by open place: the stage joins it
  std::vector<int> number_;
};

}  // namespace

bool canSplitWithin(const SplitProblem& problem, std::int64_t largest) {
  return problem.units() > 0 && problem.stages() > 0 && Splitter(problem).canHold(largest);
}

std::optional<StageSplit> splitContiguously(const SplitProblem& problem) {
  if (problem.units() == 0 || problem.stages() == 0) return {};
  return Splitter(problem).run();
}

}  // namespace pipescope::plan
