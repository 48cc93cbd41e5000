#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "profiler/store/batch.h"
#include "profiler/store/blocks/checksum.h"
#include "profiler/store/blocks/compact_columns.h"
#include "profiler/store/blocks/row_columns.h"
#include "profiler/store/row_reader.h"
#include "store_testing.h"

namespace pipescope::store::testing {
namespace {

using model::ColumnType;
using Limits = std::numeric_limits<std::int64_t>;

TEST(Checksum, IsTheCommonCrc32) {
  // The check value of CRC-32/ISO-HDLC in the catalogue of parametrised CRC algorithms.
  EXPECT_EQ(Checksum().bytes("123456789").value(), 0xCBF43926u);
  EXPECT_EQ(Checksum(Checksum().bytes("1234").value()).bytes("56789").value(), 0xCBF43926u);
  EXPECT_EQ(Checksum().integer(0x0807060504030201).value(), Checksum().bytes("\1\2\3\4\5\6\7\10").value());
  EXPECT_NE(Checksum().text("a").text("b").value(), Checksum().text("ab").text("").value());
}

/// A CRC depends on the bytes, and not on the pieces in which they come. The reference works bit by bit.
TEST(Checksum, DoesNotDependOnPieces) {
  const auto bitwise = [](const std::string& bytes) {
    std::uint32_t crc = ~0U;
    for (const char byte : bytes) {
      crc ^= static_cast<unsigned char>(byte);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc % 2 != 0 ? 0xEDB88320U : 0U);
    }
    return ~crc;
  };
  std::mt19937 random(5);
  for (int turn = 0; turn < 200; ++turn) {
    std::string all;
    Checksum checksum;
    for (std::size_t pieces = random() % 60; pieces > 0; --pieces) {
      std::string piece(random() % 8 == 0 ? random() % 2000 : random() % 20, ' ');
      for (char& byte : piece) byte = static_cast<char>(random());
      checksum.bytes(piece);
      all += piece;
      if (random() % 16 == 0) {
        ASSERT_EQ(checksum.value(), bitwise(all));
      }
    }
    ASSERT_EQ(checksum.value(), bitwise(all));
  }
}

TEST(ByteStream, VarintsHaveTheKnownBytes) {
  std::string bytes;
  appendVarint(bytes, 300);  // the example of Protocol Buffers' encoding page: AC 02
  EXPECT_EQ(bytes, "\xAC\x02");
  EXPECT_EQ(zigZag(0), 0u);
  EXPECT_EQ(zigZag(-1), 1u);
  EXPECT_EQ(zigZag(1), 2u);
  EXPECT_EQ(zigZag(Limits::max()), std::numeric_limits<std::uint64_t>::max() - 1);
  EXPECT_EQ(zigZag(Limits::min()), std::numeric_limits<std::uint64_t>::max());
  for (const std::int64_t n :
       {Limits::min(), Limits::max(), std::int64_t{-1}, std::int64_t{0}, std::int64_t{12345}}) {
    EXPECT_EQ(unZigZag(zigZag(n)), n);
  }
}

TEST(ByteStream, ManyVarintsAreTheSameAsOneByOne) {
  std::mt19937_64 random(3);
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{9}, std::size_t{500}}) {
    std::vector<std::int64_t> numbers(count), back(count);
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) {
      // Most varints are short, as in files, but all lengths occur.
      numbers[i] =
          static_cast<std::int64_t>(random() >> (i % 13 == 12 ? random() % 64 : 58)) * (i % 2 == 0 ? 1 : -1);
      appendVarint(bytes, zigZag(numbers[i]));
    }
    ByteReader all(bytes);
    all.signedVarints(back.data(), count);
    EXPECT_FALSE(all.failed());
    EXPECT_EQ(all.left(), 0U);
    EXPECT_EQ(back, numbers);
    if (count == 0) continue;
    ByteReader cut(std::string_view(bytes).substr(0, bytes.size() - 1));
    cut.signedVarints(back.data(), count);
    EXPECT_TRUE(cut.failed());
  }
}

TEST(ByteStream, ReadingPastTheEndFailsAndStaysFailed) {
  ByteReader shortVarint("\x80\x80");
  EXPECT_EQ(shortVarint.varint(), 0u);
  EXPECT_TRUE(shortVarint.failed());
  ByteReader longVarint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
  EXPECT_EQ(longVarint.varint(), 0u);
  EXPECT_TRUE(longVarint.failed());
  ByteReader bytes("abc");
  EXPECT_EQ(bytes.take(2), "ab");
  EXPECT_EQ(bytes.take(std::numeric_limits<std::uint64_t>::max()), "");
  EXPECT_TRUE(bytes.failed());
  EXPECT_EQ(bytes.byte(), 0);
}

