#pragma once
// A system of cards with HBM, as far as it is the same for all families.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/core/family.h"
#include "engine/devices/hbm_card/card_model.h"
#include "engine/devices/hbm_card/interconnect.h"
#include "profiler/base/result.h"

namespace pipescope::devices::hbm_card {

/// Words of a family.
struct CardWords {
  std::string family, noun, accelerator;
  std::map<model::LaneRole, std::string> laneTitles;
};

/// Cards of a request: those of a box, those that it takes, and those that there are.
struct CardCount {
  std::int64_t perBox = 1, wanted = 1, available = 1, mostBoxes = 1;
};
/// Reads the figures `devices` and `max_boxes` of the system; null: a card alone. It takes no more cards than
/// there are.
CardCount countCards(const SystemRequest& request, FigureReader* system);
/// Refuses more cards or boxes than there are.
base::Status checkCards(const SystemRequest& request, const CardCount& count);

/// The figures that a file states.
void addFigures(const FigureFile& file, std::vector<Figure>& figures);

class HbmCards : public System {
 public:
  std::string family() const override { return words_.family; }
  SystemFacts facts() const override {
    return {.deviceNoun = words_.noun, .accelerator = words_.accelerator};
  }
  std::string name() const override { return request_.name; }
  std::string description() const override;
  const std::vector<DeviceInfo>& devices() const override { return devices_; }
  const std::vector<LinkInfo>& links() const override { return links_; }
  std::optional<Float8Support> float8() const override { return card().float8; }
  base::Result<LoweredDevice> lower(const std::vector<const compile::StageIr*>& stages) const override;
  std::vector<Ticks> transferTicks(const std::vector<Flow>& concurrent) const override;
  std::vector<std::int64_t> linksOf(const Flow& flow) const override { return interconnect().linksOf(flow); }
  std::vector<LinkShare> linkShares(const ops::Collective& work, int device,
                                    const std::vector<int>& group) const override {
    if (group.size() < 2) return {};
    return interconnect().shares(work, timeOf(work, group), device, group);
  }
  int period() const override { return interconnect().cardsPerBox(); }
  bool takesProposals() const override { return false; }  // the framework fuses by itself
  std::vector<LinkInfo> route(int from, int to) const override {
    return {interconnect().linkBetween(from, to)};
  }
  bool keepsInPlace() const override { return true; }
  bool recomputesPipelines() const override { return false; }
  bool copiesWeights() const override { return true; }   // tied embeddings of Megatron-LM and DeepSpeed
  bool gathersByBlock() const override { return true; }  // ZeRO-3 and FSDP: one module at a time
  /// Cards agree with a message there and one back.
  Ticks syncTicks(int devices) const override {
    return ticksOf(devices > 1 ? 2 * interconnect().latency() : 0);
  }
  Ticks callTicks() const override { return ticksOf(card().callOverhead); }

 protected:
  HbmCards(CardWords words, SystemRequest request) : words_(std::move(words)), request_(std::move(request)) {}
  /// Lists devices and links; a family calls it when card() and interconnect() are there.
  void listDevices();

  virtual const CardFigures& card() const = 0;
  virtual const Interconnect& interconnect() const = 0;
  /// Seconds of a collective among these cards.
  virtual CollectiveTime timeOf(const ops::Collective& work, const std::vector<int>& group) const = 0;
  /// The model of one card, for its collectives. It must not outlive the system.
  virtual std::unique_ptr<CardModel> modelOf(const compile::Mesh& mesh, int device) const = 0;
  const SystemRequest& request() const { return request_; }

 private:
  Ticks ticksOf(double seconds) const { return base::ticksFromSeconds(seconds, card().timebase()); }

  CardWords words_;
  SystemRequest request_;
  std::vector<LinkInfo> links_;
  std::vector<DeviceInfo> devices_;
};

}  // namespace pipescope::devices::hbm_card
