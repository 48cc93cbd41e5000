// Distances of words, characters of UTF-8 and limits of text files, against plain definitions.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "profiler/base/files/text_file.h"
#include "profiler/base/nearest.h"
#include "profiler/base/printable.h"

namespace pipescope::base {
namespace {

/// The definition by recursion.
std::size_t plainDistance(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const std::size_t replaced = plainDistance(a.substr(1), b.substr(1)) + (a[0] == b[0] ? 0 : 1);
  return std::min({replaced, plainDistance(a.substr(1), b) + 1, plainDistance(a, b.substr(1)) + 1});
}

TEST(EditDistance, EqualsItsDefinition) {
  std::vector<std::string> words = {""};
  for (std::size_t from = 0; words.size() < 40; ++from)
    for (const char letter : {'a', 'b', 'c'}) words.push_back(words[from] + letter);
  words.push_back("abcabc");
  words.push_back("bcabca");
  for (const std::string& a : words)
    for (const std::string& b : words) EXPECT_EQ(editDistance(a, b), plainDistance(a, b)) << a << " " << b;
  EXPECT_EQ(editDistance("ADAM", "adam"), 0U);
}

TEST(NearestWord, ItsDistanceGrowsWithTheWord) {
  EXPECT_EQ(nearest("abcd", {"abxy"}), "abxy") << "half of four letters";
  EXPECT_EQ(nearest("abcd", {"axyz"}), "");
  EXPECT_EQ(nearest("gpt", {"vit"}), "");
  EXPECT_EQ(nearest("vet", {"vit"}), "vit");
  EXPECT_EQ(nearest("a", {"b"}), "b") << "one edit is always allowed";
  EXPECT_EQ(nearest("a", {"bc"}), "");
  EXPECT_EQ(nearest("--ab", {"--xy"}), "") << "dashes are no letters";
  EXPECT_EQ(nearest("--", {"--x"}), "--x");
}

TEST(NearestWord, AKeyInTheWrongTableIsOneStepAway) {
  EXPECT_EQ(nearest("system.epochs", {"training.epochs"}), "training.epochs");
  EXPECT_EQ(nearest("system.epochs", {"training.epochs", "system.epoch"}), "training.epochs")
      << "the first of equals";
  EXPECT_EQ(nearest("a.epoks", {"training.epochs", "a.epos"}), "a.epos") << "one edit against three";
  EXPECT_EQ(nearest("execu", {"execution", "exec"}), "exec") << "one edit against one and a half";
  EXPECT_EQ(nearest("execut", {"execution", "exec"}), "execution");
  EXPECT_EQ(nearest("exec", {"execution"}), "") << "a short beginning says little";
}

TEST(NearestWord, LongWordsAreNearToNothing) {
  EXPECT_EQ(nearest(std::string(200, 'a'), {std::string(199, 'a')}), std::string(199, 'a'));
  EXPECT_EQ(nearest(std::string(201, 'a'), {std::string(200, 'a')}), "");
}

/// The UTF-8 form of a number, after RFC 3629.
std::string utf8Of(unsigned code) {
  const auto tail = [&](unsigned shift) { return static_cast<char>(0x80U | ((code >> shift) & 0x3FU)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0U | (code >> 6U)), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0U | (code >> 12U)), tail(6), tail(0)};
  return {static_cast<char>(0xF0U | (code >> 18U)), tail(12), tail(6), tail(0)};
}

TEST(Printable, KeepsEachCharacterOfUtf8) {
  for (unsigned code = 0x20; code < 0x110000; code += code < 0x3000 ? 1 : 13) {
    const bool surrogate = code >= 0xD800 && code < 0xE000, control = code >= 0x7F && code < 0xA0;
    const std::string text = utf8Of(code);
    EXPECT_EQ(printable(text) == text, !surrogate && !control) << std::hex << code;
  }
  for (const unsigned code : {0x7FFU, 0x800U, 0xFFFFU, 0x10000U, 0x10FFFFU})
    EXPECT_EQ(printable(utf8Of(code)), utf8Of(code)) << std::hex << code;
  EXPECT_NE(printable(utf8Of(0x110000)), utf8Of(0x110000));
}

TEST(Printable, EscapesOtherBytes) {
  EXPECT_EQ(printable("\xC0\x80"), "\\xc0\\x80") << "longer than needed";
  EXPECT_EQ(printable("\xC1\xBF"), "\\xc1\\xbf");
  EXPECT_EQ(printable("\xE0\x9F\xBF"), "\\xe0\\x9f\\xbf");
  EXPECT_EQ(printable("\xF0\x8F\xBF\xBF"), "\\xf0\\x8f\\xbf\\xbf");
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(printable("a\xE2\x82"), "a\\xe2\\x82") << "cut";
  EXPECT_EQ(printable("\xF5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
}

TEST(ShortWords, CutsLongWordsAndLongTexts) {
  const std::string word(500, 'w');
  EXPECT_EQ(shortWords(word + " b"), word + " b");
  EXPECT_LT(shortWords(word + "w b").size(), 200U);
  std::string text;
  while (text.size() < 20'000) text += "1234567 89\n";
  text.resize(20'000);
  EXPECT_EQ(shortWords(text), text);
  EXPECT_NE(shortWords(text + "x"), text + "x");
}

TEST(TextFile, IsReadWholeUpToItsLimit) {
  const std::string file = testing::TempDir() + "/limit.txt";
  std::string text;
  for (int i = 0; text.size() < 150'000; ++i) text += std::to_string(i) + "\n";
  std::ofstream(file, std::ios::binary) << text;
  EXPECT_EQ(readTextFile(file, "table", text.size()).value(), text);
  const auto over = readTextFile(file, "table", text.size() - 1);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().message, file + " is larger than 0 MiB: this is no table.");
  std::ofstream(file, std::ios::binary | std::ios::trunc);
  EXPECT_EQ(readTextFile(file, "table", 0).value(), "");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace pipescope::base
