#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/import/read/packed_event.h"
#include "profiler/import/read/trace_data.h"

namespace pipescope::importing {

/// Gives each different text of a window an id, in the order of their first use. It holds views where it can,
/// so that most texts cost no memory of their own.
class WindowTexts {
 public:
  /// The text must exist until clear(), unless keepCopies() was called.
  std::int32_t add(std::string_view text) { return add(text, copies_); }
  std::int32_t addCopy(std::string_view text) { return add(text, true); }
  std::string_view text(std::int32_t id) const { return texts_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return texts_.size(); }
  /// Copies all texts, and those to come until clear().
  void keepCopies();
  void clear();

 private:
  std::int32_t add(std::string_view text, bool copy);
  void grow();
  std::vector<std::string_view> texts_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::int32_t> slots_;  // ids by hash; −1: free. Their number is a power of two
  std::deque<std::string> kept_;
  bool copies_ = false;
};

/// The events of one window with ids of their own. Windows can therefore be parsed at the same time, and what
/// they add to the trace depends only on their order.
class ParsedWindow {
 public:
  enum class About : std::uint8_t {
    processName,
    processLabels,
    processOrder,
    threadName,
    threadOrder,
  };

  /// The id of a text. Texts must exist until the window is merged, unless keepCopies() was called.
  NameId name(std::string_view text) { return NameId(texts_.add(text)); }
  /// The same for a text that exists only now.
  NameId newName(std::string_view text) { return NameId(texts_.addCopy(text)); }
  ProcessId process(std::string_view key);
  ThreadId thread(ProcessId process, std::string_view key);
  /// The row of all asynchronous events of a category.
  ThreadId asynchronousThread(ProcessId process, std::string_view category);
  void add(const TraceEvent& event);
  /// Says that the values of counters of this name are bytes.
  void countsBytes(NameId counter) { byteCounters_.insert(counter); }
  /// Takes what a metadata event states about its process or thread.
  void describe(About about, ProcessId process, ThreadId thread, std::string_view text, std::int64_t number);

  /// Copies all texts, because the memory in which they stand is about to be used again.
  void keepCopies();
  /// Moves the events and what is known of their processes and threads to the trace, and forgets them.
  base::Status mergeInto(TraceData& trace);

  /// The time from which the window's times count: that of the trace, or else of the window's first event.
  std::optional<Picoseconds> origin;
  Findings findings;

 private:
  struct Thread {
    std::int32_t process, key;
    bool asynchronous = false;
  };
  struct Description {
    About about;
    ProcessId process;
    ThreadId thread;
    std::string text;
    std::int64_t number = 0;
  };
  void clear();

  WindowTexts texts_;                    // names, categories, arguments and identities
  WindowTexts keys_;                     // keys of processes and threads
  std::vector<std::int32_t> processes_;  // their keys
  std::vector<Thread> threads_;
  std::vector<std::int32_t> processOfKey_, threadOfKey_;  // the thread is the last one asked for; −1: none
  std::unordered_map<std::uint64_t, std::int32_t> threadIds_;  // keyed by process and key
  std::vector<PackedEvent> events_;
  std::vector<ArgumentValue> arguments_;  // arguments of all events, in their order
  std::vector<Description> descriptions_;
  std::set<NameId> byteCounters_;
};

/// An identity that is a text becomes a negative number, which mergeInto() translates.
constexpr std::int64_t identityOfText(NameId text) {
  return -2 - text.value;
}

}  // namespace pipescope::importing
