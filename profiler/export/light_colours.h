#pragma once
// Colours of pictures that are written to files.
#include <string>

#include "profiler/geometry/colour_role.h"

namespace pipescope::exporting {

/// The colour of a role in the light theme, such as "#f66271".
std::string lightColour(geometry::ColourRole role);

}  // namespace pipescope::exporting
