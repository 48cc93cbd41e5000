// Traces in protobuf formats. The bytes are written by hand from the formats' definitions, so that a wrong
// field number in our own definitions is found.
#include <cstring>
#include <map>

#include "tests/unit/import/import_fixture.h"
#include "tests/unit/import/protobuf_bytes.h"

namespace pipescope::importing {
namespace {

using ProtobufFormats = ImportFixture;
using Texts = std::vector<std::string>;

std::string block(int field, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(field) << 3U | 2U) + varint(bytes.size()) + bytes;
}
std::string fixed64(int field, std::uint64_t value) {
  std::string bytes = varint(static_cast<std::uint64_t>(field) << 3U | 1U);
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8U * static_cast<unsigned>(i)) & 0xFFU);
  return bytes;
}

/// A packet of sequence 1 with a time in ns and a track event (field 11).
std::string eventPacket(std::uint64_t time, const std::string& event, const std::string& more = {}) {
  return block(1, number(8, time) + number(10, 1) + block(11, event) + more);
}

/// Two threads of a process, a counter, a slice with an interned name, and a flow between the threads.
std::string perfettoTrace() {
  // TrackDescriptor (60): uuid 1, parent_uuid 5, process 3 {pid 1, process_name 6}, thread 4 {pid 1, tid 2,
  // thread_name 5}, counter 8 {unit 3: 3 are bytes}, name 2.
  const auto track = [](std::uint64_t uuid, const std::string& rest) {
    return block(1, number(10, 1) + block(60, number(1, uuid) + rest));
  };
  const std::string names =
      block(2, number(1, 7) + block(2, "matmul")) + block(1, number(1, 3) + block(2, "op"));
  std::string trace = block(1, number(10, 1) + number(13, 1));
  trace += track(10, block(3, number(1, 4) + block(6, "python")));
  trace += track(11, number(5, 10) + block(4, number(1, 4) + number(2, 40) + block(5, "main")));
  trace += track(12, number(5, 10) + block(2, "queue"));
  trace += track(13, number(5, 10) + block(2, "memory") + block(8, number(3, 3)));
  const std::uint64_t zero = 1'700'000'000'123'456'789U;
  // TrackEvent: type 9 (1 begin, 2 end, 4 counter), track_uuid 11, name_iid 10, category_iids 3, name 23,
  // flow_ids 47, terminating_flow_ids 48, counter_value 30. InternedData is field 12.
  trace += eventPacket(zero, number(9, 1) + number(11, 11) + number(10, 7) + number(3, 3) + fixed64(47, 99),
                       block(12, names));
  trace += eventPacket(zero + 500, number(9, 2) + number(11, 11));
  trace += eventPacket(zero + 700, number(9, 1) + number(11, 12) + block(23, "kernel") + fixed64(48, 99));
  trace += eventPacket(zero + 900, number(9, 2) + number(11, 12));
  trace += eventPacket(zero + 900, number(9, 4) + number(11, 13) + number(30, 4096));
  return trace;
}

/// The attribute of a Chakra node {name 1, bool value 27}.
std::string cpu(bool is) {
  return block(10, block(1, "is_cpu_op") + number(27, is ? 1 : 0));
}

/// The zlib format with one block that is stored as it is.
std::string stored(const std::string& bytes) {
  std::uint32_t a = 1, b = 0;  // Adler-32
  for (const char c : bytes) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  const std::uint32_t sum = b << 16U | a;
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value & 0xFFU); };
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::string packed = {byte(0x78),       byte(0x01),  byte(1),          byte(size),
                        byte(size >> 8U), byte(~size), byte(~size >> 8U)};
  return packed + bytes + byte(sum >> 24U) + byte(sum >> 16U) + byte(sum >> 8U) + byte(sum);
}

TEST_F(ProtobufFormats, ReadsCompressedPackets) {
  const std::string trace = perfettoTrace();
  ASSERT_TRUE(import(write("plain.bin", trace)).ok());
  const Texts plain = slices();
  const auto summary = import(write("packed.bin", block(1, block(50, stored(trace)))));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(slices(), plain);
  EXPECT_EQ(rows<model::Transfer>().size(), 1U);
  std::string damaged = stored(trace);
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  const auto other = import(write("damaged.bin", block(1, block(50, damaged)) + trace));
  EXPECT_TRUE(other.ok()) << "what follows is whole";
}

