#include "views/workbench/workbench_tools.h"

#include <QAction>
#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <tuple>

namespace pipescope::workbench {

WorkbenchTools::WorkbenchTools(const QString& folder, QWidget* parent)
    : QWidget(parent), samples_(new QComboBox(this)), folder_(new QLineEdit(folder, this)) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 8, 12, 6);
  row->setSpacing(6);
  samples_->setAccessibleName(tr("Sample"));
  samples_->setToolTip(tr("Begin with the settings of a sample"));
  samples_->addItem(tr("Begin with a sample…"));
  samples_->setMinimumContentsLength(20);
  samples_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  row->addWidget(samples_);
  QPushButton* opens = button(tr("Open…"), tr("Begin with a configuration file (Ctrl+O)"));
  QPushButton* saves = button(tr("Save…"), tr("Write the settings as a configuration file (Ctrl+S)"));
  row->addWidget(opens);
  row->addWidget(saves);
  steps_ = new QHBoxLayout;
  row->addLayout(steps_);
  row->addSpacing(8);
  auto* label = new QLabel(tr("Profiles in"), this);
  folder_->setAccessibleName(tr("Folder of profiles"));
  folder_->setToolTip(
      tr("The folder for the configuration and the profile of "
         "each run; it is made if it is missing"));
  label->setBuddy(folder_);
  row->addWidget(label);
  row->addWidget(folder_, 1);
  QPushButton* chooses = button(tr("Folder…"), tr("Choose the folder"));
  row->addWidget(chooses);
  row->addSpacing(8);
  start_ = button(tr("Start run"), tr("Run these settings (Ctrl+Return)"));
  start_->setDefault(true);
  row->addWidget(start_);
  connect(opens, &QPushButton::clicked, this, &WorkbenchTools::chooseConfiguration);
  connect(saves, &QPushButton::clicked, this, &WorkbenchTools::chooseSaveName);
  connect(chooses, &QPushButton::clicked, this, &WorkbenchTools::chooseFolder);
  connect(start_, &QPushButton::clicked, this, &WorkbenchTools::startWanted);
  connect(samples_, QOverload<int>::of(&QComboBox::activated), this, [this](int index) {
    if (index > 0) Q_EMIT configurationChosen(presets_[static_cast<std::size_t>(index - 1)].file);
  });
}

QPushButton* WorkbenchTools::button(const QString& text, const QString& tip) {
  auto* made = new QPushButton(text, this);
  made->setToolTip(tip);
  return made;
}

void WorkbenchTools::setPresets(const std::vector<Preset>& presets) {
  presets_ = presets;
  for (const Preset& preset : presets_) {
    samples_->addItem(preset.name);
    samples_->setItemData(samples_->count() - 1, preset.doc, Qt::ToolTipRole);
  }
}

void WorkbenchTools::forgetPreset() {
  samples_->setCurrentIndex(0);
}

void WorkbenchTools::setSteps(QAction& undo, QAction& redo) {
  for (const auto& [action, text, tip] :
       {std::tuple(&undo, tr("Undo"), tr("Take back the last change of the settings (Ctrl+Z)")),
        std::tuple(&redo, tr("Redo"), tr("Make the change again (Ctrl+Shift+Z)"))}) {
    QPushButton* made = button(text, tip);
    made->setFocusPolicy(Qt::TabFocus);
    made->setEnabled(action->isEnabled());
    steps_->addWidget(made);
    connect(made, &QPushButton::clicked, action, &QAction::trigger);
    connect(action, &QAction::changed, made,
            [made, action = action] { made->setEnabled(action->isEnabled()); });
  }
}

void WorkbenchTools::setStartPossible(bool possible) {
  start_->setEnabled(possible);
}

QString WorkbenchTools::folder() const {
  const QString typed = folder_->text().trimmed();
  return typed.isEmpty() ? typed : QDir::cleanPath(QDir::current().absoluteFilePath(typed));
}

void WorkbenchTools::chooseConfiguration() {
  auto* dialog =
      new QFileDialog(this, tr("Open a configuration"), {}, tr("Configurations (*.toml);;All files (*)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, this, &WorkbenchTools::configurationChosen);
  dialog->open();
}

void WorkbenchTools::chooseSaveName() {
  auto* dialog = new QFileDialog(this, tr("Save the configuration"), {}, tr("Configurations (*.toml)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setDefaultSuffix(QStringLiteral("toml"));
  dialog->selectFile(name_ + QStringLiteral(".toml"));
  connect(dialog, &QFileDialog::fileSelected, this, &WorkbenchTools::saveChosen);
  dialog->open();
}

void WorkbenchTools::chooseFolder() {
  auto* dialog = new QFileDialog(this, tr("Folder of profiles"), folder_->text());
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::Directory);
  dialog->setOption(QFileDialog::ShowDirsOnly);
  connect(dialog, &QFileDialog::fileSelected, folder_, &QLineEdit::setText);
  dialog->open();
}

}  // namespace pipescope::workbench
