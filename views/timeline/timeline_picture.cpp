#include "views/timeline/timeline_picture.h"

#include <QElapsedTimer>
#include <QPaintEngine>
#include <algorithm>
#include <cmath>

#include "views/timeline/painters/gutter_painter.h"
#include "views/timeline/painters/header_painter.h"

namespace pipescope::timeline {

using Look = TimelineLook;
using shell::Ui;

namespace {

/// A file with a drawing gets vectors, no pixels.
bool wantsVectors(const QPainter& painter) {
  return painter.paintEngine()->type() == QPaintEngine::SVG;
}

GutterPainter gutterPainter(const TimelinePicture::Content& content) {
  return {content.look, content.scene.layout(), content.groupGap, content.litDevice};
}

void paintGrid(QPainter& painter, const TimelinePicture::Content& content) {
  const TimelineLook& look = content.look;
  for (const geometry::AxisTick& tick :
       axisTicks(content.window.view, look.scale, Look::kTickSpacing, look.origin)) {
    painter.fillRect(QRect(static_cast<int>(std::floor(tick.x)), 0, 1, content.window.height),
                     look.palette.ui(Ui::grid));
  }
}

/// Paints the part of the rows between the heights `from` and `to` of their area, in pixels. `top` is the
/// height of the layout at the upper border of the area.
void paintPart(QPainter& painter, const TimelinePicture::Content& content, int top, int from, int to) {
  const TimelineLook& look = content.look;
  const int width = content.window.view.width();
  painter.save();
  painter.setClipRect(QRect(0, from, width, to - from), Qt::IntersectClip);
  for (const geometry::TimelineGroup& group : content.scene.layout().groups) {
    const int below = group.y + group.height - top + content.groupGap / 2;
    if (below >= from && below < to) painter.fillRect(0, below, width, 1, look.palette.ui(Ui::border));
  }
  // Letters reach a little over their rows, so the rows beside the part are drawn, too.
  constexpr int kOver = 4;
  painter.translate(0, from - kOver);
  painter.setBrushOrigin(0, -(top + from - kOver));  // patterns move with the rows
  const geometry::TimelineWindow part{content.window.view, top + from - kOver, to - from + 2 * kOver};
  paintShapes(painter, content.scene.draw(part, look.labels.measure()), look.palette, look.labels);
  painter.restore();
}

/// Begins to paint in the rows' area.
void enterRows(QPainter& painter, const TimelineLook& look) {
  painter.setClipRect(Look::kGutter, Look::kTop, look.size.width() - Look::kGutter,
                      look.size.height() - Look::kTop);
  painter.translate(Look::kGutter, Look::kTop);
}

void paintRows(QPainter& painter, const TimelinePicture::Content& content) {
  const geometry::TimelineWindow& visible = content.window;
  const int width = visible.view.width(), pinned = content.scene.layout().pinned;
  painter.save();
  enterRows(painter, content.look);
  paintGrid(painter, content);
  paintPart(painter, content, visible.top, pinned, visible.height);
  if (pinned > 0) {
    paintPart(painter, content, 0, 0, pinned);
    painter.fillRect(0, pinned - 2, width, 2, content.look.palette.ui(Ui::accent));
  }
  painter.restore();
}

}  // namespace

void TimelinePicture::paint(QPainter& painter, const Content& content, double devicePixelRatio) {
  draw(content, devicePixelRatio);
  if (wantsVectors(painter)) {
    paintAll(painter, content);
  } else {
    painter.drawPixmap(0, 0, rows_);
  }
}

void TimelinePicture::draw(const Content& content, double ratio) {
  const QSize size = content.look.size * ratio;
  if (!rowsStale_ && drawnTop_ == content.window.top && rows_.size() == size) return;
  QElapsedTimer clock;
  clock.start();
  const bool sameRows = !rowsStale_ && rows_.size() == size;
  if (rows_.size() != size) rows_ = QPixmap(size);
  rows_.setDevicePixelRatio(ratio);
  drawNames(content, ratio);
  if (!sameRows || !scroll(content, ratio)) {
    QPainter painter(&rows_);
    paintAll(painter, content);
  }
  rowsStale_ = false;
  drawnTop_ = content.window.top;
  if (!content.scene.empty()) lastDrawMs_ = static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

/// Moves the rows that stay visible, and draws those that have come into view. Returns false if all of them
/// must be drawn.
bool TimelinePicture::scroll(const Content& content, double ratio) {
  const int pinned = content.scene.layout().pinned, height = content.window.height - pinned,
            down = drawnTop_ - content.window.top;
  const double pixels = down * ratio;
  if (content.scene.empty() || std::abs(down) >= height || pixels != std::round(pixels)) return false;
  const QRect area(Look::kGutter, Look::kTop + pinned, content.look.size.width() - Look::kGutter, height);
  const QRectF inPixels(QPointF(area.topLeft()) * ratio, QSizeF(area.size()) * ratio);
  if (inPixels != QRectF(inPixels.toRect())) return false;
  rows_.scroll(0, static_cast<int>(pixels), inPixels.toRect());
  QPainter painter(&rows_);
  painter.save();
  enterRows(painter, content.look);
  const int from = down > 0 ? pinned : content.window.height + down, to = from + std::abs(down);
  painter.setClipRect(QRect(0, from, content.window.view.width(), to - from), Qt::IntersectClip);
  painter.fillRect(QRect(0, from, area.width(), to - from), content.look.palette.ui(Ui::surface));
  paintGrid(painter, content);
  paintPart(painter, content, content.window.top, from, to);
  painter.restore();
  paintNames(painter, content);
  return true;
}

/// Names have a picture of their own because they stay as they are while the time moves.
void TimelinePicture::drawNames(const Content& content, double ratio) {
  const QSize size = QSize(Look::kGutter, content.look.size.height()) * ratio;
  if (!namesStale_ && names_.size() == size) return;
  if (names_.size() != size) names_ = QPixmap(size);
  names_.setDevicePixelRatio(ratio);
  QPainter painter(&names_);
  if (!content.scene.empty()) gutterPainter(content).paint(painter, content.window.top);
  namesStale_ = false;
}

void TimelinePicture::paintNames(QPainter& painter, const Content& content) const {
  const QRect below(0, Look::kTop, Look::kGutter, std::max(0, content.look.size.height() - Look::kTop));
  const double ratio = names_.devicePixelRatioF();
  painter.drawPixmap(below, names_,
                     QRectF(QPointF(0, Look::kTop * ratio), QSizeF(below.size()) * ratio).toRect());
}

void TimelinePicture::paintAll(QPainter& painter, const Content& content) const {
  const TimelineLook& look = content.look;
  painter.fillRect(QRect(QPoint(), look.size), look.palette.ui(Ui::surface));
  if (content.scene.empty()) return;
  paintRows(painter, content);
  if (wantsVectors(painter)) {
    gutterPainter(content).paint(painter, content.window.top);
  } else {
    paintNames(painter, content);
  }
  const HeaderPainter header(look);
  header.paintSteps(painter, *content.scene.model()->trace);
  header.paintAxis(painter, content.unitIsLink);
}

}  // namespace pipescope::timeline
