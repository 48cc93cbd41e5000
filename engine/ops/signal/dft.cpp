// DFT is the discrete Fourier transform along an axis, and STFT that of overlapping frames of a signal,
// weighted by a window. Signals have a last axis of 1 (real) or 2 (real and imaginary part).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/signal/fourier.h"

namespace pipescope::ops {
namespace {

using base::badInput;

constexpr std::int64_t kLongest = std::int64_t{1} << 24;

/// The number in an input of one whole number.
Result<std::int64_t> lengthFrom(const OperatorCall& call, std::size_t index, const std::string& what) {
  PIPESCOPE_ASSIGN(const Ints values, call.constantInts(index, what));
  if (values.size() == 1 && values[0] >= 1 && values[0] <= kLongest) return values[0];
  return badInput(fmt::format("{}: {} must be one number, 1 to {}", call.title(), what, kLongest));
}

Work transformWork(std::int64_t count, std::int64_t length, ElementType type) {
  const auto steps =
      static_cast<std::int64_t>(std::ceil(std::log2(static_cast<double>(std::max<std::int64_t>(length, 2)))));
  return {Map{MapFunction::complexMultiplyAdd, count * length, 2, type, true}, steps, "Transform"};
}

// --- DFT: input, [dft_length] → output -------------------------------------------------

struct DftSetup {
  std::int64_t outer = 1, extent = 1, inner = 1;  ///< extents around the axis, without the last one
  std::int64_t parts = 1, length = 1, bins = 1;
  bool inverse = false;
  Shape result;
};

Result<DftSetup> dftSetup(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  DftSetup setup;
  if (x.size() < 2 || (x.back() != 1 && x.back() != 2)) {
    return badInput(fmt::format("{}: its input is {}; its last axis must be 1 (real) or 2 (complex)",
                                call.title(), extentsText(x)));
  }
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, 1, x.size()));
  if (axis + 1 == x.size())
    return badInput(
        fmt::format("{}: axis {} holds real and imaginary parts; name another", call.title(), axis));
  setup.outer = extentsWithin(x, 0, axis);
  setup.extent = setup.length = x[axis];
  setup.inner = extentsWithin(x, axis + 1, x.size() - 1);
  setup.parts = x.back();
  if (call.has(1)) {
    PIPESCOPE_ASSIGN(setup.length, lengthFrom(call, 1, "dft_length (input 1)"));
  }
  if (setup.length < 1 || setup.length > kLongest)
    return badInput(fmt::format("{}: cannot transform {} elements", call.title(), setup.length));
  setup.inverse = graph::intAttribute(call.node, "inverse", 0) != 0;
  const bool onesided = graph::intAttribute(call.node, "onesided", 0) != 0;
  if (onesided && (setup.inverse || setup.parts == 2)) {
    return badInput(fmt::format("{}: onesided is for transforms of real signals, not for {}", call.title(),
                                setup.inverse ? "the inverse" : "complex ones"));
  }
  setup.bins = onesided ? setup.length / 2 + 1 : setup.length;
  setup.result = x;
  setup.result[axis] = setup.bins;
  setup.result.back() = 2;
  return setup;
}

Result<std::vector<TensorType>> inferDft(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const DftSetup setup, dftSetup(call));
  return inferredAs(call, call.input(0).element, setup.result);
}

template <class T>
void dft(const DftSetup& setup, const FourierTransform& fourier, const T* x, T* y, double* scratch) {
  double *signal = scratch, *spectrum = scratch + 2 * setup.length;
  const std::int64_t given = std::min(setup.extent, setup.length);
  for (std::int64_t o = 0; o < setup.outer; ++o) {
    for (std::int64_t i = 0; i < setup.inner; ++i) {
      std::fill_n(signal, 2 * setup.length, 0.0);
      for (std::int64_t n = 0; n < given; ++n) {
        const T* from = x + ((o * setup.extent + n) * setup.inner + i) * setup.parts;
        for (std::int64_t part = 0; part < setup.parts; ++part)
          signal[2 * n + part] = static_cast<double>(from[part]);
      }
      fourier.run(signal, spectrum);
      for (std::int64_t k = 0; k < setup.bins; ++k) {
        T* to = y + ((o * setup.bins + k) * setup.inner + i) * 2;
        to[0] = static_cast<T>(spectrum[2 * k]);
        to[1] = static_cast<T>(spectrum[2 * k + 1]);
      }
    }
  }
}

Result<Kernel> dftKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const DftSetup setup, dftSetup(call));
  return kernelForFloats(call, call.input(0).element, [&setup]<class T>(T) {
    return Kernel{
        [setup, fourier = FourierTransform(setup.length, setup.inverse)](const KernelArguments& a) -> Status {
          dft(setup, fourier, a.input<T>(0), a.output<T>(0), a.scratchAs<double>());
          return {};
        },
        4 * setup.length * 8};
  });
}

