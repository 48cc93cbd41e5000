#pragma once
#include <functional>
#include <string_view>

#include "profiler/base/result.h"

namespace pipescope::exporting {

/// Takes text piece by piece. An error, such as a full disk, ends the export.
using Writer = std::function<base::Status(std::string_view)>;

}  // namespace pipescope::exporting
