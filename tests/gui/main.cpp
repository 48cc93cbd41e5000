// Runs the window's tests offscreen with the window's own style, DejaVu Sans 10 and temporary settings.
#include <gtest/gtest.h>

#include <QApplication>
#include <QFont>
#include <QSettings>
#include <QTemporaryDir>
#include <QThreadPool>

#include "views/shell/look/style.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  QApplication::setStyle(new pipescope::shell::Style);
  application.setFont(QFont(QStringLiteral("DejaVu Sans"), 10));
  const QTemporaryDir settings;
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  const int status = RUN_ALL_TESTS();
  QThreadPool::globalInstance()->waitForDone();
  return status;
}
