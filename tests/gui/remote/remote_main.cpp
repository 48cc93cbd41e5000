// Runs the tests of remote files offscreen. ssh starts this program again to ask its questions.
#include <gtest/gtest.h>

#include <QApplication>
#include <QSettings>
#include <QTemporaryDir>

#include "views/remote/ssh_questions.h"

int main(int argc, char** argv) {
  if (pipescope::remote::isQuestionHelper()) return pipescope::remote::runQuestionHelper(argc, argv);
  ::testing::InitGoogleTest(&argc, argv);
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  const QTemporaryDir settings;
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  return RUN_ALL_TESTS();
}
