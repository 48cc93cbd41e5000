// Tests what the trace page shows: its first view, iterations and calls, rows and colours, units.
#include <QToolButton>
#include <set>

#include "trace_fixture.h"
#include "views/pages/parts/trace/trace_loading.h"
#include "views/timeline/legend.h"

namespace pipescope::testing {
namespace {

TEST_F(TracePageTest, OpensOnOneStepFromFillToFlush) {
  openTrace();
  ASSERT_EQ(trace().runs.size(), 1U);
  EXPECT_EQ(trace().runs[0].id, model::RunId(2)) << "the last training call";
  ASSERT_EQ(trace().iterations.size(), 4U);
  const analysis::IterationSpan& first = trace().iterations[0];
  EXPECT_LE(range().start(), first.start);
  EXPECT_GE(range().end(), first.end);
  const auto length = static_cast<double>((first.end - first.start).count);
  EXPECT_LT(range().view().span(), length * 1.05);
  EXPECT_TRUE(labels().contains(QStringLiteral("Iteration 0 of 0–3")));
  EXPECT_EQ(canvas->scene().layout().groups.size(), 6U)
      << "the pinned loss, four devices, and the host's own time";
  EXPECT_EQ(canvas->scene().layout().groups[0].device, geometry::kWholeRun);
  EXPECT_EQ(canvas->scene().layout().groups[2].title, "IPU1");
  EXPECT_EQ(canvas->scene().layout().groups[2].subtitle, "mk2 · stage 1");
  picture("trace_step");
}

TEST_F(TracePageTest, ShowsPassesByNameAndWaitsHatched) {
  openTrace();
  const geometry::Shapes shapes =
      canvas->scene().draw(canvas->window(), timeline::LabelFont(canvas->font()).measure());
  std::set<std::string> texts;
  for (const geometry::Label& label : shapes.labels) texts.insert(label.text);
  for (const char* text : {"F0", "F3", "R0", "B0", "B9", "slower stage", "fill", "drain", "layer2"})
    EXPECT_EQ(texts.count(text), 1U) << text;
  EXPECT_GT(shapes.hatches.size(), 40U);
  QStringList legend;
  for (const auto& entry : child<timeline::Legend>()->entries()) legend << entry.text;
  for (const char* text : {"forward", "recompute", "backward", "update", "compute", "exchange", "sync",
                           "slower stage", "host", "→ gradient"}) {
    EXPECT_TRUE(legend.contains(QString::fromUtf8(text))) << text;
  }
}

TEST_F(TracePageTest, TheLegendHasEveryColourOnce) {
  for (int which = 0; which < 6; ++which) {
    const int rows = which % 3;
    openTrace(which < 3 ? FixtureOptions{.slowHost = true} : FixtureOptions{.imported = true});
    canvas->zoomToAll();
    for (int colours = 0; colours < 2; ++colours) {
      choose(child<QComboBox>(QStringLiteral("Rows")), rows);
      choose(child<QComboBox>(QStringLiteral("Colours")), colours);
      std::set<geometry::ColourRole> named, hatched;
      for (const timeline::LegendEntry& entry : child<timeline::Legend>()->entries()) {
        (entry.hatched ? hatched : named).insert(entry.role);
        if (entry.also) named.insert(*entry.also);
      }
      geometry::TimelineWindow whole = canvas->window();
      whole.top = 0;
      whole.height = canvas->scene().layout().height;
      const geometry::Shapes shapes = canvas->scene().draw(whole, {});
      for (std::size_t i = 0; i < shapes.fills.size(); ++i) {
        const auto role = static_cast<geometry::ColourRole>(i);
        EXPECT_TRUE(shapes.fills[i].empty() || named.contains(role))
            << geometry::roleKey(role) << " " << rows << colours;
      }
      constexpr auto kOther = geometry::ColourRole::otherPass;
      EXPECT_EQ(named.contains(kOther), !shapes.fills[static_cast<std::size_t>(kOther)].empty());
      for (const geometry::Hatch& hatch : shapes.hatches)
        EXPECT_TRUE(hatched.contains(hatch.role)) << geometry::roleKey(hatch.role);
      for (const geometry::Label& label : shapes.labels) {
        EXPECT_TRUE(!label.hatched || label.text.find("…") == std::string::npos) << label.text;
      }
      std::set<std::pair<QRgb, bool>> squares;
      for (const timeline::LegendEntry& entry : child<timeline::Legend>()->shown()) {
        EXPECT_TRUE(squares.emplace(palette->colour(entry.role).rgb(), entry.hatched).second)
            << entry.text.toStdString();
      }
    }
  }
}

TEST_F(TracePageTest, NextAndPreviousStep) {
  openTrace();
  const auto shows = [&](int step) {
    const analysis::IterationSpan& span = trace().iterations[static_cast<std::size_t>(step)];
    return range().start() <= span.start && range().end() >= span.end &&
           range().view().span() < 1.1 * static_cast<double>((span.end - span.start).count);
  };
  QTest::keyClick(canvas, Qt::Key_BracketRight);
  EXPECT_TRUE(shows(1));
  EXPECT_TRUE(labels().contains(QStringLiteral("Iteration 1 of 0–3")));
  QTest::keyClick(canvas, Qt::Key_BracketRight);
  EXPECT_TRUE(shows(2));
  QTest::keyClick(canvas, Qt::Key_BracketLeft);
  EXPECT_TRUE(shows(1));
  for (QToolButton* button : window->currentPage()->findChildren<QToolButton*>()) {
    if (button->accessibleName() == QStringLiteral("Previous iteration ([)"))
      QTest::mouseClick(button, Qt::LeftButton);
  }
  EXPECT_TRUE(shows(0));
  EXPECT_TRUE(labels().contains(QStringLiteral("Iteration 0 of 0–3")));
}

TEST_F(TracePageTest, StepsLeadIntoTheNeighbouringCalls) {
  openTrace();
  QTest::keyClick(canvas, Qt::Key_BracketLeft);
  ASSERT_TRUE(settle());
  EXPECT_EQ(trace().runs[0].id, model::RunId(1));
  EXPECT_TRUE(labels().contains(QStringLiteral("Iteration 3 of 0–3")))
      << "a call entered from behind shows its last step";
  EXPECT_EQ(child<QComboBox>(QStringLiteral("Call"))->currentText(), QStringLiteral("Call 2"));
  QTest::keyClick(canvas, Qt::Key_BracketRight);
  ASSERT_TRUE(settle());
  EXPECT_EQ(trace().runs[0].id, model::RunId(2));
  EXPECT_TRUE(labels().contains(QStringLiteral("Iteration 0 of 0–3")));
}

TEST_F(TracePageTest, CallsAreChosen) {
  openTrace();
  auto* calls = child<QComboBox>(QStringLiteral("Call"));
  ASSERT_EQ(calls->count(), 4);
  choose(calls, 3);
  ASSERT_TRUE(settle());
  EXPECT_EQ(trace().runs.size(), 3U);
  EXPECT_EQ(trace().iterations.size(), 12U);
  choose(calls, 0);
  ASSERT_TRUE(settle());
  EXPECT_EQ(trace().runs.size(), 1U);
  EXPECT_EQ(trace().runs[0].id, model::RunId(0));
}

TEST_F(TracePageTest, RowsAndColoursAreChosen) {
  openTrace();
  const auto rows = [&] { return canvas->scene().layout().rows.size(); };
  const std::size_t flame = rows();
  const TimelineItem pass = findPass(2, model::Pass::forward, 5, 0);
  canvas->select(pass);
  choose(child<QComboBox>(QStringLiteral("Rows")), 1);
  EXPECT_LT(rows(), flame);
  EXPECT_EQ(canvas->scene().labelOf(canvas->selected()), "F5") << "the selection stays";
  picture("trace_flat");
  choose(child<QComboBox>(QStringLiteral("Rows")), 2);
  std::size_t activities = 0;
  for (const auto& row : canvas->scene().layout().rows) activities += row.kind == RowKind::activity;
  EXPECT_EQ(activities, 4U);
  QTest::keyClick(canvas, Qt::Key_M);
  const geometry::Shapes shapes = canvas->scene().draw(canvas->window(), {});
  EXPECT_TRUE(shapes.fills[static_cast<std::size_t>(geometry::ColourRole::forward)].empty());
  EXPECT_FALSE(shapes.fills[static_cast<std::size_t>(geometry::microBatchRole(3, false))].empty());
  picture("trace_micro_batches");
}

TEST_F(TracePageTest, RowHeightsFitOrAreChosen) {
  openTrace();
  const auto height = [&] {
    for (const auto& row : canvas->scene().layout().rows) {
      if (row.kind == RowKind::flame) return row.height;
    }
    return 0;
  };
  EXPECT_LE(canvas->scene().layout().height, canvas->window().height) << "all devices are seen at once";
  const int fitted = height();
  QTest::keyClick(canvas, Qt::Key_W, Qt::ShiftModifier);
  EXPECT_EQ(height(), fitted + 3);
  wheel({TimelineCanvas::kGutter + 50, 200}, 120, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(height(), fitted + 6);
  QTest::keyClick(canvas, Qt::Key_S, Qt::ShiftModifier);
  EXPECT_EQ(height(), fitted + 3);
  QTest::keyClick(canvas, Qt::Key_R, Qt::ShiftModifier);
  EXPECT_EQ(height(), fitted);
  window->resize(1600, 700);
  ASSERT_TRUE(settle());
  EXPECT_LE(height(), 15);
}

TEST_F(TracePageTest, TimeInSeconds) {
  openTrace();
  const TimelineItem pass = findPass(1, model::Pass::backward, 4, 0);
  canvas->select(pass);
  QTest::keyClick(window.get(), Qt::Key_U, Qt::ControlModifier | Qt::ShiftModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(detail(QStringLiteral("Length")), QStringLiteral("98.8 µs"));
  EXPECT_TRUE(canvas->selected()) << "nothing but the figures changed";
}

TEST_F(TracePageTest, TheAxisUnitIsALink) {
  openTrace();
  QTest::mouseClick(canvas->viewport(), Qt::LeftButton, {},
                    {TimelineCanvas::kGutter - 20, TimelineCanvas::kStepBand + 8});
  ASSERT_TRUE(settle());
  EXPECT_EQ(shell::WindowSettings().value(QStringLiteral("time_unit")).toString(), QStringLiteral("time"));
  canvas->select(findPass(1, model::Pass::backward, 4, 0));
  EXPECT_EQ(detail(QStringLiteral("Length")), QStringLiteral("98.8 µs"));
  QTest::mouseClick(canvas->viewport(), Qt::LeftButton, {},
                    {TimelineCanvas::kGutter - 20, TimelineCanvas::kStepBand + 8});
  ASSERT_TRUE(settle());
  EXPECT_EQ(shell::WindowSettings().value(QStringLiteral("time_unit")).toString(), QStringLiteral("cycles"));
}

TEST_F(TracePageTest, PlacesAreShown) {
  openTrace();
  const base::Ticks inFirstCall(1'000'000);
  window->go({QStringLiteral("trace"), inFirstCall, -1});
  ASSERT_TRUE(settle());
  EXPECT_EQ(trace().runs[0].id, model::RunId(0));
  EXPECT_LE(range().start(), inFirstCall);
  EXPECT_GE(range().end(), inFirstCall);
  EXPECT_LT(range().view().span(), 500'000);
}

TEST_F(TracePageTest, FixedSystemsHaveNoStepsAndCostUnits) {
  openTrace({.fixed = true});
  for (const auto& row : canvas->scene().layout().rows) EXPECT_NE(row.kind, RowKind::flame);
  canvas->select(findPass(0, model::Pass::forward, 0, 0));
  EXPECT_EQ(detail(QStringLiteral("Length")), QStringLiteral("1.03 cost units"));
}

TEST_F(TracePageTest, AFrameCostsLittle) {
  openTrace();
  choose(child<QComboBox>(QStringLiteral("Call")), 3);
  ASSERT_TRUE(settle());
  canvas->zoomToAll();
  canvas->viewport()->repaint();
  const geometry::Shapes shapes = canvas->scene().draw(canvas->window(), {});
  const auto width = static_cast<std::size_t>(canvas->window().view.width());
  EXPECT_LE(shapes.fillCount(), width * canvas->scene().layout().rows.size());
  EXPECT_GT(canvas->lastDrawMs(), 0);
  picture("trace_all");
}

TEST_F(TracePageTest, ALongTraceIsThereBeforeItsCounters) {
  const auto loaded = [](const FixtureOptions& options, std::vector<bool>& withCounters) {
    const ProfileFixture made(options);
    base::SilentProgress progress;
    const auto catalog = *analysis::loadCatalog(*made.profile());
    analysis::TraceRequest request;
    request.executable = catalog->executables.front().id;
    const auto hasCounters = [](const pages::TimelineModelPointer& model) {
      return model->counters && !model->counters->empty();
    };
    const auto whole = pages::loadTimeline(
        *made.profile(), *catalog, request, progress,
        [&](const pages::TimelineModelPointer& first) { withCounters.push_back(hasCounters(first)); });
    ASSERT_TRUE(whole.ok());
    withCounters.push_back(hasCounters(*whole));
  };
  std::vector<bool> ofShort, ofLong;
  loaded({}, ofShort);
  EXPECT_EQ(ofShort, (std::vector<bool>{true}));
  loaded({.iterations = 800, .runs = 1, .inference = false}, ofLong);
  EXPECT_EQ(ofLong, (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace pipescope::testing
