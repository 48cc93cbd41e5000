#pragma once
// One change of a what-if: a key, and what to set it to. Each kind of change is a row of changeKinds().
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/replay/recording.h"

namespace pipescope::analysis {
struct Memory;
}

namespace pipescope::replay {

struct Change {
  std::string key, value;  ///< value as typed: 1234, *0.8, +5%, -5% or a word
  std::string text() const { return key + "=" + value; }
};

// Keys of options, as configurations have them.
inline constexpr const char *kScheduleKey = "execution.schedule", *kRecomputeKey = "execution.recompute",
                            *kAccumulationKey = "training.gradient_accumulation";
/// Splits "key=value". Error: there is no "=".
base::Result<Change> parseChange(std::string_view text);

/// Knowledge about the profile that changes need.
struct ChangeContext {
  const model::ProfileSource& source;
  const analysis::Catalog& catalog;
  const Schedules* schedules = nullptr;
  const analysis::Memory* memory = nullptr;  ///< null: the executable's memory is read when needed
};

/// A recording with changes.
struct Changed {
  Recording recording;
  std::vector<std::string> remarks;  ///< sentences that say what the answer assumes
  bool reorder = false;              ///< the order must be made anew
  bool stashUnknown = false;         ///< the size of a stash entry has changed
};

struct ChangeKind {
  /// Key as in messages, such as "stages.N.forward"; N or NAME stands for any text. An option has the key
  /// that it has in a configuration, so that a run takes the same text.
  std::string key;
  std::string words;  ///< what changes, for people: "forward pass"; its stage or link is named after it
  std::string doc;
  /// `name` is what stands for N or NAME in the key. Errors say why the recording cannot answer.
  std::function<base::Status(const ChangeContext&, Changed&, const std::string& name,
                             const std::string& value)>
      apply;
};
/// All kinds of changes.
const std::vector<ChangeKind>& changeKinds();

/// True if the kind can change such a recording: keys of training do not change an inference, nor the
/// reverse.
bool isFor(const ChangeKind& kind, const Recording& recording);
/// The change as reports name it, and as a configuration takes it: "recompute=off" is
/// "execution.recompute=none". The last part of an option's key is enough to name it.
Change spelledOut(const Recording& recording, const Change& change);

/// Applies changes in their order, then makes the order of tasks anew if they need it. Errors: an unknown
/// key, with the known ones; a value that the key cannot have; what the recording cannot answer; what the
/// schedule refuses.
base::Result<Changed> applyChanges(const ChangeContext& context, const Recording& recording,
                                   const std::vector<Change>& changes);

// --- Helpers of the kinds of changes ---

/// The rows of one file of kinds.
std::vector<ChangeKind> costChanges();
std::vector<ChangeKind> linkChanges();
std::vector<ChangeKind> optionChanges();
std::vector<ChangeKind> blockChanges();

/// Applies a value such as *0.8, +5% or 1234 to the quantity `before` (in the unit of the value). Errors name
/// the key: text that is no such value, a negative or huge result.
base::Result<double> changedNumber(const std::string& key, const std::string& value, double before);
/// The stage that a key or value names. The error says how many stages there are.
base::Result<int> stageNamed(const Recording& recording, const std::string& text);
/// Ticks in one unit in which reports show times: cycles, µs or cost units.
double ticksPerUnit(const Recording& recording);
/// Multiplies the ticks of pieces whose pass `takes`, rounded to ticks.
void scale(Pieces& pieces, double factor, const std::function<bool(model::Pass)>& takes);
/// Multiplies ticks, rounded to ticks.
Ticks scaled(Ticks ticks, double factor);

}  // namespace pipescope::replay
