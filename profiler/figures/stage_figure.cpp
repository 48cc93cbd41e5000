#include "profiler/figures/stage_figure.h"

#include <algorithm>

#include "profiler/base/check.h"

namespace pipescope::figures {
namespace {

using analysis::StageMemory;
using analysis::StageReport;

/// Bytes of the stage's device. Nothing: no memory was recorded.
template <base::Bytes StageMemory::*part>
Cell bytesOfStage(const StageReport& stage) {
  return stage.memory ? Cell(((*stage.memory).*part).count) : Cell();
}

template <double StageReport::*part>
Cell ticksOfStage(const StageReport& stage) {
  return stage.*part;
}

}  // namespace

const std::vector<StageFigure>& stageTimes() {
  static const std::vector<StageFigure> all = {
      {"forward_cycles", "Forward", Format::ticks, "per micro-batch", ticksOfStage<&StageReport::forward>},
      {"recompute_cycles", "Recompute", Format::ticks, "per micro-batch",
       ticksOfStage<&StageReport::recompute>},
      {"backward_cycles", "Backward", Format::ticks, "per micro-batch, weight gradients included",
       [](const StageReport& s) { return Cell(s.backward + s.weightGradient); }},
      {"busy_cycles", "F+R+B", Format::ticks, "per micro-batch", ticksOfStage<&StageReport::busy>},
      {"host_in_cycles", "Host in", Format::ticks, "per micro-batch", ticksOfStage<&StageReport::hostIn>},
      {"host_out_cycles", "Host out", Format::ticks, "per micro-batch, mean",
       ticksOfStage<&StageReport::hostOut>},
      {"host_copies_cycles", "Host copies", Format::ticks, "per micro-batch",
       [](const StageReport& s) { return Cell(s.hostIn + s.hostOut); }},
      {"remote_cycles", "Remote", Format::ticks, "loads and stores of remote buffers, per micro-batch",
       ticksOfStage<&StageReport::remote>},
      {"collective_cycles", "Collectives", Format::ticks,
       "collectives within passes, such as gathers of divided weights, per micro-batch",
       ticksOfStage<&StageReport::collective>},
      {"exchange_cycles", "Exchange", Format::ticks,
       "per micro-batch, transfers of its device that keep it from computing",
       ticksOfStage<&StageReport::exchange>},
      {"occupied_cycles", "Occupied", Format::ticks,
       "passes with host copies, remote buffers, collectives and exchange, per micro-batch",
       ticksOfStage<&StageReport::occupied>},
      {"update_cycles", "Update", Format::ticks, "per iteration", ticksOfStage<&StageReport::update>}};
  return all;
}

const std::vector<StageFigure>& stageMemory() {
  static const std::vector<StageFigure> all = {
      {"always_live_bytes", "Always live", Format::bytes, "sum over units",
       bytesOfStage<&StageMemory::alwaysLive>},
      {"not_always_live_peak_bytes", "Peak not always live", Format::bytes,
       "largest over program steps, sum over units", bytesOfStage<&StageMemory::peakNotAlwaysLive>},
      {"stash_bytes", "Stash", Format::bytes,
       "kept for the backward passes of micro-batches under way; always live, but for the entry of the one "
       "that runs "
       "where values stay in place",
       bytesOfStage<&StageMemory::stash>},
      {"worst_tile_bytes", "Fullest tile or device", Format::bytes, "bytes used on it, without gaps",
       bytesOfStage<&StageMemory::worstUnitBytes>},
      {"free_bytes", "Free on it", Format::bytes, "capacity minus used bytes",
       bytesOfStage<&StageMemory::freeBytes>},
      {"largest_span_bytes", "Largest address span", Format::bytes,
       "bytes with the gaps between variables; decides whether it fits",
       bytesOfStage<&StageMemory::worstSpan>}};
  return all;
}

const StageFigure& stageFigure(std::string_view key) {
  for (const auto* list : {&stageTimes(), &stageMemory()}) {
    const auto found = std::ranges::find_if(
        *list, [&](const StageFigure& figure) { return std::string_view(figure.key) == key; });
    if (found != list->end()) return *found;
  }
  base::checkFailed(__FILE__, __LINE__, "stageFigure",
                    "no figure of a stage has the key " + std::string(key));
}

bool hasRecompute(const analysis::StagesReport& report) {
  return std::ranges::any_of(report.stages, [](const StageReport& stage) { return stage.recompute > 0; });
}

const char* busyLabel(bool recomputes) {
  return recomputes ? stageFigure("busy_cycles").label : "F+B";
}

}  // namespace pipescope::figures
