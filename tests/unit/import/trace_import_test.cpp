#include "profiler/import/trace_import.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>

#include "profiler/import/read/source/inflated_source.h"
#include "tests/unit/import/import_fixture.h"

namespace pipescope::importing {
namespace {

namespace fs = std::filesystem;

class TraceImport : public ImportFixture {};

using Texts = std::vector<std::string>;

TEST_F(TraceImport, ReadsChromeEvents) {
  const auto file = write("t.json", R"([
    {"name":"process_name","ph":"M","pid":1,"args":{"name":"python"}},
    {"name":"thread_name","ph":"M","pid":1,"tid":"main","args":{"name":"main"}},
    {"ph":"X","name":"step","ts":1000.5,"dur":10,"pid":1,"tid":"main","cat":"op"},
    {"ph":"X","name":"mul \"é\"","ts":"1002","dur":2.25,"pid":1,"tid":"main","cat":"op"},
    {"ph":"B","name":"read","ts":1001,"pid":1,"tid":9},{"ph":"E","ts":1004,"pid":1,"tid":9},
    {"ph":"C","name":"memory","ts":1003,"pid":1,"args":{"bytes":64}}])");
  const auto summary = import({file});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->events, 5);
  EXPECT_EQ(summary->slices, 3);
  EXPECT_TRUE(summary->findings.empty());
  EXPECT_EQ(slices(), (Texts{"main, level 2: mul \"é\" 1500000-3750000", "main: step 0-10000000",
                             "thread 9: read 500000-3500000"}));
  ASSERT_EQ(rows<model::Device>().size(), 1U);
  EXPECT_EQ(rows<model::Device>()[0].name, "python");
  const auto samples = rows<model::CounterSample>();
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].time.count, 2'500'000);
  EXPECT_EQ(samples[0].value, 64);
}

TEST_F(TraceImport, GivesAnAcceleratorAndItsHostOneDevice) {
  const auto file = write("t.json", R"({"distributedInfo":{"rank":2},"traceEvents":[
    {"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},
    {"ph":"X","name":"launch","ts":1,"dur":1,"pid":77,"tid":77,"cat":"cuda_runtime"},
    {"ph":"X","name":"gemm","ts":3,"dur":4,"pid":0,"tid":7,"cat":"kernel"},
    {"ph":"X","name":"ncclKernel_AllReduce","ts":8,"dur":4,"pid":0,"tid":20,"cat":"kernel"}]})");
  ASSERT_TRUE(import({file}).ok());
  ASSERT_EQ(rows<model::Device>().size(), 1U);
  EXPECT_EQ(rows<model::Device>()[0].name, "GPU 0");
  EXPECT_EQ(rows<model::Device>()[0].kind, "accelerator");
  for (const auto& lane : rows<model::Lane>())
    EXPECT_EQ(lane.role, lane.name == "thread 77" ? model::LaneRole::hostThread : model::LaneRole::compute);
  int exchanges = 0;
  for (const auto& step : rows<model::Step>())
    exchanges += step.kind == model::StepKind::globalExchange ? 1 : 0;
  EXPECT_EQ(exchanges, 1);
}

TEST_F(TraceImport, KeepsWhatIsWholeOfADamagedTrace) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const auto file = write("t.json",
                          "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2},"
                          "{\"ph\":\"X\",\"name\":\"bad \xFF\",\"ts\":4,\"dur\":2},"
                          "{\"ph\":\"X\",\"name\":\"deep\",\"ts\":7,\"dur\":1,\"args\":{\"x\":" +
                              deep +
                              "}},"
                              "{\"ph\":\"X\",\"name\" \"x\",\"ts\":9},"
                              "{\"ph\":\"X\",\"ts\":10,\"dur\":-3},"
                              "{\"ph\":\"X\",\"name\":\"far\",\"ts\":1e15,\"dur\":1},"
                              "{\"ph\":\"X\",\"name\":\"long\",\"ts\":11,\"dur\":1e15},"
                              "{\"ph\":\"X\",\"name\":\"no time\"},"
                              "{\"ph\":\"X\",\"name\":\"z\",\"ts\":20,\"dur\":1},"
                              "{\"ph\":\"X\",\"name\":\"cut");
  const auto summary = import({file});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  const Texts found = slices();
  EXPECT_EQ(found.size(), 5U);
  EXPECT_EQ(found[0], "events: (no name) 9000000-9000000");
  EXPECT_EQ(found[1], "events: a 0-2000000");
  EXPECT_EQ(found[2], "events: bad ? 3000000-5000000");
  EXPECT_EQ(found[4], "events: z 19000000-20000000");
  EXPECT_EQ(summary->findings.size(), 6U);
  EXPECT_EQ(rows<model::Diagnostic>().size(), 6U);
}

