#include "views/timeline/painters/gutter_painter.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <QPolygon>
#include <algorithm>

#include "profiler/geometry/element.h"

namespace pipescope::timeline {

using geometry::at;
using geometry::TimelineGroup;
using geometry::TimelineRow;
using shell::Ui;

namespace {

constexpr int kGutterWidth = TimelineLook::kGutter, kGutterIndent = 20;
/// Width of a name that ends 8 pixels before the rows.
constexpr int kGutterNameWidth = kGutterWidth - kGutterIndent - 8;

QFont titleFont(const LabelFont& labels) {
  QFont font = labels.font();
  font.setPixelSize(12);
  font.setBold(true);
  return font;
}

}  // namespace

QString GutterPainter::shownName(const QString& name, const QFontMetrics& metrics) {
  const auto level = name.lastIndexOf(QStringLiteral(", level "));
  if (level > 0 && metrics.horizontalAdvance(name) > kGutterNameWidth) return name.mid(level + 2);
  return metrics.elidedText(name, Qt::ElideLeft, kGutterNameWidth);
}

void GutterPainter::paint(QPainter& painter, int top) const {
  const int height = look_.size.height();
  constexpr int kTop = TimelineLook::kTop;
  painter.fillRect(0, kTop, kGutterWidth, height - kTop, look_.palette.ui(Ui::raised));
  painter.fillRect(kGutterWidth - 1, 0, 1, height, look_.palette.ui(Ui::border));
  painter.save();
  const auto paintGroups = [&](int scrolled, int from, int to) {
    painter.save();
    painter.setClipRect(0, kTop + from, kGutterWidth - 1, to - from);
    painter.translate(0, kTop - scrolled);
    for (const TimelineGroup& group : layout_.groups) {
      const int y = group.y - scrolled;
      if (y + group.height >= from - 20 && y <= to) paintGroup(painter, group);
    }
    painter.restore();
  };
  paintGroups(top, layout_.pinned, height - kTop);
  if (layout_.pinned > 0) paintGroups(0, 0, layout_.pinned);
  painter.restore();
}

void GutterPainter::paintGroup(QPainter& painter, const TimelineGroup& group) const {
  painter.fillRect(0, group.y + group.height + groupGap_ / 2, kGutterWidth, 1, look_.palette.ui(Ui::border));
  if (group.device == litDevice_ && litDevice_ >= 0)
    painter.fillRect(0, group.y, 3, group.height, look_.palette.ui(Ui::accent));
  const QFont bold = titleFont(look_.labels);
  painter.setFont(bold);
  painter.setPen(look_.palette.ui(Ui::text));
  const TimelineRow& first = at(layout_.rows, group.firstRow);
  const QRect line(kGutterIndent, first.y, kGutterWidth - 26, first.height);
  if (group.device < 0) {
    const QString name =
        QCoreApplication::translate("Timeline", group.device == geometry::kHost ? "Host" : "Run");
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft, name);
    const int indent = QFontMetrics(bold).horizontalAdvance(name);
    if (group.device == geometry::kWholeRun) return paintCounterNames(painter, group, indent);
    painter.setFont(look_.labels.font());
    painter.setPen(look_.palette.ui(Ui::muted));
    return painter.drawText(QRect(28 + indent, first.y, kGutterWidth - 36 - indent, first.height),
                            Qt::AlignVCenter | Qt::AlignLeft,
                            QCoreApplication::translate("Timeline", "wall time"));
  }
  paintFoldMark(painter, QPoint(10, first.y + first.height / 2), group.collapsed);
  const QString title = QString::fromStdString(group.title);
  painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
                   QFontMetrics(bold).elidedText(title, Qt::ElideRight, line.width()));
  painter.setFont(look_.labels.font());
  painter.setPen(look_.palette.ui(Ui::muted));
  paintSubtitle(painter, group, QFontMetrics(bold).horizontalAdvance(title));
  if (group.rows > 1) paintRowNames(painter, group);
}

/// A small triangle tells users that a click folds the group.
void GutterPainter::paintFoldMark(QPainter& painter, const QPoint& centre, bool folded) const {
  QPolygon triangle;
  if (folded) {
    triangle << centre + QPoint(-2, -4) << centre + QPoint(-2, 4) << centre + QPoint(3, 0);
  } else {
    triangle << centre + QPoint(-4, -2) << centre + QPoint(4, -2) << centre + QPoint(0, 3);
  }
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(look_.palette.ui(Ui::muted));
  painter.drawPolygon(triangle);
  painter.restore();
}

