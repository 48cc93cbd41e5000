#pragma once
// The parts of the reader of layer profiles that both formats share.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/plan/layer_profiles/layer_profile.h"

namespace pipescope::plan {

/// An edge as it was read: ids of a layer and of one that reads it.
struct NamedEdge {
  std::string from, to;
  int line = 0;
};

/// Content of a file, before it was checked as a whole.
struct ReadLayers {
  std::vector<Layer> layers;
  std::vector<int> lines;  ///< line of each layer
  std::vector<NamedEdge> edges;
};

/// "FILE, line N: ".
std::string at(const std::string& file, int line);
/// The text without white space at its ends.
std::string_view trimmed(std::string_view text);
/// A finite number of at least 0. `what` names it in errors.
base::Result<double> readCost(std::string_view text, std::string_view what, const std::string& file,
                              int line);
/// A number, or the sum of a list "[1.0; 2.0]".
base::Result<double> readSizes(std::string_view text, std::string_view what, const std::string& file,
                               int line);

/// Parsers of the two formats: PipeDream's text and comma-separated values. Errors name the file and the
/// line.
base::Result<ReadLayers> parsePipeDream(std::string_view text, const std::string& file);
base::Result<ReadLayers> parseLayerCsv(std::string_view text, const std::string& file);
/// True if the first line that is not empty is a line of headings instead of a layer of PipeDream's.
bool looksLikeLayerCsv(std::string_view text);

/// Calls `line(text, number)` for each line; stops at the first error.
template <class Line>
base::Status forEachLine(std::string_view text, const Line& line) {
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view one = text.substr(0, end);
    if (one.ends_with('\r')) one.remove_suffix(1);
    PIPESCOPE_TRY(line(one, ++number));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace pipescope::plan
