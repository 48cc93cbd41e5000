#include "profiler/analysis/pipeline/stragglers.h"
#include "profiler/analysis/pipeline/slowness.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/pipeline/recorded/late_arrivals.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {
namespace {

using analysis::Stragglers;

Cell slowdownsAlone(const std::vector<analysis::Straggler>& all) {
  Breakdown parts;
  for (const analysis::Straggler& straggler : all) parts.emplace_back(straggler.name, straggler.alone);
  return parts;
}

Cell slowdownsByIteration(const Stragglers& found) {
  Breakdown parts;
  for (std::size_t i = 0; i < found.iterations.size(); ++i)
    parts.emplace_back(std::to_string(i), found.iterations[i]);
  return parts;
}

const char* causeKey(Stragglers::Cause cause) {
  switch (cause) {
    case Stragglers::Cause::none:
      return "none";
    case Stragglers::Cause::stage:
      return "stage_imbalance";
    case Stragglers::Cause::worker:
      return "slow_worker";
    case Stragglers::Cause::replica:
      return "slow_data_parallel_rank";
    case Stragglers::Cause::rank:
      return "slow_rank_of_place";
    case Stragglers::Cause::type:
      return "operation";
    case Stragglers::Cause::several:
      break;
  }
  return "several";
}

/// Says how the slowness of workers moves over the iterations; empty if no worker is slow.
std::string slownessText(const Stragglers& found, const std::vector<std::string>& names) {
  const analysis::Slowness slowness = analysis::slownessOf(found.pace);
  const std::size_t all = found.iterations.size();
  const auto workers = [&] {
    constexpr std::size_t kMostNames = 4;
    std::string text;
    for (std::size_t i = 0; i < slowness.workers.size() && i < kMostNames; ++i)
      text += (i > 0 ? "; " : "") + names[slowness.workers[i]];
    if (slowness.workers.size() > kMostNames)
      text += fmt::format(" and {} more", slowness.workers.size() - kMostNames);
    return text;
  };
  switch (slowness.pattern) {
    case analysis::SlownessPattern::none:
      return {};
    case analysis::SlownessPattern::fixed:
      return fmt::format("The slowness is fixed: the same workers are slow in nearly all iterations ({}).",
                         workers());
    case analysis::SlownessPattern::passing:
      return fmt::format("The slowness is passing: it lasts from iteration {} to {} of {} ({}).",
                         slowness.firstIteration, slowness.lastIteration, all, workers());
    case analysis::SlownessPattern::rotating:
      break;
  }
  return fmt::format(
      "The slowness is rotating: some worker is slow in {} of {} iterations, but not the same one for long.",
      slowness.slowIterations, all);
}

std::string verdictOf(const Stragglers& found) {
  const std::string slowdown = fmt::format("{:.2f}", found.slowdown);
  const std::string disappears =
      fmt::format("with its operations at their usual time, {:.0f} % of the slowdown disappears",
                  100 * std::min(found.explained, 1.0));
  switch (found.cause) {
    case Stragglers::Cause::none:
      return fmt::format(
          "No stragglers: iterations take {} times as long as with all operations at their usual "
          "time.",
          slowdown);
    case Stragglers::Cause::stage:
      return fmt::format("Stage imbalance: stage {} holds the others up on all its workers; {}.",
                         found.culprit, disappears);
    case Stragglers::Cause::worker:
      return fmt::format("One slow worker: {}; {}.", found.culprit, disappears);
    case Stragglers::Cause::replica:
      return fmt::format("Data-parallel rank {} is slow on several of its workers; {}.", found.culprit,
                         disappears);
    case Stragglers::Cause::rank:
      return fmt::format(
          "Rank {} of the places, which share the work of their stages, is slow on several of them; {}.",
          found.culprit, disappears);
    case Stragglers::Cause::type:
      return fmt::format("Operations of the type {} vary between workers or iterations; {}.", found.culprit,
                         disappears);
    case Stragglers::Cause::several:
      break;
  }
  return fmt::format(
      "Iterations take {} times as long as with all operations at their usual time, and no single "
      "stage, worker, rank or type of operation explains half of it.",
      slowdown);
}

SectionTable culpritTable(const char* key, const char* title, const char* first,
                          const std::vector<analysis::Straggler>* all) {
  SectionTable table{
      key, title, "mean iteration ÷ mean iteration with all operations at their usual time", {}, {}};
  table.columns = {
      {"name", first, Format::plain, ""},
      {"slowdown", "Only this one slow", Format::ratio, "only its operations take their recorded time"},
      {"without", "All but this one slow", Format::ratio, "only its operations take their usual time"}};
  if (all == nullptr) return table;
  auto sorted = *all;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.alone > b.alone; });
  for (const analysis::Straggler& row : sorted) table.rows.push_back({row.name, row.alone, row.without});
  table.mostInText = 12;
  return table;
}

