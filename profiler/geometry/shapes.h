#pragma once
// The shapes of charts and timelines: rectangles by colour role, hatches, labels and arrows. Coordinates are
// whole pixels from the top left corner of the canvas. A painter only replays the shapes.
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

/// A rectangle with diagonal lines, which stands for waiting.
struct Hatch {
  Box box;
  ColourRole role = ColourRole::waitFill;
};

/// A box lower than kLowText has small text, kSmallText times as wide. A box lower than kLowestText has none.
inline constexpr int kLowText = 12, kLowestText = 9;
inline constexpr double kSmallText = 9.0 / 11;

/// Text in the middle of a box, already cut to its width.
struct Label {
  Box box;
  std::string text;
  ColourRole on = ColourRole::idle;  ///< the role behind the text, which decides the text's colour
  bool hatched = false;              ///< the ground behind the text is hatched
};

/// The outline of a rectangle.
struct Outline {
  Box box;
  ColourRole role = ColourRole::critical;
};

struct Arrow {
  int x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  ColourRole role = ColourRole::activation;
};

/// A straight line, one pixel wide unless it is `strong`.
struct Line {
  int x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  ColourRole role = ColourRole::idle;
  bool strong = false;
};

struct Shapes {
  /// Painted before the fills, because those are painted colour by colour.
  std::vector<std::pair<ColourRole, Box>> grounds;
  std::array<std::vector<Box>, kColourRoles> fills;
  std::vector<Hatch> hatches;
  std::vector<Label> labels;
  std::vector<Arrow> arrows;
  std::vector<Outline> outlines;
  std::vector<Line> lines;  ///< painted below the labels

  /// Adds a box unless it has no area.
  void fill(ColourRole role, const Box& box) {
    if (box.width > 0 && box.height > 0) fills[static_cast<std::size_t>(role)].push_back(box);
  }
  /// Adds a box, or lengthens the role's last box if that ends here, so that columns of one colour become one
  /// box.
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
  /// Adds a hatched box, or lengthens the last one if that ends here and has the same role.
  void extendHatch(ColourRole role, const Box& box) {
    if (!hatches.empty() && hatches.back().role == role && hatches.back().box.right() == box.x &&
        hatches.back().box.y == box.y && hatches.back().box.height == box.height) {
      hatches.back().box.width += std::max(0, box.width);
    } else {
      hatch(role, box);
    }
  }
  std::size_t fillCount() const {
    std::size_t count = 0;
    for (const auto& boxes : fills) count += boxes.size();
    return count;
  }
};

/// The widths of texts in the painter's font.
struct TextMeasure {
  std::function<int(const std::string&)> width = [](const std::string& text) {
    return static_cast<int>(text.size()) * 7;
  };
  double averageCharacter = 7;
};

/// Returns `text` if it fits into `width`, else its beginning with "…", else nothing.
std::string fitText(const std::string& text, int width, const TextMeasure& measure);
/// Does the same for a name path, but drops its leading parts first: "…/conv/Convolve".
std::string fitPath(const std::string& path, int width, const TextMeasure& measure);
/// Does the same for words of which the last ones tell most: "training epoch 1 call 12" becomes "call 12".
std::string fitLastWords(const std::string& words, int width, const TextMeasure& measure);

}  // namespace pipescope::geometry
