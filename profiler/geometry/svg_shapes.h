#pragma once
// Neutral shapes as elements of an SVG picture.
#include <functional>
#include <string>
#include <string_view>

#include "profiler/geometry/shapes.h"

namespace pipescope::geometry {

/// "#f66271" for a role.
using RoleColour = std::function<std::string(ColourRole)>;

/// The shapes as SVG elements, in the order in which the window paints them: grounds, fills, hatches,
/// outlines, arrows, labels. Coordinates are those of the shapes.
std::string svgShapes(const Shapes& shapes, const RoleColour& colour);

/// A text with the characters replaced that have a meaning in SVG.
std::string svgText(std::string_view text);

}  // namespace pipescope::geometry
