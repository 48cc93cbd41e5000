// Tests that pages show the figures of two profiles while they are compared.
#include <QComboBox>
#include <QDropEvent>
#include <QMenu>
#include <QMimeData>
#include <QTableView>
#include <QToolButton>
#include <QUrl>
#include <algorithm>
#include <optional>

#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/table_beside.h"
#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/charts/curve_chart.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/compared_columns.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/shell/comparison.h"
#include "views/shell/header.h"
#include "views/shell/look/elided_label.h"
#include "views/shell/recent_list.h"
#include "views/timeline/pipeline_canvas.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::DataTable;
using pages::FigureCard;

/// Qt gives a drop only to the widget that the drag has entered.
void dropOn(QWidget* widget, const QPoint& at, const QMimeData& data) {
  QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(widget, &enter);
  QDropEvent drop(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(widget, &drop);
}

class BesideTest : public WindowTest {
 protected:
  void compare(const FixtureOptions& source, const FixtureOptions& target, const QString& page) {
    fixture = std::make_unique<ProfileFixture>(target);
    open(fixture->profile(), page);
    other = std::make_unique<ProfileFixture>(source);
    window->comparison().openSource({other->profile(), {}, {}}, QStringLiteral("source.pop"));
    ASSERT_TRUE(settle());
  }
  DataTable* table(const std::string& key) const {
    for (DataTable* found : window->currentPage()->findChildren<DataTable*>()) {
      if (found->model()->table().key == key) return found;
    }
    return nullptr;
  }
  template <class Canvas>
  std::vector<Canvas*> canvases() const {
    std::vector<Canvas*> shown;
    for (Canvas* canvas : window->currentPage()->findChildren<Canvas*>()) {
      if (canvas->isVisible()) shown.push_back(canvas);
    }
    return shown;
  }
  /// Line that the page shows above its content about the comparison.
  QString line() const {
    for (const auto* label : window->currentPage()->findChildren<shell::ElidedLabel*>()) {
      if (label->isVisible() && label->text().startsWith(QStringLiteral("Compared with")))
        return label->text();
    }
    return {};
  }
  static std::optional<double> number(const sections::Cell& cell) {
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&cell)) return *real;
    return {};
  }
  static std::size_t place(const sections::SectionTable& table, const std::string& key) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].key == key) return c;
    }
    return table.columns.size();
  }

  std::unique_ptr<ProfileFixture> fixture, other;
};

TEST_F(BesideTest, EachPageOfAProfileNamesTheSourceAndEndsTheComparison) {
  compare({.microBatches = 6}, {.microBatches = 10}, QStringLiteral("summary"));
  for (const QString& id : window->pageIds()) {
    if (id == QLatin1String("compare") || id == QLatin1String("sweep") || id == QLatin1String("what-if"))
      continue;
    showPage(id);
    EXPECT_TRUE(line().contains(QStringLiteral("source.pop"))) << id.toStdString() << line().toStdString();
    picture(("beside_" + id.toStdString()).c_str());
    for (const FigureCard* card : window->currentPage()->findChildren<FigureCard*>()) {
      if (card->isVisible()) {
        EXPECT_GE(card->height(), card->heightForWidth(card->width()))
            << card->caption().toStdString() << ": its link lies over its text";
      }
    }
  }
  showPage(QStringLiteral("stages"));
  QTest::mouseClick(child<QToolButton>(QStringLiteral("End the comparison")), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return window->comparison().snapshot() == nullptr; }));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(line().isEmpty()) << line().toStdString();
  for (const FigureCard* card : window->currentPage()->findChildren<FigureCard*>())
    EXPECT_TRUE(card->beside().isEmpty()) << card->caption().toStdString();
}

