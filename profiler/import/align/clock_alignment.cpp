#include "profiler/import/align/clock_alignment.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "profiler/import/recognise/infer_messages.h"
#include "profiler/import/recognise/some_collectives.h"

namespace pipescope::importing {
namespace {

using model::Pass;

constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max() / 4;
/// Clocks of computers differ by some ten millionths; a larger slope comes from wrong pairs.
constexpr double kLargestDrift = 1e-3;

/// `used` of the consumer cannot come before `made` of the producer. Times are in the traces' own clocks.
struct ClockFact {
  std::size_t producer, consumer;  // traces
  std::int64_t made, used;
};

/// Bounds of offset(b) − offset(a).
struct Range {
  std::int64_t least = -kNoBound, most = kNoBound;

  bool closed() const { return least > -kNoBound && most < kNoBound; }
  double middle() const {
    if (closed()) return (static_cast<double>(least) + static_cast<double>(most)) / 2;
    // A one-sided bound: a pass that waited begins as soon as its input arrives, so the bound itself is near.
    return static_cast<double>(least > -kNoBound ? least : most);
  }
  double width() const {
    return closed() ? std::abs(static_cast<double>(most) - static_cast<double>(least)) : 1e12;
  }
  void add(bool lower, std::int64_t bound) {
    if (lower) {
      least = std::max(least, bound);
    } else {
      most = std::min(most, bound);
    }
  }
};

using Ends = std::pair<std::size_t, std::size_t>;

void addPasses(const std::vector<RecordedEvents>& traces, std::vector<ClockFact>& facts) {
  using Key = std::tuple<std::string, std::int64_t, std::int32_t, std::int32_t, Pass>;
  const auto keyOf = [](const RecordedPass& pass, std::int32_t stage) {
    return Key(pass.replica, pass.step.value_or(0), pass.microBatch, stage, pass.pass);
  };
  const auto relates = [](const RecordedPass& pass) {
    return pass.stage >= 0 && pass.microBatch >= 0 &&
           (pass.pass == Pass::forward || pass.pass == Pass::backward);
  };
  std::map<Key, std::pair<std::size_t, std::int64_t>> made;
  for (std::size_t t = 0; t < traces.size(); ++t)
    for (const RecordedPass& pass : traces[t].passes)
      if (relates(pass)) made[keyOf(pass, pass.stage)] = {t, pass.end.count};
  for (std::size_t t = 0; t < traces.size(); ++t) {
    for (const RecordedPass& pass : traces[t].passes) {
      if (!relates(pass)) continue;
      const auto found = made.find(keyOf(pass, pass.stage + (pass.pass == Pass::forward ? -1 : 1)));
      if (found != made.end() && found->second.first != t)
        facts.push_back({found->second.first, t, found->second.second, pass.start.count});
    }
  }
}

void addMessages(const std::vector<RecordedEvents>& traces, std::vector<ClockFact>& facts) {
  std::vector<const RecordedPass*> sends, receives;
  std::vector<std::size_t> sentBy, receivedBy;
  for (std::size_t t = 0; t < traces.size(); ++t) {
    for (const RecordedPass& side : traces[t].sends) sends.push_back(&side);
    for (const RecordedPass& side : traces[t].receives) receives.push_back(&side);
    sentBy.resize(sends.size(), t);
    receivedBy.resize(receives.size(), t);
  }
  for (const auto& [send, receive] : pairMessages(sends, receives))
    if (sentBy[send] != receivedBy[receive])
      facts.push_back(
          {sentBy[send], receivedBy[receive], sends[send]->start.count, receives[receive]->end.count});
}

/// True for collectives on a host whose members the trace does not state: they may be of several groups that
/// have nothing to do with each other.
bool isGuess(const RecordedPass& collective) {
  return collective.group.empty() && collective.queue < 0;
}

/// True if no rank can end the collective before all others have begun it. In a broadcast, only the root must
/// have begun; in a gathering, only the root waits for all.
bool bindsAllRanks(const std::string& name) {
  std::string plain;
  for (const char c : name) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (plain.find("broadcast") != std::string::npos || plain.find("kernel_reduce_") != std::string::npos)
    return false;
  const std::string operation = plain.substr(plain.rfind(':') + 1);
  return operation != "reduce" && operation != "gather" && operation != "scatter";
}

/// Collectives of which all ranks that know their name have equally many belong together in their order.
void addCollectives(const std::vector<RecordedEvents>& traces, ClockFacts which,
                    std::vector<ClockFact>& facts) {
  using Key =
      std::tuple<std::string, std::string, std::int64_t>;  // group, name, number before some were left out
  std::map<Key, std::map<std::size_t, std::vector<const RecordedPass*>>> groups;
  for (std::size_t t = 0; t < traces.size(); ++t)
    for (const RecordedPass& pass : traces[t].passes)
      if (pass.pass == Pass::collective && bindsAllRanks(pass.name) &&
          (which == ClockFacts::guessed || !isGuess(pass)))
        groups[{groupOf(pass), pass.name, pass.alike}][t].push_back(&pass);
  for (auto& [key, members] : groups) {
    const std::size_t count = members.begin()->second.size();
    const bool all = std::get<0>(key).empty() ? members.size() == traces.size() : members.size() > 1;
    if (!all || std::any_of(members.begin(), members.end(),
                            [&](const auto& own) { return own.second.size() != count; }))
      continue;
    for (auto& [t, own] : members)
      std::stable_sort(own.begin(), own.end(),
                       [](const auto* a, const auto* b) { return a->start < b->start; });
    // Neighbours in the order of ranks suffice; a circle relates the last one to the first.
    for (auto it = members.begin(); it != members.end(); ++it) {
      const auto next = std::next(it) == members.end() ? members.begin() : std::next(it);
      for (std::size_t n = 0; n < count; ++n) {
        facts.push_back({it->first, next->first, it->second[n]->start.count, next->second[n]->end.count});
        facts.push_back({next->first, it->first, next->second[n]->start.count, it->second[n]->end.count});
      }
    }
  }
}

std::vector<ClockFact> factsOf(const std::vector<RecordedEvents>& traces, ClockFacts which) {
  std::vector<ClockFact> facts;
  addPasses(traces, facts);
  addMessages(traces, facts);
  if (which != ClockFacts::messages) addCollectives(traces, which, facts);
  return facts;
}

std::map<Ends, Range> rangesOf(const std::vector<ClockFact>& facts) {
  std::map<Ends, Range> ranges;
  for (const ClockFact& fact : facts) {
    // used + offset(consumer) ≥ made + offset(producer)
    const bool lower = fact.producer < fact.consumer;
    const std::int64_t bound = fact.made - fact.used;
    ranges[std::minmax(fact.producer, fact.consumer)].add(lower, lower ? bound : -bound);
  }
  return ranges;
}

/// A difference between two traces, and how much it counts.
struct Difference {
  double value = 0, weight = 1, width = 1;
};

/// One number for each trace so that the differences between traces are met best: first along trees of the
/// narrowest ranges, then by least squares. `groups` tells which traces one tree joins.
std::vector<double> solve(const std::map<Ends, Difference>& differences, std::size_t traces,
                          std::vector<std::size_t>& groups) {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<double> numbers(traces, 0);
  groups.assign(traces, kNone);
  std::size_t count = 0;
  std::vector<bool> fixed(traces, false);  // the first trace of each group
  for (std::size_t first = 0; first < traces; ++first) {
    if (groups[first] != kNone) continue;
    groups[first] = count;
    fixed[first] = true;
    for (;;) {
      const std::pair<const Ends, Difference>* best = nullptr;
      for (const auto& entry : differences)
        if ((groups[entry.first.first] == count) != (groups[entry.first.second] == count) &&
            (best == nullptr || entry.second.width < best->second.width))
          best = &entry;
      if (best == nullptr) break;
      const auto [a, b] = best->first;
      if (groups[a] == count) {
        numbers[b] = numbers[a] + best->second.value;
      } else {
        numbers[a] = numbers[b] - best->second.value;
      }
      groups[a] = groups[b] = count;
    }
    ++count;
  }
  for (int round = 0; round < 200 && differences.size() + count > traces; ++round) {
    for (std::size_t t = 0; t < traces; ++t) {
      if (fixed[t]) continue;
      double sum = 0, weights = 0;
      for (const auto& [ends, difference] : differences) {
        if (ends.first != t && ends.second != t) continue;
        sum += difference.weight * (ends.second == t ? numbers[ends.first] + difference.value
                                                     : numbers[ends.second] - difference.value);
        weights += difference.weight;
      }
      if (weights > 0) numbers[t] = sum / weights;
    }
  }
  return numbers;
}

Difference differenceOf(const Range& range) {
  return {range.middle(), 1 / std::pow(range.width() + 1, 2), range.width()};
}

/// A bound of offset(b) − offset(a) at a time of the common clock.
struct TimedBound {
  double time = 0, bound = 0;
  bool lower = false;
};

/// The slope of the line through the middles of the ranges over time; 0 if they show none.
double slopeOf(const std::vector<TimedBound>& bounds) {
  constexpr std::size_t kParts = 32;
  double first = std::numeric_limits<double>::max(), last = std::numeric_limits<double>::lowest();
  for (const TimedBound& bound : bounds) {
    first = std::min(first, bound.time);
    last = std::max(last, bound.time);
  }
  if (last <= first) return 0;
  struct Part {
    double least = -1e300, most = 1e300, times = 0, count = 0;
  };
  const std::size_t parts = std::clamp<std::size_t>(bounds.size() / 8, 2, kParts);
  std::vector<Part> all(parts);
  for (const TimedBound& bound : bounds) {
    Part& part = all[std::min(parts - 1, static_cast<std::size_t>((bound.time - first) / (last - first) *
                                                                  static_cast<double>(parts)))];
    if (bound.lower) {
      part.least = std::max(part.least, bound.bound);
    } else {
      part.most = std::min(part.most, bound.bound);
    }
    part.times += bound.time;
    ++part.count;
  }
  double weights = 0, times = 0, middles = 0, products = 0, squares = 0;
  for (const Part& part : all) {
    if (part.least < -1e299 || part.most > 1e299) continue;
    const double weight = 1 / (std::pow(part.most - part.least, 2) + 1);
    const double time = part.times / part.count, middle = (part.least + part.most) / 2;
    weights += weight;
    times += weight * time;
    middles += weight * middle;
    products += weight * time * middle;
    squares += weight * time * time;
  }
  const double spread = weights * squares - times * times;
  if (weights <= 0 || spread <= 0) return 0;
  const double slope = (weights * products - times * middles) / spread;
  return std::abs(slope) <= kLargestDrift ? slope : 0;
}

class Aligner {
 public:
  Aligner(std::vector<ClockFact> facts, std::size_t traces) : facts_(std::move(facts)) {
    result_.offsets.assign(traces, 0);
    result_.drifts.assign(traces, 0);
    result_.pairs = static_cast<std::int64_t>(facts_.size());
  }

