// Tests what all pages share: opening profiles, errors, profiles that still grow, themes and keys.
#include <QCheckBox>
#include <QClipboard>
#include <QDialog>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QSemaphore>
#include <QStatusBar>
#include <QStatusTipEvent>
#include <QTemporaryDir>
#include <QToolTip>
#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/open_profile.h"
#include "profiler/store/profile_writer.h"
#include "views/shell/dialogs/notice.h"
#include "views/shell/dialogs/saved_notice.h"
#include "views/shell/home.h"
#include "views/shell/look/elided_label.h"
#include "views/shell/look/icons.h"
#include "views/shell/page.h"
#include "views/shell/recent_list.h"
#include "views/shell/sidebar.h"
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

/// A page whose content comes in two parts. The second one is read when the test allows it.
class TwoPartPage : public shell::Page {
 public:
  explicit TwoPartPage(shell::PageContext& context) : Page(context), label_(new QLabel(this)) {
    label_->setObjectName(QStringLiteral("two_parts"));
    setContent(label_);
  }
  static QSemaphore& rest() {
    static QSemaphore allowed;
    return allowed;
  }

 protected:
  Load load() override {
    return [this](const Job& job) -> base::Result<Apply> {
      job.begin([this] { label_->setText(QStringLiteral("first")); });
      rest().acquire();
      return Apply([this] { label_->setText(QStringLiteral("all")); });
    };
  }

 private:
  QLabel* label_;
};

TEST_F(WindowTest, APageShowsAFirstPartWhileTheRestIsRead) {
  shell::PageRegistry onlyThis;
  onlyThis.add({QStringLiteral("two"), QStringLiteral("Two"), QStringLiteral("summary"), QString(),
                shell::PageGroup::result, 1,
                [](shell::PageContext& context) -> shell::Page* { return new TwoPartPage(context); }});
  window = std::make_unique<shell::MainWindow>(onlyThis, *palette, openFile);
  window->show();
  window->openSource({ProfileFixture().profile(), {}, {}}, QStringLiteral("fixture.pop"));
  const auto text = [&] {
    const auto* label = window->findChild<QLabel*>(QStringLiteral("two_parts"));
    return label == nullptr ? QString() : label->text();
  };
  ASSERT_TRUE(waitFor([&] { return text() == QStringLiteral("first"); }));
  EXPECT_TRUE(window->currentPage()->showsContent());
  EXPECT_EQ(window->currentPage()->notice(), QStringLiteral("Reading…"));
  EXPECT_FALSE(window->isSettled());
  TwoPartPage::rest().release();
  ASSERT_TRUE(settle());
  EXPECT_EQ(text(), QStringLiteral("all"));
  EXPECT_EQ(window->currentPage()->notice(), QString());
  window.reset();  // before its pages' definitions
}

TEST_F(WindowTest, StartsWithHowToOpenAProfile) {
  EXPECT_TRUE(window->home()->isVisible());
  EXPECT_EQ(window->notice(), QString());
  EXPECT_TRUE(window->isSettled());
  EXPECT_EQ(window->pageIds(),
            (QStringList{"summary",  "insights",   "training", "pipeline",   "trace",    "stages", "waits",
                         "engines",  "memory",     "liveness", "operations", "programs", "graph",  "system",
                         "recorded", "stragglers", "host",     "what-if",    "compare",  "sweep"}));
  picture("home");
}

/// A few letters of a long text tell nothing, so a label that has no room for more shows none.
TEST_F(WindowTest, ALabelShowsNoRemainsOfAText) {
  shell::ElidedLabel label(*palette, Qt::AlignLeft | Qt::AlignVCenter);
  label.setText(QStringLiteral("sweep.csv: 9 combinations"));
  const auto isDrawn = [&](int width) {
    label.resize(width, 20);
    QImage image(label.size(), QImage::Format_RGB32);
    image.fill(Qt::magenta);
    label.render(&image, {}, {}, {});
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x)
        if (image.pixelColor(x, y) != QColor(Qt::magenta)) return true;
    }
    return false;
  };
  EXPECT_FALSE(isDrawn(label.fontMetrics().averageCharWidth() * 5));
  EXPECT_TRUE(isDrawn(label.fontMetrics().averageCharWidth() * 16));
  EXPECT_TRUE(isDrawn(label.sizeHint().width()));
}