SectionTable iterationTable(const Stragglers* found, double ticksPerSecond) {
  SectionTable table{"iterations", "Iterations", "", {}, {}};
  table.columns = {{"iteration", "Iteration", Format::index, ""},
                   {"seconds", "Recorded", Format::seconds,
                    "from the first start to the last end, of the longest of the parts that nothing joins"},
                   {"replayed_seconds", "Without launch delays", Format::seconds,
                    "each operation starts when what it follows has ended"},
                   {"usual_seconds", "Usual", Format::seconds, "all operations take their usual time"},
                   {"slowdown", "Slowdown", Format::ratio, "without launch delays ÷ usual"}};
  table.mostInText = 12;
  for (std::size_t i = 0; found != nullptr && i < found->iterations.size(); ++i)
    table.rows.push_back({static_cast<std::int64_t>(i), found->recorded[i] / ticksPerSecond,
                          found->replayed[i] / ticksPerSecond, found->usual[i] / ticksPerSecond,
                          found->iterations[i]});
  return table;
}

/// The devices that others wait for at collectives. Times of recorded steps do not show them: all wait for
/// the last one.
SectionTable arrivalTable(const std::vector<analysis::LateArrival>& arrivals, const Context& context,
                          const Words& words) {
  SectionTable table{
      "arrivals", "Last to arrive at collectives", words.per("iteration; share of the run"), {}, {}};
  table.columns = {{"device", "Index", Format::index, "Device index", false},
                   {"device_name", "Device", Format::plain, ""},
                   {"waiting", "Waiting", Format::count, "devices that wait for it"},
                   {"cycles", "For", Format::ticks, "mean over the devices that wait"},
                   {"share", "Share", Format::fraction, "of the run's length"}};
  table.mostInText = 12;
  for (const analysis::LateArrival& late : arrivals)
    table.rows.push_back({deviceIndexCell(late.device), deviceNameCell(context.catalog, late.device),
                          std::int64_t{late.waiting}, late.ticksPerIteration, late.share});
  return table;
}

