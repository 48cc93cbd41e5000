#include "profiler/store/block_codec.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "profiler/store/format.h"

namespace pipescope::store {
namespace {

// Levels above 1 gain almost nothing on such columns and cost several times as much.
constexpr int kLevel = 1;

void appendReal(std::string& out, double value) {
  for (int shift = 0; shift < 64; shift += 8) {
    out.push_back(static_cast<char>(std::bit_cast<std::uint64_t>(value) >> shift));
  }
}

double readReal(ByteReader& in) {
  std::uint64_t bits = 0;
  for (int shift = 0; shift < 64; shift += 8) bits |= std::uint64_t{in.byte()} << shift;
  return std::bit_cast<double>(bits);
}

ColumnRange rangeOf(const ColumnData& column) {
  ColumnRange range;
  for (const std::int64_t value : column.integers) {
    range.smallest = range.known ? std::min(range.smallest, value) : value;
    range.largest = range.known ? std::max(range.largest, value) : value;
    range.known = true;
  }
  for (const double value : column.reals) {
    if (std::isnan(value)) continue;
    range.smallestReal = range.known ? std::min(range.smallestReal, value) : value;
    range.largestReal = range.known ? std::max(range.largestReal, value) : value;
    range.known = true;
  }
  return range;
}

}  // namespace

struct BlockEncoder::Compressor {
  Compressor() : context(ZSTD_createCCtx()) { PIPESCOPE_CHECK(context != nullptr, "no memory for zstd"); }
  ~Compressor() { ZSTD_freeCCtx(context); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  std::size_t compress(std::string_view bytes) {
    buffer.resize(ZSTD_compressBound(bytes.size()));
    const std::size_t size =
        ZSTD_compressCCtx(context, buffer.data(), buffer.size(), bytes.data(), bytes.size(), kLevel);
    PIPESCOPE_CHECK(!ZSTD_isError(size), ZSTD_getErrorName(size));
    return size;
  }

  ZSTD_CCtx* context;
  std::string buffer, raw;
};

BlockEncoder::BlockEncoder() : compressor_(std::make_unique<Compressor>()) {}
BlockEncoder::~BlockEncoder() = default;

base::Result<EncodedBlock> BlockEncoder::encode(const std::vector<ColumnData>& columns) {
  std::string& raw = compressor_->raw;
  raw.clear();
  const auto compressedSize = [&](std::string_view bytes) { return compressor_->compress(bytes); };
  for (const ColumnData& column : columns) encodeColumn(column, compressedSize, raw);
  // The payload lies in an SQL row that must not be longer than kMostBytes either.
  if (ZSTD_compressBound(raw.size()) + 1024 > static_cast<std::size_t>(kMostBytes)) {
    return base::refused(
        fmt::format("a block of {} bytes, which is more than {} MiB", raw.size(), kMostBytes >> 20));
  }
  EncodedBlock block;
  const std::size_t size = compressor_->compress(raw);
  block.payload.assign(compressor_->buffer, 0, size);
  block.rawBytes = static_cast<std::int64_t>(raw.size());
  block.ranges = encodeRanges(columns);
  return block;
}

base::Result<DecodedBlock> decodeBlock(std::string_view payload, std::size_t rows, std::int64_t rawBytes,
                                       const std::vector<model::ColumnType>& types) {
  if (rawBytes < 0 || rawBytes > kMostBytes) return base::badInput("it claims an impossible size");
  const unsigned long long claimed = ZSTD_getFrameContentSize(payload.data(), payload.size());
  if (claimed != static_cast<unsigned long long>(rawBytes)) {
    return base::badInput("its size is not the one in the directory");
  }
  DecodedBlock block;
  block.bytes = std::make_unique<char[]>(static_cast<std::size_t>(rawBytes) + 1);
  const std::size_t size =
      ZSTD_decompress(block.bytes.get(), static_cast<std::size_t>(rawBytes), payload.data(), payload.size());
  if (ZSTD_isError(size))
    return base::badInput(fmt::format("it cannot be decompressed ({})", ZSTD_getErrorName(size)));
  PIPESCOPE_ASSIGN(block.columns, decodeColumns({block.bytes.get(), size}, rows, types));
  return block;
}

base::Result<std::vector<ColumnData>> decodeColumns(std::string_view bytes, std::size_t rows,
                                                    const std::vector<model::ColumnType>& types) {
  ByteReader in(bytes);
  std::vector<ColumnData> columns;
  for (const model::ColumnType type : types) {
    columns.emplace_back().type = type;
    if (!decodeColumn(in, rows, columns.back())) return base::badInput("its columns are malformed");
  }
  if (in.left() != 0) return base::badInput("bytes follow its last column");
  return columns;
}

std::string encodeRanges(const std::vector<ColumnData>& columns) {
  std::string out;
  for (const ColumnData& column : columns) {
    const ColumnRange range = rangeOf(column);
    out.push_back(static_cast<char>(range.known));
    if (!range.known) continue;
    if (column.type == model::ColumnType::integer) {
      appendVarint(out, zigZag(range.smallest));
      appendVarint(out, zigZag(range.largest));
    } else {
      appendReal(out, range.smallestReal);
      appendReal(out, range.largestReal);
    }
  }
  return out;
}

bool decodeRanges(std::string_view bytes, const std::vector<model::ColumnType>& types,
                  std::vector<ColumnRange>& ranges) {
  ByteReader in(bytes);
  ranges.assign(types.size(), {});
  for (std::size_t i = 0; i < types.size(); ++i) {
    ColumnRange& range = ranges[i];
    range.known = in.byte() != 0;
    if (!range.known) continue;
    if (types[i] == model::ColumnType::text) return false;
    if (types[i] == model::ColumnType::integer) {
      range.smallest = in.signedVarint();
      range.largest = in.signedVarint();
    } else {
      range.smallestReal = readReal(in);
      range.largestReal = readReal(in);
    }
  }
  return !in.failed() && in.left() == 0;
}

}  // namespace pipescope::store