/// The names of pages that have nothing to show are grey and say why, before and after they are opened.
TEST_F(WindowTest, TheSidebarSaysWhichPagesAreEmpty) {
  open(ProfileFixture().profile());
  const auto* sidebar = window->findChild<shell::Sidebar*>();
  const auto lack = [&](const char* page) {
    return sidebar->lack(window->pageIds().indexOf(QString::fromLatin1(page)));
  };
  for (const char* page : {"summary", "pipeline", "trace", "memory", "operations", "programs", "graph"})
    EXPECT_EQ(lack(page), QString()) << page;
  EXPECT_TRUE(lack("recorded").startsWith(QStringLiteral("This run was emulated.")))
      << lack("recorded").toStdString();
  EXPECT_TRUE(lack("stragglers").startsWith(QStringLiteral("This run was emulated.")));
  showPage(QStringLiteral("compare"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(lack("compare"), window->currentPage()->notice()) << "what the page has found out";
  EXPECT_FALSE(lack("compare").isEmpty());
  picture("sidebar");
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

TEST_F(WindowTest, ASavedFileIsToldWithALink) {
  open(ProfileFixture().profile(), QStringLiteral("summary"));
  EXPECT_FALSE(window->savedNotice()->isVisible());
  window->savedNotice()->show(QStringLiteral("/tmp/some folder/a<b.png"));
  EXPECT_TRUE(window->savedNotice()->isVisible());
  EXPECT_EQ(window->savedNotice()->text(), QStringLiteral("Saved <a href=\"open\">a&lt;b.png</a>"));
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

TEST_F(WindowTest, ATableThatCannotBeReadIsANoticeOnItsPagesOnly) {
  auto profile = std::make_shared<WatchedProfile>();
  profile->refuse(model::tableIndexOf<model::LivenessStep>(),
                  "Block 0 of liveness_step is damaged: its checksum differs.");
  open(profile, QStringLiteral("liveness"));
  EXPECT_EQ(window->currentPage()->notice(),
            QStringLiteral("Block 0 of liveness_step is damaged: its checksum differs."));
  picture("damaged");
  showPage(QStringLiteral("trace"));
  EXPECT_EQ(window->currentPage()->notice(), QString());
  EXPECT_NE(child<timeline::TimelineCanvas>()->scene().model(), nullptr);
}

TEST_F(WindowTest, NothingIsReadOnTheWindowsThread) {
  auto profile = std::make_shared<WatchedProfile>();
  open(profile);
  for (const QString& page : window->pageIds()) showPage(page);
  window->session().setExecutable(model::ExecutableId(1));
  ASSERT_TRUE(settle());
  for (const QString& page : window->pageIds()) showPage(page);
  EXPECT_GT(profile->reads(), 50);
  EXPECT_EQ(profile->threads().count(std::this_thread::get_id()), 0U);
}

TEST_F(WindowTest, AGrowingProfileIsFollowed) {
  ProfileFixture fixture({.inference = false, .finish = false});
  open(fixture.profile(), QStringLiteral("trace"));
  auto* calls = child<QComboBox>(QStringLiteral("Call"));
  ASSERT_NE(calls, nullptr);
  EXPECT_EQ(calls->count(), 4) << "three calls, and all of them";
  auto* canvas = child<timeline::TimelineCanvas>();
  QTest::keyClick(canvas, Qt::Key_W);  // who zooms looks at what is shown, and follows no longer
  const auto view = window->timeRange().view();
  fixture.addTrainingRun();
  ASSERT_TRUE(waitFor([&] { return calls->count() == 5; }));
  EXPECT_EQ(calls->currentText(), QStringLiteral("Call 3")) << "what was shown stays";
  EXPECT_EQ(window->timeRange().view(), view);
  EXPECT_FALSE(window->session().snapshot()->catalog->state.state == model::ProfileState::complete);
  fixture.finish(model::ProfileState::cancelled, "Stopped by Ctrl-C.");
  ASSERT_TRUE(waitFor([&] { return !window->notice().isEmpty(); }));
  EXPECT_EQ(window->notice(), QStringLiteral("This profile is cancelled: Stopped by Ctrl-C."));
}

TEST_F(WindowTest, ARunIsFollowedToItsNewestCall) {
  ProfileFixture fixture({.inference = false, .finish = false});
  open(fixture.profile(), QStringLiteral("trace"));
  const auto says = [&](const char* words) {
    for (const QLabel* label : window->findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(QLatin1String(words))) return true;
    return false;
  };
  EXPECT_TRUE(says("running, call 3 of 5 has ended"));
  QCheckBox* follow = nullptr;
  for (auto* box : window->currentPage()->findChildren<QCheckBox*>())
    if (box->text() == QStringLiteral("Follow the run")) follow = box;
  ASSERT_TRUE(follow != nullptr && follow->isVisible());
  EXPECT_TRUE(follow->isChecked()) << "at first";
  auto* calls = child<QComboBox>(QStringLiteral("Call"));
  fixture.addTrainingRun();
  ASSERT_TRUE(waitFor([&] { return calls->currentText() == QStringLiteral("Call 4 (last)"); }));
  ASSERT_TRUE(settle());
  const auto& trace = *child<timeline::TimelineCanvas>()->scene().model()->trace;
  EXPECT_EQ(window->timeRange().start(), trace.iterations.back().start) << "its last iteration";
  EXPECT_TRUE(says("running, call 4 of 5 has ended"));
  // Who chooses a call stops following.
  choose(calls, 0);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(follow->isChecked());
  fixture.addTrainingRun();
  ASSERT_TRUE(waitFor([&] { return calls->count() == 6; }));
  EXPECT_EQ(calls->currentText(), QStringLiteral("Call 1"));
  fixture.finish(model::ProfileState::complete);
  ASSERT_TRUE(waitFor([&] { return !follow->isVisible(); })) << "there is nothing to follow any more";
}

TEST_F(WindowTest, MeasuredSpansStayWhileTheirProfileGrowsAndEndWithIt) {
  ProfileFixture fixture({.inference = false, .finish = false});
  open(fixture.profile(), QStringLiteral("trace"));
  auto* canvas = child<timeline::TimelineCanvas>();
  ASSERT_NE(canvas, nullptr);
  canvas->select(canvas->scene().passItem({0, 0, 0}));
  canvas->measureSelection();
  ASSERT_EQ(canvas->spans().size(), 1U);
  const auto* calls = child<QComboBox>(QStringLiteral("Call"));
  fixture.addTrainingRun();
  ASSERT_TRUE(waitFor([&] { return calls->count() == 5; }));
  EXPECT_EQ(canvas->spans().size(), 1U) << "the profile is the same";
  showPage(QStringLiteral("summary"));
  open(ProfileFixture().profile());
  EXPECT_TRUE(canvas->spans().empty()) << "this is another profile";
}

TEST_F(WindowTest, AProfileWithoutRunsSaysSo) {
  open(ProfileFixture({.runs = 0, .inference = false}).profile());
  for (const QString& page : {QStringLiteral("trace"), QStringLiteral("stages")}) {
    showPage(page);
    EXPECT_TRUE(window->currentPage()->notice().contains(QStringLiteral("has run")))
        << window->currentPage()->notice().toStdString();
  }
  showPage(QStringLiteral("memory"));
  EXPECT_EQ(window->currentPage()->notice(), QString()) << "memory is known before anything runs";
}

TEST_F(WindowTest, ALongNoticeIsShownWhole) {
  open(ProfileFixture({.fixed = true}).profile(), QStringLiteral("memory"));
  const auto* pane = window->currentPage()->findChild<shell::NoticePane*>();
  ASSERT_NE(pane, nullptr);
  for (const QLabel* label : pane->findChildren<QLabel*>()) {
    if (label->text().isEmpty()) continue;
    EXPECT_GE(label->height(), label->heightForWidth(label->width())) << label->text().toStdString();
    EXPECT_GT(label->height(), QFontMetrics(label->font()).lineSpacing()) << "two lines";
  }
}

TEST_F(WindowTest, AnEmptyProfileSaysSoOnEveryPage) {
  auto empty = std::make_shared<record::MemoryProfile>();
  open(empty);
  for (const QString& page : window->pageIds()) {
    showPage(page);
    EXPECT_FALSE(window->currentPage()->notice().isEmpty()) << page.toStdString();
  }
}

TEST_F(WindowTest, ExecutablesAreChosenForAllPages) {
  open(ProfileFixture().profile(), QStringLiteral("trace"));
  auto* box = window->findChild<QComboBox*>();
  for (QComboBox* found : window->findChildren<QComboBox*>()) {
    if (found->accessibleName() == QStringLiteral("Executable")) box = found;
  }
  ASSERT_EQ(box->count(), 2);
  choose(box, 1);
  ASSERT_TRUE(settle());
  EXPECT_EQ(child<timeline::TimelineCanvas>()->scene().model()->trace->executable, model::ExecutableId(1));
  EXPECT_EQ(child<QComboBox>(QStringLiteral("Call"))->count(), 1);
}

TEST_F(WindowTest, PagesHaveKeys) {
  open(ProfileFixture().profile());
  constexpr int kPagesWithKeys = 10;  // Ctrl+1 … Ctrl+9, Ctrl+0
  for (int i = 0; i < kPagesWithKeys; ++i) {
    for (const shell::Actions::Entry& entry : window->actions().entries()) {
      if (entry.action != nullptr &&
          entry.action->shortcut() == QKeySequence(QStringLiteral("Ctrl+%1").arg((i + 1) % 10)))
        entry.action->trigger();
    }
    ASSERT_TRUE(settle());
    EXPECT_EQ(window->currentPage()->accessibleName().toLower(), window->pageIds()[i]);
  }
}

TEST_F(WindowTest, TheKeyTableListsEveryKey) {
  QTest::keyClick(window.get(), Qt::Key_Question);
  auto* dialog = window->findChild<QDialog*>();
  ASSERT_NE(dialog, nullptr);
  QStringList texts;
  for (const QLabel* label : dialog->findChildren<QLabel*>()) texts << label->text();
  for (const char* expected : {"Zoom in or out about the pointer", "Next iteration", "Open", "Undo zoom",
                               "Go to what a wait waits for", "Keys"}) {
    EXPECT_TRUE(texts.contains(QLatin1String(expected))) << expected;
  }
  EXPECT_LE(dialog->height(), window->height()) << "what does not fit is scrolled to";
  EXPECT_LE(dialog->width(), window->width());
  const auto* close = dialog->findChild<QPushButton*>();
  EXPECT_LE(close->mapTo(dialog, QPoint(0, close->height())).y(), dialog->height());
  const QString folder = qEnvironmentVariable("PIPESCOPE_GUI_PICTURES");
  if (!folder.isEmpty()) dialog->grab().save(folder + QStringLiteral("/keys.png"));
  dialog->reject();
}

TEST_F(WindowTest, ThemesReachTheCanvas) {
  open(ProfileFixture().profile(), QStringLiteral("trace"));
  auto* canvas = child<timeline::TimelineCanvas>();
  const auto corner = [&] {
    const QImage image = canvas->viewport()->grab().toImage();
    return image.pixelColor(image.width() - 3, image.height() - 3);
  };
  EXPECT_EQ(corner(), palette->ui(shell::Ui::surface));
  palette->setTheme(shell::Theme::dark);
  EXPECT_EQ(corner(), palette->ui(shell::Ui::surface));
  EXPECT_LT(corner().lightness(), 64);
}

TEST_F(WindowTest, ThemesReachEveryLabel) {
  palette->setTheme(shell::Theme::light);
  open(ProfileFixture().profile(), QStringLiteral("summary"));
  for (const shell::Theme theme : {shell::Theme::dark, shell::Theme::light}) {
    palette->setTheme(theme);
    QCoreApplication::processEvents();
    int quiet = 0;
    for (const QLabel* label : window->findChildren<QLabel*>()) {
      if (label->text().isEmpty()) continue;
      const QColor colour = label->palette().color(QPalette::WindowText);
      const bool known = colour == palette->ui(shell::Ui::text) || colour == palette->ui(shell::Ui::muted);
      EXPECT_TRUE(known) << label->text().toStdString() << ": " << colour.name().toStdString();
      quiet += colour == palette->ui(shell::Ui::muted) ? 1 : 0;
    }
    EXPECT_GT(quiet, 4);
  }
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

double luminance(const QColor& colour) {
  const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

double contrast(const QColor& a, const QColor& b) {
  const double high = std::max(luminance(a), luminance(b)), low = std::min(luminance(a), luminance(b));
  return (high + 0.05) / (low + 0.05);
}

TEST_F(WindowTest, AToolTipGoesWhenAKeyIsPressed) {
  window->show();
  QToolTip::showText(window->mapToGlobal(QPoint(50, 50)), QStringLiteral("what is below the pointer"),
                     window.get(), QRect(0, 0, 400, 400), 60'000);
  ASSERT_TRUE(QToolTip::isVisible());
  QTest::keyClick(window.get(), Qt::Key_Plus);
  EXPECT_TRUE(waitFor([] { return !QToolTip::isVisible(); }));
}

TEST(Theme, ScrollBarsAreSeen) {
  shell::Palette palette;
  for (const shell::Theme theme : {shell::Theme::light, shell::Theme::dark}) {
    palette.setTheme(theme);
    EXPECT_GE(contrast(palette.scrollHandle(), palette.ui(shell::Ui::raised)), 3);
    EXPECT_TRUE(palette.styleSheet().contains(palette.scrollHandle().name()));
  }
}

TEST(Theme, BarsBesideFiguresAreSeen) {
  using shell::Ui;
  shell::Palette palette;
  for (const shell::Theme theme : {shell::Theme::light, shell::Theme::dark}) {
    palette.setTheme(theme);
    EXPECT_GE(contrast(palette.ui(Ui::accent), palette.ui(Ui::surface)), 3);
    EXPECT_GE(contrast(palette.ui(Ui::accent), palette.ui(Ui::grid)), 2);
    EXPECT_GE(contrast(palette.ui(Ui::accent), palette.ui(Ui::selection)), 2);
  }
}

TEST(Theme, TextIsReadable) {
  using shell::Ui;
  shell::Palette palette;
  for (const shell::Theme theme : {shell::Theme::light, shell::Theme::dark}) {
    palette.setTheme(theme);
    for (const Ui ground : {Ui::window, Ui::surface, Ui::raised, Ui::sidebar}) {
      for (const Ui text : {Ui::text, Ui::muted, Ui::link, Ui::good, Ui::warning, Ui::error}) {
        EXPECT_GE(contrast(palette.ui(text), palette.ui(ground)), 4.5)
            << static_cast<int>(theme) << " " << static_cast<int>(text) << " on " << static_cast<int>(ground);
      }
    }
    EXPECT_GE(contrast(palette.ui(Ui::text), palette.ui(Ui::selection)), 4.5);
    EXPECT_GE(contrast(palette.ui(Ui::accentText), palette.ui(Ui::accent)), 4.5);
    for (std::size_t i = 0; i < geometry::kColourRoles; ++i) {
      const auto role = static_cast<geometry::ColourRole>(i);
      const QColor colour = palette.colour(role);
      EXPECT_GE(contrast(shell::Palette::textOn(colour), colour), 4.5) << geometry::roleKey(role);
      EXPECT_GE(contrast(shell::Palette::textOn(palette.hatchGround(role)), palette.hatchGround(role)), 4.5)
          << geometry::roleKey(role);
    }
  }
}

/// The CIELAB coordinates of a colour as a person with one kind of colour blindness sees it. `eye` transforms
/// linear red, green and blue (Machado, Oliveira, Fernandes 2009, severity 1).
std::array<double, 3> seen(const QColor& colour, const std::array<std::array<double, 3>, 3>& eye) {
  std::array<double, 3> light{}, mixed{};
  const std::array<double, 3> given = {colour.redF(), colour.greenF(), colour.blueF()};
  for (std::size_t i = 0; i < 3; ++i)
    light[i] = given[i] <= 0.04045 ? given[i] / 12.92 : std::pow((given[i] + 0.055) / 1.055, 2.4);
  for (std::size_t i = 0; i < 3; ++i)
    mixed[i] = std::clamp(eye[i][0] * light[0] + eye[i][1] * light[1] + eye[i][2] * light[2], 0.0, 1.0);
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * mixed[0] + 0.3576 * mixed[1] + 0.1805 * mixed[2]) / 0.9505),
               y = f(0.2126 * mixed[0] + 0.7152 * mixed[1] + 0.0722 * mixed[2]),
               z = f((0.0193 * mixed[0] + 0.1192 * mixed[1] + 0.9505 * mixed[2]) / 1.089);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

TEST(Theme, WhatIsShownTogetherIsToldApartByColourBlindEyes) {
  using Role = geometry::ColourRole;
  const std::vector<std::vector<Role>> together = {
      {Role::forward, Role::recompute, Role::backward, Role::weightGradient, Role::update, Role::hostIn,
       Role::exchange},
      {Role::compute, Role::exchange, Role::sync, Role::globalExchange, Role::streamCopy, Role::remoteCopy},
      {Role::lostUseful, Role::lostFill, Role::lostImbalance, Role::lostExchange}};
  const std::array<std::array<std::array<double, 3>, 3>, 3> eyes = {
      {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
       {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
       {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}}}};
  shell::Palette palette;
  palette.setSafe(true);
  for (const shell::Theme theme : {shell::Theme::light, shell::Theme::dark}) {
    palette.setTheme(theme);
    for (const auto& eye : eyes) {
      for (const auto& set : together) {
        for (std::size_t a = 0; a < set.size(); ++a) {
          for (std::size_t b = 0; b < a; ++b) {
            const auto one = seen(palette.colour(set[a]), eye), other = seen(palette.colour(set[b]), eye);
            const double apart = std::hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
            EXPECT_GT(apart, 15) << geometry::roleKey(set[a]) << " and " << geometry::roleKey(set[b]);
          }
        }
      }
    }
  }
}

TEST(Theme, ColoursOfOneLegendAreToldApart) {
  using Role = geometry::ColourRole;
  const auto range = [](Role first, Role last) {
    std::vector<Role> roles;
    for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i)
      roles.push_back(static_cast<Role>(i));
    return roles;
  };
  auto waitsAndCopies = range(Role::waitFill, Role::otherWait);  // one beside the other in a pipeline
  waitsAndCopies.push_back(Role::hostOut);
  const std::array<std::array<double, 3>, 3> eye = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  shell::Palette palette;
  for (const shell::Theme theme : {shell::Theme::light, shell::Theme::dark}) {
    palette.setTheme(theme);
    for (const auto& set :
         {range(Role::compute, Role::otherKind), range(Role::forward, Role::otherPass), waitsAndCopies,
          range(Role::activation, Role::otherTransfer), range(Role::series, Role::seriesEnd),
          range(Role::lostUseful, Role::lostExchange)}) {
      for (std::size_t a = 0; a < set.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          const auto one = seen(palette.colour(set[a]), eye), other = seen(palette.colour(set[b]), eye);
          const double apart = std::hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
          EXPECT_GT(apart, 15) << geometry::roleKey(set[a]) << " and " << geometry::roleKey(set[b]);
        }
      }
    }
  }
}

TEST(Theme, NamesOfThemes) {
  for (const shell::Theme theme : {shell::Theme::system, shell::Theme::light, shell::Theme::dark})
    EXPECT_EQ(shell::themeFromName(shell::themeName(theme)), theme);
  EXPECT_EQ(shell::themeFromName(QStringLiteral("pink")), shell::Theme::system);
}

TEST(Icons, AllCanBeRead) {
  const QDir folder(QStringLiteral(PIPESCOPE_SOURCE_DIR "/resources/icons"));
  const QStringList files = folder.entryList({QStringLiteral("*.svg")});
  EXPECT_GE(files.size(), 15);
  for (const QString& file : files) {
    const QPainterPath path = shell::iconPath(QString(file).chopped(4));
    EXPECT_FALSE(path.isEmpty()) << file.toStdString();
    const QRectF box = path.boundingRect();  // the height is 0 if all lines are horizontal
    EXPECT_TRUE(box.left() >= 0 && box.top() >= 0 && box.right() <= 24 && box.bottom() <= 24)
        << file.toStdString();
  }
  EXPECT_TRUE(shell::iconPath(QStringLiteral("nothing")).isEmpty());
}

TEST(Icons, PathData) {
  const QPainterPath line = shell::parsePathData(QStringLiteral("M1 2l3 4H10v-1"));
  EXPECT_EQ(line.elementCount(), 4);
  EXPECT_EQ(line.currentPosition(), QPointF(10, 5));
  const QPainterPath circle = shell::parsePathData(QStringLiteral("M12 3a9 9 0 0 1 0 18a9 9 0 0 1 0 -18z"));
  EXPECT_NEAR(circle.boundingRect().width(), 18, 0.01);
  EXPECT_NEAR(circle.boundingRect().center().y(), 12, 0.01);
  for (const char* bad : {"M1", "L", "M1 2 Q 3 4", "5 6", "M1 2 C 1 2 3"})
    EXPECT_TRUE(shell::parsePathData(QLatin1String(bad)).isEmpty()) << bad;
}

}  // namespace
}  // namespace pipescope::testing