std::vector<Work> dftWork(const OperatorCall& call) {
  const DftSetup setup = *dftSetup(call);
  return {transformWork(setup.outer * setup.inner, setup.length, call.input(0).element)};
}

// --- STFT: signal, frame_step, [window, frame_length] → output -------------------------

struct StftSetup {
  std::int64_t batch = 1, extent = 1, parts = 1, step = 1, length = 1, frames = 0, bins = 1;
};

Result<StftSetup> stftSetup(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  if (x.size() != 3 || (x[2] != 1 && x[2] != 2)) {
    return badInput(fmt::format("{}: its signal is {}; it needs batch, length, and 1 (real) or 2 (complex)",
                                call.title(), extentsText(x)));
  }
  StftSetup setup{x[0], x[1], x[2]};
  PIPESCOPE_ASSIGN(setup.step, lengthFrom(call, 1, "frame_step (input 1)"));
  if (!call.has(2) && !call.has(3))
    return badInput(fmt::format("{}: give a window or a frame_length", call.title()));
  if (call.has(2)) {
    const TensorType& window = call.input(2);
    if (window.element != call.input(0).element || window.shape.size() != 1) {
      return badInput(fmt::format("{}: its window is {}; it must be a list of {}", call.title(),
                                  graph::toString(window), graph::toString(call.input(0).element)));
    }
    setup.length = window.shape[0];
  }
  if (call.has(3)) {
    PIPESCOPE_ASSIGN(setup.length, lengthFrom(call, 3, "frame_length (input 3)"));
    if (call.has(2) && call.input(2).shape[0] != setup.length) {
      return badInput(fmt::format("{}: its window is {} long and frame_length {}; they must be alike",
                                  call.title(), call.input(2).shape[0], setup.length));
    }
  }
  if (setup.length < 1 || setup.length > setup.extent || setup.length > kLongest)
    return badInput(fmt::format("{}: a frame of {} does not fit a signal of {}", call.title(), setup.length,
                                setup.extent));
  const bool onesided = graph::intAttribute(call.node, "onesided", 1) != 0;
  if (onesided && setup.parts == 2)
    return badInput(
        fmt::format("{}: onesided is for real signals; set it to 0 for a complex one", call.title()));
  setup.frames = (setup.extent - setup.length) / setup.step + 1;
  setup.bins = onesided ? setup.length / 2 + 1 : setup.length;
  return setup;
}

Result<std::vector<TensorType>> inferStft(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const StftSetup setup, stftSetup(call));
  return inferredAs(call, call.input(0).element, {setup.batch, setup.frames, setup.bins, 2});
}

template <class T>
void stft(const StftSetup& setup, const FourierTransform& fourier, const KernelArguments& a) {
  double *signal = a.scratchAs<double>(), *spectrum = signal + 2 * setup.length;
  const T* window = a.input<T>(2);
  T* y = a.output<T>(0);
  for (std::int64_t frame = 0; frame < setup.batch * setup.frames; ++frame) {
    const std::int64_t first = frame / setup.frames * setup.extent + frame % setup.frames * setup.step;
    const T* x = a.input<T>(0) + first * setup.parts;
    for (std::int64_t n = 0; n < setup.length; ++n) {
      const double weight = window ? static_cast<double>(window[n]) : 1.0;
      signal[2 * n] = weight * static_cast<double>(x[n * setup.parts]);
      signal[2 * n + 1] = setup.parts == 2 ? weight * static_cast<double>(x[n * 2 + 1]) : 0.0;
    }
    fourier.run(signal, spectrum);
    for (std::int64_t i = 0; i < 2 * setup.bins; ++i) *y++ = static_cast<T>(spectrum[i]);
  }
}

Result<Kernel> stftKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const StftSetup setup, stftSetup(call));
  return kernelForFloats(call, call.input(0).element, [&setup]<class T>(T) {
    return Kernel{
        [setup, fourier = FourierTransform(setup.length, false)](const KernelArguments& a) -> Status {
          stft<T>(setup, fourier, a);
          return {};
        },
        4 * setup.length * 8};
  });
}

std::vector<Work> stftWork(const OperatorCall& call) {
  const StftSetup setup = *stftSetup(call);
  const ElementType type = call.input(0).element;
  const std::int64_t frames = setup.batch * setup.frames;
  return {{Gather{frames, setup.length * setup.parts, frames, type}, 1, "Frames"},
          transformWork(frames, setup.length, type)};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(dft) {
  registry.add({.type = "DFT",
                .attributes = {{"axis", AttributeKind::integer},
                               {"inverse", AttributeKind::integer},
                               {"onesided", AttributeKind::integer}},
                .maxInputs = 2,
                .infer = inferDft,
                .kernel = dftKernel,
                .work = dftWork});
  registry.add({.type = "STFT",
                .attributes = {{"onesided", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 4,
                .infer = inferStft,
                .kernel = stftKernel,
                .work = stftWork});
}

}  // namespace pipescope::ops
