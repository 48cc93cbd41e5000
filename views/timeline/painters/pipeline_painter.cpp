#include "views/timeline/painters/pipeline_painter.h"
#include "profiler/base/number_ranges.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <algorithm>
#include <cmath>

namespace pipescope::timeline {

using shell::Ui;

namespace {

constexpr double kTickSpacing = 120;  ///< pixels between two labels of the axis, at least

QString translated(const char* text) {
  return QCoreApplication::translate("Pipeline", text);
}

/// The name with what is said of it, or if that has no room, the short name with it, or alone.
QString fittingName(const QString& name, const QString& shortName, const QString& remark,
                    const QFontMetrics& metrics, int room) {
  for (const QString& text : {name + remark, shortName + remark}) {
    if (metrics.horizontalAdvance(text) <= room) return text;
  }
  return metrics.elidedText(shortName, Qt::ElideMiddle, room);
}

}  // namespace

void PipelinePainter::paint(QPainter& painter) const {
  painter.fillRect(QRect(QPoint(), content_.size), content_.palette.ui(Ui::surface));
  paintCells(painter);
  paintHead(painter);
  paintGutter(painter);
}

void PipelinePainter::paintCells(QPainter& painter) const {
  const int head = content_.metrics.top(), width = content_.size.width(), height = content_.size.height(),
            rows = height - head - content_.metrics.foot;
  painter.save();
  painter.setClipRect(kGutter, head, width - kGutter, rows);
  painter.translate(kGutter, head);
  if (!content_.options.grid) {
    for (const geometry::AxisTick& tick :
         axisTicks(content_.view, content_.scale, kTickSpacing, content_.grid.shownStart()))
      painter.fillRect(QRect(static_cast<int>(std::floor(tick.x)), 0, 1, height),
                       content_.palette.ui(Ui::grid));
  }
  paintShapes(painter, content_.scene.draw(content_.view, content_.top, rows, content_.labels.measure()),
              content_.palette, content_.labels);
  for (const geometry::Arrow& arrow : content_.scene.pathArrows(content_.view, content_.top))
    paintArrow(painter, arrow, content_.palette);
  painter.translate(-kGutter, -head);
  painter.setClipRect(kGutter, head, width - kGutter, height - head);
  painter.translate(kGutter, head);
  paintFirstFull(painter);
  painter.restore();
}

/// Marks the cycle from which on all stages work.
void PipelinePainter::paintFirstFull(QPainter& painter) const {
  const auto full = content_.scene.firstFull(content_.view);
  if (!full) return;
  const QColor colour = content_.palette.ui(Ui::accent);
  painter.fillRect(*full, 0, 1, content_.size.height(), colour);
  painter.setPen(colour);
  painter.setFont(content_.labels.font());
  const QString text = translated("all stages work from here");
  const int wide = QFontMetrics(content_.labels.font()).horizontalAdvance(text) + 8;
  const int y = std::min(content_.scene.height() - content_.top,
                         content_.size.height() - content_.metrics.top() - content_.metrics.foot) +
                2;
  const QRect label(std::min(*full + 1, content_.view.width() - wide), y, wide, 15);
  painter.fillRect(label, content_.palette.ui(Ui::surface));  // the line may lie there
  painter.drawText(label.adjusted(3, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, text);
}

void PipelinePainter::paintHead(QPainter& painter) const {
  const geometry::PipelineMetrics& metrics = content_.metrics;
  const int width = content_.size.width();
  painter.fillRect(0, 0, width, metrics.top(), content_.palette.ui(Ui::raised));
  painter.fillRect(0, metrics.top() - 1, width, 1, content_.palette.ui(Ui::border));
  painter.setFont(content_.labels.font());
  painter.setPen(content_.palette.ui(Ui::muted));
  const char* const name = !content_.options.grid   ? axisUnit(content_.scale)
                           : content_.grid.hasSlots ? "pipeline cycle"
                                                    : "column";
  if (content_.grid.hasPhases()) {
    painter.drawText(QRect(8, 0, kGutter - 16, metrics.phases), Qt::AlignVCenter | Qt::AlignRight,
                     translated("phase"));
  }
  painter.drawText(QRect(8, metrics.phases, kGutter - 16, metrics.head), Qt::AlignVCenter | Qt::AlignRight,
                   translated(name));
  painter.save();
  painter.setClipRect(kGutter, 0, width - kGutter, metrics.top());
  painter.translate(kGutter, 0);
  const geometry::TextMeasure& measure = content_.labels.measure();
  paintShapes(painter, content_.scene.drawPhases(content_.view, measure), content_.palette, content_.labels);
  painter.translate(0, metrics.phases);
  if (content_.options.grid) {
    paintShapes(painter, content_.scene.drawHeads(content_.view, measure), content_.palette, content_.labels);
  } else {
    paintAxis(painter);
  }
  painter.restore();
}

void PipelinePainter::paintAxis(QPainter& painter) const {
  const QFontMetrics font(content_.labels.font());
  const int height = content_.metrics.head;
  painter.setPen(content_.palette.ui(Ui::muted));
  for (const geometry::AxisTick& tick :
       axisTicks(content_.view, content_.scale, kTickSpacing, content_.grid.shownStart())) {
    const QString text = QString::fromStdString(tick.label);
    const int wide = font.horizontalAdvance(text), x = static_cast<int>(std::floor(tick.x));
    painter.fillRect(x, height - 6, 1, 5, content_.palette.ui(Ui::muted));
    const int left = std::clamp(x - wide / 2, 2, std::max(2, content_.view.width() - wide - 3));
    painter.drawText(QRect(left, 0, wide + 2, height - 5), Qt::AlignVCenter | Qt::AlignLeft, text);
  }
}

void PipelinePainter::paintGutter(QPainter& painter) const {
  const geometry::PipelineMetrics& metrics = content_.metrics;
  const int height = content_.size.height();
  painter.save();
  painter.fillRect(0, metrics.top(), kGutter, height, content_.palette.ui(Ui::raised));
  painter.fillRect(kGutter - 1, 0, 1, height, content_.palette.ui(Ui::border));
  painter.setClipRect(0, metrics.top(), kGutter, height - metrics.top() - metrics.foot);
  int y = metrics.top() - content_.top, index = 0;
  for (const analysis::PipelineRow& row : content_.grid.rows) {
    if (index++ == content_.lit) {
      painter.fillRect(0, y, kGutter - 1, metrics.row, content_.palette.ui(Ui::selection));
      painter.fillRect(0, y, 3, metrics.row, content_.palette.ui(Ui::accent));
    }
    if (y + metrics.row >= metrics.top() && y <= height) paintRowName(painter, row, y);
    y += metrics.row + metrics.gap;
  }
  painter.restore();
}

/// The stages of a device, and below or beside them the device and which share of the step time it is busy.
void PipelinePainter::paintRowName(QPainter& painter, const analysis::PipelineRow& row, int y) const {
  constexpr int kTwoLines = 30;  // rows at least this high have two lines of text
  const int height = content_.metrics.row, half = height / 2;
  const bool two = height >= kTwoLines;
  const QString name = translated(row.stages.size() == 1 ? "Stage %1" : "Stages %1")
                           .arg(QString::fromStdString(base::numberRanges(row.stages)));
  const double span = static_cast<double>(content_.grid.span.length().count);
  const QString busy =
      span > 0 ? translated("%1 % busy").arg(100 * static_cast<double>(row.busy.count) / span, 0, 'f', 0)
               : QString();
  QFont bold = content_.labels.font();
  bold.setBold(true);
  const QFontMetrics metrics(content_.labels.font()), boldMetrics(bold);
  painter.setFont(bold);
  painter.setPen(content_.palette.ui(Ui::text));
  painter.drawText(QRect(12, y, kGutter - 20, two ? half : height), Qt::AlignLeft | Qt::AlignVCenter,
                   boldMetrics.elidedText(name, Qt::ElideRight, kGutter - 20));
  painter.setFont(content_.labels.font());
  painter.setPen(content_.palette.ui(Ui::muted));
  const QString device = QString::fromStdString(row.name);
  const int left = two ? 12 : 16 + boldMetrics.horizontalAdvance(name);
  painter.drawText(QRect(left, two ? y + half : y, kGutter - left - 8, two ? half : height),
                   (two ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter,
                   fittingName(device, QString::fromStdString(row.shortName),
                               two && !busy.isEmpty() ? QStringLiteral(" · ") + busy : QString(), metrics,
                               kGutter - left - 8));
}

}  // namespace pipescope::timeline
