#include "profiler/analysis/pipeline/diff.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "profiler/analysis/pipeline/waits.h"
#include "trace_fixture.h"

namespace pipescope::analysis {
namespace {

using testing::TraceFixture;

Diff diffOf(const TraceFixture& a, const TraceFixture& b) {
  const auto before = loadCatalog(*a.profile).value(), after = loadCatalog(*b.profile).value();
  const auto found =
      diff({*a.profile, *before, model::ExecutableId(0)}, {*b.profile, *after, model::ExecutableId(0)});
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
  return found.ok() ? *found : Diff();
}

TEST(Diff, ARecordedTraceHasNoOptionsToCompare) {
  Catalog run, trace;
  run.configuration.push_back({"training.epochs", "3", "file"});
  EXPECT_TRUE(changedOptions(run, trace).empty());
  EXPECT_TRUE(changedOptions(trace, run).empty());
  trace.configuration.push_back({"training.epochs", "5", "file"});
  EXPECT_EQ(changedOptions(run, trace).size(), 1U);
}

TEST(Diff, OtherSpellingsOfAnOptionAreNoChange) {
  Catalog one, other;
  const auto option = [&](const char* path, const char* before, const char* after) {
    one.configuration.push_back({path, before, "file"});
    other.configuration.push_back({path, after, "file"});
  };
  option("execution.checkpoints", R"(["layer4..5/relu", "head"])",
         R"(["layer4/relu", "layer5/relu", "head"])");
  EXPECT_TRUE(changedOptions(one, other).empty());
  option("execution.float8_except", R"(["layer4..5"])", R"(["layer4", "layer6"])");
  option("execution.layers_per_stage", "[1, 2]", "[2, 1]");
  option("data.ranges", R"(["0..9999999"])", R"(["0..9999998"])");
  EXPECT_EQ(changedOptions(one, other).size(), 3U);
}

/// A group of blocks and their names one by one make the same stage.
TEST(Diff, TheBlocksOfAStageAreThoseThatWereRecorded) {
  const auto with = [](const char* given, const char* recorded) {
    Catalog catalog;
    catalog.configuration.push_back({"stages[1].blocks", given, "file"});
    model::Executable executable;
    executable.id = model::ExecutableId(0);
    executable.name = "training";
    catalog.executables.push_back(executable);
    catalog.stages.push_back({executable.id, 1, model::DeviceId(1), recorded});
    return catalog;
  };
  const Catalog group = with(R"(["encoder"])", "encoder/layer0 encoder/layer1");
  EXPECT_TRUE(
      changedOptions(group, with(R"(["encoder/layer1", "encoder/layer0"])", "encoder/layer0 encoder/layer1"))
          .empty());
  EXPECT_EQ(
      changedOptions(group, with(R"(["encoder", "head"])", "encoder/layer0 encoder/layer1 head")).size(), 1U);
}

TEST(Diff, PartsAddUpToTheWholeExactly) {
  const TraceFixture quick(20), slow(20, 5);
  const Diff found = diffOf(quick, slow);
  EXPECT_EQ(found.before, quick.end().count);
  EXPECT_EQ(found.after, slow.end().count);
  EXPECT_GT(found.after, found.before);
  std::int64_t sum = 0, slower = 0;
  for (std::size_t i = 0; i < found.time.size(); ++i) {
    sum += found.time[i].delta();
    if (found.time[i].operation == "layer/MatMul") slower += found.time[i].delta();
    const std::int64_t larger = found.time[i == 0 ? 0 : i - 1].delta();
    EXPECT_GE(std::abs(larger), std::abs(found.time[i].delta()));
  }
  EXPECT_EQ(sum, found.after - found.before);
  EXPECT_EQ(slower, sum) << "only that operation takes longer, and the path is the same device's";
  EXPECT_EQ(found.time[0].kind, "placement");
  EXPECT_EQ(found.time[0].microBatchesBefore, found.time[0].microBatchesAfter);
  std::int64_t byMicroBatch = 0;
  for (std::size_t i = 0; i < found.microBatches.size(); ++i) {
    byMicroBatch += found.microBatches[i].delta();
    EXPECT_LT(found.microBatches[i].microBatch, 10);
    EXPECT_GE(std::abs(found.microBatches[i == 0 ? 0 : i - 1].delta()),
              std::abs(found.microBatches[i].delta()));
  }
  EXPECT_EQ(byMicroBatch, sum);
}

TEST(Diff, MicroBatchesOfOnePathOnlyCountAsNothingOnTheOther) {
  const TraceFixture few(20), many(26);
  const Diff found = diffOf(few, many);
  std::map<std::int32_t, MicroBatchPart> parts;
  std::int64_t sum = 0;
  for (const MicroBatchPart& part : found.microBatches) parts[part.microBatch] = part, sum += part.delta();
  EXPECT_EQ(sum, found.after - found.before);
  for (const std::int32_t added : {10, 11, 12}) {
    EXPECT_EQ(parts[added].before, 0);
    EXPECT_GT(parts[added].after, 0);
  }
}

TEST(Diff, OfAProfileWithItselfIsNothing) {
  const TraceFixture fixture(10);
  const Diff found = diffOf(fixture, fixture);
  EXPECT_TRUE(found.time.empty());
  EXPECT_TRUE(found.options.empty());
  EXPECT_TRUE(found.versions.empty());
  EXPECT_TRUE(found.memory.empty());
}

TEST(Diff, OptionsVersionsAndMemoryThatChanged) {
  TraceFixture a(2), b(2);
  model::RowSet rows;
  rows.of<model::MemorySpace>() = {{model::MemorySpaceId(0), model::DeviceId(0), "tile_memory", 4, {}, {}}};
  rows.of<model::ConfigurationEntry>() = {
      {"same", "1", "default"}, {"changed", "1", "file"}, {"gone", "1", "file"}};
  rows.of<model::UnitMemory>() = {
      {model::ExecutableId(0), model::MemorySpaceId(0), "variable", "", true, 0, 4, model::Bytes(10)},
      {model::ExecutableId(0), model::MemorySpaceId(0), "gap", "", true, 0, 4, model::Bytes(99)}};
  ASSERT_TRUE(a.profile->commit(rows).ok());
  rows.of<model::ConfigurationEntry>() = {
      {"same", "1", "flag"}, {"changed", "2", "file"}, {"new", "1", "file"}};
  rows.of<model::UnitMemory>()[0].unitCount = 3;
  rows.of<model::Property>() = {{"model", "other"}};
  ASSERT_TRUE(b.profile->commit(rows).ok());
  const Diff found = diffOf(a, b);
  ASSERT_EQ(found.options.size(), 3U);
  EXPECT_EQ(found.options[0].path + found.options[0].before + found.options[0].after, "changed12");
  EXPECT_EQ(found.options[1].path + found.options[1].after, "gone");
  EXPECT_EQ(found.options[2].path + found.options[2].before, "new");
  ASSERT_EQ(found.versions.size(), 1U);
  EXPECT_EQ(found.versions[0].after, "other");
  ASSERT_EQ(found.memory.size(), 1U);
  EXPECT_EQ(found.memory[0].delta(), -10);
  EXPECT_EQ(found.memory[0].device, "D0");
  EXPECT_EQ(found.memory[0].index, 0);
}

TEST(Diff, WhatWasReplayedComesFirstWhereNoOptionSaysIt) {
  TraceFixture a(2), b(2);
  model::RowSet rows;
  rows.of<model::ConfigurationEntry>() = {{"execution.schedule", "1f1b", "file"}};
  ASSERT_TRUE(a.profile->commit(rows).ok());
  rows.of<model::ConfigurationEntry>() = {{"execution.schedule", "gpipe", "file"}};
  rows.of<model::Property>() = {{"replayed_with", "stages.1.forward=2x execution.schedule=gpipe nothing"}};
  ASSERT_TRUE(b.profile->commit(rows).ok());
  const Diff found = diffOf(a, b);
  ASSERT_EQ(found.options.size(), 2U);
  EXPECT_EQ(found.options[0].path, "what-if stages.1.forward");
  EXPECT_EQ(found.options[0].before, "");
  EXPECT_EQ(found.options[0].after, "2x");
  EXPECT_EQ(found.options[1].path, "execution.schedule");
}

Diff diffOfRows(const model::RowSet& a, const model::RowSet& b) {
  record::MemoryProfile first, second;
  EXPECT_TRUE(first.commit(a).ok());
  EXPECT_TRUE(second.commit(b).ok());
  const auto before = loadCatalog(first).value(), after = loadCatalog(second).value();
  const auto found = diff({first, *before, model::ExecutableId(0)}, {second, *after, model::ExecutableId(0)});
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
  return found.ok() ? *found : Diff();
}

TEST(Diff, CallsOfDifferentNumbersOfSamplesAreComparedByTheSample) {
  model::RowSet few = TraceFixture(20).rows, many = TraceFixture(20, 5).rows;
  few.of<model::Run>()[0].samples = 10;
  many.of<model::Run>()[0].samples = 40;
  const Diff found = diffOfRows(few, many);
  ASSERT_TRUE(found.perSample());
  EXPECT_EQ(found.samplesBefore, 10);
  EXPECT_EQ(found.samplesAfter, 40);
  // A tick is one microsecond in this profile.
  EXPECT_DOUBLE_EQ(found.secondsPerSampleBefore(found.before), static_cast<double>(found.before) * 1e-6 / 10);
  EXPECT_DOUBLE_EQ(found.secondsPerSampleAfter(found.after), static_cast<double>(found.after) * 1e-6 / 40);
  double time = 0, passes = 0;
  for (std::size_t i = 0; i < found.time.size(); ++i) {
    time += found.changePerSample(found.time[i]);
    EXPECT_GE(std::abs(found.changePerSample(found.time[i == 0 ? 0 : i - 1])),
              std::abs(found.changePerSample(found.time[i])));
  }
  for (const PassPart& part : found.passes) passes += found.changePerSample(part);
  const double whole = found.secondsPerSampleAfter(found.after) - found.secondsPerSampleBefore(found.before);
  EXPECT_NEAR(time, whole, 1e-12);
  EXPECT_NEAR(passes, whole, 1e-12);
  many.of<model::Run>()[0].samples = 10;
  EXPECT_FALSE(diffOfRows(few, many).perSample()) << "the same work is compared in ticks";
}

TEST(Diff, TransfersBelongToTheirDeviceWhateverWasBeforeThem) {
  model::RowSet one = TraceFixture(20).rows;
  for (int d = 0; d < 3; ++d) {
    model::Stage stage;
    stage.executable = model::ExecutableId(0);
    stage.index = d;
    stage.device = model::DeviceId(d);
    one.of<model::Stage>().push_back(stage);
  }
  model::RowSet other = one;
  // The work of a pipeline's flush between its passes belongs to no stage and no micro-batch.
  for (model::Placement& row : other.of<model::Placement>()) row.stage = row.microBatch = -1;
  record::MemoryProfile profile;
  ASSERT_TRUE(profile.commit(one).ok());
  const auto catalog = loadCatalog(profile).value();
  const auto path = criticalPath(profile, *catalog, model::RunId(0));
  ASSERT_TRUE(path.ok());
  std::int64_t transfers = 0;
  for (const CriticalLink& link : *path)
    transfers += link.kind == CriticalLink::Kind::transfer ? (link.end - link.start).count : 0;
  ASSERT_GT(transfers, 0);
  for (const TimePart& part : diffOfRows(one, other).time) EXPECT_EQ(part.kind, "placement");
  // Gaps that are longer by one tick are a change of the device that waits.
  model::RowSet later = one;
  std::map<std::int64_t, std::int64_t> gaps;
  model::Run& run = later.of<model::Run>()[0];
  for (model::Placement& row : later.of<model::Placement>()) {
    const std::int64_t shift = ++gaps[row.device.value];
    row.start += Ticks(shift), row.end += Ticks(shift);
    run.end = std::max(run.end, row.end);
  }
  const Diff found = diffOfRows(one, later);
  std::int64_t sum = 0;
  for (const TimePart& part : found.time) {
    sum += part.delta();
    if (part.kind == "transfer") {
      EXPECT_EQ(part.stage, part.device);
    }
  }
  EXPECT_EQ(sum, (run.end - one.of<model::Run>()[0].end).count);
}

TEST(Diff, PartsOfDifferentFamiliesAreMatchedByOperator) {
  model::RowSet one = TraceFixture(20).rows, other = TraceFixture(20).rows;
  // Both profiles have the operator "layer" of the model. The names of its programs depend on the device.
  for (model::RowSet* rows : {&one, &other}) {
    model::Operator op;
    op.id = model::OperatorId(0);
    op.executable = model::ExecutableId(0);
    op.debugContext = model::DebugContextId(0);
    rows->of<model::Operator>() = {op};
    for (model::Program& program : rows->of<model::Program>()) program.op = model::OperatorId(0);
  }
  other.of<model::Target>()[0].family = "gaudi";
  for (model::DebugContext& context : other.of<model::DebugContext>()) {
    if (context.id.value > 0) context.name = "Kernel" + std::to_string(context.id.value);
  }
  other.of<model::Step>()[0].ticks += Ticks(7);
  other.of<model::Segment>()[0].ticks += Ticks(7);
  const Diff found = diffOfRows(one, other);
  ASSERT_TRUE(found.families);
  for (const TimePart& part : found.time) {
    EXPECT_EQ(part.stage, -1);
    EXPECT_EQ(part.device, -1);
    EXPECT_EQ(part.operation, part.kind == "placement" ? "layer" : "");
  }
  EXPECT_FALSE(diffOfRows(one, one).families);
}

TEST(Diff, DifferentSplitsAreMatchedWhereverTheyRun) {
  const TraceFixture one(4);
  TraceFixture other(4);
  model::RowSet rows;
  model::Stage stage;
  stage.executable = model::ExecutableId(0), stage.device = model::DeviceId(1), stage.blocks = "all";
  rows.of<model::Stage>() = {stage};
  ASSERT_TRUE(other.profile->commit(rows).ok());
  const Diff found = diffOf(one, other);
  EXPECT_TRUE(found.splits);
  EXPECT_TRUE(found.time.empty()) << "the same steps take the same time";
  EXPECT_FALSE(diffOf(one, one).splits);
  TraceFixture slow(4, 5);
  ASSERT_TRUE(slow.profile->commit(rows).ok());
  const Diff slower = diffOf(one, slow);
  std::int64_t sum = 0;
  for (const TimePart& part : slower.time) {
    EXPECT_EQ(part.stage, -1);
    EXPECT_EQ(part.device, -1);
    sum += part.delta();
  }
  EXPECT_EQ(sum, slower.after - slower.before);
  EXPECT_NE(sum, 0);
}

TEST(Diff, WithoutACallThereIsNothingToCompare) {
  const TraceFixture whole(2);
  auto empty = std::make_shared<record::MemoryProfile>();
  model::RowSet rows;
  rows.of<model::Executable>() = {model::Executable{}};
  ASSERT_TRUE(empty->commit(rows).ok());
  const auto before = loadCatalog(*whole.profile).value(), after = loadCatalog(*empty).value();
  const auto found =
      diff({*whole.profile, *before, model::ExecutableId(0)}, {*empty, *after, model::ExecutableId(0)});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message,
            "The second profile has no call of this executable: there is no time to compare.");
}

}  // namespace
}  // namespace pipescope::analysis
