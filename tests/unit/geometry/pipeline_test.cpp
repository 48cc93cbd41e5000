// The pipeline as cells: columns of the four-stage picture that everybody knows, and where cells are drawn.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "profiler/analysis/pipeline/pipeline_grid.h"
#include "profiler/geometry/timeline/pipeline_marks.h"
#include "profiler/geometry/timeline/pipeline_scene.h"
#include "profiler/record/memory_profile.h"
#include "profiler/record/recorder.h"

namespace pipescope::geometry {
namespace {

using analysis::PipelineGrid;
using model::Pass;

/// The schedule with one cycle's forward and backward on each stage: forward of m on stage s in cycle m + s,
/// backward in cycle m + 2N − 2 − s. Each half takes 10 ticks.
struct CycleProfile {
  record::MemoryProfile profile;
  record::Recorder recorder{profile};
  model::ExecutableId executable;

  CycleProfile(int stages, int microBatches, bool slots) {
    model::Executable row;
    row.name = "training";
    row.stages = stages;
    row.microBatches = microBatches;
    row.deviceIterations = 1;
    executable = recorder.add(row);
    for (int s = 0; s < stages; ++s) {
      model::Device device;
      device.name = "D" + std::to_string(s);
      const auto id = recorder.add(device);
      recorder.add(model::Stage{executable, s, id, "B", 0, {}});
      for (const Pass pass : {Pass::forward, Pass::backward})
        recorder.add(model::Segment{{}, executable, id, {}, s, 0, pass, "work", Ticks(10)});
    }
    const int cycles = microBatches + 2 * stages - 2;
    for (int cycle = 0; cycle < cycles; ++cycle) {
      for (int s = 0; s < stages; ++s) {
        const int forward = cycle - s, backward = cycle - (2 * stages - 2 - s);
        if (forward >= 0 && forward < microBatches)
          place(s, Pass::forward, forward, slots ? cycle : -1, cycle * 20);
        if (backward >= 0 && backward < microBatches)
          place(s, Pass::backward, backward, slots ? cycle : -1, cycle * 20 + 10);
      }
    }
    model::Run run;
    run.executable = executable;
    run.end = Ticks(cycles * 20);
    recorder.add(run);
    EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  }

  void place(int stage, Pass pass, int microBatch, int slot, std::int64_t start) {
    model::Placement row;
    row.segment = model::SegmentId(stage * 2 + (pass == Pass::forward ? 0 : 1));
    row.device = model::DeviceId(stage);
    row.start = Ticks(start);
    row.end = Ticks(start + 10);
    row.run = model::RunId(0);
    row.stage = stage;
    row.pass = pass;
    row.microBatch = microBatch;
    row.iteration = 0;
    row.slot = slot;
    recorder.add(row);
  }

