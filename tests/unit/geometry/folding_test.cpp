#include "profiler/geometry/timeline/folding.h"

#include <gtest/gtest.h>

#include <random>

namespace pipescope::geometry {
namespace {

struct Item {
  std::int64_t start, end;
};

std::vector<Folded> fold(const std::vector<Item>& items, const TimeView& view, Columns columns) {
  std::vector<std::int64_t> lengths;
  for (const Item& item : items) lengths.push_back(item.end - item.start);
  std::vector<Folded> drawn;
  foldVisible(
      WidestIndex(std::move(lengths)), view, columns, [&](std::size_t i) { return Ticks(items[i].start); },
      [&](std::size_t i) { return Ticks(items[i].end); },
      [&](const Folded& folded) { drawn.push_back(folded); });
  return drawn;
}

std::vector<Item> randomItems(std::minstd_rand& random, int count, int longest, int longestGap) {
  std::vector<Item> items;
  std::int64_t at = 0;
  for (int i = 0; i < count; ++i) {
    at += static_cast<std::int64_t>(random()) % (longestGap + 1);
    const std::int64_t end = at + 1 + static_cast<std::int64_t>(random()) % longest;
    items.push_back({at, end});
    at = end;
  }
  return items;
}

TEST(WidestIndex, FindsWhatASearchFinds) {
  std::minstd_rand random(1);
  for (const std::size_t count : {1U, 15U, 16U, 17U, 300U, 5000U}) {
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 0; i < count; ++i) lengths.push_back(static_cast<std::int64_t>(random() % 50));
    const WidestIndex index(lengths);
    for (int trial = 0; trial < 300; ++trial) {
      const std::size_t first = random() % count, end = first + 1 + random() % (count - first);
      const auto expected =
          static_cast<std::size_t>(std::max_element(lengths.begin() + static_cast<std::ptrdiff_t>(first),
                                                    lengths.begin() + static_cast<std::ptrdiff_t>(end)) -
                                   lengths.begin());
      ASSERT_EQ(index.widest(first, end), expected) << count << " " << first << " " << end;
    }
  }
  EXPECT_EQ(WidestIndex().size(), 0U);
}

TEST(Folding, GallopingFindsWhatHalvingFinds) {
  for (std::size_t size = 0; size < 70; ++size) {
    for (std::size_t edge = 0; edge <= size; ++edge) {
      for (std::size_t from = 0; from <= edge; ++from) {
        ASSERT_EQ(gallopIndex(from, size, [&](std::size_t i) { return i < edge; }), edge)
            << from << " " << size;
      }
    }
  }
}

TEST(Folding, WideThingsAreDrawnAlone) {
  const auto drawn = fold({{0, 100}, {100, 250}, {300, 400}}, TimeView(Ticks(0), Ticks(400), 40), {0, 40});
  ASSERT_EQ(drawn.size(), 3U);
  EXPECT_EQ(drawn[1].x, 10);
  EXPECT_EQ(drawn[1].right, 25);
  EXPECT_EQ(drawn[2].x, 30);
  EXPECT_TRUE(drawn[2].alone());
}

TEST(Folding, NarrowThingsShareAColumnInTheColourOfTheWidest) {
  // Ten ticks a pixel: lengths 2, 5, 2 begin in column 0.
  const auto drawn = fold({{0, 2}, {2, 7}, {7, 9}, {12, 14}}, TimeView(Ticks(0), Ticks(100), 10), {0, 10});
  ASSERT_EQ(drawn.size(), 2U);
  EXPECT_EQ(drawn[0].first, 0U);
  EXPECT_EQ(drawn[0].end, 3U);
  EXPECT_EQ(drawn[0].shown, 1U);
  EXPECT_EQ(drawn[0].x, 0);
  EXPECT_EQ(drawn[0].right, 1);
  EXPECT_EQ(drawn[1].shown, 3U);
  EXPECT_EQ(drawn[1].x, 1);
}

TEST(Folding, AColumnGoesToWhatCoversMostOfIt) {
  // Column 1 (ticks 10–20): a narrow thing of 7 ticks, then 2 ticks of a wide one.
  const auto narrow = fold({{11, 18}, {18, 60}}, TimeView(Ticks(0), Ticks(100), 10), {0, 10});
  ASSERT_EQ(narrow.size(), 2U);
  EXPECT_EQ(narrow[0].x, 1);
  EXPECT_EQ(narrow[1].x, 2);
  // A narrow thing of 2 ticks, then 7 ticks of a wide one.
  const auto wide = fold({{10, 12}, {13, 60}}, TimeView(Ticks(0), Ticks(100), 10), {0, 10});
  ASSERT_EQ(wide.size(), 1U);
  EXPECT_EQ(wide[0].shown, 1U);
  EXPECT_EQ(wide[0].x, 1);
}

TEST(Folding, ThingsThatBeginBeforeTheViewAreSeen) {
  const auto drawn = fold({{0, 1000}, {1000, 1001}}, TimeView(Ticks(500), Ticks(600), 100), {0, 100});
  ASSERT_EQ(drawn.size(), 1U);
  EXPECT_EQ(drawn[0].x, 0);
  EXPECT_EQ(drawn[0].right, 100);
}

TEST(Folding, HonestForAnyListAndZoom) {
  std::minstd_rand random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const auto items = randomItems(random, 400, trial % 2 == 0 ? 30 : 3000, trial % 3 == 0 ? 0 : 200);
    const std::int64_t whole = items.back().end;
    const std::int64_t start = static_cast<std::int64_t>(random()) % whole,
                       span = 1 + static_cast<std::int64_t>(random()) % whole;
    const TimeView view(Ticks(start), Ticks(start + span), 97);
    const Columns columns{0, 97};
    int free = 0;
    for (const Folded& folded : fold(items, view, columns)) {
      ASSERT_GE(folded.x, free) << "no column twice";
      ASSERT_GT(folded.right, folded.x);
      ASSERT_LE(folded.right, 97);
      free = folded.right;
      ASSERT_LE(folded.first, folded.shown);
      ASSERT_LT(folded.shown, folded.end);
      // Drawn items are there: the item touches the first column, give or take the column that a neighbour
      // took.
      const Item& shown = items[folded.shown];
      ASSERT_LT(view.x(Ticks(shown.start)), folded.right);
      ASSERT_GT(view.x(Ticks(shown.end)), folded.x);
      for (std::size_t i = folded.first; i < folded.end; ++i) {
        ASSERT_LE(items[i].end - items[i].start, shown.end - shown.start) << "the widest gives the colour";
      }
    }
    // Nothing that is at least three pixels wide is missing.
    const auto drawn = fold(items, view, columns);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const double left = std::max(0.0, view.x(Ticks(items[i].start))),
                   right = std::min(97.0, view.x(Ticks(items[i].end)));
      if (right - left < 3) continue;
      ASSERT_TRUE(std::any_of(drawn.begin(), drawn.end(), [&](const Folded& folded) {
        return folded.shown == i;
      })) << i;
    }
  }
}

