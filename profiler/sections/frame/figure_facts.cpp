#include "profiler/sections/frame/figure_facts.h"

namespace pipescope::sections {
namespace {

Fact factNamed(const figures::Figure& figure, std::string label, const figures::Analyses& from) {
  return {figure.key, std::move(label), figure.value(from), figure.format, figure.doc};
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

std::vector<Fact> stepIntervalFacts(const figures::Analyses& from) {
  std::vector<Fact> facts;
  for (const char* key : {"step_least_cycles", "step_most_cycles", "step_interval_basis"}) {
    facts.push_back(partOf(key, from));
    facts.back().inText = !std::holds_alternative<std::monostate>(facts.back().value);
  }
  return facts;
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
