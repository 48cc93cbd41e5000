// Tests what the pipeline page draws between the passes, its labels, its colours and its axis.
#include <map>
#include <set>

#include "views/pages/parts/charts/legends.h"
#include "views/pages/parts/layout/facts.h"
#include "views/timeline/legend.h"
#include "views/timeline/pipeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using geometry::ColourRole;
using timeline::PipelineCanvas;

class PipelinePageTest : public WindowTest {
 protected:
  void openPipeline(const FixtureOptions& options = {}) {
    shell::WindowSettings().setValue(QStringLiteral("pipeline/as_grid"), 0);
    shell::WindowSettings().setValue(QStringLiteral("pipeline/colours"), 0);
    shell::WindowSettings().setValue(QStringLiteral("pipeline/critical"), false);
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), QStringLiteral("pipeline"));
    canvas = child<PipelineCanvas>();
    ASSERT_NE(canvas, nullptr);
    ASSERT_NE(canvas->scene().grid(), nullptr);
  }
  geometry::Shapes shapes() const {
    return canvas->scene().draw(canvas->view(), 0, 2000, timeline::LabelFont(canvas->font()).measure());
  }
  /// The colours that are drawn, with whether they are hatched.
  static std::set<std::pair<ColourRole, bool>> drawn(const geometry::Shapes& shapes) {
    std::set<std::pair<ColourRole, bool>> roles;
    for (std::size_t i = 0; i < shapes.fills.size(); ++i) {
      if (!shapes.fills[i].empty()) roles.emplace(static_cast<ColourRole>(i), false);
    }
    for (const geometry::Hatch& hatch : shapes.hatches) roles.emplace(hatch.role, true);
    return roles;
  }

  std::unique_ptr<ProfileFixture> fixture;
  PipelineCanvas* canvas = nullptr;
};

TEST_F(PipelinePageTest, WhatIsSaidOfTheCellBelowThePointerGoesWhenTheCellMovesAway) {
  openPipeline();
  int asked = 0;
  canvas->setDescriber([&asked](int) { return ++asked, QStringList{QStringLiteral("B0")}; });
  const QPoint pointer = canvas->cellRect(4).center();
  hover(canvas->viewport(), pointer);
  canvas->viewport()->grab();
  EXPECT_GT(asked, 0);
  // Six of these steps to the right are more than the width of the view.
  for (const Qt::Key key : {Qt::Key_W, Qt::Key_W}) QTest::keyClick(canvas, key);
  for (int i = 0; i < 6; ++i) QTest::keyClick(canvas, Qt::Key_D);
  ASSERT_FALSE(canvas->cellRect(4).contains(pointer));
  asked = 0;
  canvas->viewport()->grab();
  EXPECT_EQ(asked, 0);
}

/// A device of the second replica has no rows of its own: the one that does the same is lit, and the page
/// says so.
TEST_F(PipelinePageTest, ShowsTheRecordedDeviceForOneThatDoesTheSame) {
  openPipeline({.replicas = 2});
  const auto select = [&](std::int64_t device) {
    shell::Selected chip;
    chip.kind = shell::Selected::Kind::device;
    chip.device = model::DeviceId(device);
    window->select(QStringLiteral("pipeline"), chip);
    ASSERT_TRUE(settle());
  };
  select(6);
  ASSERT_GE(canvas->litRow(), 0);
  EXPECT_EQ(canvas->scene().grid()->rows[static_cast<std::size_t>(canvas->litRow())].device.value, 2);
  EXPECT_EQ(
      window->currentPage()->notice(),
      QStringLiteral("IPU6 is replica 1. It does the same as IPU2 at the same time, which is recorded for "
                     "both."));
  select(1);
  EXPECT_EQ(canvas->scene().grid()->rows[static_cast<std::size_t>(canvas->litRow())].device.value, 1);
  EXPECT_TRUE(window->currentPage()->notice().isEmpty());
}

