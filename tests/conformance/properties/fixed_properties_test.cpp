// Properties that must hold of every pipeline with given costs, tried on random ones: work and waits fill the
// time of a device, and smaller costs never make a call longer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/run/request/configuration_keys.h"
#include "engine/compiler/record_compilation.h"
#include "engine/config/configuration.h"
#include "engine/emulate/emulator.h"
#include "random_model.h"

namespace pipescope::conformance {
namespace {

struct Costs {
  std::vector<double> forward, backward;
  double exchange = 0;
  std::string schedule;
  std::int64_t microBatches = 1;
};

Costs randomCosts(ModelDice& dice) {
  Costs costs;
  const std::int64_t stages = dice.upTo(5);
  for (std::int64_t s = 0; s < stages; ++s) {
    costs.forward.push_back(0.25 * static_cast<double>(dice.upTo(12)));
    costs.backward.push_back(0.25 * static_cast<double>(dice.upTo(24)));
  }
  costs.exchange = 0.125 * static_cast<double>(dice.upTo(8) - 1);
  costs.schedule = dice.oneOf<const char*>({"popart", "gpipe", "1f1b"});
  // A pipeline with barriers needs as many micro-batches as it has stages forward and backward.
  costs.microBatches = 2 * stages + dice.upTo(8);
  return costs;
}

std::string toToml(const Costs& costs) {
  std::string text = fmt::format(
      "[system]\nname = \"fixed\"\n[execution]\nschedule = \"{}\"\nmode = \"training\"\n[training]\n"
      "gradient_accumulation = {}\n[fixed]\nexchange = {}\n",
      costs.schedule, costs.microBatches, costs.exchange);
  for (std::size_t s = 0; s < costs.forward.size(); ++s)
    text +=
        fmt::format("[[fixed.stages]]\nforward = {}\nbackward = {}\n", costs.forward[s], costs.backward[s]);
  return text;
}

/// The ticks of a call; also checks that each device's time is filled.
std::int64_t callTicks(const Costs& costs) {
  const auto configuration = app::parseConfiguration(toToml(costs), "costs");
  EXPECT_TRUE(configuration.ok());
  const auto compilation = app::compileRun(*configuration);
  EXPECT_TRUE(compilation.ok()) << compilation.error().message << toToml(costs);
  if (!compilation.ok()) return 0;
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  const auto recorded = compile::recordCompilation(recorder, *compilation, emulate::RecordLevel::stages);
  emulate::Emulator emulator(recorder, *compilation->system, recorded.ids, emulate::RecordLevel::stages);
  const model::Run run = emulator.call(recorded.executables.front(), {});
  EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  std::map<std::int64_t, std::int64_t> filled;
  for (const model::Placement& each : **profile.rows<model::Placement>())
    filled[each.device.value] += (each.end - each.start).count;
  for (const model::Wait& each : **profile.rows<model::Wait>())
    filled[each.device.value] += (each.end - each.start).count;
  // Transfers occupy the devices of a schedule with barriers.
  if (costs.schedule != "popart") {
    for (const auto& [device, ticks] : filled)
      EXPECT_EQ(ticks, (run.end - run.start).count) << "device " << device << "\n" << toToml(costs);
  }
  return (run.end - run.start).count;
}

TEST(FixedProperties, SmallerCostsAreNeverSlower) {
  ModelDice dice(4);
  const int count = std::getenv("PIPESCOPE_FULL_TESTS") != nullptr ? 200 : 20;
  for (int i = 0; i < count; ++i) {
    const Costs costs = randomCosts(dice);
    const std::int64_t ticks = callTicks(costs);
    for (std::size_t s = 0; s < costs.forward.size(); ++s) {
      Costs less = costs;
      less.forward[s] /= 2;
      EXPECT_LE(callTicks(less), ticks) << "forward of stage " << s << "\n" << toToml(costs);
      less = costs;
      less.backward[s] /= 2;
      EXPECT_LE(callTicks(less), ticks) << "backward of stage " << s << "\n" << toToml(costs);
    }
    Costs less = costs;
    less.exchange /= 2;
    EXPECT_LE(callTicks(less), ticks) << "exchange\n" << toToml(costs);
    Costs more = costs;
    ++more.microBatches;
    EXPECT_GE(callTicks(more), ticks) << "micro-batches\n" << toToml(costs);
  }
}

}  // namespace
}  // namespace pipescope::conformance
