#include "engine/ops/core/matrix.h"

#define EIGEN_DONT_PARALLELIZE
// Packed blocks of a product up to this size are put on the stack, so that steps allocate nothing; larger
// ones go to the heap.
#define EIGEN_STACK_ALLOCATION_LIMIT (1024 * 1024)
#include <Eigen/Core>
#include <algorithm>

namespace pipescope::ops {
namespace {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using View = Eigen::Map<RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>>;
template <class T>
using ConstView = Eigen::Map<const RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>>;

/// Eigen chooses blocks by the caches that it finds, and the blocks decide the order of sums. Fixed cache
/// sizes give the same bits on every machine.
void fixBlocking() {
  static const bool done = [] {
    Eigen::setCpuCacheSizes(32 * 1024, 1024 * 1024, 8 * 1024 * 1024);
    return true;
  }();
  static_cast<void>(done);
}

template <class T, class A, class B>
void assign(const Product& product, T scale, const A& a, const B& b, T* c) {
  View<T> result(c, product.m, product.n, Eigen::OuterStride<>(product.ldc));
  if (product.accumulate) {
    result.noalias() += scale * (a * b);
  } else {
    result.noalias() = scale * (a * b);
  }
}

template <class T>
void multiplyWithEigen(const Product& p, T scale, const T* a, const T* b, T* c) {
  fixBlocking();
  const ConstView<T> left(a, p.transposeA ? p.k : p.m, p.transposeA ? p.m : p.k, Eigen::OuterStride<>(p.lda));
  const ConstView<T> right(b, p.transposeB ? p.n : p.k, p.transposeB ? p.k : p.n,
                           Eigen::OuterStride<>(p.ldb));
  if (p.transposeA && p.transposeB) {
    assign(p, scale, left.transpose(), right.transpose(), c);
  } else if (p.transposeA) {
    assign(p, scale, left.transpose(), right, c);
  } else if (p.transposeB) {
    assign(p, scale, left, right.transpose(), c);
  } else {
    assign(p, scale, left, right, c);
  }
}

}  // namespace

Product denseProduct(std::int64_t m, std::int64_t n, std::int64_t k, bool transposeA, bool transposeB,
                     bool accumulate) {
  return {m, n, k, transposeA, transposeB, transposeA ? m : k, transposeB ? k : n, n, accumulate};
}

void multiply(const Product& product, float scale, const float* a, const float* b, float* c) {
  multiplyWithEigen(product, scale, a, b, c);
}
void multiply(const Product& product, double scale, const double* a, const double* b, double* c) {
  multiplyWithEigen(product, scale, a, b, c);
}

}  // namespace pipescope::ops
