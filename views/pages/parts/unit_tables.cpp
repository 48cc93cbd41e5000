#include "views/pages/parts/unit_tables.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "profiler/analysis/memory/held_variables.h"
#include "profiler/analysis/memory/tile_memory.h"
#include "profiler/analysis/memory/unit_addresses.h"
#include "profiler/base/wrapping.h"
#include "views/pages/parts/memory_data.h"

namespace pipescope::pages {
namespace {

using sections::Cell;
using sections::Format;
using sections::Table;

/// At most this many variables of a device are read, the largest ones.
constexpr std::size_t kMost = 3000;

bool isVertex(const std::string& category) {
  return category.rfind("vertex", 0) == 0;
}
bool isExchange(const std::string& category) {
  return category.find("xchange") != std::string::npos || category == "copyDescriptor";
}

/// A variable with the device that holds it.
struct Held {
  std::string device;
  analysis::HeldVariable variable;
};

/// What the tables have in common.
struct Words {
  std::string unit;      ///< "tile"
  std::string basis;     ///< whose bytes are summed
  bool devices = false;  ///< several devices are shown, so rows name theirs
};

void sortByNumber(Table& table, std::size_t column) {
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
    return std::get<std::int64_t>(a[column]) > std::get<std::int64_t>(b[column]);
  });
}

Table variableTable(const char* key, const char* title, const std::vector<Held>& all, const Words& words,
                    bool (*takes)(const std::string&)) {
  Table table{key,
              title,
              words.basis,
              {{"name", "Name", Format::plain, "name path"},
               {"device", "Device", Format::plain, ""},
               {"bytes", "Bytes", Format::bytes, words.basis},
               {"most", "Most on one", Format::bytes, "on the " + words.unit + " that holds most of it"},
               {"units", "On " + words.unit + "s", Format::count, "how many of them hold a part of it"},
               {"category", "Category", Format::plain, ""},
               {"shape", "Shape", Format::plain, "of the whole variable"},
               {"live", "Live", Format::plain, "for the whole program, or only in some of its steps"},
               {"from", "From step", Format::count, "the first program step in which it is live"},
               {"until", "To step", Format::count, "the last one; it may be free in between"}},
              {}};
  for (const auto& [device, row] : all) {
    if (!takes(row.category)) continue;
    const bool steps = !row.alwaysLive && row.firstStep >= 0;
    table.rows.push_back({row.name, words.devices ? Cell(device) : Cell(), row.bytes.count, row.most.count,
                          row.units > 0 ? Cell(row.units) : Cell(), memoryWords(row.category).toStdString(),
                          row.shape, std::string(row.alwaysLive ? "always" : "not always"),
                          steps ? Cell(static_cast<std::int64_t>(row.firstStep)) : Cell(),
                          steps ? Cell(static_cast<std::int64_t>(row.endStep - 1)) : Cell()});
  }
  sortByNumber(table, 2);
  return table;
}

/// Vertices by their name: code belongs to a type of vertex, and data (state and fields) to an operation.
Table vertexTable(const std::vector<Held>& all, const Words& words) {
  Table table{"vertices",
              "Vertices",
              words.basis,
              {{"name", "Vertex type or operation", Format::plain,
                "code belongs to a type of vertex, data to an operation"},
               {"device", "Device", Format::plain, ""},
               {"units", "On " + words.unit + "s", Format::count, "how many of them hold it"},
               {"code", "Code", Format::bytes, "once for each type and " + words.unit},
               {"data", "Data", Format::bytes, "state and fields of the vertices"},
               {"bytes", "Bytes", Format::bytes, "code and data"}},
              {}};
  struct Sums {
    std::int64_t code = 0, data = 0, units = 0;
  };
  std::map<std::pair<std::string, std::string>, Sums> sums;
  for (const auto& [device, row] : all) {
    if (!isVertex(row.category)) continue;
    Sums& sum = sums[{device, row.name}];
    base::addWrapped(row.category == "vertexCode" ? sum.code : sum.data, row.bytes.count);
    sum.units = std::max(sum.units, row.units);
  }
  for (const auto& [key, sum] : sums) {
    table.rows.push_back({key.second, words.devices ? Cell(key.first) : Cell(),
                          sum.units > 0 ? Cell(sum.units) : Cell(), sum.code, sum.data,
                          base::wrappedSum(sum.code, sum.data)});
  }
  sortByNumber(table, 5);
  return table;
}

