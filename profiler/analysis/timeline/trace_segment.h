#pragma once
// Arranges the steps of a segment in flame and flat rows for the loader of trace.h.
#include <map>
#include <string>
#include <unordered_map>

#include "profiler/analysis/timeline/trace.h"

namespace pipescope::analysis {

/// Texts stored once. Index 0 is the empty text.
class NameTable {
 public:
  explicit NameTable(std::vector<std::string>& names) : names_(names) { indexOf(""); }
  std::int32_t indexOf(const std::string& text);
  /// Begins with the texts of another table, so that indices into that table stay valid.
  void take(const std::vector<std::string>& names);

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, std::int32_t> known_;
};

/// The parts of a name path: "layer1/conv" has two. What lies below the twelfth level belongs to the last
/// part. The name of a source line is one part: slashes in "nn/linear.py(114): forward" are those of a file's
/// path.
std::vector<std::string> namePathParts(const std::string& path);

/// Rows by level of the name path, for the steps on `lane` or for all steps if it is none.
std::vector<FlameRow> flameRows(const TraceSegment& segment, model::LaneId lane,
                                const std::vector<std::string>& paths, NameTable& names);
/// One row of the steps on `lane`.
FlameRow flatRow(const TraceSegment& segment, model::LaneId lane, const std::vector<std::string>& paths,
                 NameTable& names);

}  // namespace pipescope::analysis
