// Texts from outside: numbers in any locale, deep TOML, long names, formulas in CSV, files without an end.
#include <gmock/gmock.h>
#include <unistd.h>

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "profiler/base/byte_text.h"
#include "profiler/base/csv_formulas.h"
#include "profiler/base/files/text_file.h"
#include "profiler/base/files/toml_depth.h"
#include "profiler/base/nearest.h"
#include "profiler/base/number_text.h"
#include "profiler/base/printable.h"

namespace pipescope::base {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Sets a German locale, whose decimal point is a comma, from the system's description of it.
class GermanLocale {
 public:
  GermanLocale()
      : folder_(fs::temp_directory_path() / ("pipescope_locale_test_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    const std::string make =
        "localedef --no-archive -i de_DE -f UTF-8 " + (folder_ / "de_DE.UTF-8").string() + " 2>/dev/null";
    made_ = std::system(make.c_str()) == 0;
    setenv("LOCPATH", folder_.c_str(), 1);
    set_ = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  }
  ~GermanLocale() {
    std::setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    fs::remove_all(folder_);
  }
  bool holds() const { return made_ && set_ && std::localeconv()->decimal_point == std::string(","); }

 private:
  fs::path folder_;
  bool made_ = false, set_ = false;
};

void checkNumbers() {
  EXPECT_EQ(numberOf("-1.5e3"), -1500);
  EXPECT_EQ(numberOf("+0.25"), 0.25);
  EXPECT_EQ(numberOf("7"), 7);
  for (const char* none : {"", "1,5", "1.5 ", " 1", "1x", "+-1", "+", ".", "1e999"})
    EXPECT_FALSE(numberOf(none)) << none;
  EXPECT_EQ(wholeNumberOf("-12"), -12);
  for (const char* none : {"", "1.5", "9223372036854775808", "+-1"})
    EXPECT_FALSE(wholeNumberOf(none)) << none;
  EXPECT_EQ(fixedText(-1234.5678, 2), "-1234.57");
  EXPECT_EQ(fixedText(0.5, 0), "0");  // to even, as printf
  EXPECT_EQ(fixedText(1e300, 1).size(), 303U);
  EXPECT_EQ(shortText(1234.5678, 3), "1.23e+03");
  EXPECT_EQ(shortText(0.000123456, 3), "0.000123");
  EXPECT_EQ(byteText(1536), "1.5 KiB");
}

TEST(NumberText, ReadsAndWritesAPoint) {
  checkNumbers();
}

TEST(NumberText, DoesSoUnderALocaleWithACommaToo) {
  const GermanLocale german;
  ASSERT_TRUE(german.holds()) << "install the package locales";
  char printed[16];
  std::snprintf(printed, sizeof printed, "%.1f", 1.5);
  ASSERT_STREQ(printed, "1,5");  // the functions above must not do this
  checkNumbers();
}

std::string refusalOf(const std::string& toml) {
  const Status status = checkTomlDepth(toml, "f");
  return status.ok() ? "" : status.error().message;
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(TomlDepth, BoundsKeysAndValues) {
  EXPECT_EQ(refusalOf(repeated("a.", 31) + "a = 1\n"), "");
  EXPECT_THAT(refusalOf(repeated("a.", 32) + "a = 1\n"), HasSubstr("f:1: keys and values are nested"));
  EXPECT_THAT(refusalOf("x = 1\n\n[" + repeated("a.", 40'000) + "a]\n"), HasSubstr("f:3:"));
  EXPECT_THAT(refusalOf(repeated("\"a\" . ", 40) + "a = 1"), HasSubstr("f:1:"));
  EXPECT_THAT(refusalOf("x = { y = 1, " + repeated("'a' .\t", 40) + "a = 1 }"), HasSubstr("f:1:"));
  EXPECT_THAT(refusalOf("x = " + repeated("[", 40)), HasSubstr("f:1:"));
  EXPECT_THAT(refusalOf("x = " + repeated("{a=", 40)), HasSubstr("f:1:"));
  EXPECT_EQ(refusalOf("x = " + repeated("[", 32) + repeated("]", 32)), "");
}

TEST(TomlDepth, BoundsTheLengthOfKeys) {
  const std::string tooLong(kMostTomlKey + 1, 'k'), allowed(kMostTomlKey, 'k');
  for (const std::string& toml :
       {tooLong + " = 1", "\"" + tooLong + "\" = 1", "a." + tooLong + ".b = 1", "[" + tooLong + "]"}) {
    const Status status = checkTomlDepth("x = 1\n" + toml, "f");
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message,
              "f:2: a key has more than 1048576 bytes, and no file of this program needs that.");
  }
  for (const std::string& toml : {allowed + " = 1", "a = \"" + tooLong + "\"", "a = [\"" + tooLong + "\"]"})
    EXPECT_TRUE(checkTomlDepth(toml, "f").ok());
}

TEST(TomlDepth, StringsCommentsAndNumbersAreNotDeep) {
  const std::string dots = repeated("a.", 99);
  for (const std::string& harmless :
       {"# " + dots, "x = \"" + dots + "\"", "x = '" + dots + "'", "x = \"\"\"\n" + dots + "\"\"\"\"\"",
        "x = '''" + dots + "''''", "x = \"\\\"" + dots + "\"", "x = [" + repeated("1.5, ", 99) + "]",
        repeated("a.b = 1.5\n", 99), "x = \"\"\"\\\"\"\"" + dots + "\"\"\""})
    EXPECT_EQ(refusalOf(harmless), "") << harmless;
  // Text that looks like the inside of a string is not one.
  EXPECT_NE(refusalOf("x = '''a'''''\n" + dots + "a = 1"), "");
  EXPECT_NE(refusalOf("x = \"a\\\\\"\n" + dots + "a = 1"), "");
  EXPECT_NE(refusalOf("x = 'a\\'\n" + dots + "a = 1"), "");
}

TEST(LongNames, AreCutAndNearToNone) {
  EXPECT_EQ(shortName("training.epochs"), "training.epochs");
  EXPECT_EQ(shortName(std::string(100'000, 'k')), std::string(60, 'k') + "… (100000 bytes)");
  EXPECT_EQ(shortWords("unknown key " + std::string(600, 'k') + "; did"),
            "unknown key " + std::string(60, 'k') + "… (600 bytes); did");
  EXPECT_EQ(shortWords("no \"" + std::string(600, 'k') + "\"; known"),
            "no \"" + std::string(59, 'k') + "… (601 bytes)\"; known");
  EXPECT_LE(shortWords(repeated("words ", 100'000)).size(), 20'100U);
  EXPECT_EQ(nearest(std::string(16 << 20, 'k'), {"epochs"}), "");  // at once
}

TEST(WithoutFormulas, PutsAnApostropheBeforeThemOnly) {
  EXPECT_EQ(withoutFormulas("name,value\r\n=1+1,-2.5\r\n"), "name,value\r\n'=1+1,-2.5\r\n");
  EXPECT_EQ(withoutFormulas("@a,+b,-c,\tx,+3\n"), "'@a,'+b,'-c,'\tx,+3\n");
  EXPECT_EQ(withoutFormulas("\"=HYPERLINK(\"\"x\"\",1)\",b\n"), "\"'=HYPERLINK(\"\"x\"\",1)\",b\n");
  EXPECT_EQ(withoutFormulas("\"a\n=b\",\"\",,-\n"), "\"a\n=b\",\"\",,'-\n");
  EXPECT_EQ(withoutFormulas("a,=b"), "a,'=b");
  EXPECT_EQ(withoutFormulas(""), "");
}

TEST(TextFile, HasAnEnd) {
  EXPECT_EQ(readTextFile("/dev/zero", "order").error().message,
            "/dev/zero is larger than 16 MiB: this is no order.");
  EXPECT_EQ(readTextFile("/", "order").error().message, "Cannot read the order /: it is a folder.");
  EXPECT_THAT(readTextFile("/no/such", "order").error().message, HasSubstr("no such file"));
  EXPECT_EQ(readTextFile("/dev/null", "order").value(), "");
}

}  // namespace
}  // namespace pipescope::base
