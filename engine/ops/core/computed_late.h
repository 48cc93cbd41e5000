#pragma once
#include <string_view>

namespace pipescope::ops {

/// The reason of errors for values on which the shape of an output, or an attribute, depends.
inline constexpr std::string_view kComputedLate = "is computed while the model runs";

}  // namespace pipescope::ops
