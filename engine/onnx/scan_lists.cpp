#include "engine/onnx/scan_lists.h"

#include <fmt/format.h>

namespace pipescope::onnx {

using base::badInput;
using base::Result;

Result<std::vector<std::int64_t>> scanList(const OnnxNode& node, const std::string& name, std::size_t count) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return std::vector<std::int64_t>(count, 0);
  const auto* list = std::get_if<std::vector<std::int64_t>>(&found->second);
  if (!list || list->size() != count)
    return badInput(fmt::format("{} {}: {} must list {} whole numbers.", node.op, node.name, name, count));
  return *list;
}

Result<std::vector<bool>> scanDirections(const OnnxNode& node, const std::string& name, std::size_t count) {
  PIPESCOPE_ASSIGN(const std::vector<std::int64_t> list, scanList(node, name, count));
  std::vector<bool> reversed;
  for (const std::int64_t direction : list) {
    if (direction != 0 && direction != 1) {
      return badInput(fmt::format("{} {}: {} has the entry {}; 0 is forward, 1 is reverse.", node.op,
                                  node.name, name, direction));
    }
    reversed.push_back(direction == 1);
  }
  return reversed;
}

}  // namespace pipescope::onnx
