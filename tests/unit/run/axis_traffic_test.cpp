// Tests what section system says of the bytes along each axis of the mesh, against closed forms for a decoder
// on two boxes.
#include <fmt/format.h>

#include <map>

#include "profiler/analysis/pipeline/links/axis_traffic.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using AxisTrafficTest = RunFixture;
using analysis::LinkReach;
using model::MeshAxis;

constexpr double kMovedBatch = 2, kMovedTokens = 64, kMovedWidth = 256, kMovedInner = 1024, kMovedWords = 512,
                 kMovedLayers = 4, kMovedMicro = 3, kMovedHalf = 2, kMovedFloat = 4;

std::string decoderOn(const std::string& execution, int replicas) {
  return fmt::format(R"(
[model]
builder = "decoder"
layers = {}
hidden = {}
heads = 8
feed_forward = {}
sequence = {}
vocabulary = {}
[execution]
mode = "training"
numerics = false
precision = "bfloat16"
recompute = "none"
{}
[training]
micro_batch_size = {}
gradient_accumulation = {}
optimizer = "adam"
replication_factor = {}
[system]
name = "hls-gaudi2x2"
)",
                     kMovedLayers, kMovedWidth, kMovedInner, kMovedTokens, kMovedWords, execution,
                     kMovedBatch, kMovedMicro, replicas);
}

using Traffic = std::map<std::pair<MeshAxis, LinkReach>, analysis::AxisTraffic>;

class Moved {
 public:
  explicit Moved(Traffic traffic) : traffic_(std::move(traffic)) {}
  analysis::AxisTraffic at(MeshAxis axis, LinkReach reach) const {
    const auto found = traffic_.find({axis, reach});
    return found == traffic_.end() ? analysis::AxisTraffic() : found->second;
  }
  std::size_t size() const { return traffic_.size(); }

 private:
  Traffic traffic_;
};

/// Four replicas of four tensor ranks: the ranks of a replica fill half a box, and a weight has two holders
/// in each box. A tensor rank sends 2 · 3/4 of each of the 4 sums of b·s·h a layer, and of those of embedding
/// and head.
TEST_F(AxisTrafficTest, TensorRanksStayInABoxAndReplicasDoNot) {
  auto parsed = parseConfiguration(decoderOn("tensor_parallel = 4", 4), "axes.toml");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto result = run(*parsed);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Read profile = read();
  const auto rows = analysis::axisTraffic(*profile.source, *profile.catalog, model::ExecutableId(0));
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  Traffic traffic;
  for (const analysis::AxisTraffic& row : *rows) traffic[{row.axis, row.reach}] = row;
  const Moved moved(std::move(traffic));
  EXPECT_EQ(moved.size(), 3u) << "nothing of the tensor axis leaves a box";
  const analysis::AxisTraffic tensor = moved.at(MeshAxis::tensor, LinkReach::withinBox);
  const double sums = (4 * kMovedLayers + 2) * kMovedBatch * kMovedTokens * kMovedWidth * kMovedHalf *
                      kMovedMicro * 2 * 3 / 4;
  EXPECT_EQ(tensor.chips, 4);
  EXPECT_EQ(tensor.senders, 16);
  // The loss sums three scalars a token, which a thousandth of the bytes covers.
  EXPECT_NEAR(tensor.mean / sums, 1, 0.01);
  EXPECT_NEAR(tensor.all, 16 * tensor.mean, 1);

  const analysis::AxisTraffic inside = moved.at(MeshAxis::data, LinkReach::withinBox),
                              outside = moved.at(MeshAxis::data, LinkReach::betweenBoxes);
  EXPECT_EQ(inside.chips, 4);
  EXPECT_EQ(outside.senders, 16);
  // Matrices are divided by the ranks, norms and positions are not.
  const double matrices = kMovedLayers * (4 * kMovedWidth * kMovedWidth + 2 * kMovedWidth * kMovedInner) +
                          2 * kMovedWords * kMovedWidth;
  const double gradients = matrices / 4 * kMovedFloat * 2 * 3 / 4;
  EXPECT_NEAR((inside.mean + outside.mean) / gradients, 1, 0.02);
  EXPECT_NEAR(outside.mean / inside.mean, 1.0 / 2, 1e-9) << "(b − 1) ÷ (g − 1) = 1/3 leaves a box of 2 in 2";
}

/// Two places of eight ranks are two boxes, so that activations and their gradients cross between boxes.
TEST_F(AxisTrafficTest, PlacesSendActivationsBetweenBoxes) {
  auto parsed = parseConfiguration(
      decoderOn("tensor_parallel = 8\nlayers_per_stage = [2, 2]\nschedule = \"1f1b\"", 1), "axes.toml");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto result = run(*parsed);
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Read profile = read();
  const auto rows = analysis::axisTraffic(*profile.source, *profile.catalog, model::ExecutableId(0));
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  const auto pipe = std::ranges::find(*rows, MeshAxis::pipe, &analysis::AxisTraffic::axis);
  ASSERT_NE(pipe, rows->end());
  EXPECT_EQ(pipe->reach, LinkReach::betweenBoxes);
  EXPECT_EQ(pipe->senders, 16) << "activations one way, gradients the other";
  EXPECT_EQ(pipe->all, 2 * 8 * kMovedBatch * kMovedTokens * kMovedWidth * kMovedHalf * kMovedMicro);
}

}  // namespace
}  // namespace pipescope::app
