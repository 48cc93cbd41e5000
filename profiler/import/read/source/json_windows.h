#pragma once
// Cuts a large JSON trace into pieces that hold whole events.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/import/read/source/byte_source.h"

namespace pipescope::importing {

/// Reads the events of a trace piece by piece. The trace is an array of objects, or an object whose member
/// "traceEvents" is that array. The memory that it takes depends on the limits only.
///
/// Damage does not end it: what was whole before is delivered, and `findings()` says what was left out.
class JsonWindows {
 public:
  struct Limits {
    std::size_t windowBytes = 1 << 20;       ///< a window has about this size
    std::size_t mostEventBytes = 16 << 20;   ///< larger events are left out
    std::size_t mostMemberBytes = 64 << 10;  ///< longer values beside "traceEvents" are left out
  };
  struct Event {
    std::size_t offset = 0, size = 0;  ///< place in the window's text
  };
  struct Window {
    /// A JSON array of objects, which need not be valid themselves.
    std::string text;
    std::vector<Event> events;
  };

  explicit JsonWindows(ByteSource& source) : JsonWindows(source, Limits()) {}
  JsonWindows(ByteSource& source, Limits limits) : source_(source), limits_(limits) {}

  /// Fills `window` with the next events. Returns false at the end of the trace; members and findings are
  /// complete then.
  bool next(Window& window);

  /// The members of the outermost object beside the events, as JSON text.
  const std::map<std::string, std::string>& members() const { return members_; }
  /// Sentences about what was left out.
  const std::vector<std::string>& findings() const { return findings_; }
  /// False if the text is neither an array nor an object with the member "traceEvents".
  bool foundEvents() const { return foundEvents_; }
  std::int64_t oversizedEvents() const { return oversizedEvents_; }
  /// Events whose quotes or brackets do not match. Reading goes on at the next event.
  std::int64_t damagedEvents() const { return damagedEvents_; }
  /// Pieces of text between events that are no event.
  std::int64_t strayTexts() const { return strayTexts_; }

 private:
  enum class Place { start, members, events, end };

  bool fill();
  /// The next byte, or −1 at the end.
  int peek();
  void skipSpace();
  void begin();
  void member();
  std::optional<std::string> readString();
  void readValue(const std::string& key);
  bool event(Window& window);
  /// Moves behind the object or array that starts at the current byte. Returns false if the text ends before.
  bool skipNested(std::size_t mostBytes, bool& kept);
  /// Kinds of events. A damaged one is passed up to the place that shows it.
  enum class Passed { whole, tooLarge, damaged, cut };
  Passed passEvent();
  bool lookAhead(std::size_t bytes);
  char before(std::size_t& at) const;
  bool findEvent(std::size_t end);
  void skipStray();
  void resynchronise();
  void afterEvents();
  /// Says so where more than space follows the end of the trace.
  void noteRest();

  ByteSource& source_;
  const Limits limits_;
  Place place_ = Place::start;
  std::string buffer_;    // bytes from `keep_` on are still needed
  std::size_t at_ = 0;    // the next byte in buffer_
  std::size_t keep_ = 0;  // text before this may be dropped
  bool sourceEnded_ = false, inObject_ = false, foundEvents_ = false;
  std::int64_t oversizedEvents_ = 0, damagedEvents_ = 0, strayTexts_ = 0;
  std::map<std::string, std::string> members_;
  std::vector<std::string> findings_;
};

}  // namespace pipescope::importing
