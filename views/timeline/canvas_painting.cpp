// How a timeline looks: the picture of the rows, and what is painted over it.
#include <QElapsedTimer>
#include <QPaintEvent>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "profiler/geometry/element.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::timeline {

using geometry::at;
using shell::Palette;
using shell::Ui;

namespace {

constexpr double kAxisSpacing = 120;
constexpr int kCalloutGap = 14, kCalloutPadding = 7;

QRect rectOf(const geometry::Box& box) {
  return {box.x, box.y, box.width, box.height};
}

}  // namespace

void TimelineCanvas::paintEvent(QPaintEvent*) {
  drawPicture();
  QPainter painter(viewport());
  painter.drawPixmap(0, 0, picture_);
  if (!model_) return;
  paintOverlay(painter);
  paintRange(painter);
  paintCallout(painter);
}

/// Rows, gutter and axis: everything that only changes with the view.
void TimelineCanvas::drawPicture() {
  const double ratio = viewport()->devicePixelRatioF();
  const QSize size = viewport()->size() * ratio;
  if (!pictureStale_ && picture_.size() == size) return;
  QElapsedTimer clock;
  clock.start();
  if (picture_.size() != size) picture_ = QPixmap(size);
  picture_.setDevicePixelRatio(ratio);
  QPainter painter(&picture_);
  painter.fillRect(QRect(QPoint(), viewport()->size()), palette_.ui(Ui::surface));
  pictureStale_ = false;
  if (!model_) return;
  const geometry::TimelineWindow visible = window();
  painter.save();
  painter.setClipRect(kGutter, kTop, viewport()->width() - kGutter, viewport()->height() - kTop);
  painter.translate(kGutter, kTop);
  for (const geometry::AxisTick& tick : axisTicks(visible.view, scale_, kAxisSpacing)) {
    painter.fillRect(QRect(static_cast<int>(std::floor(tick.x)), 0, 1, visible.height),
                     palette_.ui(Ui::grid));
  }
  for (const geometry::TimelineGroup& group : scene_.layout().groups) {
    const int below = group.y + group.height - visible.top + metrics_.groupGap / 2;
    if (below > 0 && below < visible.height)
      painter.fillRect(0, below, visible.view.width(), 1, palette_.ui(Ui::border));
  }
  paintShapes(painter, scene_.draw(visible, labels_.measure()), palette_, labels_.font());
  painter.restore();
  paintGutter(painter);
  paintSteps(painter);
  paintAxis(painter);
  lastDrawMs_ = static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

void TimelineCanvas::paintGutter(QPainter& painter) const {
  const int height = viewport()->height();
  painter.fillRect(0, kTop, kGutter, height - kTop, palette_.ui(Ui::raised));
  painter.fillRect(kGutter - 1, 0, 1, height, palette_.ui(Ui::border));
  painter.save();
  painter.setClipRect(0, kTop, kGutter - 1, height - kTop);
  painter.translate(0, kTop - verticalScrollBar()->value());
  for (const geometry::TimelineGroup& group : scene_.layout().groups) {
    const int y = group.y - verticalScrollBar()->value();
    if (y + group.height >= -20 && y <= height) paintGroup(painter, group);
  }
  painter.restore();
}

void TimelineCanvas::paintGroup(QPainter& painter, const geometry::TimelineGroup& group) const {
  const int below = group.y + group.height + metrics_.groupGap / 2;
  painter.fillRect(0, below, kGutter, 1, palette_.ui(Ui::border));
  QFont bold = labels_.font();
  bold.setPixelSize(12);
  bold.setBold(true);
  painter.setFont(bold);
  painter.setPen(palette_.ui(Ui::text));
  const geometry::TimelineRow& first = at(scene_.layout().rows, group.firstRow);
  // A small triangle says that a click folds the group.
  const QPoint centre(10, first.y + first.height / 2);
  QPolygon triangle;
  if (group.collapsed) {
    triangle << centre + QPoint(-2, -4) << centre + QPoint(-2, 4) << centre + QPoint(3, 0);
  } else {
    triangle << centre + QPoint(-4, -2) << centre + QPoint(4, -2) << centre + QPoint(0, 3);
  }
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(palette_.ui(Ui::muted));
  painter.drawPolygon(triangle);
  painter.restore();
  const QString title = QString::fromStdString(group.title),
                subtitle = QString::fromStdString(group.subtitle);
  const int titleWidth = QFontMetrics(bold).horizontalAdvance(title);
  const QRect line(20, first.y, kGutter - 26, first.height);
  painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
                   QFontMetrics(bold).elidedText(title, Qt::ElideRight, line.width()));
  painter.setFont(labels_.font());
  painter.setPen(palette_.ui(Ui::muted));
  const QFontMetrics metrics(labels_.font());
  if (group.rows == 1) {
    const QRect rest = line.adjusted(titleWidth + 8, 0, 0, 0);
    painter.drawText(rest, Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(subtitle, Qt::ElideRight, rest.width()));
    return;
  }
  const geometry::TimelineRow& second = at(scene_.layout().rows, group.firstRow + 1);
  const bool ownLine = second.kind != geometry::RowKind::transfer && second.kind != geometry::RowKind::flat;
  // The subtitle may reach over two low rows.
  const int below2Height = std::max(second.height, metrics.height());
  const QRect below2 =
      ownLine ? QRect(20, second.y, kGutter - 26, below2Height) : line.adjusted(titleWidth + 8, 0, 0, 0);
  painter.drawText(below2, Qt::AlignVCenter | Qt::AlignLeft,
                   metrics.elidedText(subtitle, Qt::ElideRight, below2.width()));
  int transfersTop = -1, transfersEnd = 0;
  for (int i = 1; i < group.rows; ++i) {
    const geometry::TimelineRow& row = at(scene_.layout().rows, group.firstRow + i);
    if (row.kind == geometry::RowKind::transfer) {
      if (transfersTop < 0) transfersTop = row.y;
      transfersEnd = row.y + row.height;
    } else if (row.kind == geometry::RowKind::flat || row.kind == geometry::RowKind::activity) {
      painter.drawText(QRect(20, row.y, kGutter - 28, row.height), Qt::AlignVCenter | Qt::AlignRight,
                       QString::fromStdString(row.label));
    }
  }
  if (transfersTop >= 0) {
    painter.drawText(QRect(20, transfersTop, kGutter - 28, transfersEnd - transfersTop),
                     Qt::AlignVCenter | Qt::AlignRight, tr("transfers"));
  }
}

