// Names of models in messages: whatever a file holds, they are UTF-8 without control characters.
#include <gtest/gtest.h>

#include "engine/onnx/graph_reader.h"

namespace pipescope::onnx {
namespace {

TEST(ShownName, KeepsWellFormedTextAlone) {
  // The first and the last character of each length, and those beside what is reserved for surrogates.
  for (const char* name : {"layer/conv.1", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(shownName(name), name);
  EXPECT_EQ(shownName("a\tb\x7F"
                      "c"),
            "a_b_c");
  // Overlong forms, surrogates, what lies above U+10FFFF, and sequences that are cut.
  EXPECT_EQ(shownName("\xC1\xBF"), "__");
  EXPECT_EQ(shownName("\xE0\x9F\xBF"), "___");
  EXPECT_EQ(shownName("\xED\xA0\x80"), "___");
  EXPECT_EQ(shownName("\xF0\x8F\xBF\xBF"), "____");
  EXPECT_EQ(shownName("\xF4\x90\x80\x80"), "____");
  EXPECT_EQ(shownName("x\xF4\x90\x80\x80"), "x____");
  EXPECT_EQ(shownName("\x9F\xF4\x8F\xBF\xBF"), "_\xF4\x8F\xBF\xBF");
  EXPECT_EQ(shownName("\xF5\x80\x80\x80"), "____");
  EXPECT_EQ(shownName("\xE2\x82"), "__");
}

TEST(ShownName, IsCutBetweenCharacters) {
  const std::string most(400, 'n');
  EXPECT_EQ(shownName(most), most);
  EXPECT_EQ(shownName(most + "n"), most + "…");
  const std::string nearly(399, 'n');
  EXPECT_EQ(shownName(nearly + "é"), nearly + "…");
}

}  // namespace
}  // namespace pipescope::onnx