  std::shared_ptr<const PipelineGrid> grid(std::int64_t mostCells = 60'000) {
    const auto catalog = analysis::loadCatalog(profile);
    EXPECT_TRUE(catalog.ok());
    base::SilentProgress progress;
    auto made = analysis::pipelineGrid(profile, **catalog, {executable, {}, 0, mostCells}, progress);
    EXPECT_TRUE(made.ok());
    return std::make_shared<const PipelineGrid>(*std::move(made));
  }
};

/// The micro-batches in a column, from the last stage to the first, as the picture's caption lists them.
std::string column(const PipelineGrid& grid, int wanted) {
  std::string text;
  for (auto row = grid.rows.rbegin(); row != grid.rows.rend(); ++row) {
    for (const std::int32_t index : row->cells) {
      const analysis::PipelineCell& cell = grid.cells[static_cast<std::size_t>(index)];
      if (cell.column == wanted)
        text =
            std::string(cell.pass == Pass::forward ? "F" : "B") + std::to_string(cell.microBatch + 1) + text;
    }
  }
  return text;
}

TEST(PipelineGrid, HasTheColumnsOfTheFourStagePicture) {
  CycleProfile made(4, 8, true);
  const auto grid = made.grid();
  ASSERT_EQ(grid->rows.size(), 4U);
  const char* const picture[] = {"F1",   "F2F1",     "F3F2F1", "F4F3F2F1", "B1",       "F5F4F3F2",
                                 "B1B2", "F6F5F4F3", "B1B2B3", "F7F6F5F4", "B1B2B3B4", "F8F7F6F5"};
  for (int c = 0; c < 12; ++c) EXPECT_EQ(column(*grid, c), picture[c]) << c;
  // Nine columns before the first that both halves of all four fill; in cycles: number 2N − 2, from 0.
  EXPECT_EQ(grid->firstFullColumn, 9);
  EXPECT_EQ(grid->firstFullSlot, 6);
  EXPECT_EQ(grid->heads[4], "3 B");
}

TEST(PipelineGrid, WithoutCyclesColumnsFollowTheOrderOfWork) {
  CycleProfile made(2, 3, false);
  const auto grid = made.grid();
  EXPECT_FALSE(grid->hasSlots);
  // D0: F0 F1 F2 .. B0 ..; D1: . F0 B0 F1 B1 F2 B2
  EXPECT_EQ(column(*grid, 0), "F1");
  EXPECT_EQ(column(*grid, 1), "F2F1");
  for (const analysis::PipelineCell& cell : grid->cells) {
    for (const analysis::PipelineCell& other : grid->cells) {
      const bool before =
          other.microBatch == cell.microBatch && other.pass == cell.pass &&
          (cell.pass == Pass::forward ? other.stage == cell.stage - 1 : other.stage == cell.stage + 1);
      if (before) {
        EXPECT_LT(other.column, cell.column);
      }
      if (&other != &cell && other.row == cell.row) {
        EXPECT_NE(other.column, cell.column);
      }
    }
  }
}

TEST(PipelineGrid, TheSteadyPartHasTheFullCycles) {
  CycleProfile made(4, 8, true);
  const auto grid = made.grid();
  EXPECT_EQ(grid->start, Ticks(0));
  // Stage s does forward m in cycle m + s and backward m in cycle m + 6 − s, so all do both in cycles 6
  // and 7.
  EXPECT_EQ(grid->rampUpEnd, Ticks(120));
  EXPECT_EQ(grid->rampDownStart, Ticks(160));
  EXPECT_EQ(grid->end, Ticks(280));
}

TEST(PipelineGrid, LongStepsShowTheirFirstMicroBatches) {
  CycleProfile made(2, 8, true);
  const auto grid = made.grid(8);
  EXPECT_EQ(grid->microBatches, 8);
  EXPECT_EQ(grid->shownMicroBatches, 2);
  for (const analysis::PipelineCell& cell : grid->cells) EXPECT_LT(cell.microBatch, 2);
}

PipelineScene scene(const PipelineOptions& options) {
  CycleProfile made(4, 8, true);
  return PipelineScene(made.grid(), options);
}

TEST(PipelineScene, CellsOfATableAreEqual) {
  const PipelineScene made = scene({true, true, false, -1});
  const int columns = made.grid()->columns;
  const TimeView view(made.start(), made.end(), columns * 20);
  for (int cell = 0; cell < static_cast<int>(made.grid()->cells.size()); ++cell) {
    const Box box = made.boxOf(view, 0, cell);
    EXPECT_EQ(box.width, 19) << cell;
    EXPECT_EQ(made.cellAt(view, 0, box.x + 5, box.y + 5), cell);
  }
  EXPECT_EQ(made.cellAt(view, 0, 5, made.metrics().row + 1), -1) << "between rows is nothing";
  EXPECT_EQ(made.firstFull(view), 9 * 20);
}

TEST(PipelineScene, HeadsStandAboveTheirColumnsWhereTheyHaveRoom) {
  const PipelineScene made = scene({true, true, false, -1});
  const int columns = made.grid()->columns;
  const auto heads = [&](int pixels) {
    return made.drawHeads(TimeView(made.start(), made.end(), columns * pixels), TextMeasure()).labels;
  };
  const auto wide = heads(60);
  ASSERT_EQ(wide.size(), static_cast<std::size_t>(columns));
  for (int c = 0; c < columns; ++c) {
    const Label& label = wide[static_cast<std::size_t>(c)];
    EXPECT_EQ(label.text, made.grid()->heads[static_cast<std::size_t>(c)]);
    EXPECT_EQ(label.box, (Box{c * 60, 0, 60, made.metrics().head}));
  }
  EXPECT_TRUE(heads(7).empty());
  TextMeasure narrow;
  narrow.width = [](const std::string&) { return 8; };
  const TimeView eight(made.start(), made.end(), columns * 8);
  EXPECT_FALSE(made.drawHeads(eight, narrow).labels.empty());
}

TEST(PipelineScene, TheFirstFullCycleIsMarkedAtItsTime) {
  const PipelineScene made = scene({});
  EXPECT_EQ(made.firstFull(TimeView(Ticks(0), Ticks(280), 280)), 120);  // rampUpEnd, see above
  EXPECT_EQ(made.firstFull(TimeView(Ticks(120), Ticks(280), 160)), 0);
  EXPECT_EQ(made.firstFull(TimeView(Ticks(20), Ticks(120), 100)), 100);
  EXPECT_FALSE(made.firstFull(TimeView(Ticks(121), Ticks(280), 159)));
  EXPECT_FALSE(made.firstFull(TimeView(Ticks(0), Ticks(119), 119)));
}

TEST(PipelineScene, TimeShowsEachPassAsLongAsItIs) {
  const PipelineScene made = scene({});
  const TimeView view(made.start(), made.end(), 280);
  const Shapes shapes = made.draw(view, 0, made.height(), {});
  EXPECT_EQ(shapes.fillCount(), made.grid()->cells.size());
  EXPECT_EQ(made.boxOf(view, 0, made.cellAt(view, 0, 3, 3)).width, 9);
}

TEST(PipelineScene, RecomputationIsTheFirstPartOfABackwardPass) {
  PipelineGrid grid;
  grid.start = grid.span.start = Ticks(0);
  grid.end = grid.span.end = Ticks(100);
  analysis::PipelineCell cell;
  cell.pass = Pass::backward;
  cell.microBatch = 0;
  cell.start = Ticks(20);
  cell.end = Ticks(80);
  cell.recompute = Ticks(15);
  grid.cells = {cell};
  grid.rows.resize(1);
  grid.rows[0].stages = {0};
  grid.rows[0].cells = {0};
  PipelineOptions options;
  options.byMicroBatch = false;
  const PipelineScene made(std::make_shared<const PipelineGrid>(grid), options);
  const Shapes shapes = made.draw(TimeView(Ticks(0), Ticks(100), 1000), 0, 100, {});
  const auto& again = shapes.fills[static_cast<std::size_t>(ColourRole::recompute)];
  const auto& backward = shapes.fills[static_cast<std::size_t>(ColourRole::backward)];
  ASSERT_EQ(again.size(), 1U);
  ASSERT_EQ(backward.size(), 1U);
  EXPECT_EQ(again[0].x, 200);
  EXPECT_EQ(again[0].right(), 350);
  EXPECT_EQ(backward[0].x, 350) << "boxes that overlap would hide one another";
  EXPECT_EQ(backward[0].right(), 799);
}

TEST(PipelineScene, AllPassesOfAKindHaveALabelOrNone) {
  const PipelineScene made = scene({});
  const PipelineGrid& grid = *made.grid();
  std::set<char> styles;  // what labels began with, over all widths
  for (const int width : {200, 400, 500, 600, 800, 1200, 3000}) {
    const TimeView view(made.start(), made.end(), width);
    const Shapes shapes = made.draw(view, 0, made.height(), {});
    for (const analysis::PipelineRow& row : grid.rows) {
      std::map<Pass, std::map<bool, int>> labelled;
      for (const std::int32_t cell : row.cells) {
        const Box box = made.boxOf(view, 0, cell);
        const auto label =
            std::ranges::find_if(shapes.labels, [&](const Label& one) { return one.box == box; });
        const bool has = label != shapes.labels.end();
        ++labelled[grid.cells[static_cast<std::size_t>(cell)].pass][has];
        if (has) styles.insert(label->text[0] <= '9' ? '9' : label->text[0]);
      }
      for (const auto& [pass, counts] : labelled)
        EXPECT_EQ(counts.size(), 1U) << width << " " << toString(pass);
    }
  }
  EXPECT_EQ(styles, (std::set<char>{'9', 'B', 'F'})) << "numbers alone where the name has no room";
}

TEST(PipelineScene, RowsAgreeAboutTheLabelsOfAKind) {
  // Three devices: forward passes are 10, 10 and 1 ticks long, backward passes 30, and one of the second
  // device is shorter.
  const auto labelsWith = [](std::int64_t shortest) {
    PipelineGrid grid;
    grid.start = Ticks(0);
    grid.end = Ticks(100);
    grid.rows.resize(3);
    const auto add = [&](std::size_t row, Pass pass, std::int64_t start, std::int64_t length) {
      analysis::PipelineCell cell;
      cell.pass = pass;
      cell.microBatch = start < 50 ? 0 : 1;
      cell.start = Ticks(start);
      cell.end = Ticks(start + length);
      grid.rows[row].stages = {static_cast<std::int32_t>(row)};
      grid.rows[row].cells.push_back(static_cast<std::int32_t>(grid.cells.size()));
      grid.cells.push_back(cell);
    };
    for (std::size_t row = 0; row < 3; ++row) {
      for (const std::int64_t start : {1, 51}) {
        add(row, Pass::forward, start, row == 2 ? 1 : 10);
        add(row, Pass::backward, start + 12, row == 1 && start == 51 ? shortest : 30);
      }
    }
    const PipelineScene made(std::make_shared<const PipelineGrid>(grid), PipelineOptions{});
    std::multiset<std::string> texts;
    for (const Label& label : made.draw(TimeView(Ticks(0), Ticks(100), 400), 0, 1000, {}).labels)
      texts.insert(label.text);
    return texts;
  };
  using Texts = std::multiset<std::string>;
  EXPECT_EQ(labelsWith(30), (Texts{"F0", "F0", "F1", "F1", "B0", "B0", "B0", "B1", "B1", "B1"}))
      << "a device whose passes are all too narrow does not count";
  EXPECT_EQ(labelsWith(4), (Texts{"F0", "F0", "F1", "F1", "0", "0", "0", "1", "1", "1"}))
      << "one that has room for the number only makes all labels short";
  EXPECT_EQ(labelsWith(1), (Texts{"F0", "F0", "F1", "F1"})) << "without room for it there are none";
}

TEST(PipelineScene, OneMicroBatchIsLitGreenThenRed) {
  const PipelineScene made = scene({false, true, false, 2});
  const TimeView view(made.start(), made.end(), 2800);
  const Shapes shapes = made.draw(view, 0, made.height(), {});
  const auto count = [&](ColourRole role) { return shapes.fills[static_cast<std::size_t>(role)].size(); };
  EXPECT_EQ(count(ColourRole::pathForward), 4U);
  EXPECT_EQ(count(ColourRole::pathBackward), 4U);
  EXPECT_EQ(count(ColourRole::dimmed), made.grid()->cells.size() - 8);
  EXPECT_EQ(made.pathArrows(view, 0).size(), 6U) << "three down, three up; the turn is on one device";
}

TEST(PipelineScene, KeysGoAlongTheDeviceAndTheMicroBatch) {
  const PipelineScene made = scene({});
  EXPECT_EQ(made.labelOf(0), "F0");
  EXPECT_EQ(made.labelOf(made.neighbour(0, 1)), "F1");
  EXPECT_EQ(made.neighbour(0, -1), -1);
  int cell = 0;
  std::string path;
  for (; cell >= 0; cell = made.alongPath(cell, 1))
    path +=
        made.labelOf(cell) + std::to_string(made.grid()->cells[static_cast<std::size_t>(cell)].stage) + " ";
  EXPECT_EQ(path, "F00 F01 F02 F03 B03 B02 B01 B00 ");
}

TEST(PipelineMarks, CausesOfWaitsComeBeforeWorkOfAnUnknownKind) {
  // A device computes from 0 to 10, then waits for a slower stage until 25. A pass of an unknown kind lies
  // over all of it, as an imported trace has one for each iteration.
  PipelineGrid grid;
  grid.start = Ticks(0);
  grid.end = Ticks(40);
  analysis::PipelineCell cell;
  cell.end = Ticks(10);
  grid.cells = {cell};
  grid.rows.resize(1);
  grid.rows[0].device = model::DeviceId(0);
  grid.rows[0].cells = {0};
  using Activity = analysis::Activity;
  analysis::TraceTrack passes, others;
  passes.waits.resize(1);
  passes.waits[0].cause = model::WaitCause::slowerStage;
  passes.activities = {{Ticks(10), Ticks(25), Activity::Kind::wait, 0}};
  others.placements.resize(1);
  others.placements[0].pass = Pass::other;
  others.passes = {{Ticks(0), Ticks(40), 0, 1}};
  others.activities = {{Ticks(0), Ticks(40), Activity::Kind::pass, 0}};
  analysis::Trace trace;
  trace.devices.resize(1);
  trace.devices[0].id = model::DeviceId(0);
  trace.devices[0].tracks = {passes, others};
  const auto marks = pipelineMarks(grid, trace);
  ASSERT_EQ(marks.size(), 1U);
  ASSERT_EQ(marks[0].size(), 2U);
  EXPECT_EQ(marks[0][0],
            (PipelineMark{Ticks(10), Ticks(25), ColourRole::waitSlowerStage, "slower stage", true}));
  EXPECT_EQ(marks[0][1], (PipelineMark{Ticks(25), Ticks(40), ColourRole::otherPass, "other", false}));
}

TEST(PipelineMarks, ExchangesWithinPassesAreStrips) {
  // A pass from 100 to 200 whose segment exchanges from 20 to 30, from 30 to 35 and from 60 to 70 of it, and
  // a pass of another iteration.
  PipelineGrid grid;
  grid.iterations = 2;
  grid.shownMicroBatches = 1;
  grid.start = grid.span.start = Ticks(0);
  grid.end = grid.span.end = Ticks(400);
  grid.rows.resize(1);
  grid.rows[0].device = model::DeviceId(0);
  analysis::TraceSegment segment;
  for (const auto& [offset, ticks, kind] :
       {std::tuple(0, 20, model::StepKind::compute), std::tuple(20, 10, model::StepKind::globalExchange),
        std::tuple(30, 5, model::StepKind::globalExchange),
        std::tuple(60, 10, model::StepKind::globalExchange)}) {
    model::Step step;
    step.offset = Ticks(offset);
    step.ticks = Ticks(ticks);
    step.kind = kind;
    segment.steps.push_back(step);
  }
  analysis::TraceTrack track;
  track.placements.resize(2);
  for (analysis::TracePlacement& placement : track.placements) {
    placement.segment = 0;
    placement.microBatch = 0;
    placement.iteration = 0;
  }
  track.placements[0].start = Ticks(100);
  track.placements[0].end = Ticks(200);
  track.placements[1].start = Ticks(300);
  track.placements[1].end = Ticks(400);
  track.placements[1].iteration = 1;
  analysis::Trace trace;
  trace.segments = {segment};
  trace.devices.resize(1);
  trace.devices[0].id = model::DeviceId(0);
  trace.devices[0].tracks = {track};
  const auto found = passExchanges(grid, trace);
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].size(), 2U) << "exchanges that touch are one";
  EXPECT_EQ(found[0][0].start, Ticks(120));
  EXPECT_EQ(found[0][0].end, Ticks(135));
  EXPECT_EQ(found[0][1].start, Ticks(160));
  EXPECT_EQ(found[0][1].end, Ticks(170));
  EXPECT_TRUE(passExchanges(grid, trace, 1)[0].empty()) << "too many to be drawn";
  const auto shown = std::make_shared<const PipelineGrid>(grid);
  const auto strips = std::make_shared<const PipelineMarks>(found);
  const TimeView view(Ticks(0), Ticks(400), 400);
  const Shapes shapes = PipelineScene(shown, {}, {}, {}, strips).draw(view, 0, 100, {});
  ASSERT_EQ(shapes.lines.size(), 4U) << "two lines for each";
  EXPECT_EQ(shapes.lines[0].x1, 120);
  EXPECT_EQ(shapes.lines[0].x2, 135);
  PipelineOptions table;
  table.grid = true;
  EXPECT_TRUE(PipelineScene(shown, table, {}, {}, strips).draw(view, 0, 100, {}).lines.empty());
}

