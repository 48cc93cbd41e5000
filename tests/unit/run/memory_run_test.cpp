// Runs the MNIST sample with recompute, offload, sharding, I/O tiles and phases. Tests what each costs in
// time and saves in memory, and that no bit of the losses changes.
#include <gmock/gmock.h>

#include "app/run/request/configuration_keys.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/analysis/pipeline/waits.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using Changes = std::map<std::string, std::string>;

struct Costs {
  std::vector<double> losses;
  std::int64_t total = 0;                     ///< ticks of the last training call
  std::int64_t tiles = 0;                     ///< bytes in tile memory
  std::int64_t always = 0;                    ///< bytes of `tiles` that are always live
  std::int64_t streaming = 0;                 ///< bytes in streaming memory
  std::map<std::string, std::int64_t> byUse;  ///< bytes of tensors on tiles, by the tensor's use
  std::map<model::Pass, std::int64_t> ticks;  ///< ticks of the last training call, by pass
  std::string recompute;
  std::int64_t devices = 0;
};

class MemoryRunTest : public RunFixture {
 protected:
  static Costs costs(const std::string& name, Changes changes) {
    changes["execution.mode"] = "training";
    changes["data.samples"] = "800";
    return costsOf(sample(name, changes));
  }

  static Costs costsOf(const config::Configuration& configuration) {
    const auto result = run(configuration);
    EXPECT_TRUE(result.ok()) << result.error().message;
    Costs costs;
    if (!result.ok()) return costs;
    const Read profile = read();
    const model::Executable& training = profile.catalog->executables.front();
    costs.losses = counter(profile, "loss");
    costs.recompute = training.recompute;
    costs.devices = profile.catalog->target.devicesUsed;
    const model::Run* last = profile.catalog->lastRunOf(training.id);
    costs.total = (last->end - last->start).count;
    const auto memory = analysis::memory(*profile.source, *profile.catalog, training.id);
    EXPECT_TRUE(memory.ok());
    costs.tiles = memory->total.count;
    costs.always = memory->alwaysLive.count;
    for (const analysis::DeviceMemory& other : memory->others)
      costs.streaming += other.spaceKind == "streaming_memory" ? other.total.count : 0;
    const auto variables = profile.source->rows<model::Variable>();
    EXPECT_TRUE(variables.ok());
    for (const model::Variable& v : **variables) {
      if (v.executable == training.id && profile.catalog->memorySpaces[v.space].kind == "tile_memory")
        costs.byUse[v.category] += v.bytes.count;
    }
    const auto placements = profile.source->rows<model::Placement>();
    EXPECT_TRUE(placements.ok());
    for (const model::Placement& p : **placements) {
      if (p.run == last->id) costs.ticks[p.pass] += (p.end - p.start).count;
    }
    return costs;
  }
};

