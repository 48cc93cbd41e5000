#pragma once
#include <QObject>
#include <QTimer>

#include "views/shell/main_window.h"

namespace pipescope::gui {

/// Waits until a window has loaded all that it shows, draws it into a file and ends the program: 0, or with a
/// sentence on standard error 1 (could not be written, or nothing came) or 2 (the profile could not be
/// opened).
class Screenshot : public QObject {
  Q_OBJECT

 public:
  Screenshot(shell::MainWindow& window, QString file, QObject* parent = nullptr);

 private:
  void look();
  void finish();

  shell::MainWindow& window_;
  QString file_;
  QTimer timer_;
  int settled_ = 0, looks_ = 0;
};

}  // namespace pipescope::gui
