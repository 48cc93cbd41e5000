#include "profiler/geometry/charts/topology.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pipescope::geometry {
namespace {

std::vector<TopologyChip> chips(int count) {
  std::vector<TopologyChip> made;
  for (int i = 0; i < count; ++i) made.push_back({"C" + std::to_string(i), "stage " + std::to_string(i)});
  return made;
}

/// Links between all chips of boxes of this size.
std::vector<TopologyLink> fullBoxes(int count, int size) {
  std::vector<TopologyLink> links;
  for (int a = 0; a < count; ++a) {
    for (int b = a + 1; b < count && b / size == a / size; ++b) links.push_back({a, b, 1e9, 0});
  }
  return links;
}

bool chipsOverlap(const Box& a, const Box& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

TEST(Topology, LinkedChipsAreBoxes) {
  EXPECT_EQ(boxesOf(6, {{0, 1}, {1, 2}, {4, 5}}), (std::vector<int>{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(boxesOf(3, {{2, 0}}), (std::vector<int>{0, 1, 0}));
  EXPECT_TRUE(boxesOf(0, {}).empty());
  // Two boxes of three, and a link between boxes.
  std::vector<TopologyLink> two{{0, 1}, {1, 2}, {0, 2}, {3, 4}, {4, 5}, {3, 5}, {2, 3}};
  for (TopologyLink& link : two) link.kind = "inside";
  two.back().kind = "between";
  EXPECT_EQ(boxesOf(6, two), (std::vector<int>{0, 0, 0, 1, 1, 1}));
}

TEST(Topology, ChipsDoNotOverlapAndStayInTheWidth) {
  struct Case {
    int chips, size, width;
  };
  for (const Case& one : {Case{1, 1, 600}, Case{4, 4, 600}, Case{16, 8, 900}, Case{64, 8, 1400},
                          Case{256, 8, 1400}, Case{1000, 8, 900}}) {
    const Topology topology(chips(one.chips), fullBoxes(one.chips, one.size), one.width);
    EXPECT_EQ(topology.boxCount(), (one.chips + one.size - 1) / one.size);
    for (int a = 0; a < one.chips; ++a) {
      const Box box = topology.boxOf(a);
      EXPECT_GE(box.x, 0);
      EXPECT_LE(box.right(), one.width) << one.chips;
      EXPECT_LE(box.bottom(), topology.height());
      EXPECT_EQ(topology.hit(box.x + box.width / 2, box.y + box.height / 2), a);
      for (int b = a + 1; b < std::min(one.chips, a + 20); ++b)
        EXPECT_FALSE(chipsOverlap(box, topology.boxOf(b))) << one.chips << ": " << a << " " << b;
    }
  }
}

TEST(Topology, ChipsWithoutANoteHaveTheirNameInTheMiddle) {
  std::vector<TopologyChip> two = chips(2);
  two[1].note.clear();
  const Topology topology(two, fullBoxes(2, 2), 600);
  ASSERT_TRUE(topology.named());
  const Shapes shapes = topology.draw({}, -1);
  const auto centreOf = [](const Box& box) { return box.y + box.height / 2; };
  int found = 0;
  for (const Label& label : shapes.labels) {
    if (label.text != "C0" && label.text != "C1") continue;
    ++found;
    const int chip = label.text == "C0" ? 0 : 1;
    EXPECT_EQ(centreOf(label.box) == centreOf(topology.boxOf(chip)), chip == 1) << label.text;
  }
  EXPECT_EQ(found, 2);
}

/// IPU-Link as in a pod: pairs, and links along two rails.
TEST(Topology, ALadderHasPairsBelowEachOther) {
  std::vector<TopologyLink> links;
  for (int i = 0; i < 8; i += 2) links.push_back({i, i + 1, 60e9});
  for (int i = 0; i + 2 < 8; ++i) links.push_back({i, i + 2, 30e9});
  const Topology topology(chips(8), links, 900);
  EXPECT_EQ(topology.boxCount(), 1);
  for (int i = 0; i < 8; i += 2) {
    EXPECT_EQ(topology.boxOf(i).x, topology.boxOf(i + 1).x);
    EXPECT_LT(topology.boxOf(i).y, topology.boxOf(i + 1).y);
  }
  EXPECT_LT(topology.boxOf(0).x, topology.boxOf(2).x);
}

/// A long ladder goes back in the next rows. No line crosses a chip.
/// Two replicas of a pipeline of four places, recorded in turn, without speeds of links.
TEST(Topology, ReplicasThatAreRecordedInTurnHaveARowEach) {
  std::vector<TopologyLink> links;
  for (int chip = 0; chip + 2 < 8; ++chip) links.push_back({chip, chip + 2, 0, 0});
  links.push_back({6, 7, 0, 0});
  const Topology topology(chips(8), links, 900);
  for (int place = 0; place < 4; ++place) {
    EXPECT_EQ(topology.boxOf(2 * place).y, topology.boxOf(0).y);
    EXPECT_EQ(topology.boxOf(2 * place + 1).y, topology.boxOf(1).y);
    EXPECT_EQ(topology.boxOf(2 * place).x, topology.boxOf(2 * place + 1).x)
        << "the replicas below each other";
    if (place > 0) {
      EXPECT_GT(topology.boxOf(2 * place).x, topology.boxOf(2 * place - 2).right());
    }
  }
  EXPECT_GT(topology.boxOf(1).y, topology.boxOf(0).bottom());
}

/// The first and the last place add up the gradients of a weight that both have.
TEST(Topology, ALinkAlongARowGoesAroundTheChipsBetweenItsEnds) {
  std::vector<TopologyLink> links;
  for (int chip = 0; chip + 1 < 4; ++chip) links.push_back({chip, chip + 1, 0, 0.5});
  links.push_back({0, 3, 0, 0.5});
  const Topology topology(chips(4), links, 900);
  for (const Line& line : topology.draw({}).lines) {
    for (const int chip : {1, 2}) {
      const Box box = topology.boxOf(chip);
      const bool isWithin = std::min(line.y1, line.y2) < box.bottom() - 1 &&
                            std::max(line.y1, line.y2) > box.y && std::min(line.x1, line.x2) < box.x + 1 &&
                            std::max(line.x1, line.x2) > box.right() - 1;
      EXPECT_FALSE(isWithin) << chip;
    }
  }
}

TEST(Topology, ALongLadderTurns) {
  std::vector<TopologyLink> links;
  for (int i = 0; i < 32; i += 2) links.push_back({i, i + 1, 60e9});
  for (int i = 0; i + 2 < 32; ++i) links.push_back({i, i + 2, 30e9});
  const Topology topology(chips(32), links, 760);
  EXPECT_LE(topology.boxOf(31).right(), 760);
  for (const Line& line : topology.draw({}).lines) {
    for (int part = 1; part < 40; ++part) {
      const int x = line.x1 + (line.x2 - line.x1) * part / 40, y = line.y1 + (line.y2 - line.y1) * part / 40;
      for (int chip = 0; chip < 32; ++chip) {
        const Box box = topology.boxOf(chip);
        const bool inside = x > box.x && x < box.right() - 1 && y > box.y && y < box.bottom() - 1;
        EXPECT_FALSE(inside) << chip << ": " << line.x1 << "," << line.y1 << " " << line.x2 << "," << line.y2;
      }
    }
  }
}

TEST(Topology, ALinkIsOneLineWhereNothingIsInItsWay) {
  // Each chip of a ring of eight has another one below it, over empty room.
  const Topology ring(chips(8), fullBoxes(8, 8), 800);
  const std::vector<Line> lines = ring.draw({}).lines;
  EXPECT_EQ(lines.size(), 28U) << "a line for each of 8 · 7 ÷ 2 links";
  const Topology square(chips(4), {{0, 1, 60e9}, {2, 3, 60e9}, {0, 2, 30e9}, {1, 3, 30e9}}, 800);
  ASSERT_EQ(square.boxOf(0).x, square.boxOf(1).x);
  EXPECT_EQ(square.draw({}).lines.size(), 4U);
  // Two chips lie between the ends of the last link, because the picture is as wide as one pair.
  const Topology column(chips(4), {{0, 1, 60e9}, {2, 3, 60e9}, {0, 2, 10e9}}, 100);
  for (int chip = 1; chip < 4; ++chip) ASSERT_EQ(column.boxOf(chip).x, column.boxOf(0).x);
  EXPECT_EQ(column.draw({}).lines.size(), 5U) << "three of them lead around the two";
}

TEST(Topology, AUsedLinkIsStrongAndIsFound) {
  std::vector<TopologyLink> links = {{0, 1, 1e9, 0.25, ColourRole::compute}, {1, 2, 1e9, 0}};
  const Topology topology(chips(3), links, 600);
  const Shapes shapes = topology.draw({});
  ASSERT_EQ(shapes.lines.size(), 2U);
  EXPECT_FALSE(shapes.lines[0].strong) << "what is not used lies below";
  EXPECT_TRUE(shapes.lines[1].strong);
  EXPECT_EQ(shapes.lines[1].role, ColourRole::compute);
  const Line& used = shapes.lines[1];
  EXPECT_EQ(topology.hit((used.x1 + used.x2) / 2, (used.y1 + used.y2) / 2), 3);
  const Shapes marked = topology.draw({}, 4);
  EXPECT_EQ(marked.lines[0].role, ColourRole::critical);
}

/// A pod of machines with four chips each. IPU-Link joins pairs, and goes up the ladder from machine to
/// machine.
std::vector<TopologyLink> pod(int count) {
  std::vector<TopologyLink> links;
  for (int i = 0; i < count; i += 2) links.push_back({i, i + 1, 60e9});
  for (int i = 0; i + 2 < count; ++i) links.push_back({i, i + 2, 30e9});
  for (TopologyLink& link : links) link.kind = link.bytesPerSecond > 40e9 ? "partner" : "up";
  return links;
}

TEST(Topology, NamesOfSingleLinksAreNoKinds) {
  std::vector<TopologyLink> links{{0, 1}, {1, 2}, {2, 3}};
  for (std::size_t i = 0; i < links.size(); ++i)
    links[i].kind = std::to_string(i) + " to " + std::to_string(i + 1);
  EXPECT_EQ(boxesOf(4, links), (std::vector<int>{0, 0, 0, 0}));
}

TEST(Topology, TheSizeOfABoxDecidesBeforeItsLinks) {
  EXPECT_EQ(boxesOf(6, pod(6), 4), (std::vector<int>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(Topology(chips(64), pod(64), 1200, {4, 64}).boxCount(), 16);
  EXPECT_EQ(Topology(chips(4096), {}, 1200, {8, 0}).boxCount(), 512) << "late chips have no links";
}

/// Links of a ladder over several machines run from chip to chip, also where a row of machines ends.
TEST(Topology, RailsGoOnInTheNextRowOfBoxes) {
  const Topology topology(chips(64), pod(64), 700, {4, 64});
  EXPECT_LE(topology.usedWidth(), 700);
  for (int chip = 0; chip + 1 < 64; chip += 2) EXPECT_EQ(topology.boxOf(chip).x, topology.boxOf(chip + 1).x);
  for (const Line& line : topology.draw({}).lines) {
    for (int part = 1; part < 40; ++part) {
      const int x = line.x1 + (line.x2 - line.x1) * part / 40, y = line.y1 + (line.y2 - line.y1) * part / 40;
      for (int chip = 0; chip < 64; ++chip) {
        const Box box = topology.boxOf(chip);
        const bool inside = x > box.x && x < box.right() - 1 && y > box.y && y < box.bottom() - 1;
        EXPECT_FALSE(inside) << chip << ": " << line.x1 << "," << line.y1 << " " << line.x2 << "," << line.y2;
      }
    }
  }
}

TEST(Topology, DomainsOfLinksBeginNewRows) {
  const Topology topology(chips(128), pod(128), 1200, {4, 64});
  EXPECT_EQ(topology.domainCount(), 2);
  EXPECT_GT(topology.boxOf(64).y, topology.boxOf(63).bottom());
  EXPECT_EQ(topology.boxOf(64).x, topology.boxOf(0).x);
  EXPECT_EQ(Topology(chips(64), pod(64), 1200, {4, 64}).domainCount(), 0) << "one domain needs no frame";
}

/// A link to another box would cross the ring of its own one, so it goes out at the top.
TEST(Topology, LinksBetweenBoxesGoAroundThem) {
  std::vector<TopologyLink> links = fullBoxes(16, 8);
  for (TopologyLink& link : links) link.kind = "inside";
  links.push_back({4, 12, 1e9, 0.5, ColourRole::compute, "outside"});
  links.push_back({.from = 0, .to = 8, .share = 0.1, .role = ColourRole::collectiveTransfer, .trunk = true});
  const Topology topology(chips(16), links, 1200, {8, 0});
  int outside = 0, trunk = 0;
  for (const Line& line : topology.draw({}).lines) {
    if (line.role == ColourRole::collectiveTransfer) ++trunk;
    if (line.role != ColourRole::compute) continue;
    ++outside;
    for (int chip = 0; chip < 16; ++chip) {
      const Box box = topology.boxOf(chip);
      EXPECT_FALSE(std::max(line.y1, line.y2) > box.y && std::min(line.x1, line.x2) < box.right() &&
                   std::max(line.x1, line.x2) > box.x)
          << chip;
    }
  }
  EXPECT_EQ(outside, 3) << "up, across and down";
  EXPECT_EQ(trunk, 3);
}

TEST(Topology, ASmallSystemFillsItsWidth) {
  const auto wide = [](int width) { return Topology(chips(8), fullBoxes(8, 8), width).usedWidth(); };
  EXPECT_LE(wide(560), 560);
  EXPECT_GT(wide(900), wide(560));
  EXPECT_LE(Topology(chips(8), fullBoxes(8, 8), 4000).height(), 1000);
}

TEST(Topology, APictureThatIsNarrowerLiesInTheMiddle) {
  constexpr int kWide = 1440;
  const Topology topology(chips(32), fullBoxes(32, 8), kWide);
  int left = kWide, right = 0;
  for (int chip = 0; chip < 32; ++chip) {
    left = std::min(left, topology.boxOf(chip).x);
    right = std::max(right, topology.boxOf(chip).right());
  }
  EXPECT_LT(right - left, kWide - 100) << "the boxes do not fill the width";
  EXPECT_NEAR(left, kWide - right, 1);
  // A link around the boxes runs beside them, too.
  std::vector<TopologyLink> links = fullBoxes(32, 8);
  links.push_back({0, 31, 1e9, 0.5, ColourRole::globalExchange, "", true});
  for (const Line& line : Topology(chips(32), links, kWide).draw({}).lines)
    EXPECT_GT(std::min(line.x1, line.x2), left - 60);
}

TEST(Topology, VeryManyChipsAreSmall) {
  const Topology topology(chips(4096), fullBoxes(4096, 8), 1400);
  EXPECT_EQ(topology.boxCount(), 512);
  EXPECT_EQ(topology.draw({}).fillCount(), 4096U);
  EXPECT_TRUE(topology.draw({}).lines.empty());
  EXPECT_LT(topology.height(), 400);
  for (const int chip : {0, 7, 8, 2049, 4095}) {
    const Box box = topology.boxOf(chip);
    EXPECT_EQ(topology.hit(box.x + 1, box.y + 1), chip);
  }
}

TEST(Topology, EvenMoreChipsAreBoxesAlone) {
  const Topology topology(chips(20'000), {}, 1400, {8, 0});
  EXPECT_EQ(topology.boxCount(), 2500);
  EXPECT_EQ(topology.draw({}).fillCount(), 2500U);
  EXPECT_LT(topology.height(), 1000);
}

}  // namespace
}  // namespace pipescope::geometry
