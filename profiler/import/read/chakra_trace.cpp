#include "profiler/import/read/trace_format.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "chakra.pb.h"
#include "profiler/import/read/source/inflated_source.h"
#include "profiler/import/read/source/message_stream.h"
#include "profiler/import/read/source/text_mending.h"

namespace pipescope::importing {
namespace {

namespace chakra_wire = formats::chakra;

constexpr std::int64_t kPicosecondsPerMicro = 1'000'000;
/// Limit in µs: nodes farther from the start, or longer, are damaged (53 days).
constexpr std::uint64_t kMostNodeMicros = 4'600'000'000'000;

/// Limit in picoseconds; a time with a duration must fit into 64 bits.
constexpr std::int64_t kFarthestNode = static_cast<std::int64_t>(kMostNodeMicros) * kPicosecondsPerMicro;

const char* nameOfType(chakra_wire::NodeType type) {
  switch (type) {
    case chakra_wire::METADATA_NODE:
      return "METADATA";
    case chakra_wire::MEM_LOAD_NODE:
      return "MEM_LOAD";
    case chakra_wire::MEM_STORE_NODE:
      return "MEM_STORE";
    case chakra_wire::COMP_NODE:
      return "COMP";
    case chakra_wire::COMM_SEND_NODE:
      return "COMM_SEND";
    case chakra_wire::COMM_RECV_NODE:
      return "COMM_RECV";
    case chakra_wire::COMM_COLL_NODE:
      return "COMM_COLL";
    default:
      return "node";
  }
}

/// The value of an attribute that is a whole number.
std::optional<std::int64_t> wholeValue(const chakra_wire::Attribute& attribute) {
  switch (attribute.value_case()) {
    case chakra_wire::Attribute::kInt32Val:
      return attribute.int32_val();
    case chakra_wire::Attribute::kInt64Val:
      return attribute.int64_val();
    case chakra_wire::Attribute::kUint32Val:
      return attribute.uint32_val();
    case chakra_wire::Attribute::kUint64Val:
      return static_cast<std::int64_t>(attribute.uint64_val());
    case chakra_wire::Attribute::kBoolVal:
      return attribute.bool_val() ? 1 : 0;
    default:
      return std::nullopt;
  }
}

class ChakraReader {
 public:
  explicit ChakraReader(TraceData& data) : data_(data) { data_.tables.origin = 0; }

  void takeMetadata(const chakra_wire::GlobalMetadata& metadata) {
    for (const chakra_wire::Attribute& attribute : metadata.attr())
      if (attribute.name() == "pid")
        if (const auto pid = wholeValue(attribute)) process_ = std::to_string(*pid);
    // Our own exports name the devices.
    for (const chakra_wire::Attribute& attribute : metadata.attr()) {
      const std::string& name = attribute.name();
      if (!name.starts_with("rank ") || !name.ends_with(" name") || name.size() < 11) continue;
      if (attribute.value_case() == chakra_wire::Attribute::kStringVal)
        names_[name.substr(0, name.size() - 5)] = mended(attribute.string_val());
    }
  }

  base::Status take(const chakra_wire::Node& node) {
    if (node.duration_micros() > kMostNodeMicros) {
      data_.tables.findings.add("A node lasts more than 50 days and is left out.");
      return {};
    }
    Held held;
    held.id = node.id();
    held.start = node.start_time_micros();
    const TraceEvent event = eventOf(node, held);
    held.time = event.time;  // picoseconds behind the microsecond
    held.process = event.process;
    held.thread = event.thread;
    held.name = event.name;
    held.category = event.category;
    held.duration = event.duration;
    held.firstArgument = arguments_.size();
    held.argumentCount = event.argumentCount;
    arguments_.insert(arguments_.end(), event.arguments.begin(),
                      event.arguments.begin() + event.argumentCount);
    held.firstDependency = dependencies_.size();
    dependencies_.insert(dependencies_.end(), node.data_deps().begin(), node.data_deps().end());
    held.endData = dependencies_.size();
    dependencies_.insert(dependencies_.end(), node.ctrl_deps().begin(), node.ctrl_deps().end());
    held.endDependency = dependencies_.size();
    first_ = std::min(first_, held.start);
    stated_ = stated_ || held.start > 0;
    nodes_.push_back(held);
    return {};
  }

