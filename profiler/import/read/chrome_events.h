#pragma once
#include <memory>
#include <string>
#include <vector>

#include "profiler/import/read/source/json_windows.h"
#include "profiler/import/read/source/parsed_window.h"

namespace pipescope::importing {

/// Parses the events of Chrome's trace event format, which PyTorch's profiler also writes. Times of the
/// format are in microseconds (Google: "Trace Event Format").
class ChromeEvents {
 public:
  /// `ownArguments` are names of further arguments that events keep (Rules::ownArguments).
  explicit ChromeEvents(const std::vector<std::string>& ownArguments);
  ~ChromeEvents();

  /// Parses all events of a window. Events and metadata go to `events`; what cannot be used is counted in its
  /// findings. The text of the window is changed. `events` refers to texts in the window and in this parser,
  /// so merge it before either is used again.
  void parse(JsonWindows::Window& window, ParsedWindow& events);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace pipescope::importing
