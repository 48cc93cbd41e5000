#include "profiler/store/blocks/block_codec.h"

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <new>
#include <span>
#include <utility>

#include "profiler/store/format.h"

namespace pipescope::store {
namespace {

// Higher levels save almost nothing on such columns and take several times as long. Repetitions in them are
// long; short matches cost more time than they save bytes.
constexpr int kLevel = 1, kLeastMatch = 7;

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

// Decoding needs much memory for a moment. The memory is passed from block to block, because new pages cost
// as much as all of the decoding.
struct Spare {
  std::vector<ColumnData> columns;
  std::unique_ptr<char[]> bytes;
  std::size_t capacity = 0;  // bytes
};
Spare& spare() {
  thread_local Spare memory;
  return memory;
}

std::vector<ColumnData> spareColumns(std::size_t count) {
  std::vector<ColumnData> columns = std::move(spare().columns);
  spare().columns.clear();
  columns.resize(count);
  for (ColumnData& column : columns) {
    column.reals.clear(), column.texts.clear();  // old integers stay because new ones overwrite them
    column.constant = false;
    column.extremes.reset();
  }
  return columns;
}

ColumnRange rangeOf(const ColumnData& column) {
  ColumnRange range;
  if (!column.integers.empty()) {
    const auto [low, high] = extremesOf(column);
    range = {true, low, high};
  }
  std::span<const double> reals(column.reals);
  if (isConstant(reals)) reals = reals.first(std::min<std::size_t>(1, reals.size()));
  for (const double value : reals) {
    if (std::isnan(value)) continue;
    range.smallestReal = range.known ? std::min(range.smallestReal, value) : value;
    range.largestReal = range.known ? std::max(range.largestReal, value) : value;
    range.known = true;
  }
  return range;
}

// The sample comes from the middle of a block, because predictions have nothing to build on at the beginning.
constexpr std::size_t kSample = 2048;
std::span<const std::int64_t> sampleOf(std::span<const std::int64_t> values) {
  return values.size() > 2 * kSample ? values.subspan(values.size() / 2, kSample) : values;
}

// A column that is constant in the sample may vary in the whole block.
void appendIntegers(std::span<const std::int64_t> values, IntegerCoding coding, std::string& raw) {
  if (isConstant(values)) {
    coding = IntegerCoding::constant;
  } else if (coding == IntegerCoding::constant) {
    coding = IntegerCoding::zigZagBytes;
  }
  encodeIntegers(values, coding, raw);
}

}  // namespace

struct BlockEncoder::Compressor {
  Compressor() : context(ZSTD_createCCtx()) {
    PIPESCOPE_CHECK(context != nullptr, "no memory for zstd");
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context, ZSTD_c_minMatch, kLeastMatch);
  }
  ~Compressor() { ZSTD_freeCCtx(context); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  std::size_t compress(std::string_view bytes) { return compress(bytes, {}); }

  /// `parts` holds the ends of parts that have little in common. Each part gets its own statistics within the
  /// frame.
  std::size_t compress(std::string_view bytes, std::span<const std::size_t> parts) {
    buffer.resize(ZSTD_compressBound(bytes.size()) + 8 * parts.size());
    ZSTD_CCtx_reset(context, ZSTD_reset_session_only);
    check(ZSTD_CCtx_setPledgedSrcSize(context, bytes.size()));
    ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
    ZSTD_inBuffer in{bytes.data(), 0, 0};
    for (const std::size_t cut : parts) {
      if (cut >= bytes.size()) break;
      in.size = cut;
      check(ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush));
    }
    in.size = bytes.size();
    const std::size_t left = ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
    check(left);
    PIPESCOPE_CHECK(left == 0, "the buffer holds what zstd can make of it");
    return out.pos;
  }
  static void check(std::size_t code) {
    if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    PIPESCOPE_CHECK(!ZSTD_isError(code), ZSTD_getErrorName(code));
  }

  ZSTD_CCtx* context;
  std::string buffer, raw, sample;
  std::vector<std::size_t> cuts;
  std::vector<ColumnData> columns;
  std::vector<std::int64_t> residuals;
};

BlockEncoder::BlockEncoder() : compressor_(std::make_unique<Compressor>()) {}
BlockEncoder::~BlockEncoder() = default;
BlockEncoder::BlockEncoder(BlockEncoder&&) noexcept = default;

