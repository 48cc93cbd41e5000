// Tests how the window opens files, remembers them, and says why it cannot open one.
#include <QClipboard>
#include <QFile>
#include <QFileDialog>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QStatusBar>
#include <QStatusTipEvent>
#include <QTemporaryDir>

#include "app/gui/open_profile.h"
#include "profiler/store/profile_writer.h"
#include "views/shell/dialogs/notice.h"
#include "views/shell/home.h"
#include "views/shell/recent_list.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

void write(const QString& path, const QByteArray& bytes) {
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  ASSERT_EQ(file.write(bytes), bytes.size());
}

void writeProfile(const QString& path, const FixtureOptions& options = {}) {
  const ProfileFixture fixture(options);
  auto writer = store::ProfileWriter::create(path.toStdString());
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  const model::RowSet rows = *fixture.profile()->everything();
  ASSERT_TRUE((*writer)->commit(rows).ok());
  ASSERT_TRUE((*writer)->finish(model::ProfileState::complete, "").ok());
}

QByteArray read(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// Cards of recent profiles have facts that a worker reads; a missing one is grey, and its menu removes it.
TEST_F(WindowTest, RecentProfilesAreCards) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("profile.pop")),
                gone = folder.filePath(QStringLiteral("gone.pop"));
  writeProfile(path);
  shell::WindowSettings settings;
  settings.addRecentFile(gone);
  settings.addRecentFile(path);
  window->settings().addRecentFile(gone);
  window->settings().addRecentFile(path);
  window->setCardOpener(openFile);
  window->home()->refresh();
  auto* list = window->home()->findChild<shell::RecentList*>();
  ASSERT_EQ(list->count(), 2);
  const auto card = [&](int row) {
    return list->item(row)->data(Qt::UserRole + 2).value<shell::ProfileCard>();
  };
  ASSERT_TRUE(waitFor([&] { return card(0).isRead; }));
  EXPECT_FALSE(card(0).isMissing);
  EXPECT_EQ(card(0).rows, 4) << "a row for each device";
  EXPECT_GT(card(0).boxes.size(), 10U);
  EXPECT_TRUE(card(0).fits);
  EXPECT_FALSE(card(0).rate.isEmpty());
  EXPECT_TRUE(card(1).isMissing);
  picture("home_cards");
  QSignalSpy chosen(window->home(), &shell::Home::fileChosen);
  QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualItemRect(list->item(0)).center());
  ASSERT_EQ(chosen.count(), 1);
  EXPECT_EQ(chosen[0][0].toString(), path);
  const std::unique_ptr<QMenu> menu(list->makeMenu(*list->item(1)));
  for (QAction* action : menu->actions()) {
    if (action->text() == QStringLiteral("Copy path")) action->trigger();
  }
  EXPECT_EQ(QApplication::clipboard()->text(), gone);
  for (QAction* action : menu->actions()) {
    if (action->text() == QStringLiteral("Remove from this list")) action->trigger();
  }
  EXPECT_EQ(list->count(), 1);
  EXPECT_EQ(window->settings().recentFiles(), QStringList{path});
}

TEST_F(WindowTest, OpensAFileAndRemembersIt) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("profile.pop"));
  writeProfile(path);
  window->open(path, QStringLiteral("inference"));
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->home()->isVisible());
  EXPECT_EQ(window->windowTitle(), QStringLiteral("profile.pop — Pipescope"));
  EXPECT_EQ(window->session().executable(), model::ExecutableId(1));
  EXPECT_EQ(shell::WindowSettings().recentFiles(), QStringList{path});
  EXPECT_EQ(window->notice(), QString());
}

TEST_F(WindowTest, TheFolderOfAProfileOpensIt) {
  const QTemporaryDir folder;
  const auto sentence = [&] { return gui::profileAt(folder.path().toStdString()).error().message; };
  EXPECT_EQ(sentence(), folder.path().toStdString() +
                            " is a folder without a profile: give a file that pipescope run has written.");
  const QString one = folder.filePath(QStringLiteral("one.pop")),
                usual = folder.filePath(QStringLiteral("profile.pop"));
  writeProfile(one);
  EXPECT_EQ(*gui::profileAt(folder.path().toStdString()), one.toStdString()) << "the only profile";
  writeProfile(folder.filePath(QStringLiteral("two.pop")));
  EXPECT_EQ(sentence(),
            folder.path().toStdString() + " is a folder with 2 profiles: give one of them, such as one.pop.");
  // It is no folder of traces either, although it holds another file.
  QFile settings(folder.filePath(QStringLiteral("run.toml")));
  ASSERT_TRUE(settings.open(QIODevice::WriteOnly));
  const auto opened = gui::openOrImport(
      folder.path().toStdString(), [](const QString&) {}, [] { return false; });
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message, sentence());
  writeProfile(usual);
  EXPECT_EQ(*gui::profileAt(folder.path().toStdString()), usual.toStdString()) << "its usual name";
  shell::MainWindow other(*registry, *palette, gui::openProfile);
  other.show();
  other.open(folder.path());
  ASSERT_TRUE(waitFor([&] { return other.session().snapshot() != nullptr && other.isSettled(); }));
  EXPECT_EQ(other.session().path(), usual);
  EXPECT_EQ(other.windowTitle(), QStringLiteral("profile.pop — Pipescope"));
}

