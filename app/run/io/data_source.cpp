#include "app/run/io/data_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/run/request/data_choice.h"
#include "engine/data/dataset_registry.h"
#include "engine/data/digits/digit_cache.h"
#include "engine/data/prefix_dataset.h"
#include "profiler/base/number_text.h"
#include "profiler/record/host_span.h"

namespace pipescope::app {
namespace {

const char* limitKey(data::DataSplit split) {
  return split == data::DataSplit::train ? "data.samples" : "data.test_samples";
}

/// The name of a format, and what to ask of it.
struct DataChoice {
  std::string format;
  data::DatasetRequest request;
};

base::Result<DataChoice> chooseData(const config::Configuration& c, data::DataSplit split,
                                    const DataNeeds& needs, base::Progress& progress,
                                    base::Executor& executor) {
  DataChoice choice{datasetName(c, needs), {}};
  data::DatasetRequest& request = choice.request;
  request.split = split;
  request.preprocessing.mean = c.real("data.mean");
  request.preprocessing.deviation = c.real("data.std");
  request.seed = static_cast<std::uint64_t>(c.integer("execution.seed"));
  request.fields = needs.fields();
  for (data::FieldRequest& field : request.fields) field.ignored = c.integer("training.ignore_index");
  request.directory = c.text("data.directory");
  if (choice.format == "synthetic") {
    request.count = c.integer(limitKey(split));
    if (request.count == 0 && !namesData(c)) request.count = needs.callRows;
    if (request.count == 0)
      return base::badInput(fmt::format(
          "{} is missing: synthetic data needs to know how many samples to make.", limitKey(split)));
  }
  if (choice.format == "mnist" && request.directory.empty()) {
    PIPESCOPE_ASSIGN(const std::filesystem::path cache, data::defaultCacheDirectory());
    PIPESCOPE_ASSIGN(request.directory, data::ensureDigits(cache, progress, executor));
  }
  return choice;
}

}  // namespace

base::Result<std::shared_ptr<const data::Dataset>> openData(const config::Configuration& c,
                                                            data::DataSplit split, const DataNeeds& needs,
                                                            base::Progress& progress,
                                                            base::Executor& executor) {
  PIPESCOPE_HOST_SPAN(span, "data", "open the data");
  PIPESCOPE_ASSIGN(const DataChoice choice, chooseData(c, split, needs, progress, executor));
  PIPESCOPE_ASSIGN(std::unique_ptr<data::Dataset> opened, data::openDataset(choice.format, choice.request));
  std::shared_ptr<const data::Dataset> whole = std::move(opened);
  const std::int64_t limit = c.integer(limitKey(split));
  if (limit == 0 || limit == whole->size()) return whole;
  if (limit > whole->size()) {
    return base::badInput(fmt::format("{} asks for {} samples, but there are only {}: {}.", limitKey(split),
                                      base::groupedText(limit), base::groupedText(whole->size()),
                                      whole->description()));
  }
  return std::shared_ptr<const data::Dataset>(std::make_shared<data::PrefixDataset>(std::move(whole), limit));
}

base::Result<std::int64_t> countData(const config::Configuration& c, data::DataSplit split,
                                     const DataNeeds& needs, base::Progress& progress,
                                     base::Executor& executor) {
  PIPESCOPE_HOST_SPAN(span, "data", "count the data");
  const std::int64_t limit = c.integer(limitKey(split));
  if (limit > 0) return limit;
  const std::string name = datasetName(c, needs);
  if (name == "synthetic" && !namesData(c)) return needs.callRows;
  if (name == "mnist" && c.text("data.directory").empty()) {
    const data::DigitSetOptions generated;
    return split == data::DataSplit::train ? generated.trainCount : generated.testCount;
  }
  PIPESCOPE_ASSIGN(const DataChoice choice, chooseData(c, split, needs, progress, executor));
  return data::countDataset(choice.format, choice.request);
}

}  // namespace pipescope::app
