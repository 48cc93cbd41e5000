// Messages of a call that another tool recorded: which of them a replay knows.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "emulated.h"

namespace pipescope::conformance {
namespace {

/// The rows of an emulated call, as if another tool had recorded them, and what `change` adds.
base::Result<EmulatedProfile> asMeasured(const EmulatedProfile& emulated,
                                         const std::function<void(model::RowSet&)>& change) {
  model::RowSet rows;
  model::forEachRowType([&]<class Row>() { rows.of<Row>() = **emulated.profile->rows<Row>(); });
  rows.of<model::Property>().push_back({"imported_from", "trace.json"});
  change(rows);
  EmulatedProfile measured;
  measured.profile = std::make_unique<record::MemoryProfile>();
  PIPESCOPE_TRY(measured.profile->commit(rows));
  PIPESCOPE_TRY(measured.profile->finish(model::ProfileState::complete, ""));
  PIPESCOPE_ASSIGN(measured.catalog, analysis::loadCatalog(*measured.profile));
  return measured;
}

/// Two stages that train two micro-batches and exchange in one tick.
ReplayedSetup twoStages() {
  return {
      "[[fixed.stages]]\nforward = 1\nbackward = 2\n[[fixed.stages]]\nforward = 2\nbackward = 4\n"
      "[fixed]\nexchange = 1\n",
      {{"system.name", "fixed"},
       {"execution.mode", "training"},
       {"execution.schedule", "gpipe"},
       {"training.gradient_accumulation", "2"}}};
}

/// An arrow may lead from the last stage to another iteration's first one, or back from the first stage. No
/// stage lies there, so that it is no message of the pipeline.
TEST(MeasuredFlows, LeadToStagesThatThereAre) {
  const auto emulated = emulateSetup(twoStages());
  ASSERT_TRUE(emulated.ok()) << emulated.error().message;
  const auto measured = asMeasured(*emulated, [](model::RowSet& rows) {
    std::vector<model::Transfer>& transfers = rows.of<model::Transfer>();
    const std::vector<model::Transfer> before = transfers;
    for (const model::Transfer& known : before) {
      for (const model::Placement& p : rows.of<model::Placement>()) {
        const bool outward = (p.stage == 1 && known.kind == model::TransferKind::activation) ||
                             (p.stage == 0 && known.kind == model::TransferKind::gradient);
        if (!outward || p.run != known.run || p.microBatch != known.microBatch) continue;
        model::Transfer astray = known;
        astray.id = model::TransferId(static_cast<std::int64_t>(transfers.size()));
        astray.from = p.id;
        transfers.push_back(astray);
      }
    }
  });
  ASSERT_TRUE(measured.ok()) << measured.error().message;
  const auto recording = recordingOf(*measured);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  std::set<std::pair<int, int>> flows;
  for (const replay::Flow& flow : recording->replicas.front().flows)
    flows.emplace(flow.fromStage, flow.toStage);
  EXPECT_EQ(flows, (std::set<std::pair<int, int>>{{0, 1}, {1, 0}}));
}

/// Boundaries of another executable, or of stages that there are not, carry nothing. Tensors between the same
/// stages travel together.
TEST(MeasuredFlows, CarryTheTensorsOfTheirOwnBoundaries) {
  const auto emulated = emulateSetup(twoStages());
  ASSERT_TRUE(emulated.ok()) << emulated.error().message;
  const auto bytesWith = [&](const std::vector<model::Boundary>& more) {
    model::RowSet rows;
    model::forEachRowType([&]<class Row>() { rows.of<Row>() = **emulated->profile->rows<Row>(); });
    for (model::Boundary boundary : more) {
      boundary.tensor = "more";
      boundary.bytes = model::Bytes(1000);
      rows.of<model::Boundary>().push_back(boundary);
    }
    EmulatedProfile changed;
    changed.profile = std::make_unique<record::MemoryProfile>();
    EXPECT_TRUE(changed.profile->commit(rows).ok());
    EXPECT_TRUE(changed.profile->finish(model::ProfileState::complete, "").ok());
    changed.catalog = *analysis::loadCatalog(*changed.profile);
    const auto recording = recordingOf(changed);
    EXPECT_TRUE(recording.ok());
    std::map<std::pair<int, int>, std::int64_t> bytes;
    if (!recording.ok()) return bytes;
    for (const replay::Flow& flow : recording->replicas.front().flows)
      bytes[{flow.fromStage, flow.toStage}] += flow.bytes.count;
    return bytes;
  };
  const auto own = bytesWith({});
  ASSERT_EQ(own.size(), 2U);
  const model::ExecutableId executable(0), other(7);
  const auto boundary = [](model::ExecutableId of, int from, int to) {
    model::Boundary made;
    made.executable = of;
    made.fromStage = from;
    made.toStage = to;
    return made;
  };
  EXPECT_EQ(bytesWith({boundary(other, 0, 1), boundary(executable, -1, 1), boundary(executable, 0, -1),
                       boundary(executable, 2, 1), boundary(executable, 0, 2), boundary(executable, 1, 1)}),
            own);
  auto more = own;
  more[{0, 1}] += 2000;
  EXPECT_EQ(bytesWith({boundary(executable, 0, 1), boundary(executable, 0, 1)}), more);
}

}  // namespace
}  // namespace pipescope::conformance
