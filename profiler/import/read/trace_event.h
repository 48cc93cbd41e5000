#pragma once
// The events of a trace in a form that all formats share.
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/base/ids.h"

namespace pipescope::importing {

struct NameTag;
struct ProcessTag;
struct ThreadTag;
/// A text that occurs in a trace: names of events, categories, values of arguments.
using NameId = base::Id<NameTag>;
/// A process of one trace file.
using ProcessId = base::Id<ProcessTag>;
/// A row of the trace: a thread of a process, or a stream or engine of an accelerator.
using ThreadId = base::Id<ThreadTag>;

/// Gives each different text an id, in the order of their first use.
class Names {
 public:
  NameId add(std::string_view text);
  const std::string& text(NameId id) const { return *texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, NameId, Hash, std::equal_to<>> ids_;
  base::IdVector<NameId, const std::string*> texts_;
};

enum class EventKind : std::uint8_t {
  complete,  ///< has a start and a duration
  begin,     ///< starts an event of its thread …
  end,       ///< … which the next unmatched `end` of the thread ends
  instant,
  counter,     ///< `value` from this time on
  flowStart,   ///< an arrow from the event of this thread that encloses the time …
  flowStep,    ///< … by way of this one …
  flowEnd,     ///< … to this one; `id` joins them
  asyncBegin,  ///< starts an event that belongs to no thread; `id` and the name join begin and end
  asyncInstant,
  asyncEnd,
};

/// Arguments of an event that the importer understands. Others are kept only if a rule uses them.
enum class Argument : std::uint8_t {
  correlation,  ///< joins a launch on the host with the kernel that it starts
  externalId,   ///< joins a kernel with the operator of the host that caused it
  device,       ///< index of the accelerator
  stream,       ///< index of the queue on the accelerator
  bytes,        ///< size of a copy or message
  step,         ///< training step
  microBatch,
  modelChunk,
  sequence,      ///< number of a message or collective within its group
  collective,    ///< name of the collective operation
  processGroup,  ///< name of the group of ranks
  groupSize,
  elements,  ///< number of elements of a message
  elementType,
  source,       ///< rank that a message comes from
  destination,  ///< rank that a message goes to
  memoryBytes,  ///< bytes of a counter or allocation
  stage,        ///< pipeline stage
  replica,      ///< data-parallel replica
  bytesIn,      ///< bytes that come in during a step …
  bytesOut,     ///< … and go out
  operations,   ///< FLOP of a pass in Chakra's traces and our own exports …
  tensorBytes,  ///< … and the bytes of its operands and results
};
constexpr std::size_t kKnownArguments = 23;
/// Arguments beside these that rules may use. The i-th of them is Argument(kKnownArguments + i).
constexpr std::size_t kMostOwnArguments = 8;
constexpr std::size_t kArguments = kKnownArguments + kMostOwnArguments;

/// Finds an argument by a name under which PyTorch, CUDA's and ROCm's tracers, Megatron and others state it.
std::optional<Argument> argumentNamed(std::string_view name);
/// The same, or the i-th of further arguments that rules use (Rules::ownArguments).
std::optional<Argument> argumentNamed(std::string_view name, const std::vector<std::string>& own);
/// All these names, separated by commas, for messages.
std::string argumentNames();

struct ArgumentValue {
  Argument argument{};
  bool text = false;       ///< `value` is a NameId's value
  std::int64_t value = 0;  ///< fractions are dropped
};

struct TraceEvent {
  EventKind kind = EventKind::complete;
  ProcessId process;
  ThreadId thread;
  NameId name, category;
  /// Picoseconds after the origin of the file (see TraceTables::origin), and length in picoseconds.
  std::int64_t time = 0, duration = 0;
  std::int64_t id = 0;  ///< id of flows and asynchronous events
  double value = 0;     ///< value of a counter
  std::uint8_t argumentCount = 0;
  std::array<ArgumentValue, kArguments> arguments{};

  void add(ArgumentValue argument) {
    if (argumentCount < arguments.size()) arguments[argumentCount++] = argument;
  }
  /// Null if the event does not have it.
  const ArgumentValue* find(Argument argument) const {
    for (std::size_t i = 0; i < argumentCount; ++i)
      if (arguments[i].argument == argument) return &arguments[i];
    return nullptr;
  }
  /// −1 if the event does not have it, or if it is no number.
  std::int64_t numberOf(Argument argument) const {
    const ArgumentValue* stated = find(argument);
    return stated == nullptr || stated->text ? -1 : stated->value;
  }
  /// The same for indices: −1 also if it is none.
  std::int32_t indexOf(Argument argument) const {
    const std::int64_t number = numberOf(argument);
    return number < 0 || number > std::numeric_limits<std::int32_t>::max()
               ? -1
               : static_cast<std::int32_t>(number);
  }
};

}  // namespace pipescope::importing
