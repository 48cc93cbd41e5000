#include "views/timeline/annotations.h"

#include <QFontMetrics>
#include <algorithm>

namespace pipescope::timeline {

using Look = TimelineLook;
using shell::Ui;

namespace {

Annotations::Span inOrder(const Annotations::Span& span) {
  return {std::min(span.from, span.to), std::max(span.from, span.to)};
}

}  // namespace

void Annotations::addSpan(base::Ticks from, base::Ticks to) {
  spans_.push_back({from, to});
  if (spans_.size() > kMost) spans_.erase(spans_.begin());
}

void Annotations::toggleMarker(base::Ticks time) {
  const auto place = std::lower_bound(markers_.begin(), markers_.end(), time);
  if (place != markers_.end() && *place == time) {
    markers_.erase(place);
  } else if (markers_.size() < kMost) {
    markers_.insert(place, time);
  }
}

void Annotations::clear() {
  spans_.clear();
  markers_.clear();
}

bool Annotations::finishMeasuring() {
  const Span measured = inOrder(*std::exchange(measured_, std::nullopt));
  if (measured.from == measured.to) return false;
  addSpan(measured.from, measured.to);
  return true;
}

void Annotations::paint(QPainter& painter, const TimelineLook& look) const {
  paintFlags(painter, look);
  for (const Span& span : spans_) paintSpan(painter, look, span);
  if (measured_ && measured_->from != measured_->to) paintSpan(painter, look, inOrder(*measured_));
  paintMarkers(painter, look);
}

void Annotations::paintSpan(QPainter& painter, const TimelineLook& look, const Span& span) {
  const geometry::TimeView& view = look.view;
  if (view.x(span.to) < 0 || view.x(span.from) > view.width()) return;
  const int left = Look::kGutter + std::max(0, view.column(span.from)),
            right = Look::kGutter + std::clamp(view.column(span.to), 0, view.width());
  const int width = look.size.width(), height = look.size.height();
  QColor veil = look.palette.ui(Ui::accent);
  veil.setAlpha(44);
  painter.save();
  painter.setClipRect(Look::kGutter, 0, view.width(), height);
  painter.fillRect(left, Look::kTop, right - left, height - Look::kTop, veil);
  painter.fillRect(left, Look::kStepBand, 1, height, look.palette.ui(Ui::accent));
  painter.fillRect(right, Look::kStepBand, 1, height, look.palette.ui(Ui::accent));
  painter.setFont(look.labels.font());
  const QString text = QString::fromStdString(formatDuration(span.to - span.from, look.scale));
  const int wide = QFontMetrics(look.labels.font()).horizontalAdvance(text) + 12;
  const int x = std::clamp((left + right - wide) / 2, Look::kGutter, std::max(Look::kGutter, width - wide));
  const QRect box(x, Look::kStepBand + 2, wide, Look::kAxis - 4);
  painter.fillRect(box, look.palette.ui(Ui::accent));
  painter.setPen(look.palette.ui(Ui::accentText));
  painter.drawText(box, Qt::AlignCenter, text);
  painter.restore();
}

void Annotations::paintMarkers(QPainter& painter, const TimelineLook& look) const {
  const geometry::TimeView& view = look.view;
  painter.save();
  painter.setClipRect(Look::kGutter, 0, view.width(), look.size.height());
  painter.setFont(look.labels.font());
  const QFontMetrics metrics(look.labels.font());
  for (std::size_t i = 0; i < markers_.size(); ++i) {
    const double x = view.x(markers_[i]);
    if (x < 0 || x > view.width()) continue;
    const int left = Look::kGutter + static_cast<int>(x);
    painter.fillRect(left, Look::kStepBand, 1, look.size.height(), look.palette.ui(Ui::text));
    const QString text = i == 0 ? QString::fromStdString(formatDuration(markers_[i], look.scale))
                                : QStringLiteral("+ ") + QString::fromStdString(formatDuration(
                                                             markers_[i] - markers_[i - 1], look.scale));
    const int wide = metrics.horizontalAdvance(text) + 10;
    const QRect box(left + wide > look.size.width() ? left - wide : left, Look::kStepBand + 2, wide,
                    Look::kAxis - 4);
    painter.fillRect(box, look.palette.ui(Ui::text));
    painter.setPen(look.palette.ui(Ui::surface));
    painter.drawText(box, Qt::AlignCenter, text);
  }
  painter.restore();
}

void Annotations::paintFlags(QPainter& painter, const TimelineLook& look) const {
  const geometry::TimeView& view = look.view;
  painter.save();
  painter.setClipRect(Look::kGutter, 0, view.width(), look.size.height());
  painter.setFont(look.labels.font());
  const QFontMetrics metrics(look.labels.font());
  constexpr int kWidest = 160;
  for (const Flag& flag : flags_) {
    const double x = view.x(flag.time);
    if (x < -kWidest || x > view.width()) continue;
    const int left = Look::kGutter + static_cast<int>(x);
    const QColor colour = look.palette.ui(Ui::warning);
    painter.fillRect(left, 0, 1, look.size.height(), colour);
    const QString text = metrics.elidedText(flag.text, Qt::ElideRight, kWidest);
    const QRect box(left, 1, metrics.horizontalAdvance(text) + 10, Look::kStepBand - 3);
    painter.fillRect(box, colour);
    painter.setPen(shell::Palette::textOn(colour));
    painter.drawText(box, Qt::AlignCenter, text);
  }
  painter.restore();
}

}  // namespace pipescope::timeline
