// Tests the dialog of remote files and the questions of ssh.
#include <gtest/gtest.h>

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QTreeWidget>

#include "local_sshd.h"
#include "views/remote/remote_dialog.h"

namespace pipescope::testing {
namespace {

using remote::RemoteDialog;

constexpr int kDialogPatienceMs = 20'000;

class RemoteDialogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const QString problem = LocalSshd::problem(); !problem.isEmpty())
      GTEST_SKIP() << problem.toStdString();
    ASSERT_TRUE(server.start());
    server.write("profile.pop", "content");
  }
  void open(const QString& more = {}) {
    dialog = std::make_unique<RemoteDialog>(
        remote::RemoteSetup{server.ssh(more), cache.path(), QCoreApplication::applicationFilePath()},
        settings);
    dialog->show();
    dialog->hosts()->setEditText(toString(server.host()));
    dialog->path()->setText(QString::fromUtf8(server.folder()));
    QTest::mouseClick(dialog->connectButton(), Qt::LeftButton);
  }
  template <class Condition>
  bool waits(const Condition& condition) {
    return QTest::qWaitFor(condition, kDialogPatienceMs);
  }
  bool listed() {
    return waits([&] { return dialog->entries()->topLevelItemCount() > 0; });
  }
  QTreeWidgetItem* entry(const QString& name) const {
    const auto found = dialog->entries()->findItems(name, Qt::MatchExactly);
    return found.isEmpty() ? nullptr : found.first();
  }

  LocalSshd server;
  QTemporaryDir cache;
  shell::WindowSettings settings;
  std::unique_ptr<RemoteDialog> dialog;
};

TEST_F(RemoteDialogTest, ConnectsBrowsesAndOpens) {
  open();
  ASSERT_TRUE(listed()) << dialog->status().toStdString();
  QSignalSpy fetched(dialog.get(), &RemoteDialog::fetched);
  ASSERT_NE(entry(QStringLiteral("profile.pop")), nullptr);
  dialog->entries()->setCurrentItem(entry(QStringLiteral("profile.pop")));
  QTest::mouseClick(dialog->openButton(), Qt::LeftButton);
  ASSERT_TRUE(waits([&] { return fetched.count() == 1; })) << dialog->status().toStdString();
  EXPECT_FALSE(dialog->isVisible());
  QFile copy(fetched[0][0].toString());
  ASSERT_TRUE(copy.open(QIODevice::ReadOnly));
  EXPECT_EQ(copy.readAll(), "content");
  EXPECT_EQ(settings.value(QStringLiteral("remote_hosts")).toStringList().first(), toString(server.host()));
}

TEST_F(RemoteDialogTest, HidesNamesThatBeginWithADot) {
  server.write(".cache", "content");
  open();
  ASSERT_TRUE(listed());
  EXPECT_EQ(entry(QStringLiteral(".cache")), nullptr);
  EXPECT_TRUE(dialog->status().contains(QStringLiteral(" hidden"))) << dialog->status().toStdString();
  dialog->hiddenFiles()->click();
  EXPECT_NE(entry(QStringLiteral(".cache")), nullptr);
  EXPECT_NE(entry(QStringLiteral("profile.pop")), nullptr);
}

TEST_F(RemoteDialogTest, SortsByTheColumnWhoseHeadIsClicked) {
  server.write("a.pop", QByteArray(2'048, 'x'));
  server.write("b.pop", QByteArray(10, 'x'));
  server.write("c.pop", QByteArray(500, 'x'));
  ASSERT_TRUE(QDir().mkdir(server.path(QStringLiteral("z"))));
  QFile newest(server.path(QStringLiteral("b.pop")));
  ASSERT_TRUE(newest.open(QIODevice::ReadWrite));
  ASSERT_TRUE(
      newest.setFileTime(QDateTime::currentDateTime().addYears(1), QFileDevice::FileModificationTime));
  newest.close();
  open();
  ASSERT_TRUE(listed()) << dialog->status().toStdString();
  const auto names = [this] {
    QStringList shown;
    for (int i = 0; i < dialog->entries()->topLevelItemCount(); ++i) {
      const QString name = dialog->entries()->topLevelItem(i)->text(0);
      const bool isFile = name.size() == 5 && name.endsWith(QStringLiteral(".pop"));
      if (isFile || name == QStringLiteral("../") || name == QStringLiteral("z/")) shown << name;
    }
    return shown.join(QLatin1Char(' ')).toStdString();
  };
  const auto click = [this](int column) {
    QHeaderView* head = dialog->entries()->header();
    QTest::mouseClick(head->viewport(), Qt::LeftButton, {},
                      {head->sectionViewportPosition(column) + 5, head->height() / 2});
  };
  EXPECT_EQ(names(), "../ z/ a.pop b.pop c.pop");
  EXPECT_EQ(entry(QStringLiteral("a.pop"))->text(1), QStringLiteral("2.00 KiB")) << "as on all pages";
  click(1);
  EXPECT_EQ(names(), "../ z/ a.pop c.pop b.pop") << "the largest first";
  click(1);
  EXPECT_EQ(names(), "../ z/ b.pop c.pop a.pop");
  click(2);
  EXPECT_TRUE(names().starts_with("../ z/ b.pop ")) << "the newest first: " << names();
  click(0);
  EXPECT_EQ(names(), "../ z/ a.pop b.pop c.pop");
  click(0);
  EXPECT_EQ(names(), "../ z/ c.pop b.pop a.pop");
}

TEST_F(RemoteDialogTest, BeginsInTheFolderThatWasShownLast) {
  open();
  ASSERT_TRUE(listed());
  RemoteDialog next({server.ssh({}), cache.path(), QCoreApplication::applicationFilePath()}, settings);
  EXPECT_EQ(next.hosts()->currentText(), toString(server.host()));
  EXPECT_EQ(next.path()->text(), dialog->path()->text());
  // Typed text replaces the host.
  next.show();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&next));
  next.path()->setFocus();
  QTest::qWait(0);
  QTest::keyClicks(next.path(), QStringLiteral("/else"));
  EXPECT_EQ(next.path()->text(), QStringLiteral("/else"));
}