  base::Status finish() {
    if (!stated_ && !nodes_.empty()) {
      data_.tables.findings.add(
          "The trace states no start times, so each node starts when what it depends on has ended.");
      std::int64_t circular = placeByDependencies(true);
      // Some converters let operators wait for those that they call, and the other way round.
      if (circular > 0 && placeByDependencies(false) == 0) {
        data_.tables.findings.add(
            "The control dependencies of the trace contradict its data dependencies, which alone are used.");
        circular = 0;
      }
      if (circular > 0)
        data_.tables.findings.add(
            "A node depends on itself by way of others; it is shown at its earliest time.", circular);
    }
    for (Held& held : nodes_) {
      if (held.ofHost && data_.isAccelerator(held.process)) moveToHost(held);
      if (stated_) {
        if (held.start - first_ > kMostNodeMicros) {
          data_.tables.findings.add("An event lies more than 50 days from the first event and is left out.");
          continue;
        }
        held.time += static_cast<std::int64_t>(held.start - first_) * kPicosecondsPerMicro;
      }
      PIPESCOPE_TRY(data_.add(eventOf(held)));
    }
    return {};
  }

 private:
  /// A node, in less room than its event takes.
  struct Held {
    std::uint64_t id = 0, start = 0;
    std::int64_t time = 0, duration = 0;
    ProcessId process;
    ThreadId thread;
    NameId name, category;
    std::size_t firstDependency = 0, endData = 0, endDependency = 0, firstArgument = 0;
    std::uint8_t argumentCount = 0;
    bool inTurn = false;  ///< true: on a queue of an accelerator, which runs one thing at a time
    bool ofHost = false;  ///< true: the node says that the host runs it
  };

  TraceEvent eventOf(const Held& held) const {
    TraceEvent event;
    event.process = held.process;
    event.thread = held.thread;
    event.name = held.name;
    event.category = held.category;
    event.time = held.time;
    event.duration = held.duration;
    event.id = -1;
    for (std::size_t i = 0; i < held.argumentCount; ++i) event.add(arguments_[held.firstArgument + i]);
    return event;
  }

  /// Operators of the host are no work of the accelerator that has the same rank, so they get a process of
  /// their own.
  void moveToHost(Held& held) const {
    TraceTables& tables = data_.tables;
    const std::string key = tables.processes[held.process].key, name = tables.processes[held.process].name,
                      thread = tables.threads[held.thread].name;
    held.process = tables.process(key + ", host");
    tables.processes[held.process].name = (name.empty() ? key : name) + ", host";
    held.thread = tables.thread(held.process, thread);
    tables.threads[held.thread].name = thread;
  }

  /// Returns the event of a node, and sets where it runs.
  TraceEvent eventOf(const chakra_wire::Node& node, Held& held) {
    TraceTables& tables = data_.tables;
    TraceEvent event;
    event.kind = EventKind::complete;
    event.id = -1;
    event.duration = static_cast<std::int64_t>(node.duration_micros()) * kPicosecondsPerMicro;
    std::string process = process_, thread = "0";
    std::optional<bool> ofHost;
    bool queued = false, onStream = false;
    for (const chakra_wire::Attribute& attribute : node.attr()) {
      const auto number = wholeValue(attribute);
      // Our own exports state picoseconds beside the format's microseconds.
      if (attribute.name() == "duration_ps" && number && *number >= 0 && *number <= kFarthestNode)
        event.duration = *number;
      if (attribute.name() == "start_ps_in_us" && number && *number >= 0 && *number < kPicosecondsPerMicro)
        event.time = *number;
      if (attribute.name() == "is_cpu_op" && number) ofHost = *number != 0;
      if (attribute.name() == "rank" && number) process = "rank " + std::to_string(*number);
      const bool queue = (attribute.name() == "tid" || attribute.name() == "stream") && number;
      queued = queued || queue;
      onStream = onStream || (queue && attribute.name() == "stream");
      if (queue) thread = attribute.name() + " " + std::to_string(*number);
      const auto known = tables.argumentNamed(attribute.name());
      if (!known) continue;
      if (number) event.add({*known, false, *number});
      if (attribute.value_case() == chakra_wire::Attribute::kStringVal)
        event.add({*known, true, tables.names.add(mended(attribute.string_val())).value});
    }
    event.process = tables.process(process);
    if (const auto name = names_.find(process); name != names_.end())
      tables.processes[event.process].name = name->second;
    const bool host = ofHost.value_or(!onStream);
    if (!host) data_.markAccelerator(event.process);
    // ASTRA-sim, too, computes one thing at a time for each rank.
    held.inTurn = queued ? !host : !ofHost && node.type() == chakra_wire::COMP_NODE;
    held.ofHost = ofHost.value_or(false);
    event.thread = tables.thread(event.process, thread);
    tables.threads[event.thread].name = thread;
    event.name = tables.names.add(mended(node.name()));
    event.category = tables.names.add(nameOfType(node.type()));
    return event;
  }

