#include "profiler/export/chakra.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "chakra.pb.h"
#include "profiler/export/event_work.h"
#include "profiler/export/packed_messages.h"
#include "profiler/export/wanted_rows.h"

namespace pipescope::exporting {
namespace {

namespace chakra_wire = formats::chakra;
using base::Ticks;
using model::Pass;

__extension__ using WidePicoseconds = __int128;

/// Streams of a rank besides that of its passes, because collectives and messages run beside them.
constexpr std::int64_t kCollectives = 1, kSends = 2, kReceives = 3;

chakra_wire::Attribute& addAttribute(chakra_wire::Node& node, const char* name) {
  chakra_wire::Attribute& attribute = *node.add_attr();
  attribute.set_name(name);
  return attribute;
}
void setNumber(chakra_wire::Node& node, const char* name, std::int64_t value) {
  addAttribute(node, name).set_int64_val(value);
}
// Chakra's feeder reads each attribute that it knows in one type only: num_ops, comm_type and comm_size as
// setNumber writes them, and the following ones.
void setShortNumber(chakra_wire::Node& node, const char* name, std::int64_t value) {
  addAttribute(node, name).set_int32_val(static_cast<std::int32_t>(value));
}
void setSize(chakra_wire::Node& node, const char* name, std::int64_t value) {
  addAttribute(node, name).set_uint64_val(static_cast<std::uint64_t>(value));
}
/// Without this a node counts as work of a processor, which simulators neither scale nor let communicate.
void setOnAccelerator(chakra_wire::Node& node) {
  addAttribute(node, "is_cpu_op").set_bool_val(false);
}

/// Type of a collective by its name; gradients are summed where the name says nothing else.
chakra_wire::CollectiveType collectiveType(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("gather") || has("Gather")) return chakra_wire::ALL_GATHER;
  if (has("scatter") || has("Scatter")) return chakra_wire::REDUCE_SCATTER;
  if (has("all-to-all") || has("alltoall") || has("AllToAll")) return chakra_wire::ALL_TO_ALL;
  return has("broadcast") || has("Broadcast") ? chakra_wire::BROADCAST : chakra_wire::ALL_REDUCE;
}

class ChakraFile {
 public:
  ChakraFile(const ChromeRequest& request, const Writer& write, base::Progress& progress)
      : request_(request),
        catalog_(request.catalog),
        write_(write),
        progress_(progress),
        rows_(request, progress),
        work_(request) {}

  base::Status run() {
    PIPESCOPE_TRY(read());
    if (placements_.empty())
      return base::badInput("The profile holds no passes of stages, so there is nothing for a Chakra trace.");
    chakra_wire::GlobalMetadata metadata;
    metadata.set_version("0.0.4");
    chakra_wire::Attribute& tool = *metadata.add_attr();
    tool.set_name("tool");
    tool.set_string_val("pipescope " + catalog_.property("tool_version"));
    // The format has no place for names of devices, so they are attributes of the whole trace.
    for (const model::Device& device : catalog_.devices) {
      chakra_wire::Attribute& name = *metadata.add_attr();
      name.set_name(fmt::format("rank {} name", device.id.value));
      name.set_string_val(device.name);
    }
    PIPESCOPE_TRY(add(metadata));
    for (std::size_t i = 0; i < placements_.size(); ++i) {
      if (progress_.cancelled()) return base::cancelled("Exporting was stopped.");
      PIPESCOPE_TRY(pass(i));
    }
    PIPESCOPE_TRY(messages());
    return flushAbove(0, write_, buffer_);
  }

 private:
  /// Replica, iteration, micro-batch, pass, stage.
  using PassKey = std::tuple<std::int32_t, std::int32_t, std::int32_t, Pass, std::int32_t>;

  static PassKey keyOf(const model::Placement& p, std::int32_t stage) {
    return {p.replica, p.iteration, p.microBatch, p.pass, stage};
  }