TEST_F(BesideTest, TablesHaveSourceTargetAndChange) {
  compare({.microBatches = 6}, {.microBatches = 10}, QStringLiteral("waits"));
  const DataTable* waits = table("waits");
  ASSERT_NE(waits, nullptr);
  const std::vector<std::string> figures = sections::comparedKeys(waits->model()->table());
  ASSERT_FALSE(figures.empty());
  const sections::SectionTable& both = waits->model()->table();
  const std::size_t source = place(both, "source_" + figures[0]), target = place(both, figures[0]),
                    change = place(both, "delta_" + figures[0]);
  ASSERT_LT(source, both.columns.size());
  ASSERT_LT(change, both.columns.size());
  int compared = 0;
  for (const auto& row : both.rows) {
    const auto from = number(row[source]), to = number(row[target]), delta = number(row[change]);
    if (!from || !to) continue;
    ++compared;
    ASSERT_TRUE(delta);
    EXPECT_DOUBLE_EQ(*delta, *to - *from);
  }
  EXPECT_GT(compared, 0);
}

TEST_F(BesideTest, LessTimeOrMemoryIsJudgedOnlyWhereTheWorkIsEqual) {
  const auto judged = [&](const FixtureOptions& source, const FixtureOptions& target) {
    compare(source, target, QStringLiteral("waits"));
    const pages::SectionTableModel& model = *table("waits")->model();
    int changes = 0;
    for (int row = 0; row < model.rowCount(); ++row) {
      for (int column = 0; column < model.columnCount(); ++column)
        changes += model.index(row, column).data(pages::SectionTableModel::kChangeRole).isValid() ? 1 : 0;
    }
    return changes;
  };
  EXPECT_EQ(judged({.microBatches = 6}, {.microBatches = 10}), 0);
  EXPECT_GT(judged({}, {.slowHost = true}), 0);
  FigureCard own(*palette), source(*palette);
  for (FigureCard* card : {&own, &source})
    card->setFigure(QStringLiteral("Memory"), card == &own ? QStringLiteral("2") : QStringLiteral("1"), {},
                    {});
  own.setAmount(2, false, {}, true);
  source.setAmount(1, false, {}, true);
  own.showBeside(&source, {1, false});
  EXPECT_EQ(own.besideColour(), shell::Ui::muted);
  own.showBeside(&source, {1, true});
  EXPECT_EQ(own.besideColour(), shell::Ui::error);
}

TEST_F(BesideTest, ATableThatOnlyTheSourceHasIsShownWithDashes) {
  // A single stage waits for nobody and has no boundaries.
  compare({.stages = 4}, {.stages = 1}, QStringLiteral("stages"));
  const DataTable* boundaries = table("boundaries");
  ASSERT_NE(boundaries, nullptr);
  EXPECT_TRUE(boundaries->isVisible());
  const sections::SectionTable& shown = boundaries->model()->table();
  ASSERT_FALSE(shown.rows.empty());
  bool dash = false;
  for (int c = 0; c < boundaries->model()->columnCount(); ++c)
    dash = dash || boundaries->model()->index(0, c).data().toString() == QStringLiteral("–");
  EXPECT_TRUE(dash) << "the target's figures are missing";
  window->comparison().clear();
  ASSERT_TRUE(settle());
  EXPECT_FALSE(boundaries->isVisible());
}

TEST_F(BesideTest, TheDetailsOfASelectedProgramHaveBothProfiles) {
  compare({.microBatches = 6}, {.microBatches = 10}, QStringLiteral("programs"));
  const auto vertices = [&]() -> const DataTable* {
    for (const DataTable* found : window->currentPage()->findChildren<DataTable*>())
      if (found->title() == QStringLiteral("Vertices")) return found;
    return nullptr;
  };
  ASSERT_NE(vertices(), nullptr);
  auto* tree = child<pages::TreeTable>();
  const auto& programs = tree->ownRows().table.rows;
  const auto step = std::ranges::find_if(programs, [](const auto& row) {
    return std::get<std::string>(row[0]).find("step0)") != std::string::npos;
  });
  ASSERT_NE(step, programs.end());
  Q_EMIT tree->rowActivated(static_cast<int>(step - programs.begin()));
  ASSERT_TRUE(settle());
  const sections::SectionTable& shown = vertices()->model()->table();
  ASSERT_FALSE(shown.rows.empty());
  const std::size_t source = place(shown, std::string(sections::kSourceKey) + "vertices");
  ASSERT_LT(source, shown.columns.size());
  EXPECT_TRUE(number(shown.rows[0][source]).has_value()) << "the same program of the source";
}