void GutterPainter::paintSubtitle(QPainter& painter, const TimelineGroup& group, int titleWidth) const {
  const QFontMetrics metrics(look_.labels.font());
  const QString subtitle = QString::fromStdString(group.subtitle);
  const TimelineRow& first = at(layout_.rows, group.firstRow);
  const QRect beside =
      QRect(kGutterIndent, first.y, kGutterWidth - 26, first.height).adjusted(titleWidth + 8, 0, 0, 0);
  if (group.rows == 1) {
    return painter.drawText(beside, Qt::AlignVCenter | Qt::AlignLeft,
                            metrics.elidedText(subtitle, Qt::ElideRight, beside.width()));
  }
  const TimelineRow& second = at(layout_.rows, group.firstRow + 1);
  const bool namedLane = second.kind == geometry::RowKind::flame && !second.label.empty();
  const bool below =
      second.kind != geometry::RowKind::transfer && second.kind != geometry::RowKind::flat && !namedLane;
  // Rows may be lower than a line of text, which then reaches into the next row.
  const QRect box =
      below ? QRect(kGutterIndent, second.y, kGutterWidth - 26, std::max(second.height, metrics.height()))
            : beside;
  // The chip is left out if room is short: it is the same for all devices.
  const bool whole = metrics.horizontalAdvance(subtitle) <= box.width();
  painter.drawText(box, Qt::AlignVCenter | Qt::AlignLeft,
                   metrics.elidedText(whole ? subtitle : subtitle.section(QStringLiteral(" · "), 1),
                                      Qt::ElideRight, box.width()));
}

/// Lanes of imported traces have long names that differ at their ends.
void GutterPainter::paintRowNames(QPainter& painter, const TimelineGroup& group) const {
  using geometry::RowKind;
  const QFontMetrics metrics(look_.labels.font());
  int transfersTop = -1, transfersEnd = 0;
  for (int i = 1; i < group.rows; ++i) {
    const TimelineRow& row = at(layout_.rows, group.firstRow + i);
    if (row.kind == RowKind::transfer) {
      if (transfersTop < 0) transfersTop = row.y;
      transfersEnd = row.y + row.height;
    } else if (row.kind == RowKind::counter) {
      paintCounterName(painter, row, kGutterIndent);
    } else if (row.kind == RowKind::flat || row.kind == RowKind::activity || row.kind == RowKind::tiles) {
      painter.drawText(QRect(kGutterIndent, row.y, kGutterNameWidth, row.height),
                       Qt::AlignVCenter | Qt::AlignRight,
                       shownName(QString::fromStdString(row.label), metrics));
    }
  }
  paintLaneNames(painter, group);
  if (transfersTop >= 0) {
    painter.drawText(QRect(kGutterIndent, transfersTop, kGutterNameWidth, transfersEnd - transfersTop),
                     Qt::AlignVCenter | Qt::AlignRight, QCoreApplication::translate("Timeline", "transfers"));
  }
}

/// A lane that works in parallel with others has rows of its own. They may be lower than a line of text, so
/// the name uses the height of all rows of the lane.
void GutterPainter::paintLaneNames(QPainter& painter, const TimelineGroup& group) const {
  const QFontMetrics metrics(look_.labels.font());
  for (int i = 1; i < group.rows; ++i) {
    const TimelineRow& row = at(layout_.rows, group.firstRow + i);
    if (row.kind != geometry::RowKind::flame || row.label.empty()) continue;
    int end = row.y + row.height;
    for (int j = i + 1; j < group.rows; ++j) {
      const TimelineRow& below = at(layout_.rows, group.firstRow + j);
      if (below.kind != row.kind || below.lane != row.lane || below.track != row.track) break;
      end = below.y + below.height;
    }
    const int height = std::max(std::min(end - row.y, metrics.height()), row.height);
    painter.drawText(QRect(kGutterIndent, row.y, kGutterNameWidth, height), Qt::AlignVCenter | Qt::AlignRight,
                     shownName(QString::fromStdString(row.label), metrics));
  }
}

void GutterPainter::paintCounterNames(QPainter& painter, const TimelineGroup& group, int indent) const {
  painter.setFont(look_.labels.font());
  painter.setPen(look_.palette.ui(Ui::muted));
  for (int i = 0; i < group.rows; ++i)
    paintCounterName(painter, at(layout_.rows, group.firstRow + i), i == 0 ? 28 + indent : kGutterIndent);
}

/// The name, and below it the scale. In a low row they share a line, and the name gives way.
void GutterPainter::paintCounterName(QPainter& painter, const TimelineRow& row, int left) const {
  const QFontMetrics metrics(look_.labels.font());
  const int width = kGutterWidth - left - 8, line = metrics.height();
  const QString name = QString::fromStdString(row.label), scale = QString::fromStdString(row.scale);
  const QRect box(left, row.y, width, row.height);
  const auto write = [&](const QRect& where, const QString& words) {
    painter.drawText(where, Qt::AlignVCenter | Qt::AlignRight,
                     metrics.elidedText(words, Qt::ElideRight, where.width()));
  };
  if (row.height >= 2 * line - 2) {
    const int top = row.y + (row.height - 2 * (line - 1)) / 2;
    write({left, top, width, line - 1}, name);
    return write({left, top + line - 1, width, line - 1}, scale);
  }
  write(box, scale);
  write(box.adjusted(0, 0, -metrics.horizontalAdvance(scale) - 8, 0), name);
}

}  // namespace pipescope::timeline
