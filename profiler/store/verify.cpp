#include "profiler/store/verify.h"

#include <fstream>
#include <string_view>

#include "profiler/base/files/file_kind.h"
#include "profiler/model/content_hash.h"
#include "profiler/store/format.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::store {
namespace {

template <class Row>
base::Status verifyTable(const ProfileReader& reader, base::Progress& progress, Verification& result) {
  ++result.tables;
  const auto blocks = reader.blocks<Row>();
  if (!blocks.ok()) {
    result.holes.push_back(blocks.error().message);
    return {};
  }
  for (std::size_t b = 0; b < blocks->size(); ++b) {
    if (progress.cancelled()) return base::cancelled("Checking was stopped.");
    progress.report(static_cast<double>(result.tables) / static_cast<double>(model::kTableCount),
                    std::string("checking table ") + Row::kTable);
    const auto rows = reader.block<Row>(b);
    if (!rows.ok()) {
      result.holes.push_back(rows.error().message);
      continue;
    }
    ++result.blocks;
    result.rows += static_cast<std::int64_t>((*rows)->size());
  }
  return {};
}

/// The first bytes of a file. Empty if the file is empty or cannot be read.
std::string headOf(const std::filesystem::path& path) {
  constexpr std::size_t kMost = std::size_t{4} << 20;
  std::string head(kMost, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  return head;
}

/// True if a file that cannot be opened was a profile of a format that is read. It begins with a header, and
/// the definitions of its tables follow. Either of them may be damaged or cut off.
bool wasProfile(const std::filesystem::path& path) {
  constexpr std::size_t kHeaderBytes = 100, kVersionAt = 60;
  const std::string head = headOf(path);
  if (head.size() < kHeaderBytes)
    return std::string_view("SQLite format 3", 16).starts_with(head.substr(0, 16));
  if (!base::isOfKind(base::FileKind::profile, head)) return head.find("store_payload") != std::string::npos;
  std::uint32_t version = 0;
  for (std::size_t i = 0; i < 4; ++i)
    version = version << 8U | static_cast<unsigned char>(head[kVersionAt + i]);
  return isRead(version);
}

}  // namespace

base::Result<Verification> verify(const std::filesystem::path& path, base::Progress& progress) {
  // The cache is almost empty because every block is read once.
  OpenOptions options;
  options.cache = std::make_shared<BlockCache>(std::size_t{16} << 20);
  const auto opened = ProfileReader::open(path, options);
  Verification result;
  if (!opened.ok()) {
    if (opened.error().kind != base::ErrorKind::badInput || !wasProfile(path)) return opened.error();
    result.state = {model::ProfileState::incomplete, "the file cannot be opened"};
    result.holes.push_back(opened.error().message);
    return result;
  }
  const std::shared_ptr<ProfileReader>& reader = *opened;
  result.holes = reader->damage();
  PIPESCOPE_ASSIGN(result.state, reader->state());
  base::Status status;
  model::forEachRowType([&]<class Row>() {
    if (status.ok()) status = verifyTable<Row>(*reader, progress, result);
  });
  PIPESCOPE_TRY(status);
  if (result.holes.empty()) {
    PIPESCOPE_ASSIGN(result.contentHash, model::contentHash(*reader, progress));
  }
  return result;
}

}  // namespace pipescope::store
