#pragma once
// Findings: what in a profile costs time or memory, what to change, and what that would gain. Each rule is
// one file that says PIPESCOPE_REGISTER_INSIGHT(name) { registry.add({…}); }; the build finds it.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/links/system_links.h"
#include "profiler/analysis/pipeline/recorded/accelerator_times.h"
#include "profiler/analysis/pipeline/stages.h"

namespace pipescope::analysis {

/// A value over time, such as the loss.
struct SeriesEnds {
  double first = 0, last = 0;
  bool finite = true;  ///< no sample is NaN or infinite
};

/// A key of the configuration and its new value. The key "move" stands for stages.N.blocks of two neighbours:
/// its value BLOCK:STAGE sends a block at the edge of a stage to the next one, as `pipescope what-if` takes
/// it.
struct InsightChange {
  std::string key, value;
  friend bool operator==(const InsightChange&, const InsightChange&) = default;
};
/// Changes that belong together.
using InsightChanges = std::vector<InsightChange>;

/// A value of a key that was tried out by compiling with it.
struct TriedValue {
  std::string value, effect;
};

/// The same for changes that were tried together.
struct TriedTogether {
  InsightChanges changes;
  std::string effect;
};

/// A change that was replayed, out of several.
struct TriedChange {
  InsightChange change;
  double gain = 0;  ///< rate with the change ÷ recorded rate − 1
  int tried = 0;    ///< number of changes that were replayed
};

/// The accelerator of an imported trace for which `part` takes most of the time from its first to its last
/// kernel, and this share of it.
struct RecordedShare {
  const AcceleratorTimes* device = nullptr;  ///< null: there are none
  double share = 0;
};
RecordedShare largestShare(const AcceleratorReport& recorded, Ticks AcceleratorTimes::*part);

/// Input of the rules for one executable: plain values, so that a rule depends on nothing else.
struct InsightInput {
  model::Executable executable;
  model::Target target;
  std::map<std::string, std::string> options;  ///< values by key, without quotes; empty for imported traces
  Execution execution;
  StagesReport stages;
  Memory memory;
  std::vector<LinkUse> links;
  /// Share of the call in which the chips of a stage only wait for collectives along an axis: of the stage
  /// where it is largest.
  std::map<model::MeshAxis, double> exposedByAxis;
  AcceleratorReport recorded;        ///< kernels of an imported trace; empty for emulated runs
  std::vector<int> replicaOfDevice;  ///< replica of each device index; −1: the executable does not use it
  /// Time that the products would take at the devices' peak ÷ time in which devices compute. None: not known.
  std::optional<double> peakUse;
  std::map<std::string, std::int64_t> bytesByType;    ///< bytes of the devices' variables, by type of element
  std::string halfType = "float16";                   ///< the 16-bit type that the devices multiply
  std::map<model::LaneRole, std::string> laneTitles;  ///< see Catalog::laneTitle
  std::optional<SeriesEnds> loss, lossScale;
  Ticks callStart, callEnd;  ///< times of the last call
  /// Trials of the compiler for a model that does not fit: for each key the value that saves most memory, and
  /// the effect in words ("saves 1 MiB of the 2 MiB that are missing"). Empty: nothing was tried or nothing
  /// helps.
  std::map<std::string, TriedValue> triedForMemory;
  std::vector<TriedTogether> triedTogether;
  /// Bytes that are always live in a memory space, by category of the variables. The memory of an IPU's tiles
  /// is recorded by libpva's categories, which do not tell a weight from a stash.
  std::map<model::MemorySpaceId, std::map<std::string, Bytes>> alwaysLive;
  std::int64_t searchedStages = 0;  ///< see analysis::searchedStages()
  /// Moves of blocks that lead to a better split, found by replaying the call. Empty: none, or not searched.
  InsightChanges replanned;
  /// The single change that gains most of all that can be replayed. None: no change gains, or none was tried.
  std::optional<TriedChange> bestChange;