TEST_F(ProtobufFormats, ReadsFurtherFieldsOfTrackEvents) {
  const auto track = [](std::uint64_t uuid, const std::string& rest) {
    return block(1, number(10, 1) + block(60, number(1, uuid) + rest));
  };
  const auto real = [](int field, double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return fixed64(field, bits);
  };
  // TrackDescriptor.static_name 10. TrackEvent: extra_counter_values 12, extra_counter_track_uuids 31,
  // extra_double_counter_values 46, extra_double_counter_track_uuids 45, flow_ids_old 36,
  // terminating_flow_ids_old 42, legacy_event 6 {phase 2, duration_us 3}, debug_annotations 4 {name 10,
  // string_value_iid 17}. InternedData.debug_annotation_string_values 29 {iid 1, str 2}.
  std::string trace = block(1, number(10, 1) + number(13, 1));
  trace += track(1, block(10, "static")) + track(2, block(2, "other")) +
           track(3, block(2, "bytes") + block(8, "")) + track(4, block(2, "share") + block(8, ""));
  trace += eventPacket(1000,
                       number(9, 1) + number(11, 1) + block(23, "a") + number(12, 7) + number(31, 3) +
                           real(46, 0.5) + number(45, 4) + number(36, 5) +
                           block(4, block(10, "Collective name") + number(17, 9)),
                       block(12, block(29, number(1, 9) + block(2, "send"))));
  trace += eventPacket(2000, number(9, 2) + number(11, 1));
  trace += eventPacket(3000, number(11, 2) + block(23, "ncclSendRecv") + number(42, 5) +
                                 block(6, number(2, 'X') + number(3, 4)));
  const auto summary = import(write("trace.bin", trace));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_TRUE(summary->findings.empty()) << summary->findings.front();
  EXPECT_EQ(slices(), (Texts{"other: ncclSendRecv 2000000-6000000", "static: a 0-1000000"}));
  EXPECT_EQ(rows<model::Transfer>().size(), 1U);
  const auto counters = rows<model::Counter>();
  std::map<std::string, double> values;
  for (const auto& sample : rows<model::CounterSample>())
    values[counters[static_cast<std::size_t>(sample.counter.value)].name] = sample.value;
  EXPECT_EQ(values, (std::map<std::string, double>{{"bytes", 7}, {"share", 0.5}}));
}

TEST_F(ProtobufFormats, ReadsPerfettoTrackEvents) {
  const auto summary = import(write("trace.bin", perfettoTrace()));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(slices(), (Texts{"main: matmul 0-500000", "queue: kernel 700000-900000"}));
  ASSERT_EQ(rows<model::Device>().size(), 1U);
  EXPECT_EQ(rows<model::Device>()[0].name, "python");
  const auto samples = rows<model::CounterSample>();
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].value, 4096);
  EXPECT_EQ(rows<model::Counter>()[0].name, "memory");
  EXPECT_EQ(rows<model::Counter>()[0].unit, "B");
  const auto flows = rows<model::Transfer>();
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(flows[0].start.count, 0);
  EXPECT_EQ(flows[0].end.count, 700'000);
  const auto lanes = rows<model::Lane>();
  EXPECT_EQ(lanes[static_cast<std::size_t>(flows[0].fromLane.value)].name, "main");
  EXPECT_EQ(lanes[static_cast<std::size_t>(flows[0].toLane.value)].name, "queue");
}

TEST_F(ProtobufFormats, KeepsThePacketsBeforeDamage) {
  const std::string whole = perfettoTrace();
  for (std::size_t size = whole.size() - 1; size > whole.size() - 80; size -= 7) {
    const auto summary = import(write("cut.bin", whole.substr(0, size)));
    ASSERT_TRUE(summary.ok()) << size << summary.error().message;
    EXPECT_GE(summary->events, 1);
  }
  const auto summary = import(write("junk.bin", whole + "\xFF\xFF"));
  ASSERT_TRUE(summary.ok());
  ASSERT_EQ(summary->findings.size(), 1U);
  EXPECT_EQ(summary->slices, 2);
}

TEST_F(ProtobufFormats, SaysWhichPacketsAreDamaged) {
  const auto findings = [&](const std::string& more) {
    const auto summary = import(write("trace.bin", perfettoTrace() + more));
    EXPECT_TRUE(summary.ok());
    return summary.ok() && !summary->findings.empty() ? summary->findings.front() : std::string();
  };
  EXPECT_NE(findings(block(1, "\xFF\xFF\xFF")).find("A packet is damaged"), std::string::npos);
  EXPECT_NE(findings("\x12\x01x").find("between packets stands something else"), std::string::npos);
  EXPECT_NE(findings(std::string(12, '\xFF')).find("longer than 10 bytes"), std::string::npos);
  EXPECT_NE(findings(varint(10) + varint(100) + "short").find("ends within a message"), std::string::npos);
  EXPECT_NE(findings(block(1, std::string(17 << 20, ' '))).find("larger than 16 MB"), std::string::npos);
  EXPECT_NE(findings(eventPacket(5, number(9, 1))).find("more than 50 days"), std::string::npos);
  EXPECT_NE(
      findings(eventPacket(1'700'000'000'123'456'999U, number(9, 0))).find("of a type that is not imported"),
      std::string::npos);
}

