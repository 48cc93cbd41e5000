// The IPU family: chips on a ladder.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "engine/devices/core/family.h"
#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/collectives/ladder.h"
#include "engine/devices/ipu/ipu_figures.h"
#include "engine/devices/ipu/ipu_options.h"
#include "engine/devices/ipu/products/planner.h"
#include "engine/devices/ipu/stage_lowering.h"

namespace pipescope::devices {
namespace ipu {
namespace {

class IpuSystem final : public System {
 public:
  /// Streaming memory of one chip; 0: the system has none.
  struct Streaming {
    std::int64_t bytes = 0;
    double bytesPerSecond = 0;
  };
  /// Equipment that neighbouring chips share: one host link, and one memory that streams to all of them.
  struct Machine {
    int devices = 1;
    double hostBytesPerSecond = 1e30, streamingBytesPerSecond = 1e30;
  };
  IpuSystem(Chip chip, Ladder ladder, SystemRequest request, IpuOptions options, bool oneAtATime,
            double hostBytesPerSecond, Streaming streaming, Machine machine)
      : chip_(std::move(chip)),
        ladder_(std::move(ladder)),
        request_(std::move(request)),
        options_(std::move(options)),
        oneAtATime_(oneAtATime),
        hostBytesPerSecond_(hostBytesPerSecond),
        streaming_(streaming),
        machine_(machine),
        computing_(programChip(chip_, options_)),
        planner_(computing_),
        links_(ladder_.links()) {
    std::vector<MemorySpaceInfo> spaces = {{"tile_memory", chip_.tiles, Bytes(chip_.bytesPerTile),
                                            Bytes(chip_.interleavedStart), Bytes(chip_.elementBytes)}};
    if (streaming_.bytes > 0) spaces.push_back({"streaming_memory", 1, Bytes(streaming_.bytes), {}});
    DeviceInfo info{
        chip_.name,       "",
        chip_.clockHz,    chip_.tiles,
        "tile",           {model::LaneRole::compute, model::LaneRole::exchange, model::LaneRole::host},
        std::move(spaces)};
    for (int i = 0; i < ladder_.devices(); ++i) {
      info.name = "IPU" + std::to_string(i);
      devices_.push_back(info);
      links_.push_back({-1, i, "host", hostBytesPerSecond_});
      links_.push_back({i, -1, "host", hostBytesPerSecond_});
    }
  }

  std::string family() const override { return "ipu"; }
  SystemFacts facts() const override {
    return {.deviceNoun = "IPU", .accelerator = "ipu", .tickNoun = "cycles"};
  }
  std::string name() const override { return request_.name; }
  std::string description() const override {
    std::string text = request_.system ? request_.system->description : chip_.description;
    if (request_.boxes > 1) text += fmt::format(", {} of them", request_.boxes);
    const auto count = static_cast<std::int64_t>(devices_.size());
    if (request_.devices != 0) {
      text += fmt::format("; a partition of {} IPU{}", count, count == 1 ? "" : "s");
      if (request_.devices != count) text += fmt::format(" for {}", request_.devices);
    }
    return text;
  }
  const std::vector<DeviceInfo>& devices() const override { return devices_; }
  const std::vector<LinkInfo>& links() const override { return links_; }
  std::optional<Float8Support> float8() const override { return chip_.float8; }
  std::vector<Figure> figures() const override {
    return ipuFigures(chip_, request_.chip, request_.system ? &*request_.system : nullptr, ladder_);
  }

