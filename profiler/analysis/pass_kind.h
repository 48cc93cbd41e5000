#pragma once
#include "profiler/model/enums.h"

namespace pipescope::analysis {

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

}  // namespace pipescope::analysis
