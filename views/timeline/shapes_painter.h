#pragma once
#include <QFont>
#include <QPainter>
#include <memory>

#include "profiler/geometry/shapes.h"
#include "views/shell/palette.h"

namespace pipescope::timeline {

/// The font of labels in bars, and its measure for the geometry.
class LabelFont {
 public:
  explicit LabelFont(const QFont& base);
  const QFont& font() const { return font_; }
  /// As wide as this in boxes that are too low for it.
  const QFont& small() const { return small_; }
  const geometry::TextMeasure& measure() const { return measure_; }
  /// In the middle of the box, in the painter's pen. Texts that come again, as names do with every frame, are
  /// laid out once; what is drawn into a file stays text.
  void draw(QPainter& painter, const QRect& box, const std::string& text, bool small) const;

 private:
  struct Layouts;
  QFont font_, small_;
  std::shared_ptr<Layouts> layouts_;
  geometry::TextMeasure measure_;
};

/// Replays shapes: rectangles colour by colour without antialiasing, then hatches, then labels.
void paintShapes(QPainter& painter, const geometry::Shapes& shapes, const shell::Palette& palette,
                 const LabelFont& labels);

/// A curve with a head, readable on any ground.
void paintArrow(QPainter& painter, const geometry::Arrow& arrow, const shell::Palette& palette);

/// Diagonal lines over a faint ground.
void paintHatch(QPainter& painter, const QRect& rect, geometry::ColourRole role,
                const shell::Palette& palette);

/// A small square of a role, as legends and tables show it.
QPixmap swatch(geometry::ColourRole role, bool hatched, const shell::Palette& palette,
               double devicePixelRatio);

}  // namespace pipescope::timeline
