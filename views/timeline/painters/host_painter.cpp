#include "views/timeline/painters/host_painter.h"

#include <algorithm>
#include <cmath>

#include "profiler/geometry/counter_text.h"

namespace pipescope::timeline {

using base::Ticks;
using geometry::HostScene;
using geometry::TimeView;
using shell::Ui;

namespace {

constexpr int kHostStrip = 6;
constexpr double kHostSpacing = 120;  ///< pixels between two labels of the axis, at least

}  // namespace

void HostPainter::paint(QPainter& painter) const {
  const int width = content_.size.width(), height = content_.size.height();
  painter.fillRect(0, 0, width, height, content_.palette.ui(Ui::surface));
  painter.save();
  painter.setClipRect(kGutter, kHead, rowsWidth(), height - kHead);
  painter.translate(kGutter, kHead);
  for (const geometry::AxisTick& tick : axisTicks(content_.view, kScale, kHostSpacing))
    painter.fillRect(QRect(static_cast<int>(std::floor(tick.x)), 0, 1, height),
                     content_.palette.ui(Ui::grid));
  const int pinned = content_.scene.pinned();
  paintShapes(painter, content_.scene.drawPinned(content_.view), content_.palette, content_.labels);
  painter.setClipRect(0, pinned, rowsWidth(), height - kHead - pinned);
  paintShapes(painter,
              content_.scene.draw(content_.view, content_.top, height - kHead, content_.labels.measure(),
                                  content_.only),
              content_.palette, content_.labels);
  painter.restore();
  paintNames(painter);
  if (pinned > 0) painter.fillRect(0, kHead + pinned - 2, width, 2, content_.palette.ui(Ui::accent));
  paintOverview(painter);
  paintAxis(painter);
}

void HostPainter::paintOverview(QPainter& painter) const {
  const int width = content_.size.width();
  painter.fillRect(0, 0, width, kOverview, content_.palette.ui(Ui::raised));
  painter.fillRect(kGutter, kHostStrip, rowsWidth(), kOverview - 2 * kHostStrip,
                   content_.palette.ui(Ui::surface));
  painter.setFont(content_.labels.font());
  painter.setPen(content_.palette.ui(Ui::muted));
  const std::size_t spans = content_.scene.timeline()->spanCount();
  painter.drawText(QRect(8, 0, kGutter - 16, kOverview), Qt::AlignVCenter | Qt::AlignRight,
                   spans == 1 ? QObject::tr("1 span") : QObject::tr("%L1 spans").arg(spans));
  const TimeView whole(Ticks(0), content_.end, rowsWidth());
  painter.save();
  painter.setClipRect(kGutter, 0, rowsWidth(), kOverview);
  painter.translate(kGutter, kHostStrip);
  const int tall = kOverview - 2 * kHostStrip;
  paintShapes(painter, content_.scene.overview(whole, tall), content_.palette, content_.labels);
  const int left = whole.column(content_.view.start()),
            right = std::max(whole.column(content_.view.end()), left + 2);
  QColor veil = content_.palette.ui(Ui::raised);
  veil.setAlpha(170);
  painter.fillRect(0, 0, left, tall, veil);
  painter.fillRect(right, 0, rowsWidth() - right, tall, veil);
  painter.setPen(content_.palette.ui(Ui::accent));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(left, -2, std::min(right, rowsWidth()) - left - 1, tall + 3);
  painter.restore();
}

void HostPainter::paintAxis(QPainter& painter) const {
  painter.fillRect(0, kOverview, content_.size.width(), kAxis, content_.palette.ui(Ui::raised));
  painter.fillRect(0, kOverview, content_.size.width(), 1, content_.palette.ui(Ui::border));
  painter.fillRect(0, kHead - 1, content_.size.width(), 1, content_.palette.ui(Ui::border));
  painter.setFont(content_.labels.font());
  painter.setPen(content_.palette.ui(Ui::muted));
  painter.drawText(QRect(8, kOverview, kGutter - 16, kAxis), Qt::AlignVCenter | Qt::AlignRight,
                   QObject::tr("wall time"));
  painter.save();
  painter.setClipRect(kGutter, kOverview, rowsWidth(), kAxis);
  painter.translate(kGutter, kOverview);
  const QFontMetrics metrics(content_.labels.font());
  for (const geometry::AxisTick& tick : axisTicks(content_.view, kScale, kHostSpacing)) {
    const QString text = QString::fromStdString(tick.label);
    const int wide = metrics.horizontalAdvance(text), x = static_cast<int>(std::floor(tick.x));
    painter.fillRect(x, kAxis - 6, 1, 5, content_.palette.ui(Ui::muted));
    const int left = std::clamp(x - wide / 2, 2, std::max(2, content_.view.width() - wide - 3));
    painter.drawText(QRect(left, 0, wide + 2, kAxis - 5), Qt::AlignVCenter | Qt::AlignLeft, text);
  }
  painter.restore();
}

void HostPainter::paintNames(QPainter& painter) const {
  const int height = content_.size.height();
  painter.save();
  painter.setClipRect(0, kHead, kGutter, height - kHead);
  painter.fillRect(0, kHead, kGutter, height, content_.palette.ui(Ui::raised));
  painter.fillRect(kGutter - 1, 0, 1, height, content_.palette.ui(Ui::border));
  QFont bold = content_.labels.font();
  bold.setBold(true);
  const QFontMetrics boldMetrics(bold), metrics(content_.labels.font());
  for (const HostScene::Band& band : content_.scene.bands()) {
    const int pinned = content_.scene.pinned();
    const int y = kHead + band.y - (band.pinned ? 0 : content_.top);
    if (y + band.height < kHead || y > height) continue;
    painter.setClipRect(0, kHead + (band.pinned ? 0 : pinned), kGutter, height - kHead);
    QString name, detail;
    if (band.kind == HostScene::Band::Kind::calls) {
      name = QObject::tr("Calls");
    } else if (band.kind == HostScene::Band::Kind::lane) {
      const analysis::HostLane& lane = content_.scene.timeline()->lanes[band.place];
      name = QString::fromStdString(lane.name);
      detail = QString::fromStdString(lane.process);
    } else {
      const analysis::HostCurve& curve = content_.scene.timeline()->curves[band.place];
      name = QString::fromStdString(curve.name);
      detail = band.pinned
                   ? QStringLiteral("%1 – %2").arg(
                         QString::fromStdString(geometry::counterText(curve.smallest, curve.unit)),
                         QString::fromStdString(geometry::counterText(curve.largest, curve.unit)))
                   : QString::fromStdString(curve.chart + (curve.unit.empty() ? "" : ", " + curve.unit));
    }
    constexpr int kLine = HostScene::kRow, wide = kGutter - 20;
    painter.setFont(bold);
    painter.setPen(content_.palette.ui(Ui::text));
    painter.drawText(QRect(10, y, wide, kLine), Qt::AlignLeft | Qt::AlignVCenter,
                     boldMetrics.elidedText(name, Qt::ElideRight, wide));
    if (detail.isEmpty() || band.height < 2 * kLine) continue;
    painter.setFont(content_.labels.font());
    painter.setPen(content_.palette.ui(Ui::muted));
    painter.drawText(QRect(10, y + kLine, wide, kLine), Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(detail, Qt::ElideRight, wide));
  }
  painter.restore();
}

}  // namespace pipescope::timeline
