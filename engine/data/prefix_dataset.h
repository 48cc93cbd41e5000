#pragma once
#include <memory>

#include "engine/data/dataset.h"

namespace pipescope::data {

/// The first rows of another data set; `count` from 1 to its size.
class PrefixDataset : public Dataset {
 public:
  PrefixDataset(std::shared_ptr<const Dataset> whole, std::int64_t count)
      : whole_(std::move(whole)), count_(count) {}
  std::string description() const override {
    return "the first " + std::to_string(count_) + " of " + whole_->description();
  }
  std::int64_t size() const override { return count_; }
  std::vector<Field> fields() const override { return whole_->fields(); }
  std::int64_t classes() const override { return whole_->classes(); }
  base::Status read(std::span<const std::int64_t> indices,
                    std::span<const std::span<std::byte>> values) const override {
    return whole_->read(indices, values);
  }

 private:
  std::shared_ptr<const Dataset> whole_;
  std::int64_t count_;
};

}  // namespace pipescope::data
