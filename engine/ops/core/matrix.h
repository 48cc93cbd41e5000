#pragma once
// Matrix products on row-major memory. The bits depend on sizes, element type and instruction set only, not
// on addresses, threads or caches.
#include <cstdint>

namespace pipescope::ops {

/// C (m×n) = scale · op(A) (m×k) · op(B) (k×n), or C += … with `accumulate`. op may transpose; a transposed A
/// is stored as k×m. Leading dimensions are the distances between stored rows.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  bool transposeA = false, transposeB = false;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  bool accumulate = false;
};

/// The same for dense operands, whose leading dimensions follow from m, n and k.
Product denseProduct(std::int64_t m, std::int64_t n, std::int64_t k, bool transposeA, bool transposeB,
                     bool accumulate);

/// Computes the product.
void multiply(const Product& product, float scale, const float* a, const float* b, float* c);
void multiply(const Product& product, double scale, const double* a, const double* b, double* c);

}  // namespace pipescope::ops
