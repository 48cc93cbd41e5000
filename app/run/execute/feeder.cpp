#include "app/run/execute/feeder.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/cast_elements.h"

namespace pipescope::app {
namespace {

using base::badInput;
using graph::ElementType;

bool isReal(ElementType type) {
  using enum ElementType;
  return type == float32 || type == float64 || type == float16 || type == bfloat16;
}

std::string listed(const std::vector<data::FieldRequest>& requests) {
  std::vector<data::Field> fields;
  for (const data::FieldRequest& request : requests) fields.push_back({request.name, request.type});
  return data::toString(fields);
}

bool sameShape(const data::FieldRequest& request, const graph::Shape& shape) {
  if (request.type.shape == shape) return true;
  // Labels may have an extra dimension of size 1.
  return request.labels && request.type.elements() == graph::elementCount(shape);
}

}  // namespace

base::Result<Feeder::Column> Feeder::columnFor(const data::FieldRequest& request, const DataNeeds& needs,
                                               const data::Dataset& dataset) {
  const std::vector<data::Field> fields = dataset.fields();
  std::optional<std::size_t> found = data::findField(fields, request.name);
  const auto samples = std::ranges::count(needs.inputs, false, &data::FieldRequest::labels);
  if (!found && request.labels) found = data::findField(fields, "labels");
  if (!found && !request.labels && samples == 1) found = data::findField(fields, "samples");
  if (!found) {
    return badInput(fmt::format("The model takes {}, but {} has {}: give {} by that name.",
                                listed(needs.inputs), dataset.description(), data::toString(fields),
                                request.name));
  }
  const data::Field& field = fields[*found];
  const std::string name = request.labels ? "labels" : samples == 1 ? "samples" : request.name;
  const std::string wanted = fmt::format("{} of {}", name, graph::toString(request.type));
  if (!sameShape(request, field.type.shape)) {
    return badInput(fmt::format("The model takes {}, but {} has {} of {}.", wanted, dataset.description(),
                                field.name, graph::toString(field.type)));
  }
  if (isReal(field.type.element) && !isReal(request.type.element)) {
    return badInput(fmt::format("The model takes {}, but {} has {} of {}: store whole numbers there.", wanted,
                                dataset.description(), field.name, graph::toString(field.type)));
  }
  return Column{*found, field.type};
}

base::Result<Feeder> Feeder::create(const DataNeeds& needs, const data::Dataset& dataset) {
  Feeder feeder;
  for (const data::FieldRequest& request : needs.inputs) {
    PIPESCOPE_ASSIGN(Column column, columnFor(request, needs, dataset));
    feeder.inputs_.push_back(std::move(column));
  }
  const std::optional<std::size_t> compared =
      data::findField(dataset.fields(), needs.labels ? needs.labels->name : "labels");
  const bool standard = !compared && data::findField(dataset.fields(), "labels");
  if (!compared && !standard) return feeder;
  const std::size_t field = compared ? *compared : *data::findField(dataset.fields(), "labels");
  const graph::TensorType type = dataset.fields()[field].type;
  const bool numbers =
      isReal(needs.labels ? needs.labels->type.element : type.element) || isReal(type.element);
  feeder.compared_ = Column{field, type};
  feeder.labelType_ = numbers ? ElementType::float32 : ElementType::int32;
  feeder.labelsPerRow_ = type.elements();
  return feeder;
}

std::vector<run::HostTensor> Feeder::inputs(const data::Batch& batch) const {
  std::vector<run::HostTensor> tensors;
  for (const Column& column : inputs_) {
    graph::TensorType type = column.from;
    type.shape.insert(type.shape.begin(), batch.rows);
    tensors.push_back({std::move(type), batch.fields[column.field]});
  }
  return tensors;
}

BatchLabels Feeder::labels(const data::Batch& batch) {
  BatchLabels labels;
  if (!compared_) return labels;
  std::span<const std::byte> bytes = batch.fields[compared_->field];
  if (compared_->from.element != labelType_) {
    const std::int64_t elements = batch.rows * compared_->from.elements();
    converted_.resize(static_cast<std::size_t>(elements * graph::sizeOf(labelType_)));
    ops::castElements(compared_->from.element, bytes.data(), labelType_, converted_.data(), elements);
    bytes = converted_;
  }
  if (labelType_ == ElementType::int32) {
    labels.classes = {reinterpret_cast<const std::int32_t*>(bytes.data()),
                      bytes.size() / sizeof(std::int32_t)};
  } else {
    labels.numbers = {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
  return labels;
}

}  // namespace pipescope::app
