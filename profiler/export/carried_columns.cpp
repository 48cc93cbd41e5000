#include "profiler/export/carried_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>

#include "profiler/export/json_text.h"

namespace pipescope::exporting {
namespace {

std::string valueText(std::int64_t value) {
  return std::to_string(value);
}
std::string valueText(const std::string& value) {
  return jsonText(value);
}
/// JSON has no numbers beyond the finite ones.
std::string valueText(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  return fmt::format("{}", value);
}

template <class Value>
std::string listText(const std::vector<Value>& values) {
  std::string text = "[";
  for (const Value& value : values) {
    if (text.size() > 1) text += ',';
    text += valueText(value);
  }
  return text + ']';
}

std::string shorter(std::string text, std::string other) {
  return other.size() < text.size() ? other : text;
}

/// Numbers of rows and times grow steadily, so their differences are short.
std::string wholeText(const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> differences;
  std::uint64_t before = 0;
  for (const std::int64_t value : values) {
    differences.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - before));
    before = static_cast<std::uint64_t>(value);
  }
  return shorter(listText(values), "{\"differences\":" + listText(differences) + '}');
}

std::string wholeText(const std::vector<double>& values) {
  return listText(values);
}

std::string wholeText(const std::vector<std::string>& values) {
  std::unordered_map<std::string, std::int64_t> known;
  std::vector<std::string> texts;
  std::vector<std::int64_t> indices;
  for (const std::string& value : values) {
    const auto [place, isNew] = known.try_emplace(value, static_cast<std::int64_t>(texts.size()));
    if (isNew) texts.push_back(value);
    indices.push_back(place->second);
  }
  return shorter(listText(values),
                 "{\"texts\":" + listText(texts) + ",\"indices\":" + listText(indices) + '}');
}

}  // namespace

bool isConstant(const ColumnValues& column) {
  return std::visit(
      [](const auto& values) {
        return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
      },
      column);
}

std::string columnText(const ColumnValues& column, bool whole) {
  return std::visit(
      [&](const auto& values) {
        return !whole && isConstant(column) ? valueText(values.front()) : wholeText(values);
      },
      column);
}

}  // namespace pipescope::exporting
