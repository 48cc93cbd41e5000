#include "profiler/import/read/trace_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "profiler/import/read/source/text_mending.h"

namespace pipescope::importing {
namespace {

constexpr std::size_t kLineBytes = 1 << 20;  // longer lines are no events
/// Farther from the first event than this (53 days) no event of a run can be.
constexpr Picoseconds kFarthestRow = Picoseconds{std::numeric_limits<std::int64_t>::max()} / 2;

enum GaudiColumn : std::size_t {
  kNode,
  kEngine,
  kType,
  kTime,
  kDevice,
  kOperation,
  kHardwareEvent,
  kCount,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kHeadings = {
    "Name", "Engine", "Event type", "Timestamp", "Device", "Operation", "HW Event description", "SPMU value"};

/// Picoseconds of the unit in a heading such as Timestamp[usec]; nothing if it is another heading.
std::optional<std::int64_t> unitOfTime(std::string_view heading) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {{"[psec]", 1},
                                                                  {"[ps]", 1},
                                                                  {"[nsec]", 1'000},
                                                                  {"[ns]", 1'000},
                                                                  {"[usec]", 1'000'000},
                                                                  {"[us]", 1'000'000},
                                                                  {"[msec]", 1'000'000'000},
                                                                  {"[ms]", 1'000'000'000},
                                                                  {"[sec]", 1'000'000'000'000},
                                                                  {"[s]", 1'000'000'000'000}};
  if (!heading.starts_with(kHeadings[kTime])) return std::nullopt;
  heading.remove_prefix(kHeadings[kTime].size());
  const auto unit = std::ranges::find(kUnits, heading, [](const auto& entry) { return entry.first; });
  return unit == std::end(kUnits) ? std::nullopt : std::optional(unit->second);
}

bool isHeading(std::string_view heading, std::size_t column) {
  return column == kTime ? unitOfTime(heading).has_value() : heading == kHeadings[column];
}

/// Spreadsheets of some languages separate cells by semicolons.
char separatorOf(std::string_view headings) {
  return std::ranges::count(headings, ';') > std::ranges::count(headings, ',') ? ';' : ',';
}

/// Splits a line at separators that stand in no quotation marks.
void splitCells(std::string_view line, char separator, std::vector<std::string>& cells) {
  cells.assign(1, {});
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
}

/// Delivers a source line by line.
class LineReader {
 public:
  explicit LineReader(ByteSource& source) : source_(source) {}

  /// Reads the next line without its end. False at the end of the source.
  bool next(std::string& line) {
    line.clear();
    for (;;) {
      const std::size_t end = std::min(buffer_.find('\n', at_), buffer_.size());
      line.append(buffer_, at_, std::min(end - at_, kLineBytes - std::min(kLineBytes, line.size())));
      at_ = end;
      if (at_ < buffer_.size()) {
        ++at_;
        return true;
      }
      if (!fill()) return !line.empty();
    }
  }
  /// The sentence of an error that ended the source; empty: none.
  const std::string& failure() const { return failure_; }

 private:
  bool fill() {
    buffer_.resize(256 * 1024);
    at_ = 0;
    auto count = source_.read(buffer_);
    if (!count.ok()) failure_ = count.error().message;
    buffer_.resize(count.ok() ? *count : 0);
    return !buffer_.empty();
  }

  ByteSource& source_;
  std::string buffer_, failure_;
  std::size_t at_ = 0;
};

class GaudiRows {
 public:
  GaudiRows(TraceData& data, const std::vector<std::string>& headings) : data_(data) {
    for (std::size_t c = 0; c < kColumns; ++c) {
      const auto found =
          std::ranges::find_if(headings, [c](const std::string& heading) { return isHeading(heading, c); });
      places_[c] = static_cast<std::size_t>(found - headings.begin());
    }
    if (places_[kTime] < headings.size()) unit_ = unitOfTime(headings[places_[kTime]]).value_or(unit_);
  }

  base::Status add(const std::vector<std::string>& cells) {
    TraceEvent event;
    const auto kind = kindOf(cell(cells, kType));
    const auto stated = parseTime(cell(cells, kTime), unit_);
    if (!kind || !stated) {
      data_.tables.findings.add("A line is no event with a type and a time, and is left out.");
      return {};
    }
    if (!data_.tables.origin) data_.tables.origin = *stated;
    const Picoseconds relative = *stated - *data_.tables.origin;
    if (relative > kFarthestRow || relative < -kFarthestRow) {
      data_.tables.findings.add("An event lies more than 50 days from the first event and is left out.");
      return {};
    }
    event.kind = *kind;
    event.time = static_cast<std::int64_t>(relative);
    event.process = data_.tables.process(cell(cells, kDevice));
    data_.markAccelerator(event.process);
    event.thread = data_.tables.thread(event.process, cell(cells, kEngine));
    TraceThread& thread = data_.tables.threads[event.thread];
    if (thread.name.empty()) thread.name = thread.key;
    return data_.add(named(event, cells));
  }

 private:
  TraceEvent named(TraceEvent event, const std::vector<std::string>& cells) {
    Names& names = data_.tables.names;
    const std::string& node = cell(cells, kNode);
    const std::string& what = cell(cells, kHardwareEvent);
    event.name = names.add(event.kind == EventKind::instant && !what.empty() ? what : node);
    event.category = names.add(event.kind == EventKind::instant ? "hardware event" : cell(cells, kOperation));
    event.id = -1;
    if (event.kind == EventKind::counter) {
      // Engines count apart.
      event.name = names.add(node + ", " + cell(cells, kEngine));
      const std::string& text = cell(cells, kCount);
      std::from_chars(text.data(), text.data() + text.size(), event.value);
    }
    return event;
  }

  const std::string& cell(const std::vector<std::string>& cells, GaudiColumn column) const {
    static const std::string none;
    return places_[column] < cells.size() ? cells[places_[column]] : none;
  }

  static std::optional<EventKind> kindOf(std::string_view text) {
    if (text == "BEGIN") return EventKind::begin;
    if (text == "END") return EventKind::end;
    if (text == "INSTANT") return EventKind::instant;
    if (text == "COUNTER") return EventKind::counter;
    return std::nullopt;
  }

  TraceData& data_;
  std::int64_t unit_ = 1'000'000;  // picoseconds of a time's unit
  std::array<std::size_t, kColumns> places_{};
};

bool looksLikeGaudiCsv(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const std::string_view line = head.substr(0, head.find('\n'));
  std::vector<std::string> cells;
  splitCells(line, separatorOf(line), cells);
  for (std::size_t column = 0; column <= kTime; ++column)
    if (std::ranges::none_of(cells, [column](const std::string& cell) { return isHeading(cell, column); }))
      return false;
  return true;
}

/// Reads the events of Gaudi's hardware profiler. Each engine is a thread of its device; an event is named
/// after its node and has the node's operation as category. An instant event is named after what the hardware
/// did. The columns are found by their headings. Damaged lines are counted in the findings.
base::Status readGaudiCsv(ByteSource& bytes, TraceData& data, const ReadReport& report) {
  LineReader lines(bytes);
  std::string line;
  std::vector<std::string> cells;
  if (!lines.next(line)) return {};
  std::string_view heading = line;
  if (heading.starts_with("\xEF\xBB\xBF")) heading.remove_prefix(3);
  const char separator = separatorOf(heading);
  splitCells(heading, separator, cells);
  GaudiRows rows(data, cells);
  for (std::int64_t count = 1; lines.next(line); ++count) {
    if (line.empty() || line == "\r") continue;
    if (line.ends_with('\r')) line.pop_back();
    mendText(line);
    splitCells(line, separator, cells);
    PIPESCOPE_TRY(rows.add(cells));
    if (count % 4096 != 0) continue;
    report.progress.report(report.fraction(), "reading " + report.name);
    if (report.progress.cancelled()) return base::cancelled("The import was stopped.");
  }
  if (!lines.failure().empty()) data.tables.findings.add(lines.failure());
  return {};
}

}  // namespace

PIPESCOPE_REGISTER_FORMAT(gaudi_csv) {
  const auto read = [](ByteSource& bytes, TraceData& data, base::Executor&,
                       const ReadReport& report) -> base::Result<bool> {
    PIPESCOPE_TRY(readGaudiCsv(bytes, data, report));
    return true;
  };
  registry.add({"CSV files of Gaudi's hardware profiler", ".csv", looksLikeGaudiCsv, read});
}

}  // namespace pipescope::importing
