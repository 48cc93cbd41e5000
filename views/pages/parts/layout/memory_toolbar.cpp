#include "views/pages/parts/layout/memory_toolbar.h"

#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVariant>
#include <algorithm>

namespace pipescope::pages {

MemoryToolbar::MemoryToolbar(const shell::Palette& palette, QWidget* owner)
    : view_(new QComboBox(owner)),
      device_(new QComboBox(owner)),
      breakdown_(new QComboBox(owner)),
      gaps_(new QCheckBox(tr("With gaps"), owner)),
      peak_(new QCheckBox(tr("Peak only"), owner)),
      capacity_(new QCheckBox(tr("Capacity"), owner)),
      units_(new QLineEdit(owner)),
      fullest_(new QPushButton(tr("Fullest"), owner)),
      reason_(new QLabel(owner)) {
  setSpacing(4);
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  device_->setAccessibleName(tr("Device"));
  device_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  breakdown_->addItems({tr("By purpose"), tr("By layer"), tr("By category"), tr("By region"),
                        tr("By liveness"), tr("In one colour")});
  breakdown_->setItemData(static_cast<int>(MemoryBreakdown::category), tr("The categories of libpva"),
                          Qt::ToolTipRole);
  peak_->setToolTip(
      tr("Shows only what is live in the program step in which the device holds most, and leaves out "
         "variables of other steps that share these addresses"));
  breakdown_->setAccessibleName(tr("Breakdown"));
  gaps_->setToolTip(tr("Shows the address span: bytes used and the gaps between variables"));
  capacity_->setChecked(true);
  view_->addItems({tr("Chart"), tr("Tile map")});
  view_->setAccessibleName(tr("View"));
  view_->setToolTip(tr("Shows the bytes by tile, or the tiles as squares in the order of their numbers"));
  units_->setAccessibleName(tr("Selected tiles"));
  units_->setToolTip(tr(
      "Shows only these tiles in the tables, counted over the devices shown. Leave it empty for all tiles."));
  units_->setMaximumWidth(130);
  for (QWidget* widget :
       std::initializer_list<QWidget*>{view_, device_, breakdown_, gaps_, peak_, capacity_, units_})
    row->addWidget(widget);
  // The page keeps the keyboard when these are clicked.
  for (QWidget* widget : std::initializer_list<QWidget*>{view_, device_, breakdown_, gaps_, peak_, capacity_})
    widget->setFocusPolicy(Qt::TabFocus);
  fullest_->setFocusPolicy(Qt::TabFocus);
  row->addWidget(fullest_);
  connect(fullest_, &QPushButton::clicked, this, &MemoryToolbar::fullestWanted);
  row->addStretch(1);
  addLayout(row);
  reason_->setTextFormat(Qt::PlainText);
  reason_->setWordWrap(true);
  reason_->setVisible(false);
  const auto follow = [this, &palette] {
    QPalette colours = reason_->palette();
    colours.setColor(QPalette::WindowText, palette.ui(shell::Ui::error));
    reason_->setPalette(colours);
  };
  follow();
  connect(&palette, &shell::Palette::changed, this, follow);
  addWidget(reason_);
  const auto activated = QOverload<int>::of(&QComboBox::activated);
  connect(view_, activated, this, &MemoryToolbar::viewChanged);
  connect(device_, activated, this, &MemoryToolbar::spaceChosen);
  connect(breakdown_, activated, this, [this] {
    peak_->setEnabled(isByVariable());
    Q_EMIT choiceChanged();
  });
  connect(peak_, &QCheckBox::toggled, this, &MemoryToolbar::choiceChanged);
  connect(gaps_, &QCheckBox::toggled, this, &MemoryToolbar::choiceChanged);
  connect(capacity_, &QCheckBox::toggled, this, &MemoryToolbar::capacityChanged);
  connect(capacity_, &QCheckBox::clicked, this, [this] { capacityChosen_ = true; });
  connect(units_, &QLineEdit::editingFinished, this, &MemoryToolbar::unitsChosen);
}

void MemoryToolbar::setUnits(const QString& list) {
  units_->setText(list);
  setUnitsReason({});
}

void MemoryToolbar::setUnitsReason(const QString& reason) {
  reason_->setText(reason);
  reason_->setVisible(!reason.isEmpty());
  units_->setAccessibleDescription(reason);
}

MemoryChoice MemoryToolbar::choice() const {
  MemoryChoice choice;
  const QVariant space = device_->currentData();
  choice.space = model::MemorySpaceId(space.isValid() ? space.toLongLong() : -1);
  choice.breakdown = static_cast<MemoryBreakdown>(breakdown_->currentIndex());
  choice.gaps = gaps_->isChecked();
  choice.peakOnly = isByVariable() && peak_->isChecked();
  return choice;
}

/// Only variables say in which steps they are live.
bool MemoryToolbar::isByVariable() const {
  const auto breakdown = static_cast<MemoryBreakdown>(breakdown_->currentIndex());
  return breakdown == MemoryBreakdown::purpose || breakdown == MemoryBreakdown::layer;
}

void MemoryToolbar::setSpaces(const std::vector<ShownSpace>& spaces) {
  const QVariant before = device_->currentData();
  const QSignalBlocker blocker(device_);
  device_->clear();
  if (spaces.size() > 1)
    device_->addItem(tr("All %1").arg(memoryWords(spaces.front().kind)), QVariant::fromValue<qlonglong>(-1));
  for (const ShownSpace& space : spaces) {
    const bool usual = space.kind == spaces.front().kind;
    device_->addItem(usual ? space.name : tr("%1 %2").arg(space.name, memoryWords(space.kind)),
                     QVariant::fromValue<qlonglong>(space.id.value));
  }
  device_->setCurrentIndex(std::max(0, device_->findData(before)));
}

void MemoryToolbar::setUnitName(const QString& unit, bool inUnits) {
  view_->setVisible(inUnits);
  if (!inUnits) view_->setCurrentIndex(0);
  units_->setVisible(inUnits);
  fullest_->setVisible(inUnits);
  fullest_->setToolTip(tr("Selects the %1 that holds most (F)").arg(unit));
  units_->setPlaceholderText(tr("%1s: 0,5-7").arg(unit));
  const QString line = tr("Draws a line at the capacity of a %1.").arg(unit);
  capacity_->setToolTip(inUnits
                            ? tr("%1 The colours of the %2 map then reach up to the capacity, otherwise up "
                                 "to the fullest %2.")
                                  .arg(line, unit)
                            : line);
}

void MemoryToolbar::suggestCapacity(bool shown) {
  if (capacityChosen_) return;
  const QSignalBlocker blocker(capacity_);
  capacity_->setChecked(shown);
}

}  // namespace pipescope::pages
