// RoiAlign pools regions of interest to a fixed size. Each bin is the mean of samples that are interpolated
// between elements. GradRoiAlign gives the elements their shares back.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct RoiSetup {
  std::int64_t batch = 0, channels = 0, height = 0, width = 0, regions = 0;
  std::int64_t binRows = 1, binColumns = 1, samples = 0;
  double scale = 1;
  bool halfPixel = true;
  std::string title;
};

Result<RoiSetup> roiAlignSetupOf(const OperatorCall& call, const Shape& x, std::size_t rois) {
  const std::string mode = graph::stringAttribute(call.node, "mode", "avg");
  const std::string transform =
      graph::stringAttribute(call.node, "coordinate_transformation_mode", "half_pixel");
  // ONNX's implementations differ in what the mode max takes the largest of.
  if (mode != "avg")
    return badInput(fmt::format("{}: mode is {}; only avg is supported", call.title(), mode));
  if (transform != "half_pixel" && transform != "output_half_pixel") {
    return badInput(
        fmt::format("{}: coordinate_transformation_mode is {}; it must be half_pixel or output_half_pixel",
                    call.title(), transform));
  }
  const Shape& regions = call.input(rois).shape;
  if (x.size() != 4 || regions.size() != 2 || regions[1] != 4 || x[2] < 1 || x[3] < 1 ||
      call.input(rois + 1) != TensorType{ElementType::int64, {regions[0]}}) {
    return badInput(fmt::format(
        "{}: its input is {}, its regions {} and their batch indices {}; it needs batch, "
        "channels, height and width, rows of 4, and an int64 for each",
        call.title(), extentsText(x), extentsText(regions), graph::toString(call.input(rois + 1))));
  }
  RoiSetup setup{x[0], x[1], x[2], x[3], regions[0]};
  setup.binRows = graph::intAttribute(call.node, "output_height", 1);
  setup.binColumns = graph::intAttribute(call.node, "output_width", 1);
  setup.samples = graph::intAttribute(call.node, "sampling_ratio", 0);
  setup.scale = graph::floatAttribute(call.node, "spatial_scale", 1);
  setup.halfPixel = transform == "half_pixel";
  setup.title = call.title();
  constexpr std::int64_t kMost = 1 << 16;
  if (setup.binRows < 1 || setup.binColumns < 1 || setup.binRows > kMost || setup.binColumns > kMost ||
      setup.samples < 0 || setup.samples > kMost) {
    return badInput(fmt::format("{}: its output is {}x{} with sampling_ratio {}; give sizes of 1 to {}",
                                call.title(), setup.binRows, setup.binColumns, setup.samples, kMost));
  }
  return setup;
}

/// Two elements and their weights along one axis; none if the sample is outside.
template <class T>
struct Pair {
  bool inside = false;
  std::array<std::int64_t, 2> places{};
  std::array<T, 2> weights{};
};

template <class T>
Pair<T> pairAt(T at, std::int64_t extent) {
  if (!(at >= T(-1) && at <= static_cast<T>(extent))) return {};
  at = std::max(at, T(0));
  const auto low = static_cast<std::int64_t>(at);
  if (low >= extent - 1) return {true, {extent - 1, extent - 1}, {T(1), T(0)}};
  const T fraction = at - static_cast<T>(low);
  return {true, {low, low + 1}, {T(1) - fraction, fraction}};
}

