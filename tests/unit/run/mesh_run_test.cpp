// Tests models that chips share along the axes context and expert: the numbers stay those of the undivided
// model, gradients are summed over the chips that hold the same weights, and what experts cost follows closed
// forms.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "app/run/execute/routed_load.h"
#include "app/run/io/weights_file.h"
#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"
#include "engine/ops/standard_operators.h"
#include "profiler/analysis/device_places.h"
#include "profiler/analysis/pipeline/collective_uses.h"
#include "profiler/analysis/pipeline/links/expert_work.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using MeshRunTest = RunFixture;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::int64_t kMeshLayers = 2, kMeshWidth = 32, kMeshInner = 64, kMeshExperts = 8, kMeshTokens = 16,
                       kMeshWords = 64;

std::string mixture(const std::string& execution, const std::string& training = "",
                    const std::string& model = "", const std::string& system = "hls-gaudi2") {
  return fmt::format(R"(
[model]
builder = "decoder"
layers = {}
hidden = {}
heads = 4
feed_forward = {}
experts = {}
sequence = {}
vocabulary = {}
{}
[execution]
mode = "training"
{}
[training]
micro_batch_size = 2
gradient_accumulation = 2
optimizer = "adam"
epochs = 1
{}
[data]
dataset = "synthetic"
samples = 16
[system]
name = "{}"
)",
                     kMeshLayers, kMeshWidth, kMeshInner, kMeshExperts, kMeshTokens, kMeshWords, model,
                     execution, training, system);
}

