// ZB-V (Qi et al. 2023). The 2p chunks lie on the p devices as a V: device d holds chunk d and chunk 2p − 1 −
// d, so that the loss is computed on device 0, where micro-batches enter. In the rules of device d, F0, B0
// and W0 belong to the chunk on the way there, F1, B1 and W1 to the chunk on the way back. Each takes
// micro-batches in ascending order.
//   warm-up    2(p − d) − 1 × F0;  d × (F1 F0);  (p − d) × (F1 B1 W1)
//   steady     (F0) B0 W0 F1 B1 W1 until F1 has caught up with F0; F0 is left out when all are done
//   cool-down  d × (B0 B1);  (p − d) × (B0, a pending W0);  pending W1, then pending W0
// The rules hold for m ≥ 2p − 1. With fewer micro-batches the tasks of the missing ones are left out. A
// simulation shows for F = B = W and m ≥ 2p − 1 that no device has a gap, that an isolated flush takes 6m + p
// − 1, and that no device holds more activations than those of 2p chunks, which is as much as p whole stages.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/schedules/chunks.h"

namespace pipescope::schedules {
namespace {

/// Collects the tasks of one device.
class Vee {
 public:
  Vee(TaskList& tasks, const Chunk& there, const Chunk& back, int microBatches)
      : tasks_(tasks), chunks_{&there, &back}, microBatches_(microBatches) {}

  void training(int p, int d) {
    const int all = std::max(2 * p - 1, microBatches_);
    for (int i = 0; i < 2 * (p - d) - 1; ++i) forward(0);
    for (int i = 0; i < d; ++i) forward(1), forward(0);
    for (int i = 0; i < p - d; ++i) forward(1), whole(1);
    while (forwards_[1] < forwards_[0] || forwards_[0] < all) {
      if (forwards_[0] < all) forward(0);
      whole(0), forward(1), whole(1);
    }
    for (int i = 0; i < d; ++i) backward(0), backward(1);
    for (int i = 0; i < p - d; ++i) backward(0), weight(0);
    while (weights_[1] < backwards_[1]) weight(1);
    while (weights_[0] < backwards_[0]) weight(0);
  }

 private:
  void forward(std::size_t c) {
    const int k = forwards_[c]++;
    if (k < microBatches_) tasks_.forward(*chunks_[c], k);
  }
  void backward(std::size_t c) {
    const int k = backwards_[c]++;
    if (k < microBatches_) tasks_.backward(*chunks_[c], k);
  }
  void weight(std::size_t c) {
    const int k = weights_[c]++;
    if (k < microBatches_) tasks_.weight(*chunks_[c], k);
  }
  void whole(std::size_t c) { backward(c), weight(c); }

  TaskList& tasks_;
  std::array<const Chunk*, 2> chunks_;
  int microBatches_;
  std::array<int, 2> forwards_{}, backwards_{}, weights_{};
};

base::Result<Order> makeZbV(const Shape& shape) {
  // This counts stages and not merged chunks, because the two stages at the tip of the V are neighbours on
  // one device and still separate pieces.
  const int p = shape.stages / 2;
  bool vee = shape.stages >= 2 && shape.stages % 2 == 0 && placeCount(shape) == p;
  for (int s = 0; vee && s < shape.stages; ++s)
    vee = shape.placeOfStage[static_cast<std::size_t>(s)] == std::min(s, shape.stages - 1 - s);
  if (!vee) {
    return base::badInput(
        fmt::format("The zb-v schedule needs an even number of stages laid out as a V (devices 0, 1, 1, 0 "
                    "for four on two), "
                    "but the {} stages here are not: leave out the devices of [[stages]].",
                    shape.stages));
  }
  TaskList tasks(shape);
  for (int d = 0; d < p; ++d) {
    const Chunk there{d, {d}}, back{d, {shape.stages - 1 - d}};
    if (shape.training) {
      Vee(tasks, there, back, shape.microBatches).training(p, d);
      continue;
    }
    // The chunk on the way back runs in inference as soon as its input can be there.
    const int lead = std::min(2 * (p - d) - 1, shape.microBatches);
    for (int k = 0; k < lead; ++k) tasks.forward(there, k);
    for (int k = 0; k < shape.microBatches; ++k) {
      tasks.forward(back, k);
      if (k + lead < shape.microBatches) tasks.forward(there, k + lead);
    }
  }
  return tasks.take();
}

}  // namespace

PIPESCOPE_REGISTER_SCHEDULE(zb_v) {
  registry.add(
      {.name = "zb-v",
       .doc = "Zero bubble V: two chunks on each device, there and back; stash as 1F1B's first stage",
       .make = makeZbV,
       .layout = Layout::vee,
       .splitBackward = true});
}

}  // namespace pipescope::schedules