  ClockAlignment align() {
    const std::map<Ends, Range> ranges = rangesOf(facts_);
    std::map<Ends, Difference> differences;
    for (const auto& [ends, range] : ranges) differences[ends] = differenceOf(range);
    const std::vector<double> numbers = solve(differences, result_.offsets.size(), result_.groups);
    for (std::size_t t = 0; t < numbers.size(); ++t) result_.offsets[t] = std::llround(numbers[t]);
    result_.contradictions = contradictions();
    if (result_.contradictions > 0) correctDrift();
    for (const auto& [ends, range] : remaining())
      if (range.closed() && range.least <= range.most)
        result_.uncertainty = std::max(result_.uncertainty, (range.most - range.least) / 2);
    return result_;
  }

 private:
  std::int64_t common(std::size_t trace, std::int64_t time) const {
    return TraceClock{-result_.offsets[trace], result_.drifts[trace]}.common(time);
  }

  std::int64_t contradictions() const {
    return std::count_if(facts_.begin(), facts_.end(), [&](const ClockFact& fact) {
      return common(fact.consumer, fact.used) < common(fact.producer, fact.made);
    });
  }

  /// Ranges of what may still be added to the differences of the corrected clocks, moved so that their middle
  /// does not matter.
  std::map<Ends, Range> remaining() const {
    std::vector<ClockFact> corrected = facts_;
    for (ClockFact& fact : corrected) {
      fact.made = common(fact.producer, fact.made);
      fact.used = common(fact.consumer, fact.used);
    }
    return rangesOf(corrected);
  }

