// Tests the page that compares the window's profile with another one.
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QTemporaryDir>
#include <QUrl>
#include <numeric>
#include <set>

#include "profiler/sections/frame/section.h"
#include "profiler/store/profile_writer.h"
#include "views/pages/parts/charts/compare_charts.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/trace/two_traces.h"
#include "views/shell/comparison.h"
#include "views/timeline/legend.h"
#include "views/timeline/pipeline_canvas.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::DataTable;
using pages::FigureCard;
using pages::StepWaterfall;

class ComparePageTest : public WindowTest {
 protected:
  void compare(const FixtureOptions& source, const FixtureOptions& target) {
    fixture = std::make_unique<ProfileFixture>(target);
    open(fixture->profile(), QStringLiteral("compare"));
    other = std::make_unique<ProfileFixture>(source);
    window->comparison().openSource({other->profile(), {}, {}}, QStringLiteral("source.pop"));
    ASSERT_TRUE(settle());
  }
  DataTable* table(const QString& title) const {
    for (DataTable* found : window->currentPage()->findChildren<DataTable*>()) {
      if (found->title() == title) return found;
    }
    return nullptr;
  }

  std::unique_ptr<ProfileFixture> fixture, other;
};

TEST_F(ComparePageTest, SaysHowToChooseASource) {
  fixture = std::make_unique<ProfileFixture>(FixtureOptions{});
  open(fixture->profile(), QStringLiteral("compare"));
  EXPECT_TRUE(window->currentPage()->notice().contains(QStringLiteral("Compare with")))
      << window->currentPage()->notice().toStdString();
}

TEST_F(ComparePageTest, TheWaterfallAddsUpExactly) {
  compare({.microBatches = 6}, {.microBatches = 10});
  const std::vector<double>& values = child<StepWaterfall>()->values();
  ASSERT_EQ(values.size(), 6U) << "source, four parts, target";
  EXPECT_NEAR(std::accumulate(values.begin(), values.end() - 1, 0.0), values.back(), 1e-6 * values.back());
  EXPECT_NE(values.front(), values.back());
  picture("compare");
}

TEST_F(ComparePageTest, CardsHaveSignedChanges) {
  compare({.microBatches = 6}, {.microBatches = 10});
  bool found = false;
  for (const FigureCard* card : window->currentPage()->findChildren<FigureCard*>()) {
    if (card->caption() != QStringLiteral("Step time")) continue;
    found = true;
    EXPECT_TRUE(card->value().startsWith(QLatin1Char('+'))) << card->value().toStdString();
    EXPECT_TRUE(card->detailShown(400).contains(QStringLiteral("→"))) << card->detailShown(400).toStdString();
    EXPECT_TRUE(card->toolTip().contains(QStringLiteral("before, 80 %: ")) &&
                card->toolTip().contains(QStringLiteral("; now, 80 %: ")))
        << card->toolTip().toStdString();
  }
  EXPECT_TRUE(found);
}

TEST_F(ComparePageTest, TimesOfAModelThatDoesNotFitAreHypothetical) {
  const auto captions = [&] {
    QStringList all;
    for (const FigureCard* card : window->currentPage()->findChildren<FigureCard*>()) all << card->caption();
    return all;
  };
  for (const bool first : {true, false}) {
    compare({.overflow = first}, {.overflow = !first});
    EXPECT_TRUE(captions().contains(QStringLiteral("Hypothetical step time"))) << first;
    EXPECT_TRUE(captions().contains(QStringLiteral("Hypothetical samples/s"))) << first;
    EXPECT_TRUE(captions().contains(QStringLiteral("Bubble"))) << first;
    QString words;
    for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) words += label->text();
    EXPECT_TRUE(words.contains(first ? QStringLiteral("The source's model does not fit")
                                     : QStringLiteral("The target's model does not fit")))
        << words.toStdString();
  }
  compare({}, {.microBatches = 6});
  EXPECT_FALSE(captions().join(QLatin1Char(' ')).contains(QStringLiteral("ypothetical")));
}

