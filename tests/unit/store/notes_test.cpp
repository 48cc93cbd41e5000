#include "profiler/store/notes.h"

#include "profiler/store/verify.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

namespace fs = std::filesystem;

TEST(Notes, AreReplacedInAFinishedProfileAndNothingElseChanges) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  writeProfile(path, {makeRowSet(3, 0)});
  base::SilentProgress progress;
  const std::string hash = verify(path, progress)->contentHash;
  for (const std::vector<std::string>& texts :
       {std::vector<std::string>{"first", "it's \"here\""}, {"second"}, {}}) {
    std::vector<model::Note> notes;
    for (const std::string& text : texts)
      notes.push_back({7, model::DeviceId(1), model::Ticks(5), model::Ticks(9), text});
    ASSERT_OK(writeNotes(path, notes));
    const auto reader = ProfileReader::open(path);
    ASSERT_OK(reader);
    const auto found = (*reader)->rows<model::Note>();
    ASSERT_OK(found);
    ASSERT_EQ((*found)->size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ((**found)[i].text, texts[i]);
      EXPECT_EQ((**found)[i].id, static_cast<std::int64_t>(i));
    }
    const auto verified = verify(path, progress);
    ASSERT_OK(verified);
    EXPECT_TRUE(verified->holes.empty());
    EXPECT_EQ(verified->contentHash, hash);
    EXPECT_EQ(folder.files(), std::vector<std::string>{"profile.pop"});
  }
}

TEST(Notes, AreRefusedWhereTheyCannotBeKept) {
  const Folder folder;
  const fs::path path = folder / "profile.pop";
  EXPECT_THAT(writeNotes(path, {}), FailsWith(path.string()));
  writeFile(path, "no profile");
  EXPECT_THAT(writeNotes(path, {}), FailsWith("is not a profile"));
  fs::remove(path);
  auto writer = ProfileWriter::create(path);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->commit(makeRowSet(1, 0)));
  EXPECT_THAT(writeNotes(path, {}), FailsWith("is still being written; add notes when the run has ended."));
}

}  // namespace
}  // namespace pipescope::store::testing
