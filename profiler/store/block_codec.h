#pragma once
// A block: all columns of some rows, coded column by column and compressed as one zstd frame.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/store/column_codec.h"

namespace pipescope::store {

struct EncodedBlock {
  std::string payload;        ///< the zstd frame
  std::int64_t rawBytes = 0;  ///< its size once decompressed
  std::string ranges;         ///< smallest and largest value of each column; see decodeRanges
};

/// Keeps the compressor's memory between blocks. One thread at a time.
class BlockEncoder {
 public:
  BlockEncoder();
  ~BlockEncoder();
  /// Fails where a block is longer than kMostBytes.
  base::Result<EncodedBlock> encode(const std::vector<ColumnData>& columns);

 private:
  struct Compressor;
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
/// The second half of decodeBlock: columns from decompressed bytes.
base::Result<std::vector<ColumnData>> decodeColumns(std::string_view bytes, std::size_t rows,
                                                    const std::vector<model::ColumnType>& types);

/// Smallest and largest value of a column in a block. Texts, and reals that are all not-a-number, have none.
struct ColumnRange {
  bool known = false;
  std::int64_t smallest = 0, largest = 0;    ///< of integer columns
  double smallestReal = 0, largestReal = 0;  ///< of real columns
};
std::string encodeRanges(const std::vector<ColumnData>& columns);
/// False: malformed.
bool decodeRanges(std::string_view bytes, const std::vector<model::ColumnType>& types,
                  std::vector<ColumnRange>& ranges);

}  // namespace pipescope::store
