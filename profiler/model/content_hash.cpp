#include "profiler/model/content_hash.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

namespace pipescope::model {
namespace {

/// Two independent 64-bit hashes of a sequence of values.
class Hash {
 public:
  void add(std::uint64_t value) {
    first_ = mix(first_ ^ value, 0x9E3779B97F4A7C15ULL);
    second_ = mix(second_ + value, 0xD6E8FEB86659FD93ULL);
  }
  void add(std::string_view text) {
    add(text.size());
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      word = word << 8 | static_cast<std::uint8_t>(text[i]);
      if (i % 8 == 7) add(word), word = 0;
    }
    add(word);
  }
  void addReal(double value) {
    if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
    if (value == 0) value = 0;  // turns −0 into 0, because SQLite does not store −0
    add(std::bit_cast<std::uint64_t>(value));
  }
  std::string text() const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string digits;
    for (const std::uint64_t half : {first_, second_}) {
      for (int shift = 60; shift >= 0; shift -= 4) digits += kDigits[half >> shift & 15];
    }
    return digits;
  }

 private:
  static std::uint64_t mix(std::uint64_t x, std::uint64_t factor) {
    x *= factor;
    return x ^ x >> 29;
  }
  std::uint64_t first_ = 1, second_ = 2;
};

template <class Row>
bool counts(const Row&) {
  return true;
}
template <>
bool counts(const Property& row) {
  return row.key != "created_utc" && row.key != "command_line" && row.key != "run_folder" &&
         !row.key.starts_with("recorder_");
}
template <>
bool counts(const Outcome& row) {
  return !row.name.starts_with("host_");
}

template <class Row>
void addRow(Hash& hash, const Row& row) {
  Row::fields(row, [&](const char* name, const auto& field, const char*, const char*) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if (std::string_view(name).starts_with("wall_")) return;
    if constexpr (std::is_same_v<Field, std::string>) {
      hash.add(std::string_view(field));
    } else if constexpr (std::is_same_v<Field, double>) {
      hash.addReal(field);
    } else {
      hash.add(static_cast<std::uint64_t>(toInteger(field)));
    }
  });
}

template <class Row>
base::Status addTable(const ProfileSource& source, base::Progress& progress, Hash& hash) {
  PIPESCOPE_ASSIGN(const std::vector<BlockInfo> blocks, source.blocks<Row>());
  hash.add(std::string_view(Row::kTable));
  std::uint64_t rowsCounted = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (progress.cancelled()) return base::cancelled("Reading the profile was stopped.");
    PIPESCOPE_ASSIGN(const Rows<Row> rows, source.block<Row>(b));
    for (const Row& row : *rows) {
      if (!counts(row)) continue;
      addRow(hash, row);
      ++rowsCounted;
    }
  }
  hash.add(rowsCounted);
  return {};
}

}  // namespace

base::Result<std::string> contentHash(const ProfileSource& source, base::Progress& progress) {
  Hash hash;
  base::Status status;
  forEachRowType([&]<class Row>() {
    if constexpr (!std::is_same_v<Row, LevelNode> && !std::is_same_v<Row, Note> && !kIsOfHost<Row>) {
      if (status.ok()) status = addTable<Row>(source, progress, hash);
    }
  });
  PIPESCOPE_TRY(status);
  return hash.text();
}

}  // namespace pipescope::model
