#pragma once
#include <map>
#include <string>
#include <vector>

#include "profiler/record/recorder.h"

namespace pipescope::testing {

/// Adds rows of the host to a recorder. Times are whole milliseconds of the wall clock.
class FixtureHost {
 public:
  explicit FixtureHost(record::Recorder& recorder);
  /// Adds what the threads do for a call: on the main thread it computes four updates of five micro-batches.
  void addCall(std::int64_t startMs, std::int64_t endMs);
  /// Adds a span around all calls so far.
  void addTraining();

 private:
  void add(std::size_t thread, const char* channel, const char* name, std::int64_t startMs,
           std::int64_t endMs);

  record::Recorder& recorder_;
  std::vector<model::HostThreadId> threads_;
  std::map<std::string, model::HostNameId> names_;
  model::HostSeriesId queue_;
  std::int64_t last_ = 0;
  int calls_ = 0;
};

}  // namespace pipescope::testing
