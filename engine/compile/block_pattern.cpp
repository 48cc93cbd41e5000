#include "engine/compile/block_pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace pipescope::compile {
namespace {

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes a number off the front of the text. False if there is none.
bool takeNumber(std::string_view& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// Takes a range such as "0..5" off the front of the pattern, if there is one.
bool takeRange(std::string_view& pattern, std::uint64_t& first, std::uint64_t& last) {
  std::string_view rest = pattern;
  if (!takeNumber(rest, first) || !rest.starts_with("..")) return false;
  rest.remove_prefix(2);
  if (!takeNumber(rest, last)) return false;
  pattern = rest;
  return true;
}

bool matches(std::string_view pattern, std::string_view block) {
  while (!pattern.empty()) {
    if (pattern.front() == '*') {
      pattern.remove_prefix(1);
      for (std::size_t skip = 0; skip <= block.size(); ++skip) {
        if (matches(pattern, block.substr(skip))) return true;
      }
      return false;
    }
    std::uint64_t first = 0, last = 0, number = 0;
    if (isDigit(pattern.front()) && takeRange(pattern, first, last)) {
      if (!takeNumber(block, number) || number < first || number > last) return false;
      continue;
    }
    if (block.empty() || block.front() != pattern.front()) return false;
    pattern.remove_prefix(1);
    block.remove_prefix(1);
  }
  return block.empty() || block.front() == '/';
}

}  // namespace

bool namesBlock(std::string_view pattern, std::string_view block) {
  return pattern == block || (!pattern.empty() && matches(pattern, block));
}

std::vector<std::string> blocksNamed(std::string_view pattern, const std::vector<std::string>& blocks) {
  if (const auto same = std::ranges::find(blocks, pattern); same != blocks.end()) return {*same};
  std::vector<std::string> named;
  std::ranges::copy_if(blocks, std::back_inserter(named),
                       [&](const std::string& block) { return namesBlock(pattern, block); });
  return named;
}

base::Result<std::vector<std::vector<std::string>>> blocksByLayers(const std::vector<std::string>& blocks,
                                                                   const std::vector<std::int64_t>& layers) {
  const auto isLayer = [](const std::string& block) { return !block.empty() && isDigit(block.back()); };
  const std::int64_t there = std::ranges::count_if(blocks, isLayer);
  const std::int64_t asked = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  if (std::ranges::any_of(layers, [](std::int64_t count) { return count < 1; }) || asked != there) {
    return base::badInput(
        fmt::format("execution.layers_per_stage is [{}], {} layers in all, but the model has {}: give every "
                    "stage at least one, and all of them a stage.",
                    fmt::join(layers, ", "), asked, there));
  }
  std::vector<std::vector<std::string>> stages(layers.size());
  std::size_t stage = 0;
  std::int64_t left = layers.empty() ? 0 : layers.front();
  for (const std::string& block : blocks) {
    if (isLayer(block) && left-- == 0) left = layers[++stage] - 1;
    stages[stage].push_back(block);
  }
  return stages;
}

}  // namespace pipescope::compile
