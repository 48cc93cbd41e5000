#pragma once
// Divides the time of a segment between the kinds of its steps. Every sum of "time by kind" comes from here.
#include <array>
#include <cstdint>
#include <span>

#include "profiler/base/units.h"
#include "profiler/model/rows.h"

namespace pipescope::analysis {

/// The number of known kinds of step, and one more for kinds of newer files.
inline constexpr std::size_t kStepKinds = 8;
constexpr std::size_t kindIndex(model::StepKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kStepKinds - 1 ? index : kStepKinds - 1;
}
using TicksByKind = std::array<std::int64_t, kStepKinds>;

/// The kind of step that a segment without recorded steps counts as. It follows from the segment's pass.
constexpr model::StepKind kindOfPass(model::Pass pass) {
  switch (pass) {
    case model::Pass::hostIn:
    case model::Pass::hostOut:
      return model::StepKind::streamCopy;
    case model::Pass::sync:
      return model::StepKind::sync;
    case model::Pass::collective:
      return model::StepKind::globalExchange;
    case model::Pass::remote:
      return model::StepKind::remoteCopy;
    default:
      return model::StepKind::compute;
  }
}

/// If several steps run at the same time, the one whose kind has the lowest place counts.
std::size_t placeOfKind(model::StepKind kind);

/// True if the steps, which are sorted by offset, follow each other.
bool isSequential(std::span<const model::Step> steps);

/// Ticks by kind in the part of [from, to) that lies in a segment of `length` ticks. Every moment counts
/// once (placeOfKind). Moments without a step count as control. A segment without steps counts as one step of
/// its pass.
TicksByKind exclusiveTicks(std::span<const model::Step> steps, model::Pass pass, base::Ticks length,
                           base::Ticks from, base::Ticks to);

}  // namespace pipescope::analysis
