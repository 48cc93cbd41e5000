#include "profiler/analysis/pva/report.h"

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
  EXPECT_EQ(report.compilation().value().target().numIPUs, 3);
  EXPECT_FALSE(report.compilation("inference").ok());
}

TEST(Pva, TilesAddUpWhatUnitsHold) {
  TraceFixture fixture(1);
  model::RowSet rows;
  rows.of<model::MemorySpace>() = {{model::MemorySpaceId(0), model::DeviceId(0), "tile_memory", 3, model::Bytes(100), {}},
                                   {model::MemorySpaceId(1), model::DeviceId(1), "tile_memory", 3, model::Bytes(100), {}}};
  const model::ExecutableId e(0);
  rows.of<model::UnitMemory>() = {
      {e, model::MemorySpaceId(1), "variable", "interleaved", true, 0, 2, model::Bytes(10)},
      {e, model::MemorySpaceId(1), "stack", "non_interleaved", false, 1, 2, model::Bytes(4)},
      {e, model::MemorySpaceId(1), "gap", "non_interleaved", true, 1, 1, model::Bytes(3)},
      {e, model::MemorySpaceId(1), "variable", "interleaved", true, -5, std::int64_t{1} << 60, model::Bytes(1)}};
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
  EXPECT_EQ(memory.category.at("variable"), 11);
  EXPECT_EQ(tiles[0].memory.total.includingGaps, 0);
}

TEST(Pva, VisitorsSeeTypesAndChildren) {
  TraceFixture fixture(1);
  model::RowSet rows;
  const model::ExecutableId e(0);
  rows.of<model::Program>() = {{model::ProgramId(3), {}, e, {}, "Sequence", {}, {}},
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
  for (const Program& root : Report::make(fixture.profile).value().compilation().value().programs()) root.accept(seen);
  EXPECT_EQ(seen.text, "(exchange layer/MatMul;sync;)");
}

}  // namespace
}  // namespace pipescope::pva
