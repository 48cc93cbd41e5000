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

void paintRows(QPainter& painter, const TimelinePicture::Content& content) {
  const TimelineLook& look = content.look;
  const geometry::TimelineWindow& visible = content.window;
  const int width = visible.view.width(), pinned = content.scene.layout().pinned;
  painter.save();
  painter.setClipRect(Look::kGutter, Look::kTop, look.size.width() - Look::kGutter,
                      look.size.height() - Look::kTop);
  painter.translate(Look::kGutter, Look::kTop);
  for (const geometry::AxisTick& tick :
       axisTicks(visible.view, look.scale, Look::kTickSpacing, look.origin)) {
    painter.fillRect(QRect(static_cast<int>(std::floor(tick.x)), 0, 1, visible.height),
                     look.palette.ui(Ui::grid));
  }
  const auto paintPart = [&](const geometry::TimelineWindow& rows, int from, int to) {
    painter.save();
    painter.setClipRect(0, from, width, to - from);
    for (const geometry::TimelineGroup& group : content.scene.layout().groups) {
      const int below = group.y + group.height - rows.top + content.groupGap / 2;
      if (below > from && below < to) painter.fillRect(0, below, width, 1, look.palette.ui(Ui::border));
    }
    paintShapes(painter, content.scene.draw(rows, look.labels.measure()), look.palette, look.labels);
    painter.restore();
  };
  paintPart(visible, pinned, visible.height);
  if (pinned > 0) {
    paintPart({visible.view, 0, pinned}, 0, pinned);
    painter.fillRect(0, pinned - 2, width, 2, look.palette.ui(Ui::accent));
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
  if (!rowsStale_ && rows_.size() == size) return;
  QElapsedTimer clock;
  clock.start();
  if (rows_.size() != size) rows_ = QPixmap(size);
  rows_.setDevicePixelRatio(ratio);
  drawNames(content, ratio);
  QPainter painter(&rows_);
  paintAll(painter, content);
  rowsStale_ = false;
  if (!content.scene.empty()) lastDrawMs_ = static_cast<double>(clock.nsecsElapsed()) / 1e6;
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

void TimelinePicture::paintAll(QPainter& painter, const Content& content) const {
  const TimelineLook& look = content.look;
  painter.fillRect(QRect(QPoint(), look.size), look.palette.ui(Ui::surface));
  if (content.scene.empty()) return;
  paintRows(painter, content);
  if (wantsVectors(painter)) {
    gutterPainter(content).paint(painter, content.window.top);
  } else {
    const QRect below(0, Look::kTop, Look::kGutter, std::max(0, look.size.height() - Look::kTop));
    const double ratio = names_.devicePixelRatioF();
    painter.drawPixmap(below, names_,
                       QRectF(QPointF(0, Look::kTop * ratio), QSizeF(below.size()) * ratio).toRect());
  }
  const HeaderPainter header(look);
  header.paintSteps(painter, *content.scene.model()->trace);
  header.paintAxis(painter, content.unitIsLink);
}

}  // namespace pipescope::timeline