TEST_F(PipelinePageTest, GapsShowTheirCauses) {
  openPipeline({.slowHost = true});
  const analysis::PipelineGrid& grid = *canvas->scene().grid();
  // The waits of the step by cause, from the profile's rows.
  std::map<std::pair<std::int64_t, model::WaitCause>, std::int64_t> waited, shown;
  for (const model::Wait& row : **fixture->profile()->rows<model::Wait>()) {
    if (row.run != grid.run) continue;
    const std::int64_t from = std::max(row.start, grid.span.start).count,
                       to = std::min(row.end, grid.span.end).count;
    if (to > from) waited[{row.device.value, row.cause}] += to - from;
  }
  std::set<std::string> names;
  const geometry::PipelineMarks& marks = *canvas->scene().marks();
  ASSERT_EQ(marks.size(), grid.rows.size());
  for (std::size_t row = 0; row < marks.size(); ++row) {
    base::Ticks before = grid.span.start;
    for (const geometry::PipelineMark& mark : marks[row]) {
      EXPECT_GE(mark.start, before) << "ascending, without overlap";
      before = mark.end;
      names.insert(mark.name);
      for (const std::int32_t cell : grid.rows[row].cells) {
        const analysis::PipelineCell& pass = grid.cells[static_cast<std::size_t>(cell)];
        EXPECT_TRUE(mark.end <= pass.start || mark.start >= pass.end) << "passes come first";
      }
      for (const auto cause :
           {model::WaitCause::fill, model::WaitCause::drain, model::WaitCause::slowerStage,
            model::WaitCause::exchange, model::WaitCause::host, model::WaitCause::update}) {
        if (mark.isWait && mark.name == model::toString(cause))
          shown[{grid.rows[row].device.value, cause}] += (mark.end - mark.start).count;
      }
    }
  }
  EXPECT_EQ(shown, waited) << "as on the trace";
  EXPECT_EQ(names.count(model::toString(model::Pass::hostIn)), 1U) << "host copies";
  EXPECT_GE(names.count(model::toString(model::Pass::sync)) + names.count("exchange"), 1U);
  picture("pipeline_gaps");
}

TEST_F(PipelinePageTest, LabelsLookAlike) {
  openPipeline();
  for (const double factor : {1.0, 0.5, 2.0, 4.0}) {
    canvas->zoomBy(factor);
    std::set<std::string> marks;
    for (const auto& row : *canvas->scene().marks()) {
      for (const auto& mark : row) marks.insert(mark.name);
    }
    int passes = 0;
    for (const geometry::Label& label : shapes().labels) {
      if (marks.contains(label.text)) continue;
      // The pass and its micro-batch, or where that has no room the micro-batch.
      EXPECT_NE(std::string("FB0123456789").find(label.text[0]), std::string::npos) << label.text;
      EXPECT_EQ(label.text.find("…"), std::string::npos) << label.text;
      ++passes;
    }
    EXPECT_GE(passes, 10) << factor;
  }
}

TEST_F(PipelinePageTest, ThirtyMicroBatchesHaveColoursOfTheirOwn) {
  openPipeline({.microBatches = 30});
  std::set<QRgb> colours;
  std::set<std::pair<std::int32_t, bool>> passes;
  for (const analysis::PipelineCell& cell : canvas->scene().grid()->cells) {
    const bool backward = cell.pass != model::Pass::forward;
    passes.emplace(cell.microBatch, backward);
    colours.insert(palette->colour(geometry::microBatchRole(cell.microBatch, backward)).rgb());
  }
  EXPECT_EQ(passes.size(), 60U);
  EXPECT_EQ(colours.size(), 60U);
  picture("pipeline_thirty");
}

TEST_F(PipelinePageTest, MoreThanTwelveMicroBatchesAreColouredByPassUntilTheUserChooses) {
  const auto colours = [&] { return child<QComboBox>(QStringLiteral("Colours")); };
  for (const auto& [microBatches, byPass] : {std::pair(12, 0), std::pair(13, 1), std::pair(8, 0)}) {
    shell::WindowSettings().remove(QStringLiteral("pipeline/colours"));
    fixture = std::make_unique<ProfileFixture>(FixtureOptions{.microBatches = microBatches});
    open(fixture->profile(), QStringLiteral("pipeline"));
    EXPECT_EQ(colours()->currentIndex(), byPass) << microBatches;
    EXPECT_EQ(child<PipelineCanvas>()->options().byMicroBatch, byPass == 0) << microBatches;
  }
  choose(colours(), 0);
  fixture = std::make_unique<ProfileFixture>(FixtureOptions{.microBatches = 30});
  open(fixture->profile(), QStringLiteral("pipeline"));
  EXPECT_EQ(colours()->currentIndex(), 0) << "as the user chose";
}

