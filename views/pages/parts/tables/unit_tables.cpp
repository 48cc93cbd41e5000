#include "views/pages/parts/tables/unit_tables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "profiler/analysis/memory/held_variables.h"
#include "profiler/analysis/memory/tile_use.h"
#include "profiler/analysis/memory/unit_addresses.h"
#include "profiler/analysis/memory/unit_layout.h"
#include "profiler/analysis/memory/unit_vertices.h"
#include "profiler/base/wrapping.h"
#include "views/pages/parts/data/memory_data.h"

namespace pipescope::pages {
namespace {

using sections::Cell;
using sections::Format;
using sections::SectionTable;

/// Most variables of a device that are read, the largest ones.
constexpr std::size_t kMost = 3000;

bool isVertex(const std::string& category) {
  return category.rfind("vertex", 0) == 0;
}
bool isExchange(const std::string& category) {
  return category.find("xchange") != std::string::npos || category == "copyDescriptor";
}

/// A variable, or a piece of it, with the device that holds it.
struct Held {
  std::string device;
  analysis::HeldVariable variable;
  std::optional<std::int64_t> offset;  ///< known if a single unit is shown
  std::string region;
};

/// Texts and values that the tables have in common.
struct Words {
  std::string unit;      ///< "tile"
  std::string basis;     ///< description of the units whose bytes are summed
  bool devices = false;  ///< several devices are shown, so rows name theirs
  bool single = false;   ///< one unit is shown, so its variables have addresses
};

void sortByNumber(SectionTable& table, std::size_t column) {
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
    return std::get<std::int64_t>(a[column]) > std::get<std::int64_t>(b[column]);
  });
}

SectionTable variableTable(const char* key, const char* title, const std::vector<Held>& all,
                           const Words& words, bool (*takes)(const std::string&)) {
  SectionTable table{
      key,
      title,
      words.basis,
      {{"name", "Name", Format::plain, "name path"},
       {"device", "Device", Format::plain, ""},
       {"offset", "Offset", Format::count,
        "address of the first byte; what is not always live shares its addresses"},
       {"bytes", "Bytes", Format::bytes, words.basis},
       {"from", "From step", Format::count, "the first program step in which it is live"},
       {"until", "To step", Format::count, "the last one; it may be free in between"},
       {"most", "Most on one", Format::bytes, "on the " + words.unit + " that holds most of it"},
       {"units", "On " + words.unit + "s", Format::count, "how many of them hold a part of it"},
       {"category", "Category", Format::plain, ""},
       {"region", "Region", Format::plain, ""},
       {"live", "Live", Format::plain, "for the whole program, or only in some of its steps"},
       {"shape", "Shape", Format::plain, "of the whole variable"}},
      {}};
  for (const auto& [device, row, offset, region] : all) {
    if (!takes(row.category)) continue;
    const bool steps = !row.alwaysLive && row.firstStep >= 0;
    table.rows.push_back({row.name, words.devices ? Cell(device) : Cell(), offset ? Cell(*offset) : Cell(),
                          row.bytes.count, steps ? Cell(static_cast<std::int64_t>(row.firstStep)) : Cell(),
                          steps ? Cell(static_cast<std::int64_t>(row.endStep - 1)) : Cell(),
                          words.single ? Cell() : Cell(row.most.count),
                          row.units > 0 && !words.single ? Cell(row.units) : Cell(),
                          memoryWords(row.category).toStdString(), memoryWords(region).toStdString(),
                          std::string(row.alwaysLive ? "always" : "not always"), row.shape});
  }
  sortByNumber(table, 3);
  return table;
}

SectionTable vertexTable(const Words& words) {
  return {"vertices",
          "Vertices",
          words.basis,
          {{"name", "Vertex type", Format::plain, "the codelet with its template arguments"},
           {"device", "Device", Format::plain, ""},
           {"count", "Count", Format::count, "vertices, sum over compute sets"},
           {"sets", "Compute sets", Format::count, "that run some of them"},
           {"units", "On " + words.unit + "s", Format::count, "how many of them hold some"},
           {"code", "Code", Format::bytes, "once for each " + words.unit},
           {"data", "Data", Format::bytes, "state of the vertices, and the lists that they point to"},
           {"bytes", "Bytes", Format::bytes, "code and data"}},
          {}};
}

