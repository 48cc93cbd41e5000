#include "engine/ops/signal/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pipescope::ops {

FourierTransform::FourierTransform(std::int64_t length, bool inverse)
    : length_(length), inverse_(inverse), powerOfTwo_(length > 0 && (length & (length - 1)) == 0) {
  for (std::int64_t k = 0; k < length; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
    turns_.push_back(std::cos(angle));
    turns_.push_back(inverse ? std::sin(angle) : -std::sin(angle));
  }
}

/// Stockham's radix-2 form combines half the signal with the other half, from one buffer into the other.
void FourierTransform::runFast(double* x, double* y) const {
  double *from = x, *to = y;
  std::int64_t stride = 1;
  for (std::int64_t span = length_; span > 1; span /= 2, stride *= 2) {
    const std::int64_t half = span / 2;
    for (std::int64_t p = 0; p < half; ++p) {
      const double c = turns_[static_cast<std::size_t>(2 * p * stride)];
      const double s = turns_[static_cast<std::size_t>(2 * p * stride + 1)];
      for (std::int64_t q = 0; q < stride; ++q) {
        const double* a = from + 2 * (q + stride * p);
        const double* b = from + 2 * (q + stride * (p + half));
        double* even = to + 2 * (q + stride * 2 * p);
        double* odd = to + 2 * (q + stride * (2 * p + 1));
        const double re = a[0] - b[0], im = a[1] - b[1];
        even[0] = a[0] + b[0];
        even[1] = a[1] + b[1];
        odd[0] = re * c - im * s;
        odd[1] = re * s + im * c;
      }
    }
    std::swap(from, to);
  }
  if (from != y) std::copy_n(from, 2 * length_, y);
}

void FourierTransform::run(double* x, double* y) const {
  if (powerOfTwo_) {
    runFast(x, y);
  } else {
    for (std::int64_t k = 0; k < length_; ++k) {
      double re = 0, im = 0;
      std::int64_t turn = 0;  // k·n modulo the length
      for (std::int64_t n = 0; n < length_; ++n) {
        const double c = turns_[static_cast<std::size_t>(2 * turn)],
                     s = turns_[static_cast<std::size_t>(2 * turn + 1)];
        re += x[2 * n] * c - x[2 * n + 1] * s;
        im += x[2 * n] * s + x[2 * n + 1] * c;
        turn += k;
        if (turn >= length_) turn -= length_;
      }
      y[2 * k] = re;
      y[2 * k + 1] = im;
    }
  }
  if (!inverse_) return;
  for (std::int64_t i = 0; i < 2 * length_; ++i) y[i] /= static_cast<double>(length_);
}

}  // namespace pipescope::ops