TEST(PipelineMarks, WaitsThatAreTooNarrowToBeSeenAloneAreHatchedTogether) {
  // 500 waits of two ticks without a gap between them, each a fifth of a pixel.
  auto grid = std::make_shared<PipelineGrid>();
  grid->rows.resize(1);
  grid->start = grid->span.start = Ticks(0);
  grid->end = grid->span.end = Ticks(1000);
  auto marks = std::make_shared<PipelineMarks>(1);
  for (int i = 0; i < 500; ++i)
    (*marks)[0].push_back({Ticks(2 * i), Ticks(2 * i + 2), ColourRole::waitUpdate, "update", true});
  const PipelineScene scene(grid, {}, {}, marks);
  const Shapes shapes = scene.draw(TimeView(Ticks(0), Ticks(1000), 100), 0, 400, {});
  EXPECT_EQ(shapes.fillCount(), 0U) << "a filled box would be read as a weight update";
  ASSERT_EQ(shapes.hatches.size(), 1U);
  EXPECT_EQ(shapes.hatches[0].box.width, 100);
}

TEST(PipelineMarks, PassesOfAnotherIterationAreNotTakenForOnesOfThis) {
  // The device has done its only pass by 10 and begins the next iteration at 20, while others are still busy.
  PipelineGrid grid;
  grid.iterations = 2;
  grid.end = Ticks(40);
  grid.span = {model::RunId(0), 0, Ticks(0), Ticks(40)};
  grid.rows.resize(1);
  grid.rows[0].device = model::DeviceId(0);
  analysis::TraceTrack track;
  track.placements.resize(2);
  track.placements[0].pass = Pass::update;
  track.placements[0].iteration = 0;
  track.placements[1].pass = Pass::forward;
  track.placements[1].iteration = 1;
  track.passes = {{Ticks(10), Ticks(15), 0, 1}, {Ticks(20), Ticks(40), 1, 1}};
  using Activity = analysis::Activity;
  track.activities = {{Ticks(10), Ticks(15), Activity::Kind::pass, 0},
                      {Ticks(20), Ticks(40), Activity::Kind::pass, 1}};
  analysis::Trace trace;
  trace.devices.resize(1);
  trace.devices[0].id = model::DeviceId(0);
  trace.devices[0].tracks = {track};
  const auto marks = pipelineMarks(grid, trace);
  ASSERT_EQ(marks.at(0).size(), 2U);
  EXPECT_EQ(marks[0][0], (PipelineMark{Ticks(10), Ticks(15), ColourRole::update, "update", false}));
  EXPECT_EQ(marks[0][1], (PipelineMark{Ticks(20), Ticks(40), ColourRole::gaps, "another iteration", false}));
}

}  // namespace
}  // namespace pipescope::geometry
