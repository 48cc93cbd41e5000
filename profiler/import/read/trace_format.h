#pragma once
// The formats of traces that can be imported. One file reads one format and registers it.
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/executor.h"
#include "profiler/base/progress.h"
#include "profiler/import/read/source/byte_source.h"
#include "profiler/import/read/trace_data.h"

namespace pipescope::importing {

/// Callback by which a reader reports its progress.
struct ReadReport {
  std::string name;                  ///< name of the file
  std::function<double()> fraction;  ///< share that was read
  base::Progress& progress;
};

struct TraceFormat {
  std::string_view name;  ///< name for sentences that list what can be imported: "Perfetto's protobuf format"
  /// Endings of its files, for dialogs, separated by spaces: ".pftrace .perfetto-trace".
  std::string_view suffixes;
  /// True if the first bytes of a file, as many as kHeadBytes, are those of the format.
  bool (*looksLike)(std::string_view head) = nullptr;
  /// Reads the events. Damage is no error: the findings of `data` say what was left out. Returns false if the
  /// content is none of the format after all. Fails if the user cancels, if temporary data cannot be written,
  /// or if the file is of this format and must be refused.
  base::Result<bool> (*read)(ByteSource& bytes, TraceData& data, base::Executor& executor,
                             const ReadReport& report) = nullptr;
  /// Files of other formats may look like those of this one, so those with less are asked first.
  int generality = 0;
  /// If set, it is called once for all files of the format after these are read, and adds what only they tell
  /// together. Null: each file stands for itself.
  base::Status (*join)(std::span<TraceData* const> traces) = nullptr;
};

/// Bytes that are enough to recognise a format.
inline constexpr std::size_t kHeadBytes = 4096;

class FormatRegistry {
 public:
  void add(const TraceFormat& format);
  const std::vector<TraceFormat>& all() const { return formats_; }

 private:
  std::vector<TraceFormat> formats_;  // sorted by generality
};

/// Registers every format. The build generates this function.
void registerFormats(FormatRegistry& registry);
/// All formats. The first call creates the registry.
const FormatRegistry& formatRegistry();

/// The names of all formats, for a sentence: "a, b or c".
std::string formatNames();
/// The suffixes of all formats and of compressed files and archives, in the order of their names.
std::vector<std::string> traceSuffixes();

}  // namespace pipescope::importing

/// Usage: PIPESCOPE_REGISTER_FORMAT(perfetto) { registry.add({...}); }
#define PIPESCOPE_REGISTER_FORMAT(name) void register_##name(FormatRegistry& registry)
