#include "profiler/analysis/pipeline/recorded/recorded_work.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>

namespace pipescope::analysis {
namespace {

bool categoryNames(std::string_view category, std::initializer_list<std::string_view> words) {
  std::string lower;
  for (const char c : category) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace

bool isCopyCategory(std::string_view category) {
  return categoryNames(category, {"memcpy", "memset"});
}

bool isWorkCategory(std::string_view category) {
  // Converters of Nsight Systems' reports call kernels "cuda", and the ranges around them "nvtx-kernel".
  if (category == "nvtx-kernel") return false;
  return isCopyCategory(category) || category == "cuda" ||
         categoryNames(category, {"kernel", "hpu_op", "mtia_ccp_events"});
}

bool isWorkByRule(model::LaneRole role, model::StepKind kind) {
  if (role == model::LaneRole::copy) return kind == model::StepKind::streamCopy;
  return role == model::LaneRole::compute &&
         (kind == model::StepKind::compute || kind == model::StepKind::globalExchange ||
          kind == model::StepKind::streamCopy);
}

RecordedWork::Category RecordedWork::categoryOf(std::string_view text) {
  if (text == kNoCategory) return Category::none;
  if (isWorkCategory(text)) return Category::work;
  return categoryNames(text, {"annotation", "nvtx-kernel"}) ? Category::mark : Category::other;
}

/// Reads the programs when it is asked first, because most traces never ask.
bool RecordedWork::hasKernels(model::DeviceId device) {
  if (!withKernels_) {
    withKernels_.emplace();
    const auto count = static_cast<std::int64_t>(catalog_.programs.size());
    for (model::ProgramId id(0); id.value < count; ++id.value) {
      const model::Program program = catalog_.programs[id];
      if (isWorkCategory(program.kind)) withKernels_->insert(program.device);
    }
  }
  return withKernels_->contains(device);
}

bool RecordedWork::counts(const model::Step& step) {
  if (step.kind == model::StepKind::sync) return true;
  const auto [place, added] = categories_.try_emplace(step.program.value, Category::other);
  if (added && catalog_.programs.contains(step.program))
    place->second = categoryOf(catalog_.programs[step.program].kind);
  const model::LaneRole role = catalog_.roleOf(step.lane);
  switch (place->second) {
    case Category::work:
      return true;
    case Category::mark:
      return false;
    case Category::none:
      return model::isEngine(role) || isWorkByRule(role, step.kind) ||
             !hasKernels(catalog_.deviceOf(step.lane));
    case Category::other:
      return model::isEngine(role) || !hasKernels(catalog_.deviceOf(step.lane));
  }
  return true;
}

}  // namespace pipescope::analysis