TEST_F(PipelinePageTest, ASingleStageHasNoFiguresOfAPipeline) {
  openPipeline({.stages = 1});
  auto* facts = child<pages::FactGrid>();
  EXPECT_FALSE(facts->value(QStringLiteral("Step time")).isEmpty());
  for (const char* name : {"Ramp-up", "Steady", "Ramp-down", "All stages work"})
    EXPECT_TRUE(facts->value(QString::fromUtf8(name)).isEmpty()) << name;
  const geometry::TextMeasure measure;
  EXPECT_EQ(canvas->scene().drawPhases(canvas->view(), measure).fillCount(), 0U);
  EXPECT_FALSE(canvas->scene().firstFull(canvas->view()).has_value());
  for (const timeline::LegendEntry& entry :
       pages::pipelineLegend(*canvas->scene().grid(), canvas->options(), canvas->scene().marks()))
    EXPECT_FALSE(entry.text.contains(QStringLiteral("ramp"))) << entry.text.toStdString();
  picture("pipeline_single_stage");
}

TEST_F(PipelinePageTest, TheLegendSaysWhichToneIsForward) {
  openPipeline();
  const auto entries =
      pages::pipelineLegend(*canvas->scene().grid(), canvas->options(), canvas->scene().marks());
  ASSERT_FALSE(entries.empty());
  EXPECT_TRUE(entries[0].text.startsWith(QStringLiteral("light: forward, dark: backward")));
}

TEST_F(PipelinePageTest, BackwardPassesHaveADarkerToneOfTheSameHue) {
  for (const shell::Theme theme : {shell::Theme::light, shell::Theme::dark}) {
    shell::Palette themed;
    themed.setTheme(theme);
    for (int i = 0; i < geometry::kMicroBatchHues; ++i) {
      const QColor forward = themed.colour(geometry::microBatchRole(i, false)).toHsl(),
                   backward = themed.colour(geometry::microBatchRole(i, true)).toHsl();
      const int apart = std::abs(forward.hslHue() - backward.hslHue());
      EXPECT_LE(std::min(apart, 360 - apart), 8) << i;
      EXPECT_GT(forward.lightness(), backward.lightness() + 20) << i;
    }
  }
}

TEST_F(PipelinePageTest, TheLegendHasEveryColourOnce) {
  openPipeline({.slowHost = true});
  for (int colours = 0; colours < 2; ++colours) {
    choose(child<QComboBox>(QStringLiteral("Colours")), colours);
    std::set<std::pair<ColourRole, bool>> named;
    std::set<std::pair<QRgb, bool>> squares;
    for (const timeline::LegendEntry& entry : child<timeline::Legend>()->entries()) {
      named.emplace(entry.role, entry.hatched);
      if (entry.also) named.emplace(*entry.also, entry.hatched);
    }
    for (const auto& [role, hatched] : drawn(shapes())) {
      // Boxes that are too narrow for hatching have the same colour without it.
      EXPECT_TRUE(named.contains({role, hatched}) || named.contains({role, true})) << geometry::roleKey(role);
    }
    for (const timeline::LegendEntry& entry : child<timeline::Legend>()->shown()) {
      EXPECT_TRUE(squares.emplace(palette->colour(entry.role).rgb(), entry.hatched).second)
          << entry.text.toStdString();
    }
  }
}

TEST_F(PipelinePageTest, TheLegendNamesOnlyPhasesThatThereAre) {
  const auto names = [](base::Ticks up, base::Ticks down) {
    analysis::PipelineGrid grid;
    grid.rows.resize(2);
    for (analysis::PipelineRow& row : grid.rows) row.stages = {0};
    grid.end = base::Ticks(10);
    grid.rampUpEnd = up;
    grid.rampDownStart = down;
    std::vector<std::string> found;
    for (const timeline::LegendEntry& entry : pages::pipelineLegend(grid, {}, nullptr))
      found.push_back(entry.text.toStdString());
    return found;
  };
  EXPECT_EQ(names(base::Ticks(0), base::Ticks(10)), std::vector<std::string>{"steady"});
  EXPECT_EQ(names(base::Ticks(5), base::Ticks(5)), std::vector<std::string>{"ramp-up, ramp-down"});
  EXPECT_EQ(names(base::Ticks(5), base::Ticks(10)).size(), 2U);
}

