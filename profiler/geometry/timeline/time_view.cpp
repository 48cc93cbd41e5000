#include "profiler/geometry/timeline/time_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pipescope::geometry {
namespace {

/// Times further from zero are moved to this limit, which is a hundred years at 1.33 GHz.
constexpr auto kLatest = static_cast<long double>(std::numeric_limits<std::int64_t>::max() / 2);

long double difference(Ticks a, std::int64_t b) {
  return static_cast<long double>(a.count) - static_cast<long double>(b);
}

}  // namespace

TimeView::TimeView(Ticks start, Ticks end, int width) : width_(std::max(1, width)) {
  origin_ = static_cast<std::int64_t>(std::clamp(static_cast<long double>(start.count), -kLatest, kLatest));
  span_ = static_cast<double>(std::clamp(difference(end, origin_), 1.0L, kLatest));
}

Ticks TimeView::end() const {
  return Ticks(origin_ + static_cast<std::int64_t>(std::ceil(fraction_ + span_)));
}

double TimeView::x(Ticks time) const {
  return static_cast<double>((difference(time, origin_) - static_cast<long double>(fraction_)) * width_ /
                             static_cast<long double>(span_));
}

int TimeView::column(Ticks time) const {
  const double position = x(time);
  if (position <= -1) return -1;
  if (position >= width_ + 1) return width_ + 1;
  return static_cast<int>(std::floor(position));
}

Ticks TimeView::time(double x) const {
  const long double ticks = static_cast<long double>(fraction_) +
                            static_cast<long double>(x) * static_cast<long double>(span_) / width_;
  return Ticks(origin_ + static_cast<std::int64_t>(std::floor(std::clamp(ticks, -kLatest, kLatest))));
}

Ticks TimeView::firstAt(int column) const {
  const long double ticks = static_cast<long double>(fraction_) +
                            static_cast<long double>(column) * static_cast<long double>(span_) / width_;
  return Ticks(origin_ + static_cast<std::int64_t>(std::ceil(std::clamp(ticks, -kLatest, kLatest))));
}

void TimeView::moveBy(long double ticks) {
  const long double start = static_cast<long double>(fraction_) + std::clamp(ticks, -kLatest, kLatest);
  const long double whole = std::floor(start);
  const long double moved = std::clamp(static_cast<long double>(origin_) + whole, -kLatest, kLatest);
  origin_ = static_cast<std::int64_t>(moved);
  fraction_ = static_cast<double>(start - whole);
}

void TimeView::zoomAbout(double x, double factor, double longest) {
  if (!(factor > 0)) return;
  const double span = std::clamp(span_ / factor, kShortest, std::max(kShortest, longest));
  moveBy(static_cast<long double>(x) * (static_cast<long double>(span_) - static_cast<long double>(span)) /
         width_);
  span_ = span;
}

void TimeView::pan(double pixels) {
  moveBy(static_cast<long double>(pixels) * static_cast<long double>(span_) / width_);
}

void TimeView::setWidth(int width) {
  width_ = std::max(1, width);
}

void TimeView::keepWithin(Ticks from, Ticks to) {
  const double longest = std::max(1.0, static_cast<double>(difference(to, from.count)));
  span_ = std::min(span_, longest);
  if (difference(from, origin_) >= static_cast<long double>(fraction_)) {
    origin_ = from.count;
    fraction_ = 0;
    return;
  }
  const long double over =
      static_cast<long double>(fraction_) + static_cast<long double>(span_) - difference(to, origin_);
  if (over > 0) moveBy(-over);
}

}  // namespace pipescope::geometry
