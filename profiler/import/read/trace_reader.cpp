#include "profiler/import/read/trace_reader.h"

#include <string_view>

namespace pipescope::importing {
namespace {

/// Newer versions of PyTorch's profiler count from a time that they state apart.
void addBaseTime(TraceTables& tables) {
  constexpr Picoseconds kSinceThen = Picoseconds{3 * 365 * 86'400} * 1'000'000'000'000;
  const auto base = tables.members.find("baseTimeNanoseconds");
  if (base == tables.members.end() || !tables.origin || *tables.origin > kSinceThen) return;
  if (const auto time = parseTime(base->second, 1000)) *tables.origin += *time;
}

/// Returns what a user can do with a file of a format that is known, but not imported; empty: the format is
/// not known. `head`: the first bytes of the file.
std::string adviceOn(std::string_view head) {
  if (head.starts_with("SQLite format 3"))
    return "is an SQLite database and no trace: a profile of Pipescope opens as it is, and reports of Nsight "
           "Systems "
           "or rocprofv3 can be imported after a conversion into Chrome's JSON format or Perfetto's";
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff"))
    return "is text in UTF-16, in which traces cannot be imported: save it in UTF-8";
  for (const std::string_view member : {"\"NvtxEvent\"", "\"CudaEvent\"", "\"TraceProcessEvent\""})
    if (head.starts_with("{") && head.find(member) != std::string_view::npos)
      return "is what nsys export writes as JSON, which cannot be imported: convert the report into Chrome's "
             "JSON "
             "format";
  return {};
}

}  // namespace

base::Result<ReadTrace> readTrace(const TraceFile& file, const std::filesystem::path& temporaryFolder,
                                  const std::vector<std::string>& ownArguments, base::Executor& executor,
                                  base::Progress& progress) {
  WatchedSource watched(file.bytes, progress, "reading " + file.name, file.fraction);
  std::string head = readHead(watched, kHeadBytes);
  ReadTrace read;
  read.advice = adviceOn(head);
  for (const TraceFormat& format : formatRegistry().all()) {
    if (read.format == nullptr && format.looksLike(head)) read.format = &format;
  }
  if (read.format == nullptr) return read;
  read.data = std::make_unique<TraceData>(file.name, temporaryFolder);
  read.data->tables.ownArguments = ownArguments;
  PeekedSource bytes(std::move(head), watched);
  PIPESCOPE_ASSIGN(const bool known,
                   read.format->read(bytes, *read.data, executor, {file.name, file.fraction, progress}));
  if (progress.cancelled()) return base::cancelled("The import was stopped.");
  if (!known) {
    read.data.reset();
    return read;
  }
  addBaseTime(read.data->tables);
  read.data->leaveOutFarEvents();
  return read;
}

}  // namespace pipescope::importing
