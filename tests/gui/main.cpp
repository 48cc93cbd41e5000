// The tests of the window: offscreen, with Fusion and DejaVu Sans 10, and settings of their own.
#include <gtest/gtest.h>

#include <QApplication>
#include <QFont>
#include <QSettings>
#include <QStyleFactory>
#include <QTemporaryDir>
#include <QThreadPool>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  application.setFont(QFont(QStringLiteral("DejaVu Sans"), 10));
  const QTemporaryDir settings;
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  const int status = RUN_ALL_TESTS();
  QThreadPool::globalInstance()->waitForDone();
  return status;
}