base::Result<Table> detailTable(const shell::ProfileSnapshot& held, model::ExecutableId executable,
                                const std::vector<WantedUnits>& wanted, const Words& words) {
  std::map<std::tuple<std::string, std::string, bool>, std::int64_t> sums;
  std::int64_t whole = 0;
  for (const WantedUnits& one : wanted) {
    PIPESCOPE_ASSIGN(const auto use, analysis::tileUse(*held.source, executable, one.space, one.units));
    for (const analysis::TileUse& row : use) {
      base::addWrapped(sums[{row.category, row.region, row.alwaysLive}], row.bytes.count);
      base::addWrapped(whole, row.bytes.count);
    }
  }
  Table table{
      "details",
      "Details",
      words.basis,
      {{"category", "Category", Format::plain, ""},
       {"region", "Region", Format::plain, ""},
       {"liveness", "Liveness", Format::plain, ""},
       {"bytes", "Bytes", Format::bytes, ""},
       {"share", "Share", Format::fraction, "of the bytes of these " + words.unit + "s, gaps included"}},
      {}};
  for (const auto& [key, bytes] : sums) {
    const bool alwaysLive = std::get<2>(key);
    table.rows.push_back({memoryWords(std::get<0>(key)).toStdString(),
                          memoryWords(std::get<1>(key)).toStdString(),
                          std::string(alwaysLive ? "always live" : "not always live (peak)"), bytes,
                          whole > 0 ? static_cast<double>(bytes) / static_cast<double>(whole) : 0.0});
  }
  sortByNumber(table, 3);
  return table;
}

base::Result<Table> addressTable(const shell::ProfileSnapshot& held, model::ExecutableId executable,
                                 const std::vector<WantedUnits>& wanted, const Words& words) {
  Table table{"addresses",
              "Addresses",
              "select a " + words.unit + " to see what lies where on it",
              {{"from", "From", Format::count, "first address, in bytes"},
               {"to", "To", Format::count, "address behind the last byte"},
               {"bytes", "Bytes", Format::bytes, ""},
               {"region", "Region", Format::plain, ""},
               {"category", "Category", Format::plain, ""},
               {"live", "Live", Format::plain, "what is not always live shares its addresses"}},
              {}};
  for (const WantedUnits& one : wanted) {
    if (one.units.empty() || !table.rows.empty()) continue;
    PIPESCOPE_ASSIGN(const auto ranges,
                     analysis::unitAddresses(*held.source, executable, one.space, one.units.front()));
    table.basis = "of " + one.device + " " + words.unit + " " + std::to_string(one.units.front()) +
                  ", by category; addresses of single variables are not recorded";
    for (const analysis::AddressRange& range : ranges) {
      table.rows.push_back({range.from, range.to, range.to - range.from,
                            memoryWords(range.region).toStdString(),
                            memoryWords(range.category).toStdString(),
                            std::string(range.isGap()      ? ""
                                        : range.alwaysLive ? "always"
                                                           : "not always")});
    }
  }
  return table;
}

std::string basisOf(const std::vector<WantedUnits>& wanted, const std::string& unit) {
  std::size_t chosen = 0;
  for (const WantedUnits& one : wanted) chosen += one.units.size();
  if (chosen == 0) return "sum over all " + unit + "s shown";
  return chosen == 1 ? "on the selected " + unit
                     : "sum over the " + std::to_string(chosen) + " selected " + unit + "s";
}

}  // namespace

base::Result<UnitTables> unitTables(const shell::ProfileSnapshot& held, model::ExecutableId executable,
                                    const std::vector<WantedUnits>& wanted, const std::string& unitName,
                                    base::Progress& progress) {
  Words words{memoryUnit(unitName), {}, wanted.size() > 1};
  words.basis = basisOf(wanted, words.unit);
  UnitTables tables;
  PIPESCOPE_ASSIGN(tables.details, detailTable(held, executable, wanted, words));
  PIPESCOPE_ASSIGN(tables.addresses, addressTable(held, executable, wanted, words));
  std::vector<Held> variables;
  std::int64_t all = 0;
  bool known = true, some = false;
  for (const WantedUnits& one : wanted) {
    PIPESCOPE_ASSIGN(analysis::HeldVariables found,
                     analysis::heldVariables(*held.source, *held.catalog, executable, one.space, one.units,
                                             kMost, progress));
    all += found.all;
    known = known && found.known;
    some = some || !one.units.empty();
    for (analysis::HeldVariable& variable : found.variables)
      variables.push_back({one.device, std::move(variable)});
  }
  tables.variables =
      variableTable("variables", "Variables", variables, words,
                    [](const std::string& category) { return !isVertex(category) && !isExchange(category); });
  tables.vertices = vertexTable(variables, words);
  tables.exchanges = variableTable("exchanges", "Exchanges", variables, words, isExchange);
  for (Table* table : {&tables.variables, &tables.vertices, &tables.exchanges}) {
    if (all > static_cast<std::int64_t>(variables.size())) table->basis += "; the smallest are left out";
    if (!known && some)
      table->basis = "this profile does not say which " + words.unit +
                     " holds what: run again with --record steps or --record tiles";
  }
  return tables;
}

}  // namespace pipescope::pages
