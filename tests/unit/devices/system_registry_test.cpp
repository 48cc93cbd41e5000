#include <gmock/gmock.h>

#include "ipu_fixtures.h"

namespace pipescope::devices {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::refusalOf;
using testing::systemOf;
using testing::TemporaryFolder;

SystemOptions withFolder(const TemporaryFolder& folder) {
  SystemOptions options;
  options.userFolder = folder.path();
  return options;
}

TEST(SystemRegistry, ListsChipsAndSystems) {
  EXPECT_THAT(knownSystems(), IsSupersetOf({"mk1", "mk2", "bow", "c600", "c2", "m2000", "bow-2000", "pod4",
                                            "pod8", "pod16", "pod64", "pod128", "pod256", "bow-pod4",
                                            "bow-pod16", "bow-pod64", "bow-pod128", "bow-pod256"}));
}

TEST(SystemRegistry, MakesEveryEmbeddedSystem) {
  for (const std::string& name : knownSystems()) {
    const auto system = systemOf(name);
    ASSERT_NE(system, nullptr) << name;
    EXPECT_EQ(system->name(), name);
    const bool gaudi = name.find("gaudi") == 0 || name.find("hls-") == 0 || name == "dl1";
    const bool card = name.find("dgx-") == 0 || name.find("mi300x") == 0 || name.find("gb") == 0 ||
                      name == "a100-80" || name == "h100" || name == "b200" || name == "b300";
    EXPECT_EQ(system->family(), name == "fixed" ? "fixed" : gaudi ? "gaudi" : card ? "card" : "ipu");
    EXPECT_FALSE(system->description().empty());
  }
}

TEST(SystemRegistry, Pod4HasFourMk2) {
  const auto system = systemOf("pod4");
  ASSERT_EQ(system->devices().size(), 4u);
  const DeviceInfo& device = system->devices()[3];
  EXPECT_EQ(device.kind, "mk2");
  EXPECT_EQ(device.name, "IPU3");
  EXPECT_EQ(device.units, 1472);
  EXPECT_EQ(device.unitName, "tile");
  EXPECT_EQ(device.ticksPerSecond, 1'330'000'000);
  ASSERT_EQ(device.memory.size(), 2u);
  EXPECT_EQ(device.memory[1].kind, "streaming_memory");
  EXPECT_EQ(device.memory[1].bytesPerUnit.count, std::int64_t{64} << 30);
  EXPECT_EQ(device.memory[0].bytesPerUnit.count, 624 * 1024);
  EXPECT_EQ(device.memory[0].interleavedStart.count, 13 * 16384);
}

TEST(SystemRegistry, GatewaysHoldWhatTheHostSendsAhead) {
  const auto perSecond = [](const char* system, int places, int replicas, int device) {
    compile::Mesh mesh;
    mesh.places = places;
    mesh.replicas = replicas;
    return makeSystem(system).value()->sentAheadBytesPerSecond(device, mesh);
  };
  // The four IPUs of a machine share a network card of 11.5 GB/s; the first device of a replica of four has
  // it alone.
  EXPECT_DOUBLE_EQ(perSecond("pod16", 1, 16, 0), 11.5e9 / 4);
  EXPECT_DOUBLE_EQ(perSecond("pod16", 2, 8, 0), 11.5e9 / 2);
  EXPECT_DOUBLE_EQ(perSecond("pod16", 4, 4, 0), 11.5e9);
  EXPECT_DOUBLE_EQ(perSecond("pod4", 1, 1, 0), 11.5e9);
  // A card without a gateway and a single chip copy from the host's own memory.
  EXPECT_EQ(perSecond("c2", 1, 2, 0), 0);
  EXPECT_EQ(perSecond("mk2", 1, 1, 0), 0);
  EXPECT_EQ(perSecond("hls-gaudi2", 1, 8, 0), 0);
}

TEST(SystemRegistry, TakesPartsAndBoxes) {
  EXPECT_EQ(systemOf("pod4:2")->devices().size(), 2u);
  EXPECT_EQ(systemOf("pod16")->devices().size(), 16u);
  EXPECT_EQ(systemOf("pod64")->devices().size(), 64u);
  EXPECT_EQ(systemOf("pod256")->devices().size(), 256u);
  EXPECT_EQ(systemOf("c2x8")->devices().size(), 16u);
  EXPECT_EQ(systemOf("c2:3x4")->devices().size(), 4u);
  EXPECT_EQ(systemOf("mk2")->devices().size(), 1u);
  EXPECT_EQ(systemOf("mk2:1")->devices().size(), 1u);
}

TEST(SystemRegistry, OddCountsTakeTheNextPartition) {
  const auto system = systemOf("pod4:3");
  EXPECT_EQ(system->devices().size(), 4u);
  EXPECT_THAT(system->description(), HasSubstr("a partition of 4 IPUs for 3"));
  SystemOptions options;
  options.devices = 5;
  EXPECT_EQ(systemOf("pod8", options)->devices().size(), 8u);
}

TEST(SystemRegistry, RefusesUnknownNamesWithTheNearest) {
  const std::string sentence = refusalOf("podd4");
  EXPECT_THAT(sentence, HasSubstr("There is no system \"podd4\"; did you mean \"pod4\"?"));
  EXPECT_THAT(sentence, HasSubstr("bow, bow-2000"));
  EXPECT_THAT(refusalOf(""), HasSubstr("There is no system \"\""));
  EXPECT_THAT(refusalOf(":4"), HasSubstr("There is no system"));
  EXPECT_THAT(refusalOf("pod4:"), HasSubstr("There is no system"));
  EXPECT_THAT(refusalOf("pod4:two"), HasSubstr("There is no system"));
}

TEST(SystemRegistry, RefusesCountsThatAreNotThere) {
  EXPECT_THAT(refusalOf("pod4:8"), HasSubstr("System \"pod4:8\" has 4 IPUs, but 8 are wanted"));
  EXPECT_THAT(refusalOf("mk2:2"), HasSubstr("has 1 IPU, but 2 are wanted"));
  EXPECT_THAT(refusalOf("pod4:0"), HasSubstr("number of devices must be between 1 and 131072"));
  EXPECT_THAT(refusalOf("pod4:99999999999999999999"),
              HasSubstr("number of devices must be between 1 and 131072"));
  EXPECT_THAT(refusalOf("c2x0"), HasSubstr("number of boxes must be between 1 and 131072"));
  EXPECT_THAT(refusalOf("c2x9"), HasSubstr("at most 8 boxes"));
  EXPECT_THAT(refusalOf("pod4x2"), HasSubstr("at most 1 box of it"));
  SystemOptions options;
  options.devices = -1;
  EXPECT_THAT(refusalOf("pod4", options), HasSubstr("number of devices must be between 1 and 131072"));
}

TEST(SystemRegistry, RefusesMemoryProportionsOutOfRange) {
  SystemOptions options;
  options.settings = {{"available_memory_proportion", 0.0}};
  EXPECT_THAT(refusalOf("pod4", options), HasSubstr("available memory proportion is 0"));
  options.settings = {{"available_memory_proportion", 0.6}, {"available_memory_proportion", 1.5, 1}};
  EXPECT_THAT(refusalOf("pod4", options), HasSubstr("available memory proportion is 1.5"));
}

TEST(SystemRegistry, RefusesSettingsOfOtherFamilies) {
  SystemOptions options;
  options.settings = {{"partials_type", "float16"}, {"io_tiles", 32.0}};
  EXPECT_TRUE(checkSettings("pod4", options).ok());
  EXPECT_EQ(
      refusalOf("hls-1", options),
      "Option partials_type is for IPUs, but system hls-1 has none: leave it out, or choose another system.");
  options.settings = {{"io_tiles", 32.0}};
  EXPECT_EQ(
      checkSettings("fixed", options).error().message,
      "Option io_tiles is for IPUs, but system fixed has none: leave it out, or choose another system.");
  options.settings = {{"available_memory_proportion", 0.5, 3}};
  EXPECT_THAT(refusalOf("gaudi2", options), HasSubstr("available_memory_proportion is for IPUs"));
}

TEST(SystemRegistry, RefusesNumbersOfIoTilesThatPoplarDoesNotTake) {
  SystemOptions options;
  options.settings = {{"io_tiles", 1472.0}};
  EXPECT_EQ(refusalOf("mk2", options),
            "execution.io_tiles is 1472, but must be an even number from 32 to 192, or 0 for none.");
  const TemporaryFolder folder;
  folder.write("devices/small.toml",
               "family = \"ipu\"\nbase = \"mk2\"\n[figures]\ntiles = { value = 64, unit = \"tiles\", grade = "
               "\"R\", source = \"a wish\" }\n");
  SystemOptions small = withFolder(folder);
  small.settings = {{"io_tiles", 64.0}};
  EXPECT_EQ(refusalOf("small", small), "64 I/O tiles leave none of the 64 tiles of small to compute.");
}

TEST(SystemRegistry, SystemsSayWhatPagesMustKnow) {
  const auto ipu = systemOf("pod4")->facts(), hpu = systemOf("hls-1")->facts(),
             fixed = systemOf("fixed")->facts();
  EXPECT_EQ(ipu.deviceNoun, "IPU");
  EXPECT_EQ(ipu.accelerator, "ipu");
  EXPECT_EQ(ipu.tickNoun, "cycles");
  EXPECT_FALSE(ipu.costsGiven);
  EXPECT_EQ(hpu.deviceNoun, "HPU");
  EXPECT_EQ(hpu.accelerator, "hpu");
  EXPECT_EQ(hpu.tickNoun, "");
  EXPECT_EQ(fixed.deviceNoun, "device");
  EXPECT_EQ(fixed.accelerator, "");
  EXPECT_EQ(fixed.tickNoun, "cost units");
  EXPECT_TRUE(fixed.costsGiven);
}

TEST(SystemRegistry, FixedIsASystemWithGivenCosts) {
  EXPECT_TRUE(hasGivenCosts("fixed"));
  EXPECT_TRUE(hasGivenCosts("fixed:3"));
  EXPECT_FALSE(hasGivenCosts("pod4"));
  EXPECT_FALSE(hasGivenCosts("podd4"));
  EXPECT_EQ(systemOf("fixed")->devices().size(), 1u);
  EXPECT_EQ(systemOf("fixed:3")->devices().size(), 3u);
  EXPECT_EQ(systemOf("fixed")->figures().size(), 1u);
  compile::StageIr stage;
  const auto lowered = systemOf("fixed")->lower({&stage});
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().message, "Stage 0 has no costs: add a [[fixed.stages]] entry for it.");
  const TemporaryFolder folder;
  folder.write("devices/teaching.toml", "family = \"fixed\"\n");
  EXPECT_TRUE(hasGivenCosts("teaching", folder.path()));
  folder.write("devices/odd.toml",
               "family = \"fixed\"\n[figures]\nclock = { value = 2e9, unit = \"Hz\", grade = \"R\", source = "
               "\"a wish\" }\n");
  EXPECT_THAT(refusalOf("odd", withFolder(folder)), HasSubstr("unknown figure \"clock\""));
}

TEST(SystemRegistry, UsersAddChipsAndSystems) {
  const TemporaryFolder folder;
  folder.write("devices/fast.toml",
               "family = \"ipu\"\nbase = \"mk2\"\n[figures]\nclock = { value = 2e9, unit = \"Hz\", grade = "
               "\"R\", source = \"a wish\" }\n");
  folder.write("systems/mine.toml", "family = \"ipu\"\nbase = \"pod4\"\nchip = \"fast\"\n");
  const auto system = systemOf("mine:2", withFolder(folder));
  ASSERT_EQ(system->devices().size(), 2u);
  EXPECT_EQ(system->devices()[0].kind, "fast");
  EXPECT_EQ(system->devices()[0].ticksPerSecond, 2'000'000'000);
  EXPECT_THAT(knownSystems(folder.path()), IsSupersetOf({"fast", "mine", "pod4"}));
}

TEST(SystemRegistry, AFaultyFileConcernsNobodyElse) {
  const TemporaryFolder folder;
  folder.write("devices/broken.toml", "family = \n");
  EXPECT_NE(systemOf("pod4", withFolder(folder)), nullptr);
  EXPECT_THAT(refusalOf("broken", withFolder(folder)), HasSubstr("broken.toml, line 1:"));
}

struct FaultyFile {
  const char* text;
  const char* sentence;

  friend void PrintTo(const FaultyFile& one, std::ostream* out) { *out << one.sentence; }
};

class FaultyChip : public ::testing::TestWithParam<FaultyFile> {};

TEST_P(FaultyChip, IsRefusedWithFileAndKey) {
  const TemporaryFolder folder;
  folder.write("devices/bad.toml", GetParam().text);
  const std::string sentence = refusalOf("bad", withFolder(folder));
  EXPECT_THAT(sentence, HasSubstr("bad.toml"));
  EXPECT_THAT(sentence, HasSubstr(GetParam().sentence));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultyChip,
    ::testing::Values(
        FaultyFile{"base = \"mk2\"\nfigures = 3\n", "\"figures\" must be a table"},
        FaultyFile{"base = \"mk2\"\nchips = \"x\"\n", "unknown key \"chips\"; did you mean \"chip\"?"},
        FaultyFile{"base = 2\n", "\"base\" must be a text"},
        FaultyFile{"base = \"mk2\"\n[figures]\nclock = 5\n", "figure \"clock\" must be a table"},
        FaultyFile{"base = \"mk2\"\n[figures]\nclock = { unit = \"Hz\", grade = \"D\", source = \"s\" }\n",
                   "figure \"clock\" needs a number as value"},
        FaultyFile{"base = \"mk2\"\n[figures]\nclock = { value = 1e9, unit = \"Hz\", grade = \"D\" }\n",
                   "figure \"clock\" needs a text as source"},
        FaultyFile{"base = \"mk2\"\n[figures]\nclock = { value = 1e9, unit = \"Hz\", grade = \"Q\", source = "
                   "\"s\" }\n",
                   "figure \"clock\" has grade \"Q\""},
        FaultyFile{"base = \"mk2\"\n[figures]\nclock = { value = 1e9, unit = \"Hz\", grade = \"D\", source = "
                   "\"s\", note = \"n\" }\n",
                   "unknown part \"note\""},
        FaultyFile{"base = \"mk2\"\n[figures]\nclock = { value = 1.3, unit = \"GHz\", grade = \"D\", source "
                   "= \"s\" }\n",
                   "has unit \"GHz\", but must be given in \"Hz\""},
        FaultyFile{"base = \"mk2\"\n[figures]\ntiles = { value = -5, unit = \"tiles\", grade = \"D\", source "
                   "= \"s\" }\n",
                   "figure \"tiles\" is -5, but must be above 0"},
        FaultyFile{"base = \"mk2\"\n[figures]\ntiles = { value = 10.5, unit = \"tiles\", grade = \"D\", "
                   "source = \"s\" }\n",
                   "must be a whole number"},
        FaultyFile{"base = \"mk2\"\n[figures]\nstack = { value = -1, unit = \"B\", grade = \"D\", source = "
                   "\"s\" }\n",
                   "must not be negative"},
        FaultyFile{"base = \"mk2\"\n[figures]\nclok = { value = 1e9, unit = \"Hz\", grade = \"D\", source = "
                   "\"s\" }\n",
                   "unknown figure \"clok\"; did you mean \"clock\"?"},
        FaultyFile{"base = \"mk2\"\n[figures]\ninterleaved_start = { value = 700000, unit = \"B\", grade = "
                   "\"D\", source = \"s\" }\n",
                   "must lie inside tile_memory"},
        FaultyFile{"base = \"mk2\"\n[figures]\nvector_width = { value = 12, unit = \"B\", grade = \"D\", "
                   "source = \"s\" }\n",
                   "figure \"vector_width\" is 12, but must be a power of two from 8 B on"},
        FaultyFile{"base = \"mk2\"\n[figures]\nclock = { value = nan, unit = \"Hz\", grade = \"D\", source = "
                   "\"s\" }\n",
                   "figure \"clock\" is nan"},
        FaultyFile{"base = \"mk2\"\n[figures]\nclock = { value = inf, unit = \"Hz\", grade = \"D\", source = "
                   "\"s\" }\n",
                   "figure \"clock\" is inf"},
        FaultyFile{"base = \"mk2\"\n[figures]\nexchange_bandwidth = { value = 16e12, unit = \"B/s\", grade = "
                   "\"D\", source = \"s\" }\n",
                   "figure \"exchange_bandwidth\" changes nothing by itself, because times follow from "
                   "exchange_width, clock, tiles; change one of these, or leave it out."},
        FaultyFile{"base = \"mk2\"\n[figures]\nmemory_bandwidth = { value = 95e12, unit = \"B/s\", grade = "
                   "\"D\", source = \"s\" }\n",
                   "figure \"memory_bandwidth\" changes nothing by itself"},
        FaultyFile{"", "key \"family\" is missing; say which kind of device it is"},
        FaultyFile{"family = \"ipu\"\n[figures]\n", "is missing; add tiles = { value"},
        FaultyFile{"[figures]\n", "key \"family\" is missing"},
        FaultyFile{"family = \"abacus\"\nbase = \"mk2\"\n",
                   "unknown family \"abacus\"; known are card, fixed, gaudi, ipu"},
        FaultyFile{"base = \"bad\"\n", "longer than 8 or goes in a circle"},
        FaultyFile{"base = \"nowhere\"\n", "There is no chip \"nowhere\""}));

TEST(SystemRegistry, SystemsAreCheckedToo) {
  const TemporaryFolder folder;
  folder.write("systems/lonely.toml", "family = \"ipu\"\n");
  EXPECT_THAT(refusalOf("lonely", withFolder(folder)), HasSubstr("key \"chip\" is missing"));
  folder.write("systems/mixed.toml", "family = \"gaudi\"\nchip = \"mk2\"\n");
  EXPECT_THAT(refusalOf("mixed", withFolder(folder)),
              HasSubstr("family is \"gaudi\", but its chip mk2 is of family \"ipu\""));
  folder.write("systems/wires.toml",
               "family = \"ipu\"\nbase = \"pod4\"\n[figures]\nlink_lane = { value = 0, unit = \"bit/s\", "
               "grade = \"D\", source = \"s\" }\n");
  EXPECT_THAT(refusalOf("wires", withFolder(folder)), HasSubstr("figure \"link_lane\" is 0"));
  folder.write("systems/extra.toml",
               "family = \"ipu\"\nbase = \"pod4\"\n[figures]\nlink_lanes = { value = 1, unit = \"bit/s\", "
               "grade = \"D\", source = \"s\" }\n");
  EXPECT_THAT(refusalOf("extra", withFolder(folder)), HasSubstr("did you mean \"link_lane\"?"));
}

TEST(SystemRegistry, LinksGrowWithTheNumberOfBoxesAndNotWithItsSquare) {
  const auto system = makeSystem("hls-gaudi2x64");
  ASSERT_TRUE(system.ok()) << system.error().message;
  EXPECT_EQ(std::ranges::count_if((*system)->links(),
                                  [](const LinkInfo& link) { return link.from >= 0 && link.to >= 0; }),
            64 * 8 * 7)
      << "each card has a link to each other one of its box";
  const std::vector<LinkInfo> route = (*system)->route(3, 64 * 8 - 1);
  ASSERT_EQ(route.size(), 1U) << "the network joins cards of different boxes";
  EXPECT_EQ(route.front().name, "scale-out");
}

}  // namespace
}  // namespace pipescope::devices
