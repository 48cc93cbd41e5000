// Compares the table of measured layers with the emulated ones: how near they are, that nothing depends on a
// row's name, and that the committed error bands are those of this program.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/conformance/ipu/report.h"

namespace pipescope::conformance {
namespace {

using ::testing::HasSubstr;

const char* const kTable = PIPESCOPE_SOURCE_DIR "/tests/conformance/ipu/data/layers.csv";

const std::vector<LayerRow>& rows() {
  static const std::vector<LayerRow> rows = readLayers(kTable).value();
  return rows;
}

/// All rows, emulated once.
const std::vector<LayerResult>& results() {
  static const std::vector<LayerResult> results = [] {
    LayerModel model;
    std::vector<LayerResult> list;
    for (const LayerRow& row : rows()) list.push_back(model.emulate(row));
    return list;
  }();
  return results;
}

const KindErrors& errors(const std::string& target, const std::string& kind, Quantity quantity) {
  static const std::vector<KindErrors> all = errorsByKind(results());
  for (const KindErrors& row : all) {
    if (row.target == target && row.kind == kind && row.quantity == quantity) return row;
  }
  ADD_FAILURE() << "no rows of " << kind << " on " << target;
  return all.front();
}

/// The median and p90 of all compared rows of a target.
ErrorFigures errorsOfTarget(const std::string& target, Quantity quantity) {
  std::vector<double> logarithms;
  for (const LayerResult& result : results()) {
    if (result.compared() && result.row.target == target) logarithms.push_back(logarithmOf(result, quantity));
  }
  return errorsOf(logarithms);
}

TEST(LayerBenchmark, EveryRowOfAKnownToolHasAFigure) {
  EXPECT_EQ(rows().size(), 314u);
  std::int64_t notModelled = 0;
  for (const LayerResult& result : results()) {
    EXPECT_EQ(result.fault, "") << result.row.name;
    if (!result.modelled) {
      ++notModelled;
      EXPECT_TRUE(result.row.tool == "matrix_solver" || result.row.tool == "ctc_loss");
      continue;
    }
    EXPECT_GT(result.ours.cycles, 0) << result.row.name;
    EXPECT_GT(result.ours.totalBytes, 0) << result.row.name;
    EXPECT_GT(result.ours.maxTileBytes, 0) << result.row.name;
  }
  EXPECT_EQ(notModelled, 54);
}

/// Mk1 may be half as far off again. It is not a clean held-out set, because its residuals were looked at
/// beside those of Mk2.
class Target : public ::testing::TestWithParam<std::pair<const char*, double>> {};

TEST_P(Target, CyclesOfProductsAndConvolutions) {
  const auto [target, slack] = GetParam();
  for (const char* kind : {"matrix product", "fully connected", "convolution"}) {
    const KindErrors found = errors(target, kind, Quantity::cycles);
    RecordProperty(kind, std::to_string(found.errors.median));
    EXPECT_LE(found.errors.median, 0.08 * slack) << kind;
    EXPECT_LE(found.errors.p90, 0.20 * slack) << kind;
  }
}

TEST_P(Target, CyclesOfOtherKinds) {
  const auto [target, slack] = GetParam();
  for (const char* kind : {"octave convolution", "pooling", "reduction", "embedding"}) {
    const KindErrors found = errors(target, kind, Quantity::cycles);
    EXPECT_LE(found.errors.median, 0.20 * slack) << kind;
    if (found.errors.points < 10) {
      EXPECT_LE(found.errors.worst, 0.35 * slack) << kind;
    }
  }
}

/// A model's own LSTM and GRU slice the sequence at each step, bring the product of each step into the order
/// of the state, and keep the gates for their gradients, as popnn's layers do. The bound is the error that
/// this makes today, rounded up.
TEST_P(Target, CyclesOfRecurrentLayers) {
  for (const char* kind : {"lstm", "gru"})
    EXPECT_LE(errors(GetParam().first, kind, Quantity::cycles).errors.worst, 0.17) << kind;
}

TEST_P(Target, Memory) {
  const char* const target = GetParam().first;
  EXPECT_LE(errorsOfTarget(target, Quantity::totalBytes).median, 0.06) << "as today";
  EXPECT_LE(errorsOfTarget(target, Quantity::totalBytes).p90, 0.25) << "as today";
  EXPECT_LE(errorsOfTarget(target, Quantity::maxTileBytes).median, 0.01) << "as today";
  EXPECT_LE(errorsOfTarget(target, Quantity::maxTileBytes).p90, 0.15);
}

INSTANTIATE_TEST_SUITE_P(Chips, Target,
                         ::testing::Values(std::pair("IpuModel2", 1.0), std::pair("IpuModel1", 1.5)));

/// A SLIC vertex holds its sums and a second buffer of the same size at once, both in interleaved memory. So
/// the table shows where they end on the largest tile. Poplar leaves 24 bytes behind the last variable.
TEST(LayerBenchmark, DepthwiseConvolutionsHaveASecondBuffer) {
  std::int64_t found = 0;
  for (const LayerResult& result : results()) {
    const std::string& name = result.row.name;
    if (name != "mobilenet_depthwise" && name != "mobilenet_depthwise_2" && name != "mobilenet_depthwise_4" &&
        name != "mobilenet_depthwise_6")
      continue;
    ++found;
    EXPECT_EQ(result.ours.maxTileBytes, result.row.measured.maxTileBytes - 24) << result.row.target << name;
  }
  EXPECT_EQ(found, 8);
}

TEST(LayerBenchmark, NamesAndPlacesInTheTableDoNotMatter) {
  LayerModel model;
  for (std::size_t i = rows().size(); i-- > 0;) {
    if (i % 23 != 0 || !results()[i].compared()) continue;
    LayerRow other = rows()[i];
    other.name = "another";
    other.measured = {1, 1, 1};
    const LayerResult again = model.emulate(other);
    EXPECT_EQ(again.ours.cycles, results()[i].ours.cycles) << rows()[i].name;
    EXPECT_EQ(again.ours.totalBytes, results()[i].ours.totalBytes) << rows()[i].name;
    EXPECT_EQ(again.ours.maxTileBytes, results()[i].ours.maxTileBytes) << rows()[i].name;
  }
}

TEST(LayerBenchmark, ErrorBandsAreFresh) {
  std::ifstream stream(PIPESCOPE_SOURCE_DIR "/resources/devices/bands.toml");
  std::ostringstream committed;
  committed << stream.rdbuf();
  EXPECT_EQ(committed.str(), toBands(results(), "Poplar's IPU Model: PopLibs' benchmark results"))
      << "Run tests/conformance/ipu_layer_benchmark --write-bands of the build directory and commit the "
         "file.";
}

TEST(LayerBenchmark, JsonHasOursAndTheirs) {
  const std::string json = toJson({results().front()});
  EXPECT_THAT(json, HasSubstr("\"name\": \"alexnet_tr_bs4_layer11\""));
  EXPECT_THAT(json, HasSubstr("\"theirs\": 74834"));
  EXPECT_THAT(json, HasSubstr("\"total_bytes\""));
  EXPECT_THAT(json, HasSubstr("\"max_tile_bytes\""));
}

TEST(LayerBenchmark, TableSaysWhatIsUncheckedAndNotModelled) {
  const std::string text = toText(results());
  EXPECT_THAT(text, HasSubstr("not modelled"));
  EXPECT_THAT(text, HasSubstr("leave-one-out"));
  EXPECT_THAT(text, HasSubstr("unchecked"));
}

std::string faultOf(const std::string& tool, const std::string& params,
                    const std::string& target = "IpuModel2") {
  LayerModel model;
  return model.emulate({target, "layer", tool, params, {1, 1, 1}}).fault;
}

TEST(LayerOptions, FaultsSayWhatIsWrong) {
  EXPECT_THAT(faultOf("general_matrix_multiply", "--m 10 --k 10"), HasSubstr("option --n is missing"));
  EXPECT_THAT(faultOf("general_matrix_multiply", "--m ten --k 10 --n 10"),
              HasSubstr("\"ten\", not a whole number"));
  EXPECT_THAT(faultOf("general_matrix_multiply", "--m 10 --k 10 --n 10 --colour red"),
              HasSubstr("option --colour is not modelled"));
  EXPECT_THAT(faultOf("general_matrix_multiply", "10 --m 10"), HasSubstr("\"10\" belongs to no option"));
  EXPECT_THAT(faultOf("fully_connected_layer", "--input-size 8 --output-size 8 --bias maybe"),
              HasSubstr("neither true nor false"));
  EXPECT_THAT(faultOf("oct_conv_layer", "--field {8,8} --input-channels 8 --output-channels 8 --alpha much"),
              HasSubstr("\"much\", not a number"));
  EXPECT_THAT(
      faultOf("single_conv_layer", "--field {8,8} --stride {1,1,1} --input-channels 8 --output-channels 8"),
      HasSubstr("3 numbers, but the field has 2 axes"));
  EXPECT_THAT(faultOf("embedding_layer", "--shape {8,8,8} --num-indices 8"), HasSubstr("two numbers"));
  EXPECT_THAT(faultOf("coffee", "--cups 2"), HasSubstr("tool \"coffee\" is not known, and not modelled"));
  EXPECT_THAT(faultOf("reduce_op", "--shape 8,8 --dims 1", "IpuModel9"), HasSubstr("target \"IpuModel9\""));
}

TEST(LayerOptions, ShapesThatCannotBeAreRefused) {
  const char* const conv = "single_conv_layer";
  const std::string base = "--field {8,8} --input-channels 8 --output-channels 8 ";
  EXPECT_EQ(faultOf(conv, base + "--kernel-size 3"), "");
  EXPECT_THAT(faultOf(conv, base + "--kernel-size 9"), HasSubstr("no output"));
  EXPECT_THAT(faultOf(conv, base + "--stride 0"), HasSubstr("--stride has 0, but numbers from 1"));
  EXPECT_THAT(faultOf(conv, base + "--kernel-dilation 0"), HasSubstr("--kernel-dilation has 0"));
  EXPECT_THAT(faultOf(conv, base + "--padding -1"), HasSubstr("--padding has -1, but numbers from 0"));
  EXPECT_THAT(faultOf(conv, base + "--batch-size 0"), HasSubstr("--batch-size has 0"));
  EXPECT_THAT(faultOf(conv, base + "--batch-size -4"), HasSubstr("--batch-size has -4"));
  EXPECT_THAT(faultOf(conv, base + "--batch-size 99999999999999999999"), HasSubstr("not a whole number"));
  EXPECT_THAT(faultOf(conv, base + "--data-type int"), HasSubstr("must be one of half, float"));
  EXPECT_THAT(faultOf(conv, base + "--phase sideways"), HasSubstr("must be one of all, fwd, bwd, wu"));
  EXPECT_THAT(faultOf(conv, "--field {} --input-channels 8 --output-channels 8"),
              HasSubstr("has no numbers"));
  EXPECT_NE(faultOf(conv, "--field {4,4,4,4} --input-channels 8 --output-channels 8"), "");
  EXPECT_THAT(faultOf(conv, "--field {1000000,1000000} --input-channels 64 --output-channels 64"),
              HasSubstr("more than 2^40 elements"));
  EXPECT_THAT(faultOf("general_matrix_multiply", "--m 0 --k 10 --n 10"), HasSubstr("--m has 0"));
  EXPECT_THAT(faultOf("general_matrix_multiply", "--m 1 --k 2000000000 --n 2000000000"), HasSubstr("2^40"));
  EXPECT_THAT(faultOf("fully_connected_layer", "--input-size 0 --output-size 4"),
              HasSubstr("--input-size has 0"));
  EXPECT_THAT(faultOf("pooling_layer", "--field {4,4} --channels 2 --kernel 5"), HasSubstr("no output"));
  EXPECT_THAT(faultOf("pooling_layer", "--field {4,4} --channels 2 --kernel 2 --stride 0"),
              HasSubstr("--stride"));
  EXPECT_THAT(faultOf("pooling_layer", "--field {4,4} --channels 2 --pooling-type median"),
              HasSubstr("must be one of"));
  EXPECT_THAT(faultOf("reduce_op", "--shape 4,4 --dims 2"), HasSubstr("axis 2, but the shape has 2"));
  EXPECT_THAT(faultOf("reduce_op", "--shape 4,0 --dims 1"), HasSubstr("--shape has 0"));
  EXPECT_THAT(faultOf("reduce_op", "--shape 4,4 --dims 1 --operation XOR"), HasSubstr("must be one of ADD"));
  EXPECT_THAT(faultOf("embedding_layer", "--shape {8,8} --num-indices 0"), HasSubstr("--num-indices has 0"));
  EXPECT_THAT(faultOf("oct_conv_layer", base + "--alpha 1.5"), HasSubstr("shares, 0 to 1"));
  EXPECT_THAT(faultOf("oct_conv_layer", "--field {1,8} --input-channels 8 --output-channels 8 --alpha 0.5"),
              HasSubstr("no output"));
  EXPECT_THAT(faultOf("lstm_layer", "--sequence-size 0 --input-size 4 --output-size 4"), HasSubstr("has 0"));
  EXPECT_THAT(faultOf("reduce_op", "--shape 8,8 --dims 1 --tiles-per-ipu 5000"), HasSubstr("has 1472 tiles"));
}

/// Rows that are in no table: everything that can be asked for gives figures.
TEST(LayerOptions, OtherRowsHaveFigures) {
  LayerModel model;
  const std::pair<const char*, const char*> rows[] = {
      {"general_matrix_multiply", "--m 1 --k 1 --n 1"},
      {"general_matrix_multiply", "--m 997 --k 1 --n 13 --data-type float"},
      {"general_matrix_multiply", "--m 1 --k 100003 --n 7"},
      {"general_matrix_multiply", "--m 60000 --k 3000 --n 3000"},
      {"fully_connected_layer", "--batch-size 3 --input-size 1 --output-size 1"},
      {"fully_connected_layer",
       "--batch-size 7 --num-groups 384 --input-size 33 --output-size 129 --phase fwd"},
      {"single_conv_layer", "--field {7} --input-channels 3 --output-channels 5 --kernel-size 3"},
      {"single_conv_layer", "--field {5,1,9} --input-channels 3 --output-channels 5 --kernel-size {3,1,2}"},
      {"single_conv_layer",
       "--field {13,17} --input-channels 1 --output-channels 1 --conv-groups 61 --kernel-size 3"},
      {"single_conv_layer",
       "--field {224,224} --input-channels 3 --output-channels 64 --kernel-size 7 --stride 2 --padding 3 "
       "--batch-size 256"},
      {"single_conv_layer",
       "--field {9,9} --input-channels 17 --output-channels 19 --kernel-size {5,2} --stride {3,1} "
       "--kernel-dilation 2 --padding 4"},
      {"oct_conv_layer", "--field {8,8} --input-channels 8 --output-channels 8 --alpha 1"},
      {"oct_conv_layer",
       "--field {9,7} --input-channels 5 --output-channels 3 --kernel-size 3 --padding 1 --alpha 0.4"},
      {"pooling_layer", "--field {1,1} --channels 1 --kernel 1"},
      {"pooling_layer", "--field {31} --channels 3 --kernel 2 --stride 3 --pooling-type avg"},
      {"reduce_op", "--shape 1 --dims 0"},
      {"reduce_op", "--shape 3,5,7 --dims 0,1,2 --operation MAX"},
      {"reduce_op", "--shape 7,100000 --dims 0 --type float"},
      {"embedding_layer", "--shape {1,1} --num-indices 1"},
      {"embedding_layer", "--shape {50001,77} --num-indices {5,1000}"},
      {"lstm_layer", "--sequence-size 1 --input-size 1 --output-size 1"},
      {"gru_layer", "--sequence-size 3 --batch-size 5 --input-size 7 --output-size 11 --phase all"},
      {"rnn_layer", "--sequence-size 9 --input-size 5 --output-size 3"}};
  for (const char* target : {"IpuModel1", "IpuModel2", "IpuModel21", "bow", "c600"}) {
    for (const auto& [tool, params] : rows) {
      const LayerResult result = model.emulate({target, "other", tool, params, {1, 1, 1}});
      EXPECT_EQ(result.fault, "") << tool << ' ' << params;
      EXPECT_GT(result.ours.cycles, 0) << tool << ' ' << params;
      EXPECT_GT(result.ours.totalBytes, 0) << tool << ' ' << params;
      EXPECT_GE(result.ours.totalBytes, result.ours.maxTileBytes / 1472) << tool << ' ' << params;
    }
  }
}

/// A Bow is an Mk2 with a faster clock, so a layer takes as many cycles on both.
TEST(LayerOptions, ChipsAreTargetsByTheirNames) {
  LayerModel model;
  const auto cyclesOn = [&](const char* target) {
    const LayerResult result =
        model.emulate({target, "layer", "general_matrix_multiply", "--m 256 --k 1024 --n 1024", {1, 1, 1}});
    EXPECT_EQ(result.fault, "") << target;
    return result.ours.cycles;
  };
  EXPECT_EQ(cyclesOn("bow"), cyclesOn("mk2"));
  EXPECT_EQ(cyclesOn("c600"), cyclesOn("IpuModel21"));
  EXPECT_EQ(cyclesOn("mk1"), cyclesOn("IpuModel1"));
}

class TableFile : public ::testing::Test {
 protected:
  std::string faultOfTable(const std::string& text) {
    const auto file = std::filesystem::temp_directory_path() / "pipescope-layer-table.csv";
    std::ofstream(file) << text;
    const auto table = readLayers(file);
    std::filesystem::remove(file);
    EXPECT_FALSE(table.ok());
    return table.ok() ? "" : table.error().message;
  }
  const std::string heading_ =
      "target,name,tool,params,cycles,total_memory_bytes,max_tile_memory_incl_gaps_bytes\n";
};

TEST_F(TableFile, FaultsNameTheLine) {
  EXPECT_THAT(faultOfTable("target,name\n"), HasSubstr("line 1: column \"tool\" is missing"));
  EXPECT_THAT(faultOfTable(heading_ + "IpuModel2,a,b,c,1,2\n"),
              HasSubstr("line 2: 6 columns, but the heading has 7"));
  EXPECT_THAT(faultOfTable(heading_ + "IpuModel2,a,b,c,many,2,3\n"), HasSubstr("cycles is \"many\""));
  EXPECT_THAT(faultOfTable(heading_ + "IpuModel2,a,b,c,0,2,3\n"), HasSubstr("above 0"));
  EXPECT_THAT(faultOfTable("# nothing\n"), HasSubstr("no line with the names"));
  const auto missing = readLayers("/nowhere/layers.csv");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("Cannot read"));
}

TEST_F(TableFile, TakesColumnsInAnyOrderAndQuotedLists) {
  const auto file = std::filesystem::temp_directory_path() / "pipescope-layer-order.csv";
  std::ofstream(file) << "name,target,tool,cycles,params,total_memory_bytes,max_tile_memory_incl_gaps_bytes\n"
                         "x,IpuModel2,single_conv_layer,5,\"--field {8,8} --kernel-size {1,3}\",6,7\r\n";
  const auto table = readLayers(file);
  std::filesystem::remove(file);
  ASSERT_TRUE(table.ok()) << table.error().message;
  ASSERT_EQ(table->size(), 1u);
  EXPECT_EQ(table->front().params, "--field {8,8} --kernel-size {1,3}");
  EXPECT_EQ(table->front().measured.maxTileBytes, 7);
}

}  // namespace
}  // namespace pipescope::conformance
