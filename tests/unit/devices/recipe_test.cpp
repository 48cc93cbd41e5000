// Times of kernels that share on-chip memory, by hand.
#include "engine/devices/hbm_card/recipe.h"

#include <gtest/gtest.h>

namespace pipescope::devices::hbm_card {
namespace {

/// Every kernel takes ten seconds alone, and as long as given to read and to write on-chip memory.
class SharedMemoryModel : public CardModel {
 public:
  SharedMemoryModel(double reads, double writes) : cost_{10, reads, writes, 0, 10} {}
  const CardFigures& figures() const override { return figures_; }
  const ProgramNames& programs() const override { return names_; }
  base::Result<EngineKernel> lowerWork(const ops::WorkItem&, const std::string&) const override {
    return EngineKernel();
  }
  double copySeconds(std::int64_t, ElementType) const override { return 0; }
  double peakFlops(ElementType) const override { return 1; }
  std::vector<std::int32_t> bundlesOf(const compile::StageIr&, const KernelList&) const override {
    return {};
  }
  KernelCost costOf(const EngineKernel&, const Traffic&) const override { return cost_; }

 private:
  CardFigures figures_;
  ProgramNames names_{};
  KernelCost cost_;
};

/// The ends of kernels of one bundle on three engines, which all begin at 100.
std::vector<double> endsOf(double reads, double writes) {
  KernelList list;
  for (const Engine engine : {Engine::matrix, Engine::vector, Engine::copy})
    list.kernels.emplace_back().kernel.engine = engine;
  std::vector<PlacedKernel> placed;
  const SharedMemoryModel model(reads, writes);
  placeKernels(model, list, std::vector<Traffic>(3), 3, 100, placed);
  std::vector<double> ends;
  for (const PlacedKernel& kernel : placed) {
    EXPECT_EQ(kernel.start, 100);
    ends.push_back(kernel.end);
  }
  return ends;
}

TEST(Recipe, OnChipMemoryServesOneKernelAfterAnother) {
  using Ends = std::vector<double>;
  EXPECT_EQ(endsOf(0, 0), (Ends{110, 110, 110}));
  EXPECT_EQ(endsOf(8, 0), (Ends{110, 116, 124}));
  EXPECT_EQ(endsOf(0, 7), (Ends{110, 114, 121}));
  EXPECT_EQ(endsOf(8, 9), (Ends{110, 118, 127})) << "it reads and writes at the same time";
}

}  // namespace
}  // namespace pipescope::devices::hbm_card