TEST_F(RemoteDialogTest, GoesUpToTheFolderAbove) {
  open();
  ASSERT_TRUE(listed());
  const QString before = dialog->path()->text();
  dialog->entries()->setCurrentItem(entry(QStringLiteral("../")));
  QTest::mouseClick(dialog->openButton(), Qt::LeftButton);
  EXPECT_TRUE(waits([&] { return dialog->path()->text() != before; }));
  EXPECT_TRUE(before.startsWith(dialog->path()->text()));
}

TEST_F(RemoteDialogTest, AFileIsFetchedAgainAtOnce) {
  dialog = std::make_unique<RemoteDialog>(
      remote::RemoteSetup{server.ssh(), cache.path(), QCoreApplication::applicationFilePath()}, settings);
  QSignalSpy fetched(dialog.get(), &RemoteDialog::fetched);
  dialog->fetchAgain({server.host(), server.folder() + "/profile.pop"});
  ASSERT_TRUE(waits([&] { return fetched.count() == 1; })) << dialog->status().toStdString();
  EXPECT_FALSE(fetched[0][1].toBool());
  dialog->fetchAgain({server.host(), server.folder() + "/profile.pop"});
  ASSERT_TRUE(waits([&] { return fetched.count() == 2; })) << dialog->status().toStdString();
  EXPECT_TRUE(fetched[1][1].toBool());
}

TEST_F(RemoteDialogTest, APassphraseIsAskedAndNeverShown) {
  server.makeKey(QStringLiteral("guarded"), QStringLiteral("open sesame"));
  server.allow(QStringLiteral("guarded"));
  open(QStringLiteral("IdentityFile %1").arg(server.path(QStringLiteral("guarded"))));
  ASSERT_TRUE(waits([&] { return dialog->isAsking(); })) << dialog->status().toStdString();
  EXPECT_TRUE(dialog->question()->text().contains(QStringLiteral("passphrase")))
      << dialog->question()->text().toStdString();
  EXPECT_EQ(dialog->answerField()->echoMode(), QLineEdit::Password);
  QTest::keyClicks(dialog->answerField(), QStringLiteral("open sesame"));
  QTest::keyClick(dialog->answerField(), Qt::Key_Return);
  EXPECT_TRUE(listed()) << dialog->status().toStdString();
  EXPECT_FALSE(dialog->isAsking());
  EXPECT_TRUE(dialog->answerField()->text().isEmpty());
}

TEST_F(RemoteDialogTest, ADeclinedPassphraseEndsInASentence) {
  server.makeKey(QStringLiteral("guarded"), QStringLiteral("open sesame"));
  server.allow(QStringLiteral("guarded"));
  open(QStringLiteral("IdentityFile %1").arg(server.path(QStringLiteral("guarded"))));
  ASSERT_TRUE(waits([&] { return dialog->isAsking(); }));
  QTest::mouseClick(dialog->declineButton(), Qt::LeftButton);
  EXPECT_TRUE(waits([&] { return dialog->status().contains(QStringLiteral("Permission denied")); }))
      << dialog->status().toStdString();
}

TEST_F(RemoteDialogTest, AnUnknownHostIsTrustedOnlyAfterAYes) {
  open(QStringLiteral("StrictHostKeyChecking ask"));
  ASSERT_TRUE(waits([&] { return dialog->isAsking(); })) << dialog->status().toStdString();
  EXPECT_TRUE(dialog->question()->text().contains(QStringLiteral("authenticity of host")));
  EXPECT_TRUE(dialog->question()->text().contains(QStringLiteral("SHA256:")));
  EXPECT_FALSE(dialog->answerField()->isVisible());
  QTest::mouseClick(dialog->declineButton(), Qt::LeftButton);
  ASSERT_TRUE(waits([&] {
    return dialog->status().contains(QStringLiteral("Host key verification failed"));
  })) << dialog->status().toStdString();
  QTest::mouseClick(dialog->connectButton(), Qt::LeftButton);
  ASSERT_TRUE(waits([&] { return dialog->isAsking(); }));
  QTest::mouseClick(dialog->answerButton(), Qt::LeftButton);
  EXPECT_TRUE(listed()) << dialog->status().toStdString();
}

TEST_F(RemoteDialogTest, StoppingAQuestionEndsTheConnection) {
  open(QStringLiteral("StrictHostKeyChecking ask"));
  ASSERT_TRUE(waits([&] { return dialog->isAsking(); }));
  QTest::mouseClick(dialog->stopButton(), Qt::LeftButton);
  EXPECT_EQ(dialog->status(), QStringLiteral("This was stopped."));
  EXPECT_TRUE(waits([&] { return !dialog->isAsking(); })) << "ssh has gone, so its question goes, too";
  EXPECT_TRUE(dialog->connectButton()->isEnabled());
}

TEST_F(RemoteDialogTest, AWrongHostIsRefusedBeforeSshStarts) {
  open();
  ASSERT_TRUE(listed());
  dialog->hosts()->setEditText(QStringLiteral("-oProxyCommand=touch x"));
  QTest::mouseClick(dialog->connectButton(), Qt::LeftButton);
  EXPECT_TRUE(dialog->status().contains(QStringLiteral("is no host"))) << dialog->status().toStdString();
}

}  // namespace
}  // namespace pipescope::testing
