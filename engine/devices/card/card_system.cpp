// The family of cards that a file describes: matrix engines, vector engines, HBM and a network.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/devices/card/card.h"
#include "engine/devices/card/described_model.h"
#include "engine/devices/card/kernel.h"
#include "engine/devices/card/network.h"
#include "engine/devices/core/family.h"
#include "engine/devices/hbm_card/hbm_cards.h"

namespace pipescope::devices {
namespace card {
namespace {

/// Words for cards whose file states none. Frameworks use them for the cards of all vendors.
constexpr const char *kNoun = "GPU", *kAccelerator = "cuda";
constexpr const char *kExpertExchange = "expert_exchange", *kOverlapExperts = "overlap_experts",
                     *kRecordedGraphs = "recorded_graphs", *kOverlapTensor = "overlap_tensor";

class CardSystem final : public hbm_card::HbmCards {
 public:
  CardSystem(Card card, Network network, ExpertOptions experts, const std::string& noun,
             SystemRequest request)
      : HbmCards({.family = "card",
                  .noun = noun,
                  .accelerator = kAccelerator,
                  .laneTitles = {{model::LaneRole::matrix, "Matrix"},
                                 {model::LaneRole::vector, "Vector"},
                                 {model::LaneRole::copy, "Copy"},
                                 {model::LaneRole::network, "Network"}}},
                 std::move(request)),
        card_(std::move(card)),
        network_(std::move(network)),
        experts_(experts) {
    listDevices();
  }

  std::vector<Figure> figures() const override {
    std::vector<Figure> figures;
    const auto derive = [&](const char* name, double value, const char* unit, const char* from) {
      figures.push_back(readableFigure(name, value, unit, "X", from));
    };
    hbm_card::addFigures(request().chip, figures);
    derive("reachable_bf16", card_.peakBf16 * card_.productEfficiency, "FLOP/s",
           "peak_bf16 x product_efficiency");
    derive("hbm_effective", card_.hbmEffective, "B/s", "hbm_bandwidth x hbm_efficiency");
    derive("hbm_usable", static_cast<double>(card_.usableHbm()), "B", "hbm - hbm_reserved");
    if (!request().system) return figures;
    hbm_card::addFigures(*request().system, figures);
    const double devices = network_.devices();
    derive("system_peak_bf16", devices * card_.peakBf16, "FLOP/s", "cards x peak_bf16");
    derive("system_hbm", devices * static_cast<double>(card_.usableHbm()), "B", "cards x usable HBM");
    derive("peer_bandwidth", network_.peerBytesPerSecond(), "B/s",
           "inside_bandwidth, in a mesh divided by the peers");
    return figures;
  }
  bool skipsMaskedAttention() const override { return card_.skipsMaskedAttention; }
  std::optional<std::int64_t> fusesAttentionFrom() const override { return card_.fusesAttentionFrom; }
  /// C: TransformerEngine, pytorch/module/linear.py: is_first_microbatch
  bool keepsCastWeights() const override { return true; }
  /// C: Megatron-LM, core/distributed/param_and_grad_buffer.py: `grad_data` is allocated once.
  bool keepsGradientBuffers() const override { return true; }
  /// PyTorch's DistributedDataParallel: a first bucket of 1 MiB, then 25 MiB each (C: its defaults).
  std::vector<Bytes> gradientBuckets() const override { return {Bytes(1 << 20), Bytes(25 << 20)}; }

 private:
  const hbm_card::CardFigures& card() const override { return card_; }
  const hbm_card::Interconnect& interconnect() const override { return network_; }
  hbm_card::CollectiveTime timeOf(const ops::Collective& work, const std::vector<int>& group) const override {
    return collectiveTime(work, experts_, network_, group);
  }
  std::unique_ptr<hbm_card::CardModel> modelOf(const compile::Mesh& mesh, int device) const override {
    return std::make_unique<DescribedModel>(
        CardContext{.card = card_, .network = network_, .mesh = mesh, .device = device, .experts = experts_});
  }

