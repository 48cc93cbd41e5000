// Tests the program tree, operations and peaks of a small hand-made profile, and of profiles with
// contradictory rows.
#include "profiler/analysis/model/program_tree.h"

#include <gtest/gtest.h>

#include <limits>

#include "profiler/analysis/memory/peak_attribution.h"
#include "profiler/analysis/memory/unit_liveness.h"
#include "profiler/analysis/model/operations.h"
#include "profiler/record/memory_profile.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::analysis {
namespace {

using base::Bytes;
using base::Ticks;
using model::ProgramId;

/// A profile of one device with one stage and one segment. Tests add programs, steps and operators to it.
struct Profile {
  model::RowSet rows;
  record::MemoryProfile profile;
  model::ExecutableId executable{0};
  std::int64_t names = 0;

  Profile() {
    model::Executable training;
    training.id = executable;
    training.name = "training";
    rows.of<model::Executable>() = {training};
    model::Device device;
    device.id = model::DeviceId(0);
    device.name = "IPU0";
    device.units = 4;
    rows.of<model::Device>() = {device};
    rows.of<model::MemorySpace>() = {{model::MemorySpaceId(0), device.id, "tile_memory", 4, Bytes(1000), {}}};
    rows.of<model::Stage>() = {{executable, 0, device.id, "A", 0, {}}};
    model::Segment segment;
    segment.id = model::SegmentId(0);
    segment.executable = executable;
    segment.device = device.id;
    segment.stage = 0;
    segment.ticks = Ticks(30);
    rows.of<model::Segment>() = {segment};
  }
  model::DebugContextId name(const std::string& path) {
    model::DebugContextId parent;
    for (std::size_t at = 0; at <= path.size();) {
      const std::size_t slash = std::min(path.find('/', at), path.size());
      const model::DebugContextId id(names++);
      rows.of<model::DebugContext>().push_back({id, parent, path.substr(at, slash - at), "test"});
      parent = id;
      at = slash + 1;
    }
    return parent;
  }
  ProgramId program(ProgramId parent, const std::string& kind, const std::string& path,
                    std::int64_t count = 1, ProgramId target = {}, model::OperatorId op = {}) {
    const ProgramId id(static_cast<std::int64_t>(rows.of<model::Program>().size()));
    rows.of<model::Program>().push_back(
        {id, parent, executable, model::DeviceId(0), kind, name(path), op, count, target});
    return id;
  }
  void step(ProgramId program, std::int64_t ticks, model::StepKind kind = model::StepKind::compute) {
    model::Step step;
    step.segment = model::SegmentId(0);
    step.ticks = Ticks(ticks);
    step.kind = kind;
    step.program = program;
    rows.of<model::Step>().push_back(step);
  }
  model::OperatorId op(const std::string& path, const std::string& kind, model::Pass pass,
                       const std::string& block) {
    const model::OperatorId id(static_cast<std::int64_t>(rows.of<model::Operator>().size()));
    rows.of<model::Operator>().push_back({id, executable, name(path), kind, 0, pass, 8, Bytes(4), block});
    return id;
  }
  std::shared_ptr<const Catalog> catalog() {
    EXPECT_TRUE(profile.commit(rows).ok());
    auto loaded = loadCatalog(profile);
    EXPECT_TRUE(loaded.ok());
    return *loaded;
  }
};

TEST(ProgramTree, EachProgramHasItsCost) {
  Profile made;
  const ProgramId root = made.program({}, "Sequence", "training");
  const ProgramId loop = made.program(root, "Repeat", "training/loop", 3);
  const ProgramId compute = made.program(loop, "OnTileExecute", "layer/step");
  const ProgramId exchange = made.program(loop, "DoExchange", "layer/exchange");
  const ProgramId again = made.program(loop, "OnTileExecute", "layer/step");
  made.step(compute, 10);
  made.step(exchange, 4, model::StepKind::exchange);
  made.step(again, 6);
  made.rows.of<model::Step>()[0].activeUnits = 3;
  made.rows.of<model::Step>()[0].meanTicks = 7.5;
  made.rows.of<model::Step>()[0].maxTicks = Ticks(10);
  made.rows.of<model::Step>()[1].bytesIn = Bytes(100);
  // Code belongs to the programs of its name, and both of them share it.
  const model::DebugContextId name = made.rows.of<model::Program>()[2].debugContext;
  made.rows.of<model::Program>()[4].debugContext = name;
  model::Variable code;
  code.id = model::VariableId(0);
  code.executable = made.executable;
  code.space = model::MemorySpaceId(0);
  code.debugContext = name;
  code.category = "controlCode";
  code.bytes = Bytes(40);
  code.alwaysLive = true;
  made.rows.of<model::Variable>() = {code};
  const auto catalog = made.catalog();
  const auto nodes = programTree(made.profile, *catalog, made.executable);
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->size(), 5u) << "programs without children are listed too";
  EXPECT_EQ((*nodes)[0].count, 1);
  EXPECT_EQ((*nodes)[1].count, 3);
  EXPECT_EQ((*nodes)[2].depth, 2);
  EXPECT_EQ((*nodes)[2].activeUnits, 3);
  EXPECT_DOUBLE_EQ((*nodes)[2].tileBalance, 0.75);
  EXPECT_LT((*nodes)[3].tileBalance, 0) << "an exchange does not compute";
  EXPECT_EQ((*nodes)[3].exchanged, Bytes(100));
  EXPECT_EQ((*nodes)[1].exchanged, Bytes(300)) << "three turns";
  EXPECT_EQ((*nodes)[0].ticks.count, 3 * 20);
  EXPECT_EQ((*nodes)[2].code, Bytes(40));
  EXPECT_EQ((*nodes)[4].code, Bytes(0));
  EXPECT_EQ((*nodes)[0].code, Bytes(40)) << "code is there once, however often it runs";
}

