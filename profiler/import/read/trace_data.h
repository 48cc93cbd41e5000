#pragma once
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "profiler/base/executor.h"
#include "profiler/base/progress.h"
#include "profiler/import/read/event_sorter.h"
#include "profiler/import/read/source/trace_files.h"
#include "profiler/import/read/time_spread.h"
#include "profiler/import/read/trace_tables.h"

namespace pipescope::importing {

/// One trace file after reading: its tables, and its events, which are sorted when they are visited.
struct TraceData {
  TraceData(std::string file, const std::filesystem::path& folder)
      : name(std::move(file)), temporaryFolder(folder), events(folder) {}

  std::string name;
  std::filesystem::path temporaryFolder;
  TraceTables tables;
  EventSorter events;
  /// Times of all events, relative to the origin of the tables.
  std::int64_t firstTime = std::numeric_limits<std::int64_t>::max();
  std::int64_t lastTime = std::numeric_limits<std::int64_t>::min();
  /// Events that start behind this time, or before firstTime, are left out.
  std::int64_t lastStart = std::numeric_limits<std::int64_t>::max();
  /// Leaves out the few events that lie far from all others, and says so. To be called after the last event.
  void leaveOutFarEvents();

  /// Content of this file, for a format whose files are read together (TraceFormat::join).
  std::shared_ptr<void> pending;
  /// True if the file only says something about others of its format.
  bool accompanies = false;
  /// True if the file is of no rank, whatever its name says, because it lies beside the trace of its rank.
  bool ofNoRank = false;
  /// True if the trace counts its times from the same moment as others of its format.
  bool sharesClock = false;

  bool empty() const { return events.size() == 0; }
  base::Status add(const TraceEvent& event) { return add(packed(event), argumentsOf(event)); }
  base::Status add(const PackedEvent& event, std::span<const ArgumentValue> arguments);
  /// True if the process stands for an accelerator: it holds kernels and copies, and its threads are queues.
  bool isAccelerator(ProcessId process) const;
  void markAccelerator(ProcessId process);
  /// True for work of an accelerator, and for what a converter states of it: some put the kernels of a device
  /// and the calls of its host into one process.
  bool isOnAccelerator(const TraceEvent& event) const;
  /// True if the trace holds work of accelerators.
  bool holdsAccelerators() const { return holdsAccelerators_; }
  /// True if kernels or copies state which launch started them.
  bool statesCorrelations() const { return correlated_; }
  /// Number that a launch has in common with the kernels that it starts; 0: nothing is stated. Ranks of a
  /// merged trace count their launches for themselves.
  std::int64_t launchOf(const TraceEvent& event) const;
  /// True for the name of an annotation that the profiler repeats on the accelerator, around the work that
  /// was launched within it.
  bool runsOnAccelerator(NameId annotation) const { return annotations_.contains(annotation); }
  /// True for a queue of an accelerator that runs kernels of communication libraries and nothing else. The
  /// profiler repeats an annotation on each queue that got work within it, so a pass has a slice there, too.
  bool onlyCommunicates(ThreadId queue) const {
    return queues_.contains(queue) && queues_[queue] == QueueKind::communicates;
  }
  /// True for a trace that `pipescope export` has written: its passes and transfers have categories of their
  /// own, and what else it holds lies within them.
  /// Index of the process among those of a distributed run: stated by the trace, or by the name of the file
  /// ("rank3.json", "worker2_step_12.json", "chakra.1.et").
  std::optional<std::int64_t> rank() const;
  /// Rank that a process states in a file that was merged of several ranks' traces: "[rank3] 1234". Nullopt
  /// if it states none.
  std::optional<std::int64_t> mergedRankOf(ProcessId process) const;
  /// True if the process has events that are shown, so that it becomes a device.
  bool holdsEvents(ProcessId process) const {
    return converted_.contains(process) && converted_[process].shown;
  }
  /// Number of ranks of the run, if the trace states it.
  std::optional<std::int64_t> ranksOfRun() const;

 private:
  /// A number that the trace of a distributed run states.
  std::optional<std::int64_t> statedNumber(const char* key) const;
  /// The last two are those of converters: kernels, and ranges of the host that are projected onto kernels.
  enum class CategoryKind : std::uint8_t {
    notAsked,
    host,
    accelerator,
    queueWait,
    annotation,
    converted,
    projected
  };
  static CategoryKind categoryOf(std::string_view category);
  enum class QueueKind : std::uint8_t { idle, communicates, computes };
  void noteWork(ThreadId queue, NameId work);
  base::IdVector<NameId, CategoryKind> categoryKinds_;
  base::IdVector<ProcessId, bool> accelerators_;
  struct Converted {
    bool kernels = false, others = false, shown = false;
    bool mayBeWindow = false;  ///< its key is one of those under which PyTorch says when it recorded
  };
  Converted& convertedOf(ProcessId process);
  base::IdVector<ProcessId, Converted> converted_;
  base::IdVector<ThreadId, QueueKind> queues_;
  base::IdVector<NameId, QueueKind> work_;  // kind of a queue that runs work of this name
  std::set<NameId> annotations_;
  TimeSpread spread_;
  bool correlated_ = false, holdsAccelerators_ = false;
};

}  // namespace pipescope::importing
