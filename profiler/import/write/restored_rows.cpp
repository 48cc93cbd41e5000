#include "profiler/import/write/restored_rows.h"

#include <simdjson.h>

#include "profiler/import/write/carried_table.h"

namespace pipescope::importing {
namespace {

/// Reads the pieces one after the other, and passes their rows on.
class PieceReader {
 public:
  /// Calls take(row) for every row of the piece. False if it is none that exports write.
  template <class Take>
  bool read(std::string_view piece, Take&& take) {
    const simdjson::padded_string text(piece);
    simdjson::dom::object object, columns, end;
    if (parser_.parse(text).get(object) != simdjson::SUCCESS) return false;
    if (object["end"].get(end) == simdjson::SUCCESS) return readEnd(end);
    std::string_view table;
    std::uint64_t size = 0;
    if (object["table"].get(table) != simdjson::SUCCESS || object["rows"].get(size) != simdjson::SUCCESS ||
        object["columns"].get(columns) != simdjson::SUCCESS)
      return false;
    bool known = false;
    model::forEachRowType([&]<class Row>() {
      // The store makes these from other rows.
      if constexpr (!std::is_same_v<Row, model::LevelNode>) {
        if (known || table != Row::kTable) return;
        auto rows = readCarriedRows<Row>(columns);
        if (!rows || rows->size() != size) return;
        known = true;
        for (Row& row : *rows) take(std::move(row));
      }
    });
    pieces += known ? 1 : 0;
    return known;
  }

  std::int64_t pieces = 0;
  bool ended = false;
  std::int64_t statedPieces = 0, statedEvents = 0;
  RestoredProfile found;

 private:
  bool readEnd(simdjson::dom::object end) {
    std::int64_t state = 0;
    std::string_view reason;
    const bool whole = end["pieces"].get(statedPieces) == simdjson::SUCCESS &&
                       end["events"].get(statedEvents) == simdjson::SUCCESS &&
                       end["state"].get(state) == simdjson::SUCCESS &&
                       end["reason"].get(reason) == simdjson::SUCCESS && !ended;
    ended = true;
    using enum model::ProfileState;
    // What runs while it is exported has no end.
    found.state = state == static_cast<int>(complete)    ? complete
                  : state == static_cast<int>(cancelled) ? cancelled
                                                         : incomplete;
    found.reason = reason;
    if (state == static_cast<int>(running)) found.reason = "The run had not ended when it was exported.";
    return whole;
  }

  simdjson::dom::parser parser_;
};

template <class Row>
constexpr bool kIsSlice = std::is_same_v<Row, model::Placement> || std::is_same_v<Row, model::Transfer> ||
                          std::is_same_v<Row, model::Wait>;

/// True if all rows can be read, and nothing of the trace is missing.
base::Result<bool> isWhole(TraceData& trace, PieceReader& reader) {
  bool readable = true;
  PIPESCOPE_TRY(trace.carried.visit([&](std::string_view piece) -> base::Result<bool> {
    readable = reader.read(piece, [&]<class Row>(Row) { reader.found.slices += kIsSlice<Row> ? 1 : 0; });
    return readable;
  }));
  return readable && reader.ended && reader.pieces == reader.statedPieces &&
         trace.events.size() == reader.statedEvents;
}

}  // namespace

base::Result<std::optional<RestoredProfile>> restoreRows(TraceData& trace, record::Recorder& recorder,
                                                         base::Progress& progress) {
  if (trace.carried.size() == 0) return std::optional<RestoredProfile>();
  PieceReader reader;
  PIPESCOPE_ASSIGN(const bool whole, isWhole(trace, reader));
  if (!whole) {
    trace.tables.findings.add(
        "The trace was cut, filtered or changed after it was exported, so the profile is made of its events "
        "alone; they do not tell blocks, memory, settings and losses.");
    return std::optional<RestoredProfile>();
  }
  const auto restore = [&](std::string_view piece) -> base::Result<bool> {
    if (progress.cancelled()) return base::cancelled("The import was stopped.");
    reader.read(piece, [&]<class Row>(Row&& row) { recorder.add(std::forward<Row>(row)); });
    PIPESCOPE_TRY(recorder.commitIfDue());
    return true;
  };
  PIPESCOPE_TRY(trace.carried.visit(restore));
  return std::optional(reader.found);
}

}  // namespace pipescope::importing