base::Result<Section> makeStragglers(const Context& context) {
  PIPESCOPE_ASSIGN(const auto answer, stragglersOf(context));
  const Stragglers* found = answer->stragglers ? &*answer->stragglers : nullptr;
  std::vector<analysis::LateArrival> arrivals;
  if (context.catalog.measured()) {
    PIPESCOPE_ASSIGN(const auto waits, waitsOf(context));
    arrivals = analysis::lateArrivals(*waits);
  }
  const analysis::LateArrival* const late = analysis::lastToArrive(arrivals);
  const Words words = wordsOf(context.catalog);
  std::vector<std::string> workers;
  if (found != nullptr)
    for (const analysis::Straggler& worker : found->workers) workers.push_back(worker.name);
  const auto figure = [&](double Stragglers::*value) {
    return found == nullptr ? Cell() : Cell(found->*value);
  };
  const auto parts = [&](std::vector<analysis::Straggler> Stragglers::*all) {
    return found == nullptr ? Cell(Breakdown()) : slowdownsAlone(found->*all);
  };
  const char* const alone =
      "Mean iteration if only the operations of this one take their recorded time ÷ mean iteration with all "
      "operations at their usual time.";
  Section section{"stragglers", "Stragglers", {}, {}, {}};
  section.facts = {
      {"cause", "Cause", found == nullptr ? Cell() : Cell(std::string(causeKey(found->cause))), Format::plain,
       "none, stage_imbalance, slow_worker, slow_data_parallel_rank, slow_rank_of_place, operation or "
       "several: what makes up "
       "most of "
       "the slowdown.",
       false},
      {"culprit", "Culprit", found == nullptr || found->culprit.empty() ? Cell() : Cell(found->culprit),
       Format::plain,
       "Name of the stage, worker, data-parallel rank, rank of the places or type of operation that is the "
       "cause.",
       false},
      {"slowness", "Slowness",
       found == nullptr ? Cell() : Cell(std::string(nameOf(analysis::slownessOf(found->pace).pattern))),
       Format::plain,
       "none, fixed (the same workers in nearly all iterations), passing (for a stretch of iterations) or "
       "rotating "
       "(other workers in turn): workers whose computations take 10 % longer than those of the median "
       "worker.",
       false},
      {"last_to_arrive", "Last to arrive",
       late == nullptr ? Cell() : deviceNameCell(context.catalog, late->device), Format::plain,
       "The device that others wait for at collectives most: half of these waits or more, and 2 % of the "
       "run.",
       late != nullptr},
      {"last_to_arrive_share", "  waited for", late == nullptr ? Cell() : Cell(late->share), Format::fraction,
       "Time that a device waits for it at collectives ÷ length of the run, mean over the devices that wait.",
       late != nullptr},
      {"slowdown", "Slowdown", figure(&Stragglers::slowdown), Format::ratio,
       "Mean iteration without launch delays ÷ mean iteration with all operations at their usual time: "
       "computations at the mean of their type, messages and collectives at the median."},
      {"launch_slowdown", "Slowdown by launch delays", figure(&Stragglers::launchSlowdown), Format::ratio,
       "Mean recorded iteration ÷ mean iteration in which each operation starts when what it follows has "
       "ended."},
      {"by_stage", "By stage", parts(&Stragglers::stages), Format::ratio, alone, false, kAnyParts},
      {"by_worker", "By worker", parts(&Stragglers::workers), Format::ratio, alone, false, kAnyParts},
      {"by_data_parallel_rank", "By data-parallel rank", parts(&Stragglers::replicas), Format::ratio, alone,
       false, kAnyParts},
      {"by_rank_of_place", "By rank of the places", parts(&Stragglers::ranks), Format::ratio, alone, false,
       kAnyParts},
      {"by_operation", "By type of operation", parts(&Stragglers::types), Format::ratio, alone, false,
       kAnyParts},
      {"by_iteration", "By iteration", found == nullptr ? Cell(Breakdown()) : slowdownsByIteration(*found),
       Format::ratio, "Iteration without launch delays ÷ iteration with all operations at their usual time.",
       false, kAnyParts},
  };
  section.tables = {
      culpritTable("stages", "Stages", "Stage", found == nullptr ? nullptr : &found->stages),
      culpritTable("workers", "Workers", "Worker", found == nullptr ? nullptr : &found->workers),
      culpritTable("data_parallel_ranks", "Data-parallel ranks", "Rank",
                   found == nullptr ? nullptr : &found->replicas),
      culpritTable("ranks_of_places", "Ranks of the places", "Rank",
                   found == nullptr || found->ranks.size() < 2 ? nullptr : &found->ranks),
      culpritTable("operations", "Types of operations", "Type", found == nullptr ? nullptr : &found->types),
      arrivalTable(arrivals, context, words),
      iterationTable(found,
                     static_cast<double>(context.catalog.timebase(model::DeviceId(0)).ticksPerSecond))};
  if (late != nullptr)
    section.remarks.push_back(
        fmt::format("{} arrives last at collectives: each of {} other device{} waits {} for it in an "
                    "iteration ({}). Their "
                    "steps look equally long for that reason.",
                    std::get<std::string>(deviceNameCell(context.catalog, late->device)), late->waiting,
                    late->waiting == 1 ? "" : "s", timeText(late->ticksPerIteration, words.time),
                    formatCell(late->share, Format::fraction) + " of the run"));
  if (found == nullptr) {
    lack(section, answer->why);
    return section;
  }
  section.remarks.push_back(verdictOf(*found));
  if (const std::string text = slownessText(*found, workers); !text.empty()) section.remarks.push_back(text);
  if (!found->messages)
    section.remarks.push_back(
        "The trace states no messages between stages, so a pass starts in the replay as soon as its input "
        "was "
        "made.");
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(stragglers) {
  registry.add({"stragglers", "Stragglers",
                "Which stage, worker or operation of a recorded run slows the others down, by replay", 44,
                makeStragglers, true});
}

}  // namespace pipescope::sections