TEST_F(ComparePageTest, TheStagesPageShowsBothProfiles) {
  compare({.microBatches = 6}, {.microBatches = 10});
  showPage(QStringLiteral("stages"));
  DataTable* both = table(QStringLiteral("Passes and waits of each stage"));
  ASSERT_NE(both, nullptr);
  ASSERT_TRUE(both->isVisibleTo(window->currentPage()));
  const sections::SectionTable& shown = both->model()->table();
  EXPECT_TRUE(QString::fromStdString(shown.basis).startsWith(QStringLiteral("source: source.pop; ")));
  std::set<std::string> headings;
  for (const sections::SectionColumn& column : shown.columns) headings.insert(column.heading);
  for (const char* heading : {"Stage", "What", "Source", "Target", "Change"})
    EXPECT_TRUE(headings.contains(heading)) << heading;
  // The passes are the fixture's, whatever the number of micro-batches.
  const auto forward = static_cast<double>(fixture->facts().forwardTicks[0]);
  EXPECT_EQ(std::get<double>(shown.rows[0][2]), forward);
  EXPECT_EQ(std::get<double>(shown.rows[0][3]), forward);
  EXPECT_TRUE(table(QStringLiteral("Memory of each stage"))->isVisibleTo(window->currentPage()));
  window->comparison().clear();
  ASSERT_TRUE(settle());
  EXPECT_FALSE(both->isVisibleTo(window->currentPage()));
}

TEST_F(ComparePageTest, AProfileEqualsItself) {
  compare({}, {});
  for (const FigureCard* card : window->currentPage()->findChildren<FigureCard*>())
    EXPECT_TRUE(card->value() == QStringLiteral("no change") || card->value() == QStringLiteral("–"))
        << card->caption().toStdString() << card->value().toStdString();
}

TEST_F(ComparePageTest, TablesNameSourceAndTarget) {
  compare({.microBatches = 6}, {.microBatches = 10});
  DataTable* step = table(QStringLiteral("The iteration"));
  ASSERT_NE(step, nullptr);
  QStringList headings;
  for (int c = 0; c < step->model()->columnCount(); ++c)
    headings << step->model()->headerData(c, Qt::Horizontal, Qt::DisplayRole).toString();
  EXPECT_TRUE(headings.contains(QStringLiteral("Source")) && headings.contains(QStringLiteral("Target")) &&
              headings.contains(QStringLiteral("Change")))
      << headings.join(' ').toStdString();
  // More time for more micro-batches is no change for the worse; for the same work it is one.
  const int change = headings.indexOf(QStringLiteral("Change"));
  EXPECT_FALSE(step->model()->index(0, change).data(pages::SectionTableModel::kChangeRole).isValid());
  const auto colourOf = [&](const QString& caption) {
    for (const FigureCard* card : window->currentPage()->findChildren<FigureCard*>()) {
      if (card->caption() == caption) return card->colour();
    }
    return shell::Ui::accent;
  };
  EXPECT_EQ(colourOf(QStringLiteral("Step time")), shell::Ui::text);
  compare({}, {.slowHost = true});
  step = table(QStringLiteral("The iteration"));
  EXPECT_EQ(step->model()->index(0, change).data(pages::SectionTableModel::kChangeRole).toInt(), 1);
  EXPECT_EQ(colourOf(QStringLiteral("Step time")), shell::Ui::error);
}

TEST_F(ComparePageTest, NothingIsCutInANarrowWindow) {
  compare({.microBatches = 6}, {.microBatches = 10});
  for (const QSize size : {QSize(1600, 900), QSize(1024, 700)}) {
    window->resize(size);
    ASSERT_TRUE(settle());
    QTest::qWait(0);
    auto* area = child<pages::ColumnsArea>();
    EXPECT_LE(area->widget()->width(), area->viewport()->width()) << size.width();
  }
}