TEST_F(BesideTest, TheDetailsOfASelectedOperationHaveBothProfiles) {
  compare({.microBatches = 6}, {.microBatches = 10}, QStringLiteral("operations"));
  Q_EMIT child<DataTable>()->rowActivated(0);
  ASSERT_TRUE(settle());
  const DataTable* times = nullptr;
  for (const DataTable* found : window->currentPage()->findChildren<DataTable*>())
    if (found->title() == QStringLiteral("Time by operator and pass")) times = found;
  ASSERT_NE(times, nullptr);
  const sections::SectionTable& shown = times->model()->table();
  ASSERT_FALSE(shown.rows.empty());
  const std::size_t source = place(shown, std::string(sections::kSourceKey) + "cycles");
  ASSERT_LT(source, shown.columns.size());
  EXPECT_TRUE(number(shown.rows[0][source]).has_value()) << "the same operation of the source";
}

TEST_F(BesideTest, OneFigureAtATimeIsShownAndAnotherCanBeChosen) {
  compare({.microBatches = 6}, {.microBatches = 10}, QStringLiteral("stages"));
  DataTable* stages = table("stages");
  ASSERT_NE(stages, nullptr);
  auto* choice = stages->findChild<pages::ComparedColumns*>();
  ASSERT_TRUE(choice->isVisible());
  const auto shown = [&] {
    QStringList keys;
    for (int c = 0; c < stages->model()->columnCount(); ++c) {
      const auto& key = stages->model()->table().columns[static_cast<std::size_t>(c)].key;
      if (!stages->view()->isColumnHidden(c) && key.starts_with("delta_"))
        keys << QString::fromStdString(key);
    }
    return keys;
  };
  EXPECT_EQ(shown().size(), 1) << shown().join(' ').toStdString();
  const QStringList before = shown();
  choose(choice, 2);
  EXPECT_EQ(shown().size(), 1);
  EXPECT_NE(shown(), before);
  choose(choice, 0);
  EXPECT_GT(shown().size(), 3) << "all figures";
}

TEST_F(BesideTest, CardsHaveTheSourcesFigureAndASignedChange) {
  compare({.microBatches = 6}, {.microBatches = 10}, QStringLiteral("stages"));
  bool found = false;
  for (const FigureCard* card : window->currentPage()->findChildren<FigureCard*>()) {
    if (card->caption() != QStringLiteral("Bubble")) continue;
    found = true;
    // More micro-batches make the bubble smaller.
    EXPECT_TRUE(card->beside().startsWith(QStringLiteral("source "))) << card->beside().toStdString();
    EXPECT_TRUE(card->beside().contains(QStringLiteral(", −"))) << card->beside().toStdString();
    EXPECT_TRUE(card->beside().endsWith(QStringLiteral(" points")))
        << "a share changes by points, as on the page Compare: " << card->beside().toStdString();
  }
  EXPECT_TRUE(found);
}

TEST_F(BesideTest, LivenessAndMemoryHaveBothCurves) {
  compare({.overflow = true}, {}, QStringLiteral("liveness"));
  EXPECT_GE(child<pages::Chart>()->otherTotal(0), 0);
  showPage(QStringLiteral("memory"));
  auto* chart = child<pages::Chart>();
  bool differs = false;
  for (int i = 0; i < chart->size(); ++i) differs = differs || chart->otherTotal(i) != chart->total(i);
  EXPECT_TRUE(differs) << "one device of the source overflows";
  window->comparison().clear();
  ASSERT_TRUE(settle());
  EXPECT_EQ(chart->otherTotal(0), -1);
}

