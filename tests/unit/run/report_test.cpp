// Tests the reports of a complete run on emulated IPUs: keys that tools rely on, and sums that must agree.
#include <nlohmann/json.hpp>
#include <set>

#include "app/run/orders/replay_schedules.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/replays.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

class ReportTest : public RunFixture {
 protected:
  static nlohmann::json section(const std::string& name) {
    const Read profile = read();
    const sections::Context context{*profile.source, *profile.catalog,
                                    profile.catalog->executables.front().id};
    const auto made = sections::makeSection(*sections::sectionRegistry().find(name), context);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return nlohmann::json::parse(sections::toJson(*made));
  }
  static void expectKeys(const nlohmann::json& object, std::initializer_list<const char*> keys) {
    for (const char* key : keys) EXPECT_TRUE(object.contains(key)) << key;
  }
};

TEST_F(ReportTest, KeysThatMustExist) {
  ASSERT_TRUE(run(sample("pipelined")).ok());
  const auto ipu = {"compute_cycles",     "exchange_cycles",        "sync_cycles",
                    "stream_copy_cycles", "global_exchange_cycles", "tile_balance"};
  const nlohmann::json execution = section("execution");
  expectKeys(execution, {"total_cycles", "time_us", "samples_per_second", "devices"});
  expectKeys(execution, ipu);
  ASSERT_EQ(execution["devices"].size(), 4u);
  expectKeys(execution["devices"][0],
             {"index", "kind", "clock_hz", "total_cycles", "idle_cycles", "by_lane", "by_kind"});
  expectKeys(execution["devices"][0], ipu);
  const nlohmann::json memory = section("memory");
  expectKeys(memory, {"total_bytes", "max_tile_bytes", "max_tile_bytes_including_gaps", "always_live_bytes",
                      "not_always_live_peak_bytes", "by_category", "devices"});
  const nlohmann::json stages = section("stages");
  expectKeys(stages, {"imbalance", "imbalance_forward", "imbalance_backward", "bubble_fraction", "stages"});
  ASSERT_EQ(stages["stages"].size(), 4u);
  expectKeys(stages["stages"][0],
             {"index", "device", "forward_cycles", "recompute_cycles", "backward_cycles", "update_cycles"});
  const nlohmann::json summary = section("summary");
  expectKeys(summary, {"fits", "bound_by", "slowest_stage", "final_loss", "test_accuracy",
                       "samples_per_second", "host_samples_per_second"});
  EXPECT_TRUE(summary["fits"].get<bool>());
  const std::set<std::string> bounds = {"compute", "exchange", "stream", "host", "memory", "pipeline"};
  EXPECT_TRUE(bounds.contains(summary["bound_by"].get<std::string>()));
  double most = 0;
  for (const auto& [name, share] : summary["time_shares"].items()) most = std::max(most, share.get<double>());
  EXPECT_EQ(summary["time_shares"][summary["bound_by"].get<std::string>()].get<double>(), most);
  EXPECT_TRUE(summary["final_loss"].is_number());
  EXPECT_GT(summary["test_accuracy"].get<double>(), 0.2);
}

/// Twelve layers of 8192 × 8192 in bfloat16 on a Gaudi2, of which a call reads `batch` rows eight times.
std::string wideLayers(int batch) {
  std::string text = "[model]\ninput = [8192]\n";
  for (int i = 0; i < 12; ++i) {
    text += "[[model.layers]]\ntype = \"linear\"\nname = \"fc" + std::to_string(i) +
            "\"\nblock = \"B\"\nout_features = 8192\n";
  }
  return text +
         "[execution]\nmode = \"inference\"\nnumerics = false\nprecision = \"bfloat16\"\n[inference]\n"
         "micro_batch_size = " +
         std::to_string(batch) + "\ndevice_iterations = 8\n[data]\ndataset = \"synthetic\"\ntest_samples = " +
         std::to_string(8 * batch) + "\n[system]\nname = \"gaudi2\"\n";
}