TEST_F(ComparePageTest, ChangesHaveASignUnlessTheyAreZero) {
  compare({.microBatches = 6}, {.microBatches = 10});
  const DataTable* step = table(QStringLiteral("The iteration"));
  ASSERT_NE(step, nullptr);
  int change = 0;
  for (int c = 0; c < step->model()->columnCount(); ++c) {
    if (step->model()->headerData(c, Qt::Horizontal, Qt::DisplayRole) == QStringLiteral("Change")) change = c;
  }
  EXPECT_TRUE(step->model()->index(0, change).data().toString().startsWith(QLatin1Char('+')));
  // A change may be less than nothing, so none has a bar.
  for (int c = 0; c < step->model()->columnCount(); ++c)
    EXPECT_FALSE(step->model()->index(0, c).data(pages::SectionTableModel::kShareRole).isValid()) << c;
  for (int r = 0; r < step->model()->rowCount(); ++r) {
    const QString shown = step->model()->index(r, change).data().toString();
    if (shown != QStringLiteral("0") && shown != QStringLiteral("0 B")) continue;
    EXPECT_FALSE(step->model()->index(r, change).data(pages::SectionTableModel::kChangeRole).isValid()) << r;
  }
}

TEST_F(ComparePageTest, BothPipelinesAreDrawnToOneScale) {
  compare({.microBatches = 6}, {.microBatches = 10});
  auto* source = child<timeline::PipelineCanvas>(QStringLiteral("Pipeline of the source"));
  auto* target = child<timeline::PipelineCanvas>(QStringLiteral("Pipeline of the target"));
  ASSERT_TRUE(source->isVisible() && target->isVisible());
  const auto inSight = [](const timeline::PipelineCanvas& canvas) {
    const geometry::TimeView& view = canvas.view();
    return std::pair((view.start() - canvas.scene().start()).count,
                     (view.end() - canvas.scene().start()).count);
  };
  ASSERT_LT(source->scene().end() - source->scene().start(), target->scene().end() - target->scene().start());
  EXPECT_EQ(source->width(), target->width());
  EXPECT_NEAR(inSight(*source).first, inSight(*target).first, 2);
  EXPECT_NEAR(inSight(*source).second, inSight(*target).second, 2);
  source->zoomBy(3);
  EXPECT_NEAR(inSight(*source).second, inSight(*target).second, 2) << "they zoom together";
  // 100 pixels are as much time on both sides.
  EXPECT_DOUBLE_EQ(source->view().ticksPerPixel(), target->view().ticksPerPixel());
}

TEST_F(ComparePageTest, GapsOfBothPipelinesHaveTheirCausesAndALegend) {
  compare({.microBatches = 6}, {.microBatches = 10});
  for (const char* name : {"Pipeline of the source", "Pipeline of the target"}) {
    const geometry::PipelineScene& scene =
        child<timeline::PipelineCanvas>(QString::fromLatin1(name))->scene();
    ASSERT_NE(scene.marks(), nullptr) << name;
    for (std::size_t row = 0; row < scene.marks()->size(); ++row) {
      // Nothing before the first pass is left without an explanation.
      const std::vector<geometry::PipelineMark>& marks = (*scene.marks())[row];
      const auto& cells = scene.grid()->rows[row].cells;
      ASSERT_FALSE(marks.empty() || cells.empty()) << name << row;
      EXPECT_EQ(marks.front().start, scene.start()) << name << row;
      base::Ticks explained = scene.start();
      for (const geometry::PipelineMark& mark : marks) {
        if (mark.start == explained) explained = mark.end;
      }
      EXPECT_GE(explained, scene.grid()->cells[static_cast<std::size_t>(cells.front())].start) << name << row;
    }
  }
  const auto* panel = child<pages::TwoPipelines>();
  QStringList names;
  for (const timeline::LegendEntry& entry : panel->findChild<timeline::Legend*>()->entries())
    names << entry.text;
  EXPECT_TRUE(names.contains(QStringLiteral("host in"))) << names.join(' ').toStdString();
  EXPECT_TRUE(names.filter(QStringLiteral("waits: ")).size() == 1) << names.join(' ').toStdString();
  EXPECT_TRUE(names.contains(QStringLiteral("9"))) << "the target has ten micro-batches";
}

TEST_F(ComparePageTest, AChangeThatCannotBeSeenIsNone) {
  compare({}, {.slowHost = true});
  for (const FigureCard* card : window->currentPage()->findChildren<FigureCard*>()) {
    EXPECT_FALSE(card->value().startsWith(QStringLiteral("−0.0"))) << card->caption().toStdString();
    if (card->value() != QStringLiteral("no change")) continue;
    EXPECT_EQ(card->colour(), shell::Ui::text) << card->caption().toStdString();
  }
}

