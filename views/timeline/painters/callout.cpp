#include "views/timeline/painters/callout.h"

#include <QFontMetrics>
#include <algorithm>

namespace pipescope::timeline {

using shell::Ui;

namespace {
constexpr int kCalloutGap = 14, kPadding = 7;
}

void paintCallout(QPainter& painter, const QStringList& lines, const QPoint& pointer, const QRect& bounds,
                  const QFont& font, const shell::Palette& palette) {
  if (lines.isEmpty()) return;
  QFont bold = font;
  bold.setBold(true);
  const QFontMetrics metrics(font), boldMetrics(bold);
  int width = boldMetrics.horizontalAdvance(lines.front());
  for (const QString& line : lines) width = std::max(width, metrics.horizontalAdvance(line));
  width += 2;  // text may be drawn a little wider than its rounded advance
  width = std::min(width, bounds.width() - 4 * kPadding);
  const int lineHeight = metrics.height() + 2;
  QRect box(pointer + QPoint(kCalloutGap, kCalloutGap),
            QSize(width + 2 * kPadding, lineHeight * lines.size() + 2 * kPadding - 2));
  if (box.right() > bounds.right() - 4) box.moveRight(std::max(box.width() + 4, pointer.x() - kCalloutGap));
  if (box.bottom() > bounds.bottom() - 4) box.moveBottom(pointer.y() - kCalloutGap);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(palette.ui(Ui::border));
  painter.setBrush(palette.ui(Ui::raised));
  painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
  int y = box.y() + kPadding - 1;
  for (int i = 0; i < lines.size(); ++i, y += lineHeight) {
    painter.setFont(i == 0 ? bold : font);
    painter.setPen(palette.ui(i == 0 ? Ui::text : Ui::muted));
    const QFontMetrics& used = i == 0 ? boldMetrics : metrics;
    painter.drawText(QRect(box.x() + kPadding, y, width + 2, lineHeight), Qt::AlignVCenter | Qt::AlignLeft,
                     used.elidedText(lines[i], Qt::ElideRight, width));
  }
  painter.restore();
}

}  // namespace pipescope::timeline