TEST_F(ReportTest, MemoryBoundsProductsOfOneRow) {
  const auto summaryOf = [&](int batch) {
    const auto configuration = app::parseConfiguration(wideLayers(batch), "test.toml");
    EXPECT_TRUE(configuration.ok() && run(*configuration).ok());
    return section("summary");
  };
  const nlohmann::json row = summaryOf(1), rows = summaryOf(8192);
  EXPECT_EQ(row["bound_by"], "memory bandwidth");
  EXPECT_EQ(rows["bound_by"], "compute");
  // Each row needs all weights. HBM brings them at 2.46 TB/s at most; activations are next to nothing.
  const double weights = 12.0 * 8192 * 8192 * 2, perRow = 1 / row["samples_per_second"].get<double>();
  EXPECT_NEAR(row["memory_bandwidth_use"].get<double>() / (weights / perRow / 2.46e12), 1, 0.01);
  EXPECT_LT(rows["memory_bandwidth_use"].get<double>(), 0.5);
  EXPECT_GT(rows["model_flop_use"].get<double>(), 0.5);
  // Tiles have no memory beside them.
  ASSERT_TRUE(run(sample("pipelined", {{"execution.numerics", "false"}})).ok());
  EXPECT_TRUE(section("summary")["memory_bandwidth_use"].is_null());
}

