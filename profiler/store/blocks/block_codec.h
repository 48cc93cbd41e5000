#pragma once
// Codes a block: all columns of some rows, coded column by column and compressed as one zstd frame.
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
#include "profiler/store/blocks/column_codec.h"
#include "profiler/store/blocks/column_prediction.h"

namespace pipescope::store {

struct EncodedBlock {
  std::string bytes;          ///< the zstd frame
  std::int64_t rawBytes = 0;  ///< length after decompression
  std::string ranges;         ///< smallest and largest value of each column; decodeRanges reads them
};

/// Coding of the columns of a table's blocks. A sample decides what compresses best.
struct BlockCoding {
  struct Column {
    /// Coding of the values, or of the differences if they are predicted.
    IntegerCoding coding = IntegerCoding::plainBytes;
    std::optional<ColumnPrediction> prediction;
    /// Number of blocks that must share the priors of the prediction before these save more bytes than they
    /// take.
    std::size_t priorsPayFrom = kNever;
    static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  };
  std::vector<Column> columns;
  std::vector<ColumnPrediction> used;  ///< the predictions of all columns

  /// True if so many blocks have priors for some column.
  bool mayHavePriors(std::size_t blocks) const {
    return std::ranges::any_of(columns, [&](const Column& column) { return blocks >= column.priorsPayFrom; });
  }
};

/// Encodes blocks and keeps the memory of the compressor between them. For one thread at a time.
class BlockEncoder {
 public:
  BlockEncoder();
  ~BlockEncoder();
  BlockEncoder(BlockEncoder&&) noexcept;
  /// Chooses a coding by trying it on a sample of the columns. `predictions` are those that it may try.
  BlockCoding choose(const std::vector<ColumnData>& columns, std::size_t rows,
                     const std::vector<ColumnPrediction>& predictions = {});
  /// Encodes the columns of a block. Fails if the block is longer than kMostBytes. `coding` must belong to a
  /// block with columns of these types.
  base::Result<EncodedBlock> encode(const std::vector<ColumnData>& columns, std::size_t rows,
                                    const BlockCoding& coding, std::span<const Priors> priors = {});
  /// The priors that so many blocks with this coding should share, computed from some of their rows.
  std::vector<Priors> priors(const std::vector<ColumnData>& columns, std::size_t rows,
                             const BlockCoding& coding, std::size_t blocks) const;
  /// Returns one zstd frame, or nothing if there are no priors.
  std::string encodePriors(const std::vector<Priors>& priors);
  /// Memory to use for the columns of the next block.
  std::vector<ColumnData>& scratch();

 private:
  struct Compressor;
  std::unique_ptr<Compressor> compressor_;
};

/// Columns together with the bytes that their texts point into.
struct DecodedBlock {
  std::unique_ptr<char[]> bytes;
  std::size_t capacity = 0;  ///< size of `bytes`
  std::vector<ColumnData> columns;
};

/// Values of columns that another minor of the format does not have: an integer, or the bits of a real, for
/// each column. Texts are empty.
using ColumnDefaults = std::span<const std::int64_t>;

/// Reads a payload of `rows` rows with columns of these types. Allocates at most `rawBytes` (which may not
/// exceed kMostBytes) and what the rows need. With `defaults`, the block may have fewer columns, or more
/// columns, which are passed over. The error only says what is wrong ("its columns are malformed"); the
/// caller knows where.
base::Result<DecodedBlock> decodeBlock(std::string_view payload, std::size_t rows, std::int64_t rawBytes,
                                       const std::vector<model::ColumnType>& types,
                                       DecodedPart part = DecodedPart::all,
                                       std::span<const Priors> priors = {}, ColumnDefaults defaults = {});
/// Reads what encodePriors wrote.
base::Result<std::vector<Priors>> decodePriors(std::string_view frame);
/// Returns the memory of a block, which the next block that this thread decodes uses again.
void recycle(DecodedBlock block);
/// The second half of decodeBlock: reads columns from decompressed bytes.
base::Result<std::vector<ColumnData>> decodeColumns(std::string_view bytes, std::size_t rows,
                                                    const std::vector<model::ColumnType>& types,
                                                    DecodedPart part = DecodedPart::all,
                                                    std::span<const Priors> priors = {},
                                                    ColumnDefaults defaults = {});

using model::ColumnRange;
std::vector<ColumnRange> rangesOf(const std::vector<ColumnData>& columns);
std::string encodeRanges(const std::vector<ColumnData>& columns, const std::vector<ColumnRange>& ranges);
/// Returns false if the bytes are malformed. With `otherMinor`, there may be ranges of fewer or of more
/// columns.
bool decodeRanges(std::string_view bytes, const std::vector<model::ColumnType>& types,
                  std::vector<ColumnRange>& ranges, bool otherMinor = false);

}  // namespace pipescope::store
