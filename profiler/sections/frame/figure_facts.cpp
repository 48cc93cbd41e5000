#include "profiler/sections/frame/figure_facts.h"

#include "profiler/sections/frame/words.h"

namespace pipescope::sections {
namespace {

Fact factNamed(const figures::Figure& figure, std::string label, const figures::Analyses& from) {
  Fact fact{figure.key, std::move(label), figure.value(from), figure.format, figure.doc};
  fact.inText = !(figure.ofSeveralStages && figures::hasOneStage(from));
  return fact;
}

}  // namespace

base::Result<figures::Analyses> analysesOf(const Context& context) {
  PIPESCOPE_ASSIGN(const auto execution, executionOf(context));
  PIPESCOPE_ASSIGN(const auto stages, stagesOf(context));
  PIPESCOPE_ASSIGN(const auto memory, memoryOf(context));
  PIPESCOPE_ASSIGN(const Recorded recorded, recordedOf(context));
  return figures::Analyses{&context.catalog, context.executable, execution.get(),
                           stages.get(),     memory.get(),       recorded.placements};
}

Fact factOf(std::string_view key, const figures::Analyses& from) {
  const figures::Figure& figure = figures::figure(key);
  return factNamed(figure, figure.label, from);
}

Fact ifKnown(Fact fact) {
  fact.inText = !std::holds_alternative<std::monostate>(fact.value);
  return fact;
}

Fact partOf(std::string_view key, const figures::Analyses& from) {
  const figures::Figure& figure = figures::figure(key);
  return factNamed(figure, std::string("  ") + (*figure.part == '\0' ? figure.label : figure.part), from);
}

void showAsRange(std::vector<Fact>& facts, const ShownTime& time) {
  for (Fact& fact : facts) fact = ifKnown(std::move(fact));
  Fact &least = facts[0], &most = facts[1];
  if (least.inText) least.text = figures::rangeText(least.value, most.value, least.format, time);
  most.inText = false;
}

std::vector<Fact> intervalFacts(std::string_view least, std::string_view most, std::string_view basis,
                                const figures::Analyses& from, const ShownTime& time) {
  std::vector<Fact> facts = {partOf(least, from), partOf(most, from), partOf(basis, from)};
  showAsRange(facts, time);
  return facts;
}

std::vector<Fact> stepIntervalFacts(const figures::Analyses& from) {
  return intervalFacts("step_least_cycles", "step_most_cycles", "step_interval_basis", from,
                       from.catalog == nullptr ? ShownTime() : wordsOf(*from.catalog).time);
}

std::vector<Fact> memoryIntervalFacts(const figures::Analyses& from) {
  return intervalFacts("max_tile_least_bytes", "max_tile_most_bytes", "memory_interval_basis", from);
}

std::vector<Fact> replayedFacts(std::string_view key, const Cell& before, const Cell& after) {
  const figures::Figure& figure = figures::figure(key);
  const std::string name = figure.key, label = figure.label;
  return {{"before_" + name, label + ", recorded", before, figure.format, figure.doc},
          {"after_" + name, label + ", replayed", after, figure.format, "The same with the changes."}};
}

SectionColumn columnOf(const figures::StageFigure& figure) {
  return {figure.key, figure.label, figure.format, figure.doc};
}

SectionColumn columnOf(std::string_view stageFigure) {
  return columnOf(figures::stageFigure(stageFigure));
}

std::string forUnits(std::string text, bool tiles) {
  constexpr std::string_view kBoth = "tile or device";
  for (std::size_t at = text.find(kBoth); at != std::string::npos; at = text.find(kBoth, at))
    text.replace(at, kBoth.size(), tiles ? "tile" : "device");
  return text;
}

}  // namespace pipescope::sections
