#include "profiler/base/ids.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace pipescope::base {
namespace {

struct ShelfTag;
using ShelfId = Id<ShelfTag>;

TEST(IdVector, FindsElementsByTheirIds) {
  IdVector<ShelfId, std::string> shelves;
  EXPECT_EQ(shelves.nextId(), ShelfId(0));
  shelves.push_back("low");
  shelves.emplace_back("high");
  EXPECT_EQ(shelves.nextId(), ShelfId(2));
  EXPECT_EQ(shelves[ShelfId(1)], "high");
  shelves[ShelfId(0)] = "lowest";
  EXPECT_EQ(*shelves.find(ShelfId(0)), "lowest");
  EXPECT_EQ(shelves.items(), (std::vector<std::string>{"lowest", "high"}));
}

TEST(IdVector, HoldsNoIdsThatAreNoneOrBeyondItsEnd) {
  const IdVector<ShelfId, int> shelves(3, 7);
  const std::int64_t far = std::numeric_limits<std::int64_t>::max();
  for (const ShelfId absent : {ShelfId(), ShelfId(3), ShelfId(far), ShelfId(-far)}) {
    EXPECT_FALSE(shelves.contains(absent)) << absent.value;
    EXPECT_EQ(shelves.find(absent), nullptr) << absent.value;
  }
  EXPECT_TRUE(shelves.contains(ShelfId(2)));
}

}  // namespace
}  // namespace pipescope::base
