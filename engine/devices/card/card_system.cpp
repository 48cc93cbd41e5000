// The family of cards that a file describes: matrix engines, vector engines, HBM and a network.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "engine/devices/card/card.h"
#include "engine/devices/card/described_model.h"
#include "engine/devices/card/network.h"
#include "engine/devices/core/family.h"
#include "engine/devices/hbm_card/card_lowering.h"
#include "profiler/base/check.h"

namespace pipescope::devices {
namespace card {
namespace {

class CardSystem final : public System {
 public:
  CardSystem(Card card, Network network, SystemRequest request)
      : card_(std::move(card)),
        network_(std::move(network)),
        request_(std::move(request)),
        links_(network_.links()) {
    using model::LaneRole;
    for (int i = 0; i < network_.devices(); ++i) {
      DeviceInfo info;
      info.kind = card_.name;
      info.name = "GPU" + std::to_string(i);
      info.ticksPerSecond = kTicksPerSecond;
      info.units = 1;
      info.unitName = "card";
      info.lanes = {LaneRole::matrix, LaneRole::vector, LaneRole::copy, LaneRole::network, LaneRole::host};
      info.laneTitles = {{LaneRole::matrix, "Matrix"},
                         {LaneRole::vector, "Vector"},
                         {LaneRole::copy, "Copy"},
                         {LaneRole::network, "Network"}};
      info.transferLane = LaneRole::network;
      info.memory = {{"hbm", 1, Bytes(card_.usableHbm()), Bytes(0)}};
      devices_.push_back(std::move(info));
      links_.push_back({-1, i, "host", card_.hostBytesPerSecond});
      links_.push_back({i, -1, "host", card_.hostBytesPerSecond});
    }
  }

  std::string family() const override { return "card"; }
  SystemFacts facts() const override { return {.deviceNoun = "GPU", .accelerator = "cuda"}; }
  std::string name() const override { return request_.name; }
  std::string description() const override {
    std::string text = request_.system ? request_.system->description : card_.description;
    if (request_.boxes > 1) text += fmt::format(", {} of them", request_.boxes);
    if (request_.devices != 0)
      text += fmt::format("; {} card{} of it", request_.devices, request_.devices == 1 ? "" : "s");
    return text;
  }
  const std::vector<DeviceInfo>& devices() const override { return devices_; }
  const std::vector<LinkInfo>& links() const override { return links_; }
  std::optional<Float8Support> float8() const override { return card_.float8; }
  std::vector<Figure> figures() const override {
    std::vector<Figure> figures;
    const auto given = [&](const FigureFile& file) {
      for (const auto& [name, figure] : file.figures)
        figures.push_back(readableFigure(name, figure.value, figure.unit, figure.grade, figure.source));
    };
    const auto derive = [&](const char* name, double value, const char* unit, const char* from) {
      figures.push_back(readableFigure(name, value, unit, "X", from));
    };
    given(request_.chip);
    derive("reachable_bf16", card_.peakBf16 * card_.productEfficiency, "FLOP/s",
           "peak_bf16 x product_efficiency");
    derive("hbm_effective", card_.hbmEffective, "B/s", "hbm_bandwidth x hbm_efficiency");
    derive("hbm_usable", static_cast<double>(card_.usableHbm()), "B", "hbm - hbm_reserved");
    if (!request_.system) return figures;
    given(*request_.system);
    const double devices = network_.devices();
    derive("system_peak_bf16", devices * card_.peakBf16, "FLOP/s", "cards x peak_bf16");
    derive("system_hbm", devices * static_cast<double>(card_.usableHbm()), "B", "cards x usable HBM");
    derive("peer_bandwidth", network_.peerBytesPerSecond(), "B/s",
           "inside_bandwidth, in a mesh divided by the peers");
    return figures;
  }

