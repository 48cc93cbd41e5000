// DualPipe (DeepSeek-AI 2024). p devices, where p is even, hold the model twice. m micro-batches, where m is
// even and at least 2p, enter from both ends: m/2 go up through the devices and m/2 go down. Stages 0 … p−1
// are the first pipe, stage s on device s. Stages p … 2p−1 are the second pipe, stage p + j on device p − 1 −
// j.
//
// The rules below are those of the device at distance r from its nearer end, with h = p/2. Direction 0 enters
// at that end, direction 1 at the other. Each direction takes micro-batches in ascending order. [F B] is an
// overlapped pair, one block: it starts when both inputs are there, and both results leave at its end. B is a
// whole backward pass, also one block. B* computes input gradients only; the weight gradients W follow later,
// in the order in which they were put off.
//   1  2(h − r − 1) × F0             5  (h − r − 1) × (B1 [F1 B0])
//   2  (r + 1) × (F0 F1)             6  (r + 1) × (B1 B0), their second half B*
//   3  (h − r − 1) × (B1* W F1)      7  (h − r − 1) × (W B0*)
//   4  (m/2 − p + r + 1) × ([F0 B1] [F1 B0]); the first pair of the middle devices is not a block
//   8  the rest of W
// A simulation of these rules, with pairs that take F + B and with W = B/2, gives T = m(F + B) + (p/2 − 1)(FB
// + B − 3W) exactly, and p + 1 live micro-batches on every device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

#include "engine/schedules/chunks.h"

namespace pipescope::schedules {
namespace {

/// Collects the tasks of one device.
class Dual {
 public:
  Dual(TaskList& tasks, int place, int p, int m)
      : tasks_(tasks),
        place_(place),
        p_(p),
        m_(m),
        fromEnd_(std::min(place, p - 1 - place)),
        chunks_{Chunk{place, {place}}, Chunk{place, {2 * p - 1 - place}}} {}

  void training() {
    const int h = p_ / 2, r = fromEnd_, apart = h - r - 1;
    repeat(2 * apart, [&](int) { forward(0); });
    repeat(r + 1, [&](int) { forward(0), forward(1); });
    repeat(apart, [&](int) { inputGradients(1), weights(), forward(1); });
    repeat(m_ / 2 - p_ + r + 1, [&](int i) {
      if (i == 0 && apart == 0) {
        forward(0), backward(1);
      } else {
        pair(0, 1);
      }
      pair(1, 0);
    });
    repeat(apart, [&](int) { backward(1), pair(1, 0); });
    // Backward passes alternate in direction. From the middle one on they compute input gradients only.
    for (int i = 0; i < 2 * (r + 1); ++i) i <= r ? backward(1 - i % 2) : inputGradients(1 - i % 2);
    repeat(apart, [&](int) { weights(), inputGradients(0); });
    while (!putOff_.empty()) weights();
  }

  void inference() {
    repeat(m_ / 2, [&](int) { forward(0), forward(1); });
  }

 private:
  template <class Body>
  static void repeat(int times, Body body) {
    for (int i = 0; i < times; ++i) body(i);
  }
  /// Index of the pipe of a direction. The first pipe enters at device 0.
  std::size_t pipe(int direction) const {
    return static_cast<std::size_t>(place_ < p_ / 2 ? direction : 1 - direction);
  }
  int next(std::array<int, 2>& counts, std::size_t pipe) const {
    return counts[pipe]++ + (pipe == 1 ? m_ / 2 : 0);
  }
  void forward(int direction) {
    const std::size_t i = pipe(direction);
    tasks_.forward(chunks_[i], next(forwards_, i));
  }
  void inputGradients(int direction) {
    const std::size_t i = pipe(direction);
    const int k = next(backwards_, i);
    tasks_.backward(chunks_[i], k);
    putOff_.emplace_back(i, k);
  }
  void weights() {
    const auto [i, k] = putOff_.front();
    putOff_.pop_front();
    tasks_.weight(chunks_[i], k);
  }
  void wholeBackward(int direction) {
    const std::size_t i = pipe(direction);
    const int k = next(backwards_, i);
    tasks_.backward(chunks_[i], k);
    tasks_.weight(chunks_[i], k);
  }
  void backward(int direction) {
    tasks_.begin(place_);
    wholeBackward(direction);
    tasks_.end(place_);
  }
  void pair(int ahead, int back) {
    tasks_.begin(place_);
    forward(ahead);
    wholeBackward(back);
    tasks_.end(place_);
  }

  TaskList& tasks_;
  int place_, p_, m_, fromEnd_;
  std::array<Chunk, 2> chunks_;
  std::array<int, 2> forwards_{}, backwards_{};
  std::deque<std::pair<std::size_t, int>> putOff_;
};

base::Result<Order> makeDualPipe(const Shape& shape) {
  const int p = shape.stages / 2, m = shape.microBatches;
  bool doubled = shape.stages % 2 == 0;
  for (int s = 0; s < shape.stages; ++s)
    doubled = doubled && shape.placeOfStage[static_cast<std::size_t>(s)] == std::min(s, shape.stages - 1 - s);
  if (!doubled || p % 2 != 0) {
    return base::badInput(fmt::format(
        "The dualpipe schedule needs an even number of devices with one stage each, but there are {} "
        "stages: add or merge one, and leave out the devices of [[stages]].",
        p));
  }
  const int least = shape.training ? 2 * p : 2;
  if (m % 2 != 0 || m < least) {
    return base::badInput(
        fmt::format("The dualpipe schedule over {} devices needs an even number of micro-batches, at least "
                    "{}, but it is {}.",
                    p, least, m));
  }
  TaskList tasks(shape);
  for (int place = 0; place < p; ++place) {
    Dual dual(tasks, place, p, m);
    shape.training ? dual.training() : dual.inference();
  }
  return tasks.take();
}

}  // namespace

PIPESCOPE_REGISTER_SCHEDULE(dualpipe) {
  registry.add({.name = "dualpipe",
                .doc = "DualPipe: the model twice, micro-batches from both ends, overlapped pairs of forward "
                       "and backward",
                .make = makeDualPipe,
                .layout = Layout::vee,
                .pipes = 2,
                .splitBackward = true});
}

}  // namespace pipescope::schedules