/// The second event has only one of the series, and the last one belongs to another counter of this name.
TEST_F(TraceImport, KeepsTheSeriesOfCountersApart) {
  ASSERT_TRUE(import({write("t.json", R"([{"ph":"C","pid":1,"ts":0,"name":"mem","args":{"a":1,"b":10}},
    {"ph":"C","pid":1,"ts":5,"name":"mem","args":{"a":3}},
    {"ph":"C","pid":1,"ts":6,"name":"load","args":{"value":4}},
    {"ph":"C","pid":1,"ts":6,"name":"mem","id":"7","args":{"a":30}},
    {"ph":"X","pid":1,"tid":1,"ts":3,"name":"step","dur":4}])")})
                  .ok());
  std::map<std::string, std::vector<double>> values;
  const auto counters = rows<model::Counter>();
  for (const auto& sample : rows<model::CounterSample>())
    values[counters[static_cast<std::size_t>(sample.counter.value)].name].push_back(sample.value);
  EXPECT_EQ(values, (std::map<std::string, std::vector<double>>{
                        {"load", {4}}, {"mem [7], a", {30}}, {"mem, a", {1, 3}}, {"mem, b", {10}}}));
}

TEST_F(TraceImport, ReadsCountersThatAreTexts) {
  ASSERT_TRUE(import(write("t.json", R"([{"ph":"C","pid":1,"ts":1,"name":"memory","args":{"bytes":"5"}},
    {"ph":"X","pid":1,"tid":1,"ts":3,"name":"step","dur":4},
    {"args":{"bytes":"7.5"},"ph":"C","pid":1,"ts":3,"name":"memory"}])"))
                  .ok());
  std::vector<double> values;
  for (const auto& sample : rows<model::CounterSample>()) values.push_back(sample.value);
  EXPECT_EQ(values, (std::vector<double>{5, 7.5}));
  const auto none =
      import(write("n.json", R"([{"ph":"C","pid":1,"ts":1,"name":"memory","args":{"bytes":"many"}},
    {"ph":"X","pid":1,"tid":1,"ts":3,"name":"step","dur":4}])"));
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->findings.size(), 1U) << "a counter without a number is counted";
}

/// JAX closes its events with an empty one.
TEST_F(TraceImport, AnEmptyEventAtTheEndIsNoDamage) {
  const auto summary =
      import(write("t.json", R"({"traceEvents":[{"ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"name":"f"},{}]})"));
  ASSERT_TRUE(summary.ok());
  EXPECT_TRUE(summary->findings.empty());
}

TEST_F(TraceImport, ReadsCommasBehindTheLastMember) {
  const auto summary = import(write("t.json", R"([{"ph":"X","ts":0,"dur":5,"name":"a"},
    {"ph":"X","ts":10,"dur":5,"name":"b,}","args":{"x":[1,2, ],"y":1 ,}},
    {"ph":"X","ts":20,"dur":5,"name":"c",},])"));
  ASSERT_TRUE(summary.ok());
  EXPECT_TRUE(summary->findings.empty());
  EXPECT_EQ(slices(),
            (Texts{"events: a 0-5000000", "events: b,} 10000000-15000000", "events: c 20000000-25000000"}));
}