compile::Compilation compiledMesh(const std::string& text) {
  auto parsed = parseConfiguration(text, "mesh.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  if (!parsed.ok()) return {};
  auto result = compileRun(*parsed);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(*result) : compile::Compilation();
}

/// Elements of gradients that are summed over so many chips.
std::map<std::size_t, std::int64_t> summedOver(const compile::Compilation& compilation) {
  std::map<std::size_t, std::int64_t> elements;
  const compile::ExecutableIr& ir = compilation.executables.front().ir;
  for (const compile::StageIr& stage : ir.stages)
    for (const compile::PassIr& pass : stage.passes)
      for (const compile::IrOperator& op : pass.operators)
        for (const ops::Work& work : op.work)
          if (const auto* sum = std::get_if<ops::Collective>(&work.item);
              sum != nullptr && sum->axis == model::MeshAxis::data)
            elements[ir.mesh.group(0, *sum).size()] += sum->elements;
  return elements;
}

constexpr std::int64_t kMeshOfExperts = kMeshLayers * kMeshExperts * 2 * kMeshInner * kMeshWidth;
constexpr std::int64_t kMeshOfOthers =
    2 * kMeshWords * kMeshWidth +
    kMeshLayers * (4 * kMeshWidth * kMeshWidth + kMeshExperts * kMeshWidth + 4 * kMeshWidth) + 2 * kMeshWidth;

/// Chips that hold the same weights add up their gradients: replicas, and ranks that take tokens of their
/// own.
TEST_F(MeshRunTest, SumsGradientsOverThoseWhoHoldTheWeight) {
  using Sums = std::map<std::size_t, std::int64_t>;
  EXPECT_EQ(summedOver(compiledMesh(mixture("numerics = false\nexpert_parallel = 4"))),
            (Sums{{4, kMeshOfOthers}}))
      << "the experts of a rank have the gradients of all tokens already";
  EXPECT_EQ(
      summedOver(compiledMesh(mixture("numerics = false\nexpert_parallel = 4", "replication_factor = 2"))),
      (Sums{{2, kMeshOfExperts / 4}, {8, kMeshOfOthers}}));
  EXPECT_EQ(summedOver(compiledMesh(mixture("numerics = false\ncontext_parallel = 2"))),
            (Sums{{2, kMeshOfExperts + kMeshOfOthers}}));
  EXPECT_EQ(summedOver(compiledMesh(mixture("numerics = false\ncontext_parallel = 2\nexpert_parallel = 2",
                                            "replication_factor = 2"))),
            (Sums{{4, kMeshOfExperts / 2}, {8, kMeshOfOthers}}));
}

/// A rank keeps the optimizer's state of its share: 1 ÷ (replicas · ranks that hold the weight).
TEST_F(MeshRunTest, SharesTheOptimizerAmongThem) {
  const auto states = [](const std::string& execution, const std::string& training) {
    std::int64_t bytes = 0;
    const compile::Compilation all = compiledMesh(mixture(execution, training));
    for (const compile::IrTensor& tensor : all.executables.front().ir.stages.front().tensors)
      bytes += tensor.use == compile::TensorUse::optimizerState ? tensor.type.bytes().count : 0;
    return bytes;
  };
  const std::int64_t moments = 2 * 4;
  EXPECT_EQ(states("numerics = false", ""), moments * (kMeshOfExperts + kMeshOfOthers));
  EXPECT_EQ(states("numerics = false\nexpert_parallel = 4\nshard_optimizer = true\nshard_least_elements = 1",
                   "replication_factor = 2"),
            moments * (kMeshOfExperts / 4 / 2 + kMeshOfOthers / 8));
}

/// Numerics computes the undivided model. Ranks that divide positions therefore change no bit of a loss.
/// Ranks that divide experts take samples of their own, so their losses are those of as many replicas.
TEST_F(MeshRunTest, LossesAreThoseOfTheUndividedModel) {
  const auto losses = [&](const std::string& execution, const std::string& training = "") {
    auto parsed = parseConfiguration(mixture(execution, training), "mesh.toml");
    EXPECT_TRUE(parsed.ok());
    const auto result = run(*parsed);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return counter(read(), "loss");
  };
  const std::vector<double> one = losses("");
  ASSERT_FALSE(one.empty());
  EXPECT_EQ(losses("context_parallel = 4"), one);
  EXPECT_EQ(losses("context_parallel = 2\ntensor_parallel = 2\nstages = 2\nschedule = \"1f1b\""), one);
  const std::vector<double> two = losses("", "replication_factor = 2");
  EXPECT_NE(two, one);
  EXPECT_EQ(losses("expert_parallel = 2"), two);
  EXPECT_EQ(losses("expert_parallel = 2\ncontext_parallel = 2\ntensor_parallel = 2"), two);
}

/// The order of the axes decides which chips a stage has, and nothing else: losses are the same. On cards,
/// places are farthest apart unless somebody says otherwise.
TEST_F(MeshRunTest, AxesLieOverChipsAsTheOrderSays) {
  const auto stagesOf = [&](const std::string& order) {
    auto parsed = parseConfiguration(
        mixture("stages = 2\nschedule = \"1f1b\"\ntensor_parallel = 2\n" + order, "replication_factor = 2"),
        "mesh.toml");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    const auto result = run(*parsed);
    EXPECT_TRUE(result.ok()) << result.error().message;
    const Read profile = read();
    const auto places = analysis::devicePlaces(*profile.catalog, model::ExecutableId(0));
    std::vector<std::string> devices;
    for (const analysis::DevicePlace& place : places)
      if (place.replica >= 0)
        devices.push_back(fmt::format("dp{} pp{} tp{}", place.replica, place.stages.front(), place.rank));
    return std::pair(devices, counter(profile, "loss"));
  };
  const auto [megatron, losses] = stagesOf("axis_order = \"tp-cp-ep-dp-pp\"");
  EXPECT_EQ(megatron, (std::vector<std::string>{"dp0 pp0 tp0", "dp0 pp0 tp1", "dp1 pp0 tp0", "dp1 pp0 tp1",
                                                "dp0 pp1 tp0", "dp0 pp1 tp1", "dp1 pp1 tp0", "dp1 pp1 tp1"}));
  const auto [together, same] = stagesOf("axis_order = \"tp-cp-ep-pp-dp\"");
  EXPECT_EQ(together, (std::vector<std::string>{"dp0 pp0 tp0", "dp0 pp0 tp1", "dp0 pp1 tp0", "dp0 pp1 tp1",
                                                "dp1 pp0 tp0", "dp1 pp0 tp1", "dp1 pp1 tp0", "dp1 pp1 tp1"}));
  EXPECT_EQ(same, losses);
  EXPECT_EQ(stagesOf("").first, megatron);
}

TEST_F(MeshRunTest, RecordsItsAxes) {
  auto parsed = parseConfiguration(
      mixture("numerics = false\nexpert_parallel = 2\ncontext_parallel = 2\ntensor_parallel = 2"),
      "mesh.toml");
  ASSERT_TRUE(parsed.ok());
  ASSERT_TRUE(run(*parsed).ok());
  const Read profile = read();
  EXPECT_EQ(profile.catalog->divisionOf(model::ExecutableId(0)), "dp 1 × pp 1 × tp 2 × cp 2 × ep 2");
  const auto uses = analysis::collectiveUses(*profile.source, *profile.catalog, model::ExecutableId(0));
  ASSERT_TRUE(uses.ok()) << uses.error().message;
  std::map<model::MeshAxis, analysis::AxisCommunication> axes;
  for (const analysis::AxisCommunication& axis : analysis::communicationByAxis(*uses)) {
    axes[axis.axis] = axis;
    EXPECT_GT(axis.ticks, 0) << model::toString(axis.axis);
    EXPECT_LE(axis.exposed, axis.ticks) << model::toString(axis.axis);
  }
  ASSERT_EQ(axes.size(), 4U);
  // Each layer sends the rows of its tokens there and back, forward and backward, in each micro-batch; half
  // of them leave the rank. 2 samples, half of their tokens, 2 experts each.
  constexpr std::int64_t kRows = 2 * kMeshTokens / 2 * 2;
  EXPECT_DOUBLE_EQ(axes[model::MeshAxis::expert].sent, kMeshLayers * 4 * 2 * kRows * kMeshWidth * 4 / 2.0);
  EXPECT_DOUBLE_EQ(axes[model::MeshAxis::expert].count, kMeshLayers * 4 * 2);
  EXPECT_EQ(axes[model::MeshAxis::data].ranks, 4) << "the ranks that hold the same weights";
}

/// The work of the most loaded rank grows with its rows (parallelism, §6).
TEST_F(MeshRunTest, SaysWhatAHotExpertCosts) {
  const auto work = [&](const std::string& load) {
    std::string text =
        mixture(fmt::format("numerics = false\nexpert_parallel = 8\nexpert_load = \"{}\"", load));
    const auto set = [&](const std::string& from, const std::string& to) {
      text.replace(text.find(from), from.size(), to);
    };
    set("samples = 16", "samples = 32");
    set("sequence = 16", "sequence = 4096");
    set("hidden = 32", "hidden = 1024");
    set("feed_forward = 64", "feed_forward = 4096");
    auto parsed = parseConfiguration(text, "mesh.toml");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_TRUE(run(*parsed).ok());
    const Read profile = read();
    const auto found = analysis::expertWork(*profile.source, *profile.catalog, model::ExecutableId(0));
    EXPECT_TRUE(found.ok() && *found);
    return found.ok() && *found ? **found : analysis::ExpertWork();
  };
  const analysis::ExpertWork even = work("uniform");
  EXPECT_DOUBLE_EQ(even.imbalance, 1);
  EXPECT_DOUBLE_EQ(even.excess, 0);
  for (int hot = 2; hot <= 8; ++hot) {
    // The hot one of eight experts, seven of which have a share of 1, has x / (7 + x) of the tokens.
    const double imbalance = 8.0 * hot / (7 + hot);
    const analysis::ExpertWork found = work(fmt::format("1, 1, {}, 1, 1, 1, 1, 1", hot));
    EXPECT_NEAR(found.imbalance, imbalance, 1e-9);
    EXPECT_EQ(found.hottest, 2);
    // Start-ups do not grow with rows.
    EXPECT_NEAR(found.ticks - found.excess, even.ticks, 0.01 * found.ticks);
  }
}

/// Each token takes the first two experts if all scores are equal.
TEST_F(MeshRunTest, TakesTheTokensThatNumericsRoutes) {
  auto plain = parseConfiguration(mixture(""), "mesh.toml");
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  const auto request = requestOfRun(*plain);
  ASSERT_TRUE(request.ok()) << request.error().message;
  base::SerialExecutor executor;
  const auto session = numerics::Session::create(*request->executables.front().forward,
                                                 ops::standardOperators(), nullptr, executor);
  ASSERT_TRUE(session.ok()) << session.error().message;
  numerics::Parameters& weights = (*session)->parameters();
  int routers = 0;
  for (std::size_t i = 0; i < weights.count(); ++i) {
    if (weights.name(i).find("router") == std::string::npos) continue;
    ++routers;
    std::ranges::fill(weights.floats(i), 0.0F);
  }
  ASSERT_EQ(routers, kMeshLayers);
  const std::string file = (folder() / "weights.npz").string();
  ASSERT_TRUE(saveWeights(file, **session).ok());
  const auto routed = [&](const std::string& more) {
    return *parseConfiguration(mixture("expert_parallel = 4\nexpert_load = \"routed\"" + more), "mesh.toml");
  };
  base::SilentProgress progress;
  const auto counted = withRoutedLoad(routed(fmt::format("\nload_weights = \"{}\"", file)), progress);
  ASSERT_TRUE(counted.ok()) << counted.error().message;
  // 2 micro-batches of 2 samples with 16 tokens.
  EXPECT_EQ(counted->text("execution.expert_load"), "64, 64, 0, 0, 0, 0, 0, 0; 64, 64, 0, 0, 0, 0, 0, 0");
  const auto compiled = compileRun(*counted);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_DOUBLE_EQ(compiled->executables.front().facts.expertImbalance, 4);
  EXPECT_EQ(compiled->executables.front().facts.hottestRank, 0);
  // Weights that were drawn route the same number of tokens in other ways, and the whole run takes them.
  const auto drawn = withRoutedLoad(routed(""), progress);
  ASSERT_TRUE(drawn.ok()) << drawn.error().message;
  const auto load = compile::parseExpertLoad(drawn->text("execution.expert_load"));
  ASSERT_TRUE(load.ok());
  ASSERT_EQ(load->layers.size(), static_cast<std::size_t>(kMeshLayers));
  double imbalance = 0;
  for (const std::vector<double>& layer : load->layers) {
    double all = 0, most = 0;
    for (std::size_t e = 0; e < 8; e += 2) {
      all += layer[e] + layer[e + 1];
      most = std::max(most, layer[e] + layer[e + 1]);
    }
    EXPECT_EQ(all, 128);
    imbalance = std::max(imbalance, 4 * most / all);
  }
  ASSERT_TRUE(run(routed("")).ok());
  const Read profile = read();
  const auto found = analysis::expertWork(*profile.source, *profile.catalog, model::ExecutableId(0));
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_NEAR((*found)->imbalance, imbalance, 1e-9);
}

TEST_F(MeshRunTest, SaysWhyNothingIsRouted) {
  const auto refusal = [](const std::string& text) {
    base::SilentProgress progress;
    const auto counted = withRoutedLoad(*parseConfiguration(text, "mesh.toml"), progress);
    return counted.ok() ? counted->text("execution.expert_load") : counted.error().message;
  };
  const std::string routed = "expert_parallel = 4\nexpert_load = \"routed\"";
  EXPECT_THAT(refusal(mixture(routed + "\nnumerics = false")), HasSubstr("execution.numerics is false"));
  std::string dense = mixture(routed);
  dense.replace(dense.find("experts = 8"), 11, "");
  EXPECT_THAT(refusal(dense), HasSubstr("the model has no experts"));
  EXPECT_EQ(refusal(mixture("expert_load = \"routed\"")), "routed") << "no ranks divide the experts";
  const auto compiled = compileRun(*parseConfiguration(mixture(routed), "mesh.toml"));
  ASSERT_FALSE(compiled.ok());
  EXPECT_THAT(compiled.error().message, HasSubstr("no numbers have been computed that route tokens"));
  const auto fewer = compileRun(*parseConfiguration(
      mixture("expert_parallel = 4\nexpert_load = \"1, 1, 1, 1, 1, 1, 1, 1;\""), "mesh.toml"));
  ASSERT_FALSE(fewer.ok());
  EXPECT_THAT(fewer.error().message, HasSubstr("is no load of experts"));
}

TEST_F(MeshRunTest, RepeatsKeyHeadsForItsRanks) {
  const compile::Compilation all =
      compiledMesh(mixture("numerics = false\ntensor_parallel = 4", "", "key_heads = 1"));
  EXPECT_THAT(all.notices,
              Contains("Each of the 1 key heads is repeated 4 times, so that each of 4 ranks has one."));
  for (const model::Division& row : all.executables.front().facts.divisions) {
    if (row.tensor == "decoder/layer0/attention/key/weight") {
      EXPECT_EQ(row.ranks, 4);
    }
  }
}

TEST_F(MeshRunTest, WarnsOfRanksInSeveralBoxes) {
  EXPECT_THAT(compiledMesh(mixture("numerics = false\ntensor_parallel = 16", "", "", "hls-gaudi2x2")).notices,
              Contains(HasSubstr("16 ranks of execution.tensor_parallel are more than one box holds")));
  EXPECT_THAT(compiledMesh(mixture("numerics = false\ntensor_parallel = 4", "", "", "hls-gaudi2x2")).notices,
              ::testing::Not(Contains(HasSubstr("more than one box"))));
}

TEST_F(MeshRunTest, SaysWhatCannotBeDivided) {
  const auto refusal = [](const std::string& execution) {
    auto parsed = parseConfiguration(mixture(execution), "mesh.toml");
    if (!parsed.ok()) return parsed.error().message;
    const auto result = compileRun(*parsed);
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_THAT(refusal("numerics = false\nexpert_parallel = 3"), HasSubstr("choose a divisor of 8"));
  EXPECT_THAT(refusal("numerics = false\ncontext_parallel = 3"),
              HasSubstr("do not divide by the 3 ranks of execution.context_parallel"));
  EXPECT_THAT(refusal("numerics = false\nexpert_parallel = 2\nexpert_load = \"1, 2\""),
              HasSubstr("has 2 numbers, but a layer has 8 experts"));
  EXPECT_THAT(refusal("numerics = false\nexpert_load = \"odd\""), HasSubstr("is no load of experts"));
}

/// Ranks that would compute most of the model alike are refused, with the number that divides it.
TEST_F(MeshRunTest, RefusesRanksThatShareLittle) {
  const auto compiled = [](int ranks, const std::string& shard) {
    auto parsed = parseConfiguration(fmt::format(R"(
[model]
builder = "decoder"
layers = 2
hidden = 256
heads = 8
feed_forward = 1024
vocabulary = 1000
sequence = 16
{}
[execution]
mode = "inference"
numerics = false
tensor_parallel = {}
[system]
name = "hls-gaudi2"
)",
                                                 shard, ranks),
                                     "ranks.toml");
    return parsed.ok() ? compileRun(*parsed) : base::Result<compile::Compilation>(parsed.error());
  };
  const auto three = compiled(3, "");
  ASSERT_FALSE(three.ok());
  EXPECT_THAT(three.error().message, HasSubstr("attention/query/weight (256x256 float32)"));
  EXPECT_THAT(three.error().message, HasSubstr("execution.tensor_parallel"));
  EXPECT_TRUE(three.error().message.ends_with("Choose 2.")) << three.error().message;
  EXPECT_TRUE(compiled(2, "").ok());
  // Nobody complains of what is to stay whole.
  const auto asked = compiled(4, "[[model.shard]]\nweights = \"*\"\naxis = -1");
  ASSERT_FALSE(asked.ok());
  const auto queries = compiled(4, "[[model.shard]]\nweights = \"*/query/weight\"\naxis = -1");
  ASSERT_TRUE(queries.ok()) << queries.error().message;
  for (const std::string& notice : queries->notices)
    EXPECT_EQ(notice.find("are whole on each"), std::string::npos) << notice;
}

}  // namespace
}  // namespace pipescope::app
