#include "views/pages/parts/layout/liveness_toolbar.h"

#include <QSignalBlocker>
#include <QToolButton>
#include <QVariant>
#include <algorithm>
#include <climits>

#include "views/pages/parts/data/text.h"
#include "views/shell/look/icons.h"

namespace pipescope::pages {

LivenessToolbar::LivenessToolbar(const shell::Palette& palette, QWidget* owner)
    : device_(new QComboBox(owner)),
      source_(new QComboBox(owner)),
      tile_(new QSpinBox(owner)),
      always_(new QCheckBox(tr("Always live below"), owner)),
      name_(new QLineEdit(owner)),
      trace_(new QPushButton(tr("Show on the trace"), owner)) {
  setSpacing(8);
  device_->setAccessibleName(tr("Device"));
  device_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  source_->addItems({tr("Sum over tiles"), tr("Fullest tile"), tr("One tile")});
  source_->setAccessibleName(tr("Bytes of"));
  source_->setToolTip(
      tr("Shows the bytes of all tiles together, of the tile that holds most in each step, or of one tile"));
  tile_->setAccessibleName(tr("Tile"));
  tile_->setToolTip(tr("The tile whose bytes are shown, counted from 0"));
  tile_->setKeyboardTracking(false);
  tile_->setVisible(false);
  always_->setChecked(true);
  always_->setToolTip(tr("Shows memory that is reserved for the whole program at the bottom of the chart"));
  name_->setPlaceholderText(tr("Next step named…"));
  name_->setAccessibleName(tr("Step name"));
  name_->setToolTip(tr("Press Enter to go to the next step whose name contains this text"));
  name_->setMaximumWidth(170);
  trace_->setObjectName(QStringLiteral("show_on_trace"));
  trace_->setToolTip(tr("Shows on the trace where this program step first ran in the last call (T)"));
  trace_->setEnabled(false);
  for (QWidget* widget : std::initializer_list<QWidget*>{device_, source_, tile_, always_}) addWidget(widget);
  addMoves(palette, owner);
  addWidget(name_);
  addWidget(trace_);
  // The page keeps the keyboard when these are clicked.
  for (QWidget* widget : std::initializer_list<QWidget*>{device_, source_, always_, trace_})
    widget->setFocusPolicy(Qt::TabFocus);
  addStretch(1);
  connect(device_, QOverload<int>::of(&QComboBox::activated), this, &LivenessToolbar::spaceChosen);
  connect(source_, QOverload<int>::of(&QComboBox::activated), this, &LivenessToolbar::sourceChosen);
  connect(tile_, QOverload<int>::of(&QSpinBox::valueChanged), this, &LivenessToolbar::tileChosen);
  connect(always_, &QCheckBox::toggled, this, &LivenessToolbar::alwaysLiveChanged);
  connect(name_, &QLineEdit::returnPressed, this, [this] { Q_EMIT nameWanted(name_->text().trimmed()); });
  connect(trace_, &QPushButton::clicked, this, &LivenessToolbar::traceWanted);
}

void LivenessToolbar::addMoves(const shell::Palette& palette, QWidget* owner) {
  const auto addButton = [&](const QString& icon, const QString& tip, int steps) {
    auto* button = new QToolButton(owner);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::TabFocus);
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    const auto follow = [button, icon, &palette] { button->setIcon(shell::icon(icon, palette)); };
    follow();
    connect(&palette, &shell::Palette::changed, button, follow);
    connect(button, &QToolButton::clicked, this, [this, steps] { Q_EMIT moveWanted(steps); });
    addWidget(button);
  };
  addButton(QStringLiteral("previous"), tr("Previous step (,)"), -1);
  auto* peak = new QPushButton(tr("Peak"), owner);
  peak->setFocusPolicy(Qt::TabFocus);
  peak->setToolTip(tr("Selects the step in which most memory is live (P)"));
  connect(peak, &QPushButton::clicked, this, &LivenessToolbar::peakWanted);
  addWidget(peak);
  addButton(QStringLiteral("next"), tr("Next step (.)"), 1);
}

model::MemorySpaceId LivenessToolbar::space() const {
  const QVariant space = device_->currentData();
  return model::MemorySpaceId(space.isValid() ? space.toLongLong() : -1);
}

void LivenessToolbar::setSpaces(const std::vector<LivenessSpace>& spaces) {
  const QSignalBlocker blocker(device_);
  device_->clear();
  for (const LivenessSpace& space : spaces)
    device_->addItem(space.name, QVariant::fromValue<qlonglong>(space.id.value));
}

void LivenessToolbar::selectSpace(model::MemorySpaceId space) {
  const QSignalBlocker blocker(device_);
  device_->setCurrentIndex(device_->findData(QVariant::fromValue<qlonglong>(space.value)));
}

void LivenessToolbar::setUnits(const LivenessSpace& space, std::int64_t unit, bool showsOne) {
  source_->setVisible(space.units > 1);
  tile_->setVisible(showsOne);
  const QSignalBlocker blocker(tile_);
  tile_->setRange(0, static_cast<int>(std::min<std::int64_t>(space.units - 1, INT_MAX)));
  tile_->setPrefix(text(space.unitName) + QLatin1Char(' '));
  if (unit >= 0) tile_->setValue(static_cast<int>(unit));
}

}  // namespace pipescope::pages
