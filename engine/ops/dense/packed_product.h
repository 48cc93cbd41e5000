#pragma once
// Products of float32 matrices with the hot kernels. B is packed into panels in scratch memory; then each
// task makes a block of C. The bits depend on sizes and instruction set alone. matrix.h does smaller products
// and those without scratch.
#include <span>

#include "engine/ops/core/matrix.h"
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// Operations on C once its sums are finished.
struct Finish {
  const float* bias = nullptr;  ///< one number for each column, or null
  bool relu = false;            ///< max(·, 0)
};

/// Several products of one shape.
class PackedProduct {
 public:
  /// Setups `count` products. `apart` is true if no product writes to the C of another one, so that they may
  /// run side by side.
  explicit PackedProduct(const Product& product, std::int64_t count = 1, bool apart = true);

  /// Floats of scratch memory for all products.
  std::int64_t scratchElements() const;
  /// c[i] = scale · op(a[i]) · op(b[i]) for all i, in ascending order if they are not apart. place(i) gives
  /// the element offsets {a, b, c}; accumulates(i) says whether product i adds to C.
  struct Place {
    std::int64_t a = 0, b = 0, c = 0;
    bool accumulate = false;
  };
  template <class PlaceOf>
  void run(const KernelArguments& arguments, float scale, const float* a, const float* b, float* c,
           float* scratch, const Finish& finish, const PlaceOf& placeOf) const {
    if (apart_ && count_ >= kManyProducts) {
      // Does each product as a whole, so that what is packed is still in the cache when it is multiplied.
      arguments.parallel(count_, [&](std::int64_t i) {
        const Place place = placeOf(i);
        for (std::int64_t task = 0; task < packTasks_; ++task)
          pack(task, a + place.a, b + place.b, scratch + i * each());
        for (std::int64_t task = 0; task < blocks(); ++task)
          multiply(task, scale, a + place.a, c + place.c, scratch + i * each(), finish, place.accumulate);
      });
      return;
    }
    if (apart_) {
      arguments.parallel(count_ * packTasks_, [&](std::int64_t task) {
        const std::int64_t i = task / packTasks_;
        const Place place = placeOf(i);
        pack(task % packTasks_, a + place.a, b + place.b, scratch + i * each());
      });
      arguments.parallel(count_ * blocks(), [&](std::int64_t task) {
        const std::int64_t i = task / blocks();
        const Place place = placeOf(i);
        multiply(task % blocks(), scale, a + place.a, c + place.c, scratch + i * each(), finish,
                 place.accumulate);
      });
      return;
    }
    for (std::int64_t i = 0; i < count_; ++i) {
      const Place place = placeOf(i);
      arguments.parallel(packTasks_,
                         [&](std::int64_t task) { pack(task, a + place.a, b + place.b, scratch); });
      arguments.parallel(blocks(), [&](std::int64_t task) {
        multiply(task, scale, a + place.a, c + place.c, scratch, finish, place.accumulate);
      });
    }
  }

 private:
  /// This many products keep all threads busy without being split.
  static constexpr std::int64_t kManyProducts = 16;

  std::int64_t blocks() const { return rowBlocks_ * columnBlocks_; }
  std::int64_t each() const;
  std::int64_t leftElements() const;
  void pack(std::int64_t task, const float* a, const float* b, float* scratch) const;
  void multiply(std::int64_t block, float scale, const float* a, float* c, float* scratch,
                const Finish& finish, bool accumulate) const;

  Product product_;
  std::int64_t count_ = 1;
  bool apart_ = true;
  std::int64_t rowBlocks_ = 1, columnBlocks_ = 1, blockRows_ = 0, blockColumns_ = 0;
  std::int64_t packTasks_ = 1;
  /// True if a task packs its own rows of a transposed A and uses them while they are in the cache.
  bool packsRows_ = false;
};

}  // namespace pipescope::ops
