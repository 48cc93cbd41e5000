#include "engine/devices/hbm_card/engine_kernel.h"

namespace pipescope::devices::hbm_card {

model::LaneRole laneOf(Engine engine) {
  switch (engine) {
    case Engine::matrix:
      return model::LaneRole::matrix;
    case Engine::vector:
      return model::LaneRole::vector;
    case Engine::copy:
      return model::LaneRole::copy;
    case Engine::network:
      return model::LaneRole::network;
    default:
      return model::LaneRole::host;
  }
}

model::StepKind kindOf(Engine engine) {
  switch (engine) {
    case Engine::copy:
      return model::StepKind::exchange;
    case Engine::network:
      return model::StepKind::globalExchange;
    case Engine::host:
      return model::StepKind::streamCopy;
    default:
      return model::StepKind::compute;
  }
}

}  // namespace pipescope::devices::hbm_card
