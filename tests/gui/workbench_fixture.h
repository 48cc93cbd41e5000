#pragma once
// A workbench with the real table of keys, and a program that a test may replace by a script.
#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QThreadPool>
#include <memory>

#include "app/gui/workbench_services.h"
#include "views/workbench/run_list.h"
#include "views/workbench/settings_form.h"
#include "views/workbench/stage_board.h"
#include "views/workbench/workbench.h"

namespace pipescope::testing {

/// The JSON of a prediction with these stages, each an object.
inline QString prediction(const QByteArray& stages) {
  return QStringLiteral(
             "{\"stages\": [%1], \"samples_per_second\": 1000, \"fits\": true, \"missing_bytes\": 0, "
             "\"schedule\": \"popart\", \"devices\": 2, \"replicas\": 1, \"limiting_stage\": 0, \"remarks\": "
             "[]}")
      .arg(QString::fromUtf8(stages));
}

class WorkbenchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    palette = std::make_unique<shell::Palette>();
    palette->setTheme(shell::Theme::light);
    services = gui::workbenchServices();
    services.program = QStringLiteral(PIPESCOPE_PROGRAM);
    services.folder = folder.filePath(QStringLiteral("runs"));
  }
  void TearDown() override {
    window.reset();
    QSettings(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("pipescope"),
              QStringLiteral("window"))
        .clear();
    QThreadPool::globalInstance()->waitForDone();
  }

  void show() {
    window = std::make_unique<workbench::Workbench>(*palette, services);
    opened = std::make_unique<QSignalSpy>(window.get(), &workbench::Workbench::openWanted);
    compared = std::make_unique<QSignalSpy>(window.get(), &workbench::Workbench::compareWanted);
    window->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get()));
    ASSERT_TRUE(settle());
  }
  /// Shows a sample in a new workbench.
  void showSample(const char* name) {
    show();
    window->openConfiguration(sample(name));
    ASSERT_TRUE(settle());
  }
  static QString sample(const char* name) {
    return QStringLiteral(PIPESCOPE_SOURCE_DIR "/samples/") + QLatin1String(name);
  }

  static bool waitFor(const std::function<bool()>& condition) { return QTest::qWaitFor(condition, 30'000); }
  bool settle() const {
    return waitFor([this] { return window->isSettled(); });
  }

  /// A script that takes the place of pipescope.
  QString script(const QByteArray& text) {
    QFile file(folder.filePath(QStringLiteral("pipescope")));
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("#!/bin/sh\n" + text);
    file.close();
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return file.fileName();
  }

  QPushButton* button(const char* text) const {
    for (QPushButton* found : window->findChildren<QPushButton*>())
      if (found->text() == QLatin1String(text)) return found;
    return nullptr;
  }
  void press(const char* text) const {
    QPushButton* found = button(text);
    ASSERT_NE(found, nullptr) << text;
    ASSERT_TRUE(found->isEnabled()) << text;
    QTest::mouseClick(found, Qt::LeftButton);
  }
  /// Types a value into the field of a setting that is shown.
  void type(const char* path, const char* value) const {
    auto* line = window->form()->findChild<QLineEdit*>();
    for (QLineEdit* each : window->form()->findChildren<QLineEdit*>())
      if (each->accessibleName() == QLatin1String(path)) line = each;
    ASSERT_EQ(line->accessibleName(), QLatin1String(path));
    line->setFocus();
    line->selectAll();
    QTest::keyClicks(line, QLatin1String(value));
  }
  void addSetting(const char* path) const {
    QLineEdit* search = window->form()->search();
    search->setFocus();
    search->setText(QLatin1String(path));
    QTest::keyClick(search, Qt::Key_Return);
  }
  void picture(const char* name) const {
    const QString at = qEnvironmentVariable("PIPESCOPE_GUI_PICTURES");
    if (at.isEmpty()) return;
    EXPECT_TRUE(window->grab().save(at + QLatin1Char('/') + QLatin1String(name) + QStringLiteral(".png")));
  }

  QTemporaryDir folder;
  workbench::Services services;
  std::unique_ptr<shell::Palette> palette;
  std::unique_ptr<workbench::Workbench> window;
  std::unique_ptr<QSignalSpy> opened, compared;
};

}  // namespace pipescope::testing
