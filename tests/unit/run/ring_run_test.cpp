// Tests attention whose keys and values go around the ranks of the axis context, and kernels that leave out
// what a causal mask hides.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"
#include "profiler/analysis/pipeline/collective_uses.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using RingRunTest = RunFixture;
using ::testing::HasSubstr;

constexpr std::int64_t kRingLayers = 2, kRingTokens = 16384, kRingKeyHeads = 2, kRingSize = 64,
                       kRingRanks = 4;

std::string ringDecoder(const std::string& execution, const std::string& system = "dgx-h100",
                        std::int64_t heads = 4) {
  return fmt::format(R"(
[model]
builder = "decoder"
layers = {}
hidden = {}
heads = {}
key_heads = {}
feed_forward = 64
sequence = {}
vocabulary = 64
[execution]
mode = "training"
numerics = false
precision = "bfloat16"
{}
[training]
optimizer = "sgd"
[system]
name = "{}"
)",
                     kRingLayers, heads * kRingSize, heads, kRingKeyHeads, kRingTokens, execution, system);
}

base::Result<compile::Compilation> compiledRing(const std::string& text) {
  PIPESCOPE_ASSIGN(const config::Configuration parsed, parseConfiguration(text, "ring.toml"));
  return compileRun(parsed);
}

struct RingWork {
  std::int64_t sent[2] = {};  ///< elements of ring sends, forward and backward
  double products[2] = {};    ///< FLOP of products of attention
  std::int64_t gathers = 0;
};

RingWork ringWork(const compile::Compilation& compilation) {
  RingWork found;
  for (const compile::PassIr& pass : compilation.executables.front().ir.stages.front().passes) {
    const bool backward = pass.pass == model::Pass::backward;
    if (!backward && pass.pass != model::Pass::forward) continue;
    for (const compile::IrOperator& op : pass.operators) {
      for (const ops::Work& work : op.work) {
        if (const auto* collective = std::get_if<ops::Collective>(&work.item)) {
          const bool ring = collective->kind == ops::Collective::Kind::ringSend;
          if (ring) {
            EXPECT_EQ(collective->axis, model::MeshAxis::context);
          }
          found.sent[backward ? 1 : 0] += ring ? collective->elements : 0;
          found.gathers += collective->kind == ops::Collective::Kind::allGather ? 1 : 0;
        }
        if (op.kind.ends_with("FusedAttention") && std::holds_alternative<ops::Contraction>(work.item))
          found.products[backward ? 1 : 0] += ops::flopsOf(work);
      }
    }
  }
  return found;
}

/// Forward (c − 1)·2·b·(s/c)·k·d elements a layer; backward the same for keys and values and again for their
/// gradients. (parallelism, §5)
TEST_F(RingRunTest, SendsWhatTheClosedFormSays) {
  const auto compilation = compiledRing(ringDecoder("context_parallel = 4\ncontext_exchange = \"ring\""));
  ASSERT_TRUE(compilation.ok()) << compilation.error().message;
  const RingWork ring = ringWork(*compilation);
  const std::int64_t forward = (kRingRanks - 1) * 2 * (kRingTokens / kRingRanks) * kRingKeyHeads * kRingSize;
  EXPECT_EQ(ring.sent[0], kRingLayers * forward);
  EXPECT_EQ(ring.sent[1], kRingLayers * 2 * forward);
  EXPECT_EQ(ring.gathers, 0);
}

/// The rank with the most work has (2c − 1) ÷ c of the mean with neighbouring positions, and the mean with
/// paired ones, whether it gathers or not. Tiles on the diagonal are computed whole.
TEST_F(RingRunTest, CausalWorkFollowsTheLayout) {
  const auto products = [](const std::string& execution) {
    const auto compilation = compiledRing(ringDecoder(execution));
    EXPECT_TRUE(compilation.ok()) << compilation.error().message;
    return compilation.ok() ? ringWork(*compilation) : RingWork();
  };
  const RingWork one = products("");
  // Two products of 2·heads·n·n·size FLOP forward, of which a causal mask leaves half, and five backward.
  const double whole = 2.0 * 4 * kRingTokens * kRingTokens * kRingSize * kRingLayers;
  const double tiles = 0.5 * (1 + 128.0 / kRingTokens);
  EXPECT_NEAR(one.products[0], 2 * whole * tiles, 0.001 * whole);
  EXPECT_NEAR(one.products[1], 5 * whole * tiles, 0.001 * whole);
  for (const char* exchange : {"gather", "ring"}) {
    const std::string common = fmt::format("context_parallel = 4\ncontext_exchange = \"{}\"\n", exchange);
    const RingWork paired = products(common), plain = products(common + "context_layout = \"neighbours\"");
    for (const int pass : {0, 1}) {
      EXPECT_NEAR(paired.products[pass] / one.products[pass], 1.0 / kRingRanks, 0.01 / kRingRanks)
          << exchange;
      EXPECT_NEAR(plain.products[pass] / one.products[pass], 1.75 / kRingRanks, 0.0175 / kRingRanks)
          << exchange;
    }
  }
}

/// Sends go on while a step computes: most of their time is hidden where a step takes longer than a send.
TEST_F(RingRunTest, OverlapsSendsWithComputing) {
  auto parsed = parseConfiguration(
      ringDecoder("context_parallel = 4\ncontext_exchange = \"ring\"", "dgx-h100", 64), "ring.toml");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_TRUE(run(*parsed).ok());
  const Read profile = read();
  const auto uses = analysis::collectiveUses(*profile.source, *profile.catalog, model::ExecutableId(0));
  ASSERT_TRUE(uses.ok()) << uses.error().message;
  std::int64_t sends = 0;
  for (const analysis::AxisCommunication& axis : analysis::communicationByAxis(*uses)) {
    if (axis.axis != model::MeshAxis::context) continue;
    sends = axis.ticks;
    EXPECT_LT(axis.exposed, axis.ticks / 2);
  }
  EXPECT_GT(sends, 0);
}

TEST_F(RingRunTest, SaysWhereNoRingIsPossible) {
  const auto ipu = compiledRing(ringDecoder("context_parallel = 2\ncontext_exchange = \"ring\"", "pod4"));
  ASSERT_FALSE(ipu.ok());
  EXPECT_THAT(ipu.error().message, HasSubstr("which needs fused attention"));
  const auto off = compiledRing(
      ringDecoder("context_parallel = 2\ncontext_exchange = \"ring\"\nfused_attention = \"false\""));
  ASSERT_FALSE(off.ok());
  EXPECT_THAT(off.error().message, HasSubstr("choose gather or heads"));
}

}  // namespace
}  // namespace pipescope::app
