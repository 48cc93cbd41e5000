// NonMaxSuppression picks for each class the boxes with the best scores that do not overlap a better one too
// much. The data decide how many there are, so they must be known before the run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct NmsInput {
  std::vector<float> boxes, scores;
  std::int64_t batch = 0, classes = 0, count = 0, most = 0;
  float overlap = 0, least = 0;
  bool hasLeast = false, centers = false;
};

Result<std::vector<float>> floatsOf(const OperatorCall& call, std::size_t index, const std::string& what) {
  PIPESCOPE_ASSIGN(const std::vector<std::byte>* bytes, shapingValue(call, index, what));
  if (call.input(index).element != ElementType::float32) {
    return badInput(fmt::format("{}: {} (input {}) is {}; it must be float32", call.title(), what, index,
                                graph::toString(call.input(index))));
  }
  std::vector<float> values(static_cast<std::size_t>(call.input(index).elements()));
  if (!values.empty()) std::memcpy(values.data(), bytes->data(), values.size() * sizeof(float));
  return values;
}

Result<NmsInput> inputOf(const OperatorCall& call) {
  const Shape& boxes = call.input(0).shape;
  const Shape& scores = call.input(1).shape;
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] ||
      boxes[1] != scores[2]) {
    return badInput(
        fmt::format("{}: its boxes are {} and its scores {}; it needs batch, boxes and 4, and batch, "
                    "classes and boxes",
                    call.title(), extentsText(boxes), extentsText(scores)));
  }
  NmsInput in;
  in.batch = scores[0];
  in.classes = scores[1];
  in.count = scores[2];
  PIPESCOPE_ASSIGN(in.boxes, floatsOf(call, 0, "boxes"));
  PIPESCOPE_ASSIGN(in.scores, floatsOf(call, 1, "scores"));
  const auto one = [&](std::size_t index, const char* what, float& to) -> Status {
    if (!call.has(index)) return {};
    PIPESCOPE_ASSIGN(const double value, scalarNumber(call, index, what));
    to = static_cast<float>(value);
    return {};
  };
  if (call.has(2)) {
    PIPESCOPE_ASSIGN(const double most, scalarNumber(call, 2, "max_output_boxes_per_class"));
    in.most = static_cast<std::int64_t>(std::clamp(most, 0.0, static_cast<double>(in.count)));
  }
  PIPESCOPE_TRY(one(3, "iou_threshold", in.overlap));
  PIPESCOPE_TRY(one(4, "score_threshold", in.least));
  in.hasLeast = call.has(4);
  const std::int64_t centers = graph::intAttribute(call.node, "center_point_box", 0);
  if (centers != 0 && centers != 1)
    return badInput(fmt::format("{}: center_point_box is {}; it must be 0 or 1", call.title(), centers));
  in.centers = centers == 1;
  return in;
}

/// Two corners, the one with the smaller coordinates first.
std::array<float, 4> cornersOf(const NmsInput& in, const float* box) {
  if (in.centers) {
    return {box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2};
  }
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]),
          std::max(box[1], box[3])};
}

/// Intersection over union.
float overlapOf(const std::array<float, 4>& a, const std::array<float, 4>& b) {
  const float high = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const float wide = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (high <= 0 || wide <= 0) return 0;
  const float shared = high * wide;
  const float areaA = (a[2] - a[0]) * (a[3] - a[1]), areaB = (b[2] - b[0]) * (b[3] - b[1]);
  return areaA <= 0 || areaB <= 0 ? 0 : shared / (areaA + areaB - shared);
}

/// Rows of batch, class and box.
Ints selectedBoxes(const NmsInput& in) {
  Ints selected;
  for (std::int64_t group = 0; group < in.batch * in.classes; ++group) {
    const float* scores = in.scores.data() + group * in.count;
    const float* boxes = in.boxes.data() + group / in.classes * in.count * 4;
    Ints order;
    for (std::int64_t i = 0; i < in.count; ++i) {
      if (!in.hasLeast || scores[i] > in.least) order.push_back(i);
    }
    std::ranges::stable_sort(order, [scores](std::int64_t a, std::int64_t b) {
      return scores[a] > scores[b] || (scores[a] == scores[a] && scores[b] != scores[b]);
    });
    std::vector<std::array<float, 4>> kept;
    for (const std::int64_t box : order) {
      if (static_cast<std::int64_t>(kept.size()) >= in.most) break;
      const std::array<float, 4> corners = cornersOf(in, boxes + box * 4);
      if (std::ranges::any_of(kept, [&](const auto& each) { return overlapOf(each, corners) > in.overlap; }))
        continue;
      kept.push_back(corners);
      selected.insert(selected.end(), {group / in.classes, group % in.classes, box});
    }
  }
  return selected;
}

Result<std::vector<TensorType>> inferNms(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const NmsInput in, inputOf(call));
  const auto rows = static_cast<std::int64_t>(selectedBoxes(in).size() / 3);
  return std::vector<TensorType>{{ElementType::int64, {rows, 3}}};
}

Result<Kernel> nmsKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const NmsInput in, inputOf(call));
  return Kernel{[selected = selectedBoxes(in)](const KernelArguments& a) -> Status {
                  std::ranges::copy(selected, a.output<std::int64_t>(0));
                  return {};
                },
                0};
}

std::vector<Work> nmsWork(const OperatorCall& call) {
  const Shape& scores = call.input(1).shape;
  const std::int64_t kept = call.outputs[0].elements() / 3;
  return {{Sort{scores[0] * scores[1], scores[2], scores[2], ElementType::float32}, 1, "Sort"},
          {Map{MapFunction::overlap, kept * scores[2], 8, ElementType::float32, false}, 1, "Overlap"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(non_max_suppression) {
  registry.add({.type = "NonMaxSuppression",
                .attributes = {{"center_point_box", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 5,
                .infer = inferNms,
                .kernel = nmsKernel,
                .work = nmsWork});
}

}  // namespace pipescope::ops
