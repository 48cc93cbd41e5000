#include "views/shell/dialogs/window_dialogs.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QMessageBox>
#include <vector>

#include "profiler/analysis/find_names.h"
#include "profiler/import/read/trace_format.h"
#include "views/shell/background.h"
#include "views/shell/dialogs/command_palette.h"
#include "views/shell/dialogs/keys_dialog.h"
#include "views/shell/dialogs/settings_dialog.h"
#include "views/shell/help/help_window.h"
#include "views/shell/look/glossary.h"
#include "views/shell/main_window.h"

namespace pipescope::shell {
namespace {

const auto kOpenFolder = QStringLiteral("last_folder");
/// More devices than this are not listed one by one.
constexpr std::size_t kMostDevices = 1'000;

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

/// The folder of the open profile, or the one that was used last.
QString WindowDialogs::folder() const {
  const QString own = window_.session().folder();
  return own.isEmpty() ? window_.settings().value(kOpenFolder).toString() : own;
}

void WindowDialogs::chooseFile() {
  auto* dialog = new QFileDialog(
      &window_, tr("Open a profile"), folder(),
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
  auto* dialog =
      new QFileDialog(&window_, tr("Open a folder of traces, or the folder of a profile"), folder());
  dialog->setFileMode(QFileDialog::Directory);
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
    window_.settings().setValue(kOpenFolder, QFileInfo(path).path());
    window_.open(path);
  });
  open(dialog);
}

void WindowDialogs::chooseCompared() {
  auto* dialog = new QFileDialog(&window_, tr("Compare with which profile?"), folder(),
                                 tr("Profiles (*.pop);;All files (*)"));
  dialog->setFileMode(QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
    window_.settings().setValue(kOpenFolder, QFileInfo(path).path());
    window_.compareWith(path);
  });
  open(dialog);
}

void WindowDialogs::chooseTwo() {
  auto* first = new QFileDialog(&window_, tr("Which profile is the source, from before the change?"),
                                folder(), tr("Profiles (*.pop);;All files (*)"));
  first->setFileMode(QFileDialog::ExistingFile);
  connect(first, &QFileDialog::fileSelected, this, [this](const QString& source) {
    auto* second = new QFileDialog(&window_, tr("Which profile is the target, from after the change?"),
                                   QFileInfo(source).path(), tr("Profiles (*.pop);;All files (*)"));
    second->setFileMode(QFileDialog::ExistingFile);
    connect(second, &QFileDialog::fileSelected, this, [this, source](const QString& target) {
      window_.settings().setValue(kOpenFolder, QFileInfo(target).path());
      window_.compare(source, target);
    });
    open(second);
  });
  open(first);
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
  }
  for (const QString& path : window_.settings().recentFiles()) {
    commands.push_back(
        {tr("Open %1").arg(QFileInfo(path).fileName()), path, [this, path] { window_.open(path); }});
  }
  auto* palette = new CommandPalette(std::move(commands), &window_);
  palette->setFurther(furtherEntries());
  if (window_.session().snapshot() != nullptr)
    palette->setSearch([this](const QString& text, const auto& found) { findNames(text, found); });
  open(palette);
}

