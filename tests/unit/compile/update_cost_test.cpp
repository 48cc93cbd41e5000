// Tests the cost of a weight update, and the gradients that arrive over the network.
#include "engine/compiler/update_cost.h"

#include <gtest/gtest.h>

#include "engine/compiler/network_rate.h"
#include "engine/devices/core/device_family.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::compile {
namespace {

/// An optimizer that shows the divisor that it is asked to divide the gradient by.
class ShowsDivisor : public optimizers::Optimizer {
 public:
  std::string name() const override { return "shows"; }
  std::vector<optimizers::StateTensor> stateOf(const graph::TensorType&) const override { return {}; }
  std::vector<ops::Work> workOf(const graph::TensorType& type, double divisor) const override {
    asked = divisor;
    return {{ops::Map{ops::MapFunction::add, type.elements(), 1}, 1, ""}};
  }
  void update(const optimizers::Update&) const override {}
  mutable double asked = 0;
};

struct Asked {
  double divisor = 0;
  std::size_t works = 0;
};

Asked askedBy(const std::function<void(UpdateRequest&)>& change) {
  const auto rule = std::make_shared<ShowsDivisor>();
  UpdateRequest update;
  update.optimizer = rule;
  update.numbers.meanGradient = false;
  change(update);
  const OptimizerCost cost = updateCost(update, 12);
  const std::size_t works = cost.work({graph::ElementType::float32, {6, 5}}).size();
  return {rule->asked, works};
}

/// A gradient is multiplied by 1 ÷ divisor in a pass of its own, unless the divisor is 1.
TEST(UpdateCost, AGradientIsScaledWhereItsLossWas) {
  EXPECT_EQ(askedBy([](UpdateRequest&) {}).divisor, 1);
  EXPECT_NE(askedBy([](UpdateRequest& u) { u.numbers.lossScale.tensor = "loss"; }).divisor, 1);
  const Asked clipped = askedBy([](UpdateRequest& u) { u.numbers.clipNorm = 1; });
  EXPECT_NE(clipped.divisor, 1);
  EXPECT_EQ(clipped.works, 2U) << "the norm, and the update";
  EXPECT_EQ(askedBy([](UpdateRequest& u) {
              u.numbers.meanGradient = true;
              u.numbers.meanStrategy = numerics::MeanStrategy::post;
            }).divisor,
            12);
}

TEST(UpdateCost, OnlyNarrowWeightsHaveAMasterCopy) {
  UpdateRequest update;
  update.optimizer = std::make_shared<ShowsDivisor>();
  const auto states = [&](graph::ElementType type) {
    std::vector<std::string> names;
    for (const OptimizerCost::State& state : updateCost(update, 1).states({type, {6, 5}}))
      names.push_back(state.name);
    return names;
  };
  using States = std::vector<std::string>;
  EXPECT_EQ(states(graph::ElementType::float16), States());
  update.numbers.masterWeights = true;
  EXPECT_EQ(states(graph::ElementType::float16), States{"master"});
  EXPECT_EQ(states(graph::ElementType::bfloat16), States{"master"});
  EXPECT_EQ(states(graph::ElementType::float32), States());
}

/// Inputs arrive at 100 bytes per second at device 0 and at 50 at device 1.
class NetworkSystem : public devices::System {
 public:
  std::string family() const override { return "test"; }
  devices::SystemFacts facts() const override { return {}; }
  std::string name() const override { return "network"; }
  std::string description() const override { return ""; }
  const std::vector<devices::DeviceInfo>& devices() const override { return devices_; }
  const std::vector<devices::LinkInfo>& links() const override { return links_; }
  std::vector<devices::Figure> figures() const override { return {}; }
  base::Result<devices::LoweredDevice> lower(const std::vector<const StageIr*>&) const override {
    return devices::LoweredDevice();
  }
  std::vector<base::Ticks> transferTicks(const std::vector<devices::Flow>&) const override { return {}; }
  base::Ticks syncTicks(int) const override { return {}; }
  base::Ticks callTicks() const override { return {}; }
  double sentAheadBytesPerSecond(int device, const Mesh&) const override { return device == 0 ? 100 : 50; }

 private:
  std::vector<devices::DeviceInfo> devices_;
  std::vector<devices::LinkInfo> links_;
};

StageIr stageWith(int device, model::Pass pass, ops::HostCopy copy) {
  IrOperator op;
  op.work = {{copy, 1, ""}};
  StageIr stage;
  stage.place = device;
  stage.passes = {{pass, {op}}};
  return stage;
}

double rateOf(const std::vector<StageIr>& stages) {
  ExecutableIr ir;
  ir.stages = stages;
  return networkRate(ir, NetworkSystem(), 8);
}

TEST(NetworkRate, OnlyInputsFromTheHostCount) {
  using base::Bytes;
  const auto in = model::Pass::hostIn;
  // 8 samples of 200 bytes at 100 bytes per second take 2 s.
  EXPECT_DOUBLE_EQ(rateOf({stageWith(0, in, {true, Bytes(200)})}), 4);
  EXPECT_DOUBLE_EQ(rateOf({stageWith(0, in, {true, Bytes(200)}), stageWith(1, in, {true, Bytes(200)})}), 2);
  EXPECT_EQ(rateOf({stageWith(0, in, {false, Bytes(200)})}), 0) << "what is sent to the host";
  EXPECT_EQ(rateOf({stageWith(0, in, {true, Bytes(200), true})}), 0) << "what comes from streaming memory";
  EXPECT_EQ(rateOf({stageWith(0, model::Pass::update, {true, Bytes(200)})}), 0)
      << "weights and other copies between micro-batches";
}

}  // namespace
}  // namespace pipescope::compile