  Card card_;
  Network network_;
  ExpertOptions experts_;
};

ExpertOptions expertOptions(const std::vector<FamilySetting>& settings) {
  ExpertOptions options;
  for (const FamilySetting& setting : settings) {
    if (setting.name == kExpertExchange) {
      const std::string& text = std::get<std::string>(setting.value);
      using enum ExpertOptions::Exchange;
      options.exchange = text == "copies" ? copies : text == "forwarded" ? forwarded : automatic;
    } else if (setting.name == kOverlapExperts) {
      options.overlap = std::get<double>(setting.value) != 0;
    } else if (setting.name == kOverlapTensor) {
      options.overlapTensor = std::get<double>(setting.value) != 0;
    }
  }
  return options;
}

base::Result<std::shared_ptr<const System>> makeCardSystem(const SystemRequest& request,
                                                           const SystemOptions& options) {
  PIPESCOPE_ASSIGN(Card card, readCard(request.chip));
  for (const FamilySetting& setting : options.settings) {
    if (setting.name == kRecordedGraphs) recordGraphs(card, std::get<std::string>(setting.value));
  }
  Network network;
  std::optional<FigureReader> figures;
  if (request.system) figures.emplace(*request.system);
  const hbm_card::CardCount count = hbm_card::countCards(request, figures ? &*figures : nullptr);
  if (figures) {
    PIPESCOPE_ASSIGN(network,
                     Network::read(*figures, static_cast<int>(count.perBox), static_cast<int>(count.wanted)));
  }
  PIPESCOPE_TRY(hbm_card::checkCards(request, count));
  const std::string noun = request.chip.noun.empty() ? kNoun : request.chip.noun;
  return std::shared_ptr<const System>(std::make_shared<CardSystem>(
      std::move(card), std::move(network), expertOptions(options.settings), noun, request));
}

}  // namespace
}  // namespace card

/// The figure of products is that of the best single product. In a step, cards under their power limit keep
/// lower clocks and products have less convenient shapes: on eight B200 whole steps reached 38 % of the peak
/// (newmind.ai, journal 18: Llama-3-70B) where a single product reaches 78 %. (R: half of that, as a
/// logarithm, is taken as the standard deviation.)
constexpr double kStepsBelowProducts = 0.35;

PIPESCOPE_REGISTER_FAMILY(card) {
  // Each property names the kind of measurement that depends on it most. A user whose measurements do not
  // determine the property reads which one to add.
  std::vector<CorrectedProperty> corrected = {
      {"peak_share",
       "share of the peak that products reach",
       {"product_efficiency", "product_efficiency_fp8", "product_efficiency_fp4"},
       1,
       true,
       "a row whose step is long because of products: more hidden width or more tokens, on one card",
       kStepsBelowProducts},
      {"bandwidth_share",
       "share of the bandwidth of HBM that kernels reach",
       {"hbm_efficiency"},
       1,
       true,
       "a row that reads much and multiplies little, such as generation with micro-batch 1, on one card"},
      {"kernel_start",
       "start of a kernel",
       {"kernel_start_in_graph", "kernel_start", "product_start"},
       0,
       false,
       "a row of a small model on one card, with a short sequence and micro-batch 1"},
      {"link_latency",
       "start of a step of a collective",
       {"inside_latency", "outside_latency"},
       0,
       false,
       "a row of a small model with tensor_parallel, whose collectives are many and short"},
      {"link_bandwidth",
       "share of the links that collectives reach",
       {"link_efficiency", "switch_sum_efficiency"},
       1,
       true,
       "a row with larger tensor_parallel, or the same model on fewer cards"},
      {"host_per_call",
       "time of the host between calls",
       {"call_overhead"},
       0,
       false,
       "a row with another gradient_accumulation, whose step has few micro-batches"}};
  registry.add("card", {.deviceNoun = card::kNoun,
                        .accelerator = card::kAccelerator,
                        .usualSystem = "dgx-h100",
                        .usualSchedule = "1f1b",
                        .usualChunkedSchedule = "interleaved-1f1b",
                        .settings = {card::kExpertExchange, card::kOverlapExperts, card::kOverlapTensor,
                                     card::kRecordedGraphs},
                        .namedByFile = true,
                        .corrected = std::move(corrected),
                        .reservedMemory = "hbm_reserved",
                        .make = card::makeCardSystem});
}

}  // namespace pipescope::devices
