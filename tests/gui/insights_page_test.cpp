// Tests the page of findings: what it shows of the section, and where its buttons lead.
#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTableView>
#include <QToolButton>
#include <optional>

#include "app/run/orders/replay_schedules.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/replays.h"
#include "views/pages/parts/layout/insight_card.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::InsightCard;

class InsightsPageTest : public WindowTest {
 protected:
  void openPage(const FixtureOptions& options = {}) {
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), QStringLiteral("insights"));
  }
  QList<InsightCard*> cards() const { return window->currentPage()->findChildren<InsightCard*>(); }
  sections::Section section() const {
    const auto catalog = *analysis::loadCatalog(*fixture->profile());
    return *makeSection(**sections::findSection("insights"),
                        {*fixture->profile(), *catalog, catalog->executables.front().id});
  }
  static QStringList texts(const QWidget* widget) {
    QStringList found;
    for (const QLabel* label : widget->findChildren<QLabel*>()) found << label->text();
    return found;
  }

  std::unique_ptr<ProfileFixture> fixture;
};

TEST_F(InsightsPageTest, HasACardForEachFindingInTheOrderOfTheSection) {
  openPage({.slowHost = true});
  const sections::Section expected = section();
  const sections::SectionTable& table = expected.tables.front();
  ASSERT_FALSE(table.rows.empty());
  ASSERT_EQ(cards().size(), static_cast<int>(table.rows.size()));
  const auto column = [&](const char* key) {
    return static_cast<std::size_t>(std::ranges::find(table.columns, key, &sections::SectionColumn::key) -
                                    table.columns.begin());
  };
  for (int i = 0; i < cards().size(); ++i) {
    const auto& row = table.rows[static_cast<std::size_t>(i)];
    const QString all = texts(cards()[i]).join(QLatin1Char('\n'));
    for (const char* key : {"what", "advice", "figure_meaning"})
      EXPECT_TRUE(all.contains(QString::fromStdString(std::get<std::string>(row[column(key)])))) << key;
    // A gain or the reason why there is none.
    const bool known = !std::holds_alternative<std::monostate>(row[column("gain_fraction")]);
    EXPECT_EQ(!cards()[i]->insight().gain.isEmpty(), known);
    EXPECT_TRUE(known || all.contains(QStringLiteral("not known")) || all.contains(QStringLiteral("up to +")))
        << all.toStdString();
    const auto* reason = std::get_if<std::string>(&row[column("gain_reason")]);
    EXPECT_TRUE(reason == nullptr || all.contains(QString::fromStdString(*reason)));
  }
  picture("insights");
}

TEST_F(InsightsPageTest, TheTableNamesDevices) {
  openPage({.slowHost = true});
  const auto* table = window->currentPage()->findChild<pages::DataTable*>();
  ASSERT_NE(table, nullptr);
  const auto* model = table->view()->model();
  int named = 0;
  for (int column = 0; column < model->columnCount(); ++column) {
    if (!model->headerData(column, Qt::Horizontal).toString().startsWith(QStringLiteral("Device"))) continue;
    for (int row = 0; row < model->rowCount(); ++row) {
      const QString shown = model->index(row, column).data().toString();
      EXPECT_TRUE(shown == QStringLiteral("–") || shown.startsWith(QStringLiteral("IPU")))
          << shown.toStdString();
      named += shown.startsWith(QStringLiteral("IPU")) ? 1 : 0;
    }
  }
  EXPECT_GT(named, 0);
}

TEST_F(InsightsPageTest, TheTabKeyGoesFromCardToCardBeforeItComesToTheTable) {
  openPage({.slowHost = true});
  QList<QPushButton*> buttons;
  for (const InsightCard* card : cards())
    for (QPushButton* button : card->findChildren<QPushButton*>())
      if (button->isEnabled()) buttons << button;
  ASSERT_GE(buttons.size(), 2);
  window->currentPage()->setFocus();
  for (QPushButton* button : buttons) {
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    EXPECT_EQ(QApplication::focusWidget(), button) << button->text().toStdString();
  }
}

TEST_F(InsightsPageTest, AGainBelowZeroIsNotCalledTheLargestGain) {
  EXPECT_EQ(pages::largestGainInWords(0.174, QStringLiteral("execution.schedule=1f1b")),
            QStringLiteral("Of the gains that are known, the largest is 17.4 %, with “schedule: 1f1b”."));
  EXPECT_EQ(pages::largestGainInWords(-0.001, QStringLiteral("execution.schedule=1f1b")),
            QStringLiteral("No change whose gain is known makes the run faster."));
  EXPECT_TRUE(pages::largestGainInWords({}, {}).isEmpty());
}

TEST_F(InsightsPageTest, AFindingWhoseChangesOnlyLoseHasNoGain) {
  pages::ShownInsight insight;
  insight.what = QStringLiteral("Activations take 91 % of what the device holds.");
  const auto gainOf = [&] { return texts(std::make_unique<InsightCard>(*palette, insight, 250).get()); };
  insight.gainReason = QStringLiteral("A recording does not tell what precision does.");
  EXPECT_TRUE(gainOf().contains(QStringLiteral("not known")));
  insight.gainReason = QStringLiteral("The best change that was replayed, a=b, makes the run 21.4 % slower.");
  EXPECT_TRUE(gainOf().contains(QStringLiteral("none")));
  EXPECT_FALSE(gainOf().contains(QStringLiteral("not known"))) << "the replay knows it";
}

