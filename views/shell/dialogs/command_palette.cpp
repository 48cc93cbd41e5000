#include "views/shell/dialogs/command_palette.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>

namespace pipescope::shell {

CommandPalette::CommandPalette(std::vector<PaletteEntry> commands, QWidget* parent)
    : QDialog(parent),
      commands_(std::move(commands)),
      box_(new QLineEdit(this)),
      list_(new QListWidget(this)) {
  setWindowTitle(tr("Commands"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(10, 10, 10, 10);
  layout->addWidget(box_);
  layout->addWidget(list_);
  box_->setPlaceholderText(tr("What to do, or where to go"));
  box_->setAccessibleName(tr("Command"));
  box_->setClearButtonEnabled(true);
  list_->setAccessibleName(tr("Commands"));
  list_->setUniformItemSizes(true);
  resize(560, 380);
  box_->installEventFilter(this);
  connect(box_, &QLineEdit::textChanged, this, &CommandPalette::narrow);
  connect(list_, &QListWidget::itemActivated, this, &CommandPalette::runCurrent);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::runCurrent);
  narrow({});
  box_->setFocus();
}

void CommandPalette::narrow(const QString& text) {
  list_->clear();
  const QStringList words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    const QString all = commands_[i].name + QLatin1Char(' ') + commands_[i].detail;
    const bool fits = std::all_of(words.begin(), words.end(), [&](const QString& word) {
      return all.contains(word, Qt::CaseInsensitive);
    });
    if (!fits) continue;
    const QString& detail = commands_[i].detail;
    auto* item = new QListWidgetItem(
        detail.isEmpty() ? commands_[i].name : QStringLiteral("%1   —   %2").arg(commands_[i].name, detail),
        list_);
    item->setData(Qt::UserRole, static_cast<int>(i));
  }
  list_->setCurrentRow(0);
}

void CommandPalette::runCurrent() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr) return;
  const std::function<void()> run = commands_[static_cast<std::size_t>(item->data(Qt::UserRole).toInt())].run;
  accept();
  run();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched == box_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const int rows = list_->count();
    if (key->key() == Qt::Key_Down || key->key() == Qt::Key_Up) {
      const int step = key->key() == Qt::Key_Down ? 1 : -1;
      if (rows > 0) list_->setCurrentRow((list_->currentRow() + step + rows) % rows);
      return true;
    }
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) return runCurrent(), true;
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace pipescope::shell
