// Collectives within passes and beside them, and the work of experts, computed by hand.
#include "profiler/analysis/pipeline/collective_uses.h"

#include <gtest/gtest.h>

#include "profiler/analysis/pipeline/links/expert_work.h"
#include "profiler/record/memory_profile.h"
#include "profiler/record/recorder.h"

namespace pipescope::analysis {
namespace {

/// One device, two iterations of 500 ticks in a call, and three operators: a product of experts, a product,
/// and a sum over four ranks.
struct Collectives {
  record::MemoryProfile profile;
  record::Recorder recorder{profile};
  model::ExecutableId executable = recorder.add(model::Executable());
  model::DeviceId device = recorder.add(model::Device());
  model::OperatorId experts = addOperator("ExpertProduct"), product = addOperator("MatMul"),
                    sum = addOperator("AllReduce");
  model::RunId run;

  Collectives() {
    recorder.add(model::Stage{executable, 0, device, "B", 0, {}});
    recorder.add(model::Collective{sum, model::MeshAxis::tensor, "AllReduce", 4, Bytes(100), Bytes(150)});
    model::Run row;
    row.executable = executable;
    row.end = Ticks(1000);
    run = recorder.add(row);
  }
  model::OperatorId addOperator(const char* kind) {
    model::Operator row;
    row.executable = executable;
    row.kind = kind;
    row.stage = 0;
    return recorder.add(row);
  }
  struct Part {
    model::OperatorId op;
    std::int64_t offset, ticks;
  };
  /// A segment with steps of these operators, placed once in each iteration at these times.
  void add(std::int64_t ticks, const std::vector<Part>& parts, std::int64_t first, std::int64_t second) {
    model::Segment segment;
    segment.executable = executable;
    segment.device = device;
    segment.stage = 0;
    segment.ticks = Ticks(ticks);
    const model::SegmentId id = recorder.add(segment);
    for (const Part& part : parts) {
      model::Program program;
      program.executable = executable;
      program.device = device;
      program.op = part.op;
      model::Step step;
      step.segment = id;
      step.offset = Ticks(part.offset);
      step.ticks = Ticks(part.ticks);
      step.kind = part.op == sum ? model::StepKind::globalExchange : model::StepKind::compute;
      step.program = recorder.add(program);
      recorder.add(step);
    }
    for (int iteration = 0; iteration < 2; ++iteration) {
      model::Placement row;
      row.segment = id;
      row.device = device;
      row.start = Ticks(iteration == 0 ? first : second);
      row.end = row.start + Ticks(ticks);
      row.run = run;
      row.stage = 0;
      row.iteration = iteration;
      row.microBatch = 0;
      recorder.add(row);
    }
  }
  std::vector<CollectiveUse> uses() {
    EXPECT_TRUE(recorder.commit().ok());
    return collectiveUses(profile, *loadCatalog(profile).value(), executable).value();
  }
};

TEST(CollectiveUses, AreExposedWhereNothingElseOfTheirPassWorks) {
  Collectives made;
  // The sum takes [30, 80); a product works up to 50 and again from 70.
  made.add(100, {{made.product, 0, 50}, {made.sum, 30, 50}, {made.product, 70, 30}}, 0, 500);
  const auto uses = made.uses();
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].op, made.sum);
  EXPECT_DOUBLE_EQ(uses[0].count, 1);
  EXPECT_DOUBLE_EQ(uses[0].ticks, 50);
  EXPECT_DOUBLE_EQ(uses[0].exposed, 20);
  EXPECT_DOUBLE_EQ(uses[0].sent, 150);
  EXPECT_DOUBLE_EQ(uses[0].share, 0.1);
}

TEST(CollectiveUses, BesidePassesTheyAreHiddenAsFarAsThoseWork) {
  Collectives made;
  made.add(100, {{made.product, 0, 100}}, 0, 500);
  made.add(40, {{made.sum, 0, 40}}, 90, 700);  // ten ticks of the first one are hidden, none of the second
  const auto uses = made.uses();
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_DOUBLE_EQ(uses[0].count, 1);
  EXPECT_DOUBLE_EQ(uses[0].ticks, 40);
  EXPECT_DOUBLE_EQ(uses[0].exposed, (30 + 40) / 2.0);
  const auto along = communicationByAxis(uses);
  ASSERT_EQ(along.size(), 1U);
  EXPECT_EQ(along[0].axis, model::MeshAxis::tensor);
  EXPECT_EQ(along[0].ranks, 4);
  EXPECT_DOUBLE_EQ(along[0].ticks, 40);
  EXPECT_DOUBLE_EQ(along[0].exposed, 35);
  EXPECT_DOUBLE_EQ(along[0].sent, 150);
}

TEST(ExpertWork, TheExcessIsWhatEqualExpertsWouldSave) {
  Collectives made;
  made.add(100, {{made.experts, 0, 60}, {made.experts, 50, 20}, {made.product, 70, 30}}, 0, 500);
  made.recorder.add(model::Property{"expert_imbalance.0", "1.25"});
  made.recorder.add(model::Property{"hottest_expert_rank.0", "3"});
  EXPECT_TRUE(made.recorder.commit().ok());
  const auto work = expertWork(made.profile, *loadCatalog(made.profile).value(), made.executable).value();
  ASSERT_TRUE(work.has_value());
  EXPECT_DOUBLE_EQ(work->imbalance, 1.25);
  EXPECT_EQ(work->hottest, 3);
  EXPECT_DOUBLE_EQ(work->ticks, 70) << "moments of two steps count once";
  EXPECT_DOUBLE_EQ(work->excess, 14) << "70 at 1.25 of the mean are 56 at the mean";
}

TEST(ExpertWork, EqualExpertsHaveNoExcessAndOtherModelsNoExperts) {
  Collectives made;
  made.add(100, {{made.experts, 0, 60}}, 0, 500);
  EXPECT_TRUE(made.recorder.commit().ok());
  EXPECT_FALSE(
      expertWork(made.profile, *loadCatalog(made.profile).value(), made.executable).value().has_value());
  made.recorder.add(model::Property{"expert_imbalance.0", "1"});
  EXPECT_TRUE(made.recorder.commit().ok());
  const auto work = expertWork(made.profile, *loadCatalog(made.profile).value(), made.executable).value();
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(work->excess, 0);
  EXPECT_EQ(work->ticks, 60);
}

}  // namespace
}  // namespace pipescope::analysis