  /// Bytes of some categories that are always live on a device.
  Bytes alwaysLiveOf(const DeviceMemory& device, std::initializer_list<const char*> categories) const;
  /// The name of a device by its index, or an empty text.
  std::string deviceName(std::int64_t index) const;
  bool training() const { return executable.kind == model::ExecutableKind::training; }
  /// True if the devices consist of many units such as tiles.
  bool hasUnits() const { return !memory.devices.empty() && memory.devices.front().units > 1; }
  std::string laneTitle(model::LaneRole role) const {
    const auto title = laneTitles.find(role);
    return title == laneTitles.end() ? model::toString(role) : title->second;
  }
  /// The value of an option, or an empty text.
  std::string option(const std::string& key) const;
  /// "training." or "inference.", before the keys that both have.
  std::string table() const { return training() ? "training." : "inference."; }
};

struct Insight {
  std::string rule;  ///< name of the rule
  std::string what;  ///< a sentence
  double figure = 0;
  double share = 0;  ///< share of the step time: no change gains more than what this part takes; 0: no time
  bool severe = false;  ///< the run cannot be done like this, or its result is worthless
  // Place where it is seen: a section of the report, which is also a page of the window.
  std::string page;
  int stage = -1, device = -1;  ///< −1: none in particular
  std::string lane = {};        ///< lane of the device; empty: none in particular
  std::string advice;           ///< a sentence: what to do
  std::vector<InsightChanges> alternatives = {};
  std::string noAlternative = {};  ///< place to look at if there are none; empty: nothing in particular
  bool freesMemory = false;        ///< what it advises is for memory, and may cost time
  /// It is left out if another finding leads to the same changes.
  bool yields = false;
  /// Rate without what the finding is about ÷ recorded rate − 1: no change gains more. 0: not known.
  double bound = 0;
  std::string boundText = {};  ///< a clause for it: "if all stages computed equally long"
};

/// A finding on an accelerator of an imported trace, which loses this share of its time. `section` shows it.
Insight recordedFinding(double share, model::DeviceId device, std::string section);

struct InsightRule {
  std::string name;
  std::string figure;    ///< meaning of the figure, with its denominator
  double threshold = 0;  ///< the figure from which on the rule reports something
  bool below = false;    ///< it reports figures below the threshold instead of above it
  std::vector<Insight> (*find)(const InsightInput& input, const InsightRule& rule) = nullptr;

  bool exceeds(double value) const { return below ? value < threshold : value > threshold; }
};

class InsightRegistry {
 public:
  void add(InsightRule rule) { rules_.push_back(std::move(rule)); }
  const std::vector<InsightRule>& all() const { return rules_; }  ///< rules by name
  const InsightRule* find(std::string_view name) const;
  void sort();

 private:
  std::vector<InsightRule> rules_;
};
/// Calls the registration function of every rule (generated by the build).
void registerInsights(InsightRegistry& registry);
const InsightRegistry& insightRegistry();

/// Gain that changes would bring.
struct PredictedGain {
  std::optional<double> gain;  ///< rate with the changes ÷ present rate − 1
  std::string reason;          ///< reason why it is not known, or what it assumes
  bool possible = true;        ///< false if such a run is refused, for example by the schedule
};
/// Predicts the gain of changes: by a replay, or by compiling anew.
using PredictGain = std::function<PredictedGain(const InsightChanges&)>;

struct RankedInsight {
  Insight insight;
  const InsightRule* rule = nullptr;
  InsightChanges changes;  ///< the best of the alternatives: the one that gains most, or the first one
  PredictedGain gain;
};

/// Gains below this share count as none.
inline constexpr double kWorthwhileGain = 0.01;
/// Gains below this share are written as none.
inline constexpr double kLeastShownGain = 0.0005;

/// All findings: severe ones first, then those with a gain that is worth while, largest first, where the
/// bound stands for a gain that is not known or that no change reaches; then those with neither, by their
/// share of the step, then those that gain nothing.
std::vector<RankedInsight> findInsights(const InsightInput& input, const PredictGain& predict);

// --- Helpers of the rules ---

/// "12.3 %".
std::string insightPercent(double fraction);
/// "0.4 % faster", "1.2 % slower", or "as fast as before" below kLeastShownGain.
std::string fasterText(double gain);
/// "stage 1 (IPU1)", or with a capital letter at the beginning of a sentence.
std::string insightStage(const StageReport& stage, bool begins = false);
/// Each move of a block at the edge of the stage to the neighbour. None for a stage of one block.
std::vector<InsightChanges> movesFrom(const InsightInput& input, const StageReport& stage);
/// `factor` times the micro-batch, with as many samples in a weight update as before. None if the numbers do
/// not divide.
std::optional<InsightChanges> microBatchTimes(const InsightInput& input, int numerator, int denominator);
/// The fullest of the devices' memories. Null: there is none.
const DeviceMemory* fullestMemory(const Memory& memory);
/// Address span of the fullest unit ÷ its capacity; above 1, it does not fit.
double fillOf(const DeviceMemory& memory);

}  // namespace pipescope::analysis

#define PIPESCOPE_REGISTER_INSIGHT(name)           \
  void register_##name(InsightRegistry& registry); \
  void register_##name(InsightRegistry& registry)