/// Calls visit(element of the bin in the output's plane, element of the input's plane, weight) for every
/// sample of a region. Returns false if the region asks for too many samples.
template <class T, class Visit>
bool forSamples(const RoiSetup& setup, const T* roi, const Visit& visit) {
  const T scale = static_cast<T>(setup.scale), offset = setup.halfPixel ? T(0.5) : T(0);
  const T left = roi[0] * scale - offset, top = roi[1] * scale - offset;
  T wide = roi[2] * scale - offset - left, high = roi[3] * scale - offset - top;
  if (!setup.halfPixel) {
    wide = std::max(wide, T(1));
    high = std::max(high, T(1));
  }
  const T binHigh = high / static_cast<T>(setup.binRows), binWide = wide / static_cast<T>(setup.binColumns);
  const T rowsWanted = setup.samples > 0 ? static_cast<T>(setup.samples) : std::ceil(binHigh);
  const T columnsWanted = setup.samples > 0 ? static_cast<T>(setup.samples) : std::ceil(binWide);
  if (!(rowsWanted < T(1 << 16) && columnsWanted < T(1 << 16))) return false;
  const auto rows = static_cast<std::int64_t>(rowsWanted), columns = static_cast<std::int64_t>(columnsWanted);
  const T share = T(1) / static_cast<T>(std::max<std::int64_t>(rows * columns, 1));
  for (std::int64_t bin = 0; bin < setup.binRows * setup.binColumns; ++bin) {
    const T y0 = top + static_cast<T>(bin / setup.binColumns) * binHigh;
    const T x0 = left + static_cast<T>(bin % setup.binColumns) * binWide;
    for (std::int64_t i = 0; i < rows; ++i) {
      const Pair<T> y = pairAt(y0 + (static_cast<T>(i) + T(0.5)) * binHigh / rowsWanted, setup.height);
      for (std::int64_t j = 0; j < columns && y.inside; ++j) {
        const Pair<T> x = pairAt(x0 + (static_cast<T>(j) + T(0.5)) * binWide / columnsWanted, setup.width);
        if (!x.inside) continue;
        for (std::size_t k = 0; k < 4; ++k) {
          visit(bin, y.places[k / 2] * setup.width + x.places[k % 2],
                y.weights[k / 2] * x.weights[k % 2] * share);
        }
      }
    }
  }
  return true;
}

/// Calls samples(region, first element of its image's planes) for every region.
template <class T, class Samples>
Status forRegions(const RoiSetup& setup, const T* rois, const std::int64_t* images, const Samples& samples) {
  for (std::int64_t r = 0; r < setup.regions; ++r) {
    if (images[r] < 0 || images[r] >= setup.batch) {
      return badInput(fmt::format("{}: region {} belongs to image {}; there are {}", setup.title, r,
                                  images[r], setup.batch));
    }
    if (!samples(r, images[r] * setup.channels, rois + 4 * r))
      return badInput(fmt::format("{}: region {} is too large to be sampled", setup.title, r));
  }
  return {};
}

// --- RoiAlign: X, rois, batch_indices → Y ----------------------------------------------

Result<std::vector<TensorType>> inferRoiAlign(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  PIPESCOPE_ASSIGN(const RoiSetup setup, roiAlignSetupOf(call, call.input(0).shape, 1));
  return inferredAs(call, call.input(0).element,
                    {setup.regions, setup.channels, setup.binRows, setup.binColumns});
}

Result<Kernel> roiAlignKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const RoiSetup setup, roiAlignSetupOf(call, call.input(0).shape, 1));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{
        [setup, count = call.outputs[0].elements()](const KernelArguments& a) -> Status {
          const T* x = a.input<T>(0);
          T* y = a.output<T>(0);
          const std::int64_t plane = setup.height * setup.width, bins = setup.binRows * setup.binColumns;
          std::fill_n(y, count, T(0));
          return forRegions(setup, a.input<T>(1), a.input<std::int64_t>(2),
                            [&](std::int64_t r, std::int64_t first, const T* roi) {
                              return forSamples(setup, roi, [&](std::int64_t bin, std::int64_t at, T weight) {
                                for (std::int64_t c = 0; c < setup.channels; ++c)
                                  y[(r * setup.channels + c) * bins + bin] +=
                                      weight * x[(first + c) * plane + at];
                              });
                            });
        },
        0};
  });
}

