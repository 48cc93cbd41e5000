#include "views/shell/look/elided_label.h"

#include <QPainter>

namespace pipescope::shell {

ElidedLabel::ElidedLabel(const Palette& palette, Qt::Alignment alignment, QWidget* parent, Ui colour)
    : QWidget(parent), palette_(palette), alignment_(alignment), colour_(colour) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  connect(&palette_, &Palette::changed, this, qOverload<>(&QWidget::update));
}

void ElidedLabel::setText(const QString& text) {
  if (text == text_) return;
  text_ = text;
  setToolTip(text);
  setAccessibleName(text);
  updateGeometry();
  update();
}

QSize ElidedLabel::sizeHint() const {
  const QFontMetrics metrics(font());
  return {metrics.horizontalAdvance(text_) + 4, metrics.height() + 2};
}

void ElidedLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(palette_.ui(colour_));
  constexpr int kFewest = 8;  // characters; fewer of a longer text say nothing
  const QString shown = QFontMetrics(font()).elidedText(text_, Qt::ElideMiddle, width());
  if (shown == text_ || shown.size() >= kFewest)
    painter.drawText(rect(), static_cast<int>(alignment_), shown);
}

}  // namespace pipescope::shell
