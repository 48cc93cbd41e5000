// The Gaudi family: cards in boxes, which Ethernet joins.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "engine/devices/core/family.h"
#include "engine/devices/gaudi/card.h"
#include "engine/devices/gaudi/fabric.h"
#include "engine/devices/gaudi/gaudi_figures.h"
#include "engine/devices/gaudi/gaudi_model.h"
#include "engine/devices/hbm_card/card_lowering.h"
#include "profiler/base/check.h"

namespace pipescope::devices {
namespace gaudi {
namespace {

class GaudiSystem final : public System {
 public:
  GaudiSystem(Card card, Fabric fabric, SystemRequest request)
      : card_(std::move(card)),
        fabric_(std::move(fabric)),
        request_(std::move(request)),
        links_(fabric_.links()) {
    using model::LaneRole;
    for (int i = 0; i < fabric_.devices(); ++i) {
      DeviceInfo info;
      info.kind = card_.name;
      info.name = "HPU" + std::to_string(i);
      info.ticksPerSecond = kTicksPerSecond;
      info.units = 1;
      info.unitName = "card";
      info.lanes = {LaneRole::matrix, LaneRole::vector, LaneRole::copy, LaneRole::network, LaneRole::host};
      info.laneTitles = {{LaneRole::matrix, "MME"},
                         {LaneRole::vector, "TPC"},
                         {LaneRole::copy, "DMA"},
                         {LaneRole::network, "NIC"}};
      info.transferLane = LaneRole::network;
      info.memory = {{"hbm", 1, Bytes(card_.usableHbm()), Bytes(0)}};
      devices_.push_back(std::move(info));
      links_.push_back({-1, i, "host", card_.hostBytesPerSecond});
      links_.push_back({i, -1, "host", card_.hostBytesPerSecond});
    }
  }

  std::string family() const override { return "gaudi"; }
  SystemFacts facts() const override { return {.deviceNoun = "HPU", .accelerator = "hpu"}; }
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
    return gaudiFigures(card_, request_.chip, request_.system ? &*request_.system : nullptr, fabric_);
  }

  base::Result<LoweredDevice> lower(const std::vector<const compile::StagePlan*>& stages) const override {
    PIPESCOPE_CHECK(!stages.empty(), "no stages to lower");
    const compile::Mesh& mesh = stages.front()->mesh;
    const int place = stages.front()->place, device = mesh.chip(0, place);
    for (const compile::StagePlan* stage : stages)
      PIPESCOPE_CHECK(stage->place == place, "stages of different places are lowered one place at a time");
    if (device < 0 || device >= fabric_.devices()) {
      return base::badInput(fmt::format(
          "Stage {} is on device {}, but system \"{}\" has {} card{}; take a larger system or fewer devices.",
          stages.front()->index, device, request_.name, fabric_.devices(),
          fabric_.devices() == 1 ? "" : "s"));
    }
    const GaudiModel model({.card = card_, .fabric = fabric_, .mesh = mesh, .device = device});
    return hbm_card::lowerStages(stages, devices_[static_cast<std::size_t>(device)].name, model);
  }

  std::vector<Ticks> transferTicks(const std::vector<Flow>& concurrent) const override {
    std::vector<Ticks> ticks;
    for (const double seconds : fabric_.seconds(concurrent))
      ticks.push_back(base::ticksFromSeconds(seconds, card_.timebase()));
    return ticks;
  }
  std::vector<std::int64_t> linksOf(const Flow& flow) const override { return fabric_.linksOf(flow); }
  bool takesProposals() const override { return false; }  // the graph compiler of SynapseAI fuses by itself
  std::vector<LinkInfo> route(int from, int to) const override { return {fabric_.linkBetween(from, to)}; }
  /// Habana's FusedSDPA. Intel's published programs of 2,048 tokens and more use it (Model Performance Data
  /// for Gaudi 2 and 3; Optimum Habana, --use_flash_attention), those of BERT, ViT and Gemma with up to 1,024
  /// tokens do not.
  std::optional<std::int64_t> fusesAttentionFrom() const override { return 1025; }
  bool keepsInPlace() const override { return true; }
  bool gathersByBlock() const override { return true; }  // DeepSpeed's ZeRO-3: one module at a time
  /// Cards agree over Ethernet with a message there and one back.
  Ticks syncTicks(int devices) const override {
    return base::ticksFromSeconds(devices > 1 ? 2 * card_.collectiveLatency : 0, card_.timebase());
  }
  Ticks callTicks() const override { return base::ticksFromSeconds(card_.callOverhead, card_.timebase()); }
  /// PyTorch's DistributedDataParallel has a first bucket of 1 MiB, so that communication starts early. Those
  /// that follow are 230 MiB, the default of Optimum Habana for Gaudis (ddp_bucket_cap_mb).
  std::vector<Bytes> gradientBuckets() const override { return {Bytes(1 << 20), Bytes(230 << 20)}; }

 private:
  Card card_;
  Fabric fabric_;
  SystemRequest request_;
  std::vector<LinkInfo> links_;
  std::vector<DeviceInfo> devices_;
};

base::Result<std::shared_ptr<const System>> makeGaudiSystem(const SystemRequest& request,
                                                            const SystemOptions&) {
  PIPESCOPE_ASSIGN(Card card, readCard(request.chip));
  Fabric fabric(card);
  std::int64_t available = 1, largestBoxes = 1;
  if (request.system) {
    FigureReader figures(*request.system);
    const std::int64_t cards = figures.count("devices", "cards", 1024);
    largestBoxes = figures.countOr("max_boxes", "boxes", 16384, 1);
    available = cards * request.boxes;
    const std::int64_t wanted = request.devices == 0 ? available : std::min(request.devices, available);
    PIPESCOPE_ASSIGN(fabric, Fabric::read(card, figures, static_cast<int>(cards), static_cast<int>(wanted)));
  }
  if (request.boxes > largestBoxes) {
    return base::badInput(fmt::format("System \"{}\": there are at most {} box{} of it.", request.name,
                                      largestBoxes, largestBoxes == 1 ? "" : "es"));
  }
  if (request.devices > available) {
    return base::badInput(
        fmt::format("System \"{}\" has {} card{}, but {} are wanted; take more boxes ({}xBOXES).",
                    request.name, available, available == 1 ? "" : "s", request.devices,
                    request.system ? request.system->name : "hls-gaudi2"));
  }
  return std::shared_ptr<const System>(
      std::make_shared<GaudiSystem>(std::move(card), std::move(fabric), request));
}

}  // namespace
}  // namespace gaudi

PIPESCOPE_REGISTER_FAMILY(gaudi) {
  registry.add("gaudi", {.deviceNoun = "HPU",
                         .accelerator = "hpu",
                         .usualSystem = "hls-gaudi2",
                         .make = gaudi::makeGaudiSystem});
}

}  // namespace pipescope::devices
