#include "views/pages/parts/tables/compared_columns.h"

#include <QSignalBlocker>
#include <algorithm>

#include "profiler/sections/frame/table_beside.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {

namespace {
/// Number of figures that are shown together, with their changes.
constexpr std::size_t kFewFigures = 2;
}  // namespace

ComparedColumns::ComparedColumns(QWidget* parent) : QComboBox(parent) {
  setAccessibleName(tr("Compared figure"));
  setToolTip(tr("The figure that is shown of both profiles, with its change"));
  setFocusPolicy(Qt::TabFocus);
  setSizeAdjustPolicy(QComboBox::AdjustToContents);
  setVisible(false);
  connect(this, QOverload<int>::of(&QComboBox::activated), this, [this](int index) {
    decided_ = true;
    chosen_ = index <= 0 ? std::string() : figures_[static_cast<std::size_t>(index - 1)];
  });
}

void ComparedColumns::setTable(const sections::SectionTable& merged,
                               const std::function<bool(const std::string& key)>& isHidden) {
  figures_ = sections::comparedKeys(merged);
  setVisible(figures_.size() > 1);
  if (std::ranges::find(figures_, chosen_) == figures_.end()) chosen_.clear(), decided_ = false;
  if (!decided_ && figures_.size() > kFewFigures) {
    const auto first = std::ranges::find_if(figures_, [&](const std::string& key) { return !isHidden(key); });
    chosen_ = first == figures_.end() ? figures_.front() : *first;
  }
  const QSignalBlocker quiet(this);
  clear();
  addItem(tr("All figures"));
  for (const std::string& key : figures_) {
    const auto column = std::ranges::find(merged.columns, key, &sections::SectionColumn::key);
    QString heading = text(column->heading);
    addItem(heading.left(heading.lastIndexOf(QLatin1Char(','))));
    if (key == chosen_) setCurrentIndex(count() - 1);
  }
}

std::string ComparedColumns::figureOf(const std::string& key) {
  for (const std::string prefix : {sections::kSourceKey, sections::kDeltaKey}) {
    if (key.starts_with(prefix)) return key.substr(prefix.size());
  }
  return key;
}

bool ComparedColumns::isChosen(const std::string& key) const {
  return !chosen_.empty() && !figures_.empty() && figureOf(key) == chosen_;
}

bool ComparedColumns::shows(const std::string& key) const {
  if (chosen_.empty() || figures_.empty()) return true;
  const std::string figure = figureOf(key);
  return figure == chosen_ || std::ranges::find(figures_, figure) == figures_.end();
}

}  // namespace pipescope::pages