/// A tool states 0 for events of its own. Whichever comes first, the few that lie apart are left out.
TEST_F(TraceImport, LeavesOutTheFewEventsThatLieApart) {
  for (const double zero : {5e9, 1.3e12, 1.7e15}) {  // µs: 83 minutes, 15 days, since 1970
    for (const bool first : {true, false}) {
      std::string text = "[", apart = R"({"ph":"X","name":"span","ts":0,"dur":1000},)";
      if (first) text += apart;
      for (int i = 0; i < 20; ++i)
        text += R"({"ph":"X","name":"k","dur":50,"ts":)" +
                std::to_string(static_cast<std::int64_t>(zero) + i * 100) + "},";
      if (!first) text += apart;
      const auto summary = import(write("t.json", text + "]"));
      ASSERT_TRUE(summary.ok());
      EXPECT_EQ(slices().size(), 20U) << zero;
      EXPECT_EQ(rows<model::Run>().at(0).end.count, 1950 * std::int64_t{1'000'000}) << zero;
      ASSERT_EQ(summary->findings.size(), 1U) << zero;
      EXPECT_NE(summary->findings[0].find("is left out"), std::string::npos) << summary->findings[0];
    }
  }
}

TEST_F(TraceImport, KeepsEventsThatFormGroups) {
  std::string text = "[";
  for (const std::int64_t zero : {std::int64_t{0}, std::int64_t{5'000'000'000}})
    for (int i = 0; i < 5; ++i)
      text += R"({"ph":"X","name":"k","dur":50,"ts":)" + std::to_string(zero + i * 100) + "},";
  ASSERT_TRUE(import(write("t.json", text + "]")).ok());
  EXPECT_EQ(slices().size(), 10U);
}

TEST_F(TraceImport, MendsDamagedEscapes) {
  const auto file = write("t.json", R"([{"ph":"X","name":"half \ud83d pair","ts":1,"dur":1},
    {"ph":"X","name":"low \udc00","ts":2,"dur":1},{"ph":"X","name":"C:\path \u12","ts":3,"dur":1},
    {"ph":"X","name":"whole \ud83d\ude00 \"q\" \\ud800","ts":4,"dur":1},{"ph":"X","name":"z \ud800","ts":5,"dur":1}])");
  const auto summary = import({file});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_TRUE(summary->findings.empty());
  EXPECT_EQ(slices(), (Texts{"events: C:\\path \\u12 2000000-3000000", "events: half \uFFFD pair 0-1000000",
                             "events: low \uFFFD 1000000-2000000",
                             "events: whole \U0001F600 \"q\" \\ud800 3000000-4000000",
                             "events: z \uFFFD 4000000-5000000"}));
}

TEST_F(TraceImport, ReadsRanksFromAFolderInOrder) {
  const std::string event = R"([{"ph":"X","name":"e","ts":5,"dur":1,"pid":"CPU","tid":1}])";
  write("ranks/rank10.json", event);
  write("ranks/rank2.json", event);
  write("ranks/.hidden", "nothing");
  const auto summary = import({folder_ / "ranks"});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->ranks, 2);
  ASSERT_EQ(rows<model::Device>().size(), 2U);
  EXPECT_EQ(rows<model::Device>()[0].name, "rank 2");
  EXPECT_EQ(rows<model::Device>()[1].name, "rank 10");
}

TEST_F(TraceImport, PutsSeveralTracesOnOneClock) {
  const auto trace = [](const std::string& rank, const std::string& events) {
    return std::pair(rank, "[" + events + "]");
  };
  // Stage 1 begins 3 µs after stage 0 has ended, and stage 0's backward pass 3 µs after that of stage 1; the
  // clock of rank 1 is 1 s ahead.
  const auto a = trace("rank0.json", R"({"ph":"X","name":"stage0/forward/mb0","ts":100,"dur":10},
                                        {"ph":"X","name":"stage0/backward/mb0","ts":146,"dur":20})");
  const auto b = trace("rank1.json", R"({"ph":"X","name":"stage1/forward/mb0","ts":1000113,"dur":10},
                                        {"ph":"X","name":"stage1/backward/mb0","ts":1000123,"dur":20})");
  write("pipe/" + a.first, a.second);
  write("pipe/" + b.first, b.second);
  const auto startsOf = [&](ClockChoice clock) {
    profile_.emplace();
    record::Recorder recorder(*profile_);
    base::SilentProgress progress;
    ImportRequest request;
    request.paths = {folder_ / "pipe"};
    request.temporaryFolder = folder_;
    request.clock = clock;
    const auto summary = importTraces(request, recorder, progress);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    std::vector<std::int64_t> starts;
    for (const auto& placement : rows<model::Placement>())
      starts.push_back(placement.start.count / 1'000'000);
    std::sort(starts.begin(), starts.end());
    return starts;
  };
  EXPECT_EQ(startsOf(ClockChoice::automatic), (std::vector<std::int64_t>{0, 13, 23, 46}));
  EXPECT_EQ(startsOf(ClockChoice::firstEvent), (std::vector<std::int64_t>{0, 0, 10, 46}));
  EXPECT_EQ(startsOf(ClockChoice::absolute), (std::vector<std::int64_t>{0, 46, 1000013, 1000023}));
}

TEST_F(TraceImport, ReportsTheShareOfTheWholeWork) {
  struct Fractions : base::Progress {
    void report(double fraction, std::string_view) override { all.push_back(fraction); }
    std::vector<double> all;
  } progress;
  const std::string event = R"([{"ph":"X","name":"e","ts":5,"dur":1,"pid":"CPU","tid":1}])";
  write("two/rank0.json", event);
  write("two/rank1.json", event);
  record::Recorder recorder(*profile_);
  ImportRequest request;
  request.paths = {folder_ / "two", write("rank2.json", event)};
  request.temporaryFolder = folder_;
  request.clock = ClockChoice::firstEvent;
  const auto summary = importTraces(request, recorder, progress);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  // Each of three traces has at least one report for reading and one for arranging, none of them 1 before the
  // end.
  EXPECT_GE(progress.all.size(), 6u);
  EXPECT_TRUE(std::is_sorted(progress.all.begin(), progress.all.end()));
  EXPECT_GE(progress.all.front(), 0);
  EXPECT_LE(std::count(progress.all.begin(), progress.all.end(), 1.0), 1);
  EXPECT_LE(progress.all.back(), 1);
}

TEST_F(TraceImport, CountsAnUpdateOnce) {
  const auto file = write("t.json", R"([{"ph":"X","name":"stage0/forward/mb0","ts":0,"dur":4},
    {"ph":"X","name":"update","ts":10,"dur":10},{"ph":"X","name":"Optimizer.step#SGD.step","ts":11,"dur":8},
    {"ph":"X","name":"update","ts":30,"dur":10},{"ph":"X","name":"Optimizer.step#SGD.step","ts":31,"dur":9}])");
  ASSERT_TRUE(import({file}).ok());
  int updates = 0;
  for (const auto& placement : rows<model::Placement>())
    updates += placement.pass == model::Pass::update ? 1 : 0;
  EXPECT_EQ(updates, 2);
  const Texts found = slices();
  EXPECT_EQ(found.size(), 5U) << "each pass is a step, and the inner events are shown as they are";
  EXPECT_EQ(std::count_if(found.begin(), found.end(),
                          [](const std::string& text) { return text.find("SGD.step") != std::string::npos; }),
            2);
}

