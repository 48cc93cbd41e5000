#include "profiler/store/verify.h"

#include "profiler/model/content_hash.h"
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

}  // namespace

base::Result<Verification> verify(const std::filesystem::path& path, base::Progress& progress) {
  // The cache is almost empty because every block is read once.
  OpenOptions options;
  options.cache = std::make_shared<BlockCache>(std::size_t{16} << 20);
  PIPESCOPE_ASSIGN(const std::shared_ptr<ProfileReader> reader, ProfileReader::open(path, options));
  Verification result;
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
