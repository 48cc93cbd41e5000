#include "profiler/base/files/output_file.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <sstream>

namespace pipescope::base {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

class OutputTest : public testing::Test {
 protected:
  OutputTest() : folder_(fs::temp_directory_path() / ("pipescope_output_test_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~OutputTest() override { fs::remove_all(folder_); }

  fs::path put(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  static std::string contentOf(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  static std::string refusal(const fs::path& path, FileKind kind, const OutputRules& rules = {}) {
    const Status status = checkOutput(path, kind, rules);
    return status.ok() ? "" : status.error().message;
  }

  const fs::path folder_;
};

/// An SQLite header with this application id.
std::string database(std::uint32_t id) {
  std::string head(100, '\0');
  head.replace(0, 16, "SQLite format 3\0"s);
  for (std::size_t i = 0; i < 4; ++i) head[68 + i] = static_cast<char>(id >> (24 - 8 * i));
  return head;
}

/// The beginning of a zip archive whose first member has this name.
std::string zip(const std::string& member) {
  std::string head = "PK\3\4"s + std::string(22, '\0');
  head += static_cast<char>(member.size());
  return head + "\0\0\0"s + member + "content";
}

/// A file of each kind, as other programs write it, and files that are of no kind.
const std::map<FileKind, std::string>& samples() {
  static const std::map<FileKind, std::string> all = {
      {FileKind::profile, database(0x50536370)},
      {FileKind::database, database(0x50536578)},
      {FileKind::chromeTrace, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n"},
      {FileKind::csv, "name,\"a, b\"\r\nx,1\r\n\"y \"\"z\"\"\n\",2\n"},
      {FileKind::svg, "<?xml version=\"1.0\"?>\n<!-- a > b -->\n<svg width=\"1\"></svg>"},
      {FileKind::png, "\x89PNG\r\n\x1A\n\0\0\0\rIHDR"s},
      {FileKind::jpeg, "\xFF\xD8\xFF\xE0\0\x10JFIF\0"s},
      // 1078 bytes, of which the pixels begin at byte 54, after a header of 40 bytes
      {FileKind::bmp, "BM\x36\4\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x10\0\0\0\x10\0\0\0"s},
      {FileKind::metrics, "{\"kind\":\"training\",\"epoch\":1}\n"},
      {FileKind::npz, zip("encoder/weight.npy")},
      // ir_version 8, producer_name "x", an empty graph, and an opset import
      {FileKind::onnxModel, "\x08\x08\x12\x01x\x3A\0\x42\x02\x10\x11"s},
      // dims 2, data_type float, name "x", raw_data of 8 bytes
      {FileKind::onnxTensor, "\x08\x02\x10\x01\x42\x01x\x4A\x08"s + std::string(8, '\1')},
      {FileKind::device, "# Calibrated by pipescope from h100.\n"},
      {FileKind::plan, "# Planned by pipescope from costs.txt\n[system]\n"},
      {FileKind::launchFlags, "{\n  \"num-instances\": 2,\n  \"host\": \"\"\n}\n"},
      // Two packets: a time (8), and a sequence (10).
      {FileKind::perfettoTrace, "\x0A\x02\x40\x05\x0A\x02\x50\x01"s},
      // A version; then a node with id 1, name "a" and type COMP.
      {FileKind::chakraTrace,
       "\x05\x0A\x03"
       "1.0\x07\x08\x01\x12\x01"
       "a\x18\x04"s}};
  return all;
}

TEST(FileKinds, EachIsRecognisedByItsContentAndNoOther) {
  for (const auto& [kind, content] : samples()) {
    for (const auto& [other, unused] : samples()) {
      EXPECT_EQ(isOfKind(other, content), kind == other) << nameOf(kind) << " taken for " << nameOf(other);
    }
  }
}

/// A Chakra trace whose metadata, a version and attributes, are longer than what is looked at.
TEST(FileKinds, LongMetadataAreRecognised) {
  std::string metadata =
      "\x0A\x03"
      "1.0";
  while (metadata.size() < 100'000) metadata += "\x12\x08\x0A\x01r\xEA\x01\x02ok";
  const std::string head = "\xFF\xFF\x07" + metadata;
  EXPECT_TRUE(isOfKind(FileKind::chakraTrace, head));
  EXPECT_TRUE(isOfKind(FileKind::chakraTrace, head.substr(0, 4096)));
  EXPECT_FALSE(isOfKind(FileKind::chakraTrace, "\xFF\xFF\x07" + metadata.substr(5)));
}

TEST(FileKinds, WhatUsersKeepIsOfNoKind) {
  const std::string kept[] = {"[training]\nepochs = 3\n# one, two\n",
                              "# Pipelined, on four IPUs\n[system]\nname = \"pod4\"\n",
                              "Dear reader,\nthis is a letter, with commas, in lines.\n",
                              "{\"scripts\": {\"test\": \"x\"}}\n",
                              "<html><body><svg></svg></body></html>",
                              "<svgx/>",
                              "word\nword\n",
                              "a,b\n1,2,3\n",
                              "a,b\n1,\"2\"3\n",
                              database(0),
                              database(0x12345678),
                              zip("word/document.xml"),
                              "PK\3\4",
                              "SQLite format 3\0"s,
                              "\x7F"s + "ELF\2\1\1",
                              std::string(1000, '\0'),
                              std::string(1000, 'x'),
                              "\xFF\xD8 JPEG",
                              "BM company\n",
                              "#!/bin/sh\necho a, b\n",
                              "%PDF-1.4\n"};
  for (const std::string& content : kept) {
    for (const auto& [kind, unused] : samples())
      EXPECT_FALSE(isOfKind(kind, content)) << nameOf(kind) << ": " << content;
  }
}

TEST(FileKinds, ACompressedFileIsOfTheKindThatItsHeaderNames) {
  // RFC 1952: signature, method, flags, time (4), extra flags, system; then the fields that the flags name.
  const auto gzip = [](char flags, const std::string& fields) {
    return "\x1F\x8B\x08"s + flags + "\0\0\0\0\0\3"s + fields + "compressed";
  };
  EXPECT_TRUE(isOfKind(FileKind::chromeTrace, gzip(16, gzipComment(FileKind::chromeTrace) + '\0')));
  const std::string others[] = {gzip(0, ""),
                                gzip(8, "backup.tar\0"s),
                                gzip(16, "a comment\0"s),
                                gzip(16, "\0"s),
                                gzip(8, gzipComment(FileKind::chromeTrace) + '\0'),
                                gzip(16, gzipComment(FileKind::csv) + '\0'),
                                gzip(16, gzipComment(FileKind::chromeTrace)),
                                "\x1F\x8B\x08"s};
  for (const std::string& other : others) EXPECT_FALSE(isOfKind(FileKind::chromeTrace, other)) << other;
}

TEST(FileKinds, AFileThatIsLongerThanItsHeadIsRecognised) {
  std::string table = "a,b\n";
  while (table.size() < kHeadBytes) table += "\"x\ny\",1\n";
  EXPECT_TRUE(isOfKind(FileKind::csv, std::string_view(table).substr(0, kHeadBytes)));
  // A model whose graph is longer than the head.
  const std::string model = "\x08\x08\x3A\xFF\xFF\xFF\x7F"s + std::string(kHeadBytes - 7, 'g');
  EXPECT_TRUE(isOfKind(FileKind::onnxModel, model));
}

TEST_F(OutputTest, ReplacesOnlyItsKindAndEmptyFiles) {
  for (const auto& [kind, content] : samples()) {
    EXPECT_EQ(refusal(put("same", content), kind), "");
    EXPECT_EQ(refusal(put("empty", ""), kind), "");
    EXPECT_EQ(refusal(folder_ / "new", kind), "");
    EXPECT_EQ(refusal(put("other", "a letter"), kind), (folder_ / "other").string() + " exists and is not " +
                                                           std::string(nameOf(kind)) +
                                                           "; it is left untouched. Choose another name.");
    EXPECT_EQ(refusal(folder_ / "other", kind, {{}, true}), "") << "with overwrite";
  }
}

TEST_F(OutputTest, NeverReplacesAnInputWhateverItIs) {
  const fs::path path = put("table.csv", "a,b\n1,2\n");
  fs::create_symlink(path, folder_ / "soft");
  fs::create_hard_link(path, folder_ / "hard");
  for (const char* name : {"table.csv", "soft", "hard"}) {
    for (const bool overwrite : {false, true}) {
      EXPECT_EQ(refusal(folder_ / name, FileKind::csv, {{"", folder_ / "absent", path}, overwrite}),
                (folder_ / name).string() +
                    " is an input of the same command; it is left untouched. Choose "
                    "another name for what is written.");
    }
  }
}

TEST_F(OutputTest, RefusesPlacesThatAreNoFiles) {
  put("file", "text");
  EXPECT_EQ(refusal("", FileKind::csv), "The name of a file to write is empty.");
  EXPECT_EQ(refusal(folder_, FileKind::csv), folder_.string() + " is a folder; name a file in it.");
  EXPECT_EQ(refusal(folder_ / "sub/", FileKind::csv),
            (folder_ / "sub/").string() + " is a folder; name a file in it.");
  EXPECT_EQ(refusal(folder_ / "no/x.csv", FileKind::csv),
            (folder_ / "no/x.csv").string() + " cannot be written: " + (folder_ / "no").string() +
                " is not a folder. Make it first, or choose another path.");
  EXPECT_EQ(refusal("/dev/null", FileKind::csv, {{}, true}),
            "/dev/null exists and is not a plain file; it is left untouched. Use - for standard output, or "
            "choose another name.");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(folder_ / "pipe", FileKind::npz),
            (folder_ / "pipe").string() +
                " exists and is not a plain file; it is left untouched. Choose another name.");
  const fs::path locked = put("locked.csv", "a,b\n");
  fs::permissions(locked, fs::perms::owner_read);
  EXPECT_EQ(refusal(locked, FileKind::csv),
            locked.string() +
                " exists and is protected against writing; it is left untouched. Choose another name.");
}

TEST_F(OutputTest, StandardOutputTakesWhatCanBeStreamed) {
  EXPECT_EQ(refusal("-", FileKind::csv), "");
  EXPECT_EQ(refusal("-", FileKind::profile),
            "A Pipescope profile cannot be written to standard output, because it is not written from its "
            "beginning to its end: name a file.");
  EXPECT_EQ(refusal("-", FileKind::npz).substr(0, 15), "An .npz archive");
  testing::internal::CaptureStdout();
  Result<OutputFile> file = OutputFile::create("-", FileKind::csv, {});
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->write("a,b\n").ok());
  EXPECT_TRUE(file->close().ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a,b\n");
}

TEST_F(OutputTest, TheOldContentStaysUntilTheNewOneIsComplete) {
  const fs::path path = put("table.csv", "a,b\n1,2\n");
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  {
    Result<OutputFile> dropped = OutputFile::create(path, FileKind::csv, {});
    ASSERT_TRUE(dropped.ok());
    ASSERT_TRUE(dropped->write("half").ok());
    EXPECT_EQ(contentOf(path), "a,b\n1,2\n");
  }
  EXPECT_EQ(files(), std::vector<std::string>{"table.csv"});
  Result<OutputFile> file = OutputFile::create(path, FileKind::csv, {});
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("c,d\n").ok());
  ASSERT_TRUE(file->close().ok());
  EXPECT_EQ(contentOf(path), "c,d\n");
  EXPECT_EQ(fs::status(path).permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  EXPECT_EQ(files(), std::vector<std::string>{"table.csv"});
}

TEST_F(OutputTest, APublishedFileGrowsWhereItIs) {
  const fs::path path = folder_ / "lines";
  Result<OutputFile> file = OutputFile::create(path, FileKind::metrics, {});
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("one\n").ok());
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(file->publish().ok());
  EXPECT_EQ(contentOf(path), "one\n");
  ASSERT_TRUE(file->write("two\n").ok());
  ASSERT_TRUE(file->flush().ok());
  EXPECT_EQ(contentOf(path), "one\ntwo\n");
}

TEST_F(OutputTest, ALinkStaysALink) {
  put("real.csv", "a,b\n");
  fs::create_symlink(folder_ / "real.csv", folder_ / "link.csv");
  Result<OutputFile> file = OutputFile::create(folder_ / "link.csv", FileKind::csv, {});
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("c,d\n").ok());
  ASSERT_TRUE(file->close().ok());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.csv"));
  EXPECT_EQ(contentOf(folder_ / "real.csv"), "c,d\n");
}

TEST_F(OutputTest, ALinkToNothingMakesTheFileThatItNames) {
  fs::create_symlink("later.csv", folder_ / "link.csv");
  fs::create_symlink("link.csv", folder_ / "first.csv");
  EXPECT_TRUE(isSameFile(folder_ / "first.csv", folder_ / "later.csv"));
  Result<OutputFile> file = OutputFile::create(folder_ / "first.csv", FileKind::csv, {});
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("c,d\n").ok());
  ASSERT_TRUE(file->close().ok());
  EXPECT_TRUE(fs::is_symlink(folder_ / "first.csv"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.csv"));
  EXPECT_EQ(contentOf(folder_ / "later.csv"), "c,d\n");
}

TEST_F(OutputTest, LinksInACircleAreRefused) {
  fs::create_symlink("b.csv", folder_ / "a.csv");
  fs::create_symlink("a.csv", folder_ / "b.csv");
  EXPECT_EQ(refusal(folder_ / "a.csv", FileKind::csv),
            (folder_ / "a.csv").string() +
                " is a link that leads to no file, because it leads back to itself. Choose another name.");
  EXPECT_FALSE(isSameFile(folder_ / "a.csv", folder_ / "c.csv"));
}

TEST_F(OutputTest, AFileThatCannotGrowLeavesTheOldContent) {
  const fs::path path = put("x.csv", "a,b\n");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  Result<OutputFile> file = OutputFile::create(path, FileKind::csv, {});
  ASSERT_TRUE(file.ok());
  setrlimit(RLIMIT_FSIZE, &small);
  Status status = file->write(std::string(100'000, 'x'));
  if (status.ok()) status = file->close();
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::machine);
  EXPECT_EQ(status.error().message, path.string() +
                                        " cannot be written to its end: File too large; what "
                                        "stood there before is left.");
  EXPECT_EQ(contentOf(path), "a,b\n");
}

TEST_F(OutputTest, AMissingFolderIsReported) {
  Result<PendingFile> missing = PendingFile::create(folder_ / "no/x.csv");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, (folder_ / "no/x.csv").string() +
                                         " cannot be written: No such file or directory. Choose a folder "
                                         "that exists and can be written to.");
}

TEST_F(OutputTest, TwoPathsOfOneFileAreTheSame) {
  const fs::path path = put("a", "");
  fs::create_hard_link(path, folder_ / "b");
  EXPECT_TRUE(isSameFile(path, folder_ / "b"));
  EXPECT_TRUE(isSameFile(folder_ / "new", folder_ / "x/../new"));
  EXPECT_FALSE(isSameFile(path, folder_ / "c"));
  EXPECT_FALSE(isSameFile("", ""));
}

}  // namespace
}  // namespace pipescope::base