TEST_F(TraceImport, OpensArchivesWithinArchives) {
  const std::string text = R"([{"ph":"X","name":"e","ts":5,"dur":1}])";
  // A gzip file within a tar file that is gzipped itself.
  const fs::path gz = folder_ / "inner.gz", tar = folder_ / "ranks.tar.gz";
  const auto pack = [](const fs::path& to, const std::string& name, const std::string& content, bool raw) {
    archive* handle = archive_write_new();
    archive_write_add_filter_gzip(handle);
    raw ? archive_write_set_format_raw(handle) : archive_write_set_format_ustar(handle);
    ASSERT_EQ(archive_write_open_filename(handle, to.c_str()), ARCHIVE_OK);
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_write_header(handle, entry);
    archive_write_data(handle, content.data(), content.size());
    archive_entry_free(entry);
    archive_write_free(handle);
  };
  pack(gz, "x", text, true);
  std::ifstream packed(gz, std::ios::binary);
  pack(tar, "run/rank4.json.gz", std::string(std::istreambuf_iterator<char>(packed), {}), false);
  const auto summary = import({tar});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->ranks, 1);
  EXPECT_EQ(slices(), (Texts{"events: e 0-1000000"}));
}

std::string gzipped(const std::string& text) {
  std::string packed(text.size() + 1024, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST_F(TraceImport, KeepsWhatIsWholeOfACutArchive) {
  std::string text = "[";
  for (int i = 0; i < 400; ++i)
    text += R"({"ph":"X","name":"e)" + std::to_string(i * 7919 % 1000) + R"(","ts":)" +
            std::to_string(3 * i) + R"(,"dur":1},)";
  text.back() = ']';
  const std::string packed = gzipped(text);
  const auto cut = import({write("cut.json.gz", packed.substr(0, packed.size() * 3 / 4))});
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_GT(cut->events, 200) << "three quarters of the packed bytes";
  EXPECT_LT(cut->events, 400);
  ASSERT_EQ(cut->findings.size(), 2U);
  EXPECT_TRUE(std::ranges::any_of(cut->findings, [](const std::string& finding) {
    return finding.find("ends early or is damaged: the compressed data is cut off.") != std::string::npos;
  }));

  // Several gzip files one after the other are one, and zeros may follow them.
  const auto joined = import({write(
      "joined.json.gz", gzipped(text.substr(0, 999)) + gzipped(text.substr(999)) + std::string(512, '\0'))});
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  EXPECT_EQ(joined->events, 400);
  EXPECT_TRUE(joined->findings.empty());

  // All bytes come before the error, which comes again.
  std::string wrongSum = packed;
  wrongSum[wrongSum.size() - 8] ^= 1;
  TextSource wrong(wrongSum);
  InflatedSource unpacked(wrong, "sum.json.gz");
  std::string whole, part(1000, '\0');
  auto count = unpacked.read(part);
  for (; count.ok() && *count > 0; count = unpacked.read(part)) whole.append(part, 0, *count);
  EXPECT_EQ(whole, text);
  ASSERT_FALSE(count.ok());
  EXPECT_EQ(count.error().message, "sum.json.gz ends early or is damaged: incorrect data check.");
  EXPECT_FALSE(unpacked.read(part).ok());

  // A tar file that ends within its second member.
  const auto header = [](const std::string& name, std::size_t size) {
    std::string block(512, '\0');
    block.replace(0, name.size(), name);
    block.replace(100, 7, "0000644");
    char octal[12];
    std::snprintf(octal, sizeof octal, "%011zo", size);
    block.replace(124, 11, octal);
    block.replace(148, 8, "        ");
    block[156] = '0';
    block.replace(257, 8, std::string("ustar\00000", 8));
    unsigned sum = 0;
    for (const char c : block) sum += static_cast<unsigned char>(c);
    std::snprintf(octal, sizeof octal, "%06o", sum);
    block.replace(148, 7, std::string(octal, 7));
    return block;
  };
  const auto padded = [](std::string content) {
    content.resize((content.size() + 511) / 512 * 512);
    return content;
  };
  const std::string tar = header("rank0.json", text.size()) + padded(text) +
                          header("rank1.json", text.size()) + text.substr(0, text.size() / 2);
  const auto ranks = import({write("ranks.tar.gz", gzipped(tar))});
  ASSERT_TRUE(ranks.ok()) << ranks.error().message;
  EXPECT_EQ(ranks->files, 2);
  EXPECT_GT(ranks->events, 400) << "the first rank, and what libarchive reads of the second";
  EXPECT_LT(ranks->events, 600);
  EXPECT_FALSE(ranks->findings.empty());

  std::string nested = text;
  for (int i = 0; i < 6; ++i) nested = gzipped(nested);
  const auto refused = import({write("nested.gz", nested)});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("is compressed more than 4 times: unpack it first."),
            std::string::npos);
}

TEST_F(TraceImport, KeepsEveryDigitOfTimesSince1970) {
  // Neighbouring times of this size lie 250 ns apart in binary floating point.
  const auto file = write("t.json", R"([{"ph":"X","name":"a","ts":1700000000123456.789,"dur":0.001},
    {"ph":"X","name":"b","ts":1700000000123456.791,"dur":0.002},
    {"ph":"X","name":"c","ts":"1700000000123456.7935","dur":0}])");
  ASSERT_TRUE(import({file}).ok());
  EXPECT_EQ(slices(), (Texts{"events: a 0-1000", "events: b 2000-4000", "events: c 4500-4500"}));
}