  /// Adds slopes to the clocks, then moves them into the middle of what the slopes leave. Keeps the result
  /// only if fewer facts contradict it.
  void correctDrift() {
    const ClockAlignment constant = result_;
    std::map<Ends, std::vector<TimedBound>> bounds;
    for (const ClockFact& fact : facts_) {
      const bool lower = fact.producer < fact.consumer;
      const std::int64_t used = common(fact.consumer, fact.used),
                         bound = common(fact.producer, fact.made) - used;
      bounds[std::minmax(fact.producer, fact.consumer)].push_back(
          {static_cast<double>(used), static_cast<double>(lower ? bound : -bound), lower});
    }
    std::map<Ends, Difference> slopes, shifts;
    for (const auto& [ends, list] : bounds)
      slopes[ends] = {slopeOf(list), static_cast<double>(list.size()), 1};
    std::vector<std::size_t> groups;
    result_.drifts = solve(slopes, result_.drifts.size(), groups);
    for (const auto& [ends, range] : remaining()) shifts[ends] = differenceOf(range);
    const std::vector<double> moved = solve(shifts, result_.offsets.size(), groups);
    for (std::size_t t = 0; t < moved.size(); ++t) result_.offsets[t] += std::llround(moved[t]);
    result_.contradictions = contradictions();
    if (result_.contradictions >= constant.contradictions) result_ = constant;
  }

