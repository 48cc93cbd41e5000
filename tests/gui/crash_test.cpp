// Tests what a crash leaves, and what the next start shows of it.
#include <gtest/gtest.h>
#include <signal.h>

#include <QDialogButtonBox>
#include <QFile>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <cstdlib>

#include "app/gui/crash_note.h"
#include "app/gui/log_file.h"
#include "views/shell/dialogs/crash_dialog.h"

namespace pipescope::testing {
namespace {

class CrashTest : public ::testing::Test {
 protected:
  CrashTest() {
    const char* state = std::getenv("XDG_STATE_HOME");
    if (state != nullptr) before_ = state;
    setenv("XDG_STATE_HOME", folder_.path().toLocal8Bit().constData(), 1);
  }
  ~CrashTest() override {
    if (before_.isNull()) {
      unsetenv("XDG_STATE_HOME");
    } else {
      setenv("XDG_STATE_HOME", before_.constData(), 1);
    }
  }

 private:
  QTemporaryDir folder_;
  QByteArray before_;
};

TEST_F(CrashTest, ASignalLeavesANoteForTheNextStart) {
  EXPECT_FALSE(gui::takeCrashNote()) << "nothing has crashed";
  const auto crash = [](int signal) {
    gui::noteCrashes("pipescope-gui 7.8.9");
    gui::noteOpenFiles({QStringLiteral("/somewhere/a.pop"), QStringLiteral("/else/b.pop")});
    raise(signal);
  };
  EXPECT_EXIT(crash(SIGSEGV), ::testing::KilledBySignal(SIGSEGV), "");
  QFile log(QString::fromStdString(gui::LogFile::path()));
  ASSERT_TRUE(log.open(QIODevice::WriteOnly));
  log.write("warning: the last words\n");
  log.close();
  const auto note = gui::takeCrashNote();
  ASSERT_TRUE(note);
  EXPECT_EQ(note->what, QStringLiteral("a segmentation fault"));
  EXPECT_EQ(note->profiles, QStringList({QStringLiteral("/somewhere/a.pop"), QStringLiteral("/else/b.pop")}));
  for (const char* part : {"pipescope-gui 7.8.9", "/somewhere/a.pop", "stack:", "the last words"})
    EXPECT_TRUE(note->report.contains(QLatin1String(part))) << part << " in " << note->report.toStdString();
  QFile kept(note->path);
  ASSERT_TRUE(kept.open(QIODevice::ReadOnly));
  EXPECT_EQ(QString::fromUtf8(kept.readAll()), note->report);
  EXPECT_FALSE(gui::takeCrashNote()) << "it is told once";
  EXPECT_EXIT(crash(SIGABRT), ::testing::KilledBySignal(SIGABRT), "");
  EXPECT_EQ(gui::takeCrashNote()->what, QStringLiteral("an abort"));
}

TEST_F(CrashTest, AnInternalFaultLeavesItsSentence) {
  const auto fault = [] {
    gui::noteCrashes("pipescope-gui 7.8.9");
    gui::noteFault("There is no stage 3.");
    std::_Exit(3);
  };
  EXPECT_EXIT(fault(), ::testing::ExitedWithCode(3), "");
  const auto note = gui::takeCrashNote();
  ASSERT_TRUE(note);
  EXPECT_EQ(note->what, QStringLiteral("an internal fault: There is no stage 3."));
  EXPECT_TRUE(note->profiles.isEmpty());
}

TEST_F(CrashTest, TheDialogOpensFilesAgainAndShowsTheReport) {
  auto* dialog =
      new shell::CrashDialog(QStringLiteral("an abort"), {QStringLiteral("/somewhere/a.pop")},
                             QStringLiteral("the report"), QStringLiteral("/state/last_crash.txt"));
  QSignalSpy opened(dialog, &shell::CrashDialog::openWanted);
  EXPECT_EQ(dialog->findChild<QPlainTextEdit*>()->toPlainText(), QStringLiteral("the report"));
  QPushButton* again = nullptr;
  for (auto* button : dialog->findChildren<QPushButton*>())
    if (button->text() == QStringLiteral("Open a.pop again")) again = button;
  ASSERT_NE(again, nullptr);
  again->click();
  ASSERT_EQ(opened.size(), 1);
  EXPECT_EQ(opened[0][0].toString(), QStringLiteral("/somewhere/a.pop"));
  delete dialog;
}

}  // namespace
}  // namespace pipescope::testing
