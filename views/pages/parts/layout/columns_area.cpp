#include "views/pages/parts/layout/columns_area.h"

#include <QEvent>
#include <QVBoxLayout>
#include <algorithm>
#include <initializer_list>
#include <utility>

namespace pipescope::pages {
namespace {

constexpr int kNarrow = 1180, kColumnSpace = 12;

/// True if the widget lies in the layout or in one within it.
bool holds(QLayout& layout, const QWidget* widget) {
  for (int i = 0; i < layout.count(); ++i) {
    QLayoutItem* item = layout.itemAt(i);
    QLayout* inner = item->layout();
    if (item->widget() == widget || (inner != nullptr && holds(*inner, widget))) return true;
  }
  return false;
}

enum Part : std::size_t { kTop, kBottom, kLeft, kRight };

/// Shares the height of a page among what may grow on it.
class HeightSharing {
 public:
  using Grown = ColumnsArea::Grown;
  using Heights = std::array<int, ColumnsArea::kParts>;

  /// `heights`: of the parts as they are now. `room`: for all of them.
  HeightSharing(Grown grown, const Heights& heights, int room, bool beside)
      : grown_(std::move(grown)), heights_(heights), room_(room), beside_(beside) {
    for (std::size_t i = 0; i < grown_.size(); ++i) {
      for (const auto& [one, least] : grown_[i]) heights_[i] -= one->heights().now - least;
    }
  }

  /// Everything in these parts whose turn it is takes the same share of what it may grow by. A column alone
  /// may also become as tall as the other one, which makes the page no taller.
  void give(shell::Growing::Turn turn, std::initializer_list<Part> parts) {
    Heights wanted{};
    for (const Part part : parts) {
      for (const auto& [one, height] : grown_[part])
        wanted[part] += one->turn() == turn ? std::max(0, one->heights().most - height) : 0;
    }
    double share = 1;
    for (const Part column : {kLeft, kRight}) {
      const int all = sumBeside(wanted, column);
      int free = room_ - sumBeside(heights_, column);
      if (parts.size() == 1)
        free = std::max(free, heights_[column == kLeft ? kRight : kLeft] - heights_[column]);
      if (all > 0) share = std::min(share, std::max(0, free) / double(all));
    }
    for (const Part part : parts) {
      for (auto& [one, height] : grown_[part]) {
        if (one->turn() != turn) continue;
        const int more = static_cast<int>(share * std::max(0, one->heights().most - height));
        height += more;
        heights_[part] += more;
      }
    }
  }

  /// Returns true if anything has another height now.
  bool apply() const {
    bool changed = false;
    for (const auto& part : grown_) {
      for (const auto& [one, height] : part) {
        const int before = one->heights().now;
        if (height != before) one->growTo(height);
        changed |= one->heights().now != before;
      }
    }
    return changed;
  }

 private:
  /// The sum over all that lies above, in and below a column.
  int sumBeside(const Heights& of, Part column) const {
    return of[kTop] + of[kBottom] + (beside_ ? of[column] : of[kLeft] + of[kRight]);
  }

  Grown grown_;
  Heights heights_;
  int room_;
  bool beside_;
};

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
  stretches_ = {left, right};
  shareWidth();
}

/// A column in which nothing is shown takes no width. Below each other, the columns are as tall as what they
/// hold; a stretch would share their heights by it.
void ColumnsArea::shareWidth() {
  const bool beside = columns_->direction() == QBoxLayout::LeftToRight;
  for (int i = 0; i < columns_->count(); ++i) {
    const bool takes = beside && !columns_->itemAt(i)->isEmpty();
    const int stretch = takes ? stretches_.at(static_cast<std::size_t>(i)) : 0;
    if (columns_->stretch(i) != stretch) columns_->setStretch(i, stretch);
  }
  widget()->layout()->activate();
}

void ColumnsArea::resizeEvent(QResizeEvent* event) {
  columns_->setDirection(viewport()->width() < kNarrow ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
  shareWidth();
  QScrollArea::resizeEvent(event);
  grow();
}

bool ColumnsArea::eventFilter(QObject* watched, QEvent* event) {
  const bool asked = watched == widget() && event->type() == QEvent::LayoutRequest;
  // The inner layouts forget their heights here, before the scroll area asks how tall the content is.
  if (asked) shareWidth();
  const bool done = QScrollArea::eventFilter(watched, event);
  if (asked) grow();
  return done;
}

/// Returns the height that the scroll area reserves for a part of its content.
int ColumnsArea::heightOf(QLayout* part) const {
  if (!widget()->layout()->hasHeightForWidth()) return part->minimumSize().height();
  return part->hasHeightForWidth() ? part->heightForWidth(part->geometry().width())
                                   : part->sizeHint().height();
}

/// Returns the widgets that may grow in each part of the page, with the least height of each.
ColumnsArea::Grown ColumnsArea::growing() const {
  const std::array<QVBoxLayout*, kParts> parts = {top_, bottom_, left_, right_};
  Grown grown;
  for (QWidget* child : widget()->findChildren<QWidget*>()) {
    auto* one = dynamic_cast<shell::Growing*>(child);
    if (one == nullptr || !child->isVisibleTo(widget())) continue;
    while (child->parentWidget() != widget()) child = child->parentWidget();
    const auto owner = std::ranges::find_if(parts, [child](QLayout* part) { return holds(*part, child); });
    if (owner != parts.end())
      grown[static_cast<std::size_t>(owner - parts.begin())].emplace_back(one, one->heights().least);
  }
  return grown;
}

/// Does at once what layouts have put off until the event loop runs again. Until then they state heights from
/// before the last growth, and the page would share them out once more.
void ColumnsArea::settleLayouts() {
  for (QWidget* child : widget()->findChildren<QWidget*>()) {
    if (dynamic_cast<shell::Growing*>(child) == nullptr || !child->isVisibleTo(widget())) continue;
    for (; child != widget(); child = child->parentWidget()) {
      if (child->layout() != nullptr) child->layout()->activate();
    }
  }
  widget()->layout()->activate();
}

void ColumnsArea::grow() {
  // Growth of one part of the page may change the width of another part, and with it other heights.
  constexpr int kMostPasses = 4;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    settleLayouts();
    if (!shareHeight()) return;
  }
  settleLayouts();
}

/// Returns true if anything has another height now.
bool ColumnsArea::shareHeight() {
  QLayout* content = widget()->layout();
  const bool beside = columns_->direction() == QBoxLayout::LeftToRight;
  const std::array<int, kParts> heights{heightOf(top_), heightOf(bottom_), heightOf(left_), heightOf(right_)};
  const int columns = beside ? heightOf(columns_) : heights[kLeft] + heights[kRight];
  const int whole = content->hasHeightForWidth() ? content->heightForWidth(widget()->width())
                                                 : content->minimumSize().height();
  // Margins and spaces belong to none of the parts.
  const int rest = whole - heights[kTop] - heights[kBottom] - columns;
  HeightSharing sharing(growing(), heights, maximumViewportSize().height() - rest, beside);
  for (const auto turn : {shell::Growing::Turn::charts, shell::Growing::Turn::texts}) {
    sharing.give(turn, {kTop, kBottom, kLeft, kRight});
    if (!beside) continue;
    sharing.give(turn, {kLeft});
    sharing.give(turn, {kRight});
  }
  return sharing.apply();
}

}  // namespace pipescope::pages
