#pragma once
// Products of matrices of whole numbers, which wrap around.
#include <cstdint>

namespace pipescope::ops {

/// c (m×n) = (a (m×k) − zeroA) · (b (k×n) − zeroB), row-major and dense, modulo the size of Sum.
template <class Sum, class A, class B>
void integerProduct(std::int64_t m, std::int64_t n, std::int64_t k, const A* a, A zeroA, const B* b, B zeroB,
                    Sum* c) {
  for (std::int64_t row = 0; row < m; ++row, c += n) {
    for (std::int64_t column = 0; column < n; ++column) c[column] = Sum(0);
    for (std::int64_t i = 0; i < k; ++i) {
      const std::uint64_t left =
          static_cast<std::uint64_t>(a[row * k + i]) - static_cast<std::uint64_t>(zeroA);
      const B* right = b + i * n;
      for (std::int64_t column = 0; column < n; ++column) {
        const std::uint64_t factor =
            static_cast<std::uint64_t>(right[column]) - static_cast<std::uint64_t>(zeroB);
        c[column] = static_cast<Sum>(static_cast<std::uint64_t>(c[column]) + left * factor);
      }
    }
  }
}

}  // namespace pipescope::ops
