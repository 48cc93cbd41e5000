#pragma once
// Says which slices on the lanes of an accelerator in an imported trace are work.
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Category that the importer writes for a slice whose trace states none.
inline constexpr std::string_view kNoCategory = "event";

/// True for copies, by the categories that PyTorch's profiler and others use.
bool isCopyCategory(std::string_view category);
/// True for kernels and copies, by the same categories. Profilers repeat a host's marks on the queues of an
/// accelerator, around the work that was launched within them, and show what a queue waits for. Neither is
/// work.
bool isWorkCategory(std::string_view category);
/// Some tools, such as XLA's and Ascend's profilers, state no category. A rule says then which lanes are an
/// accelerator's, and what their slices do.
bool isWorkByRule(model::LaneRole role, model::StepKind kind);

/// Decides which slices on the lanes of devices count as work.
class RecordedWork {
 public:
  explicit RecordedWork(const Catalog& catalog) : catalog_(catalog) {}

  /// Returns true for work. If a device has kernels or copies, these count, and slices that a rule calls a
  /// sync or puts on an engine. Otherwise the categories are unknown, and all slices count but marks.
  bool counts(const model::Step& step);
  /// True if the trace calls some of the device's slices kernels or copies.
  bool hasKernels(model::DeviceId device);

 private:
  enum class Category : std::uint8_t { work, none, mark, other };
  static Category categoryOf(std::string_view text);

  const Catalog& catalog_;
  std::unordered_map<std::int64_t, Category> categories_;  ///< by program
  std::optional<std::set<model::DeviceId>> withKernels_;   ///< none: not looked at yet
};

}  // namespace pipescope::analysis
