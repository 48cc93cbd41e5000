#include "views/timeline/painters/header_painter.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <algorithm>
#include <cmath>

namespace pipescope::timeline {

using Look = TimelineLook;
using shell::Ui;

void HeaderPainter::paintAxis(QPainter& painter, bool unitIsLink) const {
  const int width = look_.size.width();
  painter.fillRect(QRect(0, Look::kStepBand, width, Look::kAxis), look_.palette.ui(Ui::raised));
  painter.fillRect(0, Look::kTop - 1, width, 1, look_.palette.ui(Ui::border));
  painter.fillRect(Look::kGutter - 1, Look::kStepBand, 1, Look::kAxis, look_.palette.ui(Ui::border));
  painter.setFont(look_.labels.font());
  painter.setPen(look_.palette.ui(unitIsLink ? Ui::link : Ui::muted));
  painter.drawText(QRect(20, Look::kStepBand, Look::kGutter - 28, Look::kAxis),
                   Qt::AlignVCenter | Qt::AlignRight,
                   QCoreApplication::translate("Timeline", axisUnit(look_.scale)));
  painter.setPen(look_.palette.ui(Ui::muted));
  painter.save();
  painter.setClipRect(Look::kGutter, Look::kStepBand, width - Look::kGutter, Look::kAxis);
  const QFontMetrics metrics(look_.labels.font());
  for (const geometry::AxisTick& tick :
       axisTicks(look_.view, look_.scale, Look::kTickSpacing, look_.origin)) {
    const int x = Look::kGutter + static_cast<int>(std::floor(tick.x));
    painter.fillRect(x, Look::kTop - 6, 1, 5, look_.palette.ui(Ui::muted));
    const QString text = QString::fromStdString(tick.label);
    const int wide = metrics.horizontalAdvance(text);
    // The first and the last label stay on the canvas.
    const int left =
        std::clamp(x - wide / 2, Look::kGutter + 2, std::max(Look::kGutter + 2, width - wide - 3));
    painter.drawText(QRect(left, Look::kStepBand, wide + 2, Look::kAxis - 5),
                     Qt::AlignVCenter | Qt::AlignLeft, text);
  }
  painter.restore();
}

void HeaderPainter::paintSteps(QPainter& painter, const analysis::Trace& trace) const {
  const int width = look_.size.width();
  const auto translate = [](const char* text) { return QCoreApplication::translate("Timeline", text); };
  painter.fillRect(0, 0, width, Look::kStepBand, look_.palette.ui(Ui::raised));
  painter.setFont(look_.labels.font());
  painter.setPen(look_.palette.ui(Ui::muted));
  painter.drawText(QRect(20, 0, Look::kGutter - 28, Look::kStepBand), Qt::AlignVCenter | Qt::AlignRight,
                   trace.stepsMarked ? translate("training step") : translate("iteration"));
  painter.fillRect(Look::kGutter - 1, 0, 1, Look::kStepBand, look_.palette.ui(Ui::border));
  painter.save();
  painter.setClipRect(Look::kGutter, 0, width - Look::kGutter, Look::kStepBand);
  const geometry::TimeView& view = look_.view;
  const QFontMetrics metrics(look_.labels.font());
  const bool oneRun = trace.runs.size() == 1;
  int lastColumn = -2;  // only the first of several steps within one pixel is painted
  for (const analysis::IterationSpan& step : trace.iterations) {
    const int left = view.column(step.start), right = view.column(step.end);
    if (right < 0 || left <= lastColumn) continue;
    if (left > view.width()) break;
    const QRect box(Look::kGutter + std::max(0, left), 2,
                    std::max(1, std::min(view.width(), right) - std::max(0, left) - 1), Look::kStepBand - 4);
    painter.fillRect(box, look_.palette.ui(Ui::selection));
    lastColumn = left;
    const QString number = QString::number(step.iteration);
    // If the trace shows several calls, it shows all of them, so that the position is the number of the call.
    const auto call = std::ranges::find(trace.runs, step.run, &model::Run::id) - trace.runs.begin() + 1;
    const QString full = trace.stepsMarked ? translate("training step %1").arg(number)
                         : oneRun          ? translate("iteration %1").arg(number)
                                           : translate("call %1 · iteration %2").arg(call).arg(number);
    for (const QString& text : {full, number}) {
      if (metrics.horizontalAdvance(text) + 6 > box.width()) continue;
      painter.setPen(look_.palette.ui(Ui::text));
      painter.drawText(box, Qt::AlignCenter, text);
      break;
    }
  }
  painter.restore();
}

}  // namespace pipescope::timeline
