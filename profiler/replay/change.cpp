#include "profiler/replay/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/base/number_text.h"
#include "profiler/replay/reorder.h"

namespace pipescope::replay {
namespace {

/// The text that stands for N or NAME in the key of a kind; none: the key is of another kind.
std::optional<std::string> nameIn(const std::string& pattern, const std::string& key) {
  for (const char* word : {"NAME", "N"}) {
    const std::string dotted = fmt::format(".{}.", word);
    const std::size_t at = pattern.find(dotted);
    if (at == std::string::npos) continue;
    const std::string before = pattern.substr(0, at + 1);
    const std::string after = pattern.substr(at + dotted.size() - 1);
    if (key.size() <= before.size() + after.size() || !key.starts_with(before) || !key.ends_with(after))
      return std::nullopt;
    return key.substr(before.size(), key.size() - before.size() - after.size());
  }
  return pattern == key ? std::optional<std::string>(std::string()) : std::nullopt;
}

std::string knownKeys() {
  std::string keys;
  for (const ChangeKind& kind : changeKinds()) keys += (keys.empty() ? "" : ", ") + kind.key;
  return keys;
}

base::Status applyOne(const ChangeContext& context, Changed& changed, const Change& typed) {
  const Change change = spelledOut(changed.recording, typed);
  for (const ChangeKind& kind : changeKinds()) {
    if (const auto name = nameIn(kind.key, change.key))
      return kind.apply(context, changed, *name, change.value);
  }
  return base::badInput(
      fmt::format("\"{}\" is nothing that a replay can change. It can change {}.", change.key, knownKeys()));
}

}  // namespace

const std::vector<ChangeKind>& changeKinds() {
  static const std::vector<ChangeKind> kAll = [] {
    std::vector<ChangeKind> all;
    for (auto kinds : {costChanges(), optionChanges(), linkChanges(), blockChanges()})
      all.insert(all.end(), kinds.begin(), kinds.end());
    return all;
  }();
  return kAll;
}

bool isFor(const ChangeKind& kind, const Recording& recording) {
  return !kind.key.starts_with(recording.training ? "inference." : "training.");
}

Change spelledOut(const Recording& recording, const Change& change) {
  Change whole = change;
  if (change.key.find('.') == std::string::npos) {
    for (const ChangeKind& kind : changeKinds()) {
      // A key that only the other kind of call has is spelled out, too, so that its refusal names it.
      if (!kind.key.ends_with("." + change.key) || kind.key.find(".N") != std::string::npos) continue;
      if (whole.key == change.key || isFor(kind, recording)) whole.key = kind.key;
    }
  }
  if (whole.key == kRecomputeKey && change.value == "on") whole.value = "pipeline";
  if (whole.key == kRecomputeKey && change.value == "off") whole.value = "none";
  return whole;
}

base::Result<Change> parseChange(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size())
    return base::badInput(
        fmt::format("--set wants KEY=VALUE, such as stages.1.forward=*0.8, but got \"{}\".", text));
  return Change{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

base::Result<Changed> applyChanges(const ChangeContext& context, const Recording& recording,
                                   const std::vector<Change>& changes) {
  Changed changed{recording, {}, false, false};
  for (const Change& change : changes) PIPESCOPE_TRY(applyOne(context, changed, change));
  if (changed.reorder) PIPESCOPE_TRY(makeOrderAnew(context, recording, changed));
  return changed;
}

base::Result<double> changedNumber(const std::string& key, const std::string& value, double before) {
  const auto refused = [&](const char* why) {
    return base::badInput(fmt::format(
        "{} cannot become \"{}\": {}. Write a number (1234), a factor (*0.8) or a percentage (+5%, -5%).",
        key, value, why));
  };
  const bool factor = value.starts_with("*"), percent = value.ends_with("%");
  const std::string digits = value.substr(factor ? 1 : 0, value.size() - (factor || percent ? 1 : 0));
  const std::optional<double> read = base::numberOf(digits);
  if (!read || !std::isfinite(*read) || (factor && percent)) return refused("this is no number");
  const double number = *read;
  if (percent && digits.front() != '+' && digits.front() != '-') return refused("a percentage has a sign");
  const double after = factor ? before * number : percent ? before * (1 + number / 100) : number;
  if (after < 0 || number < (percent ? -100 : 0)) return refused("it must not be negative");
  constexpr double kMost = 1e18;
  if (!(after <= kMost)) return refused("it is too large");
  return after;
}

base::Result<int> stageNamed(const Recording& recording, const std::string& text) {
  char* end = nullptr;
  const long stage = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text.front())) || *end != '\0' ||
      stage >= recording.stageCount())
    return base::badInput(fmt::format("There is no stage \"{}\": the recording has the stages 0 to {}.", text,
                                      recording.stageCount() - 1));
  return static_cast<int>(stage);
}

double ticksPerUnit(const Recording& recording) {
  switch (recording.tickMeaning) {
    case model::TickMeaning::time:
      return static_cast<double>(recording.ticksPerSecond) / 1e6;
    case model::TickMeaning::cost:
      return static_cast<double>(recording.ticksPerSecond);
    default:
      return 1;
  }
}

Ticks scaled(Ticks ticks, double factor) {
  constexpr double kMost = 9e18;
  return Ticks(std::llround(std::min(static_cast<double>(ticks.count) * factor, kMost)));
}

void scale(Pieces& pieces, double factor, const std::function<bool(model::Pass)>& takes) {
  for (Piece& piece : pieces) {
    if (takes(piece.pass)) {
      piece.ticks = scaled(piece.ticks, factor);
      piece.moved = scaled(piece.moved, factor);
    }
  }
}

}  // namespace pipescope::replay
