// Checks the help of the window: every page and panel has its paragraph, links lead somewhere, and a search
// finds what the files say.
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QTextBrowser>
#include <QTreeWidget>

#include "views/pages/parts/layout/panel.h"
#include "views/shell/help/help_mark.h"
#include "views/shell/help/help_window.h"
#include "views/shell/help/tour.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using shell::HelpBook;
using shell::HelpMark;
using shell::HelpSection;
using shell::HelpWindow;

class HelpTest : public WindowTest {
 protected:
  HelpWindow* help() const { return window->findChild<HelpWindow*>(); }
  /// The first line of the text that stands at the top of the browser.
  static QString topLine(const HelpWindow& help) {
    return help.browser()->cursorForPosition({30, 30}).block().text();
  }
};

TEST(HelpBook, FindsPartsByAnchorAndByWords) {
  const HelpBook book(
      {{QStringLiteral("a"), QStringLiteral("First"),
        QStringLiteral("# First\n\nbegin\n\n## One\n\nThe *bubble* is large.\n\n### Deep part\n\nleaf\n"
                       "```\n# no heading\n```\n")},
       {QStringLiteral("b"), QStringLiteral("Second"), QStringLiteral("# Second\n\n## Bubble\n\nnone\n")}});
  ASSERT_EQ(book.sections().size(), 5U);
  EXPECT_EQ(book.section(QStringLiteral("a"), QStringLiteral("one/deep-part"))->title,
            QStringLiteral("Deep part"));
  EXPECT_EQ(book.section(QStringLiteral("a"), QStringLiteral("deep-part"))->title,
            QStringLiteral("Deep part"));
  EXPECT_EQ(book.section(QStringLiteral("a"), {})->title, QStringLiteral("First"));
  EXPECT_EQ(book.section(QStringLiteral("a"), QStringLiteral("two")), nullptr);
  const auto hits = book.find(QStringLiteral("BUBBLE"));
  ASSERT_EQ(hits.size(), 2U);
  EXPECT_EQ(hits[0].section->title, QStringLiteral("Bubble")) << "a heading comes first";
  EXPECT_EQ(hits[1].context, QStringLiteral("The bubble is large."));
  const HelpBook words(
      {{QStringLiteral("a"), QStringLiteral("First"), QStringLiteral("# First\n\nA bubble rises.\n")},
       {QStringLiteral("w"), QStringLiteral("Words"),
        QStringLiteral("# Words\n\nfill: first.\n\nbubble: idle time.\n")}});
  ASSERT_EQ(words.find(QStringLiteral("bubble")).size(), 2U);
  EXPECT_EQ(words.find(QStringLiteral("bubble"))[0].section->topic, QStringLiteral("w"))
      << "what a word means";
  EXPECT_TRUE(book.find(QStringLiteral("bubble absent")).empty());
  EXPECT_TRUE(book.find(QStringLiteral("  ")).empty());
}

TEST(HelpBook, LinksOfTheBuiltInHelpLeadToItsParts) {
  const QRegularExpression link(QStringLiteral("\\]\\(([^)\\s]+)\\)"));
  int links = 0;
  for (const shell::HelpTopic& topic : HelpBook::builtIn().topics()) {
    EXPECT_FALSE(topic.markdown.isEmpty()) << topic.name.toStdString();
    for (auto all = link.globalMatch(topic.markdown); all.hasNext();) {
      const QString target = all.next().captured(1);
      if (target.contains(QStringLiteral("://"))) continue;
      ++links;
      const QString file = target.section(QLatin1Char('#'), 0, 0).section(QLatin1Char('.'), 0, 0);
      EXPECT_NE(HelpBook::builtIn().section(file.isEmpty() ? topic.name : file,
                                            target.section(QLatin1Char('#'), 1)),
                nullptr)
          << topic.name.toStdString() << " links to " << target.toStdString();
    }
  }
  EXPECT_GT(links, 0);
}

TEST_F(HelpTest, EveryPageAndEveryTitledPanelHasItsParagraph) {
  open(std::make_shared<WatchedProfile>());
  int panels = 0;
  for (const QString& page : window->pageIds()) {
    EXPECT_NE(HelpBook::builtIn().section(QStringLiteral("pages"), page), nullptr) << page.toStdString();
    showPage(page);
    for (const auto* panel : window->currentPage()->findChildren<pages::Panel*>()) {
      const auto* mark = panel->findChild<HelpMark*>(QString(), Qt::FindDirectChildrenOnly);
      ASSERT_NE(mark, nullptr);
      if (mark->title().isEmpty()) continue;
      ++panels;
      EXPECT_NE(HelpWindow::sectionOn(*panel, mark->title()), nullptr)
          << page.toStdString() << ": " << mark->title().toStdString();
      if (panel->isVisible()) {
        EXPECT_TRUE(mark->isVisible()) << mark->title().toStdString();
      }
    }
  }
  EXPECT_GT(panels, 15);
}

TEST_F(HelpTest, AQuestionMarkOpensTheParagraphOfItsPanel) {
  open(std::make_shared<WatchedProfile>(), QStringLiteral("stages"));
  HelpMark* bubble = nullptr;
  for (HelpMark* mark : window->currentPage()->findChildren<HelpMark*>())
    if (mark->title() == QLatin1String("The bubble")) bubble = mark;
  ASSERT_NE(bubble, nullptr);
  QTest::mouseClick(bubble, Qt::LeftButton);
  ASSERT_NE(help(), nullptr);
  EXPECT_EQ(help()->shown()->anchor, QStringLiteral("stages/the-bubble"));
  EXPECT_TRUE(waitFor([&] { return topLine(*help()) == QLatin1String("The bubble"); }))
      << topLine(*help()).toStdString();
}

