#include "profiler/analysis/lazy_table.h"

#include <gtest/gtest.h>

namespace pipescope::analysis {
namespace {

/// A source with two blocks of three names. The second block cannot be read.
class SecondFails : public model::ProfileSource {
 public:
  explicit SecondFails(base::Error error) : error_(std::move(error)) {}
  base::Result<model::SourceState> state() const override { return model::SourceState{}; }
  std::int64_t revision() const override { return 0; }
  mutable int failures = 0;

 protected:
  base::Result<std::vector<model::BlockInfo>> directory(std::size_t) const override {
    std::vector<model::BlockInfo> blocks(2);
    for (model::BlockInfo& block : blocks) block.rows = 3;
    blocks[1].firstRow = 3;
    return blocks;
  }
  base::Result<std::shared_ptr<const void>> decode(std::size_t, std::size_t block) const override {
    if (block == 1) return ++failures, error_;
    std::vector<model::DebugContext> rows(3);
    rows[1].name = "one";
    return std::shared_ptr<const void>(std::make_shared<const std::vector<model::DebugContext>>(rows));
  }

 private:
  base::Error error_;
};

int failuresOf(base::Error error) {
  const SecondFails source(std::move(error));
  LazyTable<model::DebugContextId, model::DebugContext> table;
  EXPECT_TRUE(table.load(source).ok());
  EXPECT_EQ(table.size(), 6U);
  for (std::int64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(table[model::DebugContextId(i % 6)].name, i % 6 == 1 ? "one" : "");
  }
  for (const std::int64_t absent : {std::int64_t{-1}, std::int64_t{6}, std::int64_t{1} << 62}) {
    EXPECT_FALSE(table.contains(model::DebugContextId(absent)));
    EXPECT_EQ(table[model::DebugContextId(absent)].name, "");
  }
  return source.failures;
}

TEST(LazyTable, DamagedRowsAreEmptyAndReadOnce) {
  EXPECT_EQ(failuresOf(base::badInput("damaged")), 1);
}

TEST(LazyTable, WhatMayBeOverNextTimeIsTriedAgain) {
  EXPECT_EQ(failuresOf(base::ioError("locked")), 15);
}

}  // namespace
}  // namespace pipescope::analysis
