#pragma once
// A block: all columns of some rows, coded column by column and compressed as one zstd frame.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/model/source.h"
#include "profiler/store/column_codec.h"
#include "profiler/store/prediction.h"

namespace pipescope::store {

struct EncodedBlock {
  std::string payload;        ///< the zstd frame
  std::int64_t rawBytes = 0;  ///< its size once decompressed
  std::string ranges;         ///< smallest and largest value of each column; see decodeRanges
};

/// Keeps the compressor's memory between blocks, and of each kind of block what its columns were last coded best
/// with: that is tried out anew for every eighth block. One thread at a time.
class BlockEncoder {
 public:
  BlockEncoder();
  ~BlockEncoder();
  /// Fails where a block is longer than kMostBytes. `kind`: blocks of one kind have the same columns (a table).
  /// `predictions`: what may be tried.
  base::Result<EncodedBlock> encode(const std::vector<ColumnData>& columns, std::size_t kind = 0,
                                    const std::vector<Prediction>& predictions = {});

 private:
  struct Compressor;
  struct Choice;
  struct Kind;
  void choose(const std::vector<ColumnData>& columns, const std::vector<Prediction>& predictions, Kind& kind);
  void encodeColumns(const std::vector<ColumnData>& columns, const Kind& kind, std::string& raw);
  std::unique_ptr<Compressor> compressor_;
};

/// Columns and the bytes that their texts point into.
struct DecodedBlock {
  std::unique_ptr<char[]> bytes;
  std::vector<ColumnData> columns;
};

/// Reads a payload of `rows` rows with columns of these types. Allocates no more than `rawBytes` (at most
/// kMostBytes) and the rows need. The error says only what is wrong ("its columns are malformed"); the caller
/// knows where.
base::Result<DecodedBlock> decodeBlock(std::string_view payload, std::size_t rows, std::int64_t rawBytes,
                                       const std::vector<model::ColumnType>& types);
/// Gives a block's memory back, for the next one that this thread decodes.
void recycle(DecodedBlock block);
/// The second half of decodeBlock: columns from decompressed bytes.
base::Result<std::vector<ColumnData>> decodeColumns(std::string_view bytes, std::size_t rows,
                                                    const std::vector<model::ColumnType>& types);

using model::ColumnRange;
std::string encodeRanges(const std::vector<ColumnData>& columns);
/// False: malformed.
bool decodeRanges(std::string_view bytes, const std::vector<model::ColumnType>& types,
                  std::vector<ColumnRange>& ranges);

}  // namespace pipescope::store
