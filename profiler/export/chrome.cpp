#include "profiler/export/chrome.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <variant>

#include "profiler/base/number_text.h"
#include "profiler/export/json_text.h"
#include "profiler/export/packed_messages.h"
#include "profiler/export/trace_events.h"

namespace pipescope::exporting {
namespace {

/// Microseconds with all the digits that a tick has.
std::string microseconds(Picoseconds ps) {
  const auto whole = static_cast<std::int64_t>(ps / 1'000'000),
             rest = static_cast<std::int64_t>(ps % 1'000'000);
  return fmt::format("{}.{:06}", whole, std::abs(rest));
}

class Chrome : public TraceSink {
 public:
  Chrome(const ChromeRequest& request, const Writer& write) : request_(request), write_(write) {}

  base::Status run(base::Progress& progress) {
    TraceEvents events(request_, progress);
    PIPESCOPE_TRY(events.read(kMostChromeEvents));
    PIPESCOPE_ASSIGN(const std::int64_t size, events.size());
    PIPESCOPE_TRY(refuseTooMany(size));
    const analysis::Catalog& catalog = request_.catalog;
    buffer_ = fmt::format(
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"times\":{},\"device_model\":{},"
        "\"tool_version\":{}}},\"traceEvents\":[",
        jsonText(catalog.property("times")), jsonText(catalog.property("device_model")),
        jsonText(catalog.property("tool_version")));
    PIPESCOPE_TRY(events.write(*this));
    buffer_ += "\n]}\n";
    return flushAbove(0, write_, buffer_);
  }

  base::Status process(std::int64_t number, const std::string& name) override {
    PIPESCOPE_TRY(
        line(fmt::format("{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}",
                         number, jsonText(name))));
    return line(fmt::format(
        "{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{}}}}}", number,
        number));
  }

  base::Status track(std::int64_t number, std::int64_t process, const std::string& name, int rank) override {
    PIPESCOPE_TRY(line(fmt::format(
        "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}}", process,
        number, jsonText(name))));
    return line(
        fmt::format("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_sort_index\",\"args\":{{\"sort_"
                    "index\":{}}}}}",
                    process, number, rank));
  }

  /// Chrome's format needs no description of a counter.
  base::Status counterTrack(std::int64_t, std::int64_t, const std::string&) override { return {}; }

  base::Status slice(const TraceSlice& of) override {
    std::string facts;
    for (const auto& [name, value] : of.facts) {
      if (!facts.empty()) facts += ',';
      const auto* number = std::get_if<std::int64_t>(&value);
      facts += fmt::format("\"{}\":{}", name,
                           number ? std::to_string(*number) : jsonText(std::get<std::string>(value)));
    }
    // The duration is the difference of the rounded ends, so that neighbouring slices touch.
    PIPESCOPE_TRY(
        line(fmt::format("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"name\":{},\"cat\":{},\"ts\":{},"
                         "\"dur\":{},\"args\":{{{}}}}}",
                         of.process, of.track, jsonText(of.name), jsonText(of.category),
                         microseconds(of.start), microseconds(of.end - of.start), facts)));
    return of.flow < 0 || of.end == of.start ? base::Status() : arrow(of);
  }

  base::Status counter(std::int64_t, std::int64_t process, const std::string& name, Picoseconds time,
                       double value) override {
    return line(fmt::format("{{\"ph\":\"C\",\"pid\":{},\"name\":{},\"ts\":{},\"args\":{{\"value\":{}}}}}",
                            process, jsonText(name), microseconds(time), value));
  }

 private:
  base::Status refuseTooMany(std::int64_t events) const {
    if (events <= kMostChromeEvents) return {};
    return base::badInput(
        fmt::format("These are {} steps once segments are expanded, more than the {} that a Chrome trace can "
                    "sensibly hold. Export {}without steps (--no-steps).",
                    base::groupedText(events), base::groupedText(kMostChromeEvents),
                    request_.run ? "" : "a single call (--call 1), or "));
  }

  /// Writes an end of the arrow between two slices. The arrow begins and ends within the slices, because
  /// readers bind its ends to the slices around them.
  base::Status arrow(const TraceSlice& of) {
    const Picoseconds middle = of.start + (of.end - of.start) / 2;
    return line(fmt::format(
        "{{\"ph\":\"{}\",\"bp\":\"e\",\"id\":{},\"pid\":{},\"tid\":{},\"name\":{},\"cat\":\"transfer\","
        "\"ts\":{}}}",
        of.flowEnds ? "f" : "s", of.flow, of.process, of.track, jsonText(of.name),
        microseconds(of.flowEnds ? middle : of.start)));
  }

  /// Writes an event, or metadata.
  base::Status line(const std::string& text) {
    buffer_ += first_ ? "\n" : ",\n";
    first_ = false;
    buffer_ += text;
    return flushAbove(kFlushBytes, write_, buffer_);
  }

  const ChromeRequest& request_;
  const Writer& write_;
  std::string buffer_;
  bool first_ = true;
};

}  // namespace

base::Status exportChrome(const ChromeRequest& request, const Writer& write, base::Progress& progress) {
  return Chrome(request, write).run(progress);
}

}  // namespace pipescope::exporting
