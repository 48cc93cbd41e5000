#include "profiler/store/blocks/column_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>
#include <utility>

#include "profiler/base/check.h"
#include "profiler/base/wrapping.h"
#include "profiler/store/format.h"

namespace pipescope::store {
namespace {

std::vector<std::int64_t> deltas(std::span<const std::int64_t> values) {
  std::vector<std::int64_t> result;
  result.reserve(values.size());
  for (std::size_t i = 1; i < values.size(); ++i)
    result.push_back(base::wrappedDifference(values[i], values[i - 1]));
  return result;
}

// Appends all first bytes, then all second bytes, and so on. If neighbours differ little, this makes long
// runs of equal bytes.
void appendShuffled(std::string& out, std::span<const std::int64_t> values, std::int64_t base,
                    std::size_t width) {
  const std::size_t start = out.size();
  out.resize(start + values.size() * width);
  for (std::size_t b = 0; b < width; ++b) {
    char* plane = out.data() + start + b * values.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      plane[i] =
          static_cast<char>(static_cast<std::uint64_t>(base::wrappedDifference(values[i], base)) >> (8 * b));
    }
  }
}

std::size_t bytesFor(std::uint64_t largest) {
  return (static_cast<std::size_t>(std::bit_width(largest)) + 7) / 8;
}

void encodeBytes(std::span<const std::int64_t> values, std::string& out) {
  const auto [smallest, largest] = extremesOf(values);
  const std::size_t width = bytesFor(static_cast<std::uint64_t>(base::wrappedDifference(largest, smallest)));
  appendVarint(out, zigZag(smallest));
  out.push_back(static_cast<char>(width));
  appendShuffled(out, values, smallest, width);
}

// Small numbers of either sign become small unsigned numbers, whose high bytes are all zero whatever the
// extremes are.
void encodeZigZagBytes(std::span<const std::int64_t> values, std::string& out) {
  thread_local std::vector<std::int64_t> numbers;
  numbers.resize(values.size());
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t number = zigZag(values[i]);
    all |= number;
    numbers[i] = static_cast<std::int64_t>(number);
  }
  const std::size_t width = bytesFor(all);
  out.push_back(static_cast<char>(width));
  appendShuffled(out, numbers, 0, width);
}

void appendVarints(std::span<const std::int64_t> values, std::string& out) {
  constexpr std::size_t kAtOnce = 64;
  char bytes[kAtOnce * 10];
  for (; !values.empty(); values = values.subspan(std::min(kAtOnce, values.size()))) {
    char* end = bytes;
    for (const std::int64_t value : values.first(std::min(kAtOnce, values.size()))) {
      std::uint64_t number = zigZag(value);
      for (; number >= 0x80; number >>= 7) *end++ = static_cast<char>(number | 0x80);
      *end++ = static_cast<char>(number);
    }
    out.append(bytes, static_cast<std::size_t>(end - bytes));
  }
}

void encodeReals(std::span<const double> values, std::string& out) {
  const bool constant = isConstant(values);
  if (constant) values = values.first(std::min<std::size_t>(1, values.size()));
  std::vector<std::int64_t> bits;
  bits.reserve(values.size());
  for (const double value : values) bits.push_back(std::bit_cast<std::int64_t>(value));
  out.push_back(static_cast<char>(constant ? RealCoding::constant : RealCoding::bytes));
  appendShuffled(out, bits, 0, 8);
}

void encodeLengths(std::span<const std::string_view> texts, const CompressedSize& compressedSize,
                   std::string& out) {
  std::vector<std::int64_t> lengths;
  for (const std::string_view text : texts) lengths.push_back(static_cast<std::int64_t>(text.size()));
  encodeIntegers(lengths, chooseIntegerCoding(lengths, compressedSize), out);
  for (const std::string_view text : texts) out += text;
}

void encodeTexts(std::span<const std::string_view> texts, const CompressedSize& compressedSize,
                 std::string& out) {
  std::unordered_map<std::string_view, std::int64_t> places;
  std::vector<std::string_view> dictionary;
  std::vector<std::int64_t> indices;
  for (const std::string_view text : texts) {
    const auto [place, added] = places.try_emplace(text, static_cast<std::int64_t>(dictionary.size()));
    if (added) dictionary.push_back(text);
    indices.push_back(place->second);
  }
  if (dictionary.size() > texts.size() / 2) {
    out.push_back(static_cast<char>(TextCoding::plain));
    encodeLengths(texts, compressedSize, out);
    return;
  }
  out.push_back(static_cast<char>(TextCoding::dictionary));
  appendVarint(out, dictionary.size());
  encodeLengths(dictionary, compressedSize, out);
  encodeIntegers(indices, chooseIntegerCoding(indices, compressedSize), out);
}