  base::Result<LoweredDevice> lower(const std::vector<const compile::StageIr*>& stages) const override {
    PIPESCOPE_CHECK(!stages.empty(), "no stages to lower");
    const compile::Mesh& mesh = stages.front()->mesh;
    const int place = stages.front()->place, device = mesh.chip(0, place);
    for (const compile::StageIr* stage : stages) {
      PIPESCOPE_CHECK(stage->place == place, "stages of different places are lowered one place at a time");
    }
    if (device < 0 || device >= ladder_.devices()) {
      return base::badInput(fmt::format(
          "Stage {} is on device {}, but system \"{}\" has {} IPU{}; take a larger system or fewer devices.",
          stages.front()->index, device, request_.name, ladder_.devices(),
          ladder_.devices() == 1 ? "" : "s"));
    }
    const auto share = [&](double own, double ofMachine, bool allPlaces) {
      return std::min(own, ofMachine / static_cast<double>(atOnce(device, mesh, allPlaces)));
    };
    const double perMachine = machine_.streamingBytesPerSecond;
    const IpuLoweringContext context{
        .chip = computing_,
        .planner = planner_,
        .memoryProportion = options_.proportionOf(device),
        .hostBytesPerSecond = sendsAhead() ? hostBytesPerSecond_
                                           : share(hostBytesPerSecond_, machine_.hostBytesPerSecond, false),
        .halfPartials = options_.halfPartials,
        .jointPlans = options_.jointPlans,
        .ladder = &ladder_,
        .mesh = mesh,
        .device = device,
        .streamingBytesPerSecond = share(streaming_.bytesPerSecond, perMachine, !oneAtATime_),
        .streamingBytes = streaming_.bytes,
        .updateStreamingBytesPerSecond = share(streaming_.bytesPerSecond, perMachine, mesh.atOnce),
        .ioTiles = options_.ioTiles};
    return lowerStages(stages, devices_[static_cast<std::size_t>(device)].name, context);
  }

  std::vector<Ticks> transferTicks(const std::vector<Flow>& concurrent) const override {
    std::vector<Ticks> ticks;
    for (const double seconds : ladder_.seconds(concurrent))
      ticks.push_back(base::ticksFromSeconds(seconds, chip_.timebase()));
    return ticks;
  }

  std::vector<std::int64_t> linksOf(const Flow& flow) const override {
    std::vector<std::int64_t> links;
    for (const Ladder::Hop hop : ladder_.route(flow.from, flow.to))
      links.push_back(std::int64_t{hop.from} * static_cast<std::int64_t>(Ladder::kWays) +
                      static_cast<std::int64_t>(hop.way));
    return links;
  }

  std::vector<LinkInfo> route(int from, int to) const override { return ladder_.linksOfRoute(from, to); }

  Ticks syncTicks(int devices) const override {
    return base::ticksFromSeconds(syncSeconds(chip_, devices) + ladder_.gatewaySyncSeconds(devices),
                                  chip_.timebase());
  }
  Ticks callTicks() const override { return base::ticksFromSeconds(chip_.callSeconds, chip_.timebase()); }
  /// Streams from the host are fetched into the gateway's memory before a device copies them (D: PopART and
  /// PopTorch, prefetched data streams), and all devices of a machine share its network card.
  double sentAheadBytesPerSecond(int device, const compile::Mesh& mesh) const override {
    if (!sendsAhead()) return 0;
    return machine_.hostBytesPerSecond / static_cast<double>(atOnce(device, mesh, false));
  }
  bool placesShareLinks() const override { return true; }  // links of the ladder
  bool ordersForMemory() const override { return true; }   // PopART's scheduler
  bool sharesCode() const override { return true; }        // Poplar's functions
  bool runsSideBySide() const override { return true; }    // PopLibs' multi-convolutions

 private:
  bool sendsAhead() const { return streaming_.bytes > 0; }
  /// Number of chips of the device's machine that do the same thing at the same time. Replicas go in step, so
  /// the chips in the same place of all replicas do; with `allPlaces` the chips in all places.
  int atOnce(int device, const compile::Mesh& mesh, bool allPlaces) const {
    const int machine = device / machine_.devices;
    int count = 0;
    for (int other = machine * machine_.devices; other < (machine + 1) * machine_.devices; ++other) {
      if (other >= mesh.chips()) break;
      count += allPlaces || mesh.placeOf(other) == mesh.placeOf(device) ? 1 : 0;
    }
    return std::max(1, count);
  }

