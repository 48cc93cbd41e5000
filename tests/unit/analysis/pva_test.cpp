#include "profiler/analysis/pva/report.h"

#include <set>
#include <tuple>

#include "trace_fixture.h"

namespace pipescope::pva {
namespace {

using analysis::testing::TraceFixture;

TEST(Pva, StepsRunsAndTarget) {
  const TraceFixture fixture(6);
  const Report report = Report::make(fixture.profile).value();
  EXPECT_EQ(report.executables(), std::vector<std::string>{"training"});
  EXPECT_EQ(report.pipescopeVersion(), "1");
  const Execution execution = report.execution().value();
  ASSERT_EQ(execution.runs().size(), 1U);
  EXPECT_EQ(execution.runs()[0].name, "call <1>");
  EXPECT_EQ(execution.runs()[0].cyclesTo, fixture.end().count);
  EXPECT_DOUBLE_EQ(execution.runs()[0].endMicroseconds, static_cast<double>(fixture.end().count));
  const auto steps = execution.steps(0).value();
  ASSERT_EQ(steps.size(), 180U);
  const auto& placement = fixture.rows.of<model::Placement>()[0];
  const auto& first = fixture.rows.of<model::Step>()[0];
  EXPECT_EQ(steps[0].ipu().cyclesFrom, placement.start.count);
  EXPECT_EQ(steps[0].ipu().cycles, first.ticks.count);
  EXPECT_EQ(steps[0].kind(), "compute");
  EXPECT_EQ(steps[0].program().type(), "OnTileExecute");
  EXPECT_FALSE(execution.steps(0, 179).ok());
  EXPECT_FALSE(execution.steps(5).ok());
  EXPECT_EQ(execution.totalCycles(), fixture.end().count - execution.runs()[0].cyclesFrom);
  EXPECT_EQ(report.instrumentationSettings().value().compute, "Ipu") << "of every step";
  EXPECT_EQ(report.compilation().value().target().numIPUs, 3);
  EXPECT_EQ(report.compilation().value().graph().value().numVars, 0);
  EXPECT_EQ(report.compilation().value().graph().value().numComputeSets,
            static_cast<std::int64_t>(report.compilation().value().computeSets().value().size()));
  EXPECT_FALSE(report.compilation("inference").ok());
}

TEST(Pva, TimesFollowTheClockAndReplicasShareTheIpus) {
  auto profile = std::make_shared<record::MemoryProfile>();
  model::RowSet rows;
  rows.of<model::Target>() = {{"test", "ipu", "", 6, 6}};
  for (int d = 0; d < 6; ++d) {
    model::Device& device = rows.of<model::Device>().emplace_back();
    device.id = model::DeviceId(d);
    device.kind = "test";
    device.units = 10;
    device.ticksPerSecond = 4'000'000;
    rows.of<model::MemorySpace>().push_back(
        {model::MemorySpaceId(d), model::DeviceId(d), "tile_memory", 10, model::Bytes(7), {}});
  }
  model::Executable& executable = rows.of<model::Executable>().emplace_back();
  executable.id = model::ExecutableId(0);
  executable.name = "training";
  executable.replicas = 3;
  model::Run& run = rows.of<model::Run>().emplace_back();
  run.id = model::RunId(0);
  run.executable = model::ExecutableId(0);
  run.start = model::Ticks(800);
  run.end = model::Ticks(2000);
  ASSERT_TRUE(profile->commit(rows).ok());
  const Report report = Report::make(profile).value();
  const auto runs = report.execution().value().runs();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_DOUBLE_EQ(runs[0].startMicroseconds, 200);
  EXPECT_DOUBLE_EQ(runs[0].endMicroseconds, 500);
  const auto target = report.compilation().value().target();
  EXPECT_EQ(target.numIPUs, 6);
  EXPECT_EQ(target.numReplicas, 3);
  EXPECT_EQ(target.ipusPerReplica, 2);
  EXPECT_EQ(target.tilesPerReplica, 20);
  EXPECT_EQ(target.bytesPerIPU, 70);
  EXPECT_EQ(target.totalMemory, 420);
  EXPECT_EQ(target.memoryPerReplica, 140);
}

TEST(Pva, TilesAddUpWhatUnitsHold) {
  TraceFixture fixture(1);
  model::RowSet rows;
  rows.of<model::MemorySpace>() = {
      {model::MemorySpaceId(0), model::DeviceId(0), "tile_memory", 3, model::Bytes(100), {}},
      {model::MemorySpaceId(1), model::DeviceId(1), "tile_memory", 3, model::Bytes(100), {}}};
  const model::ExecutableId e(0);
  rows.of<model::UnitMemory>() = {
      {e, model::MemorySpaceId(1), "variable", "interleaved", true, 0, 2, model::Bytes(10)},
      {e, model::MemorySpaceId(1), "stack", "non_interleaved", false, 1, 2, model::Bytes(4)},
      {e, model::MemorySpaceId(1), "gap", "non_interleaved", true, 1, 1, model::Bytes(3)},
      {e, model::MemorySpaceId(1), "variable", "interleaved", true, -5, std::int64_t{1} << 60,
       model::Bytes(1)}};
  ASSERT_TRUE(fixture.profile->commit(rows).ok());
  const auto tiles = Report::make(fixture.profile).value().compilation().value().tiles().value();
  ASSERT_EQ(tiles.size(), 6U);
  EXPECT_EQ(tiles[4].ipu, 1);
  const TileMemory& memory = tiles[4].memory;
  EXPECT_EQ(memory.total.excludingGaps, 10 + 4 + 1);
  EXPECT_EQ(memory.total.includingGaps, 10 + 4 + 3 + 1);
  EXPECT_EQ(memory.interleaved.includingGaps, 11);
  EXPECT_EQ(memory.nonInterleaved.excludingGaps, 4);
  EXPECT_EQ(memory.alwaysLiveBytes, 11);
  EXPECT_EQ(memory.notAlwaysLiveBytes, 4);
  EXPECT_EQ(memory.category.at("variable").total, 11);
  EXPECT_EQ(tiles[0].memory.total.includingGaps, 0);
  const auto ipus = Report::make(fixture.profile).value().compilation().value().ipus().value();
  ASSERT_EQ(ipus.size(), 3U);
  EXPECT_EQ(ipus[1].tiles.size(), 3U);
  EXPECT_EQ(ipus[1].tiles[1].memory.total.excludingGaps, 10 + 4 + 1);
  EXPECT_TRUE(ipus[2].tiles.empty()) << "its memory is not recorded by tile";
  const auto replicas = Report::make(fixture.profile).value().compilation().value().replicas().value();
  ASSERT_EQ(replicas.size(), 1U);
  EXPECT_EQ(replicas[0].ipus.size(), 3U);
}

TEST(Pva, VariablesByTile) {
  TraceFixture fixture(1);
  model::RowSet rows;
  const model::ExecutableId e(0);
  const model::MemorySpaceId first(0), second(1);
  using model::Bytes;
  rows.of<model::MemorySpace>() = {{first, model::DeviceId(0), "tile_memory", 3, Bytes(100), {}},
                                   {second, model::DeviceId(1), "tile_memory", 3, Bytes(100), {}}};
  rows.of<model::Variable>() = {{model::VariableId(0), e, second, model::DebugContextId(1), "weight",
                                 "4 float32", Bytes(16), Bytes(8), true, 0},
                                {model::VariableId(1), e, second, model::DebugContextId(2), "activation",
                                 "2 float32", Bytes(8), Bytes(8), false, 0},
                                {model::VariableId(2), e, first, model::DebugContextId(1), "weight",
                                 "9 float32", Bytes(36), Bytes(36), true, 0}};
  rows.of<model::LivenessStep>() = {{e, second, 0, {}, {}, Bytes(0), Bytes(0)},
                                    {e, second, 1, {}, {}, Bytes(8), Bytes(8)}};
  rows.of<model::LifeInterval>() = {{model::VariableId(1), 1, 2}};
  ASSERT_TRUE(fixture.profile->commit(rows).ok());
  const auto compilation = [&] { return Report::make(fixture.profile).value().compilation().value(); };
  const auto unmapped = compilation().alwaysLiveVariablesForTile(4);
  ASSERT_FALSE(unmapped.ok());
  EXPECT_EQ(
      unmapped.error().message,
      "The profile does not say which variables lie on which tile; record it with --record steps or tiles.");
  model::RowSet maps;
  maps.of<model::VariableUnits>() = {{model::VariableId(0), 0, 2, Bytes(8)},
                                     {model::VariableId(1), 1, 1, Bytes(8)},
                                     {model::VariableId(2), 0, 1, Bytes(36)}};
  ASSERT_TRUE(fixture.profile->commit(maps).ok());
  const Compilation mapped = compilation();
  // Tile 4 is the second tile of IPU 1.
  const auto always = mapped.alwaysLiveVariablesForTile(4).value();
  ASSERT_EQ(always.size(), 1U);
  EXPECT_EQ(always[0].name, "layer/MatMul");
  EXPECT_EQ(always[0].size, 8);
  EXPECT_TRUE(mapped.alwaysLiveVariablesForTile(5).value().empty());
  const auto lowered = mapped.loweredVariablesForTile(4).value();
  ASSERT_EQ(lowered.size(), 2U);
  EXPECT_EQ(lowered[1].category, "activation");
  EXPECT_EQ(lowered[1].tile, 4);
  EXPECT_FALSE(lowered[1].alwaysLive);
  const auto missing = mapped.loweredVariablesForTile(6);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "The profile has no tile 6; its tiles are 0 to 5.");
  EXPECT_FALSE(mapped.loweredVariablesForTile(-1).ok());
  const auto steps = mapped.livenessProgramSteps(1).value();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1].ipu(), 1);
  EXPECT_EQ(steps[0].notAlwaysLiveMemoryForTile(4).value().bytes, 0);
  const LiveMemory live = steps[1].notAlwaysLiveMemoryForTile(4).value();
  EXPECT_EQ(live.bytes, 8);
  ASSERT_EQ(live.variables.size(), 1U);
  EXPECT_EQ(live.variables[0].name, "layer/Relu, \"quick\"");
  EXPECT_EQ(steps[1].notAlwaysLiveMemoryForTile(3).value().bytes, 0);
  const auto foreign = steps[1].notAlwaysLiveMemoryForTile(0);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().message, "Tile 0 is not of IPU 1, whose program this step is of.");
}

