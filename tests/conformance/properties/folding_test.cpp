// Replicas of equal times are emulated once, and the ranks of a place share a clock. Draws jobs of up to 512
// chips, of which up to three are slower or have a bad link, and compares with all replicas emulated one by
// one: every placement, wait and transfer must be the same to the tick.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "app/run/request/configuration_keys.h"
#include "engine/compiler/record_compilation.h"
#include "engine/emulate/emulator.h"
#include "engine/plan/emulated_time.h"
#include "random_model.h"

namespace pipescope::conformance {
namespace {

/// The full tests draw the 500 jobs that the issue "Every dimension" asks for.
int jobs() {
  return std::getenv("PIPESCOPE_FULL_TESTS") != nullptr ? 500 : 25;
}

struct Job {
  RandomModel model;
  int chips = 1;
};

/// tensor · expert · context · places · replicas chips, in boxes of eight Gaudi2 or H100 or a ladder of IPUs.
/// In boxes of H100 all axes use the same links.
Job drawnJob(ModelDice& dice) {
  const bool ipu = dice.upTo(5) == 1;
  const std::int64_t tensor = dice.oneOf({1, 2, 4}), expert = dice.oneOf({1, 1, 2}),
                     places = dice.oneOf({1, 2, 4}), context = ipu ? 1 : dice.oneOf({1, 1, 2}),
                     width = tensor * expert * context, most = (ipu ? 64 : 512) / (width * places);
  const std::int64_t replicas = std::min<std::int64_t>(most, dice.oneOf({1, 2, 3, 8, 32, 128}));
  Job job{.chips = static_cast<int>(width * places * replicas)};
  auto& keys = job.model.keys;
  keys = {{"model.builder", "decoder"},
          {"model.layers", std::to_string(places)},
          {"model.hidden", "64"},
          {"model.heads", "4"},
          {"model.feed_forward", "128"},
          {"model.sequence", "16"},
          {"model.vocabulary", "512"},
          {"execution.numerics", "false"},
          {"execution.mode", "training"},
          {"execution.stages", std::to_string(places)},
          {"execution.schedule", dice.oneOf<const char*>({"1f1b", "gpipe", "popart"})},
          {"execution.tensor_parallel", std::to_string(tensor)},
          {"execution.expert_parallel", std::to_string(expert)},
          {"execution.context_parallel", std::to_string(context)},
          {"training.replication_factor", std::to_string(replicas)},
          {"training.gradient_accumulation", std::to_string(2 * places - 1 + dice.upTo(3))},
          {"training.device_iterations", std::to_string(dice.upTo(2))},
          {"training.optimizer", dice.oneOf<const char*>({"sgd", "adamw"})},
          {"data.dataset", "synthetic"},
          {"system.name", ipu ? "pod64"
                              : fmt::format("{}x{}", dice.oneOf<const char*>({"hls-gaudi2", "dgx-h100"}),
                                            (job.chips + 7) / 8)}};
  if (expert > 1) {
    keys["model.experts"] = "4";
    keys["execution.expert_load"] = dice.oneOf<const char*>({"uniform", "4, 1, 1, 1", "zipf 1.2"});
  }
  if (!ipu && dice.coin()) keys["execution.axis_order"] = "tp-cp-ep-pp-dp";
  if (replicas > 1 && dice.coin()) keys["execution.shard_optimizer"] = "true";
  return job;
}

std::vector<emulate::DeviceScale> drawnScales(ModelDice& dice, int chips) {
  std::map<int, emulate::DeviceScale> scales;
  for (std::int64_t i = dice.upTo(4); i > 1; --i) {
    const int chip = static_cast<int>(dice.upTo(chips)) - 1;
    const bool link = dice.coin();
    const double factor = dice.oneOf({0.5, 0.83, 0.97});
    scales[chip] = {chip, link ? 1 : factor, link ? factor : 1};
  }
  std::vector<emulate::DeviceScale> list;
  for (const auto& [chip, scale] : scales) list.push_back(scale);
  return list;
}

/// Placements of a replica by place: start, end and kind of each.
using Rows =
    std::multimap<int, std::tuple<std::int64_t, std::int64_t, int, int, int, int, int, std::int64_t>>;

struct Emulated {
  std::map<Rows, std::int64_t> replicas;  ///< rows, with the number of replicas that have them
  std::int64_t end = 0, firstEnd = 0;     ///< of both calls, and of the first one
  std::size_t recorded = 0;
  bool sharesLinks = false;  ///< collectives share links with transfers or with those of other axes
};

/// Emulates two calls of the job with these scales, with each replica by itself or folded.
Emulated emulated(compile::Compilation& job, const std::vector<emulate::DeviceScale>& scales, bool all) {
  compile::CompiledExecutable& compiled = job.executables.front();
  compiled.facts.scales = scales;
  compiled.facts.recordAllReplicas = all;
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  const auto recorded = compile::recordCompilation(recorder, job, emulate::RecordLevel::stages);
  const emulate::EmulatedExecutable& executable = recorded.executables.front();
  emulate::Emulator emulator(recorder, *job.system, recorded.ids, emulate::RecordLevel::stages);
  Emulated result;
  result.firstEnd = emulator.call(executable, {}).end.count;
  result.end = emulator.call(executable, {}).end.count;
  result.sharesLinks = !executable.call.replicas.front().linkUses.empty();
  EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  const compile::Mesh& mesh = compiled.ir.mesh;
  std::map<int, Rows> rows;
  for (const auto& replica : executable.call.replicas) rows[replica.number];
  const auto add = [&](model::DeviceId device, base::Ticks start, base::Ticks end, int what, int stage,
                       int number, int microBatch, int iteration, std::int64_t other) {
    const int chip = static_cast<int>(device.value);
    rows.at(mesh.replicaOf(chip))
        .emplace(mesh.placeOf(chip),
                 std::tuple(start.count, end.count, what, stage, number, microBatch, iteration, other));
  };
  for (const model::Placement& p : **profile.rows<model::Placement>())
    add(p.device, p.start, p.end, 0, p.stage, static_cast<int>(p.pass), p.microBatch, p.iteration, p.chunk);
  for (const model::Wait& w : **profile.rows<model::Wait>())
    add(w.device, w.start, w.end, 1, w.stage, static_cast<int>(w.cause), w.slot, w.iteration, 0);
  const auto lanes = profile.rows<model::Lane>();
  for (const model::Transfer& t : **profile.rows<model::Transfer>()) {
    const auto chipOf = [&](model::LaneId lane) {
      return static_cast<int>((**lanes)[static_cast<std::size_t>(lane.value)].device.value);
    };
    add(model::DeviceId(chipOf(t.fromLane)), t.start, t.end, 2, mesh.placeOf(chipOf(t.toLane)),
        static_cast<int>(t.kind), t.microBatch, t.iteration, t.bytes.count);
  }
  for (std::size_t i = 0; i < executable.parts.size(); ++i)
    result.replicas[rows.at(executable.call.replicas[i].number)] += executable.parts[i].members;
  result.recorded = executable.parts.size();
  return result;
}

/// Each rank of a place gets the slowest compute and the worst link of them.
std::vector<emulate::DeviceScale> scalesOfPlaces(const std::vector<emulate::DeviceScale>& scales,
                                                 const compile::Mesh& mesh) {
  std::map<int, emulate::DeviceScale> slowest;
  for (const emulate::DeviceScale& scale : scales) {
    for (int rank = 0; rank < mesh.width; ++rank) {
      const int chip = scale.device - mesh.rankOf(scale.device) + rank;
      emulate::DeviceScale& own = slowest.try_emplace(chip, emulate::DeviceScale{chip, 1, 1}).first->second;
      own.compute = std::min(own.compute, scale.compute);
      own.link = std::min(own.link, scale.link);
    }
  }
  std::vector<emulate::DeviceScale> list;
  for (const auto& [chip, scale] : slowest) list.push_back(scale);
  return list;
}

TEST(Folding, GivesTheTimesOfAllReplicas) {
  ModelDice dice(46);
  int folded = 0, perturbed = 0, shared = 0;
  for (int i = 0; i < jobs(); ++i) {
    const Job job = drawnJob(dice);
    auto c = app::parseConfiguration(job.model.tables, "drawn job");
    ASSERT_TRUE(c.ok()) << c.error().message;
    for (const auto& [key, value] : job.model.keys)
      ASSERT_TRUE(c->setText(key, value, config::Origin::flag).ok()) << key << " = " << value;
    auto compiled = app::compileRun(*c);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message << "\n" << job.model.describe();
    const compile::Mesh mesh = compiled->executables.front().ir.mesh;
    ASSERT_EQ(mesh.chips(), job.chips) << job.model.describe();
    const std::vector<emulate::DeviceScale> scales = drawnScales(dice, job.chips);
    std::string what = job.model.describe();
    std::set<int> slow;
    for (const emulate::DeviceScale& scale : scales) {
      slow.insert(mesh.replicaOf(scale.device));
      what += fmt::format("device {}: compute {}, link {}\n", scale.device, scale.compute, scale.link);
    }
    const Emulated few = emulated(*compiled, scales, false), all = emulated(*compiled, scales, true);
    EXPECT_EQ(few.end, all.end) << what;
    EXPECT_TRUE(few.replicas == all.replicas) << what;
    EXPECT_EQ(all.recorded, static_cast<std::size_t>(mesh.replicas));
    const Emulated even = emulated(*compiled, {}, false);
    EXPECT_LE(few.recorded, even.recorded + slow.size()) << "more is unfolded than what is slow: " << what;
    EXPECT_LE(even.end, few.end) << "a slower chip makes nothing faster: " << what;
    EXPECT_EQ(plan::callTicks(*compiled).count, even.firstEnd) << "a plan has the same time: " << what;
    const Emulated places = emulated(*compiled, scalesOfPlaces(scales, mesh), true);
    EXPECT_EQ(places.end, all.end) << "a place is as slow as its slowest rank: " << what;
    EXPECT_TRUE(places.replicas == all.replicas) << what;
    shared += even.sharesLinks ? 1 : 0;
    folded += few.recorded < all.recorded ? 1 : 0;
    perturbed += scales.empty() || few.end == even.end ? 0 : 1;
    if (HasFailure()) return;
  }
  EXPECT_GT(folded, jobs() / 4) << "jobs in which several replicas share a recording";
  EXPECT_GT(shared, jobs() / 8) << "jobs in which axes share links";
  EXPECT_GT(perturbed, jobs() / 4) << "jobs that the perturbed chips make slower";
}

}  // namespace
}  // namespace pipescope::conformance
