#include "views/shell/look/style.h"

#include <QPainter>
#include <QStyleOption>

#include "views/shell/look/palette.h"

namespace pipescope::shell {

Style::Style() : QProxyStyle(QStringLiteral("Fusion")) {}

void Style::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                          const QWidget* widget) const {
  if (element == PE_FrameTabBarBase) return;  // the line of the selected tab is enough
  if (element == PE_IndicatorCheckBox) return drawCheckBox(*option, *painter);
  if (element == PE_FrameLineEdit) return drawFrame(*option, *painter);
  QProxyStyle::drawPrimitive(element, option, painter, widget);
}

void Style::drawFrame(const QStyleOption& option, QPainter& painter) const {
  const QPalette& palette = option.palette;
  const bool lit = option.state & State_HasFocus;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(
      lit ? palette.color(QPalette::Highlight)
          : Palette::mixed(palette.color(QPalette::WindowText), palette.color(QPalette::Base), 0.35));
  painter.drawRoundedRect(QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5), 2.5, 2.5);
  painter.restore();
}

void Style::drawCheckBox(const QStyleOption& option, QPainter& painter) const {
  const QPalette& palette = option.palette;
  const bool on = option.state & State_On, lit = option.state & (State_MouseOver | State_HasFocus);
  const QColor text = palette.color(QPalette::WindowText), ground = palette.color(QPalette::Base),
               accent = palette.color(QPalette::Highlight);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF box = QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5);
  painter.setPen(on || lit ? accent : Palette::mixed(text, ground, 0.5));
  painter.setBrush(on ? accent : ground);
  painter.drawRoundedRect(box, 2.5, 2.5);
  if (on) {
    const double s = box.width();
    const auto at = [&](double x, double y) { return box.topLeft() + QPointF(x * s, y * s); };
    painter.setPen(
        QPen(palette.color(QPalette::HighlightedText), 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.drawPolyline(QPolygonF({at(0.24, 0.52), at(0.43, 0.71), at(0.77, 0.31)}));
  }
  painter.restore();
}

}  // namespace pipescope::shell