TEST_F(PipelinePageTest, TheLegendNamesAllMicroBatchesOfAColour) {
  const auto names = [](std::int64_t microBatches) {
    analysis::PipelineGrid grid;
    grid.shownMicroBatches = microBatches;
    std::vector<std::string> found;
    for (const timeline::LegendEntry& entry : pages::pipelineLegend(grid, {}, nullptr))
      found.push_back(entry.text.toStdString());
    return found;
  };
  static_assert(geometry::kMicroBatchHues == 30);
  const std::vector<std::string> few = names(32);
  ASSERT_EQ(few.size(), 30U);
  EXPECT_EQ(few[0], "micro-batch 0, 30");
  EXPECT_EQ(few[1], "1, 31");
  EXPECT_EQ(few[2], "2");
  const std::vector<std::string> many = names(62);
  EXPECT_EQ(many[1], "1, 31, …");
  EXPECT_EQ(many[2], "2, 32");
  EXPECT_EQ(names(3), (std::vector<std::string>{"micro-batch 0", "1", "2"}));
}

TEST_F(PipelinePageTest, TheAxisStartsAndEndsWithTheStep) {
  openPipeline();
  const analysis::PipelineGrid& grid = *canvas->scene().grid();
  ASSERT_GT(grid.span.start.count, 0) << "not the first call";
  ASSERT_LT(grid.end, grid.span.end) << "a weight update follows the flush";
  EXPECT_EQ(canvas->scene().start(), grid.span.start);
  EXPECT_EQ(canvas->scene().end(), grid.span.end);
  EXPECT_GE(canvas->view().x(grid.span.start), 0);
  EXPECT_LE(canvas->view().x(grid.span.end), canvas->view().width());
  bool update = false;
  for (const auto& row : *canvas->scene().marks()) {
    for (const geometry::PipelineMark& mark : row)
      update = update || (mark.role == ColourRole::update && mark.end > grid.end);
  }
  EXPECT_TRUE(update) << "the update behind the flush is drawn";
  geometry::TimeScale scale;
  const auto ticks = axisTicks(canvas->view(), scale, 100, grid.span.start);
  ASSERT_GT(ticks.size(), 3U);
  EXPECT_EQ(ticks.front().label, "0");
  EXPECT_NEAR(ticks.front().x, canvas->view().x(grid.span.start), 0.01);
}

TEST_F(PipelinePageTest, WordsBelowTheRowsCoverNoRow) {
  openPipeline();
  // The canvas is so low that the rows must scroll.
  canvas->setFixedHeight(140);
  ASSERT_TRUE(waitFor([&] { return canvas->height() == 140; }));
  const geometry::PipelineScene& scene = canvas->scene();
  const auto full = scene.firstFull(canvas->view());
  ASSERT_TRUE(full);
  const QImage picture = canvas->viewport()->grab().toImage();
  const int top = scene.metrics().top(), bottom = picture.height() - scene.metrics().foot;
  ASSERT_GT(scene.height(), bottom - top) << "there are more rows than room";
  const QColor accent = palette->ui(shell::Ui::accent);
  int above = 0, below = 0;
  for (int x = PipelineCanvas::kGutter + *full + 2; x < picture.width(); ++x) {
    for (int y = top; y < picture.height(); ++y) {
      if (picture.pixelColor(x, y) == accent) ++(y < bottom ? above : below);
    }
  }
  EXPECT_EQ(above, 0);
  EXPECT_GT(below, 0) << "the words are drawn below the rows";
}

TEST_F(PipelinePageTest, KeysThatComeFasterThanIterationsAreReadStopAtTheEnds) {
  openPipeline();
  const int last = canvas->scene().grid()->iterations - 1;
  ASSERT_GT(last, 1);
  for (const auto& [key, end] : {std::pair{Qt::Key_BracketRight, last}, {Qt::Key_BracketLeft, 0}}) {
    for (int i = 0; i < last + 3; ++i) QTest::keyClick(canvas, key);
    ASSERT_TRUE(settle());
    EXPECT_EQ(canvas->scene().grid()->iteration, end);
    EXPECT_FALSE(canvas->scene().grid()->cells.empty());
    EXPECT_EQ(window->currentPage()->notice(), QString());
  }
}

}  // namespace
}  // namespace pipescope::testing
