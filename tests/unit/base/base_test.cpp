#include <gmock/gmock.h>

#include <limits>
#include <unordered_set>

#include "profiler/base/byte_text.h"
#include "profiler/base/executor.h"
#include "profiler/base/ids.h"
#include "profiler/base/log.h"
#include "profiler/base/printable.h"
#include "profiler/base/progress.h"
#include "profiler/base/result.h"
#include "profiler/base/units.h"
#include "profiler/base/version.h"

namespace pipescope::base {
namespace {

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("plain text, größer ← 𝄞\n\tand on"), "plain text, größer ← 𝄞\n\tand on");
  EXPECT_EQ(printable("\x1b[31mred\x07\x7f\r"), "\\x1b[31mred\\x07\\x7f\\x0d");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m\xc2\xa0"),
            "\\u009b31m\xc2\xa0");
  // A byte alone, a character that is cut short, a longer form than needed, half of a surrogate pair, and a
  // number above the last one.
  EXPECT_EQ(printable("\xfd|\xe2\x82|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80"),
            "\\xfd|\\xe2\\x82|\\xc0\\xaf|\\xed\\xa0\\x80|\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printableName("two\nlines\tand é"), "two\\nlines\\tand é");
}

TEST(Result, HoldsAValueOrAnError) {
  Result<std::string> good(std::string("text"));
  EXPECT_TRUE(good.ok());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(*good, "text");
  EXPECT_EQ(good->size(), 4u);
  EXPECT_EQ(std::move(good).value(), "text");
  const Result<std::string> bad(ioError("the disk is gone"));
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().kind, ErrorKind::io);
  EXPECT_EQ(bad.error().message, "the disk is gone");
}

TEST(Result, HoldsValuesThatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Result, EveryKindOfErrorHasItsFunction) {
  EXPECT_EQ(badInput("").kind, ErrorKind::badInput);
  EXPECT_EQ(refused("").kind, ErrorKind::refused);
  EXPECT_EQ(ioError("").kind, ErrorKind::io);
  EXPECT_EQ(cancelled("").kind, ErrorKind::cancelled);
  EXPECT_EQ(internalError("").kind, ErrorKind::internal);
}

TEST(ResultDeathTest, AskingForWhatIsNotThereEndsTheProgram) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  setCheckHandler([](const std::string& sentence) {
    std::fputs(sentence.c_str(), stderr);
    std::_Exit(3);
  });
  const Result<int> bad(badInput("no such layer"));
  const Result<int> good(1);
  EXPECT_EXIT(static_cast<void>(bad.value()), ::testing::ExitedWithCode(3),
              "value\\(\\) of a Result that holds an error: no such layer");
  EXPECT_EXIT(static_cast<void>(good.error()), ::testing::ExitedWithCode(3),
              "error\\(\\) of a Result that holds no error");
  EXPECT_EXIT(static_cast<void>(Status().error()), ::testing::ExitedWithCode(3),
              "error\\(\\) of a Result that holds no error");
  EXPECT_EXIT(PIPESCOPE_CHECK(1 > 2, "order"), ::testing::ExitedWithCode(3),
              "base_test.cpp:[0-9]+: order \\(1 > 2\\)");
  setCheckHandler(nullptr);
}

Status failIf(bool fails) {
  return fails ? Status(refused("no")) : Status();
}

Status tryTwice(bool first, bool second, int& reached) {
  PIPESCOPE_TRY(failIf(first));
  reached = 1;
  PIPESCOPE_TRY(failIf(second));
  reached = 2;
  return {};
}

TEST(Macros, TryReturnsTheFirstError) {
  int reached = 0;
  EXPECT_FALSE(tryTwice(true, false, reached).ok());
  EXPECT_EQ(reached, 0);
  const Status second = tryTwice(false, true, reached);
  EXPECT_EQ(second.error().message, "no");
  EXPECT_EQ(reached, 1);
  EXPECT_TRUE(tryTwice(false, false, reached).ok());
  EXPECT_EQ(reached, 2);
}

Result<std::pair<int, int>> pairUnless(bool fails) {
  if (fails) return badInput("no pair");
  return std::pair(3, 4);
}

Result<int> sumUnless(bool fails) {
  PIPESCOPE_ASSIGN(const auto pair, pairUnless(fails));
  int product = 0;
  PIPESCOPE_ASSIGN(product, Result<int>(pair.first * pair.second));
  return pair.first + pair.second + product;
}

TEST(Macros, AssignDeclaresOrSetsTheValueOrReturnsTheError) {
  EXPECT_EQ(*sumUnless(false), 19);
  EXPECT_EQ(sumUnless(true).error().message, "no pair");
}

