// Messages of a call that another tool recorded: which of them a replay knows.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
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

/// An arrow may lead from the last stage to another iteration's first one, or back from the first stage. No
/// stage lies there, so that it is no message of the pipeline.
TEST(MeasuredFlows, LeadToStagesThatThereAre) {
  const auto emulated = emulateSetup(
      {"[[fixed.stages]]\nforward = 1\nbackward = 2\n[[fixed.stages]]\nforward = 2\nbackward = 4\n"
       "[fixed]\nexchange = 1\n",
       {{"system.name", "fixed"},
        {"execution.mode", "training"},
        {"execution.schedule", "gpipe"},
        {"training.gradient_accumulation", "2"}}});
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

}  // namespace
}  // namespace pipescope::conformance
