#pragma once
// Matrix products on row-major memory. Bits depend on sizes, element type and instruction set only: not on
// addresses, threads or the machine's caches.
#include <cstdint>

namespace pipescope::ops {

/// C (m×n) = scale · op(A) (m×k) · op(B) (k×n), or C += … with `accumulate`. op transposes: a transposed A is
/// stored k×m. Leading dimensions are the distances between stored rows.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  bool transposeA = false, transposeB = false;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  bool accumulate = false;
};

/// Dense operands: leading dimensions from m, n, k.
Product denseProduct(std::int64_t m, std::int64_t n, std::int64_t k, bool transposeA, bool transposeB,
                     bool accumulate);

void multiply(const Product& product, float scale, const float* a, const float* b, float* c);
void multiply(const Product& product, double scale, const double* a, const double* b, double* c);

/// Sum in a fixed order that vector units can follow, more exact than one running sum.
float sumOf(const float* values, std::int64_t count);
double sumOf(const double* values, std::int64_t count);

}  // namespace pipescope::ops