/// A few kilobytes that unpack to much.
TEST_F(TraceImport, SurvivesAZipBomb) {
  const fs::path bomb = folder_ / "bomb.zip";
  archive* handle = archive_write_new();
  archive_write_set_format_zip(handle);
  ASSERT_EQ(archive_write_open_filename(handle, bomb.c_str()), ARCHIVE_OK);
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, "trace.json");
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0644);
  archive_write_header(handle, entry);
  const std::string start = R"([{"ph":"X","name":"first","ts":1,"dur":2},{"ph":"X","ts":2,"name":")";
  archive_write_data(handle, start.data(), start.size());
  const std::string zeros(1 << 20, '0');
  for (int i = 0; i < 128; ++i) archive_write_data(handle, zeros.data(), zeros.size());
  const std::string end = R"("},{"ph":"X","name":"last","ts":9,"dur":1}])";
  archive_write_data(handle, end.data(), end.size());
  archive_entry_free(entry);
  archive_write_free(handle);
  ASSERT_LT(fs::file_size(bomb), 1U << 20);
  const auto summary = import({bomb});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(slices(), (Texts{"events: first 0-2000000", "events: last 8000000-9000000"}));
  ASSERT_EQ(summary->findings.size(), 1U);
  EXPECT_NE(summary->findings[0].find("larger than 16 MB"), std::string::npos);
}

