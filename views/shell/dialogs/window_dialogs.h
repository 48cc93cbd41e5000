#pragma once
#include <QObject>
#include <functional>
#include <memory>
#include <vector>

#include "views/shell/dialogs/command_palette.h"

class QDialog;

namespace pipescope::shell {

class MainWindow;
class SharedProgress;

/// The dialogs of a window: the choice of a file or folder, all commands, settings, words, keys, and what the
/// program is.
class WindowDialogs : public QObject {
  Q_OBJECT

 public:
  /// `window` must outlive this object.
  explicit WindowDialogs(MainWindow& window);

  void chooseFile();
  /// A dialog for files enters a folder instead of giving it.
  void chooseFolder();
  void chooseCompared();
  /// Asks for two profiles that are compared with each other.
  void chooseTwo();
  void showCommands();
  /// The setting of this name has the focus; empty: the first one.
  void showSettings(const QString& setting = {});
  /// `word`: a part of the words to show; empty: all.
  void showWords(const QString& word = {});
  /// Shows the help on the present page, or on the start page.
  void showHelp();
  void searchHelp();
  void showKeys();
  void showAbout();

 private:
  void open(QDialog* dialog);
  QString folder() const;
  std::vector<PaletteEntry> furtherEntries();
  void findNames(const QString& text, const std::function<void(std::vector<PaletteEntry>)>& found);

  MainWindow& window_;
  std::shared_ptr<SharedProgress> search_;  ///< of names
};

}  // namespace pipescope::shell