base::Status addVertices(SectionTable& table, bool& known, const shell::ProfileSnapshot& held,
                         model::ExecutableId executable, const WantedUnits& one, const Words& words,
                         base::Progress& progress) {
  PIPESCOPE_ASSIGN(
      const analysis::UnitVertices found,
      analysis::unitVertices(*held.source, *held.catalog, executable, one.space, one.units, progress));
  known = known && found.known;
  for (const analysis::VertexType& type : found.types) {
    table.rows.push_back({type.type, words.devices ? Cell(one.device) : Cell(), type.count, type.computeSets,
                          words.single ? Cell() : Cell(type.units), type.code.count, type.data().count,
                          type.bytes().count});
  }
  return {};
}

base::Result<SectionTable> detailTable(const shell::ProfileSnapshot& held, model::ExecutableId executable,
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
  SectionTable table{
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

bool isGap(const std::vector<Cell>& row) {
  static const std::string kGap = memoryWords("gap").toStdString();
  return std::get<std::string>(row[0]) == kGap;
}

/// Rows with sums for each region, and in it for each category. Gaps between variables come last, because
/// they are not in use.
class DetailTree {
 public:
  explicit DetailTree(const SectionTable& details) {
    made_.table = {"detail_tree",
                   "What the memory holds",
                   details.basis,
                   {{"name", "Region, category and liveness", Format::plain, ""},
                    details.columns[3],
                    {"share", "Share", Format::fraction, "of the bytes used, without gaps"}},
                   {}};
    for (const auto& row : details.rows)
      if (!isGap(row)) used_ += static_cast<double>(std::get<std::int64_t>(row[3]));
  }

  /// Takes a row of the details.
  void add(const std::vector<Cell>& row) {
    const auto& region = std::get<std::string>(row[1]);
    const std::string place = region.empty() ? std::string("memory") : region;
    if (isGap(row)) {
      group(group(-1, "gaps, not used", row), place, row);
      return;
    }
    const int above = group(-1, place, row);
    const int category = group(above, std::get<std::string>(row[0]), row);
    push(category, std::get<std::string>(row[2]));
    count(static_cast<int>(made_.parents.size()) - 1, row);
  }
  TreeRows take() {
    made_.shape = shapeOf(made_);
    return std::move(made_);
  }

 private:
  int group(int parent, const std::string& name, const std::vector<Cell>& row) {
    const auto [known, isNew] = groups_.try_emplace({parent, name}, static_cast<int>(made_.parents.size()));
    if (isNew) push(parent, name);
    count(known->second, row);
    return known->second;
  }
  void push(int parent, const std::string& name) {
    made_.table.rows.push_back({name, std::int64_t{0}, 0.0});
    made_.parents.push_back(parent);
    made_.sources.push_back(-1);
  }
  void count(int at, const std::vector<Cell>& row) {
    std::vector<Cell>& sums = made_.table.rows[static_cast<std::size_t>(at)];
    auto& bytes = std::get<std::int64_t>(sums[1]);
    base::addWrapped(bytes, std::get<std::int64_t>(row[3]));
    sums[2] = isGap(row) || used_ <= 0 ? Cell() : Cell(static_cast<double>(bytes) / used_);
  }

  TreeRows made_;
  double used_ = 0;  ///< bytes
  std::map<std::pair<int, std::string>, int> groups_;
};

TreeRows detailTree(const SectionTable& details) {
  DetailTree tree(details);
  for (const bool gaps : {false, true}) {
    for (const auto& row : details.rows)
      if (isGap(row) == gaps) tree.add(row);
  }
  return tree.take();
}

/// The single unit that is shown, or nothing.
std::optional<std::int64_t> singleUnit(const std::vector<WantedUnits>& wanted, const std::string& unitName) {
  if (wanted.size() != 1) return std::nullopt;
  const std::vector<std::int64_t>& units = wanted.front().units;
  if (units.size() == 1) return units.front();
  return units.empty() && unitName.empty() ? std::optional<std::int64_t>(0) : std::nullopt;
}

SectionTable addressTable(const std::vector<analysis::AddressRange>& ranges) {
  SectionTable table{"addresses",
                     "Addresses",
                     {},
                     {{"from", "From", Format::count, "first address, in bytes"},
                      {"to", "To", Format::count, "address behind the last byte"},
                      {"bytes", "Bytes", Format::bytes, ""},
                      {"region", "Region", Format::plain, ""},
                      {"category", "Category", Format::plain, ""},
                      {"live", "Live", Format::plain, "what is not always live shares its addresses"}},
                     {}};
  for (const analysis::AddressRange& range : ranges) {
    table.rows.push_back({range.from, range.to, range.to - range.from,
                          memoryWords(range.region).toStdString(), memoryWords(range.category).toStdString(),
                          std::string(range.isGap()      ? ""
                                      : range.alwaysLive ? "always"
                                                         : "not always")});
  }
  return table;
}

/// The variables of one unit at their addresses, with the map of these.
base::Status addPlaced(const shell::ProfileSnapshot& held, model::ExecutableId executable,
                       const WantedUnits& one, std::int64_t unit, const Words& words, UnitTables& tables,
                       std::vector<Held>& variables, bool& known) {
  PIPESCOPE_ASSIGN(const analysis::UnitLayout layout,
                   analysis::unitLayout(*held.source, *held.catalog, executable, one.space, unit));
  known = layout.known;
  PIPESCOPE_ASSIGN(const std::vector<analysis::AddressRange> ranges,
                   analysis::unitAddresses(*held.source, executable, one.space, unit, layout));
  tables.addresses = addressTable(ranges);
  tables.addresses.basis =
      addressBasis(one.device + (words.unit == "device" ? "" : " " + words.unit + " " + std::to_string(unit)),
                   known, layout.misplaced);
  for (const analysis::PlacedVariable& row : layout.variables) {
    analysis::HeldVariable variable{row.id,    row.name,       row.category, row.shape,
                                    row.stage, row.alwaysLive, row.bytes,    row.bytes,
                                    1,         row.firstStep,  row.endStep};
    variables.push_back({one.device, std::move(variable),
                         row.address < 0 ? std::nullopt : std::optional(row.address), row.region});
  }
  return {};
}

std::string basisOf(const std::vector<WantedUnits>& wanted, const std::string& unit) {
  std::size_t chosen = 0;
  for (const WantedUnits& one : wanted) chosen += one.units.size();
  if (chosen == 0 && wanted.size() == 1 && unit == "device") return "of " + wanted.front().device;
  if (chosen == 0) return "sum over all " + unit + "s shown";
  return chosen == 1 ? "on the selected " + unit
                     : "sum over the " + std::to_string(chosen) + " selected " + unit + "s";
}

}  // namespace

std::string addressBasis(const std::string& unit, bool known, base::Bytes misplaced) {
  std::string basis = "of " + unit + ", by category";
  if (known) basis += "; the tab Variables has the offset of each variable";
  if (misplaced.count > 0)
    basis += "; " + sections::formatCell(misplaced.count, Format::bytes) +
             " need interleaved memory, but lie elsewhere because no room was found there";
  return basis;
}

base::Result<UnitTables> unitTables(const shell::ProfileSnapshot& held, model::ExecutableId executable,
                                    const std::vector<WantedUnits>& wanted, const std::string& unitName,
                                    base::Progress& progress) {
  const std::optional<std::int64_t> single = singleUnit(wanted, unitName);
  Words words{memoryUnit(unitName), {}, wanted.size() > 1, single.has_value()};
  words.basis = basisOf(wanted, words.unit);
  UnitTables tables;
  PIPESCOPE_ASSIGN(tables.details, detailTable(held, executable, wanted, words));
  tables.tree = detailTree(tables.details);
  tables.addresses = addressTable({});
  tables.addresses.basis = "select one " + words.unit + " to see what lies where on it";
  tables.vertices = vertexTable(words);
  std::vector<Held> variables;
  std::int64_t all = 0;
  bool known = true, knownVertices = true, some = false;
  for (const WantedUnits& one : wanted) {
    some = some || !one.units.empty();
    PIPESCOPE_TRY(addVertices(tables.vertices, knownVertices, held, executable, one, words, progress));
    if (single) {
      PIPESCOPE_TRY(addPlaced(held, executable, one, *single, words, tables, variables, known));
      if (known) continue;
    }
    PIPESCOPE_ASSIGN(analysis::HeldVariables found,
                     analysis::heldVariables(*held.source, *held.catalog, executable, one.space, one.units,
                                             kMost, progress));
    all += found.all - static_cast<std::int64_t>(found.variables.size());
    known = known && found.known;
    for (analysis::HeldVariable& variable : found.variables)
      variables.push_back({one.device, std::move(variable), {}, {}});
  }
  sortByNumber(tables.vertices, 7);
  tables.variables =
      variableTable("variables", "Variables", variables, words,
                    [](const std::string& category) { return !isVertex(category) && !isExchange(category); });
  tables.exchanges = variableTable("exchanges", "Exchanges", variables, words, isExchange);
  const std::string unknown = "this profile does not say which " + words.unit +
                              " holds what: run again with --record steps or --record tiles";
  for (SectionTable* table : {&tables.variables, &tables.exchanges}) {
    if (all > 0) table->basis += "; the smallest are left out";
    if (!known && some) table->basis = unknown;
  }
  // Memory in one piece belongs to devices without vertices.
  if (!knownVertices && !unitName.empty()) tables.vertices.basis = unknown;
  return tables;
}

}  // namespace pipescope::pages
