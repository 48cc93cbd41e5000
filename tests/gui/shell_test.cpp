// Tests what all pages share: their content in parts, executables, keys, notices and the sidebar.
#include <QDialog>
#include <QLabel>
#include <QPushButton>
#include <QSemaphore>
#include <QToolTip>

#include "views/shell/dialogs/notice.h"
#include "views/shell/dialogs/saved_notice.h"
#include "views/shell/home.h"
#include "views/shell/look/elided_label.h"
#include "views/shell/page.h"
#include "views/shell/sidebar.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

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

TEST_F(WindowTest, ASavedFileIsToldWithALink) {
  open(ProfileFixture().profile(), QStringLiteral("summary"));
  EXPECT_FALSE(window->savedNotice()->isVisible());
  window->savedNotice()->show(QStringLiteral("/tmp/some folder/a<b.png"));
  EXPECT_TRUE(window->savedNotice()->isVisible());
  EXPECT_EQ(window->savedNotice()->text(), QStringLiteral("Saved <a href=\"open\">a&lt;b.png</a>"));
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

TEST_F(WindowTest, AToolTipGoesWhenAKeyIsPressed) {
  window->show();
  QToolTip::showText(window->mapToGlobal(QPoint(50, 50)), QStringLiteral("what is below the pointer"),
                     window.get(), QRect(0, 0, 400, 400), 60'000);
  ASSERT_TRUE(QToolTip::isVisible());
  QTest::keyClick(window.get(), Qt::Key_Plus);
  EXPECT_TRUE(waitFor([] { return !QToolTip::isVisible(); }));
}

}  // namespace
}  // namespace pipescope::testing