  /// Nodes may depend on nodes that stand later in the file. Work of an accelerator's queue runs in the order
  /// in which its inputs are ready. Returns how many nodes wait for each other in a circle.
  std::int64_t placeByDependencies(bool control) {
    for (Held& held : nodes_) held.time = 0;
    std::unordered_map<std::uint64_t, std::size_t> byId;
    for (std::size_t i = 0; i < nodes_.size(); ++i) byId.emplace(nodes_[i].id, i);
    using Ready = std::pair<std::int64_t, std::size_t>;  // time, node
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    std::vector<std::size_t> open(nodes_.size(), 0);
    std::vector<std::pair<std::size_t, std::size_t>> followers;  // node, follower
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const std::size_t end = control ? nodes_[i].endDependency : nodes_[i].endData;
      for (std::size_t d = nodes_[i].firstDependency; d < end; ++d) {
        const auto before = byId.find(dependencies_[d]);
        if (before == byId.end() || before->second == i) continue;
        followers.emplace_back(before->second, i);
        ++open[i];
      }
      if (open[i] == 0) ready.emplace(0, i);
    }
    std::sort(followers.begin(), followers.end());
    std::unordered_map<std::int64_t, std::int64_t> busyUntil;  // end of the work of each queue
    auto left = static_cast<std::int64_t>(nodes_.size());
    for (; !ready.empty(); --left) {
      const std::size_t node = ready.top().second;
      ready.pop();
      Held& own = nodes_[node];
      if (own.inTurn) {
        std::int64_t& busy = busyUntil[own.thread.value];
        own.time = std::max(own.time, busy);
        busy = std::min(own.time + own.duration, kFarthestNode);
      }
      const std::int64_t ends = std::min(own.time + own.duration, kFarthestNode);
      auto next = std::lower_bound(followers.begin(), followers.end(), std::pair(node, std::size_t{0}));
      for (; next != followers.end() && next->first == node; ++next) {
        Held& follower = nodes_[next->second];
        follower.time = std::max(follower.time, ends);
        if (--open[next->second] == 0) ready.emplace(follower.time, next->second);
      }
    }
    return left;
  }

