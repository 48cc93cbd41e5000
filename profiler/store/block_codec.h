#pragma once
// A block: all columns of some rows, coded column by column and compressed as one zstd frame.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/model/source.h"
#include "profiler/store/column_codec.h"
#include "profiler/store/prediction.h"

namespace pipescope::store {

struct EncodedBlock {
  std::string bytes;          ///< the zstd frame
  std::int64_t rawBytes = 0;  ///< its size once decompressed
  std::string ranges;         ///< smallest and largest value of each column; see decodeRanges
};

/// How the columns of a table's blocks are coded: what a sample compressed best with.
struct BlockCoding {
  struct Column {
    IntegerCoding coding = IntegerCoding::plainBytes;  ///< of the values, or of the differences
    std::optional<Prediction> prediction;
    /// How many blocks have to share the prediction's priors before they save more bytes than they take.
    std::size_t priorsPayFrom = kNever;
    static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  };
  std::vector<Column> columns;
  std::vector<Prediction> used;  ///< those of the columns

  /// True where blocks that are so many have priors of some column.
  bool mayHavePriors(std::size_t blocks) const {
    return std::ranges::any_of(columns, [&](const Column& column) { return blocks >= column.priorsPayFrom; });
  }
};

/// Keeps the compressor's memory between blocks. One thread at a time.
class BlockEncoder {
 public:
  BlockEncoder();
  ~BlockEncoder();
  BlockEncoder(BlockEncoder&&) noexcept;
  /// Tries on a sample of the columns. `predictions`: what may be tried.
  BlockCoding choose(const std::vector<ColumnData>& columns, std::size_t rows,
                     const std::vector<Prediction>& predictions = {});
  /// Fails where a block is longer than kMostBytes. `coding`: of a block with columns of these types.
  base::Result<EncodedBlock> encode(const std::vector<ColumnData>& columns, std::size_t rows,
                                    const BlockCoding& coding, std::span<const Priors> priors = {});
  /// What `blocks` blocks that are coded like this should share, by some of their rows.
  std::vector<Priors> priors(const std::vector<ColumnData>& columns, std::size_t rows,
                             const BlockCoding& coding, std::size_t blocks) const;
  /// One zstd frame; nothing for no priors.
  std::string encodePriors(const std::vector<Priors>& priors);
  /// Memory for the columns of the next block.
  std::vector<ColumnData>& scratch();

 private:
  struct Compressor;
  std::unique_ptr<Compressor> compressor_;
};

/// Columns and the bytes that their texts point into.
struct DecodedBlock {
  std::unique_ptr<char[]> bytes;
  std::size_t capacity = 0;  ///< of bytes
  std::vector<ColumnData> columns;
};

/// Reads a payload of `rows` rows with columns of these types. Allocates no more than `rawBytes` (at most
/// kMostBytes) and the rows need. The error says only what is wrong ("its columns are malformed"); the caller
/// knows where.
base::Result<DecodedBlock> decodeBlock(std::string_view payload, std::size_t rows, std::int64_t rawBytes,
                                       const std::vector<model::ColumnType>& types,
                                       DecodedPart part = DecodedPart::all,
                                       std::span<const Priors> priors = {});
/// Reads what encodePriors wrote.
base::Result<std::vector<Priors>> decodePriors(std::string_view frame);
/// Gives a block's memory back, for the next one that this thread decodes.
void recycle(DecodedBlock block);
/// The second half of decodeBlock: columns from decompressed bytes.
base::Result<std::vector<ColumnData>> decodeColumns(std::string_view bytes, std::size_t rows,
                                                    const std::vector<model::ColumnType>& types,
                                                    DecodedPart part = DecodedPart::all,
                                                    std::span<const Priors> priors = {});

using model::ColumnRange;
std::vector<ColumnRange> rangesOf(const std::vector<ColumnData>& columns);
std::string encodeRanges(const std::vector<ColumnData>& columns, const std::vector<ColumnRange>& ranges);
/// False: malformed.
bool decodeRanges(std::string_view bytes, const std::vector<model::ColumnType>& types,
                  std::vector<ColumnRange>& ranges);

}  // namespace pipescope::store