// The expected values below are ceil(ticks · to / from) in Python's unbounded integers.
TEST(Units, ConversionRoundsUpAndIsExactIn128Bits) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Timebase ipu{1'330'000'000}, gaudi{1'000'000'000'000}, fixed{1'000'000};
  EXPECT_EQ(convertRoundUp(Ticks(1), ipu, gaudi), Ticks(752));  // 751.87…
  EXPECT_EQ(convertRoundUp(Ticks(752), gaudi, ipu), Ticks(2));  // 1.00016
  EXPECT_EQ(convertRoundUp(Ticks(1'330'000), ipu, gaudi), Ticks(1'000'000'000));
  EXPECT_EQ(convertRoundUp(Ticks(kMost), gaudi, ipu), Ticks(12'267'084'809'016'852));
  EXPECT_EQ(convertRoundUp(Ticks(kMost), gaudi, fixed), Ticks(9'223'372'036'855));
  EXPECT_EQ(convertRoundUp(Ticks(kMost), gaudi, gaudi), Ticks(kMost));
  EXPECT_EQ(convertRoundUp(Ticks(9'000'000'000'000), fixed, gaudi), Ticks(9'000'000'000'000'000'000));
  EXPECT_EQ(convertRoundUp(Ticks(0), ipu, gaudi), Ticks(0));
  EXPECT_EQ(convertRoundUp(Ticks(-1), ipu, gaudi), Ticks(-751));  // rounding up goes towards zero
  EXPECT_EQ(convertRoundUp(Ticks(-kMost), gaudi, ipu), Ticks(-12'267'084'809'016'851));
}

TEST(Units, SecondsBecomeTicksRoundedUp) {
  EXPECT_EQ(ticksFromSeconds(1.5, Timebase{1'000'000}), Ticks(1'500'000));
  EXPECT_EQ(ticksFromSeconds(1e-9, Timebase{1'330'000'000}), Ticks(2));
  EXPECT_EQ(ticksFromSeconds(0.1, Timebase{10}),
            Ticks(1));  // not 2, because 0.1 · 10 differs from 1 only by rounding
  EXPECT_EQ(ticksFromSeconds(0, Timebase{10}), Ticks(0));
  EXPECT_DOUBLE_EQ(toSeconds(Ticks(1'330'000'000), Timebase{1'330'000'000}), 1.0);
}

TEST(Units, QuantitiesAddAndCompare) {
  Ticks ticks = Ticks(5) + Ticks(3) - Ticks(1);
  EXPECT_EQ(ticks, Ticks(7));
  ticks += Ticks(3);
  ticks -= Ticks(1);
  EXPECT_EQ(ticks * 2, Ticks(18));
  EXPECT_EQ(2 * ticks, Ticks(18));
  EXPECT_LT(ticks, Ticks(10));
  static_assert(!std::is_convertible_v<Ticks, Bytes>);
  static_assert(!std::is_convertible_v<std::int64_t, Ticks>);
}

TEST(Units, SumsOfMadeUpNumbersWrap) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(Ticks(kMost) + Ticks(1), Ticks(kLeast));
  EXPECT_EQ(Ticks(kLeast) - Ticks(1), Ticks(kMost));
  EXPECT_EQ(Bytes(kMost) * 2, Bytes(-2));
  Cycles sum(kMost);
  sum += Cycles(2), sum -= Cycles(1);
  EXPECT_EQ(sum, Cycles(kLeast));
}

TEST(Ids, AreDistinctAndInvalidUntilGiven) {
  using A = Id<struct ATag>;
  using B = Id<struct BTag>;
  static_assert(!std::is_convertible_v<A, B>);
  EXPECT_FALSE(A().valid());
  EXPECT_TRUE(A(0).valid());
  EXPECT_LT(A(1), A(2));
  EXPECT_EQ((std::unordered_set<A>{A(1), A(2), A(1)}.size()), 2u);
}

TEST(Executor, TheSerialOneGoesUpInOrder) {
  SerialExecutor executor;
  std::vector<std::size_t> order;
  executor.parallelFor(4, [&](std::size_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(executor.threads(), 1u);
}

TEST(Log, GoesToTheSinkOrNowhere) {
  std::vector<std::pair<LogLevel, std::string>> lines;
  log(LogLevel::error, "dropped");
  setLogSink([&](LogLevel level, const std::string& message) { lines.emplace_back(level, message); });
  log(LogLevel::warning, "kept");
  setLogSink(nullptr);
  log(LogLevel::error, "dropped");
  EXPECT_THAT(lines, ::testing::ElementsAre(std::pair(LogLevel::warning, std::string("kept"))));
}

TEST(Progress, TheSilentOneIsNeverCancelled) {
  SilentProgress progress;
  progress.report(0.5, "training");
  EXPECT_FALSE(progress.cancelled());
}

TEST(ByteText, ChoosesAUnitInWhichNothingReadsAsZero) {
  EXPECT_EQ(byteText(0), "0 B");
  EXPECT_EQ(byteText(8), "8 B");
  EXPECT_EQ(byteText(102), "102 B");
  EXPECT_EQ(byteText(103), "0.1 KiB");
  EXPECT_EQ(byteText(2048), "2.0 KiB");
  EXPECT_EQ(byteText(638'976), "624.0 KiB");
  EXPECT_EQ(byteText((1 << 20) - 1), "1.0 MiB");  // not 1024.0 KiB
  EXPECT_EQ(byteText(-(std::int64_t{3} << 20)), "-3.0 MiB");
  EXPECT_EQ(byteText(std::int64_t{38'391} << 20), "37.5 GiB");
  EXPECT_EQ(byteText(std::int64_t{1} << 60), "1048576.0 TiB");
}

TEST(Version, HasThreeNumbers) {
  EXPECT_THAT(version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace pipescope::base
