#include "profiler/geometry/shapes.h"

#include <algorithm>

namespace pipescope::geometry {
namespace {

constexpr const char* kEllipsis = "…";
/// Texts shorter than this before the ellipsis are left out, because they tell nothing.
constexpr std::size_t kFewest = 3;

/// The last place at or before `bytes` where a UTF-8 text can be cut.
std::size_t cutAt(const std::string& text, std::size_t bytes) {
  while (bytes > 0 && bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U)
    --bytes;
  return std::min(bytes, text.size());
}

}  // namespace

std::string fitText(const std::string& text, int width, const TextMeasure& measure) {
  if (text.empty() || width <= 0) return {};
  const double characters = static_cast<double>(width) / std::max(1.0, measure.averageCharacter);
  if (static_cast<double>(text.size()) < 3 * characters && measure.width(text) <= width) return text;
  const int room = width - measure.width(kEllipsis);
  std::size_t bytes = std::min(text.size(), static_cast<std::size_t>(std::max(0.0, characters * 1.5)));
  while (bytes >= kFewest) {
    bytes = cutAt(text, bytes);
    const std::string start = text.substr(0, bytes);
    const int wide = measure.width(start);
    if (wide <= room) return bytes >= kFewest ? start + kEllipsis : std::string();
    const auto over = static_cast<std::size_t>(static_cast<double>(wide - room) /
                                               std::max(1.0, measure.averageCharacter) / 2);
    bytes -= std::min(bytes, std::max<std::size_t>(1, over));
  }
  return {};
}

std::string fitPath(const std::string& path, int width, const TextMeasure& measure) {
  if (width <= 0) return {};
  const double most = 3.0 * static_cast<double>(width) / std::max(1.0, measure.averageCharacter);
  if (static_cast<double>(path.size()) < most && measure.width(path) <= width) return path;
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string rest = kEllipsis + path.substr(slash);
    if (static_cast<double>(rest.size()) < most && measure.width(rest) <= width) return rest;
  }
  const std::size_t last = path.rfind('/');
  return fitText(last == std::string::npos ? path : path.substr(last + 1), width, measure);
}

std::string fitLastWords(const std::string& words, int width, const TextMeasure& measure) {
  if (width <= 0) return {};
  for (std::size_t from = 0; from != std::string::npos;) {
    const std::string rest = words.substr(from);
    const std::size_t space = words.find(' ', from);
    // A number belongs to the word before it, so only the last one may stand without.
    const bool begins = from == 0 || space == std::string::npos || rest[0] < '0' || rest[0] > '9';
    if (begins && measure.width(rest) <= width) return rest;
    from = space == std::string::npos ? space : space + 1;
  }
  return fitText(words, width, measure);
}

}  // namespace pipescope::geometry
