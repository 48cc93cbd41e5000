#include "views/shell/dialogs/window_dialogs.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QMessageBox>
#include <vector>

#include "profiler/import/read/trace_format.h"
#include "views/shell/dialogs/command_palette.h"
#include "views/shell/dialogs/keys_dialog.h"
#include "views/shell/dialogs/settings_dialog.h"
#include "views/shell/look/glossary.h"
#include "views/shell/main_window.h"

namespace pipescope::shell {
namespace {

const auto kOpenFolder = QStringLiteral("last_folder");

/// Patterns of the files that the window opens as a profile, such as "*.pop *.json".
QString profilePatterns() {
  QString patterns = QStringLiteral("*.pop");
  for (const std::string& suffix : importing::traceSuffixes())
    patterns += QStringLiteral(" *") + QString::fromStdString(suffix);
  return patterns;
}

}  // namespace

WindowDialogs::WindowDialogs(MainWindow& window) : QObject(&window), window_(window) {}

/// A window manager gives the keyboard back to the window when a dialog closes. On a screen without one,
/// nobody would: all keys would then be lost.
void WindowDialogs::open(QDialog* dialog) {
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QDialog::finished, &window_, [this] { window_.activateWindow(); });
  dialog->open();
}

void WindowDialogs::chooseFile() {
  auto* dialog = new QFileDialog(
      &window_, tr("Open a profile"), window_.settings().value(kOpenFolder).toString(),
      tr("Profiles and traces (%1);;Configurations and models to run (*.toml *.onnx);;All files (*)")
          .arg(profilePatterns()));
  dialog->setFileMode(QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
    window_.settings().setValue(kOpenFolder, QFileInfo(path).path());
    window_.open(path);
  });
  open(dialog);
}

void WindowDialogs::chooseFolder() {
  auto* dialog = new QFileDialog(&window_, tr("Open a folder of traces, or the folder of a profile"),
                                 window_.settings().value(kOpenFolder).toString());
  dialog->setFileMode(QFileDialog::Directory);
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
    window_.settings().setValue(kOpenFolder, QFileInfo(path).path());
    window_.open(path);
  });
  open(dialog);
}

void WindowDialogs::chooseCompared() {
  auto* dialog = new QFileDialog(&window_, tr("Compare with which profile?"),
                                 window_.settings().value(kOpenFolder).toString(),
                                 tr("Profiles (*.pop);;All files (*)"));
  dialog->setFileMode(QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
    window_.settings().setValue(kOpenFolder, QFileInfo(path).path());
    window_.compareWith(path);
  });
  open(dialog);
}

void WindowDialogs::showCommands() {
  std::vector<PaletteEntry> commands;
  for (const Actions::Entry& entry : window_.actions().entries()) {
    if (entry.action == nullptr || !entry.action->isEnabled()) continue;
    const QString keys =
        entry.keys.isEmpty() ? entry.group : entry.group + QStringLiteral(" · ") + entry.keys;
    commands.push_back({entry.what, keys, [action = entry.action] { action->trigger(); }});
  }
  if (const ProfileSnapshot* snapshot = window_.session().snapshot()) {
    for (const model::Executable& row : snapshot->catalog->executables) {
      commands.push_back({tr("Show executable %1").arg(QString::fromStdString(row.name)), tr("Executable"),
                          [this, id = row.id] { window_.session().setExecutable(id); }});
    }
    for (const model::Device& row : snapshot->catalog->devices) {
      const QString name = QString::fromStdString(row.name);
      commands.push_back({tr("Go to %1 on the trace").arg(name), tr("Device"), [this, name] {
                            window_.go({QStringLiteral("trace"), {}, -1, name});
                          }});
    }
  }
  for (const QString& path : window_.settings().recentFiles()) {
    commands.push_back(
        {tr("Open %1").arg(QFileInfo(path).fileName()), path, [this, path] { window_.open(path); }});
  }
  open(new CommandPalette(std::move(commands), &window_));
}

void WindowDialogs::showSettings() {
  open(new SettingsDialog(
      window_.settings(), window_.colours(), [this] { window_.showAgain(); }, &window_));
}

void WindowDialogs::showWords() {
  std::vector<PaletteEntry> words;
  for (const auto& [word, sentence] : glossary()) words.push_back({word, sentence, [] {}});
  auto* dialog = new CommandPalette(std::move(words), &window_);
  dialog->setWindowTitle(tr("Words"));
  dialog->box()->setPlaceholderText(tr("A word"));
  dialog->resize(860, 520);
  open(dialog);
}

void WindowDialogs::showKeys() {
  open(new KeysDialog(window_.actions(), &window_));
}

void WindowDialogs::showAbout() {
  auto* box = new QMessageBox(
      QMessageBox::NoIcon, tr("About Pipescope"),
      tr("%1\n\nPipelines on emulated IPUs, Gaudis and other accelerators. Times and memory come "
         "from device models; the summary page shows their error bands.")
          .arg(QCoreApplication::applicationVersion()),
      QMessageBox::Ok, &window_);
  box->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  box->setIconPixmap(window_.windowIcon().pixmap(64));
  open(box);
}

}  // namespace pipescope::shell