std::vector<ColumnData>& BlockEncoder::scratch() {
  return compressor_->columns;
}

BlockCoding BlockEncoder::choose(const std::vector<ColumnData>& columns, std::size_t rows,
                                 const std::vector<ColumnPrediction>& predictions) {
  BlockCoding chosen;
  chosen.columns.resize(columns.size());
  const auto compressedSize = [&](std::string_view text) { return compressor_->compress(text); };
  std::string& bytes = compressor_->sample;
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
      sizes[c] = sizeWith(columns[c].integers, chosen.columns[c].coding);
  }
  // Predictions without a length come first, because the others build on their differences.
  for (const bool withLength : {false, true}) {
    for (const ColumnPrediction& prediction : predictions) {
      const std::size_t c = prediction.column;
      if ((prediction.length != ColumnPrediction::kNone) != withLength ||
          isConstant(std::span<const std::int64_t>(columns[c].integers)))
        continue;
      IntegerCoding coding{};
      residualsOf(columns, rows, prediction, chosen.used, {}, compressor_->residuals);
      const std::size_t size = sizeWith(compressor_->residuals, coding);
      if (size >= sizes[c]) continue;
      chosen.columns[c] = {coding, prediction};
      chosen.used.push_back(prediction);
      sizes[c] = size;
    }
  }
  for (const ColumnPrediction& prediction : chosen.used) {
    if (!mayHavePriors(prediction)) continue;
    // A neighbouring block would begin with the values at the end of these rows.
    const std::vector<Priors> priors{priorsOf(columns, rows, prediction)};
    const std::size_t cost = encodePriors(priors).size();
    residualsOf(columns, rows, prediction, chosen.used, priors, compressor_->residuals);
    const auto sizeOfAll = [&](std::span<const std::int64_t> values) {
      bytes.clear();
      encodeIntegers(values, chosen.columns[prediction.column].coding, bytes);
      return compressor_->compress(bytes);
    };
    const std::size_t with = sizeOfAll(compressor_->residuals);
    residualsOf(columns, rows, prediction, chosen.used, {}, compressor_->residuals);
    const std::size_t without = sizeOfAll(compressor_->residuals);
    if (with < without)
      chosen.columns[prediction.column].priorsPayFrom = std::max<std::size_t>(2, cost / (without - with) + 1);
  }
  return chosen;
}

std::vector<Priors> BlockEncoder::priors(const std::vector<ColumnData>& columns, std::size_t rows,
                                         const BlockCoding& coding, std::size_t blocks) const {
  std::vector<Priors> all;
  for (const BlockCoding::Column& column : coding.columns) {
    if (blocks >= column.priorsPayFrom) all.push_back(priorsOf(columns, rows, *column.prediction));
  }
  return all;
}

std::string BlockEncoder::encodePriors(const std::vector<Priors>& priors) {
  if (priors.empty()) return {};
  std::string raw;
  for (const Priors& one : priors) {
    raw.push_back(static_cast<char>(one.column));
    appendVarint(raw, one.keys.size());
    appendIntegers(one.keys, IntegerCoding::deltaBytes, raw);
    appendIntegers(one.values, IntegerCoding::plainBytes, raw);
  }
  const std::size_t size = compressor_->compress(raw);
  return compressor_->buffer.substr(0, size);
}

