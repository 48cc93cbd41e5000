#pragma once
// Tables of what a trace file says about its processes and threads.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/import/read/time_text.h"
#include "profiler/import/read/trace_event.h"

namespace pipescope::importing {

struct TraceProcess {
  std::string key;     ///< the number or text by which events name it
  std::string name;    ///< empty: not stated
  std::string labels;  ///< such as "GPU 0" in PyTorch's traces
  std::int64_t sortIndex = 0;
};
struct TraceThread {
  ProcessId process;
  std::string key, name;
  std::int64_t sortIndex = 0;
};

/// Counts of what a reader left out or changed, by the sentence that says so.
class Findings {
 public:
  /// `what` is a sentence about one event ("An event has no time and is left out."); equal ones are counted.
  void add(const std::string& what, std::int64_t count = 1) { counts_[what] += count; }
  const std::map<std::string, std::int64_t>& counts() const { return counts_; }

 private:
  std::map<std::string, std::int64_t> counts_;
};

/// The names, processes and threads of one trace file, and the origin of its times.
struct TraceTables {
  Names names;
  base::IdVector<ProcessId, TraceProcess> processes;
  base::IdVector<ThreadId, TraceThread> threads;
  /// Time of the first event in the file's own clock. Times of events are relative to it, because epoch
  /// times in picoseconds exceed 64 bits.
  std::optional<Picoseconds> origin;
  /// Members of the file beside the events, as JSON text: "distributedInfo", "baseTimeNanoseconds" …
  std::map<std::string, std::string> members;
  /// Units of counters whose file states them, keyed by the counter's name: "B" for bytes.
  std::map<NameId, std::string> counterUnits;
  /// Names of further arguments that rules use (Rules::ownArguments).
  std::vector<std::string> ownArguments;
  Findings findings;

  ProcessId process(std::string_view key);
  ThreadId thread(ProcessId process, std::string_view key);
  /// Finds an argument that the importer or a rule understands.
  std::optional<Argument> argumentNamed(std::string_view name) const;

 private:
  std::map<std::string, ProcessId, std::less<>> processIds_;
  std::map<std::pair<std::int64_t, std::string>, ThreadId, std::less<>> threadIds_;
};

}  // namespace pipescope::importing
