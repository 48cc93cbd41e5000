#include "profiler/analysis/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>
#include <vector>

#include "profiler/analysis/block_walk.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/reports.h"

namespace pipescope::sections {
namespace {

/// Passes of stages, and how many of them state what reports need.
struct PassCounts {
  std::int64_t passes = 0, withMicroBatch = 0, withIteration = 0;
  std::int64_t once = 0;  ///< passes with a micro-batch which no other pass states
};

base::Result<PassCounts> passCounts(const Context& context) {
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, model::Pass, std::int32_t>;
  PassCounts counts;
  std::vector<Key> keys;
  std::map<model::DeviceId, Key> last;
  PIPESCOPE_TRY(analysis::forAllRows<model::Placement>(context.source, [&](const model::Placement& row) {
    if (!model::isComputePass(row.pass)) return;
    ++counts.passes;
    counts.withIteration += row.iteration >= 0 ? 1 : 0;
    if (row.stage < 0 || row.microBatch < 0) return;
    ++counts.withMicroBatch;
    const Key key(row.replica, row.iteration, row.stage, row.pass, row.microBatch);
    const auto [before, isFirst] = last.try_emplace(row.device, key);
    // Pieces of one pass follow each other.
    if (!isFirst && before->second == key) {
      ++counts.once;
      return;
    }
    before->second = key;
    keys.push_back(key);
  }));
  std::ranges::sort(keys);
  for (std::size_t i = 0; i < keys.size(); ++i)
    counts.once +=
        (i > 0 && keys[i - 1] == keys[i]) || (i + 1 < keys.size() && keys[i + 1] == keys[i]) ? 0 : 1;
  return counts;
}

base::Result<Section> makeCoverage(const Context& context) {
  Section section{"coverage", "Coverage", {}, {}, {}};
  SectionTable table{"coverage", "Recognised in the trace", "counts of the whole trace", {}, {}};
  table.columns = {{"what", "What", Format::plain, ""},
                   {"recognised", "Recognised", Format::count, ""},
                   {"all", "Of", Format::count, ""},
                   {"share", "Share", Format::fraction, ""},
                   {"needed_for", "Needed for", Format::plain, ""}};
  const bool measured = context.catalog.measured();
  if (measured) {
    const analysis::Coverage coverage = analysis::coverageOf(context.catalog);
    PIPESCOPE_ASSIGN(const PassCounts passes, passCounts(context));
    PIPESCOPE_ASSIGN(const auto accelerators, acceleratorsOf(context));
    std::int64_t kernels = 0, launched = 0;
    for (const analysis::AcceleratorTimes& times : accelerators->devices) {
      kernels += times.launchable;
      launched += times.launched;
    }
    constexpr const char* kCollectives = "collectives";
    const auto row = [&](const char* what, std::int64_t recognised, std::int64_t all, const char* neededFor) {
      // Only JSON and CSV have what the trace has none of.
      addRowIf(
          table,
          {what, recognised, all,
           all > 0 ? Cell(static_cast<double>(recognised) / static_cast<double>(all)) : Cell(), neededFor},
          all > 0);
      if (recognised != 0 || all == 0) return;
      if (std::string_view(neededFor) == kCollectives) {
        section.remarks.push_back(accelerators->noVerdictOnCollectives());
        return;
      }
      std::string sentence = fmt::format("{}: 0 of {}, so there is no verdict on {}.", what, all, neededFor);
      sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
      section.remarks.push_back(std::move(sentence));
    };
    if (coverage.ranksOfRun > 0)
      row("ranks of the run", coverage.ranks, std::max(coverage.ranks, coverage.ranksOfRun),
          "figures of the whole run");
    row("slices with a known meaning", coverage.recognisedSlices, coverage.slices, "kinds of work");
    const auto stated = [&](const char* what, std::int64_t inferred, std::int64_t all,
                            const char* neededFor) {
      addRowIf(table,
               {what, all - inferred, all,
                all > 0 ? Cell(static_cast<double>(all - inferred) / static_cast<double>(all)) : Cell(),
                neededFor},
               all > 0);
    };
    row("passes with a micro-batch", passes.withMicroBatch, passes.passes, "waits and stragglers");
    row("passes that occur once in their step", passes.once, passes.withMicroBatch, "waits and lost times");
    row("passes within a training step", passes.withIteration, passes.passes, "step times");
    row("messages with both sides", coverage.pairedMessages, coverage.messages, "late senders and receivers");
    stated("passes whose stage the trace states", coverage.inferredStages, passes.passes,
           "stages; the others are inferred");
    stated("messages whose pass the trace states", coverage.inferredMessages, coverage.messages,
           "late senders and receivers; the others are inferred");
    row("collectives with all members", coverage.matchedCollectives, coverage.collectives, "stragglers");
    row("communication kernels matched over ranks", accelerators->matched, accelerators->communicationKernels,
        kCollectives);
    row("kernels and copies with a launch", launched, kernels, "waits for the host");
  }
  section.tables.push_back(std::move(table));
  if (!measured) lack(section, "Coverage is that of an imported trace; an emulated run records everything.");
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(coverage) {
  registry.add(
      {"coverage", "Coverage", "How much of an imported trace was recognised", 12, makeCoverage, true});
}

}  // namespace pipescope::sections