TEST_F(ProtobufFormats, MendsTextsThatAreNotUtf8) {
  const auto summary = import(write(
      "trace.bin", perfettoTrace() + eventPacket(1'700'000'000'123'459'789U,
                                                 number(9, 3) + number(11, 11) + block(23, "bad \xFF"))));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(slices().front(), "main: bad ? 3000000-3000000");
}

/// The metadata and first 40 nodes of tests/data/chakra.0.et of mlcommons/chakra (Apache-2.0). The trace has
/// no start times; the times were computed in Python from the dependencies.
TEST_F(ProtobufFormats, PlacesChakraNodesByTheirDependencies) {
  const auto summary = import(std::filesystem::path(PIPESCOPE_TEST_DATA) / "chakra.et.gz");
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->events, 40);
  ASSERT_EQ(summary->findings.size(), 1U);
  EXPECT_NE(summary->findings[0].find("states no start times"), std::string::npos);
  const Texts found = slices();
  const auto has = [&](const std::string& text) {
    return std::any_of(found.begin(), found.end(),
                       [&](const std::string& slice) { return slice.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(has("aten::flatten_dense_tensors(0) 0-318000000"));
  EXPECT_TRUE(has("aten::flatten_dense_tensors(1) 318000000-346000000"));
  EXPECT_TRUE(has("c10d::broadcast_(1) 85000000-164000000"));
  std::int64_t last = 0, sum = 0, exchanges = 0;
  for (const auto& placement : rows<model::Placement>()) last = std::max(last, placement.end.count);
  for (const auto& step : rows<model::Step>()) {
    sum += step.ticks.count;
    exchanges += step.kind == model::StepKind::globalExchange ? 1 : 0;
  }
  EXPECT_EQ(last, 1184 * 1'000'000);
  EXPECT_EQ(sum, 1834 * 1'000'000);
  EXPECT_GT(exchanges, 0);
}

/// An operator of the host takes 10 µs (duration 7), and two kernels that depend on it (data dependency 5)
/// 100 µs each, on stream 7. The operator is no work of the accelerator, which is idle meanwhile.
TEST_F(ProtobufFormats, KeepsOperatorsOfTheHostFromTheAccelerator) {
  const auto framed = [](const std::string& message) { return varint(message.size()) + message; };
  const auto tid = [](std::uint64_t value) { return block(10, block(1, "tid") + number(9, value)); };
  const auto kernel = [&](std::uint64_t id, const std::string& name) {
    return framed(number(1, id) + block(2, name) + number(3, 4) + number(5, 1) + number(7, 100) + cpu(false) +
                  tid(7));
  };
  const std::string host =
      framed(number(1, 1) + block(2, "aten::foo") + number(3, 4) + number(7, 10) + cpu(true) + tid(1));
  const auto summary =
      import(write("chakra.et", framed(block(1, "0.0.4")) + host + kernel(2, "gemm") + kernel(3, "relu")));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  std::map<model::StepKind, std::int64_t> ticks;
  for (const auto& step : rows<model::Step>()) ticks[step.kind] += step.ticks.count;
  EXPECT_EQ(ticks[model::StepKind::compute], 200 * 1'000'000);
  EXPECT_EQ(ticks[model::StepKind::control], 10 * 1'000'000);
  ASSERT_EQ(rows<model::Device>().size(), 1U) << "the host's rows stand beside those of its accelerator";
}

/// Two ranks that state the other side of a message, as attributes {name 1, int64 value 9} of their nodes.
TEST_F(ProtobufFormats, JoinsTheMessagesOfChakraTraces) {
  const auto framed = [](const std::string& message) { return varint(message.size()) + message; };
  const auto attribute = [](const std::string& name, std::uint64_t value) {
    return block(10, block(1, name) + number(9, value));
  };
  const auto rank = [&](int own, int type, std::uint64_t start, std::uint64_t length) {
    write("ranks/trace." + std::to_string(own) + ".et",
          framed(block(1, "0.0.4")) +
              framed(number(1, 1) + block(2, "gemm") + number(3, 4) + number(6, 1) + number(7, 5)) +
              framed(number(1, 2) + block(2, "nccl kernel") + number(3, static_cast<std::uint64_t>(type)) +
                     number(6, start) + number(7, length) + attribute("comm_src", 0) +
                     attribute("comm_dst", 1)));
  };
  rank(0, 5, 10, 30);
  rank(1, 6, 20, 22);
  ImportRequest request;
  request.paths = {folder_ / "ranks"};
  request.clock = ClockChoice::absolute;
  ASSERT_TRUE(import(request).ok());
  const auto transfers = rows<model::Transfer>();
  ASSERT_EQ(transfers.size(), 1U);
  EXPECT_EQ(transfers[0].start.count, 19'000'000) << "the receive was posted last";
  EXPECT_EQ(transfers[0].end.count, 41'000'000);
}

/// The metadata of a trace of many devices are longer than what is read to recognise the format: attributes
/// (2) {name 1, string value 29}.
TEST_F(ProtobufFormats, RecognisesChakraTracesWithLongMetadata) {
  const auto framed = [](const std::string& message) { return varint(message.size()) + message; };
  std::string metadata = block(1, "0.0.4");
  for (int rank = 0; rank < 300; ++rank)
    metadata += block(
        2, block(1, "rank " + std::to_string(rank) + " name") + block(29, "IPU " + std::to_string(rank)));
  const std::string node = framed(number(1, 1) + block(2, "gemm") + number(3, 4) + number(6, 1) +
                                  number(7, 5) + block(10, block(1, "rank") + number(9, 299)));
  const auto summary = import(write("many.et", framed(metadata) + node));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->events, 1);
  const auto devices = rows<model::Device>();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_NE(devices[0].name.find("IPU 299"), std::string::npos) << devices[0].name;
  const std::string notes =
      block(1, "1.0.2-chakra.0.0.4") + block(2, block(1, "notes") + block(29, std::string(3'000'000, 'y')));
  EXPECT_TRUE(import(write("notes.et", framed(notes) + node)).ok());
  EXPECT_FALSE(import(write("long.txt", framed(std::string(5000, 'a')))).ok());
  EXPECT_FALSE(import(write("text.txt", framed(block(1, "a version") + std::string(5000, 'a')))).ok());
}

/// Custom collectives of ASTRA-sim: metadata without a version that are longer than what is read to recognise
/// the format, and on each rank six rounds of a send, a receive and a computation of 7 µs that follows the
/// receive. Nobody states how long messages take, so the rounds of computations are the whole: 42 µs.
TEST_F(ProtobufFormats, ReadsChakraTracesWithoutAVersion) {
  const auto framed = [](const std::string& message) { return varint(message.size()) + message; };
  const auto whole = [](const std::string& name, std::uint64_t value) {
    return block(10, block(1, name) + number(9, value));
  };
  const auto small = [](const std::string& name, std::uint64_t value) {
    return block(10, block(1, name) + number(7, value));
  };
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    std::string trace = framed(block(2, block(1, "schema") + block(29, "1.0.2-chakra.0.0.4")) +
                               block(2, block(1, "input_file") + block(29, std::string(6000, 'x'))));
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::string after = round == 0 ? "" : block(5, varint(3 * round - 1));
      const auto message = [&](std::uint64_t id, const char* name, std::uint64_t type, const char* other,
                               std::uint64_t peer) {
        return framed(number(1, id) + block(2, name + std::to_string(round)) + number(3, type) + after +
                      whole("comm_type", type) + whole("comm_size", 131072) + small(other, peer) +
                      small("comm_tag", round));
      };
      trace += message(3 * round, "COMM_SEND_NODE_step", 5, "comm_dst", (rank + 1) % 4);
      trace += message(3 * round + 1, "COMM_RECV_NODE_step", 6, "comm_src", (rank + 3) % 4);
      trace += framed(number(1, 3 * round + 2) + block(2, "COMP_NODE_step" + std::to_string(round)) +
                      number(3, 4) + block(5, varint(3 * round + 1)) + number(7, 7));
    }
    write("ring/ring." + std::to_string(rank) + ".et", trace);
  }
  const auto summary = import(folder_ / "ring");
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(rows<model::Device>().size(), 4U);
  std::int64_t last = 0, computations = 0, messages = 0;
  for (const auto& placement : rows<model::Placement>()) last = std::max(last, placement.end.count);
  for (const auto& step : rows<model::Step>()) computations += step.ticks.count == 7'000'000 ? 1 : 0;
  for (const auto& transfer : rows<model::Transfer>()) {
    messages += transfer.kind != model::TransferKind::arrow ? 1 : 0;
    EXPECT_EQ(transfer.bytes.count, 131072);
  }
  EXPECT_EQ(last, 42'000'000);
  EXPECT_EQ(computations, 24);
  EXPECT_EQ(messages, 24);
}