void TimelineCanvas::paintAxis(QPainter& painter) const {
  const QRect band(0, kStepBand, viewport()->width(), kAxis);
  painter.fillRect(band, palette_.ui(Ui::raised));
  painter.fillRect(0, kTop - 1, viewport()->width(), 1, palette_.ui(Ui::border));
  painter.fillRect(kGutter - 1, kStepBand, 1, kAxis, palette_.ui(Ui::border));
  painter.setFont(labels_.font());
  const char* const unit = scale_.unit == geometry::TimeUnit::cycles ? "cycles"
                           : scale_.unit == geometry::TimeUnit::time ? "time"
                                                                     : "cost units";
  painter.setPen(palette_.ui(unitClickable_ ? Ui::link : Ui::muted));
  painter.drawText(QRect(20, kStepBand, kGutter - 28, kAxis), Qt::AlignVCenter | Qt::AlignRight, tr(unit));
  painter.setPen(palette_.ui(Ui::muted));
  painter.save();
  painter.setClipRect(kGutter, kStepBand, viewport()->width() - kGutter, kAxis);
  const QFontMetrics metrics(labels_.font());
  for (const geometry::AxisTick& tick : axisTicks(window().view, scale_, kAxisSpacing)) {
    const int x = kGutter + static_cast<int>(std::floor(tick.x));
    painter.fillRect(x, kTop - 6, 1, 5, palette_.ui(Ui::muted));
    const QString text = QString::fromStdString(tick.label);
    const int wide = metrics.horizontalAdvance(text);
    // The first and last label stay on the canvas.
    const int left =
        std::clamp(x - wide / 2, kGutter + 2, std::max(kGutter + 2, viewport()->width() - wide - 3));
    painter.drawText(QRect(left, kStepBand, wide + 2, kAxis - 5), Qt::AlignVCenter | Qt::AlignLeft, text);
  }
  painter.restore();
}

/// A band that says which device iteration is where.
void TimelineCanvas::paintSteps(QPainter& painter) const {
  painter.fillRect(0, 0, viewport()->width(), kStepBand, palette_.ui(Ui::raised));
  painter.setFont(labels_.font());
  painter.setPen(palette_.ui(Ui::muted));
  painter.drawText(QRect(20, 0, kGutter - 28, kStepBand), Qt::AlignVCenter | Qt::AlignRight, tr("step"));
  painter.fillRect(kGutter - 1, 0, 1, kStepBand, palette_.ui(Ui::border));
  painter.save();
  painter.setClipRect(kGutter, 0, viewport()->width() - kGutter, kStepBand);
  const geometry::TimeView view = window().view;
  const auto& steps = model_->trace->iterations;
  const QFontMetrics metrics(labels_.font());
  int free = -2;  // steps narrower than a pixel share one
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const int left = view.column(steps[i].start), right = view.column(steps[i].end);
    if (right < 0 || left <= free) continue;
    if (left > view.width()) break;
    const QRect box(kGutter + std::max(0, left), 2,
                    std::max(1, std::min(view.width(), right) - std::max(0, left) - 1), kStepBand - 4);
    painter.fillRect(box, palette_.ui(Ui::selection));
    free = left;
    const bool oneRun = model_->trace->runs.size() == 1;
    const QString number = QString::number(steps[i].iteration);
    const QString full =
        oneRun ? tr("step %1").arg(number) : tr("call %1 · step %2").arg(steps[i].run.value).arg(number);
    for (const QString& text : {full, number}) {
      if (metrics.horizontalAdvance(text) + 6 > box.width()) continue;
      painter.setPen(palette_.ui(Ui::text));
      painter.drawText(box, Qt::AlignCenter, text);
      break;
    }
  }
  painter.restore();
}