base::Result<EncodedBlock> BlockEncoder::encode(const std::vector<ColumnData>& columns, std::size_t rows,
                                                const BlockCoding& coding, std::span<const Priors> priors) {
  PIPESCOPE_CHECK(coding.columns.size() == columns.size(), "a coding of these columns");
  // Each part of a frame costs a few bytes, so a short part stays with its neighbour.
  constexpr std::size_t kLeastPart = 1024;
  const auto compressedSize = [&](std::string_view bytes) { return compressor_->compress(bytes); };
  std::string& raw = compressor_->raw;
  std::vector<std::size_t>& cuts = compressor_->cuts;
  raw.clear(), cuts.clear();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const BlockCoding::Column& choice = coding.columns[c];
    if (columns[c].type != model::ColumnType::integer) {
      encodeColumn(columns[c], compressedSize, raw);
    } else if (choice.prediction) {
      raw.push_back(static_cast<char>(IntegerCoding::predicted));
      for (const std::uint8_t part :
           {choice.prediction->key, choice.prediction->base, choice.prediction->length})
        raw.push_back(static_cast<char>(part));
      std::vector<std::int64_t>& residuals = compressor_->residuals;
      residualsOf(columns, rows, *choice.prediction, coding.used, priors, residuals);
      // Nothing predicts the first row. The number of that row may need many more bytes than all others, so
      // it is stored apart.
      appendVarint(raw, zigZag(residuals.empty() ? 0 : std::exchange(residuals.front(), 0)));
      appendIntegers(residuals, choice.coding, raw);
    } else if (const auto [low, high] = extremesOf(columns[c]); low == high) {
      encodeIntegers(columns[c].integers, IntegerCoding::constant, raw);
    } else {
      appendIntegers(columns[c].integers, choice.coding, raw);
    }
    if (raw.size() >= (cuts.empty() ? 0 : cuts.back()) + kLeastPart) cuts.push_back(raw.size());
  }
  // The payload is stored in an SQL row, which must not be longer than kMostBytes either.
  if (ZSTD_compressBound(raw.size()) + 1024 > static_cast<std::size_t>(kMostBytes)) {
    return base::refused(
        fmt::format("a block of {} bytes, which is more than {} MiB", raw.size(), kMostBytes >> 20));
  }
  EncodedBlock block;
  const std::size_t size = compressor_->compress(raw, cuts);
  block.bytes.assign(compressor_->buffer, 0, size);
  block.rawBytes = static_cast<std::int64_t>(raw.size());
  block.ranges = encodeRanges(columns, rangesOf(columns));
  return block;
}

namespace {

ZSTD_DCtx* decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                                  &ZSTD_freeDCtx);
  PIPESCOPE_CHECK(context != nullptr, "no memory for zstd");
  return context.get();
}

}  // namespace

base::Result<DecodedBlock> decodeBlock(std::string_view payload, std::size_t rows, std::int64_t rawBytes,
                                       const std::vector<model::ColumnType>& types, DecodedPart part,
                                       std::span<const Priors> priors, ColumnDefaults defaults) {
  if (rawBytes < 0 || rawBytes > kMostBytes) return base::badInput("the size that it states is impossible");
  const unsigned long long claimed = ZSTD_getFrameContentSize(payload.data(), payload.size());
  if (claimed != static_cast<unsigned long long>(rawBytes)) {
    return base::badInput("its size is not the one in the directory");
  }
  DecodedBlock block;
  block.capacity = static_cast<std::size_t>(rawBytes) + 1;
  if (spare().capacity >= block.capacity) {
    block.capacity = std::exchange(spare().capacity, 0);
    block.bytes = std::move(spare().bytes);
  } else {
    block.bytes = std::make_unique_for_overwrite<char[]>(block.capacity);
  }
  const std::size_t size = ZSTD_decompressDCtx(
      decompressor(), block.bytes.get(), static_cast<std::size_t>(rawBytes), payload.data(), payload.size());
  if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  if (ZSTD_isError(size))
    return base::badInput(fmt::format("it cannot be decompressed ({})", ZSTD_getErrorName(size)));
  PIPESCOPE_ASSIGN(block.columns,
                   decodeColumns({block.bytes.get(), size}, rows, types, part, priors, defaults));
  return block;
}

