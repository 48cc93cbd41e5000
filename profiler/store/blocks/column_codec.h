#pragma once
// Turns one column of a block into bytes, before the block is compressed. README.md describes the layouts.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/model/columns.h"
#include "profiler/store/blocks/byte_stream.h"

namespace pipescope::store {

struct Extremes {
  std::int64_t smallest = 0, largest = 0;  ///< 0 if there are no values
};
/// The smallest and the largest of the values.
Extremes extremesOf(std::span<const std::int64_t> values);

/// One column of some rows. Only the vector of its type is filled. Texts point into memory of others.
struct ColumnData {
  model::ColumnType type = model::ColumnType::integer;
  std::vector<std::int64_t> integers;
  bool constant = false;             ///< all rows have the value integers[0], and it is the only element
  std::optional<Extremes> extremes;  ///< extremes of the integers, if they are known already
  std::vector<double> reals;
  std::vector<std::string_view> texts;

  /// Gives every row of a constant column an element of its own.
  void spread(std::size_t rows) {
    if (constant) integers.resize(rows, integers.front());
    constant = false;
  }
};

/// Part of a decoded column that the caller needs. With `integers`, columns of reals may stay empty.
enum class DecodedPart : std::uint8_t { all, integers };

/// True if all values have the same bits.
template <class Number>
bool isConstant(std::span<const Number> values) {
  return values.size() < 2 ||
         std::memcmp(values.data(), values.data() + 1, (values.size() - 1) * sizeof(Number)) == 0;
}

/// The values of an integer column, row by row.
class IntegerView {
 public:
  explicit IntegerView(const ColumnData& column) : IntegerView(column.integers, column.constant) {}
  explicit IntegerView(const std::vector<std::int64_t>& values, bool constant = false)
      : data_(values.data()), step_(constant ? 0 : 1) {}
  std::int64_t operator[](std::size_t row) const { return data_[row * step_]; }
  bool constant() const { return step_ == 0; }

 private:
  const std::int64_t* data_;
  std::size_t step_;
};

inline Extremes extremesOf(const ColumnData& column) {
  return column.extremes ? *column.extremes : extremesOf(column.integers);
}

/// Coding of an integer column. The numbers are stored in files.
enum class IntegerCoding : std::uint8_t {
  constant = 0,     ///< all values are equal
  plainBytes = 1,   ///< value − smallest, in as few bytes as the largest one needs, byte-shuffled
  deltaBytes = 2,   ///< the same for the differences of neighbours
  plainVarint = 3,  ///< zig-zag varints
  deltaVarint = 4,  ///< zig-zag varints of the differences of neighbours
  /// Differences from values predicted by other columns (column_prediction.h), coded in one of the other
  /// ways.
  predicted = 5,
  zigZagBytes = 6,  ///< zig-zag numbers, in as few bytes as the largest one needs, byte-shuffled
};
enum class RealCoding : std::uint8_t { constant = 0, bytes = 1 };
enum class TextCoding : std::uint8_t { plain = 0, dictionary = 1 };

/// Returns the length of bytes after compression. It is used to choose between codings.
using CompressedSize = std::function<std::size_t(std::string_view)>;

/// Appends the values in this coding to `out`.
void encodeIntegers(std::span<const std::int64_t> values, IntegerCoding coding, std::string& out);
/// Returns the coding with which a sample of the values compresses best.
IntegerCoding chooseIntegerCoding(std::span<const std::int64_t> values, const CompressedSize& compressedSize);

/// Appends the column to `out`, in the coding that compresses best.
void encodeColumn(const ColumnData& column, const CompressedSize& compressedSize, std::string& out);

/// Reads `rows` values of a column. Texts point into the bytes of the reader. Returns false if the bytes are
/// not such a column.
bool decodeColumn(ByteReader& in, std::size_t rows, ColumnData& column, DecodedPart part = DecodedPart::all);

}  // namespace pipescope::store
