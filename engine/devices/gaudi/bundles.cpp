#include "engine/devices/gaudi/bundles.h"

#include <algorithm>
#include <map>

namespace pipescope::devices::gaudi {
namespace {

/// Most products of a bundle that share an operand, as query, key and value do. (C: nMMEToBundle in
/// pipeline_bundlizer.h, IsValidSeedSize in bundle_break_rules.cpp.)
constexpr std::size_t kMostProducts = 3;

using hbm_card::Engine;
using hbm_card::ListedKernel;
using Kernels = std::vector<std::size_t>;

class Bundler {
 public:
  Bundler(const Card& card, const compile::StageIr& stage, const KernelList& list)
      : card_(card),
        stage_(stage),
        list_(list),
        makers_(list.kernels.size()),
        takers_(list.kernels.size()),
        after_(list.kernels.size()),
        bundle_(list.kernels.size(), -1) {
    connect();
  }

  std::vector<std::int32_t> bundles() {
    bundleFused();
    if (card_.layeredBundles) {
      for (std::size_t k = 0; k < bundle_.size(); ++k) joinProductsAround(k);
    }
    for (const std::size_t least : {2, 1}) {
      for (std::size_t k = 0; k < bundle_.size(); ++k) seed(k, least);
    }
    for (const Kernels& products : seeds_) expand(products);
    return std::move(bundle_);
  }

 private:
  bool runsOn(std::size_t kernel, Engine engine) const {
    return list_.kernels[kernel].kernel.engine == engine;
  }
  bool isFree(std::size_t kernel, Engine engine) const {
    return bundle_[kernel] < 0 && runsOn(kernel, engine);
  }

  /// Slices go from a kernel to the next one, unless its result is known only at the end, or the next one
  /// reads it from the start again.
  void connect() {
    std::map<std::size_t, std::size_t> makerOf;
    for (std::size_t k = 0; k < list_.kernels.size(); ++k) {
      const ListedKernel& kernel = list_.kernels[k];
      for (const std::size_t tensor : kernel.reads) {
        if (runsOn(k, Engine::matrix)) readers_[tensor].push_back(k);
        const auto found = makerOf.find(tensor);
        if (found == makerOf.end()) continue;
        const bool again =
            std::find(kernel.readsAgain.begin(), kernel.readsAgain.end(), tensor) != kernel.readsAgain.end();
        add(found->second, k, !again && !list_.kernels[found->second].kernel.barrier);
      }
      if (kernel.continues >= 0 && k > 0) add(k - 1, k, !list_.kernels[k - 1].kernel.barrier);
      for (const std::size_t tensor : kernel.makes) makerOf[tensor] = k;
    }
  }

  void add(std::size_t maker, std::size_t taker, bool slices) {
    after_[maker].push_back(taker);
    if (!slices) return;
    makers_[taker].push_back(maker);
    takers_[maker].push_back(taker);
  }

  /// Marks the kernels up to `last` that need what this one makes, over any number of kernels. A kernel only
  /// needs what earlier ones make.
  void markAfter(std::size_t kernel, std::size_t last, std::vector<bool>& marked) const {
    Kernels open{kernel};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const std::size_t next : after_[at]) {
        if (next > last || marked[next]) continue;
        marked[next] = true;
        open.push_back(next);
      }
    }
  }

  std::int64_t largest(const Kernels& tensors) const {
    std::int64_t bytes = 0;
    for (const std::size_t tensor : tensors)
      bytes = std::max(bytes, stage_.tensors.items()[tensor].type.bytes().count);
    return bytes;
  }

  void bundle(const Kernels& kernels) {
    for (const std::size_t kernel : kernels) bundle_[kernel] = count_;
    ++count_;
  }

  /// The kernels of a fused operator hand each other slices.
  void bundleFused() {
    for (std::size_t k = 0; k < bundle_.size(); ++k) {
      const int part = list_.kernels[k].part;
      if (part < 0 || bundle_[k] >= 0) continue;
      Kernels all;
      for (std::size_t next = k; next < bundle_.size() && list_.kernels[next].part == part; ++next)
        all.push_back(next);
      bundle(all);
    }
  }