TEST_F(InsightsPageTest, OnALargeScreenTheGainStaysBesideItsFinding) {
  pages::ShownInsight insight;
  insight.what = QStringLiteral("Stage 1 computes 1.6 times as long as the mean of the devices.");
  InsightCard card(*palette, insight, 250);
  card.resize(3'600, 120);
  card.show();
  for (const QLabel* label : card.findChildren<QLabel*>()) {
    if (label->text() != QStringLiteral("not known")) continue;
    EXPECT_LT(label->mapTo(&card, QPoint(0, 0)).x(), 1'200);
    return;
  }
  FAIL() << "the card has no gain";
}

TEST_F(InsightsPageTest, AFigureAndItsThresholdAreToldApart) {
  openPage({.slowHost = true});
  for (const InsightCard* card : cards()) {
    const QRegularExpressionMatch found =
        QRegularExpression(QStringLiteral(": (\\S+); the threshold is (\\S+)$"))
            .match(card->insight().figure);
    ASSERT_TRUE(found.hasMatch()) << card->insight().figure.toStdString();
    EXPECT_NE(found.captured(1), found.captured(2)) << card->insight().figure.toStdString();
  }
  EXPECT_EQ(pages::toldApart(1.1032, 1.1), (std::pair<QString, QString>("1.103", "1.1")));
  EXPECT_EQ(pages::toldApart(0.226, 0.05), (std::pair<QString, QString>("0.226", "0.05")));
  EXPECT_EQ(pages::toldApart(2, 2), (std::pair<QString, QString>("2", "2")));
}

TEST_F(InsightsPageTest, AButtonLeadsToThePageThatShowsTheFinding) {
  openPage({.slowHost = true});
  const QStringList ids = window->pageIds();
  bool stage = false;
  for (int i = 0; i < cards().size(); ++i) {
    const shell::Place place = cards()[i]->insight().place;
    EXPECT_TRUE(ids.contains(place.page)) << place.page.toStdString();
    QTest::mouseClick(cards()[i]->seenIn(), Qt::LeftButton);
    ASSERT_TRUE(settle());
    EXPECT_EQ(window->currentPage()->accessibleName().toLower(), place.page);
    if (place.stage >= 0) {
      EXPECT_EQ(window->selection().current().stage, place.stage);
      stage = true;
    }
    showPage(QStringLiteral("insights"));
  }
  EXPECT_TRUE(stage) << "one finding is about a stage";
  // The keyboard does the same.
  cards()[0]->seenIn()->setFocus();
  QTest::keyClick(cards()[0]->seenIn(), Qt::Key_Space);
  ASSERT_TRUE(settle());
  EXPECT_NE(window->currentPage()->accessibleName(), QStringLiteral("Insights"));
}

TEST_F(InsightsPageTest, NamesOfKeysAreNotCut) {
  pages::ShownInsight insight;
  insight.changes = QStringLiteral("execution.available_memory_proportion=0.30");
  insight.gainReason = QStringLiteral("emulate it with --set execution.available_memory_proportion=0.30.");
  const QFontMetrics metrics(window->font());
  const int width = InsightCard::gainWidthOf({insight}, metrics);
  InsightCard card(*palette, insight, width);
  card.resize(900, 200);
  card.show();
  QCoreApplication::processEvents();
  for (const QLabel* label : card.findChildren<QLabel*>()) {
    for (const QString& word : label->text().split(QLatin1Char(' ')))
      EXPECT_GE(label->width(), metrics.horizontalAdvance(word)) << word.toStdString();
  }
  insight.changes = insight.gainReason = QStringLiteral("a=1");
  EXPECT_LT(InsightCard::gainWidthOf({insight}, metrics), width)
      << "short names leave the room to the sentences";
}

TEST_F(InsightsPageTest, TheSignSaysHowMuchAFindingMatters) {
  using pages::InsightSign;
  struct Case {
    bool severe;
    int verdict;
    double share;
    InsightSign sign;
  };
  for (const Case& one : {Case{true, 0, 0, InsightSign::error}, Case{false, 1, 0.02, InsightSign::warning},
                          Case{false, 0, 0.3, InsightSign::warning}, Case{false, 0, 0.05, InsightSign::info},
                          Case{false, -1, 0.3, InsightSign::info}}) {
    pages::ShownInsight insight;
    insight.severe = one.severe;
    insight.verdict = one.verdict;
    insight.share = one.share;
    EXPECT_EQ(insight.sign(), one.sign) << one.verdict << ", " << one.share;
  }
  // A larger part of the step is no smaller matter, whether or not there is a change to replay.
  openPage({.slowHost = true});
  double largest = 0;
  bool warned = false;
  for (const InsightCard* card : cards()) {
    if (card->insight().share <= largest) continue;
    largest = card->insight().share;
    warned = card->insight().sign() != InsightSign::info;
  }
  EXPECT_GT(largest, 0.1);
  EXPECT_TRUE(warned);
}

TEST_F(InsightsPageTest, AChangeIsCopied) {
  openPage({.slowHost = true});
  for (const InsightCard* card : cards()) {
    EXPECT_EQ(card->copy() == nullptr, card->insight().changes.isEmpty());
    if (card->copy() == nullptr) continue;
    QTest::mouseClick(card->copy(), Qt::LeftButton);
    EXPECT_EQ(QApplication::clipboard()->text(), card->insight().changes);
  }
}

TEST_F(InsightsPageTest, AChangeIsTriedRunAndCompared) {
  sections::setSchedules(app::replaySchedules());  // as the programs do
  openPage({.slowHost = true});
  QSignalSpy runs(window.get(), &shell::MainWindow::runAgainRequested);
  const auto buttonOf = [](const InsightCard& card, const char* name) -> QPushButton* {
    for (auto* button : card.findChildren<QPushButton*>())
      if (button->text() == QString::fromUtf8(name)) return button;
    return nullptr;
  };
  // A profile of the fixture holds no options, but what a replay can try is known without them.
  int index = -1;
  for (int i = 0; i < cards().size(); ++i) {
    const InsightCard& card = *cards()[i];
    for (const auto& [name, whyNot] :
         {std::pair("Try in What if", card.insight().whyNoReplay),
          std::pair("Compare", card.insight().whyNoReplay), std::pair("Run…", card.insight().whyNoRun)}) {
      const QPushButton* button = buttonOf(card, name);
      ASSERT_NE(button, nullptr) << name;
      EXPECT_EQ(button->isEnabled(), whyNot.isEmpty()) << name;
      if (!whyNot.isEmpty()) {
        EXPECT_EQ(button->toolTip(), whyNot);
      }
    }
    EXPECT_EQ(card.insight().changes.isEmpty(),
              card.insight().whyNoReplay == QStringLiteral("This finding names no setting to change."));
    // The first change whose gain is known; others cannot be replayed.
    if (card.insight().whyNoReplay.isEmpty() && !card.insight().gain.isEmpty() && index < 0) index = i;
  }
  ASSERT_GE(index, 0);
  const QStringList changes = cards()[index]->insight().changes.split(QLatin1Char(' '));
  const QString gain = cards()[index]->insight().gain;
  if (QPushButton* run = buttonOf(*cards()[index], "Run…"); run->isEnabled()) {
    QTest::mouseClick(run, Qt::LeftButton);
    ASSERT_EQ(runs.count(), 1);
    EXPECT_EQ(runs[0][0].toStringList(), changes);
  }
  QTest::mouseClick(buttonOf(*cards()[index], "Try in What if"), Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("What if"));
  int chips = 0;
  for (const QToolButton* chip : window->currentPage()->findChildren<QToolButton*>())
    chips += chip->isVisible() && chip->accessibleName().startsWith(QStringLiteral("Take back")) ? 1 : 0;
  EXPECT_EQ(chips, changes.size());
  for (const auto* card : window->currentPage()->findChildren<pages::FigureCard*>()) {
    if (card->caption() != QStringLiteral("Samples/s") || gain.isEmpty()) continue;
    EXPECT_EQ(card->value(), gain) << "the gain of the finding is that of the replay";
  }
  showPage(QStringLiteral("insights"));
  std::optional<shell::MadeProfile> made;
  QObject::connect(window.get(), &shell::MainWindow::profileMade, window.get(),
                   [&](const shell::MadeProfile& one) { made = one; });
  QTest::mouseClick(buttonOf(*cards()[index], "Compare"), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return made.has_value(); }));
  EXPECT_NE(made->source.source, nullptr);
  EXPECT_NE(made->from.source, nullptr);
  sections::setSchedules({});
}

TEST_F(InsightsPageTest, ARowOfTheTableLeadsThereToo) {
  openPage({.slowHost = true});
  const QString page = cards()[0]->insight().place.page;
  Q_EMIT child<pages::DataTable>()->rowActivated(0);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName().toLower(), page);
}

TEST_F(InsightsPageTest, OtherProfilesShowFindingsOrSayWhyNot) {
  for (const FixtureOptions& options :
       {FixtureOptions{.fixed = true}, FixtureOptions{.overflow = true}, FixtureOptions{.imported = true},
        FixtureOptions{.runs = 0}, FixtureOptions{.finish = false}}) {
    openPage(options);
    EXPECT_TRUE(!cards().isEmpty() || !window->currentPage()->notice().isEmpty());
  }
  // A model that does not fit is the first finding.
  openPage({.overflow = true});
  ASSERT_FALSE(cards().isEmpty());
  EXPECT_TRUE(cards()[0]->insight().severe);
  EXPECT_EQ(cards()[0]->insight().place.page, QStringLiteral("memory"));
}

}  // namespace
}  // namespace pipescope::testing
