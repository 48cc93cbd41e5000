#include "engine/ops/conv/plane_conv.h"

#include <algorithm>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/ranges.h"

namespace pipescope::ops {
namespace {

/// Limits for filters of a channel and for taps. Unfolding is better above them.
constexpr std::int64_t kMostFilters = 4, kPlaneConvMostTaps = 64;

}  // namespace

bool PlaneConv::fits(const ConvSetup& setup) {
  return setup.inChannels == 1 && setup.outChannels <= kMostFilters && setup.groups > 1 &&
         setup.window.axes() <= 2 && setup.window.taps() <= kPlaneConvMostTaps;
}

PlaneConv::Axis PlaneConv::axisOf(const Window& w, std::size_t axis) {
  Axis a{w.input[axis], w.output[axis], w.stride[axis], {}};
  for (std::int64_t k = 0; k < w.kernel[axis]; ++k) {
    Tap tap;
    tap.offset = k * w.dilation[axis] - w.padBegin[axis];
    if (tap.offset < 0) tap.first = std::min(a.output, (-tap.offset + a.stride - 1) / a.stride);
    if (tap.offset < a.input) tap.end = std::min(a.output, (a.input - 1 - tap.offset) / a.stride + 1);
    tap.end = std::max(tap.end, tap.first);
    a.taps.push_back(tap);
  }
  return a;
}

PlaneConv::PlaneConv(const ConvSetup& setup)
    : batch_(setup.batch), groups_(setup.groups), filters_(setup.outChannels) {
  x_ = axisOf(setup.window, setup.window.axes() - 1);
  if (setup.window.axes() == 2) {
    y_ = axisOf(setup.window, 0);
  } else {
    y_.taps.push_back({0, 1, 0});
  }
}

template <class Body>
void PlaneConv::forRows(const Body& body) const {
  std::int64_t number = 0;
  for (const Tap& ky : y_.taps) {
    for (const Tap& kx : x_.taps) {
      for (std::int64_t row = ky.first; row < ky.end; ++row)
        body(number, row * x_.output, (row * y_.stride + ky.offset) * x_.input + kx.offset, kx);
      ++number;
    }
  }
}

void PlaneConv::forward(const KernelArguments& arguments, const float* x, const float* w, const float* bias,
                        bool relu, float* y) const {
  const std::int64_t all = groups_ * filters_;
  forItems(arguments, batch_ * all, positions() * taps(), [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t plane = first; plane < end; ++plane) {
      const float *from = x + plane / filters_ * inputs(), *weights = w + plane % all * taps();
      float* to = y + plane * positions();
      std::fill_n(to, positions(), bias ? bias[plane % all] : 0.0F);
      forRows([&](std::int64_t tap, std::int64_t row, std::int64_t source, const Tap& columns) {
        const float weight = weights[tap];
        const float* __restrict values = from + source;
        float* __restrict sums = to + row;
        if (x_.stride == 1) {
          for (std::int64_t i = columns.first; i < columns.end; ++i) sums[i] += weight * values[i];
        } else {
          for (std::int64_t i = columns.first; i < columns.end; ++i)
            sums[i] += weight * values[i * x_.stride];
        }
      });
      if (relu) reluInPlace(to, positions());
    }
  });
}

void PlaneConv::inputGradient(const KernelArguments& arguments, const float* dy, const float* w,
                              float* dx) const {
  forItems(arguments, batch_ * groups_, positions() * taps() * filters_,
           [&](std::int64_t first, std::int64_t end) {
             for (std::int64_t plane = first; plane < end; ++plane) {
               float* to = dx + plane * inputs();
               std::fill_n(to, inputs(), 0.0F);
               for (std::int64_t filter = 0; filter < filters_; ++filter) {
                 const float *from = dy + (plane * filters_ + filter) * positions(),
                             *weights = w + (plane % groups_ * filters_ + filter) * taps();
                 forRows([&](std::int64_t tap, std::int64_t row, std::int64_t source, const Tap& columns) {
                   const float weight = weights[tap];
                   const float* __restrict values = from + row;
                   float* __restrict sums = to + source;
                   if (x_.stride == 1) {
                     for (std::int64_t i = columns.first; i < columns.end; ++i) sums[i] += weight * values[i];
                   } else {
                     for (std::int64_t i = columns.first; i < columns.end; ++i)
                       sums[i * x_.stride] += weight * values[i];
                   }
                 });
               }
             }
           });
}

void PlaneConv::weightGradient(const KernelArguments& arguments, const float* x, const float* dy,
                               float* dw) const {
  const std::int64_t all = groups_ * filters_;
  forItems(arguments, all, batch_ * positions() * taps(), [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t filter = first; filter < end; ++filter) {
      float* sums = dw + filter * taps();
      std::fill_n(sums, taps(), 0.0F);
      for (std::int64_t image = 0; image < batch_; ++image) {
        const float *from = x + (image * groups_ + filter / filters_) * inputs(),
                    *up = dy + (image * all + filter) * positions();
        forRows([&](std::int64_t tap, std::int64_t row, std::int64_t source, const Tap& columns) {
          const float *values = from + source, *gradients = up + row;
          // Two sums for each row, so that one addition need not wait for the other.
          float even = 0, odd = 0;
          std::int64_t i = columns.first;
          for (; i + 1 < columns.end; i += 2) {
            even += gradients[i] * values[i * x_.stride];
            odd += gradients[i + 1] * values[(i + 1) * x_.stride];
          }
          if (i < columns.end) even += gradients[i] * values[i * x_.stride];
          sums[tap] += even + odd;
        });
      }
    }
  });
}

}  // namespace pipescope::ops
