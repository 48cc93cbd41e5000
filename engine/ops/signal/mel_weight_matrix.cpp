// MelWeightMatrix makes triangles that sum the bins of a spectrum into bands of equal width on the mel scale
// (2595·log10(1 + f ÷ 700)). All inputs must be known, because two of them decide the shape; so the device
// holds the result before the model runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/ops/core/common_work.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct MelSetup {
  std::int64_t bins = 0, bands = 0;
  Ints edges;  ///< bands + 2 bins: band i rises from edge i to i + 1, and falls to edge i + 2
};

Result<MelSetup> planOf(const OperatorCall& call) {
  static constexpr const char* names[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                                          "upper_edge_hertz"};
  double values[5] = {};
  for (std::size_t i = 0; i < 5; ++i) {
    PIPESCOPE_ASSIGN(values[i], scalarNumber(call, i, names[i]));
    constexpr double kMost = 1 << 24;
    if (!(values[i] >= (i < 3 ? 1 : 0) && values[i] <= kMost)) {
      return badInput(fmt::format("{}: {} is {}; it must be {} to {}", call.title(), names[i], values[i],
                                  i < 3 ? 1 : 0, kMost));
    }
  }
  const double length = values[1], rate = values[2];
  MelSetup setup{static_cast<std::int64_t>(length) / 2 + 1, static_cast<std::int64_t>(values[0]), {}};
  const double low = 2595 * std::log10(1 + values[3] / 700), high = 2595 * std::log10(1 + values[4] / 700);
  const double step = (high - low) / static_cast<double>(setup.bands + 2);
  for (std::int64_t i = 0; i < setup.bands + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + low) / 2595) - 1);
    setup.edges.push_back(static_cast<std::int64_t>(std::floor((length + 1) * hertz / rate)));
    const bool rises = setup.edges.size() < 2 || setup.edges.back() >= setup.edges[setup.edges.size() - 2];
    if (setup.edges.back() < 0 || setup.edges.back() >= setup.bins || !rises) {
      return badInput(
          fmt::format("{}: bands from {} to {} Hz do not fit a spectrum of {} bins at a sample rate of {}",
                      call.title(), values[3], values[4], setup.bins, rate));
    }
  }
  return setup;
}

Result<std::vector<TensorType>> inferMel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType element,
                   elementTypeAttribute(call, "output_datatype", ElementType::float32));
  PIPESCOPE_ASSIGN(const MelSetup setup, planOf(call));
  return inferredAs(call, element, {setup.bins, setup.bands});
}

template <class T>
void fillBand(const MelSetup& setup, std::int64_t band, T* y) {
  const auto first = static_cast<std::size_t>(band);
  const std::int64_t low = setup.edges[first], center = setup.edges[first + 1], high = setup.edges[first + 2];
  const auto set = [&](std::int64_t bin, double value) {
    y[bin * setup.bands + band] = static_cast<T>(value);
  };
  if (low == center) set(center, 1);
  for (std::int64_t bin = low; low < center && bin <= center; ++bin)
    set(bin, static_cast<double>(bin - low) / static_cast<double>(center - low));
  for (std::int64_t bin = center; bin < high; ++bin)
    set(bin, static_cast<double>(high - bin) / static_cast<double>(high - center));
}

Result<Kernel> melKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const MelSetup setup, planOf(call));
  return kernelForNumbers(call, call.outputs[0].element, [&setup]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    std::fill_n(a.output<T>(0), setup.bins * setup.bands, T(0));
                    for (std::int64_t band = 0; band < setup.bands; ++band)
                      fillBand(setup, band, a.output<T>(0));
                    return {};
                  },
                  0};
  });
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(mel_weight_matrix) {
  registry.add({.type = "MelWeightMatrix",
                .attributes = {{"output_datatype", AttributeKind::integer}},
                .minInputs = 5,
                .maxInputs = 5,
                .infer = inferMel,
                .kernel = melKernel,
                .work = noWork});
}

}  // namespace pipescope::ops