  const std::vector<ClockFact> facts_;
  ClockAlignment result_;
};

}  // namespace

ClockAlignment alignClocks(const std::vector<RecordedEvents>& traces, ClockFacts facts) {
  return Aligner(factsOf(traces, facts), traces.size()).align();
}

std::int64_t contradictionsOf(const std::vector<RecordedEvents>& traces,
                              const std::vector<std::int64_t>& offsets, ClockFacts which) {
  const std::vector<ClockFact> facts = factsOf(traces, which);
  return std::count_if(facts.begin(), facts.end(), [&](const ClockFact& fact) {
    return fact.used + offsets[fact.consumer] < fact.made + offsets[fact.producer];
  });
}

bool collectivesAreApart(const std::vector<RecordedEvents>& traces,
                         const std::vector<std::int64_t>& offsets) {
  std::vector<std::set<std::int64_t>> steps(traces.size());
  for (std::size_t t = 0; t < traces.size(); ++t)
    for (const RecordedStep& step : traces[t].steps) steps[t].insert(step.step);
  std::vector<ClockFact> facts;
  addCollectives(traces, ClockFacts::all, facts);
  struct Shared {
    std::int64_t facts = 0, contradictions = 0;
  };
  std::map<Ends, Shared> pairs;
  for (const ClockFact& fact : facts) {
    if (steps[fact.producer] != steps[fact.consumer]) continue;
    Shared& shared = pairs[std::minmax(fact.producer, fact.consumer)];
    ++shared.facts;
    if (fact.used + offsets[fact.consumer] < fact.made + offsets[fact.producer]) ++shared.contradictions;
  }
  // Each collective gives two facts, of which one is contradicted where the collective is apart.
  constexpr std::int64_t kSeveral = 3;
  return std::any_of(pairs.begin(), pairs.end(), [](const auto& pair) {
    const Shared& shared = pair.second;
    return shared.contradictions >= kSeveral && 2 * shared.contradictions >= shared.facts;
  });
}

}  // namespace pipescope::importing
