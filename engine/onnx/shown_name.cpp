#include <algorithm>

#include "engine/onnx/graph_reader.h"

namespace pipescope::onnx {
namespace {

/// Length of the well-formed UTF-8 sequence at `at`, or 0 if there is none.
std::size_t sequenceAt(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  const unsigned char first = byte(at);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(at + 1) < 0xA0) || (first == 0xF0 && byte(at + 1) < 0x90);
  const bool outside = (first == 0xED && byte(at + 1) >= 0xA0) || (first == 0xF4 && byte(at + 1) >= 0x90);
  return overlong || outside ? 0 : length;
}

}  // namespace

std::string shownName(const std::string& name) {
  constexpr std::size_t kMost = 400;
  std::string shown;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t length = sequenceAt(name, at);
    if (shown.size() + length > kMost) return shown + "…";
    shown += length == 0 ? "_" : name.substr(at, length);
    at += std::max<std::size_t>(1, length);
  }
  return shown;
}

}  // namespace pipescope::onnx
