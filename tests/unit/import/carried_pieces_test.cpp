#include "profiler/import/read/carried_pieces.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipescope::importing {
namespace {

std::vector<std::string> piecesOf(CarriedPieces& pieces, std::size_t most = SIZE_MAX) {
  std::vector<std::string> found;
  const base::Status status = pieces.visit([&](std::string_view piece) -> base::Result<bool> {
    found.emplace_back(piece);
    return found.size() < most;
  });
  EXPECT_TRUE(status.ok());
  return found;
}

TEST(CarriedPieces, KeepTheirOrderInMemoryAndInATemporaryFile) {
  CarriedPieces pieces(::testing::TempDir());
  std::vector<std::string> wanted;
  // 14 MB, of which 4 MB are held in memory at most.
  for (std::size_t i = 0; i < 40; ++i) {
    wanted.emplace_back(i % 5 == 4 ? 0 : 10'000 * i + 1, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(pieces.add(wanted.back()).ok());
    if (i == 3 || i == 25) {
      EXPECT_EQ(piecesOf(pieces), wanted) << "more may follow";
    }
  }
  EXPECT_EQ(pieces.size(), 40);
  EXPECT_EQ(piecesOf(pieces), wanted);
  EXPECT_EQ(piecesOf(pieces), wanted) << "a visit may be repeated";
  EXPECT_EQ(piecesOf(pieces, 7), std::vector<std::string>(wanted.begin(), wanted.begin() + 7));
  EXPECT_EQ(piecesOf(pieces, 39), std::vector<std::string>(wanted.begin(), wanted.begin() + 39));
}

TEST(CarriedPieces, PassErrorsOn) {
  CarriedPieces pieces(::testing::TempDir());
  ASSERT_TRUE(pieces.add("a").ok());
  const base::Status status =
      pieces.visit([](std::string_view) -> base::Result<bool> { return base::badInput("No."); });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "No.");
}

}  // namespace
}  // namespace pipescope::importing
