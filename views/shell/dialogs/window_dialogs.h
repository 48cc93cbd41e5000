#pragma once
#include <QObject>

class QDialog;

namespace pipescope::shell {

class MainWindow;

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
  void showCommands();
  void showSettings();
  void showWords();
  void showKeys();
  void showAbout();

 private:
  void open(QDialog* dialog);

  MainWindow& window_;
};

}  // namespace pipescope::shell
