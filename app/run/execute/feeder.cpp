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
  return Column{*found, field.type, request.type.element, {}};
}

base::Result<Feeder> Feeder::create(const DataNeeds& needs, const data::Dataset& dataset) {
  Feeder feeder;
  for (const data::FieldRequest& request : needs.inputs) {
    PIPESCOPE_ASSIGN(Column column, columnFor(request, needs, dataset));
    feeder.inputs_.push_back(std::move(column));
  }
  feeder.rows_.resize(feeder.inputs_.size());
  const std::optional<std::size_t> compared =
      data::findField(dataset.fields(), needs.labels ? needs.labels->name : "labels");
  const bool standard = !compared && data::findField(dataset.fields(), "labels");
  if (!compared && !standard) return feeder;
  const std::size_t field = compared ? *compared : *data::findField(dataset.fields(), "labels");
  const graph::TensorType type = dataset.fields()[field].type;
  const bool numbers =
      isReal(needs.labels ? needs.labels->type.element : type.element) || isReal(type.element);
  feeder.compared_ = Column{field, type, numbers ? ElementType::float32 : ElementType::int32, {}};
  feeder.labelsPerRow_ = type.elements();
  return feeder;
}

std::span<const std::byte> Feeder::take(Column& column, const data::Batch& batch, std::int64_t first,
                                        std::int64_t count) {
  const auto width = static_cast<std::size_t>(column.from.bytes().count);
  const auto rows =
      std::span(batch.fields[column.field])
          .subspan(static_cast<std::size_t>(first) * width, static_cast<std::size_t>(count) * width);
  if (column.from.element == column.to) return rows;
  const std::int64_t elements = count * column.from.elements();
  column.converted.resize(static_cast<std::size_t>(elements * graph::sizeOf(column.to)));
  ops::castElements(column.from.element, rows.data(), column.to, column.converted.data(), elements);
  return column.converted;
}

const numerics::Rows& Feeder::rows(const data::Batch& batch, std::int64_t first, std::int64_t count) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) rows_[i] = take(inputs_[i], batch, first, count);
  labels_ = {};
  if (!compared_) return rows_;
  const std::span<const std::byte> taken = take(*compared_, batch, first, count);
  if (compared_->to == ElementType::int32) {
    labels_.classes = {reinterpret_cast<const std::int32_t*>(taken.data()),
                       taken.size() / sizeof(std::int32_t)};
  } else {
    labels_.numbers = {reinterpret_cast<const float*>(taken.data()), taken.size() / sizeof(float)};
  }
  return rows_;
}

}  // namespace pipescope::app
