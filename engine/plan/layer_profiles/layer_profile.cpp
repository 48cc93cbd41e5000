#include "engine/plan/layer_profiles/layer_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/plan/layer_profiles/layer_parser.h"
#include "profiler/base/files/text_file.h"

namespace pipescope::plan {
namespace {

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes the digits that the text begins with, without leading zeros.
std::string_view takeNumber(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && isDigit(text[end])) ++end;
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

/// Checks the ids and edges of a file, and arranges its layers.
class LayerGraph {
 public:
  LayerGraph(ReadLayers read, const std::string& file) : read_(std::move(read)), file_(file) {}

  base::Result<LayerProfile> arrange() {
    if (read_.layers.empty())
      return base::badInput(file_ + " has no layers: it needs a line for each layer.");
    PIPESCOPE_TRY(findIds());
    PIPESCOPE_TRY(addEdges());
    return inOrder();
  }

 private:
  base::Status findIds() {
    for (std::size_t i = 0; i < read_.layers.size(); ++i) {
      const auto [known, isNew] = number_.try_emplace(read_.layers[i].id, i);
      if (isNew) continue;
      return base::badInput(fmt::format("{}the id {} already stands in line {}: give each layer its own.",
                                        at(file_, read_.lines[i]), read_.layers[i].id,
                                        read_.lines[known->second]));
    }
    return {};
  }

  base::Status addEdges() {
    readers_.resize(read_.layers.size());
    for (const NamedEdge& edge : read_.edges) {
      const auto from = number_.find(edge.from), to = number_.find(edge.to);
      if (from == number_.end() || to == number_.end()) {
        return base::badInput(fmt::format(
            "{}the edge from {} to {} names a layer that the file does not have: {}.", at(file_, edge.line),
            edge.from, edge.to, from == number_.end() ? edge.from : edge.to));
      }
      readers_[from->second].insert(to->second);
    }
    return {};
  }

  /// Kahn's algorithm. The layers that could come next are kept sorted by their ids.
  base::Result<LayerProfile> inOrder() {
    std::vector<std::size_t> open(read_.layers.size(), 0), place(read_.layers.size(), 0);
    for (const std::set<std::size_t>& readers : readers_) {
      for (const std::size_t reader : readers) ++open[reader];
    }
    const auto before = [&](std::size_t a, std::size_t b) {
      return idBefore(read_.layers[a].id, read_.layers[b].id);
    };
    std::set<std::size_t, decltype(before)> next(before);
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i] == 0) next.insert(i);
    }
    LayerProfile profile;
    while (!next.empty()) {
      const std::size_t layer = *next.begin();
      next.erase(next.begin());
      place[layer] = profile.layers.size();
      profile.layers.push_back(read_.layers[layer]);
      for (const std::size_t reader : readers_[layer]) {
        if (--open[reader] == 0) next.insert(reader);
      }
    }
    if (profile.layers.size() < read_.layers.size()) return cycle(open);
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      for (const std::size_t reader : readers_[i]) profile.layers[place[reader]].inputs.push_back(place[i]);
    }
    for (Layer& layer : profile.layers) std::ranges::sort(layer.inputs);
    return profile;
  }

  /// Walks back from a layer that never becomes ready until a layer comes again.
  base::Error cycle(const std::vector<std::size_t>& open) const {
    std::vector<std::size_t> way;
    const auto stuck = std::ranges::find_if(open, [](std::size_t n) { return n > 0; });
    std::size_t at = static_cast<std::size_t>(stuck - open.begin());
    while (std::ranges::find(way, at) == way.end()) {
      way.push_back(at);
      for (std::size_t i = 0; i < readers_.size(); ++i) {
        if (open[i] > 0 && readers_[i].contains(way.back())) at = i;
      }
    }
    std::string names = read_.layers[at].id;
    constexpr std::size_t kMost = 8;
    const auto first = static_cast<std::size_t>(std::ranges::find(way, at) - way.begin());
    for (std::size_t i = way.size(); i-- > first;) {
      const bool shown = way.size() - i <= kMost || i == first;
      if (shown)
        names += " to " + read_.layers[way[i]].id;
      else if (way.size() - i == kMost + 1)
        names += " to …";
    }
    return base::badInput(
        fmt::format("{} has a cycle, from {}: a layer cannot depend on its own output.", file_, names));
  }

  ReadLayers read_;
  const std::string& file_;
  std::map<std::string, std::size_t> number_;
  std::vector<std::set<std::size_t>> readers_;  ///< readers of each layer
};

}  // namespace

bool idBefore(std::string_view a, std::string_view b) {
  const std::string_view wholeA = a, wholeB = b;
  while (!a.empty() && !b.empty()) {
    if (isDigit(a.front()) && isDigit(b.front())) {
      const std::string_view x = takeNumber(a), y = takeNumber(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return wholeA < wholeB;  // they differ in leading zeros only
}

base::Result<LayerProfile> parseLayerProfile(std::string_view text, const std::string& file) {
  if (trimmed(text).empty() || text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return base::badInput(file + " is empty: it needs a line for each layer.");
  if (text.find('\0') != std::string_view::npos)
    return base::badInput(file + " is not a text file, but a layer profile is one.");
  PIPESCOPE_ASSIGN(ReadLayers read,
                   looksLikeLayerCsv(text) ? parseLayerCsv(text, file) : parsePipeDream(text, file));
  return LayerGraph(std::move(read), file).arrange();
}

base::Result<LayerProfile> readLayerProfile(const std::string& file) {
  constexpr std::size_t kMost = std::size_t{256} << 20;  // a million layers
  PIPESCOPE_ASSIGN(const std::string text, base::readTextFile(file, "layer profile", kMost));
  return parseLayerProfile(text, file);
}

std::vector<double> crossingBytes(const LayerProfile& profile) {
  const std::size_t count = profile.layers.size();
  std::vector<std::size_t> last(count, 0);  // last reader of each layer
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t input : profile.layers[i].inputs) last[input] = i;
  }
  std::vector<double> bytes(count + 1, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t cut = i + 1; cut <= last[i]; ++cut) bytes[cut] += profile.layers[i].activationBytes;
  }
  return bytes;
}

}  // namespace pipescope::plan
