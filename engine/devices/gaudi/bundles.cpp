#include "engine/devices/gaudi/bundles.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>

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
      seedAll();
      for (const Kernels& products : seeds_) takeInAll(products, {&takers_, &makers_});
    } else if (!card_.pipelinedBundles) {
      seedAll();
      for (const Kernels& products : seeds_) takeInAll(products, {&makers_, &takers_});
    } else if (convolves()) {
      bundleConvolutions();
    } else {
      bundleProducts();
    }
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

  void seedAll() {
    for (const std::size_t least : {2, 1}) {
      for (std::size_t k = 0; k < bundle_.size(); ++k) seed(k, least);
    }
  }

  /// A bundle takes in the kernels of TPCs that make its operands or use its results, as long as no other
  /// bundle has them. On Gaudi3 those that use results come first. (C: ENABLE_LB_PREFER_CONSUMERS in
  /// brain_conf.cpp; BundleExpansion in bundlizer.cpp for Gaudi.)
  void takeInAll(const Kernels& products, std::initializer_list<const std::vector<Kernels>*> sides) {
    for (const std::vector<Kernels>* neighbours : sides) {
      for (const std::size_t product : products) {
        for (const std::size_t neighbour : (*neighbours)[product]) {
          if (isFree(neighbour, Engine::vector)) bundle_[neighbour] = bundle_[product];
        }
      }
    }
  }

  /// True if convolutions are at least as many as other products. (C: findBestBundlingPolicyForGraph in
  /// pipeline_management.cpp.)
  bool convolves() const {
    std::ptrdiff_t more = 0;
    for (const ListedKernel& kernel : list_.kernels) {
      if (kernel.kernel.engine == Engine::matrix) more += kernel.kernel.product.convolution ? 1 : -1;
    }
    return more >= 0;
  }

  /// Bundles of Gaudi2 for graphs of convolutions: one product, what makes the operand that is sliced, and
  /// one kernel that uses the result. The gradient of an input comes first, and takes along the gradient of
  /// the weight that reads the same slices. (C: TPCExpansionsAndSharedMMEBundlizer.)
  void bundleConvolutions() {
    for (const bool inputGradients : {true, false}) {
      for (std::size_t k = 0; k < bundle_.size(); ++k) {
        if (!isFree(k, Engine::matrix) || isInputGradient(k) != inputGradients) continue;
        bundle({k});
        takeMakers(k, slicedOperand(k));
        takeFirstTaker(k, [](std::size_t) { return true; });
        if (inputGradients) takeWeightGradient(k);
      }
    }
  }

  bool isInputGradient(std::size_t k) const {
    return list_.kernels[k].kernel.product.phase == ops::Contraction::Phase::inputGradient;
  }

  void takeWeightGradient(std::size_t inputGradient) {
    const std::size_t sliced = slicedOperand(inputGradient);
    if (sliced == SIZE_MAX) return;
    for (const std::size_t other : readers_.at(sliced)) {
      if (!isFree(other, Engine::matrix) ||
          list_.kernels[other].kernel.product.phase != ops::Contraction::Phase::weightGradient)
        continue;
      bundle_[other] = bundle_[inputGradient];
      return;
    }
  }

  /// Bundles of Gaudi2 for all other graphs. Products that share an operand come first, and nothing that uses
  /// their results joins them. A bundle of one product takes in one kernel that uses its result, unless a
  /// product that comes later can be fed slices of it. (C: MantaRayBundlizer.)
  void bundleProducts() {
    for (const std::size_t least : {2, 1}) {
      for (std::size_t k = 0; k < bundle_.size(); ++k) {
        const std::size_t before = seeds_.size();
        seed(k, least);
        if (seeds_.size() == before) continue;
        const Kernels& products = seeds_.back();
        const std::size_t sliced = products.size() > 1 ? sharedOperand(products) : slicedOperand(k);
        for (const std::size_t product : products) takeMakers(product, sliced);
        if (products.size() > 1) continue;
        takeFirstTaker(k, [&](std::size_t kernel) { return !canFeedProduct(kernel); });
      }
    }
  }

  std::size_t sharedOperand(const Kernels& products) const {
    for (const std::size_t operand : list_.kernels[products[0]].reads) {
      const std::vector<std::size_t>& second = list_.kernels[products[1]].reads;
      if (std::find(second.begin(), second.end(), operand) != second.end()) return operand;
    }
    return SIZE_MAX;
  }

  /// Returns the operand that is cut into slices. The other one is there as a whole when the product begins.
  /// If kernels of TPCs make just one of the two, that one is cut, else the larger one. (C:
  /// selectMmeInputToSliceBySize.)
  std::size_t slicedOperand(std::size_t k) const {
    Kernels made;
    for (const std::size_t operand : list_.kernels[k].reads) {
      if (!freeMakers(k, operand).empty()) made.push_back(operand);
    }
    if (made.size() == 1) return made[0];
    std::size_t largestOperand = SIZE_MAX;
    for (const std::size_t operand : list_.kernels[k].reads) {
      if (largestOperand == SIZE_MAX || largest({operand}) > largest({largestOperand}))
        largestOperand = operand;
    }
    return largestOperand;
  }

  Kernels freeMakers(std::size_t k, std::size_t operand) const {
    Kernels found;
    for (const std::size_t maker : makers_[k]) {
      const std::vector<std::size_t>& makes = list_.kernels[maker].makes;
      if (isFree(maker, Engine::vector) && std::find(makes.begin(), makes.end(), operand) != makes.end())
        found.push_back(maker);
    }
    return found;
  }

  /// Adds the kernels that make the sliced operand to the product's bundle. Batched products slice both
  /// operands, by their batches. A kernel that makes an operand which is not sliced ends before the product
  /// begins.
  void takeMakers(std::size_t k, std::size_t sliced) {
    for (const std::size_t operand : list_.kernels[k].reads) {
      if (operand != sliced && !list_.kernels[k].kernel.product.batched) continue;
      for (const std::size_t maker : freeMakers(k, operand)) bundle_[maker] = bundle_[k];
    }
  }

  template <typename May>
  void takeFirstTaker(std::size_t k, May may) {
    for (const std::size_t taker : takers_[k]) {
      if (!isFree(taker, Engine::vector) || !may(taker)) continue;
      bundle_[taker] = bundle_[k];
      return;
    }
  }

  /// True if a product that is in no bundle yet takes slices of what the kernel makes, directly or by way of
  /// other kernels of TPCs. (C: consumerCanBeProducer in pipeline_bundlizer.cpp.)
  bool canFeedProduct(std::size_t kernel) const {
    Kernels open{kernel};
    std::set<std::size_t> seen{kernel};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const std::size_t next : takers_[at]) {
        if (isFree(next, Engine::matrix)) return true;
        if (isFree(next, Engine::vector) && seen.insert(next).second) open.push_back(next);
      }
    }
    return false;
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