TEST_F(ComparePageTest, BothTracesZoomTogether) {
  compare({.microBatches = 6}, {.microBatches = 10});
  const auto* traces = child<pages::TwoTraces>();
  ASSERT_TRUE(traces->isVisibleTo(window->currentPage()));
  timeline::TimelineCanvas *source = traces->source(), *target = traces->target();
  ASSERT_FALSE(source->scene().empty());
  ASSERT_FALSE(target->scene().empty());
  // Seconds since the beginning of the call at the left and the right edge.
  const auto edges = [](const timeline::TimelineCanvas& canvas) {
    const auto& trace = *canvas.scene().model()->trace;
    const geometry::TimeView view = canvas.window().view;
    return std::pair(static_cast<double>((view.start() - trace.start).count),
                     static_cast<double>((view.end() - trace.start).count));
  };
  const auto same = [&](const char* when) {
    EXPECT_NEAR(edges(*source).first, edges(*target).first, 4) << when;
    EXPECT_NEAR(edges(*source).second, edges(*target).second, 4) << when;
  };
  same("at the beginning");
  for (const timeline::TimelineCanvas* canvas : {source, target})
    EXPECT_EQ(canvas->axisOrigin(), canvas->scene().model()->trace->start) << "the axis begins with the call";
  const auto all = edges(*target);
  target->zoomBy(4);
  ASSERT_TRUE(settle());
  same("after the target was zoomed");
  EXPECT_LT(edges(*source).second - edges(*source).first, (all.second - all.first) / 2);
  source->panBy(0.3);
  ASSERT_TRUE(settle());
  same("after the source was moved");
}

TEST_F(ComparePageTest, ProfilesWithoutTimesOrMemoryAreComparedToo) {
  for (const FixtureOptions& options :
       {FixtureOptions{.fixed = true}, FixtureOptions{.imported = true}, FixtureOptions{.overflow = true}}) {
    compare(options, {});
    EXPECT_TRUE(window->currentPage()->notice().isEmpty()) << window->currentPage()->notice().toStdString();
    window->comparison().clear();
    ASSERT_TRUE(settle());
    // A card that has no figure on either side says nothing.
    compare(options, options);
    int shown = 0;
    for (const FigureCard* card : window->currentPage()->findChildren<FigureCard*>()) {
      if (!card->isVisibleTo(window->currentPage())) continue;
      ++shown;
      EXPECT_NE(card->value(), QStringLiteral("–")) << card->caption().toStdString();
    }
    EXPECT_EQ(shown, options.overflow ? 6 : 4) << "memory is known of one of them only";
    window->comparison().clear();
    ASSERT_TRUE(settle());
  }
}

TEST_F(ComparePageTest, AProfileThatDidNotRunIsASentence) {
  compare({.runs = 0}, {});
  EXPECT_EQ(window->currentPage()->notice(),
            QStringLiteral("The first profile has no call of this executable: there is no time to compare."));
}

TEST_F(ComparePageTest, AFileThatCannotBeReadIsASentence) {
  fixture = std::make_unique<ProfileFixture>(FixtureOptions{});
  open(fixture->profile());
  window->compareWith(QStringLiteral("/no/such/profile.pop"));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->currentPage()->notice().contains(QStringLiteral("/no/such/profile.pop")))
      << window->currentPage()->notice().toStdString();
}

TEST_F(ComparePageTest, RecentComparisonsAreRemembered) {
  shell::WindowSettings settings;
  settings.addRecentComparison(QStringLiteral("a.pop"), QStringLiteral("b.pop"));
  settings.addRecentComparison(QStringLiteral("c.pop"), QStringLiteral("b.pop"));
  settings.addRecentComparison(QStringLiteral("a.pop"), QStringLiteral("b.pop"));
  ASSERT_EQ(settings.recentComparisons().size(), 2);
  EXPECT_EQ(settings.recentComparisons()[0], qMakePair(QStringLiteral("a.pop"), QStringLiteral("b.pop")));
  EXPECT_EQ(settings.recentComparisons()[1], qMakePair(QStringLiteral("c.pop"), QStringLiteral("b.pop")));
}

}  // namespace
}  // namespace pipescope::testing
