// Figures of what a pipeline loses: limiting stage, imbalance, bubble and the parts of the step time.
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/figures/figure.h"

namespace pipescope::figures {

bool hasSteps(const Analyses& from) {
  const analysis::StagesReport* r = from.stages;
  return r != nullptr && from.placed && r->stepsKnown && r->limiting() != nullptr;
}

bool hasOneStage(const Analyses& from) {
  return from.stages != nullptr && from.stages->stages.size() == 1 && from.stages->missing.empty();
}

std::string lostTo(std::string_view key) {
  constexpr std::string_view kLost = "lost to ";
  const std::string part = figure(key).part;
  return part.starts_with(kLost) ? part.substr(kLost.size()) : part;
}

namespace {

using analysis::StagesReport;

auto stageOf(int StagesReport::*stage) {
  return [stage](const Analyses& from) {
    const int found = from.stages == nullptr ? -1 : from.stages->*stage;
    return found < 0 ? Cell() : Cell(static_cast<std::int64_t>(found));
  };
}

auto ratioOf(std::optional<double> StagesReport::*ratio) {
  return
      [ratio](const Analyses& from) { return from.stages == nullptr ? Cell() : cellOf(from.stages->*ratio); };
}

template <class Value>
auto ofSteps(Value value) {
  return [value](const Analyses& from) { return hasSteps(from) ? Cell(value(*from.stages)) : Cell(); };
}

auto partOfBubble(double analysis::Bubble::*part) {
  return ofSteps([part](const StagesReport& r) { return r.bubble.*part; });
}

/// Parts of the step time are known where the recorded passes could be replayed within it.
auto lostTime(double analysis::LostTime::*part) {
  return [part](const Analyses& from) {
    return hasSteps(from) && from.stages->lost.replayed ? Cell(from.stages->lost.*part) : Cell();
  };
}

/// Adds figures of what only several stages have.
class OfSeveralStages {
 public:
  explicit OfSeveralStages(FigureRegistry& registry) : registry_(registry) {}
  void add(Figure figure) {
    figure.ofSeveralStages = true;
    registry_.add(std::move(figure));
  }

 private:
  FigureRegistry& registry_;
};

void addStages(FigureRegistry& all) {
  OfSeveralStages registry(all);
  registry.add({"limiting_stage", "Limiting stage", "", Format::stage, Better::neither,
                "Stage whose forward + recompute + backward with its host copies and exchange take longest. "
                "The others wait for it.",
                stageOf(&StagesReport::limitingStage)});
  registry.add({"slowest_stage", "Computes longest", "", Format::stage, Better::neither,
                "Stage with the largest forward + recompute + backward.",
                stageOf(&StagesReport::slowestStage)});
  registry.add({"imbalance", "Imbalance", "", Format::ratio, Better::less,
                "Largest ÷ mean of forward + recompute + backward, over the devices that hold a stage.",
                ratioOf(&StagesReport::imbalance), "imbalance"});
  registry.add({"imbalance_forward", "Imbalance of forward passes", "forward", Format::ratio, Better::less,
                "The same for forward passes alone.", ratioOf(&StagesReport::imbalanceForward)});
  registry.add({"imbalance_backward", "Imbalance of recompute and backward", "recompute + backward",
                Format::ratio, Better::less,
                "The same for recompute and backward passes; empty without backward passes.",
                ratioOf(&StagesReport::imbalanceBackward)});
}

void addBubble(FigureRegistry& all) {
  OfSeveralStages registry(all);
  registry.add({"bubble_fraction", "Bubble", "", Format::fraction, Better::less,
                "1 − busy ÷ (devices with a stage × flush), mean over iterations.",
                ofSteps([](const StagesReport& r) { return r.bubble.fraction(); }), "bubble"});
  registry.add(
      {"bubble_ramp_up", "Bubble in the ramp-up", "ramp-up", Format::fraction, Better::less,
       "Part of the bubble in the ramp-up, before the first pipeline cycle in which all stages do all "
       "their passes (in a schedule without cycles: until the last stage begins).",
       partOfBubble(&analysis::Bubble::rampUp)});
  registry.add({"bubble_steady", "Bubble in the steady state", "steady", Format::fraction, Better::less,
                "Part of the bubble while all stages work.", partOfBubble(&analysis::Bubble::steady)});
  registry.add({"bubble_ramp_down", "Bubble in the ramp-down", "ramp-down", Format::fraction, Better::less,
                "Part of the bubble in the ramp-down, after the last such cycle (without cycles: after the "
                "first stage has finished).",
                partOfBubble(&analysis::Bubble::rampDown)});
  registry.add({"bubble_exchange", "Bubble in exchange", "of which exchange", Format::fraction, Better::less,
                "Part of the bubble during which devices exchange data or synchronise.",
                partOfBubble(&analysis::Bubble::exchange)});
}

void addTimes(FigureRegistry& registry) {
  registry.add({"flush_cycles", "Flush", "", Format::ticks, Better::less,
                "From the first forward's start to the last backward's end (inference: the last forward's), "
                "mean over iterations.",
                ofSteps([](const StagesReport& r) { return r.flush; })});
  registry.add(
      {"step_cycles", "Step time", "", Format::ticks, Better::less,
       "Length of one iteration: a flush with its update, host copies and waits. Length of the last "
       "call ÷ its iterations; of a recorded run, the time from its first pass to its last one ÷ its "
       "iterations.",
       ofSteps([](const StagesReport& r) { return r.lost.step; })});
  registry.add({"useful_cycles", "Useful time", "useful", Format::ticks, Better::neither,
                "Micro-batches × mean of forward + recompute + backward.",
                lostTime(&analysis::LostTime::useful)});
  OfSeveralStages(registry).add(
      {"lost_fill_and_drain_cycles", "Lost to fill and drain", "lost to fill and drain", Format::ticks,
       Better::less, "Time if every stage took the mean and nothing were exchanged, minus the useful time.",
       lostTime(&analysis::LostTime::fillAndDrain)});
  OfSeveralStages(registry).add(
      {"lost_imbalance_cycles", "Lost to imbalance", "lost to imbalance", Format::ticks, Better::less,
       "Time with the actual stages minus time if every stage took the mean, both without exchange.",
       lostTime(&analysis::LostTime::imbalance)});
  registry.add({"lost_exchange_update_host_cycles", "Lost to exchange, update, host",
                "lost to exchange, update, host", Format::ticks, Better::less,
                "The rest of the step time: exchange, sync, update, stream copies and host.",
                lostTime(&analysis::LostTime::exchangeUpdateHost)});
}

}  // namespace

PIPESCOPE_REGISTER_FIGURES(pipeline) {
  addStages(registry);
  addBubble(registry);
  addTimes(registry);
}

}  // namespace pipescope::figures