  base::Result<LoweredDevice> lower(const std::vector<const compile::StagePlan*>& stages) const override {
    PIPESCOPE_CHECK(!stages.empty(), "no stages to lower");
    const compile::Mesh& mesh = stages.front()->mesh;
    const int place = stages.front()->place, device = mesh.chip(0, place);
    for (const compile::StagePlan* stage : stages)
      PIPESCOPE_CHECK(stage->place == place, "stages of different places are lowered one place at a time");
    if (device < 0 || device >= network_.devices()) {
      return base::badInput(fmt::format(
          "Stage {} is on device {}, but system \"{}\" has {} card{}; take a larger system or fewer devices.",
          stages.front()->index, device, request_.name, network_.devices(),
          network_.devices() == 1 ? "" : "s"));
    }
    const DescribedModel model({.card = card_, .network = network_, .mesh = mesh, .device = device});
    return hbm_card::lowerStages(stages, devices_[static_cast<std::size_t>(device)].name, model);
  }

  std::vector<Ticks> transferTicks(const std::vector<Flow>& concurrent) const override {
    std::vector<Ticks> ticks;
    for (const double seconds : network_.seconds(concurrent)) ticks.push_back(ticksOf(seconds));
    return ticks;
  }
  std::vector<std::int64_t> linksOf(const Flow& flow) const override { return network_.linksOf(flow); }
  bool takesProposals() const override { return false; }  // the framework fuses by itself
  std::vector<LinkInfo> route(int from, int to) const override { return {network_.linkBetween(from, to)}; }
  std::optional<std::int64_t> fusesAttentionFrom() const override { return card_.fusesAttentionFrom; }
  bool keepsInPlace() const override { return true; }
  bool gathersByBlock() const override { return true; }  // ZeRO-3 and FSDP: one module at a time
  /// Cards agree with a message there and one back.
  Ticks syncTicks(int devices) const override { return ticksOf(devices > 1 ? 2 * network_.latency() : 0); }
  Ticks callTicks() const override { return ticksOf(card_.callOverhead); }
  /// PyTorch's DistributedDataParallel: a first bucket of 1 MiB, then 25 MiB each (C: its defaults).
  std::vector<Bytes> gradientBuckets() const override { return {Bytes(1 << 20), Bytes(25 << 20)}; }

 private:
  Ticks ticksOf(double seconds) const { return base::ticksFromSeconds(seconds, card_.timebase()); }

  Card card_;
  Network network_;
  SystemRequest request_;
  std::vector<LinkInfo> links_;
  std::vector<DeviceInfo> devices_;
};

base::Result<std::shared_ptr<const System>> makeCardSystem(const SystemRequest& request,
                                                           const SystemOptions&) {
  PIPESCOPE_ASSIGN(Card card, readCard(request.chip));
  Network network;
  std::int64_t available = 1, largestBoxes = 1;
  if (request.system) {
    FigureReader figures(*request.system);
    const std::int64_t cards = figures.count("devices", "cards", 1024);
    largestBoxes = figures.countOr("max_boxes", "boxes", 4096, 1);
    available = cards * request.boxes;
    const std::int64_t wanted = request.devices == 0 ? available : std::min(request.devices, available);
    PIPESCOPE_ASSIGN(network, Network::read(figures, static_cast<int>(cards), static_cast<int>(wanted)));
  }
  if (request.boxes > largestBoxes) {
    return base::badInput(fmt::format("System \"{}\": there are at most {} box{} of it.", request.name,
                                      largestBoxes, largestBoxes == 1 ? "" : "es"));
  }
  if (request.devices > available) {
    return base::badInput(fmt::format(
        "System \"{}\" has {} card{}, but {} are wanted; take a system with more cards, or more boxes of "
        "it (NAMExBOXES).",
        request.name, available, available == 1 ? "" : "s", request.devices));
  }
  return std::shared_ptr<const System>(
      std::make_shared<CardSystem>(std::move(card), std::move(network), request));
}

}  // namespace
}  // namespace card

PIPESCOPE_REGISTER_FAMILY(card) {
  registry.add(
      "card",
      {.deviceNoun = "GPU", .accelerator = "cuda", .usualSystem = "dgx-h100", .make = card::makeCardSystem});
}

}  // namespace pipescope::devices
