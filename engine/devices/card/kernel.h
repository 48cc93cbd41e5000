#pragma once
// Lowers one piece of Work to a kernel of a described card. One overload lowers one kind of Work, so a new
// kind does not compile without one.
#include <string>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/devices/card/card.h"
#include "engine/devices/card/network.h"
#include "engine/devices/hbm_card/engine_kernel.h"
#include "engine/ops/core/work.h"
#include "profiler/base/result.h"

namespace pipescope::devices::card {

using hbm_card::Engine;
using hbm_card::EngineKernel;

/// Options of a program that decide how cards exchange tokens with experts, and what collectives overlap.
struct ExpertOptions {
  /// Each chosen expert gets a copy of a token; each box and card gets one (expert_exchange.h); or the latter
  /// where the experts lie in several boxes.
  enum class Exchange { automatic, copies, forwarded } exchange = Exchange::automatic;
  /// The exchanges of a micro-batch run beside the computing of another one.
  bool overlap = false;
  /// Gathers and scatters of tensor ranks run beside the products that use and make them, part by part.
  bool overlapTensor = false;
};

struct CardContext {
  const Card& card;
  const Network& network;
  compile::Mesh mesh;  ///< says which cards take part in a collective
  int device = 0;
  ExpertOptions experts = {};
  std::string what = {};  ///< the operator, for error sentences
};

/// Seconds of a collective among these cards.
hbm_card::CollectiveTime collectiveTime(const ops::Collective& work, const ExpertOptions& experts,
                                        const Network& network, const std::vector<int>& group);

/// Lowers one execution of the Work; the caller applies the repeat count. Fails with a sentence if the card
/// cannot do it.
base::Result<EngineKernel> lowerWork(const ops::WorkItem& item, const CardContext& context);

/// Seconds of the vector engines for `elements`, each of which takes `instructions`. Elements of every type
/// are computed in float32.
double vectorSeconds(const Card& card, std::int64_t elements, double instructions);

/// Seconds of a product: F / (peak × efficiency) with F the FLOP of the padded product, and the time that a
/// bfloat16 product of `product_half_size` takes at that rate, for half of the efficiency is lost there. So
/// an ever larger product comes near F / (peak × efficiency), and none is faster than that.
double productSeconds(const Card& card, const ops::Contraction& work);

}  // namespace pipescope::devices::card