  base::Status read() {
    PIPESCOPE_TRY(rows_.each<model::Placement>([&](const model::Placement& row) -> base::Status {
      const bool known =
          model::isComputePass(row.pass) || row.pass == Pass::update || row.pass == Pass::collective;
      if (known && rows_.has(row.run) && row.stage >= 0 && row.end >= row.start) placements_.push_back(row);
      return {};
    }));
    std::stable_sort(placements_.begin(), placements_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.start, a.end) < std::tie(b.start, b.end);
    });
    for (std::size_t i = 0; i < placements_.size(); ++i) {
      const model::Placement& own = placements_[i];
      byDevice_[{own.device, own.iteration, own.microBatch, own.pass}].push_back(i);
      byPass_.try_emplace(keyOf(placements_[i], placements_[i].stage), i);
    }
    PIPESCOPE_TRY(rows_.each<model::Transfer>([&](const model::Transfer& row) -> base::Status {
      const bool message =
          row.kind == model::TransferKind::activation || row.kind == model::TransferKind::gradient;
      if (message && rows_.has(row.run) && row.end >= row.start && producerOf(row)) transfers_.push_back(row);
      return {};
    }));
    std::stable_sort(transfers_.begin(), transfers_.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    // Simulators need this work of a pass to estimate its time on other hardware.
    PIPESCOPE_TRY(work_.read(rows_));
    // Ids: the passes, then a send and a receive for each transfer.
    for (std::size_t t = 0; t < transfers_.size(); ++t) {
      const model::Placement& from = placements_[*producerOf(transfers_[t])];
      const bool forward = transfers_[t].kind == model::TransferKind::activation;
      const auto to = byPass_.find(keyOf(from, from.stage + (forward ? 1 : -1)));
      if (to != byPass_.end()) inputs_.emplace(to->second, t);
    }
    return {};
  }

  /// The pass whose result a transfer carries: the last one of its device and micro-batch that had ended.
  /// None for what devices exchange while the pipeline fills and drains. The placement that a transfer names
  /// may be another one, such as the sync before it.
  std::optional<std::size_t> producerOf(const model::Transfer& row) const {
    const model::DeviceId device = catalog_.deviceOf(row.fromLane);
    const Pass pass = row.kind == model::TransferKind::activation ? Pass::forward : Pass::backward;
    const auto made = byDevice_.find({device, row.iteration, row.microBatch, pass});
    if (row.microBatch < 0 || made == byDevice_.end()) return std::nullopt;
    const auto after =
        std::ranges::find_if(made->second, [&](std::size_t i) { return placements_[i].end > row.start; });
    return after == made->second.begin() ? made->second.front() : *std::prev(after);
  }

  std::uint64_t idOfPass(std::size_t i) const { return i + 1; }
  std::uint64_t idOfSend(std::size_t t) const { return placements_.size() + 2 * t + 1; }

  std::int64_t picoseconds(Ticks ticks, model::DeviceId device) const {
    const std::int64_t clock = std::max<std::int64_t>(catalog_.timebase(device).ticksPerSecond, 1);
    return static_cast<std::int64_t>(static_cast<WidePicoseconds>(ticks.count) * 1'000'000'000'000 / clock);
  }

  void setTimes(chakra_wire::Node& node, Ticks start, Ticks end, model::DeviceId device) const {
    constexpr std::int64_t kPerMicro = 1'000'000;
    const std::int64_t from = picoseconds(start, device), length = picoseconds(end, device) - from;
    node.set_start_time_micros(static_cast<std::uint64_t>(std::max<std::int64_t>(from, 0) / kPerMicro));
    node.set_duration_micros(static_cast<std::uint64_t>((length + kPerMicro / 2) / kPerMicro));
    setOnAccelerator(node);
    setNumber(node, "duration_ps", length);
    setNumber(node, "start_ps_in_us", std::max<std::int64_t>(from, 0) % kPerMicro);
  }

  base::Status pass(std::size_t i) {
    const model::Placement& p = placements_[i];
    const bool collective = p.pass == Pass::collective;
    chakra_wire::Node node;
    node.set_id(idOfPass(i));
    node.set_type(collective ? chakra_wire::COMM_COLL_NODE : chakra_wire::COMP_NODE);
    node.set_name(p.microBatch < 0
                      ? fmt::format("stage{}/{}", p.stage, model::toString(p.pass))
                      : fmt::format("stage{}/{}/mb{}", p.stage, model::toString(p.pass), p.microBatch));
    setTimes(node, p.start, p.end, p.device);
    setNumber(node, "rank", p.device.value);
    setNumber(node, "stage", p.stage);
    if (p.replica >= 0) setNumber(node, "replica", p.replica);
    if (p.microBatch >= 0) setNumber(node, "micro_batch", p.microBatch);
    if (p.iteration >= 0) setNumber(node, "iteration", p.iteration);
    const model::Segment* segment = catalog_.segments.find(p.segment);
    if (segment != nullptr && model::isComputePass(p.pass)) {
      const EventWork::Work work = work_.ofPass(*segment);
      if (work.flops > 0 || work.bytes > 0) {
        setNumber(node, "num_ops", work.flops);
        setSize(node, "tensor_size", work.bytes);
      }
    }
    if (collective) {
      setNumber(node, "comm_type", collectiveType(segment == nullptr ? "" : segment->name));
      setNumber(node, "stream", kCollectives);
    }
    const auto [last, first] = lastOn_.try_emplace(p.device, i);
    if (!first) {
      node.add_ctrl_deps(idOfPass(last->second));
      last->second = i;
    }
    for (auto [input, end] = inputs_.equal_range(i); input != end; ++input)
      node.add_data_deps(idOfSend(input->second) + 1);
    return add(node);
  }

