#include "views/pages/parts/unit_tables.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "profiler/analysis/memory/tile_memory.h"
#include "profiler/base/wrapping.h"
#include "views/pages/parts/memory_data.h"

namespace pipescope::pages {
namespace {

using sections::Format;

/// At most this many variables of a device are read, the largest ones.
constexpr std::size_t kMost = 3000;

bool startsWith(const std::string& text, const char* with) {
  return text.rfind(with, 0) == 0;
}
bool isVertex(const std::string& category) {
  return startsWith(category, "vertex");
}
bool isExchange(const std::string& category) {
  return category.find("xchange") != std::string::npos || category == "copyDescriptor";
}

sections::Table variableTable(const char* key, const char* title,
                              const std::vector<analysis::SpaceVariable>& all, const std::string& unit,
                              const std::function<bool(const std::string&)>& takes) {
  sections::Table table{key,
                        title,
                        "of the selected devices, sum over their " + unit + "s",
                        {{"name", "Name", Format::plain, "name path"},
                         {"bytes", "Bytes", Format::bytes, ""},
                         {"most", "Most on one", Format::bytes, "on the " + unit + " that holds most of it"},
                         {"category", "Category", Format::plain, ""},
                         {"shape", "Shape", Format::plain, ""},
                         {"live", "Live", Format::plain, ""}},
                        {}};
  for (const analysis::SpaceVariable& row : all) {
    if (!takes(row.category)) continue;
    table.rows.push_back({row.name, row.bytes.count, row.maxUnitBytes.count,
                          memoryWords(row.category).toStdString(), row.shape,
                          std::string(row.alwaysLive ? "always" : "not always")});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return std::get<std::int64_t>(a[1]) > std::get<std::int64_t>(b[1]);
  });
  return table;
}

}  // namespace

base::Result<std::vector<sections::Table>> unitTables(const shell::Snapshot& held,
                                                      model::ExecutableId executable,
                                                      const WantedUnits& wanted,
                                                      const std::string& unitName) {
  const std::string unit = memoryUnit(unitName);
  const bool some =
      std::any_of(wanted.begin(), wanted.end(), [](const auto& one) { return !one.second.empty(); });
  std::map<std::tuple<std::string, std::string, bool>, std::int64_t> sums;
  std::int64_t whole = 0, all = 0;
  base::SilentProgress progress;
  std::vector<analysis::SpaceVariable> variables;
  for (const auto& [space, list] : wanted) {
    PIPESCOPE_ASSIGN(const auto use, analysis::tileUse(*held.source, executable, space, list));
    for (const analysis::TileUse& row : use) {
      base::addWrapped(sums[{row.category, row.region, row.alwaysLive}], row.bytes.count);
      base::addWrapped(whole, row.bytes.count);
    }
    PIPESCOPE_ASSIGN(const auto found, analysis::spaceVariables(*held.source, *held.catalog, executable,
                                                                space, kMost, progress));
    all += found.all;
    variables.insert(variables.end(), found.variables.begin(), found.variables.end());
  }
  sections::Table details{
      "details",
      "Details",
      (some ? "sum over the selected " : "sum over all ") + unit + (some ? "s" : "s shown"),
      {{"category", "Category", Format::plain, ""},
       {"region", "Region", Format::plain, ""},
       {"liveness", "Liveness", Format::plain, ""},
       {"bytes", "Bytes", Format::bytes, ""},
       {"share", "Share", Format::fraction, "of the bytes of these " + unit + "s, gaps included"}},
      {}};
  for (const auto& [key, bytes] : sums) {
    const bool alwaysLive = std::get<2>(key);
    details.rows.push_back({memoryWords(std::get<0>(key)).toStdString(),
                            memoryWords(std::get<1>(key)).toStdString(),
                            std::string(alwaysLive ? "always live" : "not always live (peak)"), bytes,
                            whole > 0 ? static_cast<double>(bytes) / static_cast<double>(whole) : 0.0});
  }
  std::stable_sort(details.rows.begin(), details.rows.end(), [](const auto& a, const auto& b) {
    return std::get<std::int64_t>(a[3]) > std::get<std::int64_t>(b[3]);
  });
  std::vector<sections::Table> tables = {std::move(details)};
  tables.push_back(variableTable("variables", "Variables", variables, unit,
                                 [](const std::string& c) { return !isVertex(c) && !isExchange(c); }));
  tables.push_back(variableTable("vertices", "Vertices", variables, unit, isVertex));
  tables.push_back(variableTable("exchanges", "Exchanges", variables, unit, isExchange));
  if (all > static_cast<std::int64_t>(variables.size())) {
    for (std::size_t i = 1; i < tables.size(); ++i) tables[i].basis += "; the smallest are left out";
  }
  return tables;
}

}  // namespace pipescope::pages