TEST_F(TraceImport, JoinsAsynchronousEventsWhoseIdsAreUsedAgain) {
  const auto file =
      write("t.json", R"([{"ph":"b","id":1,"name":"n","ts":1},{"ph":"e","id":1,"name":"n","ts":3},
    {"ph":"b","id":1,"name":"n","ts":5},{"ph":"e","id":1,"name":"n","ts":9}])");
  ASSERT_TRUE(import({file}).ok());
  EXPECT_EQ(slices(), (Texts{"asynchronous events: n 0-2000000", "asynchronous events: n 4000000-8000000"}));
}

TEST_F(TraceImport, AsynchronousEventsEndOnOtherThreads) {
  // Ids are those of a category. The old phases S, T and F mean the same as b, n and e.
  const auto file = write("t.json", R"([
    {"ph":"b","id":1,"cat":"one","name":"n","ts":0,"tid":1},{"ph":"e","id":1,"cat":"one","name":"n","ts":7,"tid":2},
    {"ph":"b","id":1,"cat":"two","name":"n","ts":1,"tid":1},{"ph":"e","id":1,"cat":"two","name":"n","ts":3,"tid":2},
    {"ph":"S","id":"0x9","cat":"two","name":"m","ts":4,"tid":1},{"ph":"T","id":"0x9","cat":"two","name":"m","ts":5},
    {"ph":"F","id":"0x9","cat":"two","name":"m","ts":6,"tid":3}])");
  const auto summary = import({file});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_TRUE(summary->findings.empty()) << summary->findings.front();
  EXPECT_EQ(slices(), (Texts{"asynchronous one: n 0-7000000", "asynchronous two, level 2: m 5000000-5000000",
                             "asynchronous two: m 4000000-6000000", "asynchronous two: n 1000000-3000000"}));
}