TEST_F(HelpTest, OpensOnThePresentPageFindsWordsAndFollowsLinks) {
  open(std::make_shared<WatchedProfile>(), QStringLiteral("waits"));
  QTest::keyClick(window.get(), Qt::Key_F1);
  ASSERT_NE(help(), nullptr);
  EXPECT_EQ(help()->shown()->anchor, QStringLiteral("waits"));
  EXPECT_TRUE(waitFor([&] { return topLine(*help()) == QLatin1String("Waits"); }));
  ASSERT_NE(help()->list()->currentItem(), nullptr);
  EXPECT_EQ(help()->list()->currentItem()->text(0), QStringLiteral("Waits"));

  help()->box()->setText(QStringLiteral("gradient_accumulation"));
  ASSERT_GT(help()->list()->topLevelItemCount(), 0);
  const QString first = help()->list()->topLevelItem(0)->text(0);
  EXPECT_TRUE(first.contains(QStringLiteral("gradient_accumulation"))) << first.toStdString();
  QTest::keyClick(help()->box(), Qt::Key_Return);
  EXPECT_NE(help()->shown()->topic, QStringLiteral("pages"));
  EXPECT_FALSE(help()->browser()->extraSelections().isEmpty()) << "the words are marked in the text";

  EXPECT_TRUE(waitFor([&] { return topLine(*help()) == help()->shown()->title; }))
      << topLine(*help()).toStdString() << " instead of " << help()->shown()->title.toStdString();
  help()->box()->setText(QStringLiteral("no such words anywhere"));
  ASSERT_EQ(help()->list()->topLevelItemCount(), 1);
  EXPECT_TRUE(help()->list()->topLevelItem(0)->text(0).contains(QStringLiteral("Nothing")));

  help()->box()->clear();
  help()->showSection(QStringLiteral("questions"), {});
  Q_EMIT help()->browser()->anchorClicked(QUrl(QStringLiteral("trust.md")));
  EXPECT_EQ(help()->shown()->topic, QStringLiteral("trust"));
}

TEST_F(HelpTest, KeysGoThroughHitsAndBackToWhatWasRead) {
  open(std::make_shared<WatchedProfile>(), QStringLiteral("waits"));
  QTest::keyClick(window.get(), Qt::Key_F1);
  ASSERT_NE(help(), nullptr);
  const HelpSection* first = help()->shown();
  help()->goBack();
  EXPECT_EQ(help()->shown(), first) << "nothing was read before";
  help()->box()->setText(QStringLiteral("bubble"));
  const int hits = help()->list()->topLevelItemCount();
  ASSERT_GT(hits, 2);
  const auto current = [&] { return help()->list()->indexOfTopLevelItem(help()->list()->currentItem()); };
  QTest::keyClick(help()->box(), Qt::Key_Return);
  EXPECT_EQ(current(), 0);
  const HelpSection* second = help()->shown();
  const QTextDocument* text = help()->browser()->document();
  QTest::keyClick(help()->box(), Qt::Key_Down);
  EXPECT_EQ(current(), 1);
  QTest::keyClick(help()->box(), Qt::Key_Return);
  EXPECT_EQ(current(), 2);
  for (int i = 0; i < 3; ++i) QTest::keyClick(help()->box(), Qt::Key_Up);
  EXPECT_EQ(current(), hits - 1) << "before the first comes the last";
  const HelpSection* last = help()->shown();
  help()->goBack();
  EXPECT_EQ(help()->shown(), second);
  EXPECT_EQ(help()->browser()->document(), text) << "a text is made once, because long ones take a while";
  help()->goForward();
  EXPECT_EQ(help()->shown(), last);
  help()->goForward();
  EXPECT_EQ(help()->shown(), last) << "nothing was read after it";
}

TEST_F(HelpTest, TheTourLeadsThroughFivePagesAndIsShownOnce) {
  window->settings().setValue(QStringLiteral("tour/seen"), false);
  open(std::make_shared<WatchedProfile>());
  shell::Tour* tour = window->tour();
  EXPECT_TRUE(tour->isHidden());
  tour->beginOnce();
  EXPECT_TRUE(tour->isVisible());
  EXPECT_EQ(window->currentPageId(), QStringLiteral("stages"));
  QPushButton *next = nullptr, *leave = nullptr;
  for (auto* button : tour->findChildren<QPushButton*>()) {
    if (button->text() == QLatin1String("Next")) next = button;
    if (button->text().startsWith(QStringLiteral("Leave"))) leave = button;
  }
  ASSERT_NE(next, nullptr);
  ASSERT_NE(leave, nullptr);
  ASSERT_TRUE(settle());
  next->click();
  EXPECT_EQ(window->currentPageId(), QStringLiteral("waits"));
  ASSERT_TRUE(settle());
  next->click();
  EXPECT_EQ(window->currentPageId(), QStringLiteral("what-if"));
  EXPECT_EQ(tour->step(), 2);
  leave->click();
  EXPECT_TRUE(tour->isHidden());
  tour->beginOnce();
  EXPECT_TRUE(tour->isHidden()) << "it has been seen";
  tour->begin();
  EXPECT_EQ(tour->step(), 0) << "it can be asked for";
}

}  // namespace
}  // namespace pipescope::testing
