#include "views/pages/parts/columns_area.h"

#include <QEvent>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <vector>

#include "views/shell/growing.h"

namespace pipescope::pages {
namespace {

constexpr int kNarrow = 1180, kColumnSpace = 12;

/// Whether the widget lies in the layout or in one within it.
bool holds(QLayout& layout, const QWidget* widget) {
  for (int i = 0; i < layout.count(); ++i) {
    QLayoutItem* item = layout.itemAt(i);
    QLayout* inner = item->layout();
    if (item->widget() == widget || (inner != nullptr && holds(*inner, widget))) return true;
  }
  return false;
}

}  // namespace

ColumnsArea::ColumnsArea(QWidget* parent) : QScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setWidgetResizable(true);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* content = new QWidget(this);
  auto* outer = new QVBoxLayout(content);
  outer->setContentsMargins(18, 16, 18, 18);
  outer->setSpacing(kColumnSpace);
  top_ = new QVBoxLayout;
  top_->setSpacing(kColumnSpace);
  outer->addLayout(top_);
  columns_ = new QBoxLayout(QBoxLayout::LeftToRight);
  columns_->setSpacing(kColumnSpace);
  left_ = new QVBoxLayout;
  right_ = new QVBoxLayout;
  for (QVBoxLayout* side : {left_, right_}) {
    side->setSpacing(kColumnSpace);
    columns_->addLayout(side, 1);
  }
  outer->addLayout(columns_);
  bottom_ = new QVBoxLayout;
  bottom_->setSpacing(kColumnSpace);
  outer->addLayout(bottom_);
  outer->addStretch(1);
  setWidget(content);
}

void ColumnsArea::setStretch(int left, int right) {
  columns_->setStretch(0, left);
  columns_->setStretch(1, right);
}

void ColumnsArea::resizeEvent(QResizeEvent* event) {
  columns_->setDirection(viewport()->width() < kNarrow ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
  QScrollArea::resizeEvent(event);
  growCharts();
}

bool ColumnsArea::eventFilter(QObject* watched, QEvent* event) {
  const bool done = QScrollArea::eventFilter(watched, event);
  if (watched == widget() && event->type() == QEvent::LayoutRequest) growCharts();
  return done;
}

/// What the scroll area reserves for a part of its content.
int ColumnsArea::heightOf(QLayout* part) const {
  if (!widget()->layout()->hasHeightForWidth()) return part->minimumSize().height();
  return part->hasHeightForWidth() ? part->heightForWidth(part->geometry().width())
                                   : part->sizeHint().height();
}

/// All charts take the same share of what they may grow by. Charts of the left column and of the right one
/// grow beside each other.
void ColumnsArea::growCharts() {
  std::array<std::vector<shell::Growing*>, 4> charts;
  const std::array<QVBoxLayout*, 4> parts = {top_, bottom_, left_, right_};
  for (QWidget* child : widget()->findChildren<QWidget*>()) {
    auto* chart = dynamic_cast<shell::Growing*>(child);
    if (chart == nullptr || !child->isVisibleTo(widget())) continue;
    while (child->parentWidget() != widget()) child = child->parentWidget();
    const auto owner = std::ranges::find_if(parts, [child](QLayout* part) { return holds(*part, child); });
    if (owner != parts.end()) charts[static_cast<std::size_t>(owner - parts.begin())].push_back(chart);
  }
  std::array<int, 4> heights{}, grown{}, more{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    heights[i] = heightOf(parts[i]);
    for (const shell::Growing* chart : charts[i]) {
      const auto [least, most, now] = chart->heights();
      grown[i] += now - least;
      more[i] += std::max(0, most - least);
    }
  }
  const QSize room = maximumViewportSize();
  QLayout* content = widget()->layout();
  const int columns = heightOf(columns_);
  const int whole = content->hasHeightForWidth() ? content->heightForWidth(widget()->width())
                                                 : content->minimumSize().height();
  const int rest = whole - heights[0] - heights[1] - columns;  // margins and spaces
  const bool beside = columns_->direction() == QBoxLayout::LeftToRight;
  const int between = beside ? 0 : columns - heights[2] - heights[3];
  double share = 1;
  const auto limit = [&](int needed, int wanted) {
    if (wanted > 0) share = std::min(share, std::max(0, room.height() - rest - needed) / double(wanted));
  };
  const int strips = heights[0] + heights[1] - grown[0] - grown[1], wanted = more[0] + more[1];
  const int left = heights[2] - grown[2], right = heights[3] - grown[3];
  if (beside) {
    limit(strips + left, wanted + more[2]);
    limit(strips + right, wanted + more[3]);
  } else {
    limit(strips + left + right + between, wanted + more[2] + more[3]);
  }
  for (const auto& part : charts) {
    for (shell::Growing* chart : part) {
      const auto [least, most, now] = chart->heights();
      const int height = least + static_cast<int>(share * std::max(0, most - least));
      if (most > least && height != now) chart->growTo(height);
    }
  }
}

}  // namespace pipescope::pages
