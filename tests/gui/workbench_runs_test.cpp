// Tests the runs that the workbench starts.
#include <QComboBox>
#include <QLineEdit>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QTreeWidget>

#include "profiler/store/profile_writer.h"
#include "views/workbench/child_run.h"
#include "workbench_fixture.h"

namespace pipescope::testing {
namespace {

using workbench::RunState;

class WorkbenchRunsTest : public WorkbenchTest {
 protected:
  QString cell(int column, int row = 0) const {
    return window->runs()->table()->topLevelItem(row)->text(column);
  }
  RunState state() const { return window->runs()->selectedRun()->state(); }
  bool waitForEnd() const {
    return waitFor([this] { return window->runs()->active() == 0; });
  }
  /// A few settings that make a run short.
  void showShortRun() {
    showSample("fixed/imbalanced.toml");
    ASSERT_TRUE(button("Start run")->isEnabled());
  }
  QString log() const { return window->findChild<QPlainTextEdit*>()->toPlainText(); }
};

TEST_F(WorkbenchRunsTest, ARunIsShownOpenedAndCompared) {
  showShortRun();
  press("Start run");
  EXPECT_EQ(window->runs()->active(), 1);
  ASSERT_TRUE(waitForEnd());
  EXPECT_EQ(state(), RunState::complete) << log().toStdString();
  ASSERT_TRUE(waitFor([&] { return started->count() == 1; }));
  const QString first = started->at(0)[0].toString();
  EXPECT_EQ(first, folder.filePath(QStringLiteral("runs/fixed.pop")));
  EXPECT_TRUE(QFile::exists(folder.filePath(QStringLiteral("runs/fixed.toml"))));
  // The oracle is the worked example of the sample: 4 stages, of which the third takes twice as long.
  ASSERT_TRUE(waitFor([&] { return cell(5) == QStringLiteral("1.600"); })) << cell(5).toStdString();
  EXPECT_EQ(cell(1), QStringLiteral("complete"));
  EXPECT_TRUE(cell(2).endsWith(QStringLiteral("cost units"))) << cell(2).toStdString();
  EXPECT_TRUE(log().contains(QStringLiteral("Wrote"))) << log().toStdString();
  EXPECT_FALSE(button("Compare")->isEnabled()) << "nothing was run before";

  press("Edit and run again");
  EXPECT_EQ(window->draft().count(QStringLiteral("fixed.stages")), 4);
  type("fixed.stages[2].forward", "1");
  type("fixed.stages[2].backward", "2");
  ASSERT_TRUE(settle());
  QTest::keyClick(window.get(), Qt::Key_Return, Qt::ControlModifier);
  ASSERT_TRUE(waitFor([&] { return window->runs()->table()->topLevelItemCount() == 2; }));
  ASSERT_TRUE(waitForEnd());
  ASSERT_TRUE(waitFor([&] { return started->count() == 2 && cell(5) == QStringLiteral("1.000"); }))
      << cell(5).toStdString();
  EXPECT_TRUE(button("Compare")->toolTip().endsWith(QStringLiteral("runs/fixed.pop")));
  press("Compare");
  ASSERT_EQ(compared->count(), 1);
  EXPECT_EQ(compared->at(0)[0].toString(), first);
  EXPECT_EQ(compared->at(0)[1].toString(), folder.filePath(QStringLiteral("runs/fixed-2.pop")));
  picture("workbench_runs");

  // The list outlives the window. A run leaves it on demand, and its files stay.
  window.reset();
  show();
  ASSERT_EQ(window->runs()->table()->topLevelItemCount(), 2);
  ASSERT_TRUE(waitFor([&] { return cell(5, 1) == QStringLiteral("1.600"); }));
  press("Open");
  EXPECT_EQ(opened->count(), 1);
  press("Remove");
  EXPECT_EQ(window->runs()->table()->topLevelItemCount(), 1);
  EXPECT_TRUE(QFile::exists(folder.filePath(QStringLiteral("runs/fixed-2.pop"))));
}

TEST_F(WorkbenchRunsTest, ARunThatCannotStartSaysWhy) {
  services.program = folder.filePath(QStringLiteral("missing"));
  showShortRun();
  press("Start run");
  ASSERT_TRUE(waitForEnd());
  EXPECT_EQ(state(), RunState::failed);
  EXPECT_TRUE(log().contains(QStringLiteral("cannot be started"))) << log().toStdString();
  EXPECT_EQ(cell(1), QStringLiteral("failed"));
  EXPECT_FALSE(button("Open")->isEnabled());
  EXPECT_EQ(started->count(), 0);
}

TEST_F(WorkbenchRunsTest, AFolderThatCannotBeMadeIsASentence) {
  services.folder = QStringLiteral("/proc/nowhere");
  showShortRun();
  press("Start run");
  ASSERT_TRUE(waitForEnd());
  EXPECT_TRUE(log().contains(QStringLiteral("/proc/nowhere cannot be made"))) << log().toStdString();
  for (QLineEdit* line : window->findChildren<QLineEdit*>())
    if (line->accessibleName() == QStringLiteral("Folder of profiles")) line->clear();
  press("Start run");
  EXPECT_TRUE(window->notice().contains(QStringLiteral("Name the folder"))) << window->notice().toStdString();
  EXPECT_EQ(window->runs()->table()->topLevelItemCount(), 1);
}

TEST_F(WorkbenchRunsTest, ARefusedRunAndAKilledOneSayWhy) {
  services.program =
      script("if [ \"$1\" = plan ]; then exit 2; fi\necho 'pipescope: The disk is full.' >&2\nexit 1\n");
  showShortRun();
  press("Start run");
  ASSERT_TRUE(waitForEnd());
  EXPECT_EQ(window->runs()->selectedRun()->sentence(), QStringLiteral("The disk is full."));
  EXPECT_EQ(window->runs()->table()->topLevelItem(0)->toolTip(1), QStringLiteral("The disk is full."));
  script("kill -9 $$\n");
  press("Start run");
  ASSERT_TRUE(waitForEnd());
  EXPECT_TRUE(window->runs()->selectedRun()->sentence().contains(QStringLiteral("ended from outside")));
  script("exit 3\n");
  press("Start run");
  ASSERT_TRUE(waitForEnd());
  EXPECT_TRUE(window->runs()->selectedRun()->sentence().contains(QStringLiteral("exit status 3")));
}

/// Says its progress and waits for a signal. It writes the profile, so that the window can open it.
const QByteArray kWaiting =
    "trap 'echo Stopped >&2; : > \"$4.ended\"; exit 1' INT\n: > \"$4\"\n"
    "echo '{\"fraction\": 0.25, \"what\": \"training call 1 of 4\"}' >&2\necho 'note: a remark' >&2\n"
    "while :; do sleep 0.05; done\n";

TEST_F(WorkbenchRunsTest, AGrowingProfileOpensAndTheRunIsStopped) {
  services.program = script(kWaiting);
  showShortRun();
  press("Start run");
  ASSERT_TRUE(waitFor([&] { return cell(1) == QStringLiteral("25 % · training call 1 of 4"); }))
      << cell(1).toStdString();
  ASSERT_TRUE(waitFor([&] { return started->count() == 1; })) << "while the run goes on";
  EXPECT_EQ(opened->count(), 0) << "the profile does not take the keyboard from the workbench";
  EXPECT_EQ(window->runs()->active(), 1);
  EXPECT_TRUE(waitFor([&] { return log().contains(QStringLiteral("note: a remark")); }));
  picture("workbench_running");
  press("Stop");
  ASSERT_TRUE(waitForEnd());
  EXPECT_EQ(state(), RunState::stopped);
  EXPECT_EQ(window->runs()->selectedRun()->sentence(), QStringLiteral("Stopped"));
  EXPECT_EQ(started->count(), 1);
}

TEST_F(WorkbenchRunsTest, ASecondStopEndsTheRunAtOnce) {
  services.program = script(
      "trap '' INT\n: > \"$4\"\necho '{\"fraction\": 0.5, \"what\": \"busy\"}' >&2\nwhile :; do sleep 0.05; "
      "done\n");
  showShortRun();
  press("Start run");
  ASSERT_TRUE(waitFor([&] { return cell(1).startsWith(QStringLiteral("50 %")); }));
  press("Stop");
  EXPECT_EQ(cell(1), QStringLiteral("stopping"));
  press("End at once");
  ASSERT_TRUE(waitForEnd());
  EXPECT_EQ(state(), RunState::stopped);
}

TEST_F(WorkbenchRunsTest, ClosingTheWindowAsksWhileARunGoesOn) {
  services.program = script(kWaiting);
  showShortRun();
  press("Start run");
  ASSERT_TRUE(waitFor([&] { return started->count() == 1; }));
  const auto answer = [&](const char* text) {
    auto* box = window->findChild<QMessageBox*>();
    ASSERT_NE(box, nullptr);
    EXPECT_EQ(box->text(), QStringLiteral("A run is going on."));
    for (QAbstractButton* each : box->buttons())
      if (each->text() == QLatin1String(text)) QTest::mouseClick(each, Qt::LeftButton);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  };
  window->close();
  EXPECT_TRUE(window->isVisible());
  answer("Keep running");
  EXPECT_EQ(window->runs()->active(), 1);
  EXPECT_TRUE(window->isVisible());
  window->close();
  answer("Stop and close");
  ASSERT_TRUE(waitFor([&] { return !window->isVisible(); }));
  EXPECT_EQ(window->runs()->active(), 0);
  EXPECT_EQ(state(), RunState::stopped);
}

TEST_F(WorkbenchRunsTest, ARunEndsWithTheProgram) {
  services.program = script(kWaiting);
  showShortRun();
  press("Start run");
  ASSERT_TRUE(waitFor([&] { return started->count() == 1; }));
  window.reset();  // as when the program ends
  EXPECT_TRUE(QFile::exists(folder.filePath(QStringLiteral("runs/fixed.pop.ended"))));
}

TEST_F(WorkbenchRunsTest, AnUnreadableProfileStaysInTheListWithItsSentence) {
  QFile file(folder.filePath(QStringLiteral("damaged.pop")));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("SQLite format 3, but nothing else");
  file.close();
  shell::WindowSettings().setValue(QStringLiteral("workbench/runs"), QStringList{file.fileName()});
  show();
  ASSERT_TRUE(waitFor([&] { return cell(1) == QStringLiteral("cannot be read"); })) << cell(1).toStdString();
  EXPECT_TRUE(log().contains(QStringLiteral("damaged.pop"))) << log().toStdString();
  EXPECT_FALSE(button("Open")->isEnabled());
  EXPECT_FALSE(button("Edit and run again")->isEnabled());
}

}  // namespace
}  // namespace pipescope::testing
