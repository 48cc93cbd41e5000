#include "app/run/io/data_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/run/request/data_choice.h"
#include "engine/data/dataset_registry.h"
#include "engine/data/digit_cache.h"
#include "engine/data/prefix_dataset.h"

namespace pipescope::app {
namespace {

const char* limitKey(data::DataSplit split) {
  return split == data::DataSplit::train ? "data.samples" : "data.test_samples";
}

base::Result<std::shared_ptr<const data::Dataset>> openWhole(const config::Configuration& c,
                                                             data::DataSplit split, const DataNeeds& needs,
                                                             base::Progress& progress,
                                                             base::Executor& executor) {
  data::DatasetRequest request;
  request.split = split;
  request.preprocessing.mean = c.real("data.mean");
  request.preprocessing.deviation = c.real("data.std");
  request.seed = static_cast<std::uint64_t>(c.integer("execution.seed"));
  request.fields = needs.fields();
  for (data::FieldRequest& field : request.fields) field.ignored = c.integer("training.ignore_index");
  request.directory = c.text("data.directory");
  const std::string name = datasetName(c, needs);
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
  PIPESCOPE_ASSIGN(std::unique_ptr<data::Dataset> opened, data::openDataset(name, request));
  return std::shared_ptr<const data::Dataset>(std::move(opened));
}

}  // namespace

base::Result<std::shared_ptr<const data::Dataset>> openData(const config::Configuration& c,
                                                            data::DataSplit split, const DataNeeds& needs,
                                                            base::Progress& progress,
                                                            base::Executor& executor) {
  PIPESCOPE_ASSIGN(std::shared_ptr<const data::Dataset> whole,
                   openWhole(c, split, needs, progress, executor));
  const std::int64_t limit = c.integer(limitKey(split));
  if (limit == 0 || limit == whole->size()) return whole;
  if (limit > whole->size()) {
    return base::badInput(fmt::format("{} asks for {} samples, but there are only {}: {}.", limitKey(split),
                                      limit, whole->size(), whole->description()));
  }
  return std::shared_ptr<const data::Dataset>(std::make_shared<data::PrefixDataset>(std::move(whole), limit));
}

base::Result<std::int64_t> countData(const config::Configuration& c, data::DataSplit split,
                                     const DataNeeds& needs, base::Progress& progress,
                                     base::Executor& executor) {
  const std::int64_t limit = c.integer(limitKey(split));
  if (limit > 0) return limit;
  const std::string name = datasetName(c, needs);
  if (name == "synthetic" && !namesData(c)) return needs.callRows;
  if (name == "mnist" && c.text("data.directory").empty()) {
    const data::DigitSetOptions generated;
    return split == data::DataSplit::train ? generated.trainCount : generated.testCount;
  }
  PIPESCOPE_ASSIGN(const std::shared_ptr<const data::Dataset> opened,
                   openData(c, split, needs, progress, executor));
  return opened->size();
}

}  // namespace pipescope::app