TEST(Folding, CostIsThePixelsNotTheItems) {
  std::vector<Item> items;
  for (std::int64_t i = 0; i < 1'000'000; ++i) items.push_back({10 * i, 10 * i + 9});
  const auto drawn = fold(items, TimeView(Ticks(0), Ticks(10'000'000), 1600), {0, 1600});
  EXPECT_EQ(drawn.size(), 1600U);
  EXPECT_GT(drawn[800].end - drawn[800].first, 500U);
}

TEST(Folding, StaysInItsColumns) {
  const auto drawn = fold({{0, 1000}}, TimeView(Ticks(0), Ticks(1000), 100), {20, 30});
  ASSERT_EQ(drawn.size(), 1U);
  EXPECT_EQ(drawn[0].x, 20);
  EXPECT_EQ(drawn[0].right, 30);
}

TEST(Folding, PicksTheLongestUnderThePointerAndNarrowThingsNearby) {
  const std::vector<Item> items = {{0, 3}, {3, 9}, {40, 41}, {50, 100}};
  const WidestIndex index({3, 6, 1, 50});
  const TimeView view(Ticks(0), Ticks(100), 10);
  const auto pick = [&](int x) {
    return pickAt(
        index, view, x, 2, [&](std::size_t i) { return Ticks(items[i].start); },
        [&](std::size_t i) { return Ticks(items[i].end); });
  };
  EXPECT_EQ(pick(0), 1U);
  EXPECT_EQ(pick(4), 2U);
  EXPECT_EQ(pick(3), 3U) << "the wide one is within two pixels, and longer";
  EXPECT_EQ(pick(7), 3U);
  EXPECT_EQ(pick(2), 1U);
}

TEST(Folding, AnItemDoesNotTouchThePixelAtWhichItEnds) {
  const std::vector<Item> items = {{0, 50}, {50, 60}};
  const WidestIndex index({50, 10});
  const auto pick = [&](int x) {
    return pickAt(
        index, TimeView(Ticks(0), Ticks(100), 10), x, 0, [&](std::size_t i) { return Ticks(items[i].start); },
        [&](std::size_t i) { return Ticks(items[i].end); });
  };
  EXPECT_EQ(pick(4), 0U);
  EXPECT_EQ(pick(5), 1U) << "the first item is longer but ended";
  EXPECT_EQ(pick(6), 2U) << "nothing";
}

}  // namespace
}  // namespace pipescope::geometry
