#pragma once
#include <QFont>
#include <QPainter>
#include <QStringList>
#include <memory>

#include "profiler/geometry/shapes.h"
#include "views/shell/look/palette.h"

namespace pipescope::timeline {

inline constexpr int kNamesWidth = 150;  ///< width of the names on the left of all timelines

/// See base::shortNames.
QStringList shortNames(const QStringList& names);

/// The font of labels in boxes, with its widths for the geometry.
class LabelFont {
 public:
  explicit LabelFont(const QFont& base);
  const QFont& font() const { return font_; }
  /// The smaller font for boxes that are too low for font().
  const QFont& small() const { return small_; }
  const geometry::TextMeasure& measure() const { return measure_; }
  /// Draws a text in the middle of the box in the painter's pen. Texts that repeat in every frame are laid
  /// out once. In files they stay text.
  void draw(QPainter& painter, const QRect& box, const std::string& text, bool small) const;

 private:
  struct Layouts;
  QFont font_, small_;
  std::shared_ptr<Layouts> layouts_;
  geometry::TextMeasure measure_;
};

/// Paints shapes: rectangles colour by colour without antialiasing, then hatches, then labels.
void paintShapes(QPainter& painter, const geometry::Shapes& shapes, const shell::Palette& palette,
                 const LabelFont& labels);

/// Paints a curved arrow that can be seen on any ground.
void paintArrow(QPainter& painter, const geometry::Arrow& arrow, const shell::Palette& palette);

/// Paints diagonal lines over a faint ground.
void paintHatch(QPainter& painter, const QRect& rect, geometry::ColourRole role,
                const shell::Palette& palette);

/// A small square in the colour of a role, for legends and tables.
QPixmap swatch(geometry::ColourRole role, bool hatched, const shell::Palette& palette,
               double devicePixelRatio);

}  // namespace pipescope::timeline
