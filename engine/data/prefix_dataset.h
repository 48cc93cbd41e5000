#pragma once
#include <memory>

#include "engine/data/dataset.h"

namespace pipescope::data {

/// The first samples of another data set; `count` from 1 to its size.
class PrefixDataset : public Dataset {
 public:
  PrefixDataset(std::shared_ptr<const Dataset> whole, std::int64_t count)
      : whole_(std::move(whole)), count_(count) {}
  std::string description() const override {
    return whole_->description() + ", the first " + std::to_string(count_) + " samples";
  }
  std::int64_t size() const override { return count_; }
  graph::TensorType sampleType() const override { return whole_->sampleType(); }
  graph::TensorType labelType() const override { return whole_->labelType(); }
  std::int64_t classes() const override { return whole_->classes(); }
  base::Status read(std::span<const std::int64_t> indices, std::span<float> samples,
                    std::span<std::int32_t> labels) const override {
    return whole_->read(indices, samples, labels);
  }

 private:
  std::shared_ptr<const Dataset> whole_;
  std::int64_t count_;
};

}  // namespace pipescope::data