TEST_F(BesideTest, TwoTracesLieAboveEachOtherAndZoomTogether) {
  compare({.microBatches = 6}, {.microBatches = 10}, QStringLiteral("trace"));
  auto both = canvases<timeline::TimelineCanvas>();
  ASSERT_EQ(both.size(), 2U);
  std::sort(both.begin(), both.end(), [](const auto* a, const auto* b) {
    return a->mapToGlobal(QPoint()).y() < b->mapToGlobal(QPoint()).y();
  });
  timeline::TimelineCanvas *source = both[0], *target = both[1];
  EXPECT_EQ(source->mapToGlobal(QPoint()).x(), target->mapToGlobal(QPoint()).x()) << "in line";
  EXPECT_EQ(source->width(), target->width());
  const auto length = [](const timeline::TimelineCanvas& canvas) {
    const geometry::TimeView view = canvas.window().view;
    return static_cast<double>((view.end() - view.start()).count);
  };
  EXPECT_NEAR(length(*source), length(*target), 4);
  const double all = length(*target);
  target->zoomBy(4);
  ASSERT_TRUE(settle());
  EXPECT_LT(length(*target), all / 2);
  EXPECT_NEAR(length(*source), length(*target), 4);
  source->panBy(0.3);
  ASSERT_TRUE(settle());
  EXPECT_NEAR(length(*source), length(*target), 4);
}

TEST_F(BesideTest, TwoPipelinesShowTheSameTimeAtTheSameLength) {
  compare({.microBatches = 6}, {.microBatches = 10}, QStringLiteral("pipeline"));
  const auto both = canvases<timeline::PipelineCanvas>();
  ASSERT_EQ(both.size(), 2U);
  const auto length = [](const timeline::PipelineCanvas& canvas) {
    return static_cast<double>((canvas.view().end() - canvas.view().start()).count);
  };
  EXPECT_NEAR(length(*both[0]), length(*both[1]), 4);
  EXPECT_EQ(both[0]->mapToGlobal(QPoint()).x(), both[1]->mapToGlobal(QPoint()).x()) << "in line";
  EXPECT_EQ(both[0]->width(), both[1]->width());
  both[0]->zoomBy(2);
  EXPECT_NEAR(length(*both[0]), length(*both[1]), 4);
  window->comparison().clear();
  ASSERT_TRUE(settle());
  EXPECT_EQ(canvases<timeline::PipelineCanvas>().size(), 1U);
}

TEST_F(BesideTest, AProfileBesideItselfHasNoChange) {
  compare({}, {}, QStringLiteral("operations"));
  for (const char* page : {"operations", "programs", "engines", "system", "memory", "summary", "insights"}) {
    showPage(QString::fromLatin1(page));
    for (const DataTable* found : window->currentPage()->findChildren<DataTable*>()) {
      const sections::SectionTable& both = found->model()->table();
      for (std::size_t c = 0; c < both.columns.size(); ++c) {
        if (!both.columns[c].key.starts_with("delta_")) continue;
        for (const auto& row : both.rows) {
          const auto* whole = std::get_if<std::int64_t>(&row[c]);
          const auto* real = std::get_if<double>(&row[c]);
          const double change = whole != nullptr ? static_cast<double>(*whole) : real != nullptr ? *real : 0;
          EXPECT_EQ(change, 0) << page << ' ' << both.columns[c].key;
        }
      }
    }
  }
}

TEST_F(BesideTest, OtherKindsOfProfilesAreShownBesideToo) {
  for (const FixtureOptions& options : {FixtureOptions{.fixed = true}, FixtureOptions{.imported = true},
                                        FixtureOptions{.runs = 0}, FixtureOptions{.inference = false}}) {
    compare(options, {}, QStringLiteral("summary"));
    for (const QString& id : window->pageIds()) {
      window->showPage(id);
      ASSERT_TRUE(settle()) << id.toStdString();
    }
    window->comparison().clear();
    ASSERT_TRUE(settle());
  }
}

