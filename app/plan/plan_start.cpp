#include "app/plan/plan_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>

namespace pipescope::app {
namespace {

using base::badInput;
using Stages = std::vector<compile::StageRequest>;

constexpr std::size_t kMostLetters = 100'000;

base::Error startFault(const std::string& text, const std::string& why) {
  return badInput(fmt::format(
      "--start \"{}\": {}. Give a pipeline layout of Megatron's (\"Ett|tt|ttL\") or parts of DeepSpeed's "
      "(\"[0, 3, 8]\").",
      text, why));
}

/// A start without the words around it.
struct StartText {
  std::string plan;
  std::optional<std::string> devices;  ///< value of --pipeline-model-parallel-size
};

/// The lines of a text as one, without comments. Megatron's options may be spelt with underscores, as its
/// Python code spells them.
std::string withoutComments(const std::string& text) {
  std::string all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] == '#') continue;
    all += (all.empty() ? "" : " ") + line.substr(first);
  }
  std::ranges::replace(all, '_', '-');
  return all;
}

/// Text between the name of an option and the next option; nullopt if the option is missing.
std::optional<std::string> valueAfter(const std::string& text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string::npos) return std::nullopt;
  const std::string rest = text.substr(at + name.size());
  return rest.substr(0, rest.find(" --"));
}

/// Takes away what encloses a value on a command line or in a program: pipeline_layout="Et|tL",
std::string bare(const std::string& value) {
  constexpr const char* kAround = " \t\r=:,;\"'\\";
  const std::size_t first = value.find_first_not_of(kAround), last = value.find_last_not_of(kAround);
  return first == std::string::npos ? "" : value.substr(first, last - first + 1);
}

StartText startText(const std::string& text) {
  const std::string all = withoutComments(text);
  StartText start;
  if (const auto size = valueAfter(all, "pipeline-model-parallel-size")) start.devices = bare(*size);
  if (const auto layout = valueAfter(all, "pipeline-model-parallel-layout")) {
    start.plan = bare(*layout);
  } else {
    const std::string parts = valueAfter(all, "parts").value_or(all);
    const std::size_t end = parts.find(']');  // further lines of a program may follow
    start.plan = bare(end == std::string::npos ? parts : parts.substr(0, end + 1));
  }
  return start;
}

/// Writes out the repetitions of a layout: "t*2|(tt|)*2" becomes "tt|tt|tt|".
class LayoutReader {
 public:
  explicit LayoutReader(const std::string& text) : text_(text) {}

  base::Result<std::string> read() {
    PIPESCOPE_ASSIGN(std::string letters, sequence(0));
    if (at_ < text_.size()) return startFault(text_, "a bracket is closed that was not opened");
    return letters;
  }

 private:
  /// Reads as far as the end, or the end of the group.
  base::Result<std::string> sequence(int depth) {
    std::string letters;
    while (at_ < text_.size() && text_[at_] != ')') {
      const char letter = text_[at_++];
      if (letter == ',' || letter == ' ') continue;
      std::string part(1, letter);
      if (letter == '(') {
        if (depth > 8) return startFault(text_, "groups are nested too deeply");
        PIPESCOPE_ASSIGN(part, sequence(depth + 1));
        if (at_ == text_.size()) return startFault(text_, "a bracket is not closed");
        ++at_;
      } else if (letter == 'm') {
        return startFault(text_, "m stands for multi-token prediction, which the model does not have");
      } else if (std::string_view("EtL|").find(letter) == std::string_view::npos) {
        return startFault(text_, fmt::format("'{}' is no part of a layout", letter));
      }
      PIPESCOPE_ASSIGN(const std::size_t times, repetition());
      if (letters.size() + part.size() * times > kMostLetters)
        return startFault(text_, fmt::format("it has more than {} parts", kMostLetters));
      for (std::size_t i = 0; i < times; ++i) letters += part;
    }
    return letters;
  }

