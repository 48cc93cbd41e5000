#pragma once
// Which stretch of time lies on how many pixels.
#include <cstdint>

#include "profiler/base/units.h"

namespace pipescope::geometry {

using base::Ticks;

/// The mapping between ticks and pixels. Start is a whole tick and a fraction, so that zooming about a point
/// keeps that point's time where it is at any depth; differences are taken in integers before they are
/// scaled.
class TimeView {
 public:
  /// The shortest visible span, in ticks.
  static constexpr double kShortest = 4;

  TimeView() = default;
  /// Shows [start, end) on `width` pixels (at least one of each).
  TimeView(Ticks start, Ticks end, int width);

  int width() const { return width_; }
  double span() const { return span_; }  ///< visible ticks
  double ticksPerPixel() const { return span_ / width_; }
  Ticks start() const { return Ticks(origin_); }  ///< of the first pixel, rounded down
  Ticks end() const;                              ///< of the last pixel, rounded up

  /// Position of a time; may lie far outside the canvas, but is finite.
  double x(Ticks time) const;
  /// Pixel column of a time, clamped to [−1, width + 1] so that it never overflows a painter.
  int column(Ticks time) const;
  /// Time at a position, rounded down.
  Ticks time(double x) const;
  /// The first tick that lies at a column or right of it.
  Ticks firstAt(int column) const;

  /// Keeps what lies at `x` there; `factor` > 1 shows less time. The span stays within [kShortest, longest].
  void zoomAbout(double x, double factor, double longest);
  /// Moves the content by `pixels` to the left.
  void pan(double pixels);
  /// Shows the same span on another width.
  void setWidth(int width);
  /// Moves, and shrinks where needed, so that nothing outside [from, to) shows.
  void keepWithin(Ticks from, Ticks to);

  friend bool operator==(const TimeView&, const TimeView&) = default;

 private:
  void moveBy(long double ticks);

  std::int64_t origin_ = 0;
  double fraction_ = 0;  ///< of a tick, 0…1, after origin_
  double span_ = 1;
  int width_ = 1;
};

}  // namespace pipescope::geometry