TEST(Pva, AWindowHasTheStepsOfItsTime) {
  TraceFixture fixture(4);
  const Execution execution = Report::make(fixture.profile).value().execution().value();
  const pva::Run run = execution.runs().at(0);
  using Span = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string>;
  std::multiset<Span> all, found;
  const std::int64_t from = run.cyclesTo / 3, to = run.cyclesTo / 2;
  const auto steps = execution.steps(0).value();
  for (const ExecutionStep& step : steps) {
    const StepIpu ipu = step.ipu();
    if (ipu.cyclesFrom < to && ipu.cyclesTo > from && ipu.cycles > 0)
      all.emplace(ipu.ipu, ipu.cyclesFrom, ipu.cyclesTo, step.name());
  }
  const auto spans = execution.window(from, to).value();
  for (const WindowSpan& span : spans) {
    EXPECT_EQ(span.steps, 1);
    found.emplace(span.ipu, span.cyclesFrom, span.cyclesTo, span.name);
  }
  EXPECT_EQ(found, all);
  EXPECT_GT(all.size(), 10U);
  const auto coarse = execution.window(0, run.cyclesTo, run.cyclesTo).value();
  EXPECT_LT(coarse.size(), all.size()) << "short steps are joined";
  const auto wrong = execution.window(5, 4);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message,
            "A window from 5 to 4 with resolution 0 does not exist. Give an end after the start, and a "
            "resolution of 0 or more.");
}

