#include "engine/data/dataset_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profiler/base/check.h"

namespace pipescope::data {

const FieldRequest* DatasetRequest::onlySample() const {
  const FieldRequest* only = nullptr;
  for (const FieldRequest& field : fields) {
    if (field.labels) continue;
    if (only) return nullptr;
    only = &field;
  }
  return only;
}

const FieldRequest* DatasetRequest::labels() const {
  const auto found = std::ranges::find(fields, true, &FieldRequest::labels);
  return found == fields.end() ? nullptr : &*found;
}

void DatasetRegistry::add(DatasetFormat format) {
  PIPESCOPE_CHECK(!format.name.empty() && format.open != nullptr,
                  "a data-set format without name or function");
  formats_.push_back(std::move(format));
}

const DatasetRegistry& datasetRegistry() {
  static const DatasetRegistry all = [] {
    DatasetRegistry registry;
    registerDatasets(registry);
    return registry;
  }();
  return all;
}

namespace {

base::Result<const DatasetFormat*> findFormat(std::string_view name) {
  std::string known;
  for (const DatasetFormat& candidate : datasetRegistry().formats()) {
    if (candidate.name == name) return &candidate;
    known += (known.empty() ? "" : ", ") + candidate.name;
  }
  return base::badInput(fmt::format("there is no data-set format '{}'; choose one of: {}", name, known));
}

}  // namespace

base::Result<std::unique_ptr<Dataset>> openDataset(std::string_view format, const DatasetRequest& request) {
  PIPESCOPE_ASSIGN(const DatasetFormat* const found, findFormat(format));
  return found->open(request);
}

base::Result<std::int64_t> countDataset(std::string_view format, const DatasetRequest& request) {
  PIPESCOPE_ASSIGN(const DatasetFormat* const found, findFormat(format));
  if (found->count != nullptr) return found->count(request);
  PIPESCOPE_ASSIGN(const std::unique_ptr<Dataset> opened, found->open(request));
  return opened->size();
}

}  // namespace pipescope::data
