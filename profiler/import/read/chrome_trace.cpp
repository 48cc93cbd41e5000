#include "profiler/import/read/trace_format.h"

#include <array>

#include "profiler/import/read/chrome_events.h"

namespace pipescope::importing {
namespace {

/// Windows that are parsed at the same time. They are small, so that threads wait little for each other.
constexpr std::size_t kWindowsOfRound = 8;
constexpr JsonWindows::Limits kRoundLimits{.windowBytes = 512 << 10};

/// Some windows of the trace, which follow each other.
class Round {
 public:
  explicit Round(const std::vector<std::string>& ownArguments) {
    for (auto& events : events_) events = std::make_unique<ChromeEvents>(ownArguments);
  }

  /// Fills at most `most` windows. The number of windows is 0 at the end of the trace.
  void cut(JsonWindows& windows, std::size_t most) {
    for (size_ = 0; size_ < most && windows.next(texts_[size_]);) ++size_;
  }
  std::size_t size() const { return size_; }
  void parse(std::size_t window, const std::optional<Picoseconds>& origin) {
    parsed_[window].origin = origin;
    events_[window]->parse(texts_[window], parsed_[window]);
  }
  base::Status mergeInto(TraceData& data) {
    for (std::size_t i = 0; i < size_; ++i) PIPESCOPE_TRY(parsed_[i].mergeInto(data));
    return {};
  }

 private:
  std::size_t size_ = 0;
  std::array<JsonWindows::Window, kWindowsOfRound> texts_;
  std::array<std::unique_ptr<ChromeEvents>, kWindowsOfRound> events_;
  std::array<ParsedWindow, kWindowsOfRound> parsed_;
};

base::Result<bool> readChrome(ByteSource& bytes, TraceData& data, base::Executor& executor,
                              const ReadReport& report) {
  JsonWindows windows(bytes, kRoundLimits);
  std::array<Round, 3> rounds{Round(data.tables.ownArguments), Round(data.tables.ownArguments),
                              Round(data.tables.ownArguments)};
  Round *following = &rounds[0], *current = &rounds[1], *previous = &rounds[2];
  const auto goesOn = [&]() -> base::Status {
    report.progress.report(report.fraction(), "reading " + report.name);
    return report.progress.cancelled() ? base::cancelled("The import was stopped.") : base::Status();
  };
  // Times count from the first event, so it must be known before other windows are parsed.
  for (following->cut(windows, 1); following->size() > 0 && !data.tables.origin; following->cut(windows, 1)) {
    following->parse(0, std::nullopt);
    PIPESCOPE_TRY(following->mergeInto(data));
    PIPESCOPE_TRY(goesOn());
  }
  std::swap(current, following);
  // Three rounds are worked on at the same time: one is cut, the one before is parsed, and the one before
  // that is sorted.
  while (current->size() + previous->size() > 0) {
    base::Status sorted;
    data.events.setAside();
    executor.parallelFor(2 + current->size(), [&](std::size_t part) {
      if (part == 0) {
        following->cut(windows, kWindowsOfRound);
      } else if (part == 1) {
        sorted = previous->mergeInto(data);
        if (sorted.ok()) sorted = data.events.writeAside();
      } else {
        current->parse(part - 2, data.tables.origin);
      }
    });
    PIPESCOPE_TRY(sorted);
    PIPESCOPE_TRY(goesOn());
    Round* const merged = previous;
    previous = current;
    current = following;
    following = merged;
  }
  if (!windows.foundEvents()) return false;
  data.tables.members = windows.members();
  for (const std::string& finding : windows.findings()) data.tables.findings.add(finding);
  if (windows.damagedEvents() > 0)
    data.tables.findings.add("An event is damaged and is left out: its quotes or brackets do not match.",
                             windows.damagedEvents());
  if (windows.oversizedEvents() > 0)
    data.tables.findings.add("An event is larger than 16 MB and is left out.", windows.oversizedEvents());
  return true;
}

/// Text that begins with an array or an object may be a trace; the reader finds out.
bool looksLikeJson(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const std::size_t at = head.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? head.size() == kHeadBytes : head[at] == '[' || head[at] == '{';
}

}  // namespace

PIPESCOPE_REGISTER_FORMAT(chrome) {
  registry.add(
      {"Chrome's JSON format, as PyTorch's profiler writes it", ".json", looksLikeJson, readChrome, 2});
}

}  // namespace pipescope::importing
