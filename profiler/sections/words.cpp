#include "profiler/sections/wording.h"

#include <algorithm>
#include <string_view>

namespace pipescope::sections {
namespace {

constexpr std::int64_t kPicoseconds = 1'000'000'000'000;

void replace(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

bool hasTicks(const Table& table) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [](const Column& column) { return column.inText && column.format == Format::ticks; });
}

/// Labels and headings name the unit once: in a fact's label, behind a table's title.
void showMicroseconds(Section& section) {
  for (Fact& fact : section.facts) {
    if (fact.key == "time_us") fact.inText = false;  // the total in ticks says the same now
    if (fact.format != Format::ticks) continue;
    replace(fact.label, "Cycles", "Time");
    fact.label += ", µs";
  }
  for (Table& table : section.tables) {
    if (!hasTicks(table)) continue;
    const bool named = table.basis.find("cycles") != std::string::npos;
    replace(table.basis, "cycles", "µs");
    if (!named) table.basis += table.basis.empty() ? "times in µs" : "; times in µs";
    for (Column& column : table.columns) {
      if (column.key == "clock_hz") column.inText = false;  // that of the timebase, not of an engine
      if (column.format != Format::ticks) continue;
      replace(column.heading, "Saves cycles", "Saves time");
      replace(column.heading, "Cycles", "Time");
    }
  }
}

/// Nothing but zeros or nothing at all.
bool isEmpty(const Table& table, std::size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(), [&](const std::vector<Cell>& row) {
    const auto* number = std::get_if<std::int64_t>(&row[column]);
    return std::holds_alternative<std::monostate>(row[column]) || (number && *number == 0);
  });
}

void leaveOutTiles(Section& section) {
  std::erase_if(section.tables,
                [](const Table& table) { return table.key == "fullest_tiles" && table.rows.empty(); });
  for (Table& table : section.tables) {
    replace(table.basis, ", sum over tiles", "");
    if (table.basis == "sum over tiles") table.basis.clear();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      Column& column = table.columns[c];
      if (column.key == "worst_tile") column.inText = false;
      if (column.heading == "Its bytes") column.heading = "With gaps";
      if (column.heading == "Free on it") column.heading = "Free";
      if (column.heading == "Kind of layer") column.heading = "Kind of work";
      if (column.key == "exchange_cycles" && column.heading == "Exchange") column.heading = "DMA, NIC";
      if ((column.key == "code_bytes" || column.key == "sync_cycles") && isEmpty(table, c))
        column.inText = false;
    }
  }
}

}  // namespace

TickUnit tickUnitOf(std::int64_t ticksPerSecond, bool fixed) {
  if (fixed) return {static_cast<double>(ticksPerSecond), "cost units"};
  return ticksPerSecond == kPicoseconds ? TickUnit{static_cast<double>(ticksPerSecond) * 1e-6, "µs"}
                                        : TickUnit{};
}

TickUnit tickUnitOf(const analysis::Catalog& catalog) {
  return tickUnitOf(catalog.timebase({}).ticksPerSecond, catalog.target.family == "fixed");
}

void showTicksIn(Section& section, const TickUnit& unit) {
  section.ticksPerShownUnit = unit.ticks;
  if (unit.word == std::string_view("µs")) showMicroseconds(section);
}

void speakOfDevices(Section& section, const analysis::Catalog& catalog) {
  showTicksIn(section, tickUnitOf(catalog));
  if (catalog.target.family == "fixed") {
    section.remarks.push_back("Cycles are cost units of the configuration.");
    return;
  }
  const bool whole =
      !catalog.devices.empty() && std::all_of(catalog.devices.begin(), catalog.devices.end(),
                                              [](const model::Device& device) { return device.units == 1; });
  if (whole) leaveOutTiles(section);
}

}  // namespace pipescope::sections
