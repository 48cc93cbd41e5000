#pragma once
// Answers questions about the rows of a sweep. Combinations that do not fit or cannot run never answer one.
#include <string>
#include <vector>

#include "app/run/sweep/sweep_table.h"

namespace pipescope::app {

/// A sentence, and the rows that it is about.
struct SweepAnswer {
  std::string sentence;
  std::vector<const SweepRow*> rows;
};

/// The Pareto front: rows than which no other row is at least as good in all of these figures and better in
/// one. `figures` is "time,memory": time (samples/s, or step time if there are no samples), memory, devices,
/// price, bubble, imbalance, or a column of the table. Errors: an unknown or repeated name.
base::Result<SweepAnswer> paretoFront(const SweepTable& table, const std::string& figures);

/// Refuses figures of paretoFront() that combinations which were only compiled do not have, such as times.
base::Status checkParetoOfCompiled(const std::string& figures);

/// The fastest of the rows with the largest value of a varied number.
base::Result<SweepAnswer> largestThatFits(const SweepTable& table, const std::string& key);
/// Finds the same with the smallest value. The answer for system.name is the system with the fewest devices
/// that hold a stage, then the cheapest.
base::Result<SweepAnswer> smallestThatFits(const SweepTable& table, const std::string& key);

/// The knee of the samples per second over a varied number: of the fastest row for each value, the one that
/// lies furthest above the straight line from the first to the last, with both axes scaled to 0…1. Errors:
/// fewer than three values fit, or there are no rates.
base::Result<SweepAnswer> kneeOf(const SweepTable& table, const std::string& key);

}  // namespace pipescope::app