TEST_F(MemoryRunTest, OffloadedSampleHasLessOnTilesAndLongerUpdates) {
  const Costs plain = costs("pipelined", {}), off = costs("offloaded", {});
  EXPECT_EQ(off.losses, plain.losses);
  EXPECT_LT(off.always, plain.always);
  EXPECT_LT(off.tiles, plain.tiles);
  EXPECT_EQ(plain.streaming, 0);
  // AdamW keeps two moments of 4 bytes for each of 89,818 parameters. The stash rings come on top.
  EXPECT_GT(off.streaming, 8 * 90'026);
  EXPECT_GT(off.total, plain.total);
  EXPECT_EQ(plain.ticks.count(model::Pass::remote), 0u);
  EXPECT_GT(off.ticks.at(model::Pass::remote), 0);
}

TEST_F(MemoryRunTest, OptimizerStateAloneLengthensTheUpdateOnly) {
  const Costs plain = costs("pipelined", {}),
              off = costs("pipelined", {{"execution.offload_optimizer", "true"}});
  EXPECT_EQ(off.losses, plain.losses);
  EXPECT_EQ(off.streaming, 8 * 90'026);
  EXPECT_EQ(off.ticks.at(model::Pass::forward), plain.ticks.at(model::Pass::forward));
  EXPECT_EQ(off.ticks.at(model::Pass::backward), plain.ticks.at(model::Pass::backward));
  // Only the update gets longer, by loads and stores. The devices update one after another, so their times
  // add up.
  EXPECT_EQ(off.total - plain.total, off.ticks.at(model::Pass::remote) + off.ticks.at(model::Pass::update) -
                                         plain.ticks.at(model::Pass::update));
}

TEST_F(MemoryRunTest, EachKindLeavesTheTiles) {
  const Costs plain = costs("pipelined", {});
  const std::pair<const char*, const char*> kinds[] = {{"weights", "weight"},
                                                       {"activations", "stash"},
                                                       {"accumulators", "accumulator"},
                                                       {"optimizer", "optimizer_state"}};
  for (const auto& [kind, use] : kinds) {
    SCOPED_TRACE(kind);
    const Costs off = costs("pipelined", {{std::string("execution.offload_") + kind, "true"}});
    EXPECT_EQ(off.losses, plain.losses);
    EXPECT_GT(plain.byUse.at(use), 0);
    EXPECT_EQ(off.byUse.count(use), 0u);
    EXPECT_EQ(off.streaming, plain.byUse.at(use));
    EXPECT_GT(off.total, plain.total);
  }
}

TEST_F(MemoryRunTest, RecomputeTradesTimeForMemory) {
  const Costs pipeline = costs("pipelined", {}), none = costs("pipelined", {{"execution.recompute", "none"}});
  const Costs checkpoints = costs("pipelined", {{"execution.checkpoints", "[\"layer2/conv\"]"}});
  EXPECT_EQ(pipeline.recompute, "pipeline");
  EXPECT_EQ(none.recompute, "none");
  EXPECT_EQ(checkpoints.recompute, "checkpoints");
  EXPECT_EQ(pipeline.losses, none.losses);
  EXPECT_EQ(checkpoints.losses, none.losses);
  EXPECT_LT(pipeline.always, none.always);
  EXPECT_EQ(none.ticks.count(model::Pass::recompute), 0u);
  EXPECT_GT(pipeline.ticks.at(model::Pass::recompute), 0);
  EXPECT_LT(checkpoints.ticks.at(model::Pass::recompute), pipeline.ticks.at(model::Pass::recompute));
  // A checkpoint keeps one more result for each micro-batch under way, and saves the code of what is not
  // computed again.
  EXPECT_GT(checkpoints.byUse.at("stash"), pipeline.byUse.at("stash"));
}

/// Stages that take turns on one device recompute too: all but the last one, from their inputs.
TEST_F(MemoryRunTest, StagesOfOneDeviceRecomputeWithoutAPipeline) {
  std::ifstream file(std::string(PIPESCOPE_SOURCE_DIR) + "/samples/mnist/pipelined.toml");
  std::string text;
  for (std::string line; std::getline(file, line);)
    text += line.rfind("device =", 0) == 0 ? "device = 0\n" : line + "\n";
  const auto run = [&](const char* recompute) {
    auto parsed = app::parseConfiguration(text, "pipelined.toml");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    const Changes changes{{"execution.strategy", "sharded"},
                          {"execution.recompute", recompute},
                          {"execution.mode", "training"},
                          {"data.samples", "800"},
                          {"data.directory", (folder() / "digits").string()},
                          {"training.epochs", "1"},
                          {"training.device_iterations", "2"}};
    for (const auto& [key, value] : changes)
      EXPECT_TRUE(parsed->setText(key, value, config::Origin::flag).ok()) << key;
    return costsOf(*parsed);
  };
  const Costs none = run("none"), pipeline = run("pipeline");
  EXPECT_EQ(pipeline.losses, none.losses);
  EXPECT_EQ(pipeline.devices, 1);
  EXPECT_EQ(none.ticks.count(model::Pass::recompute), 0u);
  EXPECT_GT(pipeline.ticks.at(model::Pass::recompute), 0);
  EXPECT_LT(pipeline.ticks.at(model::Pass::recompute), pipeline.ticks.at(model::Pass::forward));
  EXPECT_EQ(pipeline.ticks.at(model::Pass::backward), none.ticks.at(model::Pass::backward));
  EXPECT_LT(pipeline.tiles - pipeline.always, none.tiles - none.always);
}

TEST_F(MemoryRunTest, ShardedStateShrinksWithReplicas) {
  Changes changes = {{"training.replication_factor", "4"},
                     {"training.gradient_accumulation", "7"},
                     {"training.micro_batch_size", "4"},
                     {"training.device_iterations", "1"},
                     {"system.name", "pod16"}};
  const Costs plain = costs("pipelined", changes);
  changes["execution.shard_optimizer"] = "true";
  const Costs sharded = costs("pipelined", changes);
  EXPECT_EQ(sharded.losses, plain.losses);
  // Only the linear layer's 81,920 weights are large enough to shard. Each of four replicas keeps a quarter
  // of their two moments, which saves three quarters.
  EXPECT_EQ(plain.byUse.at("optimizer_state") - sharded.byUse.at("optimizer_state"), 81'920 * 8 * 3 / 4);
  changes["execution.shard_accumulators"] = "true";
  changes["execution.shard_weights"] = "true";
  const Costs all = costs("pipelined", changes);
  EXPECT_EQ(all.losses, plain.losses);
  EXPECT_EQ(sharded.byUse.at("weight") - all.byUse.at("weight"), 81'920 * 4 * 3 / 4);
  EXPECT_EQ(sharded.byUse.at("accumulator") - all.byUse.at("accumulator"), 81'920 * 4 * 3 / 4);
  EXPECT_GT(all.total, sharded.total) << "gathered and scattered with each micro-batch";
  EXPECT_GT(all.ticks.at(model::Pass::collective), sharded.ticks.at(model::Pass::collective));
  EXPECT_EQ(all.ticks.at(model::Pass::forward), plain.ticks.at(model::Pass::forward))
      << "gathering is no forward work";
}

TEST_F(MemoryRunTest, HalfAccumulatorsAreHalf) {
  const Costs full = costs("pipelined", {{"execution.precision", "float16"}});
  const Costs half =
      costs("pipelined", {{"execution.precision", "float16"}, {"training.accumulator", "float16"}});
  EXPECT_EQ(2 * half.byUse.at("accumulator"), full.byUse.at("accumulator"));
}

TEST_F(MemoryRunTest, InputOutputTilesComputeNothing) {
  const Costs plain = costs("sharded", {}), io = costs("sharded", {{"execution.io_tiles", "192"}});
  const Costs overlapped =
      costs("sharded", {{"execution.io_tiles", "192"}, {"execution.overlap_io", "true"}});
  EXPECT_EQ(io.losses, plain.losses);
  EXPECT_EQ(overlapped.losses, plain.losses);
  EXPECT_NE(io.total, plain.total);
  EXPECT_LT(overlapped.total, io.total) << "host copies go on beside the compute";
  EXPECT_EQ(overlapped.ticks.at(model::Pass::hostIn), io.ticks.at(model::Pass::hostIn));
}

/// The sample in phases of one or two stages. The configuration leaves the devices to the strategy.
config::Configuration phased(const std::string& data, const std::string& strategy, Changes changes,
                             bool pairs = false) {
  std::ifstream file(std::string(PIPESCOPE_SOURCE_DIR) + "/samples/mnist/pipelined.toml");
  std::string text;
  int stage = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("device =", 0) != 0) text += line + "\n";
    if (pairs && line == "[[stages]]") text += "phase = " + std::to_string(stage++ / 2) + "\n";
  }
  auto parsed = app::parseConfiguration(text, "pipelined.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  changes["execution.strategy"] = strategy;
  changes["data.directory"] = data;
  changes["training.epochs"] = "1";
  changes["training.device_iterations"] = "2";
  changes["inference.device_iterations"] = "10";
  for (const auto& [key, value] : changes) {
    const base::Status set = parsed->setText(key, value, config::Origin::flag);
    EXPECT_TRUE(set.ok()) << set.error().message;
  }
  return std::move(parsed).value();
}

TEST_F(MemoryRunTest, PhasesLoadAndStore) {
  const Costs sharded = costs("sharded", {});
  const std::string data = (folder() / "digits").string();
  const Changes training = {{"execution.mode", "training"}, {"data.samples", "800"}};
  const Costs serial = costsOf(phased(data, "serial_phased", training));
  const Costs parallel = costsOf(phased(data, "parallel_phased", training));
  EXPECT_EQ(serial.losses, sharded.losses);
  EXPECT_EQ(parallel.losses, sharded.losses);
  // Weights, optimizer state, accumulators and activations are all off the chip.
  EXPECT_GT(serial.ticks.at(model::Pass::remote), 0);
  EXPECT_GT(serial.streaming, (4 + 8 + 4) * 90'026);
  EXPECT_EQ(serial.devices, 1);
  EXPECT_EQ(parallel.devices, 2);
  EXPECT_LT(parallel.total, serial.total) << "the idle device loads and stores meanwhile";
  // If the last phase has a separate backward phase, its activations are stored and loaded as well.
  Changes separate = training;
  separate["execution.separate_backward_phase"] = "true";
  const Costs apart = costsOf(phased(data, "serial_phased", separate));
  EXPECT_GT(apart.streaming, serial.streaming);
  EXPECT_GT(apart.ticks.at(model::Pass::remote), serial.ticks.at(model::Pass::remote));
  EXPECT_EQ(apart.losses, serial.losses);
  // A key can keep one kind of tensor on the chip.
  Changes kept = training;
  kept["execution.offload_weights"] = "false";
  EXPECT_LT(costsOf(phased(data, "serial_phased", kept)).streaming, serial.streaming);
}

/// Frameworks allow a stage of ZeRO with a single replica, which keeps everything.
TEST_F(MemoryRunTest, ZeroOfOneReplicaSharesNothing) {
  const Costs plain = costs("pipelined", {}), zero = costs("pipelined", {{"execution.zero", "1"}});
  EXPECT_EQ(zero.total, plain.total);
  EXPECT_EQ(zero.ticks, plain.ticks);
  EXPECT_EQ(zero.losses, plain.losses);
}

TEST_F(MemoryRunTest, PhasesSayTheirNumbers) {
  ASSERT_TRUE(run(phased((folder() / "digits").string(), "serial_phased",
                         {{"execution.mode", "training"}, {"data.samples", "800"}}))
                  .ok());
  std::vector<std::string> notices;
  const auto profile = read();
  for (const model::Diagnostic& diagnostic : profile.catalog->diagnostics) notices.push_back(diagnostic.text);
  EXPECT_THAT(notices, ::testing::Contains("Phases run as 0–3 forward and 6–3 backward."));
}

/// The sample's four stages in two phases of two stages each.
TEST_F(MemoryRunTest, PhasesMayHaveSeveralDevices) {
  const Costs sharded = costs("sharded", {});
  const std::string data = (folder() / "digits").string();
  for (const bool parallel : {false, true}) {
    const Costs costs = costsOf(phased(data, parallel ? "parallel_phased" : "serial_phased",
                                       {{"execution.mode", "training"}, {"data.samples", "800"}}, true));
    EXPECT_EQ(costs.losses, sharded.losses);
    EXPECT_EQ(costs.devices, parallel ? 4 : 2);
    EXPECT_GT(costs.streaming, 0);
    const auto profile = read();
    std::vector<std::int64_t> devices;
    for (const model::Stage& stage : profile.catalog->stages) devices.push_back(stage.device.value);
    EXPECT_EQ(devices,
              parallel ? (std::vector<std::int64_t>{0, 2, 1, 3}) : (std::vector<std::int64_t>{0, 1, 0, 1}));
    std::vector<std::string> notices;
    for (const model::Diagnostic& diagnostic : profile.catalog->diagnostics)
      notices.push_back(diagnostic.text);
    EXPECT_THAT(notices, ::testing::Contains("Phases run as 0, 1 forward and 2, 1 backward."));
  }
}

TEST_F(MemoryRunTest, RefusesWhatDoesNotGoTogether) {
  const auto refused = [&](const Changes& changes) { return refusal(sample("pipelined", changes)); };
  EXPECT_EQ(refused({{"execution.separate_backward_phase", "true"}}),
            "execution.separate_backward_phase belongs to the phased strategies, but execution.strategy is "
            "pipelined: "
            "leave it out.");
  EXPECT_EQ(refused({{"execution.recompute", "none"}, {"execution.checkpoints", "[\"layer2\"]"}}),
            "execution.checkpoints names results to keep, but execution.recompute is none, which keeps them "
            "all: leave "
            "one of them out.");
  EXPECT_EQ(refused({{"execution.recompute", "checkpoints"}}),
            "execution.recompute is checkpoints, but execution.checkpoints names none: list operators whose "
            "results are "
            "kept.");
  EXPECT_NE(
      refused({{"execution.checkpoints", "[\"layer7\"]"}}).find("no operator of the model is called so"),
      std::string::npos);
  EXPECT_EQ(refused({{"execution.io_tiles", "33"}}),
            "execution.io_tiles is 33, but must be an even number from 32 to 192, or 0 for none.");
  EXPECT_NE(refused({{"execution.overlap_io", "true"}}).find("set execution.io_tiles"), std::string::npos);
  EXPECT_NE(refused({{"execution.overlap_io", "true"}, {"execution.io_tiles", "32"}})
                .find("does not go together with pipelined execution"),
            std::string::npos);
  EXPECT_EQ(refused({{"execution.shard_optimizer", "true"}}),
            "execution.shard_optimizer shares tensors out over replicas, but there is one: set "
            "training.replication_factor, or leave it out.");
  EXPECT_NE(
      refused({{"execution.offload_optimizer", "true"}, {"system.name", "c2x2"}}).find("no streaming memory"),
      std::string::npos);
  // The sample puts its stages on devices 0 to 3.
  EXPECT_EQ(refused({{"execution.strategy", "serial_phased"}}),
            "Phase 1 is on device 1, but with serial_phased all phases take turns on device 0: leave the "
            "device out.");
  auto swapped = phased((folder() / "digits").string(), "parallel_phased", {{"execution.chunks", "2"}});
  EXPECT_NE(refusal(swapped).find("execution.chunks is for schedules of pipelines"), std::string::npos);
  const std::string layers =
      "[[model.layers]]\ntype = \"flatten\"\nname = \"flat\"\nblock = \"A\"\n[[model.layers]]\ntype = "
      "\"linear\"\n"
      "name = \"a\"\nblock = \"A\"\nin_features = 784\nout_features = 10\n";
  const std::string text = "[model]\nname = \"m\"\n[execution]\nstrategy = \"parallel_phased\"\n";
  const auto none = app::parseConfiguration(text + layers, "m.toml");
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_NE(refusal(*none).find("needs its phases listed"), std::string::npos);
  const auto odd =
      app::parseConfiguration(text + layers + "[[stages]]\nblocks = [\"A\"]\ndevice = 1\n", "m.toml");
  ASSERT_TRUE(odd.ok()) << odd.error().message;
  EXPECT_NE(refusal(*odd).find("Phase 0 is on device 1: with parallel_phased"), std::string::npos);
  const auto fixed = app::parseConfiguration(
      "[system]\nname = \"fixed\"\n[execution]\nstrategy = \"serial_phased\"\n[[fixed.stages]]\nforward = "
      "1\n",
      "f.toml");
  ASSERT_TRUE(fixed.ok()) << fixed.error().message;
  EXPECT_NE(refusal(*fixed).find("use a model"), std::string::npos);
  const auto costs = app::parseConfiguration(
      "[system]\nname = \"fixed\"\n[execution]\noffload_optimizer = true\n[[fixed.stages]]\nforward = 1\n",
      "f.toml");
  ASSERT_TRUE(costs.ok()) << costs.error().message;
  EXPECT_NE(refusal(*costs).find("execution.offload_optimizer is for models"), std::string::npos);
}

/// A model whose last layer shares the token embedding's weights. The first and last stage are on one device
/// and a third stage between them on another.
TEST_F(MemoryRunTest, TiedWeightsLieOnceOnTheirDevice) {
  const auto tied = [&](const std::string& stages, const std::string& schedule) {
    auto parsed = app::parseConfiguration(
        "[model]\nname = \"tied\"\nbuilder = \"decoder\"\nlayers = 2\nhidden = 16\nheads = 2\nfeed_forward = "
        "32\n"
        "sequence = 8\nvocabulary = 64\ntie_embeddings = true\n" +
            stages + "[execution]\nmode = \"training\"\nschedule = \"" + schedule +
            "\"\n[training]\ngradient_accumulation = 8\nmicro_batch_size = 2\noutput_mode = \"all\"\n"
            "[data]\ndataset = \"synthetic\"\nsamples = 64\n",
        "tied.toml");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return std::move(parsed).value();
  };
  const auto stage = [](const std::string& blocks, int device) {
    return "[[stages]]\nblocks = [" + blocks + "]\ndevice = " + std::to_string(device) + "\n";
  };
  const auto table = [](const Read& profile) {
    int count = 0;
    const auto variables = profile.source->rows<model::Variable>();
    EXPECT_TRUE(variables.ok());
    for (const model::Variable& v : **variables)
      count += v.category == "weight" && v.shape.find("64x16") != std::string::npos ? 1 : 0;
    return count;
  };
  const auto one = run(tied(stage("\"embeddings\", \"decoder\", \"head\"", 0), "popart"));
  ASSERT_TRUE(one.ok()) << one.error().message;
  const std::vector<double> losses = counter(read(), "loss");
  EXPECT_EQ(table(read()), 1);
  for (const char* schedule : {"popart", "gpipe"}) {
    SCOPED_TRACE(schedule);
    const auto back =
        run(tied(stage("\"embeddings\"", 0) + stage("\"decoder\"", 1) + stage("\"head\"", 0), schedule));
    ASSERT_TRUE(back.ok()) << back.error().message;
    const Read profile = read();
    EXPECT_EQ(counter(profile, "loss"), losses);
    EXPECT_EQ(profile.catalog->target.devicesUsed, 2);
    EXPECT_EQ(table(profile), 1) << "both stages use one table";
  }
  EXPECT_NE(
      refusal(tied(stage("\"embeddings\"", 0) + stage("\"decoder\"", 1) + stage("\"head\"", 2), "popart"))
          .find("its users must sit on one device"),
      std::string::npos);
  // Cards keep a copy on the first and the last device, and add up their gradients once an iteration.
  for (const char* schedule : {"1f1b", "popart", "zb-h1"}) {
    SCOPED_TRACE(schedule);
    auto apart = tied(stage("\"embeddings\"", 0) + stage("\"decoder\"", 1) + stage("\"head\"", 2), schedule);
    ASSERT_TRUE(apart.setText("system.name", "hls-gaudi2", config::Origin::flag).ok());
    const auto ran = run(apart);
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    const Read profile = read();
    EXPECT_EQ(counter(profile, "loss"), losses);
    EXPECT_EQ(table(profile), 2);
    std::vector<model::Collective> sums;
    for (const model::Collective& row : **profile.source->rows<model::Collective>())
      if (row.axis == model::MeshAxis::pipe) sums.push_back(row);
    ASSERT_EQ(sums.size(), 2U);
    EXPECT_EQ(sums[0].ranks, 2);
    EXPECT_EQ(sums[0].bytes.count, 64 * 16 * 4);
    EXPECT_EQ(sums[0].sent.count, 64 * 16 * 4) << "an all-reduce of two sends 2 · 1/2 of it";
    const auto waits =
        analysis::waitGroups(*profile.source, *profile.catalog, profile.catalog->executables.front().id);
    ASSERT_TRUE(waits.ok());
    int meetings = 0;
    for (const analysis::WaitGroup& group : *waits) {
      EXPECT_EQ(group.axis.has_value(), group.cause == model::WaitCause::collective);
      if (!group.axis) continue;
      EXPECT_EQ(*group.axis, model::MeshAxis::pipe) << "there are no other replicas";
      ++meetings;
    }
    // The one that is ready first waits for the other. The popart schedule drains all devices before.
    EXPECT_EQ(meetings, std::string(schedule) == "popart" ? 0 : 1);
  }
  // A slow link of the last device slows the sum of both down.
  const auto sumTicks = [&](const std::string& scale) {
    auto apart =
        tied(stage("\"embeddings\"", 0) + stage("\"decoder\"", 1) + stage("\"head\"", 2) + scale, "1f1b");
    EXPECT_TRUE(apart.setText("system.name", "hls-gaudi2", config::Origin::flag).ok());
    EXPECT_TRUE(run(apart).ok());
    std::vector<std::int64_t> ticks;
    for (const model::Placement& p : **read().source->rows<model::Placement>())
      if (p.pass == model::Pass::collective) ticks.push_back((p.end - p.start).count);
    return ticks;
  };
  const std::vector<std::int64_t> plain = sumTicks(""),
                                  slow = sumTicks("[[device_scale]]\ndevice = 2\nlink = 0.5\n");
  ASSERT_EQ(slow.size(), plain.size());
  ASSERT_FALSE(plain.empty());
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(slow[i], 2 * plain[i]);
}

}  // namespace
}  // namespace pipescope::app
