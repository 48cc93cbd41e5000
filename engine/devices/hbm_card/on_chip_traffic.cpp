#include "engine/devices/hbm_card/on_chip_traffic.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/devices/hbm_card/card_model.h"

namespace pipescope::devices::hbm_card {
namespace {

class TrafficCounter {
 public:
  TrafficCounter(const CardModel& model, const compile::StageIr& stage, const StageUses& uses,
                 const KernelList& list)
      : card_(model.figures()),
        uses_(uses),
        list_(list),
        bundles_(model.bundlesOf(stage, list)),
        traffic_(list.kernels.size()) {}

  std::vector<Traffic> count() {
    for (std::size_t k = 0; k < list_.kernels.size(); ++k) read(k);
    for (std::size_t k = 0; k < list_.kernels.size(); ++k) write(k);
    return std::move(traffic_);
  }

 private:
  struct Place {
    std::int64_t touched = -1;  ///< bytes that had passed when it was last used; −1: never used
    std::size_t maker = SIZE_MAX;
    bool readFromHbm = false;
    bool readSince = false;  ///< since it was made
    bool handed = false;     ///< true: handed over in slices, within its bundle
  };

  std::int64_t bytesOf(std::size_t tensor) const { return uses_.bytes(tensor); }

  /// True if a kernel hands slices to another one, on a different engine, of the same bundle.
  bool hands(std::size_t maker, std::size_t reader) const {
    if (maker == SIZE_MAX || maker >= reader || list_.kernels[maker].kernel.barrier) return false;
    return bundles_[maker] >= 0 && bundles_[maker] == bundles_[reader] &&
           list_.kernels[maker].kernel.engine != list_.kernels[reader].kernel.engine;
  }

  /// True if the tensor has left its bundle and nobody has read it since. It is then written past the
  /// cache, so the first kernel outside the bundle that reads it finds it in HBM.
  bool passesTheCache(const Place& place, std::size_t reader) const {
    return card_.resultsPassCache && place.maker != SIZE_MAX && !place.readSince &&
           bundles_[place.maker] >= 0 && bundles_[place.maker] != bundles_[reader];
  }

  void read(std::size_t k) {
    const ListedKernel& listed = list_.kernels[k];
    Traffic& traffic = traffic_[k];
    traffic.bundleBegin = k;
    if (bundles_[k] >= 0) traffic.bundleBegin = begins_.emplace(bundles_[k], k).first->second;
    const std::int64_t before = passed_;
    for (const std::size_t tensor : listed.reads) {
      Place& place = places_[tensor];
      const std::int64_t whole = bytesOf(tensor), bytes = bytesRead(listed.kernel, whole);
      traffic.loaded += bytes;
      const bool kept = place.touched >= 0 && before - place.touched + whole <= card_.onChipBytes &&
                        !passesTheCache(place, k);
      const bool sliced = !kept && hands(place.maker, k);
      if (!kept && !sliced) traffic.read += bytes, place.readFromHbm = true;
      if (hands(place.maker, k)) traffic.handedIn += bytes, place.handed = true;
      if (place.maker != SIZE_MAX) {
        const bool slices = hands(place.maker, k) && !isReadAgain(listed, tensor);
        traffic.feeds.push_back({place.maker, slices ? slicesOf(whole) : partsBetween(place.maker, k)});
      }
    }
    if (listed.continues >= 0) {
      const bool inside = listed.part >= 0 && list_.kernels[k - 1].part == listed.part;
      takeOver(k, inside ? list_.kernels[k - 1].handed : bytesOf(static_cast<std::size_t>(listed.continues)),
               inside);
    }
    if (listed.kernel.againBytes > 0) {
      // An operand that does not fit into on-chip memory comes from HBM again.
      traffic.read += traffic.read > 0 ? listed.kernel.againBytes : 0;
      traffic.loaded += listed.kernel.againBytes;
    }
    for (const std::size_t tensor : listed.makes) traffic.stored += bytesOf(tensor);
    traffic.read += listed.kernel.bucketRead;
    traffic.loaded += listed.kernel.bucketRead;
    traffic.written += listed.kernel.bucketWritten;
    traffic.stored += listed.kernel.bucketWritten;
    passed_ += traffic.loaded + traffic.stored;
    for (const std::size_t tensor : listed.reads) {
      // Picked rows do not bring the rest of their table into on-chip memory.
      if (bytesRead(listed.kernel, bytesOf(tensor)) != bytesOf(tensor)) continue;
      places_[tensor].touched = passed_;
      places_[tensor].readSince = true;
    }
    for (const std::size_t tensor : listed.makes) {
      places_[tensor].touched = passed_;
      places_[tensor].maker = k;
      places_[tensor].readSince = places_[tensor].handed = false;
    }
    traffic.moved = traffic.loaded + traffic.stored + listed.kernel.onChipBytes;
  }

