#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profiler/import/recognise/recorded_pass.h"

namespace pipescope::importing {

/// The group that rules give a collective, or else its process group.
const std::string& groupOf(const RecordedPass& collective);

/// Keeps some thousands of the collectives of each group, which suffice for aligning clocks, so that memory
/// does not grow with the length of a trace. All ranks of a group keep the same ones.
class SomeCollectives {
 public:
  /// Collectives of a thread must come in the order of time.
  void add(RecordedPass collective);
  std::vector<RecordedPass> take();

 private:
  struct Alike {
    std::vector<std::pair<std::uint64_t, RecordedPass>> kept;  // collectives with their numbers
    std::uint64_t count = 0;
    int halvings = 0;     // exponent: one of 2 to this power is kept
    bool ordered = true;  // all are of one thread
  };
  // Keyed by group and name.
  std::map<std::string, std::map<std::string, Alike, std::less<>>, std::less<>> groups_;
};

}  // namespace pipescope::importing
