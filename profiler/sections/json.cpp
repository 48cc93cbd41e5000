#include <cmath>
#include <nlohmann/json.hpp>

#include "profiler/sections/section.h"

namespace pipescope::sections {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json cellJson(const Cell& cell) {
  if (const auto* n = std::get_if<std::int64_t>(&cell)) return *n;
  if (const auto* x = std::get_if<double>(&cell)) return number(*x);
  if (const auto* s = std::get_if<std::string>(&cell)) return *s;
  if (const auto* b = std::get_if<bool>(&cell)) return *b;
  if (const auto* parts = std::get_if<Breakdown>(&cell)) {
    Json object = Json::object();
    for (const auto& [name, value] : *parts) object[name] = number(value);
    return object;
  }
  return nullptr;
}

Json sectionJson(const Section& section) {
  Json object = Json::object();
  for (const Fact& fact : section.facts) object[fact.key] = cellJson(fact.value);
  for (const Table& table : section.tables) {
    Json rows = Json::array();
    for (const auto& row : table.rows) {
      Json entry = Json::object();
      for (std::size_t c = 0; c < row.size(); ++c) entry[table.columns[c].key] = cellJson(row[c]);
      rows.push_back(std::move(entry));
    }
    object[table.key] = std::move(rows);
  }
  if (!section.remarks.empty()) object["remarks"] = section.remarks;
  return object;
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string toJson(const Section& section) {
  return dump(sectionJson(section));
}

std::string toJson(const std::vector<Section>& sections) {
  Json object = Json::object();
  for (const Section& section : sections) object[section.name] = sectionJson(section);
  return dump(object);
}

}  // namespace pipescope::sections