TEST(ProgramTree, CountsLoopsAndCallers) {
  Profile made;
  const ProgramId root = made.program({}, "Sequence", "training");
  const ProgramId loop = made.program(root, "Repeat", "training/loop", 3);
  const ProgramId function = made.program({}, "Function", "layer/function");
  made.program(function, "OnTileExecute", "layer0/step");
  for (const char* layer : {"layer0", "layer1"}) {
    const ProgramId call = made.program(loop, "Call", layer, 1, function);
    made.step(made.program(call, "OnTileExecute", std::string(layer) + "/step"), 10);
  }
  made.step(made.program(root, "Sync", "sync"), 7, model::StepKind::sync);
  const auto catalog = made.catalog();
  const auto nodes = controlPrograms(made.profile, *catalog, made.executable);
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->size(), 5u);
  EXPECT_EQ((*nodes)[0].ticks.count, 3 * 20 + 7);
  EXPECT_EQ((*nodes)[0].programs, 3);
  EXPECT_EQ((*nodes)[1].ticks.count, 60);
  EXPECT_EQ((*nodes)[2].kind, "Call");
  EXPECT_EQ((*nodes)[2].depth, 2);
  EXPECT_EQ((*nodes)[2].targetName, "layer/function");
  EXPECT_EQ((*nodes)[4].kind, "Function");
  EXPECT_EQ((*nodes)[4].callers, 2);
  EXPECT_EQ((*nodes)[4].ticks.count, 20);
}

TEST(ProgramTree, StandsWhatNoProgramDoes) {
  Profile made;
  ProgramId parent = made.program({}, "Repeat", "r", std::numeric_limits<std::int64_t>::max());
  for (int depth = 0; depth < 500; ++depth)
    parent =
        made.program(parent, "Repeat", "r", std::numeric_limits<std::int64_t>::max(), ProgramId(1 << 20));
  for (int i = 0; i < 3; ++i) made.step(parent, std::numeric_limits<std::int64_t>::max());
  made.program(ProgramId(1 << 20), "OnTileExecute", "orphan");
  made.program(ProgramId(501), "Sequence", "its_own_parent");
  made.step(ProgramId(1 << 20), 5);
  const auto catalog = made.catalog();
  const auto nodes = controlPrograms(made.profile, *catalog, made.executable);
  ASSERT_TRUE(nodes.ok());
  EXPECT_GE(nodes->front().ticks.count, 0);
  EXPECT_LT(nodes->size(), 100u);
}

