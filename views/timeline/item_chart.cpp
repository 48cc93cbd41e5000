#include "views/timeline/item_chart.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEngine>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "views/timeline/chart_keys.h"

namespace pipescope::timeline {

ItemChart::ItemChart(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent), palette_(palette), labels_(font()) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setFocusPolicy(Qt::StrongFocus);
  connect(&palette_, &shell::Palette::changed, this, [this] {
    picture_ = {};
    update();
  });
}

void ItemChart::setSource(Source source) {
  source_ = std::move(source);
  marked_ = -1;
  picture_ = {};
  update();
}

void ItemChart::setMarked(int item) {
  if (item == marked_) return;
  marked_ = item;
  picture_ = {};
  setAccessibleDescription(item >= 0 && source_.describe ? source_.describe(item) : QString());
  update();
}

void ItemChart::setHint(const QSize& hint) {
  hint_ = hint;
  updateGeometry();
}

void ItemChart::setHeights(int least, int most) {
  heights_ = {least, std::max(least, most), least};
  setFixedHeight(least);
}

/// Heights of the chart. It may grow to two fifths of a taller window.
shell::Growing::Heights ItemChart::heights() const {
  constexpr int kPart = 2, kParts = 5;
  if (heights_.most == heights_.least) return heights_;
  return {heights_.least, std::max(heights_.most, window()->height() * kPart / kParts), heights_.now};
}

void ItemChart::growTo(int height) {
  heights_.now = height;
  setFixedHeight(height);
}

void ItemChart::paintEvent(QPaintEvent*) {
  if (!source_.draw) return;
  QPainter painter(this);
  const auto draw = [this](QPainter& to) {
    paintShapes(to, source_.draw(size(), labels_.measure(), marked_), palette_, labels_);
  };
  // A file with a drawing gets vectors, no pixels.
  if (!source_.keeps || painter.paintEngine()->type() == QPaintEngine::SVG) return draw(painter);
  const QSize pixels = size() * devicePixelRatioF();
  if (picture_.size() != pixels) {
    picture_ = QPixmap(pixels);
    picture_.setDevicePixelRatio(devicePixelRatioF());
    picture_.fill(Qt::transparent);
    QPainter drawing(&picture_);
    drawing.setFont(font());
    draw(drawing);
  }
  painter.drawPixmap(0, 0, picture_);
}

void ItemChart::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !source_.hit) return;
  const int item = source_.hit(size(), event->pos());
  if (item >= 0) Q_EMIT clicked(item);
}

void ItemChart::mouseDoubleClickEvent(QMouseEvent* event) {
  const int item = itemAt(event->pos());
  if (item >= 0) Q_EMIT doubleClicked(item);
}

void ItemChart::contextMenuEvent(QContextMenuEvent* event) {
  const bool isKey = event->reason() == QContextMenuEvent::Keyboard;
  const int item = isKey ? marked_ : itemAt(event->pos());
  const QPoint at = isKey && item >= 0 ? mapToGlobal(itemRect(item).center()) : event->globalPos();
  item >= 0 ? Q_EMIT menuWanted(item, at) : event->ignore();
}

void ItemChart::keyPressEvent(QKeyEvent* event) {
  const auto& order = source_.order;
  const auto at = std::find(order.begin(), order.end(), marked_);
  const int place = at == order.end() ? -1 : static_cast<int>(at - order.begin());
  if (const auto next = itemOfKey(*event, place, static_cast<int>(order.size()))) {
    Q_EMIT clicked(order[static_cast<std::size_t>(*next)]);
  } else if (isEnter(*event) && place >= 0) {
    Q_EMIT doubleClicked(marked_);
  } else {
    QWidget::keyPressEvent(event);
  }
}

bool ItemChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !source_.hit) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int item = source_.hit(size(), help->pos());
  item >= 0 ? QToolTip::showText(help->globalPos(), source_.describe(item), this, itemRect(item))
            : QToolTip::hideText();
  return true;
}

}  // namespace pipescope::timeline
