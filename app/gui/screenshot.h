#pragma once
#include <QObject>
#include <QTimer>
#include <functional>

#include "profiler/base/files/output_file.h"

class QWidget;

namespace pipescope::gui {

/// Gives the window that a screenshot draws.
struct ScreenshotSubject {
  std::function<QWidget*()> settled;  ///< the window once it has read everything; null before
  std::function<QString()> error;     ///< reason why it does not show what was asked for; empty: it does
};

/// Waits until a window has loaded everything, draws it to a file and ends the program with status 0. The
/// status is 1 if the disk is full or the page does not load, and 2 if the profile cannot be opened or the
/// file may not be written. Errors go to standard error.
class Screenshot : public QObject {
  Q_OBJECT

 public:
  Screenshot(ScreenshotSubject subject, QString file, base::OutputRules rules, QObject* parent = nullptr);

 private:
  void look();
  void finish();

  ScreenshotSubject subject_;
  QString file_;
  base::OutputRules rules_;
  QTimer timer_;
  int settled_ = 0, looks_ = 0;
};

}  // namespace pipescope::gui
