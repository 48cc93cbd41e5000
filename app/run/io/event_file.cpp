#include "app/run/io/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>

namespace pipescope::app {
namespace {
namespace fs = std::filesystem;

/// Appends the bytes of a number, the least significant first.
template <class T>
void appendLittleEndian(std::string& bytes, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    bytes += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

/// A varint of protocol buffers: seven bits in each byte, the least significant first.
void appendVarint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>(0x80U | (value & 0x7FU));
  bytes += static_cast<char>(value);
}

/// A field that holds text, bytes or a message (wire type 2).
void appendText(std::string& bytes, unsigned field, std::string_view text) {
  appendVarint(bytes, field << 3U | 2U);
  appendVarint(bytes, text.size());
  bytes += text;
}

std::uint64_t bitsOf(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

std::uint32_t bitsOf(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

double wallSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// A checksum of data that itself holds checksums would be weak, so TFRecords hold this instead.
std::uint32_t maskedChecksum(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    constexpr std::uint32_t kPolynomial = 0x82F63B78U;  // Castagnoli's, bits reversed
    std::array<std::uint32_t, 256> values{};
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) != 0 ? kPolynomial : 0U);
      values[i] = value;
    }
    return values;
  }();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFFU] ^ (crc >> 8U);
  return ~crc;
}

std::string tfRecord(std::string_view data) {
  std::string record;
  appendLittleEndian(record, static_cast<std::uint64_t>(data.size()));
  appendLittleEndian(record, maskedChecksum(record));
  record += data;
  appendLittleEndian(record, maskedChecksum(data));
  return record;
}

std::string eventMessage(double wallTime, std::int64_t step, const std::vector<EventFile::Scalar>& scalars) {
  constexpr unsigned kFixed64 = 1, kFixed32 = 5;
  std::string event;
  appendVarint(event, 1U << 3U | kFixed64);  // Event.wall_time
  appendLittleEndian(event, bitsOf(wallTime));
  if (scalars.empty()) {
    appendText(event, 3, "brain.Event:2");  // Event.file_version
    return event;
  }
  appendVarint(event, 2U << 3U);  // Event.step
  appendVarint(event, static_cast<std::uint64_t>(step));
  std::string summary;
  for (const EventFile::Scalar& scalar : scalars) {
    std::string value;
    appendText(value, 1, scalar.tag);          // Summary.Value.tag
    appendVarint(value, 2U << 3U | kFixed32);  // Summary.Value.simple_value
    appendLittleEndian(value, bitsOf(scalar.value));
    appendText(summary, 1, value);  // Summary.value
  }
  appendText(event, 5, summary);  // Event.summary
  return event;
}

base::Result<EventFile> EventFile::create(const std::string& folder) {
  std::error_code failed;
  fs::path whole = fs::absolute(folder, failed).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // "runs/" means "runs"
  const fs::path above = whole.parent_path();
  if (fs::exists(folder, failed) && !fs::is_directory(folder, failed)) {
    return base::badInput(fmt::format(
        "{} exists and is not a folder; TensorBoard reads a folder of event files: choose another name.",
        folder));
  }
  if (!fs::is_directory(folder, failed) && !fs::is_directory(above, failed)) {
    return base::ioError(
        fmt::format("{} cannot be made: {} is not a folder. Make it first, or choose another path.", folder,
                    above.string()));
  }
  EventFile file;
  file.folder_ = folder;
  return file;
}

base::Status EventFile::open() {
  std::error_code failed;
  fs::create_directory(folder_, failed);
  if (failed && !fs::is_directory(folder_))
    return base::ioError(fmt::format("Cannot make the folder {}: {}.", folder_, failed.message()));
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  // TensorBoard recognises the files by "tfevents" and orders them by the time in their names.
  fs::path path;
  for (int number = 0; path.empty() || fs::exists(path, failed); ++number)
    path = fs::path(folder_) / fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                                           static_cast<std::int64_t>(wallSeconds()), host, getpid(), number);
  PIPESCOPE_ASSIGN(file_, base::OutputFile::create(path, base::FileKind::eventFile, {}));
  PIPESCOPE_TRY(file_->write(tfRecord(eventMessage(wallSeconds(), 0, {}))));
  return file_->publish();
}

base::Status EventFile::add(std::int64_t step, const std::vector<Scalar>& scalars) {
  if (scalars.empty()) return {};
  if (!file_) PIPESCOPE_TRY(open());
  PIPESCOPE_TRY(file_->write(tfRecord(eventMessage(wallSeconds(), step, scalars))));
  return file_->flush();
}

}  // namespace pipescope::app
