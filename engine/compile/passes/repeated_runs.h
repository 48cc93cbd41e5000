#pragma once
// Finds what repeats in a sequence of numbers.
#include <cstdint>
#include <vector>

namespace pipescope::compile {

/// `length` neighbours that occur at all of the `starts`, which ascend and may overlap.
struct RepeatedRun {
  std::size_t length = 0;
  std::vector<std::size_t> starts;
};

/// Finds the runs that occur at least twice without overlap, each as long as it can be without losing an
/// occurrence. Long runs that occur often, and somewhere at most half their length apart, are left out. Such
/// a run repeats a shorter one, which is found, and a model of a thousand equal layers has very many of them.
/// A negative number equals nothing, not even itself, so no run contains one. (Intervals of equal prefixes in
/// a suffix array: Abouelhoda, Kurtz and Ohlebusch 2004.)
std::vector<RepeatedRun> repeatedRuns(const std::vector<std::int64_t>& numbers);

}  // namespace pipescope::compile
