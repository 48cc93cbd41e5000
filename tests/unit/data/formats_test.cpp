// Tests CIFAR, NumPy, TensorProto and image folders. make_files.py wrote the files in data/ with other
// programs.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "engine/data/dataset_registry.h"
#include "engine/data/image_file.h"
#include "engine/data/npy_file.h"
#include "engine/onnx/reader.h"
#include "test_files.h"

namespace pipescope::data {
namespace {

using base::ErrorKind;
using graph::ElementType;
using testing::Bytes;
using testing::expectError;
using testing::Folder;

std::filesystem::path sample(const std::string& name) {
  return std::filesystem::path(PIPESCOPE_TEST_DATA) / name;
}

DatasetRequest request(const std::filesystem::path& directory, DataSplit split = DataSplit::train) {
  DatasetRequest asked;
  asked.directory = directory;
  asked.split = split;
  asked.preprocessing.normalise = false;
  return asked;
}

using Read = testing::PlainRows;
Read readAll(const Dataset& dataset, const std::vector<std::int64_t>& indices) {
  return testing::readRows(dataset, indices);
}

/// A record of CIFAR-10: the label, then 3,072 bytes that count up from `first`.
Bytes record(std::uint8_t label, std::uint8_t first) {
  Bytes bytes{label};
  for (int i = 0; i < 3072; ++i) bytes.push_back(static_cast<std::uint8_t>(first + i));
  return bytes;
}
Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Cifar, ReadsTenClasses) {
  const Folder folder;
  for (int i = 1; i <= 5; ++i)
    folder.write("data_batch_" + std::to_string(i) + ".bin",
                 record(static_cast<std::uint8_t>(i), 0) + record(9, 51));
  folder.write("test_batch.bin", record(0, 255));
  const auto train = openDataset("cifar10", request(folder.path()));
  ASSERT_TRUE(train.ok()) << train.error().message;
  EXPECT_EQ((*train)->size(), 10);
  EXPECT_EQ((*train)->classes(), 10);
  EXPECT_EQ(testing::typeOf(**train, "samples").shape, (graph::Shape{3, 32, 32}));
  const Read read = readAll(**train, {4, 1});
  EXPECT_EQ(read.labels, (std::vector<std::int32_t>{3, 9}));
  EXPECT_FLOAT_EQ(read.samples[255], 1.0F);
  EXPECT_FLOAT_EQ(read.samples[3072], 0.2F);
  const auto test = openDataset("cifar10", request(folder.path(), DataSplit::test));
  ASSERT_TRUE(test.ok()) << test.error().message;
  EXPECT_EQ((*test)->size(), 1);
}

TEST(Cifar, TakesTheFineLabelsOfAHundred) {
  const Folder folder;
  folder.write("train.bin", Bytes{5} + record(99, 0));
  const auto dataset = openDataset("cifar100", request(folder.path()));
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  EXPECT_EQ(readAll(**dataset, {0}).labels, std::vector<std::int32_t>{99});
  EXPECT_EQ((*dataset)->classes(), 100);
}

TEST(Cifar, RefusesBadFiles) {
  const Folder folder;
  expectError(openDataset("cifar10", request(folder.path())), ErrorKind::io, {"data_batch_1.bin"});
  expectError(openDataset("cifar10", request({})), ErrorKind::badInput, {"CIFAR-10", "--data"});
  Bytes cut = record(1, 0);
  cut.pop_back();
  folder.write("test_batch.bin", cut);
  expectError(openDataset("cifar10", request(folder.path(), DataSplit::test)), ErrorKind::badInput,
              {"3,072 bytes", "whole CIFAR-10 records of 3,073"});
  folder.write("test_batch.bin", record(1, 0) + record(10, 0));
  expectError(openDataset("cifar10", request(folder.path(), DataSplit::test)), ErrorKind::badInput,
              {"label 10 of item 1", "0…9"});
}

TEST(Cifar, CountsFromTheLengthsOfTheFiles) {
  const Folder folder;
  // Label 10 is no class, which only a reader of the values sees.
  folder.write("test_batch.bin", record(1, 0) + record(10, 0));
  const auto asked = request(folder.path(), DataSplit::test);
  EXPECT_FALSE(openDataset("cifar10", asked).ok());
  const auto count = countDataset("cifar10", asked);
  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_EQ(*count, 2);
  folder.write("test_batch.bin", {});
  expectError(countDataset("cifar10", asked), ErrorKind::badInput, {"0 bytes", "fetch it again"});
  expectError(countDataset("cifar10", request(folder.path())), ErrorKind::io, {"data_batch_1.bin"});
  expectError(countDataset("cifar100", request({})), ErrorKind::badInput, {"CIFAR-100", "--data"});
}

TEST(Numpy, ReadsWhatNumpyWrote) {
  for (const char* name : {"stored.npz", "packed.npz"}) {
    const auto arrays = readNpz(sample(name));
    ASSERT_TRUE(arrays.ok()) << arrays.error().message;
    ASSERT_EQ(arrays->size(), 2U);
    EXPECT_EQ(arrays->at("samples").type.shape, (graph::Shape{3, 2, 2}));
    const Folder folder;
    std::filesystem::copy(sample(name), folder.path() / "train.npz");
    const auto dataset = openDataset("numpy", request(folder.path()));
    ASSERT_TRUE(dataset.ok()) << dataset.error().message;
    EXPECT_EQ((*dataset)->size(), 3);
    EXPECT_EQ((*dataset)->classes(), 3);
    const Read read = readAll(**dataset, {2, 0});
    EXPECT_EQ(read.samples, (std::vector<float>{2, 2.25F, 2.5F, 2.75F, 0, 0.25F, 0.5F, 0.75F}));
    EXPECT_EQ(read.labels, (std::vector<std::int32_t>{1, 2}));
  }
  const auto scalar = readNpy(sample("scalar.npy"));
  ASSERT_TRUE(scalar.ok()) << scalar.error().message;
  EXPECT_EQ(scalar->type, (graph::TensorType{ElementType::float64, {}}));
}

TEST(Numpy, RefusesOtherArrays) {
  expectError(readNpy(sample("columns.npy")), ErrorKind::badInput, {"column-major", "ascontiguousarray"});
  expectError(readNpy(sample("complex.npy")), ErrorKind::badInput, {"'<c8'"});
  expectError(readNpy(sample("big_endian.npy")), ErrorKind::badInput, {"'>f4'", "little-endian"});
  expectError(readNpy(sample("nothing.npy")), ErrorKind::io, {"nothing.npy", "no such file"});
  expectError(readNpy(sample("six.png")), ErrorKind::badInput, {"no .npy file"});
  expectError(readNpz(sample("scalar.npy")), ErrorKind::badInput, {"no .npz file"});
}

TEST(Numpy, NamesWhatIsBrokenInside) {
  const Folder folder;
  Bytes npy = testing::readBytes(sample("scalar.npy"));
  const auto parsed = [&](const Bytes& bytes) { return readNpy(folder.write("a.npy", bytes)); };
  expectError(parsed(Bytes(npy.begin(), npy.begin() + 20)), ErrorKind::badInput,
              {"its .npy header is cut off"});
  Bytes damaged = npy;
  damaged[11] = 'x';  // {'descr' becomes {'xescr'
  damaged[12] = 'x';
  expectError(parsed(damaged), ErrorKind::badInput, {"its .npy header is damaged"});
  // Changes the compression method of the first member in its own header and in the directory.
  Bytes packed = testing::readBytes(sample("stored.npz"));
  const Bytes directory{'P', 'K', 1, 2};
  const auto entry = std::search(packed.begin(), packed.end(), directory.begin(), directory.end());
  ASSERT_NE(entry, packed.end());
  packed[8] = 9;
  *(entry + 10) = 9;
  expectError(readNpz(folder.write("a.npz", packed)), ErrorKind::badInput,
              {"is packed by method 9; stored and deflated ones are read"});
  Bytes cut = testing::readBytes(sample("stored.npz"));
  cut[0] = 'x';
  expectError(readNpz(folder.write("b.npz", cut)), ErrorKind::badInput,
              {"member samples", "is cut off or damaged"});
}

TEST(Numpy, ReadsTypesFromHeaders) {
  const Folder folder;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  Bytes whole;
  for (const std::byte byte :
       npyBytes({ElementType::float32, {2, 3}}, std::as_bytes(std::span(std::as_const(values)))))
    whole.push_back(std::to_integer<std::uint8_t>(byte));
  const auto type = readNpyType(folder.write("a.npy", whole));
  ASSERT_TRUE(type.ok()) << type.error().message;
  EXPECT_EQ(*type, (graph::TensorType{ElementType::float32, {2, 3}}));
  // It refuses what readNpy refuses, with the same sentence, wherever the file is cut or longer.
  for (std::size_t length = 0; length <= whole.size() + 1; ++length) {
    Bytes other = whole;
    other.resize(length);
    const auto file = folder.write("b.npy", other);
    const auto header = readNpyType(file);
    const auto array = readNpy(file);
    ASSERT_EQ(header.ok(), array.ok()) << length;
    if (!array.ok()) {
      EXPECT_EQ(header.error().message, array.error().message) << length;
    }
  }
  expectError(readNpyType(sample("columns.npy")), ErrorKind::badInput, {"column-major"});
  expectError(readNpyType(sample("nothing.npy")), ErrorKind::io, {"nothing.npy", "no such file"});
}

TEST(Numpy, ReadsTypesFromTheDirectoryOfAnArchive) {
  const Folder folder;
  for (const char* name : {"stored.npz", "packed.npz"}) {
    const auto types = readNpzTypes(sample(name));
    ASSERT_TRUE(types.ok()) << types.error().message;
    const auto arrays = readNpz(sample(name)).value();
    ASSERT_EQ(types->size(), arrays.size());
    for (const auto& [key, array] : arrays) EXPECT_EQ(types->at(key), array.type) << key;
    const Bytes whole = testing::readBytes(sample(name));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto file =
          folder.write("cut.npz", Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
      EXPECT_FALSE(readNpzTypes(file).ok()) << length;
    }
    // Files that the reader of the values accepts have a type, too, and the same one.
    for (std::size_t at = 0; at < whole.size(); ++at) {
      Bytes changed = whole;
      changed[at] ^= 0xFF;
      const auto file = folder.write("changed.npz", changed);
      const auto read = readNpz(file);
      const auto some = readNpzTypes(file);
      EXPECT_TRUE(some.ok() || !some.error().message.empty());
      if (!read.ok()) continue;
      ASSERT_TRUE(some.ok()) << at << ": " << some.error().message;
      for (const auto& [key, array] : *read) EXPECT_EQ(some->at(key), array.type) << at;
    }
  }
  expectError(readNpzTypes(sample("nothing.npz")), ErrorKind::io, {"nothing.npz", "no such file"});
}

TEST(Numpy, CountsAnArchiveWithAFarDirectoryWithoutItsValues) {
  // The names of the members make the directory longer than the end that is read first.
  const Folder folder;
  std::vector<NpzMember> members;
  const std::vector<float> values(3, 1.0F);
  for (int i = 0; i < 1200; ++i)
    members.push_back({"array_with_a_long_name_" + std::to_string(i),
                       {ElementType::float32, {3}},
                       std::as_bytes(std::span(values))});
  const auto file = folder.path() / "train.npz";
  ASSERT_TRUE(writeNpz(file, members).ok());
  const auto types = readNpzTypes(file);
  ASSERT_TRUE(types.ok()) << types.error().message;
  EXPECT_EQ(types->size(), 1200U);
  const auto count = countDataset("numpy", request(folder.path()));
  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_EQ(*count, 3);
}

TEST(Numpy, EveryCutAndChangedByteEndsInASentence) {
  const Folder folder;
  for (const char* name : {"stored.npz", "packed.npz"}) {
    const Bytes whole = testing::readBytes(sample(name));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto file =
          folder.write("cut.npz", Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
      EXPECT_FALSE(readNpz(file).ok()) << length;
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
      Bytes changed = whole;
      changed[at] ^= 0xFF;
      const auto arrays = readNpz(folder.write("changed.npz", changed));
      EXPECT_TRUE(arrays.ok() || !arrays.error().message.empty());
    }
  }
}

/// NumPy refuses such archives, too ("Bad CRC-32").
TEST(Numpy, AChangedBitWithinNumbersIsRefused) {
  const Folder folder;
  const std::vector<float> values(64, 1.0F);
  const std::vector<NpzMember> members{{"w", {ElementType::float32, {64}}, std::as_bytes(std::span(values))}};
  ASSERT_TRUE(writeNpz(folder.path() / "w.npz", members).ok());
  const Bytes whole = testing::readBytes(folder.path() / "w.npz");
  // The numbers begin behind the local header (30 bytes), "w.npy" and the 128 bytes of the array's header.
  const std::size_t first = 30 + 5 + 128;
  for (std::size_t bit = 0; bit < 8 * values.size() * sizeof(float); bit += 7) {
    Bytes changed = whole;
    changed[first + bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    expectError(readNpz(folder.write("changed.npz", changed)), ErrorKind::badInput,
                {"member w.npy is damaged", "CRC-32", "use another copy"});
  }
}

/// NumPy refuses such archives, too ("File name in directory and header differ").
TEST(Numpy, AChangedBitWithinANameIsRefused) {
  const Folder folder;
  const std::vector<float> values(4, 1.0F);
  const std::vector<NpzMember> members{{"w1", {ElementType::float32, {4}}, std::as_bytes(std::span(values))}};
  ASSERT_TRUE(writeNpz(folder.path() / "w.npz", members).ok());
  const Bytes whole = testing::readBytes(folder.path() / "w.npz");
  const std::size_t local = 30, central = local + 6 + 128 + 16 + 46;  // headers, the array, and "w1.npy"
  for (const std::size_t name : {local, central}) {
    for (std::size_t bit = 0; bit < 8 * 6; ++bit) {
      Bytes changed = whole;
      changed[name + bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
      const auto file = folder.write("changed.npz", changed);
      expectError(readNpz(file), ErrorKind::badInput,
                  {"is damaged: its own header calls it", "another copy"});
      EXPECT_FALSE(readNpzTypes(file).ok());
    }
  }
}

TEST(Numpy, WritesWhatItReads) {
  const Folder folder;
  const std::vector<float> floats{1, -2.5F, 3};
  const std::vector<std::uint16_t> half{0x3C00, 0xC000}, bfloat{0x3F80, 0xC000};
  const std::int64_t number = -7;
  const std::vector<NpzMember> members{
      {"layer1/weight", {ElementType::float32, {3, 1}}, std::as_bytes(std::span(floats))},
      {"half", {ElementType::float16, {2}}, std::as_bytes(std::span(half))},
      {"bfloat", {ElementType::bfloat16, {2}}, std::as_bytes(std::span(bfloat))},
      {"number", {ElementType::int64, {}}, std::as_bytes(std::span(&number, 1))}};
  const auto file = folder.path() / "weights.npz";
  ASSERT_TRUE(writeNpz(file, members).ok());
  const auto arrays = readNpz(file);
  ASSERT_TRUE(arrays.ok()) << arrays.error().message;
  for (const NpzMember& member : members) {
    if (member.name == "bfloat") continue;
    EXPECT_EQ(arrays->at(member.name).type, member.type);
    EXPECT_TRUE(std::ranges::equal(arrays->at(member.name).bytes, member.values)) << member.name;
  }
  // NumPy has no bfloat16, so the writer converts it to float32.
  EXPECT_EQ(arrays->at("bfloat").type, (graph::TensorType{ElementType::float32, {2}}));
  float second = 0;
  std::memcpy(&second, arrays->at("bfloat").bytes.data() + 4, 4);
  EXPECT_EQ(second, -2.0F);
  const Bytes once = testing::readBytes(file);
  ASSERT_TRUE(writeNpz(file, members).ok());
  EXPECT_EQ(testing::readBytes(file), once);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  expectError(writeNpz(folder.path() / "no" / "w.npz", members), ErrorKind::io,
              {"cannot be written: No such file or directory. Choose a folder"});
}

TEST(Numpy, TakesTwoFilesAndNamesWhatIsWrong) {
  const Folder folder;
  const auto write = [&](const std::string& name, const graph::TensorType& type, const auto& values) {
    const auto raw = npyBytes(type, std::as_bytes(std::span(values)));
    Bytes bytes;
    for (const std::byte byte : raw) bytes.push_back(std::to_integer<std::uint8_t>(byte));
    folder.write(name, bytes);
  };
  // Bytes are scaled like the pixels of images.
  write("test_samples.npy", {ElementType::uint8, {2, 2}}, std::vector<std::uint8_t>{0, 51, 102, 255});
  write("test_labels.npy", {ElementType::int32, {2, 1}}, std::vector<std::int32_t>{4, 0});
  const auto dataset = openDataset("numpy", request(folder.path(), DataSplit::test));
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  const Read read = readAll(**dataset, {0, 1});
  EXPECT_FLOAT_EQ(read.samples[1], 0.2F);
  EXPECT_FLOAT_EQ(read.samples[3], 1.0F);
  EXPECT_EQ(read.labels, (std::vector<std::int32_t>{4, 0}));
  EXPECT_EQ(testing::typeOf(**dataset, "labels").shape, graph::Shape{});
  const auto refused = [&](const std::vector<std::string>& parts) {
    expectError(openDataset("numpy", request(folder.path(), DataSplit::test)), ErrorKind::badInput, parts);
  };
  write("test_labels.npy", {ElementType::int32, {1}}, std::vector<std::int32_t>{4});
  refused({"there are 1 labels, but 2 samples"});
  write("test_labels.npy", {ElementType::float32, {2}}, std::vector<float>{1, 0.5F});
  refused({"label 0.5 of sample 1 is no class"});
  write("test_labels.npy", {ElementType::int32, {2}}, std::vector<std::int32_t>{-1, 0});
  refused({"label -1 of sample 0"});
  // Headers alone say how many rows there are; values are not looked at.
  const auto count = countDataset("numpy", request(folder.path(), DataSplit::test));
  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_EQ(*count, 2);
  DatasetRequest ignoring = request(folder.path(), DataSplit::test);
  FieldRequest labels{"labels", {ElementType::int32, {}}};
  labels.labels = true;
  labels.ignored = -1;
  ignoring.fields = {labels};
  const auto without = openDataset("numpy", ignoring);
  ASSERT_TRUE(without.ok()) << without.error().message;
  EXPECT_EQ((*without)->classes(), 1) << "a label that is left out is no class";
  ignoring.fields[0].ignored = -2;
  expectError(openDataset("numpy", ignoring), ErrorKind::badInput, {"from 0 or -2, which is left out"});
  write("test_labels.npy", {ElementType::int32, {}}, std::vector<std::int32_t>{3});
  refused({"labels needs a first axis that counts the samples"});
  write("test_labels.npy", {ElementType::int32, {2, 0}}, std::vector<std::int32_t>{});
  refused({"an axis of no elements"});
  ASSERT_TRUE(writeNpz(folder.path() / "test.npz", std::vector<NpzMember>{}).ok());
  refused({"no array in it"});
  expectError(openDataset("numpy", request({})), ErrorKind::badInput, {"NumPy", "--data"});
}

/// Fields are found by name in an archive, in files with a common prefix, and in the split's folder.
TEST(Numpy, ArraysAreFieldsByName) {
  const std::vector<std::int64_t> ids{7, 8, 9, 10};
  const std::vector<std::uint8_t> mask{1, 0, 255, 1};
  const std::vector<float> target{0.5F, -2};
  const std::vector<std::int32_t> other{1, 2, 3};
  const std::vector<NpzMember> members{
      {"input_ids", {ElementType::int64, {2, 2}}, std::as_bytes(std::span(ids))},
      {"mask", {ElementType::uint8, {2, 2}}, std::as_bytes(std::span(mask))},
      {"target", {ElementType::float32, {2, 1}}, std::as_bytes(std::span(target))},
      {"names", {ElementType::int32, {3}}, std::as_bytes(std::span(other))}};
  const Folder archive, files, nested;
  ASSERT_TRUE(writeNpz(archive.path() / "train.npz", members).ok());
  std::filesystem::create_directories(nested.path() / "train");
  for (const NpzMember& member : members) {
    const auto raw = npyBytes(member.type, member.values);
    Bytes bytes;
    for (const std::byte byte : raw) bytes.push_back(std::to_integer<std::uint8_t>(byte));
    files.write("train_" + member.name + ".npy", bytes);
    nested.write("train/" + member.name + ".npy", bytes);
  }
  for (const Folder* folder : {&archive, &files, &nested}) {
    DatasetRequest asked = request(folder->path());
    asked.fields = {{"input_ids", {ElementType::int64, {2}}, 11},
                    {"mask", {ElementType::int64, {2}}, 2},
                    {"target", {ElementType::float32, {1}}, 0, -1, 1, true}};
    const auto dataset = openDataset("numpy", asked);
    ASSERT_TRUE(dataset.ok()) << dataset.error().message;
    // No field uses "names", so its different number of rows does not matter. Bytes that a field takes as
    // whole numbers are not scaled.
    EXPECT_EQ(toString((*dataset)->fields()), "input_ids (2 int64), mask (2 uint8) and target (1 float32)");
    EXPECT_EQ((*dataset)->classes(), 0);
    const auto count = countDataset("numpy", asked);
    ASSERT_TRUE(count.ok()) << count.error().message;
    EXPECT_EQ(*count, 2);
    const auto bytes = testing::readFields(**dataset, {1});
    EXPECT_EQ(testing::valuesOf<std::int64_t>(bytes[0]), (std::vector<std::int64_t>{9, 10}));
    EXPECT_EQ(testing::valuesOf<std::uint8_t>(bytes[1]), (std::vector<std::uint8_t>{255, 1}));
    EXPECT_EQ(testing::valuesOf<float>(bytes[2]), std::vector<float>{-2});
    // If the field takes real numbers, the same bytes are scaled.
    asked.fields[1].type.element = ElementType::float32;
    const auto real = openDataset("numpy", asked);
    ASSERT_TRUE(real.ok()) << real.error().message;
    EXPECT_FLOAT_EQ(testing::valuesOf<float>(testing::readFields(**real, {1})[1])[0], 1.0F);
    asked.fields.push_back({"names", {ElementType::int32, {}}, 4});
    expectError(openDataset("numpy", asked), ErrorKind::badInput, {"there are 2 input_ids, but 3 names"});
    expectError(countDataset("numpy", asked), ErrorKind::badInput, {"there are 2 input_ids, but 3 names"});
    asked.fields = {{"pixels", {ElementType::float32, {4}}}, {"more", {ElementType::float32, {4}}}};
    expectError(
        openDataset("numpy", asked), ErrorKind::badInput,
        {"it has input_ids, mask, names, target, but the model takes pixels, more", "name the arrays"});
  }
  std::filesystem::copy(nested.path() / "train" / "mask.npy", nested.path() / "train_mask.npy");
  expectError(openDataset("numpy", request(nested.path())), ErrorKind::badInput, {"stands in two files"});
  expectError(openDataset("numpy", request(nested.path() / "absent")), ErrorKind::io,
              {"cannot list the folder"});
}

TEST(TensorProto, IsADataSetToo) {
  const Folder folder;
  const auto write = [&](const std::string& name, const graph::TensorType& type, const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    ASSERT_TRUE(onnx::writeTensorFile(folder.path() / name, "t", {type, {bytes.begin(), bytes.end()}}).ok());
  };
  write("train_samples.pb", {ElementType::float32, {2, 3}}, std::vector<float>{1, 2, 3, 4, 5, 6});
  write("train_labels.pb", {ElementType::int64, {2}}, std::vector<std::int64_t>{1, 0});
  const auto dataset = openDataset("tensor_proto", request(folder.path()));
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  const Read read = readAll(**dataset, {1});
  EXPECT_EQ(read.samples, (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(read.labels, std::vector<std::int32_t>{0});
  const auto count = countDataset("tensor_proto", request(folder.path()));
  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_EQ(*count, 2);
  // The type from the header alone is refused where the whole file is, and with the same sentence.
  const Bytes whole = testing::readBytes(folder.path() / "train_samples.pb");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto file =
        folder.write("cut.pb", Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    const auto type = onnx::readTensorType(file);
    const auto tensor = onnx::readTensorFile(file);
    ASSERT_EQ(type.ok(), tensor.ok()) << length;
    if (!type.ok()) {
      EXPECT_EQ(type.error().message, tensor.error().message) << length;
    }
  }
  expectError(onnx::readTensorType(folder.path() / "absent.pb"), ErrorKind::io,
              {"absent.pb", "no such file"});
  expectError(countDataset("tensor_proto", request({})), ErrorKind::badInput, {"TensorProto", "--data"});
  expectError(openDataset("tensor_proto", request({})), ErrorKind::badInput, {"TensorProto", "--data"});
  expectError(openDataset("tensor_proto", request(folder.path(), DataSplit::test)), ErrorKind::io,
              {"no data for test", "test_samples.pb"});
}

TEST(Images, DecodePngAndJpeg) {
  const auto png = readImage(sample("six.png"), 3);
  ASSERT_TRUE(png.ok()) << png.error().message;
  EXPECT_EQ(png->width, 3);
  EXPECT_EQ(png->height, 2);
  EXPECT_EQ(png->pixels, (std::vector<std::uint8_t>{255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 128, 128, 128,
                                                    255, 255, 255}));
  const auto jpeg = readImage(sample("even.jpg"), 3);
  ASSERT_TRUE(jpeg.ok()) << jpeg.error().message;
  ASSERT_EQ(jpeg->pixels.size(), 16U * 8 * 3);
  for (std::size_t i = 0; i < jpeg->pixels.size(); ++i)
    EXPECT_NEAR(jpeg->pixels[i], (std::array{200, 100, 50})[i % 3], 4) << i;
  const auto grey = readImage(sample("even.jpg"), 1);
  ASSERT_TRUE(grey.ok()) << grey.error().message;
  EXPECT_NEAR(grey->pixels[0], 0.299 * 200 + 0.587 * 100 + 0.114 * 50, 4);
}

TEST(Images, FitByCuttingTheLongerSide) {
  Image image{4, 2, 1, {0, 10, 20, 30, 40, 50, 60, 70}};
  EXPECT_EQ(fitted(image, 4, 2), image.pixels);
  EXPECT_EQ(fitted(image, 2, 2), (std::vector<std::uint8_t>{10, 20, 50, 60}));  // crops the middle
  EXPECT_EQ(fitted(image, 2, 1), (std::vector<std::uint8_t>{25, 45}));          // averages 2 × 2 pixels
  // The result has the channel as its first dimension.
  Image colours{2, 1, 3, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(fitted(colours, 2, 1), (std::vector<std::uint8_t>{1, 4, 2, 5, 3, 6}));
}

TEST(Images, FoldersAreClasses) {
  const Folder folder;
  for (const char* place : {"train/cat/b.png", "train/ape/a.PNG"}) {
    std::filesystem::create_directories((folder.path() / place).parent_path());
    std::filesystem::copy(sample("six.png"), folder.path() / place);
  }
  std::filesystem::copy(sample("even.jpg"), folder.path() / "train/cat/a.jpeg");
  folder.write("train/cat/notes.txt", {1, 2});
  DatasetRequest asked = request(folder.path());
  asked.fields = {{"x", {ElementType::float32, {3, 2, 3}}}};
  const auto dataset = openDataset("images", asked);
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  EXPECT_EQ((*dataset)->size(), 3);
  EXPECT_EQ((*dataset)->classes(), 2);
  const Read read = readAll(**dataset, {0, 1, 2});
  EXPECT_EQ(read.labels, (std::vector<std::int32_t>{0, 1, 1}));
  EXPECT_FLOAT_EQ(read.samples[0], 1.0F);
  EXPECT_FLOAT_EQ(read.samples[4], 128.0F / 255);
  EXPECT_NEAR(read.samples[18], 200.0F / 255, 0.02);
}

TEST(Images, RefuseWithTheFilesName) {
  const Folder folder;
  DatasetRequest asked = request(folder.path());
  expectError(openDataset("images", asked), ErrorKind::badInput, {"models of one input"});
  asked.fields = {{"x", {ElementType::float32, {2, 3, 3}}}};
  expectError(openDataset("images", asked), ErrorKind::badInput, {"1 or 3 channels", "2x3x3"});
  asked.fields = {{"x", {ElementType::float32, {3, 2, 2}}}};
  expectError(openDataset("images", asked), ErrorKind::io, {"cannot list the folder", "train"});
  std::filesystem::create_directories(folder.path() / "train" / "cat");
  expectError(openDataset("images", asked), ErrorKind::badInput, {"has no images", ".png or .jpg"});
  asked.directory.clear();
  expectError(openDataset("images", asked), ErrorKind::badInput, {"--data"});
  const Bytes picture = testing::readBytes(sample("even.jpg"));
  const Bytes most(picture.begin(), picture.end() - static_cast<std::ptrdiff_t>(picture.size() / 8));
  expectError(readImage(folder.write("half.jpg", most), 3), ErrorKind::badInput, {"half.jpg"});
  expectError(readImage(folder.write("a.png", {1, 2, 3}), 3), ErrorKind::badInput,
              {"a.png", "neither PNG nor JPEG"});
  for (const char* name : {"six.png", "even.jpg", "grey.png"}) {
    const Bytes whole = testing::readBytes(sample(name));
    for (std::size_t length = 0; length + 16 < whole.size(); length += 3) {
      const auto file =
          folder.write("cut", Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
      EXPECT_FALSE(readImage(file, 3).ok()) << name << " " << length;
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
      Bytes changed = whole;
      changed[at] ^= 0xFF;
      const auto image = readImage(folder.write("changed", changed), 3);
      EXPECT_TRUE(image.ok() || image.error().message.find("changed") != std::string::npos);
    }
  }
}

TEST(Registry, KnowsEveryFormat) {
  expectError(openDataset("tiff", {}), ErrorKind::badInput,
              {"no data-set format 'tiff'", "cifar10", "cifar100", "mnist", "images", "numpy", "synthetic",
               "tensor_proto"});
}

}  // namespace
}  // namespace pipescope::data
