#include "app/plan/dimension_estimate.h"

#include <algorithm>
#include <cmath>

namespace pipescope::app {
namespace {

using plan::Division;

bool inOrderOnce(const Division& d) {
  return d.schedule == "1f1b" || d.schedule == "gpipe" || d.schedule == "popart";
}

/// The most chips that hold the same weights.
std::int64_t holdersOf(const Division& d) {
  return std::max(d.holders, d.replicas);
}

plan::Value boundOf(const RankCosts& rank, const Division& d) {
  const double work = d.training ? rank.leastWork : rank.leastForward;
  // A stage need not compute its last product again.
  const double again = d.training && d.recompute == "pipeline"
                           ? std::max(0.0, rank.leastForward - static_cast<double>(d.places * d.chunks) *
                                                                   rank.leastForwardOfBlock)
                           : 0;
  double ticks = static_cast<double>(d.microBatches) * plan::leastLongestPlace(work, again, d.places);
  if (inOrderOnce(d)) ticks = std::max(ticks, plan::leastPipelineTime(work, d.microBatches, d.places));
  const double held = plan::leastHeldBytes(rank.held(), d.places, holdersOf(d), d.zero, d.microBatches);
  constexpr double kRounding = 1 - 1e-9;
  plan::Value bound;
  bound.missing = static_cast<std::int64_t>(std::max(0.0, kRounding * held - rank.room));
  bound.time = static_cast<std::int64_t>(kRounding * ticks * static_cast<double>(d.iterations));
  return bound;
}

/// Bytes per tick at which a chip exchanges with the same rank of other replicas.
double rateOverReplicas(const RankCosts& rank, const Division& d) {
  const auto stride = static_cast<int>(d.placesOutermost ? d.width : d.width * d.places);
  const int last = stride * static_cast<int>(d.replicas - 1);
  const auto chips = static_cast<int>(rank.system->devices().size());
  if (d.replicas < 2 || last >= chips || chips < 2) return 0;
  const base::Bytes bytes(1 << 26);
  const auto rate = [&](int to) {
    const std::int64_t ticks = rank.system->transferTicks({devices::Flow{0, to, bytes}}).front().count;
    return static_cast<double>(bytes.count) / static_cast<double>(std::max<std::int64_t>(1, ticks));
  };
  // The replicas that are as near as a neighbour share the way to the others.
  const double neighbour = rate(1), farthest = rate(last);
  std::int64_t near = 1;
  while (near < std::min<std::int64_t>(d.replicas, 8) &&
         rate(stride * static_cast<int>(near)) >= 0.99 * neighbour)
    ++near;
  if (farthest < 0.99 * neighbour) return farthest * static_cast<double>(near);
  return neighbour * static_cast<double>(std::max<std::int64_t>(1, near - 1));
}

struct Shares {
  double weights, optimizer, accumulators;
};
Shares sharesOf(const Division& d) {
  const auto share = [&](std::int64_t from) {
    return d.zero >= from ? 1 / static_cast<double>(holdersOf(d)) : 1.0;
  };
  return {share(3), share(1), d.microBatches > 1 ? share(2) : 0.0};
}

double estimatedTicks(const RankCosts& rank, const Division& d) {
  const bool keeps = d.recompute == "none" || d.recompute == "selective";
  const bool again = d.training && (d.places > 1 ? !keeps : d.recompute == "checkpoints");
  // Several stages of a place even each other out.
  double place =
      static_cast<double>(plan::longestOfBlocks(rank.blocks, static_cast<std::size_t>(d.places), again));
  const auto rounds =
      static_cast<double>(d.microBatches) + plan::expectedFill(d.schedule, d.places, d.chunks);
  double beside = 0;
  const double rate = d.training ? rateOverReplicas(rank, d) : 0;
  if (rate > 0) {
    const auto replicas = static_cast<double>(d.replicas), places = static_cast<double>(d.places);
    const double part = (replicas - 1) / replicas / rate * rank.units / places;
    const double weights = part * rank.weights.all;
    // Weights that are shared out are gathered for each pass. Gradients, in the type of the weights, are
    // scattered after each backward pass.
    if (d.zero >= 3) place += 3 * weights;
    if (d.zero == 2 && d.microBatches > 1) place += weights;
    if (d.zero < 2) beside += std::max(0.0, 2 * weights - place / 2);
    if (d.zero == 1 || d.zero == 2) beside += weights;
  }
  const double update = d.training ? rank.update.all / static_cast<double>(d.places) *
                                         (d.zero >= 1 ? 1 / static_cast<double>(holdersOf(d)) : 1)
                                   : 0;
  return (rounds * place + beside + update) * static_cast<double>(d.iterations);
}

double estimatedBytes(const RankCosts& rank, const Division& d) {
  const Shares share = sharesOf(d);
  const auto perLayer = [&](const LayeredFigure& f) { return f.layer; };
  const auto rest = [&](const LayeredFigure& f) {
    return f.all - f.layer * static_cast<double>(rank.layers);
  };
  const auto held = [&](auto part) {
    return share.weights * part(rank.weights) + share.optimizer * part(rank.optimizer) +
           share.accumulators * part(rank.accumulators);
  };
  const auto wholly = [&](auto part) {
    return part(rank.weights) + part(rank.optimizer) + (d.training ? part(rank.accumulators) : 0);
  };
  const auto places = static_cast<double>(d.places);
  const double layers = std::ceil(static_cast<double>(rank.layers) / places);
  const double ofLayer = std::max(0.0, rank.used.layer - wholly(perLayer));
  const double ofRest = std::max(0.0, rest(rank.used) - wholly(rest));
  const auto activations = [&](double inFlight) {
    if (!d.training) return rank.used.layer - wholly(perLayer);
    if (d.recompute == "none") return inFlight * layers * ofLayer;
    if (d.recompute == "selective")
      return inFlight * layers * std::max(0.0, ofLayer - d.scoreBytes) + d.scoreBytes;
    if (d.recompute == "checkpoints") return inFlight * layers * rank.boundary + ofLayer;
    if (d.places == 1) return layers * ofLayer;
    return inFlight * static_cast<double>(d.chunks) * rank.boundary +
           layers / static_cast<double>(d.chunks) * ofLayer;
  };
  double bytes = layers * held(perLayer);
  if (d.zero >= 3) bytes += 2 * rank.weights.layer;
  if (d.places == 1) return bytes + held(rest) + ofRest + activations(1);
  const double first = activations(plan::expectedInFlight(d.schedule, d.places, d.chunks, d.microBatches));
  const double last = ofRest + layers * ofLayer;
  return bytes + held(rest) / 2 + std::max(first, d.training ? last : ofRest);
}

}  // namespace

plan::Prospect prospectOf(const RankCosts& rank, const Division& division) {
  plan::Prospect prospect;
  prospect.bound = boundOf(rank, division);
  prospect.estimate.missing =
      static_cast<std::int64_t>(std::max(0.0, estimatedBytes(rank, division) - rank.room));
  prospect.estimate.time = static_cast<std::int64_t>(std::min(9e18, estimatedTicks(rank, division)));
  return prospect;
}

}  // namespace pipescope::app