  TraceData& data_;
  std::string process_ = "0";
  std::unordered_map<std::string, std::string> names_;  // names of the ranks, keyed by "rank 0"
  std::vector<Held> nodes_;
  std::vector<std::uint64_t> dependencies_;
  std::vector<ArgumentValue> arguments_;
  std::uint64_t first_ = std::numeric_limits<std::uint64_t>::max();
  bool stated_ = false;
};

/// True if a text that is cut somewhere begins as an attribute does: with its name.
bool beginsAsAttribute(const std::string& head) {
  constexpr std::uint64_t kName = 1 << 3 | 2, kLongestName = 200;
  TextSource source{head};
  MessageStream stream(source);
  std::string name;
  const auto tag = stream.number(), size = stream.number();
  if (tag != kName || !size || *size == 0 || *size > kLongestName || !stream.block(*size, name)) return false;
  return std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
}

/// True for "0.0.4" and "1.0.2-chakra.0.0.4".
bool isVersion(const std::string& text) {
  constexpr std::size_t kLongest = 100;
  return text.size() <= kLongest && std::ranges::any_of(text, [](char c) { return c >= '0' && c <= '9'; }) &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

/// True if a text that is cut somewhere consists of the fields of metadata: a version, and attributes.
bool beginsAsMetadata(std::string_view head) {
  constexpr std::uint64_t kVersion = 1 << 3 | 2, kAttribute = 2 << 3 | 2;
  TextSource source{std::string(head)};
  MessageStream stream(source);
  std::string block;
  bool any = false;
  for (auto tag = stream.number(); tag; tag = stream.number()) {
    if (*tag != kVersion && *tag != kAttribute) return false;
    const auto size = stream.number();
    const bool whole = size && stream.block(*size, block);
    if (!whole && *tag == kAttribute) return any || beginsAsAttribute(block);
    if (!whole) return any;
    chakra_wire::Attribute attribute;
    if (*tag == kVersion ? !isVersion(block) : !attribute.ParseFromString(block) || attribute.name().empty())
      return false;
    any = true;
  }
  return any;
}

/// True if a node follows, as far as the head of the file shows it.
bool isNodeNext(MessageStream& stream, std::size_t headBytes) {
  const auto size = stream.number();
  std::string block;
  chakra_wire::Node node;
  if (!size || *size == 0) return false;
  if (!stream.block(*size, block)) return *size > headBytes / 2;
  return node.ParseFromString(block) && !node.name().empty();
}

bool looksLikeChakra(std::string_view head) {
  TextSource source{std::string(head)};
  MessageStream stream(source);
  const auto size = stream.number();
  std::string block;
  chakra_wire::GlobalMetadata metadata;
  if (!size) return false;
  // The metadata of a trace of many devices is longer than the head.
  if (!stream.block(*size, block)) return beginsAsMetadata(block);
  if (!metadata.ParseFromString(block) || !metadata.unknown_fields().empty()) return false;
  const bool stated = !metadata.version().empty() || metadata.attr_size() > 0;
  if (stated && stream.atEnd()) return true;
  if (!isNodeNext(stream, head.size())) return false;
  // Metadata that state nothing must be empty, and more than one node must follow.
  return stated || (*size == 0 && (stream.atEnd() || isNodeNext(stream, head.size())));
}

/// Reads the nodes of an MLCommons Chakra execution trace. A node is an event of the thread, or of the stream
/// of an accelerator, that it names; its category is its type. Nodes without a start time start when what
/// they depend on has ended.
base::Status readChakra(ByteSource& bytes, TraceData& data, const ReadReport& report) {
  MessageStream stream(bytes);
  ChakraReader reader(data);
  std::string block;
  chakra_wire::GlobalMetadata metadata;
  chakra_wire::Node node;
  for (std::int64_t count = 0;; ++count) {
    const auto size = stream.number();
    if (!size || !stream.block(*size, block)) break;
    if (count == 0) {
      if (metadata.ParseFromString(block)) reader.takeMetadata(metadata);
      continue;
    }
    if (block.empty() || !node.ParseFromString(block)) {
      data.tables.findings.add("A node is damaged and is left out.");
      continue;
    }
    PIPESCOPE_TRY(reader.take(node));
    if (count % 4096 != 0) continue;
    report.progress.report(report.fraction(), "reading " + report.name);
    if (report.progress.cancelled()) return base::cancelled("The import was stopped.");
  }
  if (!stream.failure().empty()) data.tables.findings.add(stream.failure());
  return reader.finish();
}

}  // namespace

PIPESCOPE_REGISTER_FORMAT(chakra) {
  const auto read = [](ByteSource& bytes, TraceData& data, base::Executor&,
                       const ReadReport& report) -> base::Result<bool> {
    PIPESCOPE_TRY(readChakra(bytes, data, report));
    return true;
  };
  registry.add({"Chakra's execution traces (protobuf)", ".et", looksLikeChakra, read});
}

}  // namespace pipescope::importing
