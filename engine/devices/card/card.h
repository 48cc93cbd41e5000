#pragma once
// The figures of one card as plain numbers, read from the TOML that describes it.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/devices/core/figures.h"
#include "engine/devices/hbm_card/card_model.h"
#include "engine/graph/tensor_type.h"
#include "profiler/base/result.h"

namespace pipescope::devices::card {

using graph::ElementType;
using hbm_card::kTicksPerSecond;

struct Card : hbm_card::CardFigures {
  /// FLOP per second of products; 0: the card does not multiply the type.
  double peakBf16 = 1, peakFp32 = 1, peakFp16 = 0, peakFp8 = 0, peakFp4 = 0;
  double productEfficiency = 1;     ///< share of the peak that the largest products reach
  double productEfficiencyFp8 = 1;  ///< the same for float8
  double productEfficiencyFp4 = 1;  ///< the same for float4
  double productHalfFlops = 0;      ///< FLOP of the bfloat16 product that reaches half of this share
  std::int64_t productTile = 1;     ///< rows and columns of a product are padded to multiples of it
  double vectorFlops = 1;  ///< FLOP per second of float32 outside products; a multiply-add counts as two
  double onChipBytesPerSecond = 1, hbmBytesPerSecond = 1, hbmEffective = 1;
  std::int64_t fusesAttentionFrom = 1;
  bool skipsMaskedAttention = true;
  double kernelStart = 0, productStart = 0, graphLaunch = 0;  ///< seconds of the host
  /// Patterns (engine/compile/block_pattern.h) of the operators whose kernels the host starts as recorded
  /// graphs, where it issues the others one by one.
  std::vector<std::string> recorded;

  double peak(ElementType type) const;
  /// FLOP per second of the largest products of the type; 0: the card does not multiply it.
  double reachable(ElementType type) const;
  /// Seconds that a product takes to fill the card with work and to drain it. Clocks and latencies set them,
  /// so that they are the same for all types of factors.
  double fillSeconds() const { return productHalfFlops / reachable(ElementType::bfloat16); }
};

/// Applies execution.recorded_graphs: which kernels the host starts as recorded graphs. "auto": what the
/// card's figures say.
void recordGraphs(Card& card, const std::string& text);

/// Reads the figures of a card. Fails with a sentence that names the file and the key of a missing or
/// absurd figure.
base::Result<Card> readCard(const FigureFile& file);

}  // namespace pipescope::devices::card
