#include "engine/ops/core/index_reader.h"

#include <fmt/format.h>

namespace pipescope::ops {

Status requireIndices(const OperatorCall& call, std::size_t input) {
  const ElementType type = call.input(input).element;
  if (type == ElementType::int64 || type == ElementType::int32) return {};
  return base::badInput(fmt::format("{}: its indices (input {}) are {}; they must be int64 or int32",
                                    call.title(), input, graph::toString(type)));
}

base::Error indexOutside(const std::string& title, std::int64_t index, std::int64_t extent) {
  return base::badInput(fmt::format("{}: index {} is outside the axis; it must be {} to {}", title, index,
                                    -extent, extent - 1));
}

Status checkIndices(const std::string& title, const IndexReader& indices, std::int64_t count,
                    std::int64_t extent) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = indices[i];
    if (index < -extent || index >= extent) return indexOutside(title, index, extent);
  }
  return {};
}

}  // namespace pipescope::ops
