#pragma once
// Discrete Fourier transforms of one signal in double precision.
#include <cstdint>
#include <vector>

namespace pipescope::ops {

/// Y[k] = Σ x[n]·exp(∓2πi·kn ÷ length), divided by the length for the inverse. Takes O(n log n) for powers of
/// two, otherwise O(n²).
class FourierTransform {
 public:
  FourierTransform(std::int64_t length, bool inverse);

  std::int64_t length() const { return length_; }
  /// Signals are pairs of real and imaginary part. `x` is overwritten.
  void run(double* x, double* y) const;

 private:
  void runFast(double* x, double* y) const;

  std::int64_t length_;
  bool inverse_, powerOfTwo_;
  std::vector<double> turns_;  ///< cos and sin of 2πk ÷ length (the sine is negative except for the inverse)
};

}  // namespace pipescope::ops