/// Kernels of one stream (attribute tid) run one at a time, although their node is all that they depend on.
TEST_F(ProtobufFormats, RunsTheKernelsOfAStreamOneAtATime) {
  const auto framed = [](const std::string& message) { return varint(message.size()) + message; };
  const auto trace = [&](bool sameStream) {
    std::string bytes = framed(block(1, "0.0.4")) + framed(number(1, 1) + block(2, "aten::foo") +
                                                           number(3, 4) + number(7, 10) + cpu(true));
    for (std::uint64_t kernel = 0; kernel < 4; ++kernel)
      bytes += framed(number(1, kernel + 2) + block(2, "gemm_kernel_" + std::to_string(kernel)) +
                      number(3, 4) + block(5, varint(1)) + number(7, 100) + cpu(false) +
                      block(10, block(1, "tid") + number(9, sameStream ? 7 : 7 + kernel)));
    return bytes;
  };
  for (const bool same : {true, false}) {
    const auto summary = import(write(same ? "one.0.et" : "four.0.et", trace(same)));
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    std::int64_t last = 0;
    for (const auto& placement : rows<model::Placement>()) last = std::max(last, placement.end.count);
    EXPECT_EQ(last, same ? 410'000'000 : 110'000'000);
  }
}

/// Streams that another attribute names, and computations of which nothing is said but their length:
/// ASTRA-sim computes one thing at a time for each rank. What runs on the host may nest.
TEST_F(ProtobufFormats, ComputesOneThingAtATimeWhereNothingElseIsStated) {
  const auto framed = [](const std::string& message) { return varint(message.size()) + message; };
  const auto whole = [&](const std::string& attribute) {
    std::string bytes = framed(block(1, "0.0.4"));
    for (std::uint64_t k = 0; k < 6; ++k)
      bytes += framed(number(1, k + 1) + block(2, "k" + std::to_string(k)) + number(3, 4) + number(7, 100) +
                      attribute);
    const auto summary = import(write("t.0.et", bytes));
    EXPECT_TRUE(summary.ok());
    std::int64_t last = 0;
    for (const auto& placement : rows<model::Placement>()) last = std::max(last, placement.end.count);
    return last;
  };
  EXPECT_EQ(whole(""), 600'000'000);
  EXPECT_EQ(whole(block(10, block(1, "stream") + number(7, 3))), 600'000'000);
  EXPECT_EQ(whole(cpu(true)), 100'000'000);
}