  base::Result<std::size_t> repetition() {
    if (at_ == text_.size() || text_[at_] != '*') return std::size_t{1};
    std::size_t times = 0;
    const char* first = text_.data() + at_ + 1;
    const auto [end, failed] = std::from_chars(first, text_.data() + text_.size(), times);
    if (failed != std::errc() || times < 1 || times > kMostLetters)
      return startFault(text_, "a number of repetitions must follow each *");
    at_ = static_cast<std::size_t>(end - text_.data());
    return times;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

bool endsInNumber(const std::string& name) {
  return !name.empty() && name.back() >= '0' && name.back() <= '9';
}

/// Range [first, end) of the numbered blocks.
std::pair<std::size_t, std::size_t> numberedBlocks(const std::vector<std::string>& blocks) {
  const auto first = std::ranges::find_if(blocks, endsInNumber);
  const auto last = std::find_if(blocks.rbegin(), blocks.rend(), endsInNumber).base();
  return {static_cast<std::size_t>(first - blocks.begin()), static_cast<std::size_t>(last - blocks.begin())};
}

base::Result<Stages> fromMegatron(const std::string& text, const std::vector<std::string>& blocks) {
  PIPESCOPE_ASSIGN(const std::string letters, LayoutReader(text).read());
  const auto [first, last] = numberedBlocks(blocks);
  const auto layers = static_cast<std::size_t>(std::ranges::count(letters, 't'));
  if (first >= last || layers != last - first) {
    return startFault(text, fmt::format("it has {} layers, but the model has {} blocks with a number", layers,
                                        first < last ? last - first : 0));
  }
  Stages stages(1);
  std::size_t next = 0;
  const auto take = [&](std::size_t end) {
    for (; next < end; ++next) stages.back().blocks.push_back(blocks[next]);
  };
  for (const char letter : letters) {
    if (letter == '|') {
      stages.emplace_back();
    } else if (letter == 'E' ? next != 0 : letter == 't' ? next < first : next != last) {
      return startFault(text, fmt::format("'{}' stands where the model has other blocks", letter));
    } else {
      take(letter == 'E' ? first : letter == 't' ? next + 1 : blocks.size());
    }
  }
  if (next < blocks.size()) return startFault(text, "the L for what follows the layers is missing");
  return stages;
}

base::Result<Stages> fromDeepSpeed(const std::string& text, const std::vector<std::string>& blocks) {
  std::vector<std::size_t> parts;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    std::size_t part = 0;
    const auto read = std::from_chars(at, end, part);
    if (read.ec == std::errc()) {
      parts.push_back(part);
      at = read.ptr;
    } else if (std::string_view("[], ").find(*at) != std::string_view::npos) {
      ++at;
    } else {
      return startFault(text, "it is no list of numbers");
    }
  }
  const bool ascends = std::ranges::adjacent_find(parts, std::greater_equal<>()) == parts.end();
  if (parts.size() < 2 || parts.front() != 0 || parts.back() != blocks.size() || !ascends) {
    return startFault(text,
                      fmt::format("the numbers must ascend from 0 to {}, the number of blocks of the model",
                                  blocks.size()));
  }
  Stages stages;
  for (std::size_t s = 0; s + 1 < parts.size(); ++s) {
    stages.emplace_back();
    for (std::size_t b = parts[s]; b < parts[s + 1]; ++b) stages.back().blocks.push_back(blocks[b]);
  }
  return stages;
}

}  // namespace

base::Result<StartPlan> readStartPlan(const std::string& text, const std::vector<std::string>& blocks) {
  const StartText start = startText(text);
  if (start.plan.empty()) return startFault(text, "it is empty");
  const bool numbers = start.plan[0] == '[' || (start.plan[0] >= '0' && start.plan[0] <= '9');
  StartPlan plan;
  PIPESCOPE_ASSIGN(plan.stages,
                   numbers ? fromDeepSpeed(start.plan, blocks) : fromMegatron(start.plan, blocks));
  if (std::ranges::any_of(plan.stages, [](const auto& stage) { return stage.blocks.empty(); }))
    return startFault(start.plan, "a stage has no block");
  if (!start.devices) return plan;
  const char *first = start.devices->data(), *end = first + start.devices->size();
  const auto read = std::from_chars(first, end, plan.devices);
  if (read.ec != std::errc() || read.ptr != end || plan.devices < 1)
    return startFault(*start.devices, "--pipeline-model-parallel-size must be the number of devices");
  if (plan.stages.size() % plan.devices != 0)
    return startFault(start.plan, fmt::format("{} devices cannot hold {} stages in equal numbers",
                                              plan.devices, plan.stages.size()));
  return plan;
}

}  // namespace pipescope::app
