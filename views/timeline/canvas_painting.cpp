// How a timeline looks: the picture of the rows, and what is painted over it.
#include <QElapsedTimer>
#include <QPaintEngine>
#include <QPaintEvent>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "profiler/geometry/element.h"
#include "views/timeline/callout.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::timeline {

using geometry::at;
using shell::Palette;
using shell::Ui;

namespace {

constexpr double kCanvasPaintingAxisSpacing = 120;

QRect canvasPaintingRectOf(const geometry::Box& box) {
  return {box.x, box.y, box.width, box.height};
}

}  // namespace

void TimelineCanvas::paintEvent(QPaintEvent*) {
  drawPicture();
  QPainter painter(viewport());
  // A drawing for a file is made of vectors.
  if (painter.paintEngine()->type() == QPaintEngine::SVG) {
    paintPicture(painter);
  } else {
    painter.drawPixmap(0, 0, picture_);
  }
  if (!model_) return;
  paintOverlay(painter);
  paintFlags(painter);
  paintSpans(painter);
  paintMarkers(painter);
  paintRange(painter);
  paintCallout(painter);
  if (!frameTimeShown_) return;
  const QString text = tr("%1 ms").arg(lastDrawMs_, 0, 'f', 2);
  painter.setFont(labels_.font());
  const QRect box(viewport()->width() - 70, viewport()->height() - 20, 66, 16);
  painter.fillRect(box, palette_.ui(Ui::raised));
  painter.setPen(palette_.ui(Ui::text));
  painter.drawText(box, Qt::AlignCenter, text);
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
  drawGutter(ratio);
  QPainter painter(&picture_);
  paintPicture(painter);
  pictureStale_ = false;
  if (model_) lastDrawMs_ = static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

/// Names stay as they are while the time moves.
void TimelineCanvas::drawGutter(double ratio) {
  const QSize size = QSize(kGutter, viewport()->height()) * ratio;
  if (!gutterStale_ && gutter_.size() == size) return;
  if (gutter_.size() != size) gutter_ = QPixmap(size);
  gutter_.setDevicePixelRatio(ratio);
  QPainter painter(&gutter_);
  if (model_) paintGutter(painter);
  gutterStale_ = false;
}

void TimelineCanvas::paintPicture(QPainter& painter) const {
  painter.fillRect(QRect(QPoint(), viewport()->size()), palette_.ui(Ui::surface));
  if (!model_) return;
  const geometry::TimelineWindow visible = window();
  painter.save();
  painter.setClipRect(kGutter, kTop, viewport()->width() - kGutter, viewport()->height() - kTop);
  painter.translate(kGutter, kTop);
  for (const geometry::AxisTick& tick : axisTicks(visible.view, scale_, kCanvasPaintingAxisSpacing)) {
    painter.fillRect(QRect(static_cast<int>(std::floor(tick.x)), 0, 1, visible.height),
                     palette_.ui(Ui::grid));
  }
  const int pinned = scene().layout().pinned;
  const auto paintRows = [&](const geometry::TimelineWindow& rows, int from, int to) {
    painter.save();
    painter.setClipRect(0, from, visible.view.width(), to - from);
    for (const geometry::TimelineGroup& group : scene().layout().groups) {
      const int below = group.y + group.height - rows.top + metrics_.groupGap / 2;
      if (below > from && below < to)
        painter.fillRect(0, below, visible.view.width(), 1, palette_.ui(Ui::border));
    }
    paintShapes(painter, scene().draw(rows, labels_.measure()), palette_, labels_);
    painter.restore();
  };
  paintRows(visible, pinned, visible.height);
  if (pinned > 0) {
    paintRows({visible.view, 0, pinned}, 0, pinned);
    painter.fillRect(0, pinned - 2, visible.view.width(), 2, palette_.ui(Ui::accent));
  }
  painter.restore();
  if (painter.paintEngine()->type() == QPaintEngine::SVG) {
    paintGutter(painter);
  } else {
    const QRect below(0, kTop, kGutter, std::max(0, viewport()->height() - kTop));
    const double ratio = gutter_.devicePixelRatioF();
    painter.drawPixmap(below, gutter_,
                       QRectF(QPointF(0, kTop * ratio), QSizeF(below.size()) * ratio).toRect());
  }
  paintSteps(painter);
  paintAxis(painter);
}

void TimelineCanvas::paintGutter(QPainter& painter) const {
  const int height = viewport()->height();
  painter.fillRect(0, kTop, kGutter, height - kTop, palette_.ui(Ui::raised));
  painter.fillRect(kGutter - 1, 0, 1, height, palette_.ui(Ui::border));
  painter.save();
  const int pinned = scene().layout().pinned;
  const auto paintGroups = [&](int top, int from, int to) {
    painter.save();
    painter.setClipRect(0, kTop + from, kGutter - 1, to - from);
    painter.translate(0, kTop - top);
    for (const geometry::TimelineGroup& group : scene().layout().groups) {
      const int y = group.y - top;
      if (y + group.height >= from - 20 && y <= to) paintGroup(painter, group);
    }
    painter.restore();
  };
  paintGroups(verticalScrollBar()->value(), pinned, height - kTop);
  if (pinned > 0) paintGroups(0, 0, pinned);
  painter.restore();
}

void TimelineCanvas::paintGroup(QPainter& painter, const geometry::TimelineGroup& group) const {
  const int below = group.y + group.height + metrics_.groupGap / 2;
  painter.fillRect(0, below, kGutter, 1, palette_.ui(Ui::border));
  if (group.device == lit_ && lit_ >= 0)
    painter.fillRect(0, group.y, 3, group.height, palette_.ui(Ui::accent));
  QFont bold = labels_.font();
  bold.setPixelSize(12);
  bold.setBold(true);
  painter.setFont(bold);
  painter.setPen(palette_.ui(Ui::text));
  const geometry::TimelineRow& first = at(scene().layout().rows, group.firstRow);
  if (group.device < 0) {
    const QString name = group.device == geometry::kHost ? tr("Host") : tr("Run");
    painter.drawText(QRect(20, first.y, kGutter - 26, first.height), Qt::AlignVCenter | Qt::AlignLeft, name);
    const int indent = QFontMetrics(bold).horizontalAdvance(name);
    if (group.device == geometry::kWholeRun) return paintCounterNames(painter, group, indent);
    painter.setFont(labels_.font());
    painter.setPen(palette_.ui(Ui::muted));
    return painter.drawText(QRect(28 + indent, first.y, kGutter - 36 - indent, first.height),
                            Qt::AlignVCenter | Qt::AlignLeft, tr("wall time"));
  }
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
  const geometry::TimelineRow& second = at(scene().layout().rows, group.firstRow + 1);
  const bool lane = second.kind == geometry::RowKind::flame && !second.label.empty();
  const bool ownLine =
      second.kind != geometry::RowKind::transfer && second.kind != geometry::RowKind::flat && !lane;
  // The subtitle may reach over two low rows.
  const int below2Height = std::max(second.height, metrics.height());
  const QRect below2 =
      ownLine ? QRect(20, second.y, kGutter - 26, below2Height) : line.adjusted(titleWidth + 8, 0, 0, 0);
  // Beside its name a device has room for what is its own: not the chip, which is that of all.
  const bool whole = metrics.horizontalAdvance(subtitle) <= below2.width();
  painter.drawText(below2, Qt::AlignVCenter | Qt::AlignLeft,
                   metrics.elidedText(whole ? subtitle : subtitle.section(QStringLiteral(" · "), 1),
                                      Qt::ElideRight, below2.width()));
  int transfersTop = -1, transfersEnd = 0;
  for (int i = 1; i < group.rows; ++i) {
    const geometry::TimelineRow& row = at(scene().layout().rows, group.firstRow + i);
    if (row.kind == geometry::RowKind::transfer) {
      if (transfersTop < 0) transfersTop = row.y;
      transfersEnd = row.y + row.height;
    } else if (row.kind == geometry::RowKind::flat || row.kind == geometry::RowKind::activity ||
               row.kind == geometry::RowKind::counter || row.kind == geometry::RowKind::tiles) {
      painter.drawText(QRect(20, row.y, kGutter - 28, row.height), Qt::AlignVCenter | Qt::AlignRight,
                       metrics.elidedText(QString::fromStdString(row.label), Qt::ElideRight, kGutter - 28));
    }
  }
  paintLaneNames(painter, group);
  if (transfersTop >= 0) {
    painter.drawText(QRect(20, transfersTop, kGutter - 28, transfersEnd - transfersTop),
                     Qt::AlignVCenter | Qt::AlignRight, tr("transfers"));
  }
}

/// Lanes that work side by side have rows of their own, which may be lower than a line of text.
void TimelineCanvas::paintLaneNames(QPainter& painter, const geometry::TimelineGroup& group) const {
  const QFontMetrics metrics(labels_.font());
  for (int i = 1; i < group.rows; ++i) {
    const geometry::TimelineRow& row = at(scene().layout().rows, group.firstRow + i);
    if (row.kind != geometry::RowKind::flame || row.label.empty()) continue;
    int end = row.y + row.height;
    for (int j = i + 1; j < group.rows; ++j) {
      const geometry::TimelineRow& below = at(scene().layout().rows, group.firstRow + j);
      if (below.kind != row.kind || below.lane != row.lane || below.track != row.track) break;
      end = below.y + below.height;
    }
    const int height = std::max(std::min(end - row.y, metrics.height()), row.height);
    painter.drawText(QRect(20, row.y, kGutter - 28, height), Qt::AlignVCenter | Qt::AlignRight,
                     QString::fromStdString(row.label));
  }
}

void TimelineCanvas::paintCounterNames(QPainter& painter, const geometry::TimelineGroup& group,
                                       int indent) const {
  painter.setFont(labels_.font());
  painter.setPen(palette_.ui(Ui::muted));
  const QFontMetrics metrics(labels_.font());
  for (int i = 0; i < group.rows; ++i) {
    const geometry::TimelineRow& row = at(scene().layout().rows, group.firstRow + i);
    const int left = i == 0 ? 28 + indent : 20;
    painter.drawText(
        QRect(left, row.y, kGutter - left - 8, row.height), Qt::AlignVCenter | Qt::AlignRight,
        metrics.elidedText(QString::fromStdString(row.label), Qt::ElideRight, kGutter - left - 8));
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
  for (const geometry::AxisTick& tick : axisTicks(window().view, scale_, kCanvasPaintingAxisSpacing)) {
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
  if (selectedIn_ == scene().model()) {
    for (const geometry::Arrow& arrow : scene().arrows(visible, selected_))
      paintArrow(painter, arrow, palette_);
  }
  painter.setBrush(Qt::NoBrush);
  if (const auto box = scene().boxOf(windowOf(hovered_), hovered_); box && !(hovered_ == selected_)) {
    painter.setPen(palette_.ui(Ui::text));
    painter.drawRect(canvasPaintingRectOf(*box).adjusted(0, 0, -1, -1));
  }
  if (const auto box = scene().boxOf(windowOf(selected_), selected_)) {
    painter.setPen(QPen(palette_.ui(Ui::surface), 1));
    painter.drawRect(canvasPaintingRectOf(*box).adjusted(1, 1, -2, -2));
    QPen pen(palette_.ui(Ui::accent), 2);
    pen.setJoinStyle(Qt::MiterJoin);
    painter.setPen(pen);
    painter.drawRect(canvasPaintingRectOf(*box).adjusted(0, 0, 0, 0));
  }
  painter.restore();
}

/// What is under the pointer, next to it.
void TimelineCanvas::paintCallout(QPainter& painter) const {
  if (!hovered_ || !describe_ || drag_ != Drag::none) return;
  const QStringList lines = describe_(hovered_);
  if (lines.isEmpty()) return;
  timeline::paintCallout(painter, lines, pointer_, viewport()->rect(), labels_.font(), palette_);
}

/// The stretch that a drag with Ctrl marks, with its length.
void TimelineCanvas::paintRange(QPainter& painter) const {
  if (drag_ != Drag::range) return;
  const geometry::TimeView view = window().view;
  const auto [left, right] = std::minmax({std::max(pressed_.x(), kGutter), std::max(pointer_.x(), kGutter)});
  paintSpan(painter, view.time(left - kGutter), view.time(right - kGutter));
}

void TimelineCanvas::paintSpans(QPainter& painter) const {
  for (const Span& span : spans_) paintSpan(painter, span.from, span.to);
  if (drag_ == Drag::measure && measureFrom_ != measureTo_)
    paintSpan(painter, std::min(measureFrom_, measureTo_), std::max(measureFrom_, measureTo_));
}

void TimelineCanvas::paintSpan(QPainter& painter, base::Ticks from, base::Ticks to) const {
  const geometry::TimeView view = window().view;
  const double start = view.x(from), end = view.x(to);
  if (end < 0 || start > view.width()) return;
  const int left = kGutter + std::max(0, view.column(from)),
            right = kGutter + std::clamp(view.column(to), 0, view.width());
  QColor veil = palette_.ui(Ui::accent);
  veil.setAlpha(44);
  painter.save();
  painter.setClipRect(kGutter, 0, view.width(), viewport()->height());
  painter.fillRect(left, kTop, right - left, viewport()->height() - kTop, veil);
  painter.fillRect(left, kStepBand, 1, viewport()->height(), palette_.ui(Ui::accent));
  painter.fillRect(right, kStepBand, 1, viewport()->height(), palette_.ui(Ui::accent));
  painter.setFont(labels_.font());
  const QString text = QString::fromStdString(formatDuration(to - from, scale_));
  const int wide = QFontMetrics(labels_.font()).horizontalAdvance(text) + 12;
  const int x = std::clamp((left + right - wide) / 2, kGutter, std::max(kGutter, viewport()->width() - wide));
  const QRect box(x, kStepBand + 2, wide, kAxis - 4);
  painter.fillRect(box, palette_.ui(Ui::accent));
  painter.setPen(palette_.ui(Ui::accentText));
  painter.drawText(box, Qt::AlignCenter, text);
  painter.restore();
}

/// Marked times: a line, and how long after the one before.
void TimelineCanvas::paintMarkers(QPainter& painter) const {
  const geometry::TimeView view = window().view;
  painter.save();
  painter.setClipRect(kGutter, 0, view.width(), viewport()->height());
  painter.setFont(labels_.font());
  const QFontMetrics metrics(labels_.font());
  for (std::size_t i = 0; i < markers_.size(); ++i) {
    const double x = view.x(markers_[i]);
    if (x < 0 || x > view.width()) continue;
    const int left = kGutter + static_cast<int>(x);
    painter.fillRect(left, kStepBand, 1, viewport()->height(), palette_.ui(Ui::text));
    const QString text = i == 0 ? QString::fromStdString(formatDuration(markers_[i], scale_))
                                : QStringLiteral("+ ") + QString::fromStdString(formatDuration(
                                                             markers_[i] - markers_[i - 1], scale_));
    const int wide = metrics.horizontalAdvance(text) + 10;
    const int at = left + wide > viewport()->width() ? left - wide : left;
    const QRect box(at, kStepBand + 2, wide, kAxis - 4);
    painter.fillRect(box, palette_.ui(Ui::text));
    painter.setPen(palette_.ui(Ui::surface));
    painter.drawText(box, Qt::AlignCenter, text);
  }
  painter.restore();
}

/// Notes: a flag at the top, a thin line down.
void TimelineCanvas::paintFlags(QPainter& painter) const {
  const geometry::TimeView view = window().view;
  painter.save();
  painter.setClipRect(kGutter, 0, view.width(), viewport()->height());
  painter.setFont(labels_.font());
  const QFontMetrics metrics(labels_.font());
  constexpr int kWidest = 160;
  for (const Flag& flag : flags_) {
    const double x = view.x(flag.time);
    if (x < -kWidest || x > view.width()) continue;
    const int left = kGutter + static_cast<int>(x);
    const QColor colour = palette_.ui(Ui::warning);
    painter.fillRect(left, 0, 1, viewport()->height(), colour);
    const QString text = metrics.elidedText(flag.text, Qt::ElideRight, kWidest);
    const QRect box(left, 1, metrics.horizontalAdvance(text) + 10, kStepBand - 3);
    painter.fillRect(box, colour);
    painter.setPen(shell::Palette::textOn(colour));
    painter.drawText(box, Qt::AlignCenter, text);
  }
  painter.restore();
}

}  // namespace pipescope::timeline