void TimelineCanvas::paintOverlay(QPainter& painter) const {
  painter.save();
  painter.setClipRect(kGutter, kTop, viewport()->width() - kGutter, viewport()->height() - kTop);
  painter.translate(kGutter, kTop);
  const geometry::TimelineWindow visible = window();
  for (const geometry::Arrow& arrow : scene_.arrows(visible, selected_)) paintArrow(painter, arrow, palette_);
  painter.setBrush(Qt::NoBrush);
  if (const auto box = scene_.boxOf(visible, hovered_); box && !(hovered_ == selected_)) {
    painter.setPen(palette_.ui(Ui::text));
    painter.drawRect(rectOf(*box).adjusted(0, 0, -1, -1));
  }
  if (const auto box = scene_.boxOf(visible, selected_)) {
    painter.setPen(QPen(palette_.ui(Ui::surface), 1));
    painter.drawRect(rectOf(*box).adjusted(1, 1, -2, -2));
    QPen pen(palette_.ui(Ui::accent), 2);
    pen.setJoinStyle(Qt::MiterJoin);
    painter.setPen(pen);
    painter.drawRect(rectOf(*box).adjusted(0, 0, 0, 0));
  }
  painter.restore();
}

/// What is under the pointer, next to it.
void TimelineCanvas::paintCallout(QPainter& painter) const {
  if (!hovered_ || !describe_ || drag_ != Drag::none) return;
  const QStringList lines = describe_(hovered_);
  if (lines.isEmpty()) return;
  QFont plain = labels_.font(), bold = plain;
  bold.setBold(true);
  const QFontMetrics metrics(plain), boldMetrics(bold);
  int width = boldMetrics.horizontalAdvance(lines.front());
  for (const QString& line : lines) width = std::max(width, metrics.horizontalAdvance(line));
  width += 2;  // advances are rounded, drawing is not
  width = std::min(width, viewport()->width() - 4 * kCalloutPadding);
  const int lineHeight = metrics.height() + 2;
  QRect box(pointer_ + QPoint(kCalloutGap, kCalloutGap),
            QSize(width + 2 * kCalloutPadding, lineHeight * lines.size() + 2 * kCalloutPadding - 2));
  if (box.right() > viewport()->width() - 4)
    box.moveRight(std::max(box.width() + 4, pointer_.x() - kCalloutGap));
  if (box.bottom() > viewport()->height() - 4) box.moveBottom(pointer_.y() - kCalloutGap);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(palette_.ui(Ui::border));
  painter.setBrush(palette_.ui(Ui::raised));
  painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
  int y = box.y() + kCalloutPadding - 1;
  for (int i = 0; i < lines.size(); ++i, y += lineHeight) {
    painter.setFont(i == 0 ? bold : plain);
    painter.setPen(palette_.ui(i == 0 ? Ui::text : Ui::muted));
    const QFontMetrics& used = i == 0 ? boldMetrics : metrics;
    painter.drawText(QRect(box.x() + kCalloutPadding, y, width + 2, lineHeight),
                     Qt::AlignVCenter | Qt::AlignLeft, used.elidedText(lines[i], Qt::ElideRight, width));
  }
  painter.restore();
}

/// The stretch that a drag with Ctrl marks, with its length.
void TimelineCanvas::paintRange(QPainter& painter) const {
  if (drag_ != Drag::range) return;
  const auto [left, right] = std::minmax({std::max(pressed_.x(), kGutter), std::max(pointer_.x(), kGutter)});
  QColor veil = palette_.ui(Ui::accent);
  veil.setAlpha(50);
  painter.fillRect(left, kStepBand, right - left, viewport()->height() - kStepBand, veil);
  painter.fillRect(left, kStepBand, 1, viewport()->height(), palette_.ui(Ui::accent));
  painter.fillRect(right, kStepBand, 1, viewport()->height(), palette_.ui(Ui::accent));
  const geometry::TimeView view = window().view;
  const base::Ticks length = view.time(right - kGutter) - view.time(left - kGutter);
  painter.setFont(labels_.font());
  const QString text = QString::fromStdString(formatDuration(length, scale_));
  const int wide = QFontMetrics(labels_.font()).horizontalAdvance(text) + 12;
  const QRect box((left + right - wide) / 2, kStepBand + 2, wide, kAxis - 4);
  painter.fillRect(box, palette_.ui(Ui::accent));
  painter.setPen(palette_.ui(Ui::accentText));
  painter.drawText(box, Qt::AlignCenter, text);
}

}  // namespace pipescope::timeline
