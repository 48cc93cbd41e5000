#include "app/gui/screenshot.h"

#include <QCoreApplication>
#include <QPixmap>
#include <cstdio>

namespace pipescope::gui {
namespace {
constexpr int kLookMs = 50, kSettledLooks = 4, kMostLooks = 120 * 1000 / kLookMs;

void say(const QString& sentence) {
  std::fprintf(stderr, "pipescope-gui: %s\n", sentence.toUtf8().constData());
}
}  // namespace

Screenshot::Screenshot(shell::MainWindow& window, QString file, QObject* parent)
    : QObject(parent), window_(window), file_(std::move(file)) {
  connect(&timer_, &QTimer::timeout, this, &Screenshot::look);
  timer_.start(kLookMs);
}

/// Requires several settled checks in a row, because one finished load may start another.
void Screenshot::look() {
  settled_ = window_.isSettled() ? settled_ + 1 : 0;
  if (++looks_ > kMostLooks) {
    say(tr("The page was not loaded within two minutes."));
    timer_.stop();
    return QCoreApplication::exit(1);
  }
  if (settled_ >= kSettledLooks) finish();
}

void Screenshot::finish() {
  timer_.stop();
  if (!window_.grab().save(file_, "PNG")) {
    say(tr("The picture could not be written to %1: give a PNG file in a folder that exists and can be "
           "written to.")
            .arg(file_));
    return QCoreApplication::exit(1);
  }
  const QString error = window_.session().error();
  if (!error.isEmpty()) say(error);
  QCoreApplication::exit(error.isEmpty() ? 0 : 2);
}

}  // namespace pipescope::gui
