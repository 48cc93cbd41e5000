#include "profiler/analysis/lazy_table.h"

#include <gtest/gtest.h>

#include "profiler/analysis/catalog.h"
#include "profiler/record/memory_profile.h"

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

/// A source with three blocks of one name each.
class ThreeBlocks : public model::ProfileSource {
 public:
  base::Result<model::SourceState> state() const override { return model::SourceState{}; }
  std::int64_t revision() const override { return 0; }
  mutable int decoded = 0;

 protected:
  base::Result<std::vector<model::BlockInfo>> directory(std::size_t) const override {
    std::vector<model::BlockInfo> blocks(3);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      blocks[i].rows = 1, blocks[i].firstRow = static_cast<std::int64_t>(i);
    return blocks;
  }
  base::Result<std::shared_ptr<const void>> decode(std::size_t, std::size_t block) const override {
    ++decoded;
    std::vector<model::DebugContext> rows(1);
    rows[0].name = std::string(1, static_cast<char>('a' + block));
    return std::shared_ptr<const void>(std::make_shared<const std::vector<model::DebugContext>>(rows));
  }
};

/// A name and the names around it may lie in several blocks, which are then asked for in turn.
TEST(LazyTable, AFewBlocksAreKept) {
  const ThreeBlocks source;
  LazyTable<model::DebugContextId, model::DebugContext> table;
  ASSERT_TRUE(table.load(source).ok());
  std::string names;
  for (std::int64_t i = 0; i < 9; ++i)
    table.visit(model::DebugContextId(i % 3), [&](const model::DebugContext& row) { names += row.name; });
  EXPECT_EQ(names, "abcabcabc");
  EXPECT_EQ(source.decoded, 3);
}

TEST(NamePath, PartsAreJoinedFromTheOutside) {
  record::MemoryProfile profile;
  model::RowSet rows;
  // Each name with the place of the name around it; the last two lie in each other.
  const std::vector<std::pair<const char*, std::int64_t>> names = {
      {"model", -1}, {"layer", 0}, {"conv", 1}, {"", 0},      {"deep", 3},
      {"", 2},       {"", -1},     {"leaf", 6}, {"turns", 9}, {"round", 8}};
  for (const auto& [name, around] : names) {
    model::DebugContext row;
    row.id = model::DebugContextId(std::ssize(rows.of<model::DebugContext>()));
    if (around >= 0) row.parent = model::DebugContextId(around);
    row.name = name;
    rows.of<model::DebugContext>().push_back(row);
  }
  ASSERT_TRUE(profile.commit(rows).ok());
  const auto catalog = *loadCatalog(profile);
  const auto path = [&](std::int64_t id) { return catalog->namePath(model::DebugContextId(id)); };
  EXPECT_EQ(path(0), "model");
  EXPECT_EQ(path(2), "model/layer/conv");
  EXPECT_EQ(path(4), "model//deep") << "a part without a name";
  EXPECT_EQ(path(5), "model/layer/conv") << "the end has no name";
  EXPECT_EQ(path(7), "/leaf");
  EXPECT_TRUE(path(8).ends_with("round/turns")) << "names that lie in each other end somewhere";
  EXPECT_EQ(path(99), "");
}

TEST(LazyTable, WhatMayBeOverNextTimeIsTriedAgain) {
  EXPECT_EQ(failuresOf(base::ioError("locked")), 15);
}

}  // namespace
}  // namespace pipescope::analysis
