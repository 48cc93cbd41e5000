// The Gaudi family: cards in boxes, which Ethernet joins.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/devices/core/family.h"
#include "engine/devices/gaudi/card.h"
#include "engine/devices/gaudi/fabric.h"
#include "engine/devices/gaudi/gaudi_figures.h"
#include "engine/devices/gaudi/gaudi_model.h"
#include "engine/devices/hbm_card/hbm_cards.h"

namespace pipescope::devices {
namespace gaudi {
namespace {

class GaudiSystem final : public hbm_card::HbmCards {
 public:
  GaudiSystem(Card card, Fabric fabric, SystemRequest request)
      : HbmCards({.family = "gaudi",
                  .noun = "HPU",
                  .accelerator = "hpu",
                  .laneTitles = {{model::LaneRole::matrix, "MME"},
                                 {model::LaneRole::vector, "TPC"},
                                 {model::LaneRole::copy, "DMA"},
                                 {model::LaneRole::network, "NIC"}}},
                 std::move(request)),
        card_(std::move(card)),
        fabric_(std::move(fabric)) {
    listDevices();
  }

  std::vector<Figure> figures() const override {
    return gaudiFigures(card_, request().chip, request().system ? &*request().system : nullptr, fabric_);
  }
  /// Habana's FusedSDPA. Intel's published programs of 2,048 tokens and more use it (Model Performance Data
  /// for Gaudi 2 and 3; Optimum Habana, --use_flash_attention), those of BERT, ViT and Gemma with up to 1,024
  /// tokens do not.
  std::optional<std::int64_t> fusesAttentionFrom() const override { return 1025; }
  /// PyTorch's DistributedDataParallel has a first bucket of 1 MiB, so that communication starts early. Those
  /// that follow are 230 MiB, the default of Optimum Habana for Gaudis (ddp_bucket_cap_mb).
  std::vector<Bytes> gradientBuckets() const override { return {Bytes(1 << 20), Bytes(230 << 20)}; }

 private:
  const hbm_card::CardFigures& card() const override { return card_; }
  const hbm_card::Interconnect& interconnect() const override { return fabric_; }
  hbm_card::CollectiveTime timeOf(const ops::Collective& work, const std::vector<int>& group) const override {
    return fabric_.collectiveTime(work, group);
  }
  std::unique_ptr<hbm_card::CardModel> modelOf(const compile::Mesh& mesh, int device) const override {
    return std::make_unique<GaudiModel>(
        GaudiLoweringContext{.card = card_, .fabric = fabric_, .mesh = mesh, .device = device});
  }

  Card card_;
  Fabric fabric_;
};

base::Result<std::shared_ptr<const System>> makeGaudiSystem(const SystemRequest& request,
                                                            const SystemOptions&) {
  PIPESCOPE_ASSIGN(Card card, readCard(request.chip));
  Fabric fabric(card);
  std::optional<FigureReader> figures;
  if (request.system) figures.emplace(*request.system);
  const hbm_card::CardCount count = hbm_card::countCards(request, figures ? &*figures : nullptr);
  if (figures) {
    PIPESCOPE_ASSIGN(
        fabric, Fabric::read(card, *figures, static_cast<int>(count.perBox), static_cast<int>(count.wanted)));
  }
  PIPESCOPE_TRY(hbm_card::checkCards(request, count));
  return std::shared_ptr<const System>(
      std::make_shared<GaudiSystem>(std::move(card), std::move(fabric), request));
}

}  // namespace
}  // namespace gaudi

PIPESCOPE_REGISTER_FAMILY(gaudi) {
  std::vector<CorrectedProperty> corrected = {
      {"peak_share",
       "clock of the matrix engines",
       {"mme_clock", "mme_sustained_clock"},
       0,
       true,
       "a row whose step is long because of products: more hidden width or more tokens, on one card"},
      {"bandwidth_share",
       "share of the bandwidth of HBM that kernels reach",
       {"hbm_efficiency"},
       1,
       true,
       "a row that reads much and multiplies little, such as generation with micro-batch 1, on one card"},
      {"kernel_start",
       "start of a kernel",
       {"kernel_overhead"},
       0,
       false,
       "a row of a small model on one card, with a short sequence and micro-batch 1"},
      {"link_latency",
       "start of a collective",
       {"collective_latency"},
       0,
       false,
       "a row of a small model with tensor_parallel, whose collectives are many and short"},
      {"link_bandwidth",
       "share of the links that collectives reach",
       {"collective_efficiency"},
       1,
       true,
       "a row with larger tensor_parallel, or the same model on fewer cards"},
      {"host_per_call",
       "time of the host between calls",
       {"call_overhead"},
       0,
       false,
       "a row with another gradient_accumulation, whose step has few micro-batches"}};
  registry.add("gaudi", {.deviceNoun = "HPU",
                         .accelerator = "hpu",
                         .usualSystem = "hls-gaudi2",
                         .corrected = std::move(corrected),
                         .reservedMemory = "hbm_reserved",
                         .make = gaudi::makeGaudiSystem});
}

}  // namespace pipescope::devices