/// Devices and stages of the profile, settings and words.
std::vector<PaletteEntry> WindowDialogs::furtherEntries() {
  std::vector<PaletteEntry> entries;
  if (const ProfileSnapshot* snapshot = window_.session().snapshot()) {
    const analysis::Catalog& catalog = *snapshot->catalog;
    for (const model::Stage* stage : catalog.stagesOf(window_.session().executable())) {
      Selected selected{.kind = Selected::Kind::stage, .device = stage->device, .stage = stage->index};
      entries.push_back({tr("Stage %1").arg(stage->index),
                         tr("Stage · %1").arg(QString::fromStdString(stage->blocks)),
                         [this, selected] { window_.select(QStringLiteral("stages"), selected); }});
    }
    entries.push_back({tr("Longest gap"), tr("Wait of any device"),
                       [this] { window_.findOn(QStringLiteral("trace"), tr("longest gap")); }});
    std::size_t devices = 0;
    for (const model::Device& row : catalog.devices) {
      if (++devices > kMostDevices) break;
      const QString name = QString::fromStdString(row.name);
      entries.push_back(
          {tr("Go to %1 on the trace").arg(name), tr("Device %1").arg(row.id.value), [this, name] {
             window_.go({QStringLiteral("trace"), {}, -1, name});
           }});
      Selected chip{.kind = Selected::Kind::device, .device = row.id};
      entries.push_back({tr("Go to %1 on the pipeline").arg(name), tr("Device %1").arg(row.id.value),
                         [this, chip] { window_.select(QStringLiteral("pipeline"), chip); }});
      entries.push_back(
          {tr("Longest gap of %1").arg(name), tr("Wait of device %1").arg(row.id.value),
           [this, name] { window_.findOn(QStringLiteral("trace"), tr("longest gap of %1").arg(name)); }});
    }
  }
  for (const QString& setting : SettingsDialog::names())
    entries.push_back({setting, tr("Setting"), [this, setting] { showSettings(setting); }});
  for (const auto& [word, sentence] : glossary())
    entries.push_back({word, tr("Word: %1").arg(sentence), [this, chosen = word] { showWords(chosen); }});
  return entries;
}

/// Looks for operations and variables on a worker.
void WindowDialogs::findNames(const QString& text,
                              const std::function<void(std::vector<PaletteEntry>)>& found) {
  constexpr std::size_t kMostOfAKind = 40;
  const ProfileSnapshot* snapshot = window_.session().snapshot();
  if (snapshot == nullptr) return found({});
  std::vector<std::string> words;
  for (const QString& word : text.split(QLatin1Char(' '), Qt::SkipEmptyParts))
    words.push_back(word.toStdString());
  if (search_) search_->cancel();
  search_ = std::make_shared<SharedProgress>();
  inBackground(
      this,
      [held = *snapshot, executable = window_.session().executable(), words, progress = search_] {
        return analysis::findNames(*held.source, *held.catalog, executable, words, kMostOfAKind, *progress);
      },
      [this, found](const base::Result<std::vector<analysis::FoundName>>& names) {
        std::vector<PaletteEntry> entries;
        for (const analysis::FoundName& one : names.ok() ? *names : std::vector<analysis::FoundName>()) {
          Selected selected;
          selected.kind = one.isVariable ? Selected::Kind::variable : Selected::Kind::operation;
          selected.name = QString::fromStdString(one.name);
          selected.stage = one.stage;
          selected.device = one.device;
          const QString page = one.isVariable ? QStringLiteral("memory") : QStringLiteral("operations");
          const QString kind =
              one.isVariable ? QString::fromStdString(one.kind).replace(QLatin1Char('_'), QLatin1Char(' '))
                             : QString::fromStdString(one.kind);
          entries.push_back({selected.name,
                             one.isVariable ? tr("Variable · %1").arg(kind) : tr("Operation · %1").arg(kind),
                             [this, page, selected] { window_.select(page, selected); }});
        }
        found(std::move(entries));
      });
}

void WindowDialogs::showSettings(const QString& setting) {
  auto* dialog = new SettingsDialog(
      window_.settings(), window_.colours(), [this] { window_.showAgain(); }, &window_);
  open(dialog);
  dialog->focusOn(setting);
}

void WindowDialogs::showWords(const QString& word) {
  std::vector<PaletteEntry> words;
  for (const auto& [known, sentence] : glossary()) words.push_back({known, sentence, [] {}});
  auto* dialog = new CommandPalette(std::move(words), &window_);
  dialog->setWindowTitle(tr("Words"));
  dialog->box()->setPlaceholderText(tr("A word"));
  dialog->resize(860, 520);
  dialog->box()->setText(word);
  open(dialog);
}

void WindowDialogs::showHelp() {
  const bool any = window_.session().snapshot() != nullptr;
  HelpWindow::showFor(window_, window_.colours(), QStringLiteral("pages"),
                      any ? window_.currentPageId() : QStringLiteral("home"));
}

void WindowDialogs::searchHelp() {
  HelpWindow* help = HelpWindow::showFor(window_, window_.colours(), QStringLiteral("questions"));
  help->box()->setFocus();
  help->box()->selectAll();
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