/// A stash that takes most of a card's memory asks for recompute, which costs time: the finding names the
/// change and its cost, and it is no gain of the report.
TEST_F(ReportTest, AChangeThatFreesMemoryIsNamedWithWhatItCosts) {
  const auto rateWith = [&](const std::string& recompute) {
    const auto configuration = app::parseConfiguration(
        "[model]\nbuilder = \"decoder\"\nlayers = 4\n[execution]\nmode = \"training\"\nstages = 2\nnumerics "
        "= false\nrecompute = "
        "\"" +
            recompute +
            "\"\n[training]\nmicro_batch_size = 512\ngradient_accumulation = 4\n[data]\ndataset = "
            "\"synthetic\"\n"
            "samples = 2048\n[system]\nname = \"dgx-h100\"\n",
        "test.toml");
    EXPECT_TRUE(configuration.ok()) << configuration.error().message;
    EXPECT_TRUE(configuration.ok() && run(*configuration).ok());
    return section("summary")["samples_per_second"].get<double>();
  };
  const double again = rateWith("pipeline"), kept = rateWith("none");
  ASSERT_LT(again, kept);
  sections::setSchedules(replaySchedules());  // as the programs do
  const nlohmann::json insights = section("insights");
  sections::setSchedules({});
  double largest = 0;
  bool found = false;
  for (const nlohmann::json& row : insights["insights"]) {
    if (row["gain_fraction"].is_number()) largest = std::max(largest, row["gain_fraction"].get<double>());
    if (row["rule"] != "stash") continue;
    found = true;
    EXPECT_EQ(row["changes"], "execution.recompute=pipeline");
    ASSERT_TRUE(row["gain_fraction"].is_number());
    EXPECT_NEAR(row["gain_fraction"].get<double>(), again / kept - 1, 0.02) << "as the run with it says";
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(insights["largest_gain_fraction"], largest > 0 ? nlohmann::json(largest) : nlohmann::json())
      << "a loss is no gain";
}

TEST_F(ReportTest, OperatorsAreComparedWithThePeakOfTheirOwnTypes) {
  // Products with weights are float8 on a Gaudi2, at twice the rate of attention's in bfloat16.
  const auto configuration = app::parseConfiguration(
      "[model]\nbuilder = \"decoder\"\nlayers = 2\nhidden = 512\nheads = 4\nfeed_forward = 2048\nsequence = "
      "1024\n"
      "vocabulary = 97\n[execution]\nmode = \"inference\"\nnumerics = false\nprecision = "
      "\"float8\"\n[inference]\n"
      "micro_batch_size = 16\ndevice_iterations = 1\n[data]\ndataset = \"synthetic\"\ntest_samples = 16\n"
      "[system]\nname = \"gaudi2\"\n",
      "test.toml");
  ASSERT_TRUE(configuration.ok() && run(*configuration).ok());
  const nlohmann::json operations = section("operations");
  std::set<double> peaks;  // peaks of products, in units of bfloat16's: 131,072 MACs at 1.65 GHz
  for (const nlohmann::json& row : operations["operations"]) {
    if (!row["peak_share"].is_number()) continue;
    const double share = row["peak_share"].get<double>(), rate = row["flops_per_second"].get<double>();
    EXPECT_LE(share, 1) << row["name"];
    if (row["kind"] == "Float8Gemm" || row["kind"] == "MatMul")
      peaks.insert(std::round(100 * rate / share / (2 * 131072 * 1.65e9)) / 100);
  }
  EXPECT_EQ(peaks, (std::set<double>{1, 2}));
}

TEST_F(ReportTest, FlopDoNotDependOnTheSchedule) {
  // Two pipes hold the stages twice, but a micro-batch goes through one of them.
  std::vector<double> flops, model;
  for (const char* schedule : {"1f1b", "dualpipe"}) {
    ASSERT_TRUE(run(sample("pipelined", {{"execution.schedule", schedule},
                                         {"execution.recompute", "none"},
                                         {"execution.numerics", "false"},
                                         {"execution.mode", "training"}}))
                    .ok());
    const nlohmann::json summary = section("summary"), operations = section("operations");
    double passes = 0;
    for (const nlohmann::json& row : operations["kinds"])
      if (row["kind"] == "Conv" || row["kind"] == "Gemm") passes += row["flops"].get<double>();
    flops.push_back(passes);
    model.push_back(summary["model_flop_use"].get<double>() / summary["samples_per_second"].get<double>());
  }
  EXPECT_GT(flops[0], 0);
  EXPECT_EQ(flops[1], flops[0]);
  EXPECT_NEAR(model[1] / model[0], 1, 1e-6) << "FLOP of a sample";
}

TEST_F(ReportTest, SumsAgree) {
  ASSERT_TRUE(run(sample("pipelined", {{"execution.numerics", "false"}})).ok());
  const nlohmann::json execution = section("execution");
  for (const nlohmann::json& device : execution["devices"]) {
    std::int64_t busy = 0;
    for (const auto& [kind, ticks] : device["by_kind"].items()) busy += ticks.get<std::int64_t>();
    EXPECT_EQ(busy + device["idle_cycles"].get<std::int64_t>(), device["total_cycles"].get<std::int64_t>())
        << device["name"];
    EXPECT_GT(device["tile_balance"].get<double>(), 0);
    EXPECT_LE(device["tile_balance"].get<double>(), 1);
  }
  std::int64_t out = 0, in = 0;
  for (const nlohmann::json& device : execution["traffic"]) {
    out += device["global_out_bytes"].get<std::int64_t>();
    in += device["global_in_bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(out, in);
  EXPECT_GT(out, 0);
  const nlohmann::json stages = section("stages");
  const double sum = stages["useful_cycles"].get<double>() +
                     stages["lost_fill_and_drain_cycles"].get<double>() +
                     stages["lost_imbalance_cycles"].get<double>() +
                     stages["lost_exchange_update_host_cycles"].get<double>();
  EXPECT_NEAR(sum, stages["step_cycles"].get<double>(), 1e-6 * sum);
  EXPECT_NEAR(stages["bubble_ramp_up"].get<double>() + stages["bubble_steady"].get<double>() +
                  stages["bubble_ramp_down"].get<double>(),
              stages["bubble_fraction"].get<double>(), 1e-12);
  const nlohmann::json waits = section("waits");
  EXPECT_EQ(waits["critical_path_cycles"].get<std::int64_t>(), execution["total_cycles"].get<std::int64_t>());
  const nlohmann::json memory = section("memory");
  std::int64_t total = 0, categories = 0;
  for (const nlohmann::json& device : memory["devices"]) total += device["total_bytes"].get<std::int64_t>();
  for (const auto& [name, bytes] : memory["by_category"].items()) categories += bytes.get<std::int64_t>();
  EXPECT_EQ(total, memory["total_bytes"].get<std::int64_t>());
  EXPECT_EQ(categories, total);
}

/// Sums over replicas belong to no block of the model.
TEST_F(ReportTest, OperationsAddUpInEachTable) {
  ASSERT_TRUE(run(sample("pipelined", {{"execution.numerics", "false"},
                                       {"system.name", "hls-gaudi2"},
                                       {"training.replication_factor", "2"},
                                       {"inference.replication_factor", "2"}}))
                  .ok());
  const nlohmann::json operations = section("operations");
  const auto sumOf = [&](const char* table) {
    double sum = 0;
    for (const nlohmann::json& row : operations[table]) sum += row["cycles"].get<double>();
    return sum;
  };
  const double kinds = sumOf("kinds");
  EXPECT_GT(kinds, 0);
  EXPECT_NEAR(sumOf("blocks"), kinds, 1e-9 * kinds);
  EXPECT_NEAR(sumOf("operations"), kinds, 1e-9 * kinds);
  EXPECT_EQ(operations["blocks"].back()["name"], "(no block)");
}

TEST_F(ReportTest, ReplayingLivesGivesTheRecordedBytes) {
  ASSERT_TRUE(run(sample("pipelined", {{"execution.numerics", "false"}})).ok());
  const Read profile = read();
  const auto variables = profile.source->rows<model::Variable>();
  const auto lives = profile.source->rows<model::LifeInterval>();
  const auto steps = profile.source->rows<model::LivenessStep>();
  ASSERT_TRUE(variables.ok() && lives.ok() && steps.ok());
  // Live bytes: (executable, space) → step → bytes.
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::int32_t, std::int64_t>> live;
  for (const model::LifeInterval& life : **lives) {
    const model::Variable& variable = (**variables)[static_cast<std::size_t>(life.variable.value)];
    for (std::int32_t s = life.firstStep; s < life.endStep; ++s)
      live[{variable.executable.value, variable.space.value}][s] += variable.bytes.count;
  }
  ASSERT_FALSE((*steps)->empty());
  for (const model::LivenessStep& step : **steps) {
    EXPECT_EQ((live[{step.executable.value, step.space.value}][step.index]), step.notAlwaysLive.count)
        << "step " << step.index;
  }
}

TEST_F(ReportTest, RecomputeTradesTimeForMemory) {
  const auto stash = [&](const char* recompute) {
    EXPECT_TRUE(
        run(sample("pipelined", {{"execution.numerics", "false"}, {"execution.recompute", recompute}})).ok());
    return section("stages");
  };
  const nlohmann::json with = stash("pipeline"), without = stash("none");
  for (int stage : {0, 1, 2}) {
    EXPECT_GT(with["stages"][stage]["recompute_cycles"].get<double>(), 0);
    EXPECT_EQ(without["stages"][stage]["recompute_cycles"].get<double>(), 0);
    EXPECT_LT(with["memory"][stage]["stash_bytes"].get<std::int64_t>(),
              without["memory"][stage]["stash_bytes"].get<std::int64_t>());
  }
  EXPECT_EQ(with["stages"][3]["recompute_cycles"].get<double>(), 0);
  EXPECT_EQ(with["memory"][0]["stash_bytes"].get<std::int64_t>(), 7 * 40 * 28 * 28 * 4);
}

/// Sections that tell of the collectives of an emulated run give the same sums.
TEST_F(ReportTest, CollectivesOfAnEmulatedRunAreThoseOfItsStages) {
  ASSERT_TRUE(run(sample("pipelined", {{"execution.numerics", "false"},
                                       {"execution.mode", "training"},
                                       {"system.name", "hls-gaudi2"},
                                       {"training.replication_factor", "2"}}))
                  .ok());
  const nlohmann::json collectives = section("collectives"), sharding = section("sharding"),
                       stages = section("stages");
  ASSERT_FALSE(collectives["executed"].empty());
  EXPECT_EQ(collectives["executed"], sharding["collectives"]);
  EXPECT_TRUE(collectives["communication_kernels"].is_null());
  EXPECT_TRUE(collectives["collectives"].empty()) << "matched kernels are those of traces";
  EXPECT_TRUE(!collectives.contains("remarks") || collectives["remarks"].empty());
  double executed = 0, byAxis = 0;
  for (const nlohmann::json& row : collectives["executed"]) executed += row["cycles"].get<double>();
  for (const nlohmann::json& row : stages["communication"]) byAxis += row["cycles"].get<double>();
  EXPECT_GT(executed, 0);
  EXPECT_NEAR(executed / byAxis, 1, 1e-9);

  ASSERT_TRUE(
      run(sample("pipelined", {{"execution.numerics", "false"}, {"execution.mode", "training"}})).ok());
  EXPECT_EQ(section("collectives")["remarks"][0],
            "No collective ran: each stage is on one chip, and there is one replica.");
}

TEST_F(ReportTest, ShardedTakesLongerThanPipelined) {
  const auto cycles = [&](const char* name) {
    EXPECT_TRUE(run(sample(name, {{"execution.numerics", "false"}})).ok());
    return section("execution")["total_cycles"].get<std::int64_t>();
  };
  EXPECT_GT(cycles("sharded"), cycles("pipelined"));
}

}  // namespace
}  // namespace pipescope::app
