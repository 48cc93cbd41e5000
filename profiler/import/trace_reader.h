#pragma once
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "profiler/base/executor.h"
#include "profiler/base/progress.h"
#include "profiler/import/carried_pieces.h"
#include "profiler/import/event_sorter.h"
#include "profiler/import/trace_files.h"
#include "profiler/import/trace_tables.h"

namespace pipescope::importing {

/// One trace file after reading: its tables, and its events, which are sorted when they are visited.
struct TraceData {
  TraceData(std::string file, const std::filesystem::path& folder)
      : name(std::move(file)), temporaryFolder(folder), events(folder), carried(folder) {}

  std::string name;
  std::filesystem::path temporaryFolder;
  TraceTables tables;
  EventSorter events;
  CarriedPieces carried;
  /// Of all events, relative to the origin of the tables.
  std::int64_t firstTime = std::numeric_limits<std::int64_t>::max();
  std::int64_t lastTime = std::numeric_limits<std::int64_t>::min();

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
  bool isOwnExport() const { return ownExport_; }
  /// Index of the process among those of a distributed run: stated by the trace, or by the name of the file
  /// ("rank3.json", "worker2_step_12.json", "chakra.1.et").
  std::optional<std::int64_t> rank() const;
  /// How many ranks the run had, if the trace states it.
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
    pass,
    converted,
    projected
  };
  static CategoryKind categoryOf(std::string_view category);
  enum class QueueKind : std::uint8_t { idle, communicates, computes };
  void noteWork(ThreadId queue, NameId work);
  base::IdVector<NameId, CategoryKind> categoryKinds_;
  base::IdVector<ProcessId, bool> accelerators_;
  struct Converted {
    bool kernels = false, others = false;
  };
  base::IdVector<ProcessId, Converted> converted_;
  base::IdVector<ThreadId, QueueKind> queues_;
  base::IdVector<NameId, QueueKind> work_;  // what a queue does that runs work of this name
  std::set<NameId> annotations_;
  bool correlated_ = false, ownExport_ = false, holdsAccelerators_ = false;
};

/// Reads one file; null if its content is no known format. Events keep the arguments of the given names
/// (Rules::ownArguments), too. `advice` gets what the user can do with a file of another known format, as the
/// rest of a sentence. Fails if the user cancels, or if temporary data cannot be written.
base::Result<std::unique_ptr<TraceData>> readTrace(const TraceFile& file,
                                                   const std::filesystem::path& temporaryFolder,
                                                   const std::vector<std::string>& ownArguments,
                                                   base::Executor& executor, base::Progress& progress,
                                                   std::string& advice);

}  // namespace pipescope::importing
