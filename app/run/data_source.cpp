#include "app/run/data_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/data/dataset_registry.h"
#include "engine/data/digit_cache.h"
#include "engine/data/prefix_dataset.h"

namespace pipescope::app {
namespace {

const char* limitKey(data::Split split) {
  return split == data::Split::train ? "data.samples" : "data.test_samples";
}

constexpr std::int64_t kDigitPixels = 28 * 28;

bool isFile(const config::Configuration& c) {
  return !c.text("model.onnx").empty() || !c.text("model.builder").empty();
}

/// Generated digits are what a configuration means that names no data: they must fit.
bool digitsFit(const DataNeeds& needs) {
  const std::vector<data::FieldRequest> fields = needs.fields();
  const bool labels = std::ranges::all_of(fields, [](const data::FieldRequest& field) {
    return !field.labels || field.type.shape.empty();
  });
  const bool oneSample = std::ranges::count(fields, false, &data::FieldRequest::labels) == 1;
  const auto sample = std::ranges::find(fields, false, &data::FieldRequest::labels);
  return labels && oneSample && sample->type.elements() == kDigitPixels &&
         (needs.classes == 0 || needs.classes >= 10);
}

bool namesData(const config::Configuration& c) {
  return c.given("data.dataset") || c.given("data.directory");
}

/// The data set's name; "synthetic" where nothing else fits and none was asked for.
std::string datasetOf(const config::Configuration& c, const DataNeeds& needs) {
  if (isFile(c) && !namesData(c) && !digitsFit(needs)) return "synthetic";
  return c.text("data.dataset");
}

base::Result<std::shared_ptr<const data::Dataset>> openWhole(const config::Configuration& c, data::Split split,
                                                             const DataNeeds& needs, base::Progress& progress,
                                                             base::Executor& executor) {
  data::DatasetRequest request;
  request.split = split;
  request.preprocessing.mean = c.real("data.mean");
  request.preprocessing.deviation = c.real("data.std");
  request.seed = static_cast<std::uint64_t>(c.integer("execution.seed"));
  request.fields = needs.fields();
  request.directory = c.text("data.directory");
  const std::string name = datasetOf(c, needs);
  if (name == "synthetic") {
    request.count = c.integer(limitKey(split));
    if (request.count == 0 && !namesData(c)) request.count = needs.callRows;
    if (request.count == 0)
      return base::badInput(fmt::format(
          "{} is missing: synthetic data needs to know how many samples to make.", limitKey(split)));
  }
  if (name == "mnist" && request.directory.empty()) {
    PIPESCOPE_ASSIGN(const std::filesystem::path cache, data::defaultCacheDirectory());
    PIPESCOPE_ASSIGN(request.directory, data::ensureDigits(cache, progress, executor));
  }
  PIPESCOPE_ASSIGN(std::unique_ptr<data::Dataset> opened,
                   data::openDataset(name == "mnist" ? "idx" : name, request));
  return std::shared_ptr<const data::Dataset>(std::move(opened));
}

}  // namespace

std::optional<std::string> dataNotice(const config::Configuration& c, const DataNeeds& needs) {
  if (datasetOf(c, needs) != "synthetic" || namesData(c)) return std::nullopt;
  std::vector<data::Field> fields;
  for (const data::FieldRequest& field : needs.fields()) fields.push_back({field.name, field.type});
  return fmt::format("No data set is given, and the generated digits do not fit a model of {}: samples are synthetic, "
                     "so that losses and accuracy say nothing. Choose data with --dataset and --data "
                     "(numpy takes an array for each input by its name).",
                     data::toString(fields));
}

base::Result<std::shared_ptr<const data::Dataset>> openData(const config::Configuration& c, data::Split split,
                                                            const DataNeeds& needs, base::Progress& progress,
                                                            base::Executor& executor) {
  PIPESCOPE_ASSIGN(std::shared_ptr<const data::Dataset> whole, openWhole(c, split, needs, progress, executor));
  const std::int64_t limit = c.integer(limitKey(split));
  if (limit == 0 || limit == whole->size()) return whole;
  if (limit > whole->size()) {
    return base::badInput(fmt::format("{} asks for {} samples, but {} has {}.", limitKey(split), limit,
                                      whole->description(), whole->size()));
  }
  return std::shared_ptr<const data::Dataset>(std::make_shared<data::PrefixDataset>(std::move(whole), limit));
}

base::Result<std::int64_t> countData(const config::Configuration& c, data::Split split,
                                     const DataNeeds& needs, base::Progress& progress, base::Executor& executor) {
  const std::int64_t limit = c.integer(limitKey(split));
  if (limit > 0) return limit;
  const std::string name = datasetOf(c, needs);
  if (name == "synthetic" && !namesData(c)) return needs.callRows;
  if (name == "mnist" && c.text("data.directory").empty()) {
    const data::DigitSetOptions generated;
    return split == data::Split::train ? generated.trainCount : generated.testCount;
  }
  PIPESCOPE_ASSIGN(const std::shared_ptr<const data::Dataset> opened, openData(c, split, needs, progress, executor));
  return opened->size();
}

}  // namespace pipescope::app