TEST(Pva, VisitorsSeeTypesAndChildren) {
  TraceFixture fixture(1);
  model::RowSet rows;
  const model::ExecutableId e(0);
  rows.of<model::Program>() = {
      {model::ProgramId(3), {}, e, {}, "Sequence", {}, {}},
      {model::ProgramId(4), model::ProgramId(3), e, {}, "DoExchange", model::DebugContextId(1), {}},
      {model::ProgramId(5), model::ProgramId(3), e, {}, "Sync", {}, {}}};
  ASSERT_TRUE(fixture.profile->commit(rows).ok());
  struct Seen : ProgramVisitor {
    void visitSequence(const Program& p) override {
      text += "(";
      for (const Program& child : p.children()) child.accept(*this);
      text += ")";
    }
    void visitDoExchange(const Program& p) override { text += "exchange " + p.name() + ";"; }
    void visitSync(const Program&) override { text += "sync;"; }
    std::string text;
  } seen;
  const Compilation compilation = Report::make(fixture.profile).value().compilation().value();
  const std::vector<Program> roots = compilation.rootPrograms().value(), all = compilation.programs().value();
  for (const Program& root : roots) root.accept(seen);
  EXPECT_EQ(seen.text, "(exchange layer/MatMul;sync;)");
  std::vector<std::int64_t> ids;
  for (const Program& program : all) ids.push_back(program.id());
  EXPECT_EQ(ids, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));  // three are of the fixture
}

}  // namespace
}  // namespace pipescope::pva
