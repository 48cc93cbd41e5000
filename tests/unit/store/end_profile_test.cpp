#include "profiler/store/end_profile.h"

#include "profiler/store/verify.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

namespace fs = std::filesystem;

TEST(EndProfile, GivesALeftProfileItsReasonAndKeepsItsRows) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  {
    auto writer = ProfileWriter::create(path);
    ASSERT_OK(writer);
    ASSERT_OK((*writer)->commit(makeRowSet(3, 0)));
    EXPECT_THAT(endProfile(path, "early"), FailsWith(path.string()));  // the writer is at work
  }
  base::SilentProgress progress;
  const std::string hash = verify(path, progress)->contentHash;
  const auto ended = endProfile(path, "Instance 1 on host b was killed.");
  ASSERT_OK(ended);
  EXPECT_TRUE(*ended);
  const auto reader = ProfileReader::open(path);
  ASSERT_OK(reader);
  const auto state = (*reader)->state();
  ASSERT_OK(state);
  EXPECT_EQ(state->state, model::ProfileState::incomplete);
  EXPECT_EQ(state->reason, "Instance 1 on host b was killed.");
  const auto verified = verify(path, progress);
  ASSERT_OK(verified);
  EXPECT_TRUE(verified->holes.empty());
  EXPECT_EQ(verified->contentHash, hash);
  EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
}

TEST(EndProfile, LeavesOtherFilesAlone) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  EXPECT_THAT(endProfile(path, "late"), FailsWith(path.string()));
  writeFile(path, "no profile");
  EXPECT_THAT(endProfile(path, "late"), FailsWith("is not a profile"));
  fs::remove(path);
  writeProfile(path, {makeRowSet(1, 0)});
  const auto ended = endProfile(path, "late");
  ASSERT_OK(ended);
  EXPECT_FALSE(*ended);
  EXPECT_EQ(ProfileReader::open(path).value()->state()->state, model::ProfileState::complete);
}

}  // namespace
}  // namespace pipescope::store::testing