/// Checks that an integer column comes back from every coding.
void roundTrip(const std::vector<std::int64_t>& values, bool constant) {
  for (int coding = constant ? 0 : 1; coding <= 6; ++coding) {
    if (coding == static_cast<int>(IntegerCoding::predicted)) continue;
    std::string bytes;
    encodeIntegers(values, static_cast<IntegerCoding>(coding), bytes);
    ColumnData column;
    ByteReader in(bytes);
    ASSERT_TRUE(decodeColumn(in, values.size(), column)) << coding;
    const IntegerView found(column);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(found[i], values[i]) << coding;
    EXPECT_EQ(in.left(), 0u);
  }
}

TEST(ColumnCodec, EveryIntegerCodingKeepsAllValues) {
  roundTrip({7}, true);
  roundTrip({Limits::min(), Limits::min(), Limits::min()}, true);
  roundTrip({Limits::min(), Limits::max(), Limits::min(), 0, -1, Limits::max()}, false);
  std::mt19937_64 random(1);
  for (int width = 1; width < 64; width += 3) {
    std::vector<std::int64_t> values(1000);
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() >> width) - 1000;
    roundTrip(values, false);
  }
}

TEST(ColumnCodec, ChoosesWhatCompressesBest) {
  // The "compressed size" is the plain size here, so the shortest coding must win.
  const auto length = [](std::string_view bytes) { return bytes.size(); };
  std::vector<std::int64_t> equal(100, 5), rising, steps, outlier(100, 1);
  for (std::int64_t i = 0; i < 100; ++i) rising.push_back(1'000'000'000 * i);
  for (std::int64_t i = 0; i < 100; ++i) steps.push_back(i * 7 % 100 + 1'000'000);
  outlier[50] = 1'000'000'000'000;
  EXPECT_EQ(chooseIntegerCoding(equal, length), IntegerCoding::constant);
  EXPECT_EQ(chooseIntegerCoding(rising, length), IntegerCoding::deltaBytes);
  EXPECT_EQ(chooseIntegerCoding(steps, length), IntegerCoding::plainBytes);
  EXPECT_EQ(chooseIntegerCoding(outlier, length), IntegerCoding::plainVarint);
}

TEST(ColumnCodec, DictionariesAreForRepeatedTexts) {
  const auto length = [](std::string_view bytes) { return bytes.size(); };
  for (const bool repeated : {true, false}) {
    std::vector<std::string> texts;
    for (int i = 0; i < 50; ++i) texts.push_back("text " + std::to_string(repeated ? i % 3 : i));
    ColumnData column;
    column.type = ColumnType::text;
    column.texts.assign(texts.begin(), texts.end());
    std::string bytes;
    encodeColumn(column, length, bytes);
    EXPECT_EQ(bytes[0], static_cast<char>(repeated ? TextCoding::dictionary : TextCoding::plain));
    ColumnData decoded;
    decoded.type = ColumnType::text;
    ByteReader in(bytes);
    ASSERT_TRUE(decodeColumn(in, texts.size(), decoded));
    EXPECT_EQ(decoded.texts, column.texts);
  }
}

template <class Byte>
std::string bytesOf(std::initializer_list<Byte> bytes) {
  std::string text;
  for (const Byte byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

TEST(ColumnCodec, MalformedColumnsAreRefused) {
  const auto decode = [](ColumnType type, std::size_t rows, std::initializer_list<int> bytes) {
    return decodeColumns(bytesOf(bytes), rows, {type});
  };
  const auto malformed = FailsWith("its columns are malformed");
  EXPECT_THAT(decode(ColumnType::integer, 2, {}), malformed);
  EXPECT_THAT(decode(ColumnType::integer, 2, {9, 1, 1}), malformed) << "unknown coding";
  EXPECT_THAT(decode(ColumnType::integer, 2, {1, 0, 9, 1, 1}), malformed) << "nine bytes wide";
  EXPECT_THAT(decode(ColumnType::integer, 4, {1, 0, 1, 1, 1}), malformed) << "too few";
  EXPECT_THAT(decode(ColumnType::integer, 2, {6, 9, 1, 1}), malformed) << "nine bytes wide";
  EXPECT_THAT(decode(ColumnType::integer, 4, {6, 1, 1, 1}), malformed) << "too few";
  EXPECT_THAT(decode(ColumnType::integer, 0, {2, 0, 0, 0}), malformed) << "a first value of no rows";
  EXPECT_THAT(decode(ColumnType::integer, 3, {3, 1, 0x80}), malformed) << "cut varint";
  EXPECT_THAT(decode(ColumnType::integer, 3, {4, 1, 1}), malformed) << "too few differences";
  EXPECT_THAT(decode(ColumnType::integer, 1, {0, 1, 1}), FailsWith("bytes follow its last column"));
  EXPECT_THAT(decode(ColumnType::real, 1, {7}), malformed) << "unknown coding";
  EXPECT_THAT(decode(ColumnType::real, 1, {1, 0, 0, 0}), malformed) << "cut";
  EXPECT_THAT(decode(ColumnType::text, 1, {2}), malformed) << "unknown coding";
  EXPECT_THAT(decode(ColumnType::text, 1, {0, 0, 10, 'a'}), malformed) << "longer than the bytes";
  EXPECT_THAT(decode(ColumnType::text, 1, {0, 0, 1, 'a'}), malformed) << "negative length";
  EXPECT_THAT(decode(ColumnType::text, 1, {1, 2, 0, 0, 0, 0}), malformed) << "more entries than rows";
  EXPECT_THAT(decode(ColumnType::text, 2, {1, 1, 0, 2, 'a', 0, 2}), malformed) << "index past the dictionary";
  EXPECT_THAT(decode(ColumnType::text, 2, {1, 1, 0, 2, 'a', 0, 1}), malformed) << "negative index";
  EXPECT_TRUE(decode(ColumnType::text, 2, {1, 1, 0, 2, 'a', 0, 0}).ok());
}

TEST(ColumnCodec, AShortDictionaryCannotMakeAHugeColumn) {
  // One entry of 1 MB is used 16,384 times: 16 GB for a reader that believes it.
  std::string bytes = bytesOf({1, 1, 0});
  appendVarint(bytes, zigZag(1 << 20));
  bytes += std::string(1 << 20, 'x') + bytesOf({0, 0});
  EXPECT_TRUE(decodeColumns(bytes, 64, {ColumnType::text}).ok());
  EXPECT_THAT(decodeColumns(bytes, 16'384, {ColumnType::text}), FailsWith("its columns are malformed"));
}

TEST(ColumnCodec, RandomBytesNeverCrash) {
  std::mt19937 random(2);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 40, ' ');
    for (char& byte : bytes) byte = static_cast<char>(random() % (i % 2 == 0 ? 256 : 6));
    static_cast<void>(
        decodeColumns(bytes, random() % 5, {ColumnType::text, ColumnType::integer, ColumnType::real}));
  }
}

std::vector<ColumnData> someColumns() {
  std::vector<ColumnData> columns(2);
  columns[0].integers = {3, -5, 1000};
  columns[1].type = ColumnType::real;
  columns[1].reals = {0.5, std::nan(""), -2};
  return columns;
}

TEST(BlockCodec, DamageIsNamed) {
  const std::vector<ColumnType> types = {ColumnType::integer, ColumnType::real};
  BlockEncoder encoder;
  const auto encoded = encoder.encode(someColumns(), 3, encoder.choose(someColumns(), 3));
  ASSERT_OK(encoded);
  const auto decoded = decodeBlock(encoded->bytes, 3, encoded->rawBytes, types);
  ASSERT_OK(decoded);
  EXPECT_EQ(decoded->columns[0].integers, someColumns()[0].integers);
  EXPECT_THAT(decodeBlock(encoded->bytes, 3, encoded->rawBytes + 1, types),
              FailsWith("its size is not the one in the directory"));
  EXPECT_THAT(decodeBlock(encoded->bytes, 3, -1, types), FailsWith("the size that it states is impossible"));
  EXPECT_THAT(decodeBlock(encoded->bytes, 3, Limits::max(), types),
              FailsWith("the size that it states is impossible"));
  EXPECT_THAT(decodeBlock(encoded->bytes, 40, encoded->rawBytes, types),
              FailsWith("its columns are malformed"));
  EXPECT_THAT(decodeBlock("no zstd frame", 3, encoded->rawBytes, types),
              FailsWith("its size is not the one in the directory"));
  const std::string cut = encoded->bytes.substr(0, encoded->bytes.size() - 1);
  EXPECT_THAT(decodeBlock(cut, 3, encoded->rawBytes, types), FailsWith("it cannot be decompressed"));
}

TEST(BlockCodec, OtherMinorsHaveOtherColumnsAtTheEnd) {
  // An integer column in plain varints and a constant real column, 1.5.
  const std::string bytes = bytesOf({3, 2, 4, 6}) + bytesOf({0, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f});
  const std::vector<ColumnType> more = {ColumnType::integer, ColumnType::real, ColumnType::integer,
                                        ColumnType::text, ColumnType::real};
  const std::vector<std::int64_t> defaults = {0, 0, -7, 0, std::bit_cast<std::int64_t>(2.5)};
  const auto older = decodeColumns(bytes, 3, more, DecodedPart::all, {}, defaults);
  ASSERT_OK(older);
  EXPECT_EQ((*older)[0].integers, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ((*older)[1].reals, (std::vector<double>{1.5, 1.5, 1.5}));
  EXPECT_TRUE((*older)[2].constant);
  EXPECT_EQ((*older)[2].integers, std::vector<std::int64_t>{-7});
  EXPECT_EQ((*older)[3].texts, std::vector<std::string_view>(3));
  EXPECT_EQ((*older)[4].reals, (std::vector<double>{2.5, 2.5, 2.5}));
  EXPECT_THAT(decodeColumns(bytes, 3, more), FailsWith("its columns are malformed"));

  const std::vector<ColumnType> fewer = {ColumnType::integer};
  const auto newer = decodeColumns(bytes, 3, fewer, DecodedPart::all, {}, std::vector<std::int64_t>{0});
  ASSERT_OK(newer);
  EXPECT_EQ((*newer)[0].integers, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_THAT(decodeColumns(bytes, 3, fewer), FailsWith("bytes follow its last column"));
  // Missing columns are those of an older minor, but a column that is cut off is damage.
  EXPECT_THAT(decodeColumns(bytes.substr(0, 6), 3, more, DecodedPart::all, {}, defaults),
              FailsWith("its columns are malformed"));
}

TEST(BlockCodec, OtherMinorsHaveOtherRangesAtTheEnd) {
  const std::string bytes = bytesOf({1, 2, 6, 1, 1, 9});
  std::vector<ColumnRange> ranges;
  ASSERT_TRUE(decodeRanges(bytes, {ColumnType::integer}, ranges, true));
  EXPECT_EQ(ranges[0].largest, 3);
  ASSERT_TRUE(decodeRanges(bytes, std::vector<ColumnType>(3, ColumnType::integer), ranges, true));
  EXPECT_EQ(ranges[1].smallest, -1);
  EXPECT_FALSE(ranges[2].known);
  EXPECT_FALSE(decodeRanges(bytes.substr(0, 2), {ColumnType::integer}, ranges, true));
}

TEST(BlockCodec, RangesAreOfNumbersOnly) {
  std::vector<ColumnData> columns = someColumns();
  columns.emplace_back().type = ColumnType::text;
  columns.back().texts = {"a", "b", "c"};
  columns.emplace_back().type = ColumnType::real;
  columns.back().reals.assign(3, std::nan(""));
  const std::vector<ColumnType> types = {ColumnType::integer, ColumnType::real, ColumnType::text,
                                         ColumnType::real};
  std::vector<ColumnRange> ranges;
  const std::string bytes = encodeRanges(columns, rangesOf(columns));
  ASSERT_TRUE(decodeRanges(bytes, types, ranges));
  EXPECT_EQ(ranges[0].smallest, -5);
  EXPECT_EQ(ranges[0].largest, 1000);
  EXPECT_EQ(ranges[1].smallestReal, -2);
  EXPECT_EQ(ranges[1].largestReal, 0.5);
  EXPECT_FALSE(ranges[2].known);
  EXPECT_FALSE(ranges[3].known);
  EXPECT_FALSE(decodeRanges(bytes + "x", types, ranges));
  EXPECT_FALSE(decodeRanges(bytes.substr(1), types, ranges));
  EXPECT_FALSE(decodeRanges("\1", {ColumnType::text}, ranges));
}

TEST(BlockCoder, BytesDoNotDependOnTheThreads) {
  const auto bytesWith = [](std::size_t threads) {
    BlockCoder coder(threads);
    std::vector<std::string> all;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const auto placements = makeRows<model::Placement>(3000, round);
      const auto steps = makeRows<model::Step>(2000, round);
      const std::vector<ColumnPrediction> none, predictions = predictionsFor(model::columnsOf<model::Step>());
      std::vector<PayloadJob> payloads(7);  // enough rows to share out
      for (std::size_t i = 0; i < payloads.size(); ++i) {
        const FillColumns fill = [&, i](std::vector<ColumnData>& columns) {
          i % 2 == 0 ? toColumns<model::Placement>(placements, columns)
                     : toColumns<model::Step>(steps, columns);
        };
        payloads[i].table =
            i % 2 == 0 ? model::tableIndexOf<model::Placement>() : model::tableIndexOf<model::Step>();
        payloads[i].predictions = i % 2 == 0 ? &none : &predictions;
        payloads[i].firstRows = i % 2 == 0 ? placements.size() : steps.size();
        payloads[i].firstColumns = fill;
        payloads[i].blocks.assign(10, {payloads[i].firstRows, fill});
      }
      bool beside = false;
      coder.code(payloads, [&] { beside = true; });
      EXPECT_TRUE(beside);
      for (const PayloadJob& payload : payloads) {
        all.push_back(payload.priorBytes);
        for (const BlockJob& job : payload.blocks)
          all.push_back(job.result.ok() ? job.result->bytes : job.result.error().message);
      }
    }
    return all;
  };
  const auto one = bytesWith(1);
  EXPECT_EQ(bytesWith(2), one);
  EXPECT_EQ(bytesWith(5), one);
}

TEST(BlockCoder, AFewRowsDoNotDecideForLongBlocks) {
  std::mt19937_64 random(2);
  std::vector<model::Step> steps(kMostRowsPerBlock);
  std::int64_t free[8] = {};
  for (model::Step& step : steps) {
    const std::size_t lane = random() % 8;
    step.lane = model::LaneId(static_cast<std::int64_t>(lane));
    step.offset = model::Ticks(free[lane]);
    step.ticks = model::Ticks(100 + static_cast<std::int64_t>(random() % 4000));
    free[lane] += step.ticks.count;
  }
  const std::vector<ColumnPrediction> predictions = predictionsFor(model::columnsOf<model::Step>());
  const auto jobOf = [&](const std::vector<std::size_t>& blocks) {
    PayloadJob job;
    job.table = model::tableIndexOf<model::Step>();
    job.predictions = &predictions;
    for (const std::size_t rows : blocks) {
      job.blocks.push_back({rows, [&steps, rows](std::vector<ColumnData>& columns) {
                              toColumns(std::span<const model::Step>(steps).first(rows), columns);
                            }});
    }
    job.firstRows = blocks[0];
    job.firstColumns = job.blocks[0].toColumns;
    return job;
  };
  const auto sizeOfLong = [&](const std::vector<std::vector<std::size_t>>& calls) {
    BlockCoder coder(1);
    std::size_t size = 0;
    for (const std::vector<std::size_t>& call : calls) {
      std::vector<PayloadJob> jobs{jobOf(call)};
      coder.code(jobs);
      size = jobs[0].blocks.back().result->bytes.size();
    }
    return size;
  };
  const std::size_t alone = sizeOfLong({{steps.size()}});
  EXPECT_EQ(sizeOfLong({{1}, {steps.size()}}), alone);
  EXPECT_EQ(sizeOfLong({{1, 1, steps.size()}}), alone);
}

TEST(Rows, ColumnsAreThoseOfTheRows) {
  const auto pool = std::make_shared<ColumnPool>();
  for (const std::size_t count : {std::size_t{1}, std::size_t{50}, std::size_t{3000}, std::size_t{7}}) {
    auto rows = makeRows<model::Step>(count, 3);  // with the extremes of all types
    for (std::size_t i = 0; i < count; ++i) {
      rows[i].lane = model::LaneId(4);                                                // constant
      rows[i].program = model::ProgramId(1000 + static_cast<std::int64_t>(i % 200));  // a byte
      rows[i].activeUnits = -5 + static_cast<std::int64_t>(i * 13 % 65'500);          // two
      rows[i].maxTicks = model::Ticks(i < 699 ? 5 : 6);                               // constant at first
      rows[i].bytesIn = model::Bytes(static_cast<std::int64_t>(i % 2) * 0xffff'ffff - 77);  // four
    }
    std::vector<ColumnData> columns = toColumns(std::span<const model::Step>(rows));
    for (ColumnData& column : columns) column.extremes.reset();  // decoded columns have none
    EXPECT_TRUE(columns[1].constant);
    EXPECT_EQ(columns[8].constant, count < 700);
    EXPECT_TRUE(rowReader(model::tableIndexOf<model::Step>()).checkColumns(columns).ok());
    std::vector<ColumnData> copy = columns;
    const CompactColumns compact(*ColumnPool::ofProcess()->adopted(copy, count));
    const auto check = [&](const model::ColumnBlock& block) {
      ASSERT_EQ(block.rows, count);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(block.columns[1][i], 4);
        EXPECT_EQ(block.columns[2][i], rows[i].offset.count);
        EXPECT_EQ(block.columns[3][i], rows[i].ticks.count);
        EXPECT_EQ(block.columns[5][i], rows[i].program.value);
        EXPECT_EQ(block.columns[6][i], rows[i].activeUnits);
        EXPECT_EQ(block.columns[8][i], i < 699 ? 5 : 6);
        EXPECT_EQ(block.columns[10][i], rows[i].bytesIn.count);
      }
      EXPECT_TRUE(block.columns[9].values.empty()) << "a real";
    };
    check(*pool->expanded(compact));
    EXPECT_EQ(pool->spare(), 1U) << "nobody holds it any more";
    check(*pool->expanded(compact));
    check(*pool->adopted(columns, count));
  }
  EXPECT_EQ(pool->spare(), 1U);
}

TEST(Rows, RecentColumnsAreShared) {
  RecentColumns recent;
  const auto keyOf = [](std::size_t i) { return BlockCache::Key{1, 2, static_cast<std::int64_t>(i), true}; };
  std::vector<std::shared_ptr<const model::ColumnBlock>> blocks;
  for (std::size_t i = 0; i < 2 * RecentColumns::kMost; ++i) {
    EXPECT_EQ(recent.find(keyOf(i)), nullptr);
    std::vector<ColumnData> columns(1);
    columns[0].integers = {static_cast<std::int64_t>(i), 7};
    blocks.push_back(ColumnPool::ofProcess()->adopted(columns, 2));
    recent.keep(keyOf(i), blocks.back());
    EXPECT_EQ(recent.find(keyOf(i)), blocks.back());
    EXPECT_EQ(recent.find(keyOf(0)), blocks[0]) << "what is asked for again stays";
  }
  EXPECT_EQ(recent.find(keyOf(1)), nullptr) << "only the last few are kept";
  for (std::size_t i = 0; i < blocks.size(); ++i)
    EXPECT_EQ(blocks[i]->columns[0][0], static_cast<std::int64_t>(i)) << "what is held stays";
}

TEST(Rows, BlocksAreKnownTheSecondTime) {
  SeenBlocks seen;
  const BlockCache::Key key{1, 2, 3, true}, other{1, 2, 4, true};
  EXPECT_FALSE(seen.again(key));
  EXPECT_FALSE(seen.again(other));
  EXPECT_TRUE(seen.again(key));
  EXPECT_TRUE(seen.again(key));
}

TEST(Rows, NumbersOutsideTheirFieldAreRefused) {
  DecodedBlock block;
  block.columns = toColumns(std::span<const model::Placement>(makeRows<model::Placement>(1, 0)));
  for (ColumnData& column : block.columns) column.extremes.reset();  // decoded columns have none
  const RowReader& placements = rowReader(model::tableIndexOf<model::Placement>());
  EXPECT_TRUE(placements.toRows(block, 1).ok());
  block.columns[6].integers[0] = std::int64_t{1} << 31;  // replica, of 32 bits
  EXPECT_THAT(placements.toRows(block, 1), FailsWith("it holds a number that its column cannot have"));
  EXPECT_THAT(placements.checkColumns(block.columns),
              FailsWith("it holds a number that its column cannot have"));
  block.columns[6].integers[0] = 0;
  block.columns[9].integers[0] = 200;  // a pass that does not exist yet
  EXPECT_TRUE(placements.toRows(block, 1).ok());
  block.columns[9].integers[0] = 256;
  EXPECT_THAT(placements.toRows(block, 1), FailsWith("it holds a number that its column cannot have"));
}

}  // namespace
}  // namespace pipescope::store::testing