/// Each sample reads four elements. If the regions decide the number of samples, one for each bin is counted.
std::int64_t readsOf(const RoiSetup& setup) {
  return setup.regions * setup.channels * setup.binRows * setup.binColumns * 4 *
         std::max<std::int64_t>(setup.samples * setup.samples, 1);
}

std::vector<Work> roiAlignWork(const OperatorCall& call) {
  const std::int64_t reads = readsOf(*roiAlignSetupOf(call, call.input(0).shape, 1));
  const ElementType type = call.input(0).element;
  return {{Gather{reads, 1, call.input(0).elements(), type}, 1, "Read"},
          {Map{MapFunction::scaledAdd, reads, 2, type, false}, 1, "Weigh"}};
}

Status roiAlignGradient(GradientBuilder& builder) {
  if (builder.wants(1)) {
    return badInput(
        fmt::format("{}: cannot train through its regions; only through its input", builder.call().title()));
  }
  const Node& node = builder.node();
  graph::Attributes attributes = node.attributes;
  attributes["input_shape"] = builder.call().input(0).shape;
  return builder.addFor(0, "GradRoiAlign", "grad_input",
                        {builder.outputGradient(0), node.inputs[1], node.inputs[2]}, std::move(attributes));
}

// --- GradRoiAlign: dy, rois, batch_indices → dx; attribute input_shape -----------------

Result<std::vector<TensorType>> inferRoiAlignGradient(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_ASSIGN(const RoiSetup setup, roiAlignSetupOf(call, shape, 1));
  const Shape expected{setup.regions, setup.channels, setup.binRows, setup.binColumns};
  if (call.input(0).shape != expected) {
    return badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}", call.title(),
                                extentsText(call.input(0).shape), extentsText(expected)));
  }
  return inferredAs(call, call.input(0).element, shape);
}

Result<Kernel> roiAlignGradientKernel(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_ASSIGN(const RoiSetup setup, roiAlignSetupOf(call, shape, 1));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{
        [setup, count = graph::elementCount(shape)](const KernelArguments& a) -> Status {
          const T* dy = a.input<T>(0);
          T* dx = a.output<T>(0);
          const std::int64_t plane = setup.height * setup.width, bins = setup.binRows * setup.binColumns;
          std::fill_n(dx, count, T(0));
          return forRegions(setup, a.input<T>(1), a.input<std::int64_t>(2),
                            [&](std::int64_t r, std::int64_t first, const T* roi) {
                              return forSamples(setup, roi, [&](std::int64_t bin, std::int64_t at, T weight) {
                                for (std::int64_t c = 0; c < setup.channels; ++c)
                                  dx[(first + c) * plane + at] +=
                                      weight * dy[(r * setup.channels + c) * bins + bin];
                              });
                            });
        },
        0};
  });
}

std::vector<Work> roiAlignGradientWork(const OperatorCall& call) {
  const RoiSetup setup = *roiAlignSetupOf(call, graph::intsAttribute(call.node, "input_shape", {}), 1);
  return {{Scatter{readsOf(setup), 1, call.outputs[0].elements(), true, call.input(0).element}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(roi_align) {
  std::vector<AttributeRule> attributes{{"coordinate_transformation_mode", AttributeKind::text},
                                        {"mode", AttributeKind::text},
                                        {"output_height", AttributeKind::integer},
                                        {"output_width", AttributeKind::integer},
                                        {"sampling_ratio", AttributeKind::integer},
                                        {"spatial_scale", AttributeKind::real}};
  registry.add({.type = "RoiAlign",
                .attributes = attributes,
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferRoiAlign,
                .kernel = roiAlignKernel,
                .work = roiAlignWork,
                .gradient = roiAlignGradient});
  attributes.push_back({"input_shape", AttributeKind::integers});
  registry.add({.type = "GradRoiAlign",
                .attributes = attributes,
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferRoiAlignGradient,
                .kernel = roiAlignGradientKernel,
                .work = roiAlignGradientWork});
}

}  // namespace pipescope::ops
