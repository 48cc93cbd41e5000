#pragma once
// The kinds of files that the programs write, and how a file's first bytes tell its kind.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipescope::base {

enum class FileKind {
  profile,      ///< profile.pop
  database,     ///< SQLite database of `export --to sqlite`
  chromeTrace,  ///< JSON of Chrome's trace format
  csv,          ///< comma-separated values with a line of headings
  svg,
  png,
  jpeg,
  bmp,
  metrics,        ///< JSON lines of `run --metrics`
  prometheus,     ///< Prometheus' text format, with metrics of ours
  eventFile,      ///< TensorBoard's event file
  sweep,          ///< JSON table of `sweep`
  npz,            ///< zip archive of NumPy arrays
  onnxModel,      ///< ModelProto
  onnxTensor,     ///< TensorProto
  plan,           ///< a configuration that `plan` wrote, which begins with kPlanTitle
  perfettoTrace,  ///< packets of Perfetto's protobuf format
  chakraTrace,    ///< nodes of a Chakra execution trace
  launchFlags,    ///< JSON of `poprun --export-config`
  device,         ///< a device that `calibrate` wrote, which begins with kDeviceTitle
  report,         ///< a web page with a report, which begins with kReportTitle
};

/// The comment in the first line of a configuration that `plan` wrote.
inline constexpr std::string_view kPlanTitle = "# Planned by pipescope";
/// First words of a configuration that `learn` wrote. Plans and learned configurations replace each other.
inline constexpr std::string_view kLearnedTitle = "# Learned by pipescope";

/// The comment in the first line of a device that `calibrate` wrote.
inline constexpr std::string_view kDeviceTitle = "# Calibrated by pipescope";

/// The beginning of a report in HTML.
inline constexpr std::string_view kReportTitle = "<!DOCTYPE html>\n<!-- A report of pipescope. -->";

/// The kind with its article, for sentences: "a Pipescope profile".
std::string_view nameOf(FileKind kind);

/// The comment in gzip's header by which a compressed file says what it holds. Without it a file that is
/// compressed by gzip is of no kind: it may be somebody's archive.
std::string gzipComment(FileKind kind);

/// Number of bytes at the beginning of a file that isOfKind() wants to see.
inline constexpr std::size_t kHeadBytes = 65'536;

/// True if a file is of the kind. `head` is its first kHeadBytes bytes, or the whole file if it is shorter.
/// A file that the programs compressed is of the kind that it holds. The kinds without a signature (CSV,
/// ONNX) are told by the structure of the first lines or fields.
bool isOfKind(FileKind kind, std::string_view head);

/// True if a file of the kind can be written from its beginning to its end, and therefore to a pipe.
bool canBeStreamed(FileKind kind);

/// SQLite's application_id of a profile ("PScp") and of an exported database ("PSex").
inline constexpr std::uint32_t kProfileId = 0x50536370, kExportId = 0x50536578;

}  // namespace pipescope::base