TEST_F(BesideTest, AFileThatIsDroppedOnTheNameOfTheProfileIsCompared) {
  fixture = std::make_unique<ProfileFixture>(FixtureOptions{});
  open(fixture->profile(), QStringLiteral("stages"));
  QMimeData file;
  file.setUrls({QUrl::fromLocalFile(QStringLiteral("/no/such/source.pop"))});
  const auto* name = window->findChild<shell::Header*>();
  const QPoint onName = name->mapTo(window.get(), name->rect().center());
  dropOn(window.get(), onName, file);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->comparison().path(), QStringLiteral("/no/such/source.pop"));
}

TEST(RecentListTest, AProfileThatIsDroppedOnAnotherIsComparedWithIt) {
  const shell::Palette palette;
  shell::RecentList list(palette);
  list.resize(300, 400);
  list.add(QStringLiteral("one"), QStringLiteral("/one.pop"), {});
  list.add(QStringLiteral("two"), QStringLiteral("/two.pop"), {});
  list.show();
  QCoreApplication::processEvents();  // the cards get their places
  QSignalSpy wanted(&list, &shell::RecentList::comparisonWanted);
  bool isCard = true;
  const auto drop = [&](int row, const char* path) {
    QMimeData file;
    file.setUrls({QUrl::fromLocalFile(QString::fromLatin1(path))});
    if (isCard) file.setData(QStringLiteral("application/x-pipescope-recent-profile"), QByteArray("1"));
    const QPoint at = list.visualItemRect(list.item(row)).center();
    QDragEnterEvent enter(at, Qt::CopyAction, &file, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(list.viewport(), &enter);
    EXPECT_EQ(enter.isAccepted(), isCard) << "the window takes files of other programs";
    dropOn(list.viewport(), at, file);
  };
  isCard = false;
  drop(1, "/one.pop");
  EXPECT_EQ(wanted.size(), 0) << "the window opens it";
  isCard = true;
  drop(1, "/two.pop");
  EXPECT_EQ(wanted.size(), 0) << "it was dropped on itself";
  drop(1, "/one.pop");
  ASSERT_EQ(wanted.size(), 1);
  EXPECT_EQ(wanted[0][0].toString(), QStringLiteral("/one.pop"));
  EXPECT_EQ(wanted[0][1].toString(), QStringLiteral("/two.pop"));
}

/// The menu of a card offers what can be done with its file, and the other files to compare it with.
TEST(RecentListTest, TheMenuComparesAndRemovesMissingFiles) {
  const shell::Palette palette;
  shell::RecentList list(palette);
  QStringList paths;
  for (const char* name : {"one", "two", "gone", "lost"}) {
    paths << QStringLiteral("/nowhere/") + QString::fromLatin1(name);
    list.add(QString::fromLatin1(name), paths.back(), {});
    shell::ProfileCard card;
    card.isMissing = paths.size() > 2;
    list.setCard(paths.back(), card);
  }
  const auto actionOf = [](const QMenu& menu, const char* name) -> QAction* {
    for (QAction* action : menu.actions())
      if (action->text() == QLatin1String(name)) return action;
    return nullptr;
  };
  const std::unique_ptr<QMenu> one(list.makeMenu(*list.item(0))), gone(list.makeMenu(*list.item(2)));
  EXPECT_TRUE(actionOf(*one, "Open")->isEnabled());
  EXPECT_FALSE(actionOf(*gone, "Open")->isEnabled());
  EXPECT_FALSE(actionOf(*gone, "Compare with")->isEnabled());
  const QMenu* compare = actionOf(*one, "Compare with")->menu();
  ASSERT_EQ(compare->actions().size(), 1) << "the only other file that is there";
  QSignalSpy wanted(&list, &shell::RecentList::comparisonWanted),
      removed(&list, &shell::RecentList::removeWanted);
  compare->actions().front()->trigger();
  ASSERT_EQ(wanted.size(), 1);
  EXPECT_EQ(wanted[0], QVariantList({paths[1], paths[0]})) << "the card under the menu is the target";
  actionOf(*one, "Remove all missing files")->trigger();
  ASSERT_EQ(removed.size(), 2);
  EXPECT_EQ(removed[0][0].toString(), paths[2]);
  EXPECT_EQ(removed[1][0].toString(), paths[3]);
}

}  // namespace
}  // namespace pipescope::testing
