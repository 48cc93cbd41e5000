#pragma once
#include <string_view>

namespace pipescope::base {

/// Orders names as people do: numbers within them by value, so that "layer2" comes before "layer10", and
/// everything else by bytes.
struct NaturalLess {
  bool operator()(std::string_view a, std::string_view b) const;
};

}  // namespace pipescope::base