  /// The chip as programs with these options use it.
  static Chip programChip(Chip chip, const IpuOptions& options) {
    chip.tiles -= options.ioTiles;
    if (options.wideWeightLoads) chip.weightLoadBytes = chip.wideLoadBytes;
    return chip;
  }

  Chip chip_;
  Ladder ladder_;
  SystemRequest request_;
  IpuOptions options_;
  bool oneAtATime_;
  double hostBytesPerSecond_;
  Streaming streaming_;
  Machine machine_;
  Chip computing_;  ///< chip without the I/O tiles
  mutable Planner planner_;
  std::vector<LinkInfo> links_;
  std::vector<DeviceInfo> devices_;
};

/// The smallest partition that holds `wanted` chips: a power of two, or all chips.
std::int64_t partitionFor(std::int64_t wanted, std::int64_t available) {
  return std::min(available, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted))));
}

base::Result<std::shared_ptr<const System>> makeIpuSystem(const SystemRequest& request,
                                                          const SystemOptions& systemOptions) {
  PIPESCOPE_ASSIGN(const IpuOptions options, readOptions(systemOptions.settings));
  PIPESCOPE_ASSIGN(Chip chip, readChip(request.chip));
  if (options.ioTiles >= chip.tiles) {
    return base::badInput(fmt::format("{} I/O tiles leave none of the {} tiles of {} to compute.",
                                      options.ioTiles, chip.tiles, chip.name));
  }
  std::int64_t available = 1, largestBoxes = 1;
  double hostBytesPerSecond = chip.hostBytesPerSecond;
  Ladder ladder;
  IpuSystem::Streaming streaming;
  IpuSystem::Machine machine;
  if (request.system) {
    FigureReader figures(*request.system);
    available = figures.count("devices", "IPUs", 1024) * request.boxes;
    largestBoxes = figures.countOr("max_boxes", "cards", 1024, 1);
    machine.devices = static_cast<int>(figures.countOr("machine_devices", "IPUs", 1024, 1));
    machine.hostBytesPerSecond = figures.positive("machine_host_bandwidth", "B/s");
    streaming.bytes = figures.countOr("streaming_memory", "B", std::int64_t{1} << 50, 0);
    if (streaming.bytes > 0) {
      streaming.bytesPerSecond = figures.positive("streaming_bandwidth", "B/s");
      machine.streamingBytesPerSecond = figures.positiveOr("machine_streaming_bandwidth", "B/s", 1e30);
    } else {
      hostBytesPerSecond = std::min(hostBytesPerSecond, machine.hostBytesPerSecond);
    }
    const std::int64_t wanted = request.devices == 0 ? available : request.devices;
    PIPESCOPE_ASSIGN(ladder, Ladder::read(figures, static_cast<int>(partitionFor(wanted, available))));
  }
  if (request.boxes > largestBoxes) {
    return base::badInput(fmt::format("System \"{}\": there are at most {} box{} of it.", request.name,
                                      largestBoxes, largestBoxes == 1 ? "" : "es"));
  }
  if (request.devices > available) {
    return base::badInput(fmt::format("System \"{}\" has {} IPU{}, but {} are wanted; take a larger system.",
                                      request.name, available, available == 1 ? "" : "s", request.devices));
  }
  return std::shared_ptr<const System>(std::make_shared<IpuSystem>(std::move(chip), std::move(ladder),
                                                                   request, options, systemOptions.oneAtATime,
                                                                   hostBytesPerSecond, streaming, machine));
}

}  // namespace
}  // namespace ipu

PIPESCOPE_REGISTER_FAMILY(ipu) {
  registry.add("ipu", {.deviceNoun = "IPU",
                       .accelerator = "ipu",
                       .usualSystem = "pod4",
                       .settings = ipu::settingNames(),
                       .make = ipu::makeIpuSystem});
}

}  // namespace pipescope::devices
