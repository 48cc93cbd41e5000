#include "views/pages/parts/layout/insight_cards.h"

#include <QGridLayout>
#include <QResizeEvent>
#include <algorithm>
#include <cmath>
#include <utility>

namespace pipescope::pages {
namespace {

constexpr int kTwoCards = 2200;     ///< width from which two cards stand side by side
constexpr int kLargeScreen = 1400;  ///< height of a window from which texts may be larger
constexpr double kLargestScale = 1.5, kScaleStep = 0.05;

}  // namespace

InsightCards::InsightCards(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent), palette_(palette), layout_(new QGridLayout(this)) {
  layout_->setContentsMargins(0, 0, 0, 0);
  layout_->setSpacing(10);
}

void InsightCards::setInsights(const std::vector<ShownInsight>& insights) {
  qDeleteAll(std::exchange(cards_, {}));
  const int gainWidth = InsightCard::gainWidthOf(insights, fontMetrics());
  for (const ShownInsight& insight : insights) {
    auto* card = new InsightCard(palette_, insight, gainWidth, this);
    connect(card, &InsightCard::wanted, this, &InsightCards::wanted);
    connect(card, &InsightCard::runWanted, this, &InsightCards::runWanted);
    cards_.push_back(card);
    card->show();
  }
  arrange();
}

void InsightCards::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (arrangedFor_ != QSize(width(), window()->height())) arrange();
}

/// Places the cards, and measures how tall they are with the usual text and with the largest.
void InsightCards::arrange() {
  const int columns = width() < kTwoCards ? 1 : 2;
  for (int i = 0; i < static_cast<int>(cards_.size()); ++i)
    layout_->addWidget(cards_[static_cast<std::size_t>(i)], i / columns, i % columns);
  layout_->setColumnStretch(0, 1);
  layout_->setColumnStretch(1, columns - 1);
  const double before = scale_, largest = largestScale();
  heights_.most = heightAt(largest);
  heights_.least = largest > 1 ? heightAt(1) : heights_.most;
  heights_.now = heightAt(std::min(before, largest));
  arrangedFor_ = {width(), window()->height()};
  grownTo_ = 0;
  updateGeometry();
}

double InsightCards::largestScale() const {
  return std::clamp(window()->height() / double(kLargeScreen), 1.0, kLargestScale);
}

/// Gives the cards texts of this size, and returns how tall they are then.
int InsightCards::heightAt(double scale) {
  if (scale != scale_) {
    scale_ = scale;
    for (InsightCard* card : cards_) card->setTextScale(scale);
  }
  // Layouts remember heights until the event loop runs again.
  for (InsightCard* card : cards_) {
    for (auto* part : card->findChildren<QWidget*>()) part->updateGeometry();
    for (auto* part : card->findChildren<QLayout*>()) part->invalidate();
    card->updateGeometry();
  }
  layout_->invalidate();
  return layout_->hasHeightForWidth() ? layout_->heightForWidth(width()) : layout_->sizeHint().height();
}

void InsightCards::growTo(int height) {
  // The page asks again whenever the layout changes, which trying sizes of the text also does.
  if (height == grownTo_) return;
  grownTo_ = height;
  double scale = largestScale();
  while (scale > 1 && heightAt(scale) > height) scale = std::max(1.0, scale - kScaleStep);
  heights_.now = heightAt(scale);
  updateGeometry();
}

}  // namespace pipescope::pages
