#include "views/workbench/axes_bar.h"

#include <QEvent>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QSignalBlocker>
#include <QSpinBox>
#include <algorithm>

#include "views/shell/look/palette.h"

namespace pipescope::workbench {
namespace {

constexpr int kMostChipsOfAxis = 100'000;

}  // namespace

AxesBar::AxesBar(Draft& draft, QWidget* parent) : QWidget(parent), draft_(draft) {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setVerticalSpacing(2);
  const std::pair<const char*, QString> axes[] = {{"training.replication_factor", tr("Replicas")},
                                                  {"execution.tensor_parallel", tr("Tensor")},
                                                  {"execution.context_parallel", tr("Sequence")},
                                                  {"execution.expert_parallel", tr("Experts")}};
  for (const auto& [path, name] : axes) {
    const KeyRow* key = draft_.keys().of(QLatin1String(path));
    if (key == nullptr) continue;
    const auto column = static_cast<int>(axes_.size());
    auto* label = new QLabel(name, this);
    shell::Palette::makeQuiet(*label);
    auto* field = new QSpinBox(this);
    field->setRange(1, kMostChipsOfAxis);
    field->setKeyboardTracking(false);
    field->setFocusPolicy(Qt::StrongFocus);
    field->setAccessibleName(tr("Axis: %1").arg(name));
    field->installEventFilter(this);
    label->setBuddy(field);
    for (QWidget* each : {static_cast<QWidget*>(label), static_cast<QWidget*>(field)})
      each->setToolTip(QStringLiteral("<qt>%1</qt>").arg(key->help.toHtmlEscaped()));
    grid->addWidget(label, 0, column);
    grid->addWidget(field, 1, column);
    grid->setColumnStretch(column, 1);
    const Axis axis{key->path, field};
    axes_.push_back(axis);
    connect(field, QOverload<int>::of(&QSpinBox::valueChanged), this, [this, axis] { take(axis); });
  }
  refresh();
}

QSpinBox* AxesBar::field(const QString& path) const {
  const auto found = std::ranges::find(axes_, path, &Axis::path);
  return found == axes_.end() ? nullptr : found->field;
}

void AxesBar::refresh() {
  setVisible(draft_.count(QStringLiteral("fixed.stages")) == 0);
  for (const Axis& axis : axes_) {
    const QSignalBlocker blocker(axis.field);
    axis.field->setValue(draft_.value(axis.path).toInt());
  }
}

/// One chip is no division, so a setting that nobody else has made goes.
void AxesBar::take(const Axis& axis) {
  const QString value = QString::number(axis.field->value());
  if (value == draft_.value(axis.path)) return;
  if (axis.field->value() == 1)
    draft_.remove(axis.path);
  else
    draft_.set(axis.path, value);
  Q_EMIT changed();
}

/// The wheel changes a size only if the user has given its field the keyboard. Undo and redo are those of the
/// settings, because a field only undoes what was typed into it.
bool AxesBar::eventFilter(QObject* watched, QEvent* event) {
  const auto* field = qobject_cast<QWidget*>(watched);
  if (event->type() == QEvent::ShortcutOverride) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (!key->matches(QKeySequence::Undo) && !key->matches(QKeySequence::Redo)) return false;
    event->ignore();
    return true;
  }
  if (event->type() == QEvent::Wheel && field != nullptr && !field->hasFocus()) {
    event->ignore();
    return true;
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace pipescope::workbench
