#pragma once
// What charts and timelines are made of before anybody paints them: rectangles by colour role, hatches,
// labels, arrows. Coordinates are whole pixels from the top left of the canvas; a painter only replays them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "profiler/geometry/colour_role.h"

namespace pipescope::geometry {

struct Box {
  int x = 0, y = 0, width = 0, height = 0;
  int right() const { return x + width; }
  int bottom() const { return y + height; }
  bool contains(int px, int py) const { return px >= x && px < right() && py >= y && py < bottom(); }
  friend bool operator==(const Box&, const Box&) = default;
};

/// A rectangle with diagonal lines: waiting.
struct Hatch {
  Box box;
  ColourRole role = ColourRole::waitFill;
};

/// Boxes lower than this carry small text, kSmallText times as wide; those lower than kLowestText none.
inline constexpr int kLowText = 12, kLowestText = 9;
inline constexpr double kSmallText = 9.0 / 11;

/// Text centred in a box, already cut to its width.
struct Label {
  Box box;
  std::string text;
  ColourRole on = ColourRole::idle;  ///< what lies behind the text, which decides its colour
  bool hatched = false;              ///< what lies behind is hatched
};

/// The edge of a rectangle.
struct Outline {
  Box box;
  ColourRole role = ColourRole::critical;
};

struct Arrow {
  int x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  ColourRole role = ColourRole::activation;
};

struct Shapes {
  std::vector<std::pair<ColourRole, Box>> grounds;  ///< below the fills, which are drawn colour by colour
  std::array<std::vector<Box>, kColourRoles> fills;
  std::vector<Hatch> hatches;
  std::vector<Label> labels;
  std::vector<Arrow> arrows;
  std::vector<Outline> outlines;

  /// Boxes without area are dropped.
  void fill(ColourRole role, const Box& box) {
    if (box.width > 0 && box.height > 0) fills[static_cast<std::size_t>(role)].push_back(box);
  }
  /// As fill, but continues the role's last box where that ends here: columns of one colour become one box.
  void extend(ColourRole role, const Box& box) {
    std::vector<Box>& boxes = fills[static_cast<std::size_t>(role)];
    if (!boxes.empty() && boxes.back().right() == box.x && boxes.back().y == box.y &&
        boxes.back().height == box.height) {
      boxes.back().width += std::max(0, box.width);
    } else {
      fill(role, box);
    }
  }
  void ground(ColourRole role, const Box& box) {
    if (box.width > 0 && box.height > 0) grounds.emplace_back(role, box);
  }
  void hatch(ColourRole role, const Box& box) {
    if (box.width > 0 && box.height > 0) hatches.push_back({box, role});
  }
  std::size_t fillCount() const {
    std::size_t count = 0;
    for (const auto& boxes : fills) count += boxes.size();
    return count;
  }
};

/// How wide texts are; the painter's font says so.
struct TextMeasure {
  std::function<int(const std::string&)> width = [](const std::string& text) {
    return static_cast<int>(text.size()) * 7;
  };
  double averageCharacter = 7;
};

/// `text` if it fits into `width`, else its beginning with "…", else nothing.
std::string fitText(const std::string& text, int width, const TextMeasure& measure);
/// As fitText, but leading parts of a name path are dropped first: "…/conv/Convolve".
std::string fitPath(const std::string& path, int width, const TextMeasure& measure);

}  // namespace pipescope::geometry
