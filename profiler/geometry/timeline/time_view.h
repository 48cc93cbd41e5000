#pragma once
// Maps a part of the time axis to pixels.
#include <cstdint>

#include "profiler/base/units.h"

namespace pipescope::geometry {

using base::Ticks;

/// Maps ticks to pixels. The start is a whole tick and a fraction, so that zooming about a point keeps its
/// time there at any depth. Differences are computed in integers before they are scaled.
class TimeView {
 public:
  /// The shortest span that can be shown, in ticks.
  static constexpr double kShortest = 4;

  TimeView() = default;
  /// Shows [start, end) on `width` pixels. Both are at least 1.
  TimeView(Ticks start, Ticks end, int width);

  int width() const { return width_; }
  double span() const { return span_; }  ///< shown ticks
  double ticksPerPixel() const { return span_ / width_; }
  Ticks start() const { return Ticks(origin_); }  ///< time of the first pixel, rounded down
  Ticks end() const;                              ///< time of the last pixel, rounded up

  /// The position of a time in pixels. It may lie far outside the canvas, but is always finite.
  double x(Ticks time) const;
  /// The column of a time, limited to [−1, width + 1] so that it never overflows a painter.
  int column(Ticks time) const;
  /// The time at a position, rounded down.
  Ticks time(double x) const;
  /// The first tick at or right of a column.
  Ticks firstAt(int column) const;

  /// Zooms so that the time at `x` stays there. A factor above 1 shows less time. The span stays within
  /// [kShortest, longest].
  void zoomAbout(double x, double factor, double longest);
  /// Moves the content to the left by `pixels`.
  void pan(double pixels);
  /// Shows the same span on another width, at least one pixel.
  void setWidth(int width);
  /// Moves the view, and shortens it if necessary, so that it lies within [from, to).
  void keepWithin(Ticks from, Ticks to);

  friend bool operator==(const TimeView&, const TimeView&) = default;

 private:
  void moveBy(long double ticks);

  std::int64_t origin_ = 0;
  double fraction_ = 0;  ///< part of a tick after origin_, 0…1
  double span_ = 1;
  int width_ = 1;
};

}  // namespace pipescope::geometry