template <std::size_t Width, class ToValue>
void joinPlanes(const char* planes, std::size_t count, ToValue toValue, std::int64_t* values) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t number = 0;
    for (std::size_t b = 0; b < Width; ++b)
      number |= std::uint64_t{static_cast<std::uint8_t>(planes[b * count + i])} << (8 * b);
    values[i] = toValue(number);
  }
}

/// toValue(number) returns the value that is stored as this number.
template <class ToValue>
bool readShuffled(ByteReader& in, std::size_t count, std::size_t width, ToValue toValue, std::int64_t* into) {
  const std::string_view bytes = in.take(std::uint64_t{count} * width);
  if (in.failed()) return false;
  // There is one loop for each width, so that the compiler knows the number of byte planes.
  using Join = void (*)(const char*, std::size_t, ToValue, std::int64_t*);
  static constexpr auto kJoins = []<std::size_t... W>(std::index_sequence<W...>) {
    return std::array<Join, sizeof...(W)>{&joinPlanes<W, ToValue>...};
  }
  (std::make_index_sequence<9>());
  kJoins[width](bytes.data(), count, toValue, into);
  return true;
}

bool decodeBytes(ByteReader& in, std::size_t count, std::int64_t* into) {
  const std::int64_t base = in.signedVarint();
  const std::uint8_t width = in.byte();
  const auto above = [base](std::uint64_t number) {
    return base::wrappedSum(base, static_cast<std::int64_t>(number));
  };
  return width <= 8 && readShuffled(in, count, width, above, into);
}

bool decodeZigZagBytes(ByteReader& in, std::vector<std::int64_t>& values) {
  const std::uint8_t width = in.byte();
  const auto signedOf = [](std::uint64_t number) { return unZigZag(number); };
  return width <= 8 && readShuffled(in, values.size(), width, signedOf, values.data());
}

bool decodeIntegers(ByteReader& in, std::size_t rows, std::vector<std::int64_t>& values, bool& constant) {
  const auto coding = static_cast<IntegerCoding>(in.byte());
  constant = coding == IntegerCoding::constant;
  if (in.failed()) return false;
  values.resize(constant ? 1 : rows);  // memory that was used before is not cleared
  switch (coding) {
    case IntegerCoding::constant:
      values[0] = in.signedVarint();
      break;
    case IntegerCoding::zigZagBytes:
      return decodeZigZagBytes(in, values);
    case IntegerCoding::plainBytes:
      return decodeBytes(in, rows, values.data());
    case IntegerCoding::deltaBytes:
      if (rows == 0) return false;
      values[0] = in.signedVarint();
      if (!decodeBytes(in, rows - 1, values.data() + 1)) return false;
      for (std::size_t i = 1; i < rows; ++i) values[i] = base::wrappedSum(values[i], values[i - 1]);
      break;
    case IntegerCoding::plainVarint:
      if (rows > in.left()) return false;
      in.signedVarints(values.data(), rows);
      break;
    case IntegerCoding::deltaVarint:
      if (rows > in.left()) return false;
      in.signedVarints(values.data(), rows);
      for (std::size_t i = 1; i < rows; ++i) values[i] = base::wrappedSum(values[i], values[i - 1]);
      break;
    default:
      return false;
  }
  return !in.failed();
}

bool decodeReals(ByteReader& in, std::size_t rows, DecodedPart part, std::vector<double>& values) {
  const auto coding = static_cast<RealCoding>(in.byte());
  if (coding != RealCoding::constant && coding != RealCoding::bytes) return false;
  std::vector<std::int64_t> bits;
  const std::size_t stored = coding == RealCoding::constant ? std::min<std::size_t>(1, rows) : rows;
  if (part == DecodedPart::integers) {
    in.take(std::uint64_t{stored} * 8);
    return !in.failed();
  }
  bits.resize(stored);
  const auto same = [](std::uint64_t pattern) { return static_cast<std::int64_t>(pattern); };
  if (!readShuffled(in, stored, 8, same, bits.data())) return false;
  bits.resize(rows, bits.empty() ? 0 : bits[0]);
  values.clear();
  for (const std::int64_t pattern : bits) values.push_back(std::bit_cast<double>(pattern));
  return true;
}

bool decodeLengths(ByteReader& in, std::size_t count, std::vector<std::string_view>& texts) {
  std::vector<std::int64_t> lengths;
  bool constant = false;
  if (!decodeIntegers(in, count, lengths, constant)) return false;
  const IntegerView all(lengths, constant);
  texts.clear();
  for (std::size_t i = 0; i < count; ++i) texts.push_back(in.take(static_cast<std::uint64_t>(all[i])));
  return !in.failed();
}

