#pragma once
// A node that repeats a forward node has that node's name with a suffix. It must draw the same random
// numbers.
#include <string>
#include <string_view>

namespace pipescope::ops {

inline constexpr std::string_view kRecomputeSuffix = "/recompute";

/// The name of the node that is repeated; for any other node, its own name.
inline std::string originOf(const std::string& node) {
  return node.ends_with(kRecomputeSuffix) ? node.substr(0, node.size() - kRecomputeSuffix.size()) : node;
}

}  // namespace pipescope::ops
