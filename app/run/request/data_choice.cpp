#include "app/run/request/data_choice.h"

#include <fmt/format.h>

#include <algorithm>

namespace pipescope::app {
namespace {

constexpr std::int64_t kDigitPixels = 28 * 28;

bool isFile(const config::Configuration& c) {
  return !c.text("model.onnx").empty() || !c.text("model.builder").empty();
}

/// True if the generated digits fit the model. They are the default for configurations that name no data.
bool digitsFit(const DataNeeds& needs) {
  const std::vector<data::FieldRequest> fields = needs.fields();
  const bool labels = std::ranges::all_of(
      fields, [](const data::FieldRequest& field) { return !field.labels || field.type.shape.empty(); });
  const bool oneSample = std::ranges::count(fields, false, &data::FieldRequest::labels) == 1;
  const auto sample = std::ranges::find(fields, false, &data::FieldRequest::labels);
  return labels && oneSample && sample->type.elements() == kDigitPixels &&
         (needs.classes == 0 || needs.classes >= 10);
}

}  // namespace

bool namesData(const config::Configuration& c) {
  return c.given("data.dataset") || c.given("data.directory");
}

std::string datasetName(const config::Configuration& c, const DataNeeds& needs) {
  if (isFile(c) && !namesData(c) && !digitsFit(needs)) return "synthetic";
  return c.text("data.dataset");
}

std::optional<std::string> dataNotice(const config::Configuration& c, const DataNeeds& needs) {
  if (datasetName(c, needs) != "synthetic" || namesData(c) || !c.boolean("execution.numerics"))
    return std::nullopt;
  std::vector<data::Field> fields;
  for (const data::FieldRequest& field : needs.fields()) fields.push_back({field.name, field.type});
  return fmt::format(
      "{} on random data, because the generated digits do not fit the model's inputs ({}): ignore loss and "
      "accuracy. Use `--dataset numpy --data DIR` for real data.",
      c.text("execution.mode") == "inference" ? "Inferring" : "Training", data::toString(fields));
}

}  // namespace pipescope::app
