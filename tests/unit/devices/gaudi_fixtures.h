#pragma once
// Cards, boxes and kernels for the tests of the Gaudi family.
#include <utility>

#include "engine/devices/gaudi/card.h"
#include "engine/devices/gaudi/fabric.h"
#include "engine/devices/gaudi/gaudi_model.h"
#include "engine/devices/gaudi/kernel.h"
#include "ipu_fixtures.h"

namespace pipescope::devices::testing {

inline gaudi::Card cardOf(const std::string& name, const std::filesystem::path& userFolder = {}) {
  return gaudi::readCard(DeviceFiles(userFolder).chip(name).value()).value();
}

inline gaudi::Fabric fabricOf(const std::string& system, int devices) {
  const FigureFile file = DeviceFiles({}).system(system).value();
  const gaudi::Card card = cardOf(file.chip);
  FigureReader figures(file);
  const auto cards = static_cast<int>(figures.count("devices", "cards", 1024));
  figures.countOr("max_boxes", "boxes", 16384, 1);
  return gaudi::Fabric::read(card, figures, cards, devices).value();
}

/// Lowers one piece of Work on a card.
class CardLowering {
 public:
  explicit CardLowering(const std::string& card) : CardLowering(cardOf(card)) {}
  explicit CardLowering(gaudi::Card card) : card_(std::move(card)), fabric_(card_) {}
  base::Result<hbm_card::EngineKernel> tryLower(const ops::WorkItem& item) const {
    return gaudi::lowerWork(item, {.card = card_, .fabric = fabric_, .what = "layer"});
  }
  hbm_card::EngineKernel lower(const ops::WorkItem& item) const {
    auto lowered = tryLower(item);
    EXPECT_TRUE(lowered.ok()) << (lowered.ok() ? "" : lowered.error().message);
    return lowered.ok() ? *lowered : hbm_card::EngineKernel{};
  }
  std::string refusal(const ops::WorkItem& item) const {
    const auto lowered = tryLower(item);
    EXPECT_FALSE(lowered.ok());
    return lowered.ok() ? "" : lowered.error().message;
  }
  const gaudi::Card& card() const { return card_; }

 private:
  gaudi::Card card_;
  gaudi::Fabric fabric_;
};

}  // namespace pipescope::devices::testing
