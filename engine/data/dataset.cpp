#include "engine/data/dataset.h"

#include <algorithm>

namespace pipescope::data {

std::optional<std::size_t> findField(const std::vector<Field>& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &Field::name);
  if (found == fields.end()) return std::nullopt;
  return static_cast<std::size_t>(found - fields.begin());
}

std::string toString(const std::vector<Field>& fields) {
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) text += i + 1 == fields.size() ? " and " : ", ";
    text += fields[i].name + " (" + graph::toString(fields[i].type) + ")";
  }
  return text;
}

}  // namespace pipescope::data