  base::Status messages() {
    std::map<std::tuple<model::DeviceId, model::DeviceId>, std::size_t> lastBetween;
    for (std::size_t t = 0; t < transfers_.size(); ++t) {
      const model::Transfer& transfer = transfers_[t];
      const std::size_t producer = *producerOf(transfer);
      const model::Placement& from = placements_[producer];
      const model::DeviceId to = catalog_.deviceOf(transfer.toLane);
      const std::string what =
          fmt::format("stage{}/{}/mb{}", from.stage, model::toString(transfer.kind), from.microBatch);
      const bool forward = transfer.kind == model::TransferKind::activation;
      chakra_wire::Node send, receive;
      send.set_id(idOfSend(t));
      send.set_type(chakra_wire::COMM_SEND_NODE);
      send.set_name("send " + what);
      setTimes(send, transfer.start, transfer.end, from.device);
      send.add_data_deps(idOfPass(producer));
      // A link that was busy delays the transfer.
      const auto [last, isFirst] = lastBetween.try_emplace({from.device, to}, t);
      if (!isFirst) {
        const model::Transfer& before = transfers_[last->second];
        if (before.end > from.end && before.end <= transfer.start) send.add_ctrl_deps(idOfSend(last->second));
        last->second = t;
      }
      receive.set_id(idOfSend(t) + 1);
      receive.set_type(chakra_wire::COMM_RECV_NODE);
      receive.set_name("receive " + what);
      setTimes(receive, transfer.end, transfer.end, from.device);
      receive.add_data_deps(idOfSend(t));
      for (chakra_wire::Node* node : {&send, &receive}) {
        setNumber(*node, "rank", node == &send ? from.device.value : to.value);
        setNumber(*node, "stage", node == &send ? from.stage : from.stage + (forward ? 1 : -1));
        if (from.replica >= 0) setNumber(*node, "replica", from.replica);
        setNumber(*node, "stream", node == &send ? kSends : kReceives);
        if (from.microBatch >= 0) setNumber(*node, "micro_batch", from.microBatch);
        if (from.iteration >= 0) setNumber(*node, "iteration", from.iteration);
        setShortNumber(*node, "comm_src", from.device.value);
        setShortNumber(*node, "comm_dst", to.value);
        setShortNumber(*node, "comm_tag", static_cast<std::int64_t>(t));
        setNumber(*node, "comm_size", transfer.bytes.count);
        PIPESCOPE_TRY(add(*node));
      }
    }
    return {};
  }

  template <class Message>
  base::Status add(const Message& message) {
    appendSized(message, packed_, buffer_);
    return flushAbove(kFlushBytes, write_, buffer_);
  }

  const ChromeRequest& request_;
  const analysis::Catalog& catalog_;
  const Writer& write_;
  base::Progress& progress_;
  WantedRows rows_;
  std::string buffer_, packed_;
  std::vector<model::Placement> placements_;
  std::vector<model::Transfer> transfers_;
  EventWork work_;
  /// Passes by device, iteration, micro-batch and pass, in the order of their starts.
  std::map<std::tuple<model::DeviceId, std::int32_t, std::int32_t, Pass>, std::vector<std::size_t>> byDevice_;
  std::map<PassKey, std::size_t> byPass_;
  std::multimap<std::size_t, std::size_t> inputs_;  // transfers by the pass that needs them
  std::map<model::DeviceId, std::size_t> lastOn_;
};

}  // namespace

base::Status exportChakra(const ChromeRequest& request, const Writer& write, base::Progress& progress) {
  return ChakraFile(request, write, progress).run();
}

}  // namespace pipescope::exporting