/// An import lies in the cache under a name with a hash. The title has the name that the user gave.
TEST_F(WindowTest, AnImportIsNamedAfterItsTrace) {
  const QTemporaryDir folder;
  const QString made = folder.filePath(QStringLiteral("rank0-5d1bef33e36a.pop"));
  writeProfile(made);
  shell::MainWindow other(*registry, *palette, [made](const std::string&) {
    base::Result<shell::OpenedSource> opened = gui::openProfile(made.toStdString());
    opened->title = "rank0.json and 3 more";
    opened->folder = "/traces";
    return opened;
  });
  other.show();
  other.open(folder.filePath(QStringLiteral("rank0.json")));
  ASSERT_TRUE(waitFor([&] { return other.session().snapshot() != nullptr && other.isSettled(); }));
  EXPECT_EQ(other.session().path(), made);
  EXPECT_EQ(other.session().title(), QStringLiteral("rank0.json and 3 more"));
  EXPECT_EQ(other.session().folder(), QStringLiteral("/traces")) << "where dialogs begin";
}

TEST_F(WindowTest, TheStatusLineKeepsThePath) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("profile.pop"));
  writeProfile(path);
  window->open(path);
  ASSERT_TRUE(settle());
  const auto shown = [&] {
    for (const QWidget* widget : window->statusBar()->findChildren<QWidget*>()) {
      if (widget->isVisible() && widget->accessibleName() == path) return true;
    }
    return false;
  };
  EXPECT_TRUE(shown());
  QStatusTipEvent passing{QString()};  // as when the pointer passes over a menu
  QApplication::sendEvent(window.get(), &passing);
  EXPECT_TRUE(shown());
}

TEST_F(WindowTest, AnUnknownExecutableIsNamedAndTheFirstShown) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("profile.pop"));
  writeProfile(path);
  window->open(path, QStringLiteral("validation"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->session().executable(), model::ExecutableId(0));
  EXPECT_EQ(window->notice(),
            QStringLiteral("The profile has no executable \"validation\"; it has training, inference."));
}

TEST_F(WindowTest, AMissingFileIsANotice) {
  window->open(QStringLiteral("/nowhere/profile.pop"));
  ASSERT_TRUE(waitFor([&] { return !window->session().isOpening(); }));
  EXPECT_TRUE(window->home()->isVisible());
  EXPECT_TRUE(window->notice().contains(QStringLiteral("/nowhere/profile.pop")))
      << window->notice().toStdString();
  picture("missing");
}

TEST_F(WindowTest, ForeignFilesAreANotice) {
  const QTemporaryDir folder;
  const std::vector<std::pair<const char*, QByteArray>> files = {
      {"empty.pop", {}},
      {"text.pop", "Dear profiler,\n"},
      {"png.pop", QByteArray("\x89PNG\r\n\x1a\n", 8) + QByteArray(5000, 'x')},
      {"database.pop", QByteArray("SQLite format 3\0", 16) + QByteArray(4080, '\0')}};
  for (const auto& [name, bytes] : files) {
    const QString path = folder.filePath(QLatin1String(name));
    write(path, bytes);
    window->open(path);
    ASSERT_TRUE(waitFor([&] { return !window->session().isOpening(); }));
    EXPECT_TRUE(window->notice().contains(QLatin1String(name)))
        << name << ": " << window->notice().toStdString();
    EXPECT_EQ(window->session().snapshot(), nullptr);
  }
}

TEST_F(WindowTest, BrokenFilesShowANoticeOrWhatIsWhole) {
  const QTemporaryDir folder;
  const QString good = folder.filePath(QStringLiteral("good.pop"));
  writeProfile(good);
  const QByteArray bytes = read(good);
  for (const int percent : {1, 20, 50, 80, 99}) {
    const QString path = folder.filePath(QStringLiteral("cut%1.pop").arg(percent));
    write(path, bytes.left(bytes.size() * percent / 100));
    window->open(path);
    ASSERT_TRUE(settle());
    for (const QString& page : window->pageIds()) {
      showPage(page);
      const bool said = !window->notice().isEmpty() || !window->currentPage()->notice().isEmpty();
      EXPECT_TRUE(said || window->session().snapshot() != nullptr) << percent;
    }
    EXPECT_FALSE(window->notice().isEmpty()) << "a file that lost its end is not whole: " << percent;
  }
}