base::Result<std::vector<Priors>> decodePriors(std::string_view frame) {
  std::vector<Priors> all;
  if (frame.empty()) return all;
  const auto malformed = [] { return base::badInput("what its rows are predicted from is malformed"); };
  constexpr std::size_t kMostKeys = 4 * kMostRowsPerPayload;  // limit for all columns
  constexpr unsigned long long kMostRawBytes = 20 * kMostKeys;
  const unsigned long long claimed = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (claimed > kMostRawBytes) return malformed();  // also if it is unknown
  const auto size = static_cast<std::size_t>(claimed);
  const auto bytes = std::make_unique_for_overwrite<char[]>(size + 1);
  if (ZSTD_decompressDCtx(decompressor(), bytes.get(), size, frame.data(), frame.size()) != size)
    return malformed();
  ByteReader in({bytes.get(), size});
  std::size_t left = kMostKeys;
  while (in.left() > 0) {
    Priors& priors = all.emplace_back();
    priors.column = in.byte();
    const std::uint64_t keys = in.varint();
    if (keys == 0 || keys > left) return malformed();
    left -= static_cast<std::size_t>(keys);
    ColumnData column;
    for (std::vector<std::int64_t>* numbers : {&priors.keys, &priors.values}) {
      if (!decodeColumn(in, static_cast<std::size_t>(keys), column)) return malformed();
      column.spread(static_cast<std::size_t>(keys));
      *numbers = std::move(column.integers);
    }
    if (std::ranges::adjacent_find(priors.keys, std::greater_equal<>()) != priors.keys.end())
      return malformed();
  }
  return all;
}

void recycle(DecodedBlock block) {
  spare().columns = std::move(block.columns);
  constexpr std::size_t kMostKept = std::size_t{1} << 20;
  if (block.capacity > kMostKept) return;
  spare().bytes = std::move(block.bytes);
  spare().capacity = block.capacity;
}

namespace {

void fillWithDefault(std::size_t rows, std::int64_t value, ColumnData& column) {
  column.constant = column.type == model::ColumnType::integer;
  if (column.constant) column.integers.assign(1, value);
  if (column.type == model::ColumnType::real) column.reals.assign(rows, std::bit_cast<double>(value));
  if (column.type == model::ColumnType::text) column.texts.assign(rows, {});
}

}  // namespace

base::Result<std::vector<ColumnData>> decodeColumns(std::string_view bytes, std::size_t rows,
                                                    const std::vector<model::ColumnType>& types,
                                                    DecodedPart part, std::span<const Priors> priors,
                                                    ColumnDefaults defaults) {
  ByteReader in(bytes);
  std::vector<ColumnData> columns = spareColumns(types.size());
  std::vector<ColumnPrediction> predicted;
  for (std::size_t c = 0; c < types.size(); ++c) {
    const model::ColumnType type = types[c];
    columns[c].type = type;
    if (type != model::ColumnType::integer) columns[c].integers.clear();
    if (c > 0 && in.left() == 0 && !in.failed() && !defaults.empty()) {
      fillWithDefault(rows, defaults[c], columns[c]);
      continue;
    }
    const bool isPredicted =
        type == model::ColumnType::integer && in.peek() == static_cast<int>(IntegerCoding::predicted);
    std::int64_t first = 0;
    if (isPredicted) {
      in.byte();
      ColumnPrediction prediction;
      prediction.column = static_cast<std::uint8_t>(c);
      prediction.key = in.byte();
      prediction.base = in.byte();
      prediction.length = in.byte();
      first = in.signedVarint();
      predicted.push_back(prediction);
    }
    if (!decodeColumn(in, rows, columns[c], part)) return base::badInput("its columns are malformed");
    if (isPredicted && rows > 0) {
      columns[c].spread(rows);
      columns[c].integers.front() = first;
    }
  }
  if (!resolvePredictions(columns, rows, predicted, priors))
    return base::badInput("its columns are malformed");
  if (in.left() != 0 && defaults.empty()) return base::badInput("bytes follow its last column");
  return columns;
}

std::vector<ColumnRange> rangesOf(const std::vector<ColumnData>& columns) {
  std::vector<ColumnRange> ranges;
  for (const ColumnData& column : columns) ranges.push_back(rangeOf(column));
  return ranges;
}

std::string encodeRanges(const std::vector<ColumnData>& columns, const std::vector<ColumnRange>& ranges) {
  std::string out;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const ColumnRange& range = ranges[c];
    out.push_back(static_cast<char>(range.known));
    if (!range.known) continue;
    if (columns[c].type == model::ColumnType::integer) {
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
                  std::vector<ColumnRange>& ranges, bool otherMinor) {
  ByteReader in(bytes);
  ranges.assign(types.size(), {});
  for (std::size_t i = 0; i < types.size(); ++i) {
    ColumnRange& range = ranges[i];
    if (otherMinor && i > 0 && in.left() == 0) break;
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
  return !in.failed() && (in.left() == 0 || otherMinor);
}

}  // namespace pipescope::store