TEST(Operations, GradientsJoinedOperatorsAndCopiesGoToTheirLayer) {
  Profile made;
  const auto forward = made.op("block/linear", "Gemm+Relu", model::Pass::forward, "block");
  const auto backward = made.op("block/linear/grad_weight", "Gemm", model::Pass::backward, "block");
  const auto joined = made.op("block/relu/grad_input", "GradRelu", model::Pass::backward, "block");
  const auto copy = made.op("samples", "HostLoad", model::Pass::hostIn, "");
  std::int64_t ticks = 1;
  for (const model::OperatorId op : {forward, backward, joined, copy}) {
    made.step(made.program({}, "OnTileExecute", "p", 1, {}, op), ticks);
    ticks *= 10;
  }
  made.rows.of<model::Variable>() = {
      {model::VariableId(0), made.executable, model::MemorySpaceId(0), made.name("block/linear/weight"),
       "weight", "", Bytes(64), Bytes(16), true, 0},
      {model::VariableId(1), made.executable, model::MemorySpaceId(0), made.name("block/linear/MatMul"),
       "vertexInstanceState", "", Bytes(20), Bytes(5), true, 0}};
  const auto catalog = made.catalog();
  const auto all = operations(made.profile, *catalog, made.executable);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->operations.size(), 3u);
  EXPECT_EQ(all->operations[0].name, "samples");
  EXPECT_EQ(all->operations[1].name, "block/relu") << "known from its gradient only";
  EXPECT_EQ(all->operations[1].cost.total().count, 100);
  const Operation& linear = all->operations[2];
  EXPECT_EQ(linear.name, "block/linear");
  EXPECT_EQ(linear.cost.ticks.at(model::Pass::forward).count, 1);
  EXPECT_EQ(linear.cost.ticks.at(model::Pass::backward).count, 10);
  EXPECT_EQ(linear.cost.flops, 16);
  EXPECT_EQ(linear.cost.weights.count, 64);
  EXPECT_EQ(linear.cost.code.count, 20);
  ASSERT_EQ(all->blocks.size(), 2u);
  EXPECT_EQ(all->blocks[0].cost.total().count, 111);
  EXPECT_EQ(all->blocks[1].name, kNoBlock);
  EXPECT_EQ(all->blocks[1].cost.total().count, 1000);
  EXPECT_EQ(all->whole.total().count, 1111);
}

TEST(UnitLiveness, FollowsTheVariablesOfATile) {
  Profile made;
  const auto variable = [&](std::int64_t id, const char* name, bool always) {
    made.rows.of<model::Variable>().push_back(
        {model::VariableId(id), made.executable, model::MemorySpaceId(0), made.name(name),
         always ? "weight" : "activation", "", Bytes(0), Bytes(0), always, 0});
  };
  variable(0, "w", true);
  variable(1, "a", false);
  variable(2, "b", false);
  made.rows.of<model::VariableUnits>() = {
      {model::VariableId(0), 0, 4, Bytes(5)},
      {model::VariableId(1), 1, 2, Bytes(100)},
      {model::VariableId(2), 2, std::numeric_limits<std::int64_t>::max(), Bytes(30)}};
  made.rows.of<model::LifeInterval>() = {{model::VariableId(1), 0, 2},
                                         {model::VariableId(2), 1, 3},
                                         {model::VariableId(2), 2, 1},
                                         {model::VariableId(1), -4, 2},
                                         {model::VariableId(99), 0, 3}};
  for (std::int32_t step = 0; step < 3; ++step)
    made.rows.of<model::LivenessStep>().push_back(
        {made.executable, model::MemorySpaceId(0), step, {}, {}, {}, {}});
  const auto catalog = made.catalog();
  const auto live = [&](std::int64_t tile) {
    const auto found = unitLiveness(made.profile, *catalog, made.executable, model::MemorySpaceId(0), tile);
    EXPECT_TRUE(found.ok() && found->known && found->alwaysLive.count == 5);
    std::vector<std::int64_t> bytes;
    for (const Bytes each : found->notAlwaysLive) bytes.push_back(each.count);
    return bytes;
  };
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(live(0), (Counts{0, 0, 0}));
  EXPECT_EQ(live(1), (Counts{100, 100, 0}));
  EXPECT_EQ(live(2), (Counts{100, 130, 30}));
  EXPECT_EQ(live(3), (Counts{0, 30, 30}));
  const auto there = variablesOnUnit(made.profile, *catalog, made.executable, model::MemorySpaceId(0), 2, 1);
  ASSERT_TRUE(there.ok());
  ASSERT_EQ(there->size(), 3u);
  EXPECT_EQ((*there)[0].name, "a");
  EXPECT_EQ((*there)[2].bytes.count, 5);
}

TEST(Sections, TextShowsTheFirstRowsOfLongTables) {
  sections::Section section{"s", "S", {}, {}, {}};
  sections::SectionTable table{"t", "T", "", {{"n", "N", sections::Format::plain, ""}}, {}};
  for (std::int64_t i = 0; i < 10; ++i) table.rows.push_back({i * 1'000'000});
  table.mostInText = 3;
  section.tables = {table};
  const std::string text = sections::toText(section);
  EXPECT_NE(text.find("2000000"), std::string::npos);
  EXPECT_EQ(text.find("3000000"), std::string::npos);
  EXPECT_NE(text.find("… and 7 more"), std::string::npos);
  EXPECT_NE(sections::toJson(section).find("9000000"), std::string::npos);
}

}  // namespace
}  // namespace pipescope::analysis
