#include "profiler/store/block_codec.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>

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

// Decoding makes large vectors for a moment; their memory goes from block to block, because fresh pages cost as
// much as all of the decoding.
std::vector<ColumnData>& spare() {
  thread_local std::vector<ColumnData> columns;
  return columns;
}

std::vector<ColumnData> spareColumns(std::size_t count) {
  std::vector<ColumnData> columns = std::move(spare());
  spare().clear();
  columns.resize(count);
  for (ColumnData& column : columns) column.integers.clear(), column.reals.clear(), column.texts.clear();
  return columns;
}

ColumnRange rangeOf(const ColumnData& column) {
  ColumnRange range;
  if (!column.integers.empty()) {
    std::int64_t low = column.integers.front(), high = low;
    for (const std::int64_t value : column.integers) low = std::min(low, value), high = std::max(high, value);
    range = {true, low, high};
  }
  for (const double value : column.reals) {
    if (std::isnan(value)) continue;
    range.smallestReal = range.known ? std::min(range.smallestReal, value) : value;
    range.largestReal = range.known ? std::max(range.largestReal, value) : value;
    range.known = true;
  }
  return range;
}

bool isConstant(std::span<const std::int64_t> values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

// Of the middle of a block: the beginning is where predictions have nothing to go by yet.
constexpr std::size_t kSample = 2048;
std::span<const std::int64_t> sampleOf(std::span<const std::int64_t> values) {
  return values.size() > 2 * kSample ? values.subspan(values.size() / 2, kSample) : values;
}

}  // namespace

struct BlockEncoder::Choice {
  IntegerCoding coding = IntegerCoding::plainBytes;  // of the values, or of the differences
  std::optional<Prediction> prediction;
};

struct BlockEncoder::Kind {
  std::vector<Choice> choices;
  std::vector<Prediction> used;
  int blocksSince = 0;
};

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
  std::unordered_map<std::size_t, Kind> kinds;
};

BlockEncoder::BlockEncoder() : compressor_(std::make_unique<Compressor>()) {}
BlockEncoder::~BlockEncoder() = default;

void BlockEncoder::choose(const std::vector<ColumnData>& columns, const std::vector<Prediction>& predictions,
                          Kind& kind) {
  kind.choices.assign(columns.size(), {});
  kind.used.clear();
  std::string bytes;
  const auto compressedSize = [&](std::string_view text) { return compressor_->compress(text); };
  const auto sizeWith = [&](std::span<const std::int64_t> values, IntegerCoding& coding) {
    const auto sample = sampleOf(values);
    coding = chooseIntegerCoding(sample, compressedSize);
    bytes.clear();
    encodeIntegers(sample, coding, bytes);
    return compressor_->compress(bytes);
  };
  std::vector<std::size_t> sizes(columns.size(), 0);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].type == model::ColumnType::integer)
      sizes[c] = sizeWith(columns[c].integers, kind.choices[c].coding);
  }
  // Those without a length first: the others build on their differences.
  for (const bool withLength : {false, true}) {
    for (const Prediction& prediction : predictions) {
      const std::size_t c = prediction.column;
      if ((prediction.length != Prediction::kNone) != withLength || isConstant(columns[c].integers)) continue;
      IntegerCoding coding{};
      const std::size_t size = sizeWith(residualsOf(columns, prediction, kind.used), coding);
      if (size >= sizes[c]) continue;
      kind.choices[c] = {coding, prediction};
      kind.used.push_back(prediction);
    }
  }
}

void BlockEncoder::encodeColumns(const std::vector<ColumnData>& columns, const Kind& kind, std::string& raw) {
  const auto compressedSize = [&](std::string_view bytes) { return compressor_->compress(bytes); };
  // Constant values of a sample need not be those of the whole.
  const auto append = [&](std::span<const std::int64_t> values, IntegerCoding coding) {
    const bool constant = isConstant(values);
    if (constant) {
      coding = IntegerCoding::constant;
    } else if (coding == IntegerCoding::constant) {
      coding = IntegerCoding::plainVarint;
    }
    encodeIntegers(values, coding, raw);
  };
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Choice& choice = kind.choices[c];
    if (columns[c].type != model::ColumnType::integer) {
      encodeColumn(columns[c], compressedSize, raw);
    } else if (choice.prediction) {
      raw.push_back(static_cast<char>(IntegerCoding::predicted));
      for (const std::uint8_t part : {choice.prediction->key, choice.prediction->base, choice.prediction->length})
        raw.push_back(static_cast<char>(part));
      append(residualsOf(columns, *choice.prediction, kind.used), choice.coding);
    } else {
      append(columns[c].integers, choice.coding);
    }
  }
}

base::Result<EncodedBlock> BlockEncoder::encode(const std::vector<ColumnData>& columns, std::size_t kind,
                                                const std::vector<Prediction>& predictions) {
  constexpr int kBlocksBetween = 8;
  std::string& raw = compressor_->raw;
  raw.clear();
  Kind& known = compressor_->kinds[kind];
  if (known.choices.size() != columns.size() || ++known.blocksSince >= kBlocksBetween) {
    choose(columns, predictions, known);
    known.blocksSince = 0;
  }
  encodeColumns(columns, known, raw);
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

void recycle(DecodedBlock block) {
  spare() = std::move(block.columns);
}

base::Result<std::vector<ColumnData>> decodeColumns(std::string_view bytes, std::size_t rows,
                                                    const std::vector<model::ColumnType>& types) {
  ByteReader in(bytes);
  std::vector<ColumnData> columns = spareColumns(types.size());
  std::vector<Prediction> predicted;
  for (std::size_t c = 0; c < types.size(); ++c) {
    const model::ColumnType type = types[c];
    columns[c].type = type;
    if (type == model::ColumnType::integer && in.peek() == static_cast<int>(IntegerCoding::predicted)) {
      in.byte();
      Prediction prediction;
      prediction.column = static_cast<std::uint8_t>(c);
      prediction.key = in.byte();
      prediction.base = in.byte();
      prediction.length = in.byte();
      predicted.push_back(prediction);
    }
    if (!decodeColumn(in, rows, columns[c])) return base::badInput("its columns are malformed");
  }
  if (!resolvePredictions(columns, predicted)) return base::badInput("its columns are malformed");
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