TEST_F(TraceImport, LeavesOtherFilesOfAFolderOut) {
  const std::string event = R"([{"ph":"X","name":"e","ts":5,"dur":1}])";
  write("run/rank0.json", event);
  write("run/rank1.json", event);
  write("run/notes.txt", "hello");
  write("run/settings.json", R"({"layers": 4})");
  const auto summary = import({folder_ / "run"});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->files, 2);
  EXPECT_EQ(summary->findings.front(),
            (folder_ / "run/notes.txt").string() + " and 1 other file are no traces and are left out.");
  fs::remove(folder_ / "run/settings.json");
  EXPECT_EQ(import({folder_ / "run"})->findings.front(),
            (folder_ / "run/notes.txt").string() + " is no trace and is left out.");
  fs::remove(folder_ / "run/rank0.json");
  fs::remove(folder_ / "run/rank1.json");
  const auto nothing = import({folder_ / "run"});
  ASSERT_FALSE(nothing.ok());
  EXPECT_NE(nothing.error().message.find("notes.txt is no trace that can be imported"), std::string::npos);
}

TEST_F(TraceImport, SaysWhichDurationsCannotBeRead) {
  const auto summary = import({write("durations.json", R"([{"ph":"X","name":"a","ts":5,"dur":Infinity},
      {"ph":"X","name":"b","ts":6,"dur":-1},{"ph":"X","name":"c","ts":7,"dur":[1]},{"ph":"X","name":"d","ts":8,"dur":2}])")});
  ASSERT_TRUE(summary.ok());
  ASSERT_EQ(summary->findings.size(), 1U);
  EXPECT_NE(
      summary->findings[0].find("a negative or unreadable duration; it is kept with length 0. (3 times)"),
      std::string::npos)
      << summary->findings[0];
}

TEST_F(TraceImport, RefusesWithASentence) {
  const auto message = [&](std::vector<fs::path> paths) {
    const auto summary = import(std::move(paths));
    return summary.ok() ? "" : summary.error().message;
  };
  EXPECT_NE(message({folder_ / "none.json"}).find("does not exist"), std::string::npos);
  EXPECT_NE(message({write("text.txt", "hello")}).find("is no trace that can be imported"),
            std::string::npos);
  using namespace std::string_literals;
  const std::pair<std::string, std::string> others[] = {
      {"SQLite format 3\0"s, "is an SQLite database and no trace"},
      {"\xff\xfe[\0]\0"s, "is text in UTF-16, in which traces cannot be imported: save it in UTF-8."},
      {R"({"Type":59,"NvtxEvent":{"Text":"x"}})", "is what nsys export writes as JSON"}};
  for (const auto& [content, sentence] : others)
    EXPECT_NE(message({write("other", content)}).find("other " + sentence), std::string::npos) << sentence;
  EXPECT_NE(message({write("empty.json", "[]")}).find("hold no events"), std::string::npos);
  // An event that is left out is one that the trace holds.
  const std::string endless =
      message({write("endless.json", R"([{"ph":"X","pid":1,"tid":1,"name":"a","ts":1e400,"dur":5}])")});
  EXPECT_NE(endless.find("No event of"), std::string::npos) << endless;
  fs::create_directories(folder_ / "nothing");
  EXPECT_NE(message({folder_ / "nothing"}).find("holds no files"), std::string::npos);
  const std::string event = R"([{"ph":"X","name":"e","ts":5,"dur":1}])";
  EXPECT_NE(message({write("a/rank1.json", event), write("b/rank1.json", event)}).find("are of rank 1"),
            std::string::npos);
}

}  // namespace
}  // namespace pipescope::importing
