#pragma once
#include <functional>
#include <memory>
#include <string>

#include "profiler/import/json_windows.h"
#include "profiler/import/trace_tables.h"

namespace pipescope::importing {

/// Parses the events of Chrome's trace event format, which PyTorch's profiler also writes. Times of the
/// format are in microseconds (Google: "Trace Event Format").
///
/// Metadata events fill the tables. Each other event goes to `receive`. An event that cannot be used is
/// counted in the tables' findings.
class ChromeEvents {
 public:
  using Receive = std::function<base::Status(const TraceEvent&)>;
  ChromeEvents(TraceTables& tables, Receive receive);
  ~ChromeEvents();

  /// Parses all events of a window. `window.text` is changed. Only errors of `receive` are errors.
  base::Status parse(JsonWindows::Window& window);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace pipescope::importing