/// The dialog for files would enter the folder.
TEST_F(WindowTest, AFolderIsChosenInADialogOfItsOwn) {
  const QTemporaryDir folder;
  const QString profile = folder.filePath(QStringLiteral("profile.pop"));
  writeProfile(profile);
  window = std::make_unique<shell::MainWindow>(*registry, *palette, gui::openProfile);
  window->show();
  for (const auto& entry : window->actions().entries()) {
    if (entry.what == QStringLiteral("Open folder")) entry.action->trigger();
  }
  auto* dialog = window->findChild<QFileDialog*>();
  ASSERT_NE(dialog, nullptr);
  auto* name = dialog->findChild<QLineEdit*>();
  ASSERT_NE(name, nullptr);
  name->setText(folder.path());
  ASSERT_TRUE(QMetaObject::invokeMethod(dialog, "accept"));
  ASSERT_TRUE(waitFor([&] { return window->session().snapshot() != nullptr && window->isSettled(); }));
  EXPECT_EQ(window->session().path(), profile);
}

TEST_F(WindowTest, TheLastGoodProfileStaysWhenAnotherCannotBeOpened) {
  open(ProfileFixture().profile(), QStringLiteral("trace"));
  auto* canvas = child<timeline::TimelineCanvas>();
  ASSERT_NE(canvas->scene().model(), nullptr);
  const QString title = window->windowTitle(), path = window->session().path();
  window->open(QStringLiteral("/nowhere/other.pop"));
  EXPECT_TRUE(window->windowTitle().startsWith(QStringLiteral("other.pop"))) << "while it is being opened";
  ASSERT_TRUE(waitFor([&] { return !window->session().isOpening(); }));
  EXPECT_EQ(window->windowTitle(), title);
  EXPECT_EQ(window->session().path(), path) << "links and pictures name what is shown";
  EXPECT_EQ(window->session().wantedPath(), QStringLiteral("/nowhere/other.pop")) << "a reload tries again";
  EXPECT_FALSE(window->home()->isVisible());
  EXPECT_TRUE(window->notice().contains(QStringLiteral("/nowhere/other.pop")));
  EXPECT_NE(canvas->scene().model(), nullptr);
  picture("kept");
}

TEST_F(WindowTest, DroppedFilesAreOpened) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("dropped.pop"));
  writeProfile(path);
  QMimeData mime;
  mime.setUrls({QUrl::fromLocalFile(path)});
  QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(window.get(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(window.get(), &drop);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->session().path(), path);
  QMimeData text;
  text.setText(QStringLiteral("no file"));
  QDragEnterEvent other(QPoint(10, 10), Qt::CopyAction, &text, Qt::LeftButton, Qt::NoModifier);
  other.ignore();
  QApplication::sendEvent(window.get(), &other);
  EXPECT_FALSE(other.isAccepted());
}

TEST_F(WindowTest, ConfigurationsAndModelsAreGivenToTheWorkbench) {
  QSignalSpy given(window.get(), &shell::MainWindow::configurationGiven);
  const QString before = window->session().path();
  for (const char* name : {"mine.toml", "MODEL.ONNX"}) {
    window->open(QStringLiteral("/nowhere/") + QLatin1String(name));
    ASSERT_EQ(given.count(), 1) << name;
    EXPECT_EQ(given.takeFirst().at(0).toString(), QStringLiteral("/nowhere/") + QLatin1String(name));
  }
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->session().path(), before);
  EXPECT_EQ(window->notice(), QString());
}

TEST_F(WindowTest, RecentFilesAreKeptOnceAndInOrder) {
  shell::WindowSettings settings;
  for (int i = 0; i < 20; ++i) settings.addRecentFile(QStringLiteral("/p/%1.pop").arg(i));
  settings.addRecentFile(QStringLiteral("/p/15.pop"));
  const QStringList files = settings.recentFiles();
  ASSERT_EQ(files.size(), shell::WindowSettings::kRecent);
  EXPECT_EQ(files[0], QStringLiteral("/p/15.pop"));
  EXPECT_EQ(files[1], QStringLiteral("/p/19.pop"));
  EXPECT_EQ(files.count(QStringLiteral("/p/15.pop")), 1);
}

}  // namespace
}  // namespace pipescope::testing