  /// The size of a slice does not follow that of on-chip memory: a card with less could gain by smaller
  /// slices only what a card with more could gain as well.
  std::int64_t slicesOf(std::int64_t bytes) const {
    return std::max<std::int64_t>(1, (bytes + card_.sliceBytes - 1) / card_.sliceBytes);
  }

  /// Parts in which a product and a collective hand each other a tensor.
  std::int64_t partsBetween(std::size_t maker, std::size_t k) const {
    const EngineKernel &before = list_.kernels[maker].kernel, &next = list_.kernels[k].kernel;
    if (before.engine == Engine::matrix && next.engine == Engine::network) return next.parts;
    return before.engine == Engine::network && next.engine == Engine::matrix ? before.parts : 1;
  }

  bool crossesLinks(std::size_t k) const {
    const Engine engine = list_.kernels[k].kernel.engine;
    return engine == Engine::network || engine == Engine::host;
  }

  /// A kernel that continues with what the one before it made takes it through on-chip memory, slice by
  /// slice. A tensor that crosses links lies in HBM as a whole: a collective starts once it is complete, and
  /// the kernel behind a collective once that has ended.
  void takeOver(std::size_t k, std::int64_t bytes, bool inside) {
    if (crossesLinks(k - 1) || crossesLinks(k)) {
      if (!crossesLinks(k - 1)) {
        traffic_[k - 1].written += bytes;
        traffic_[k - 1].stored += bytes;
        traffic_[k - 1].moved += bytes;
      }
      if (!crossesLinks(k)) traffic_[k].read += bytes, traffic_[k].loaded += bytes;
      traffic_[k].feeds.push_back({k - 1, 1});
      passed_ += bytes;
      return;
    }
    traffic_[k - 1].stored += bytes;
    traffic_[k - 1].moved += bytes;
    if (card_.onChipIsCache && !inside) traffic_[k - 1].written += bytes;
    traffic_[k].loaded += bytes;
    if (inside) traffic_[k - 1].handedOut += bytes, traffic_[k].handedIn += bytes;
    traffic_[k].feeds.push_back({k - 1, slicesOf(bytes)});
    passed_ += bytes;
  }

  /// The bytes that a kernel reads of an operand of `whole` bytes. Rows of a table that fits into half of
  /// on-chip memory are read once, however often they are picked.
  std::int64_t bytesRead(const EngineKernel& kernel, std::int64_t whole) const {
    if (kernel.tableBytes != whole) return whole;
    return 2 * whole <= card_.onChipBytes ? std::min(whole, kernel.pickedBytes) : kernel.pickedBytes;
  }

  static bool isReadAgain(const ListedKernel& listed, std::size_t tensor) {
    return std::find(listed.readsAgain.begin(), listed.readsAgain.end(), tensor) != listed.readsAgain.end();
  }

  /// A result goes to HBM unless all its readers find it in on-chip memory. A cache
  /// evicts everything to HBM at last.
  void write(std::size_t k) {
    for (const std::size_t tensor : list_.kernels[k].makes) {
      if (places_[tensor].handed && places_[tensor].maker == k) traffic_[k].handedOut += bytesOf(tensor);
      if (card_.onChipIsCache || uses_.outlivesPass(tensor) || places_[tensor].readFromHbm) {
        traffic_[k].written += bytesOf(tensor);
      } else {
        traffic_[k].onChip.push_back(tensor);
      }
    }
  }

  const CardFigures& card_;
  const StageUses& uses_;
  const KernelList& list_;
  const std::vector<std::int32_t> bundles_;
  std::vector<Traffic> traffic_;
  std::unordered_map<std::size_t, Place> places_;
  std::map<std::int32_t, std::size_t> begins_;
  std::int64_t passed_ = 0;
};

}  // namespace

std::vector<Traffic> trafficOf(const CardModel& model, const compile::StageIr& stage, const StageUses& uses,
                               const KernelList& list) {
  return TrafficCounter(model, stage, uses, list).count();
}

double spreadOf(const EngineKernel& kernel, const Traffic& traffic) {
  if (kernel.wastedBytes <= 0) return kernel.spread;
  const auto used = static_cast<double>(std::max<std::int64_t>(1, traffic.moved));
  return kernel.spread + static_cast<double>(kernel.wastedBytes) / used;
}

}  // namespace pipescope::devices::hbm_card