/// GlobalMetadata {version 1}, then nodes {id 1, name 2, type 3, data_deps 5, start_time_micros 6,
/// duration_micros 7}.
TEST_F(ProtobufFormats, ReadsStatedStartsAndSurvivesCircles) {
  const auto framed = [](const std::string& message) { return varint(message.size()) + message; };
  const auto node = [&](std::uint64_t id, std::uint64_t start, std::uint64_t length, std::uint64_t before) {
    return framed(number(1, id) + block(2, "n" + std::to_string(id)) + number(3, 4) +
                  block(5, varint(before)) + number(6, start) + number(7, length));
  };
  const std::string head = framed(block(1, "0.0.4"));
  auto summary = import(write("stated.et", head + node(1, 100, 5, 9) + node(2, 107, 3, 1)));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(slices(), (Texts{"0: n1 0-5000000", "0: n2 7000000-10000000"}));
  summary = import(write("circle.et", head + node(1, 0, 5, 2) + node(2, 0, 3, 1) + node(3, 0, 4, 7)));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->slices, 3);
  ASSERT_EQ(summary->findings.size(), 2U);
  EXPECT_NE(summary->findings[0].find("depends on itself"), std::string::npos);
  // Node 1 controls node 2 and needs its data.
  const std::string control =
      framed(number(1, 2) + block(2, "n2") + number(3, 4) + block(4, varint(1)) + number(7, 3));
  summary = import(write("control.et", head + node(1, 0, 5, 2) + control));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(slices(), (Texts{"0: n1 3000000-8000000", "0: n2 0-3000000"}));
  EXPECT_NE(summary->findings[0].find("which alone are used"), std::string::npos);
  summary =
      import(write("long.et", head + node(1, 5, 5'000'000'000'000, 0) + node(2, 1, 3, 0) + "\x02\xFF\xFF"));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->slices, 1);
  ASSERT_EQ(summary->findings.size(), 2U);
  EXPECT_NE(summary->findings[0].find("A node is damaged"), std::string::npos);
  EXPECT_NE(summary->findings[1].find("more than 50 days"), std::string::npos);
}

}  // namespace
}  // namespace pipescope::importing
