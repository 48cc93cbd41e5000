#include "profiler/analysis/pipeline/wait_axes.h"

#include <fmt/format.h>

#include <sstream>

namespace pipescope::analysis {

bool waitsForSharedLinks(const model::Wait& wait, const AwaitedPlacement& awaited) {
  return wait.cause == model::WaitCause::collective && awaited.device == wait.device &&
         model::isComputePass(awaited.pass);
}

WaitAxes::WaitAxes(const Catalog& catalog, model::ExecutableId executable) : measured_(catalog.measured()) {
  // "segment:axis …", as the emulator records it
  std::istringstream words(catalog.property(fmt::format("replay.{}.shared_links", executable.value)));
  std::int64_t segment = 0;
  int axis = 0;
  for (char colon = 0; words >> segment >> colon >> axis && colon == ':';)
    if (axis >= 0 && axis <= static_cast<int>(model::MeshAxis::expert))
      shared_[model::SegmentId(segment)] = static_cast<model::MeshAxis>(axis);
}

std::optional<model::MeshAxis> WaitAxes::of(const model::Wait& wait, const AwaitedPlacement* awaited,
                                            const std::function<bool(int)>& holds) const {
  if (wait.cause != model::WaitCause::collective || measured_) return std::nullopt;
  if (awaited == nullptr) return model::MeshAxis::data;
  if (waitsForSharedLinks(wait, *awaited)) {
    const auto found = shared_.find(awaited->segment);
    return found == shared_.end() ? std::nullopt : std::optional(found->second);
  }
  return awaited->stage < 0 || holds(awaited->stage) ? model::MeshAxis::data : model::MeshAxis::pipe;
}

}  // namespace pipescope::analysis