bool decodeTexts(ByteReader& in, std::size_t rows, std::vector<std::string_view>& texts) {
  const auto coding = static_cast<TextCoding>(in.byte());
  if (coding == TextCoding::plain) return decodeLengths(in, rows, texts);
  if (coding != TextCoding::dictionary) return false;
  const std::uint64_t entries = in.varint();
  std::vector<std::string_view> dictionary;
  std::vector<std::int64_t> indices;
  if (entries > rows || !decodeLengths(in, static_cast<std::size_t>(entries), dictionary)) return false;
  bool constant = false;
  if (!decodeIntegers(in, rows, indices, constant)) return false;
  const IntegerView all(indices, constant);
  texts.clear();
  std::int64_t total = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::int64_t index = all[i];
    if (index < 0 || static_cast<std::uint64_t>(index) >= entries) return false;
    texts.push_back(dictionary[static_cast<std::size_t>(index)]);
    total += static_cast<std::int64_t>(texts.back().size());
    if (total > kMostBytes) return false;  // A few bytes may claim to be a very long column.
  }
  return true;
}

}  // namespace

Extremes extremesOf(std::span<const std::int64_t> values) {
  if (values.empty()) return {};
  // The references of std::min and std::max would keep compilers from using vector instructions.
  std::int64_t smallest = values[0], largest = values[0];
  for (const std::int64_t value : values) {
    smallest = value < smallest ? value : smallest;
    largest = value > largest ? value : largest;
  }
  return {smallest, largest};
}

void encodeIntegers(std::span<const std::int64_t> values, IntegerCoding coding, std::string& out) {
  out.push_back(static_cast<char>(coding));
  switch (coding) {
    case IntegerCoding::constant:
      appendVarint(out, zigZag(values.empty() ? 0 : values[0]));
      break;
    case IntegerCoding::plainBytes:
      encodeBytes(values, out);
      break;
    case IntegerCoding::deltaBytes:
      appendVarint(out, zigZag(values[0]));
      encodeBytes(deltas(values), out);
      break;
    case IntegerCoding::plainVarint:
      appendVarints(values, out);
      break;
    case IntegerCoding::deltaVarint:
      for (std::size_t i = 0; i < values.size(); ++i) {
        appendVarint(out, zigZag(base::wrappedDifference(values[i], i == 0 ? 0 : values[i - 1])));
      }
      break;
    case IntegerCoding::zigZagBytes:
      encodeZigZagBytes(values, out);
      break;
    case IntegerCoding::predicted:
      PIPESCOPE_CHECK(false, "differences are coded by the block");
  }
}

IntegerCoding chooseIntegerCoding(std::span<const std::int64_t> values,
                                  const CompressedSize& compressedSize) {
  const bool constant =
      std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
  if (constant) return IntegerCoding::constant;
  constexpr std::size_t kSample = 2048;
  if (values.size() > 2 * kSample) values = values.subspan(values.size() / 2, kSample);
  constexpr std::array kCandidates = {IntegerCoding::plainBytes, IntegerCoding::zigZagBytes,
                                      IntegerCoding::deltaBytes, IntegerCoding::plainVarint,
                                      IntegerCoding::deltaVarint};
  IntegerCoding best = kCandidates[0];
  std::size_t smallest = 0;
  std::string buffer;
  for (const IntegerCoding candidate : kCandidates) {
    buffer.clear();
    encodeIntegers(values, candidate, buffer);
    const std::size_t size = compressedSize(buffer);
    // Varints take several times as long in both directions, so they must save enough bytes.
    const bool varint = candidate == IntegerCoding::plainVarint || candidate == IntegerCoding::deltaVarint;
    if (smallest == 0 || size < (varint ? smallest - smallest / 16 : smallest))
      best = candidate, smallest = size;
  }
  return best;
}

void encodeColumn(const ColumnData& column, const CompressedSize& compressedSize, std::string& out) {
  switch (column.type) {
    case model::ColumnType::integer:
      encodeIntegers(column.integers, chooseIntegerCoding(column.integers, compressedSize), out);
      break;
    case model::ColumnType::real:
      encodeReals(column.reals, out);
      break;
    case model::ColumnType::text:
      encodeTexts(column.texts, compressedSize, out);
      break;
  }
}

bool decodeColumn(ByteReader& in, std::size_t rows, ColumnData& column, DecodedPart part) {
  switch (column.type) {
    case model::ColumnType::integer:
      return decodeIntegers(in, rows, column.integers, column.constant);
    case model::ColumnType::real:
      return decodeReals(in, rows, part, column.reals);
    case model::ColumnType::text:
      return decodeTexts(in, rows, column.texts);
  }
  return false;
}

}  // namespace pipescope::store