  /// A product that makes more than it reads, what a TPC does with it, and a product that makes less than it
  /// reads, as in attention. Nothing else joins such a bundle. (C: bundle_seed_collectors.cpp.)
  void joinProductsAround(std::size_t kernel) {
    if (!isFree(kernel, Engine::vector)) return;
    for (const std::size_t before : makers_[kernel]) {
      if (!isFree(before, Engine::matrix) || !makesMore(before)) continue;
      for (const std::size_t next : takers_[kernel]) {
        if (!isFree(next, Engine::matrix) || !makesLess(next)) continue;
        return bundle({before, kernel, next});
      }
    }
  }
  bool makesMore(std::size_t k) const {
    return largest(list_.kernels[k].makes) > largest(list_.kernels[k].reads);
  }
  bool makesLess(std::size_t k) const {
    return largest(list_.kernels[k].makes) < largest(list_.kernels[k].reads);
  }

  /// Begins a bundle with a product and, from two products on, with others that read the same operand.
  void seed(std::size_t kernel, std::size_t least) {
    if (!isFree(kernel, Engine::matrix)) return;
    Kernels products{kernel};
    if (least > 1) {
      for (const std::size_t operand : list_.kernels[kernel].reads) {
        const Kernels sharing = sharingWith(kernel, operand);
        if (sharing.size() >= least && (products.size() == 1 || sharing.size() < products.size()))
          products = sharing;
      }
    }
    if (products.size() < least) return;
    bundle(products);
    seeds_.push_back(std::move(products));
  }

  /// The product, and free ones behind it that read the operand and need nothing of each other.
  Kernels sharingWith(std::size_t kernel, std::size_t operand) const {
    Kernels sharing{kernel};
    std::vector<bool> after;
    const std::vector<std::size_t>& readers = readers_.at(operand);
    for (const std::size_t other : readers) {
      if (sharing.size() == kMostProducts) break;
      if (other <= kernel || !isFree(other, Engine::matrix)) continue;
      if (after.empty()) {
        after.resize(bundle_.size());
        markAfter(kernel, readers.back(), after);
      }
      if (after[other]) continue;
      sharing.push_back(other);
      markAfter(other, readers.back(), after);
    }
    return sharing;
  }

  /// A bundle takes in the kernels of TPCs that make its operands or use its results, as long as no other
  /// bundle has them. On Gaudi3 those that use results come first. (C: ENABLE_LB_PREFER_CONSUMERS in
  /// brain_conf.cpp, getMmeWithTpcExpansionsBundle in pipeline_bundlizer.cpp.)
  void expand(const Kernels& products) {
    takeIn(products, card_.layeredBundles ? takers_ : makers_);
    takeIn(products, card_.layeredBundles ? makers_ : takers_);
  }

  void takeIn(const Kernels& products, const std::vector<Kernels>& neighbours) {
    for (const std::size_t product : products) {
      for (const std::size_t neighbour : neighbours[product]) {
        if (isFree(neighbour, Engine::vector)) bundle_[neighbour] = bundle_[product];
      }
    }
  }

  const Card& card_;
  const compile::StageIr& stage_;
  const KernelList& list_;
  std::vector<Kernels> makers_, takers_;    ///< kernels from and to which slices can go, for each kernel
  std::vector<Kernels> after_;              ///< all kernels that need the results of each kernel
  std::map<std::size_t, Kernels> readers_;  ///< products that read each tensor
  std::vector<Kernels> seeds_;
  std::vector<std::int32_t> bundle_;
  std::int32_t count_ = 0;
};

}  // namespace

std::vector<std::int32_t> bundlesOf(const Card& card, const compile::StageIr& stage, const KernelList& list) {
  return Bundler(card, stage, list).bundles();
}

}  // namespace pipescope::devices::gaudi
