// Records that are cut into planes and coded: the same bytes come back, and nothing else is taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "kernels/base/rng.h"
#include "snapshot_fixture.h"
#include "support/toy_coder.h"

namespace satchel::kvcache {
namespace {

using test::MemoryRecordStore;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

const test::ToyCoder kToy;

std::size_t n_tight(MemoryRecordStore& store) {
  const auto& records = store.caches[kChat].records;
  return static_cast<std::size_t>(
      std::ranges::count_if(records, [](const auto& row) { return is_tight(row.second); }));
}

class EveryRecipeTight : public testing::TestWithParam<std::string> {};

TEST_P(EveryRecipeTight, comes_back_byte_for_byte_and_goes_on) {
  MemoryRecordStore plain, tight;
  tight.stream_coder = &kToy;
  std::size_t plain_bytes = 0;
  Saved first(plain, small(GetParam()));
  read_chat(first.driver);
  plain_bytes = first.save()->bytes_total;
  const std::size_t n = first.driver.cache().n_tokens();

  Saved second(tight, first.driver.fork().value());
  const auto saved = second.save(token_ids(n));
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  EXPECT_GT(n_tight(tight), 0u);
  EXPECT_LT(saved->bytes_total, plain_bytes);

  Saved third(tight, small(GetParam()));
  const auto report = third.restore(n);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->reason, RereadReason::none) << report->detail;
  EXPECT_EQ(report->bytes_read, saved->bytes_total);
  EXPECT_EQ(third.driver.bytes(), first.driver.bytes());

  // Nothing is new, so nothing is written: what was coded is known by what it says.
  const auto again = third.save();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->n_records_written, 0u);
}
INSTANTIATE_TEST_SUITE_P(Builtin, EveryRecipeTight, testing::ValuesIn(recipe_names()),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

Bytes random_bytes(std::size_t n, std::uint64_t below) {
  Rng rng(5);
  Bytes bytes(n);
  for (std::byte& value : bytes) value = static_cast<std::byte>(rng.next() % below);
  return bytes;
}

// One item of n bytes, made tight where that pays.
struct Made {
  Bytes plain, record;
};
Made make(const Bytes& values, const Cut& cut) {
  const RecordItem item{
      .number = 3, .lane = 1, .n_bytes = static_cast<std::uint32_t>(values.size())};
  Made made{.plain = encode_record(RecordKind::pages, 9, {&item, 1}, values), .record = {}};
  made.record = tighten_record(made.plain, {&cut, 1}, kToy);
  return made;
}
Cut one_stretch(Numbers numbers, std::size_t n_bytes) {
  return {{.tag = 1, .numbers = numbers, .n_bytes = static_cast<std::uint32_t>(n_bytes)}};
}

TEST(TightRecord, any_bytes_come_back_whatever_numbers_they_are_taken_for) {
  for (const Numbers numbers : {Numbers::bytes, Numbers::halves, Numbers::words, Numbers::rising}) {
    const Bytes values = random_bytes(4000, 40);  // as int32 they rise and fall, and wrap around
    Made made = make(values, one_stretch(numbers, values.size()));
    const bool is_made = !made.record.empty();
    ASSERT_TRUE(is_made || numbers == Numbers::rising);  // differences of such have no pattern
    RecordCapacity capacity;
    const Result<Record> record =
        decode_record(is_made ? made.record : made.plain, &kToy, capacity);
    ASSERT_TRUE(record.ok()) << record.error().message;
    EXPECT_TRUE(std::ranges::equal(record->values, values));
    EXPECT_EQ(record->payload_hash(), record_payload_hash(made.plain));
    EXPECT_EQ(record->items[0].number, 3u);
  }
}

TEST(TightRecord, positions_take_next_to_nothing) {
  Bytes values;
  for (std::uint32_t i = 0; i < 1000; ++i)
    for (unsigned byte = 0; byte < 4; ++byte)
      values.push_back(static_cast<std::byte>(((70'000 + 3 * i) >> (8 * byte)) & 0xffu));
  const Made made = make(values, one_stretch(Numbers::rising, values.size()));
  EXPECT_LT(made.record.size(), 400u);
  RecordCapacity capacity;
  EXPECT_TRUE(std::ranges::equal(decode_record(made.record, &kToy, capacity)->values, values));
}

TEST(TightRecord, what_saves_less_than_a_tenth_stays_as_it_is) {
  const Bytes values = random_bytes(4000, 256);
  EXPECT_TRUE(make(values, one_stretch(Numbers::halves, values.size())).record.empty());
}

TEST(TightRecord, of_a_page_a_plane_without_a_pattern_stays_as_it_is) {
  Bytes values = random_bytes(4000, 256);
  for (std::size_t i = 1; i < values.size(); i += 2) values[i] = std::byte{60};
  const Made made = make(values, one_stretch(Numbers::halves, values.size()));
  ASSERT_FALSE(made.record.empty());
  Bytes low;
  for (std::size_t i = 0; i < values.size(); i += 2) low.push_back(values[i]);
  EXPECT_FALSE(std::ranges::search(made.record, low).empty());
}

TEST(TightRecord, is_refused_without_its_coder) {
  const Bytes values = random_bytes(4000, 9);
  const Made made = make(values, one_stretch(Numbers::bytes, values.size()));
  RecordCapacity capacity;
  const Result<Record> record = decode_record(made.record, nullptr, capacity);
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.error().kind, ErrorKind::corrupt);
  EXPECT_THAT(record.error().message, HasSubstr("does not know"));
}

// Where fields lie behind header, one item and the payload hash (FORMAT.md).
constexpr std::size_t kHead = kRecordHeaderBytes + kRecordItemBytes, kCoder = kHead + 16,
                      kCuts = kHead + 18, kCutOf = kHead + 20, kStretches = kHead + 22,
                      kTag = kHead + 26, kNumbers = kHead + 28, kLength = kHead + 30,
                      kStored = kHead + 34, kCoding = kHead + 38;

TEST(TightRecord,
     forged_fields_behind_a_valid_checksum_are_refused_before_anything_is_made_room_for) {
  const Bytes values = random_bytes(4000, 9);
  const Made made = make(values, one_stretch(Numbers::bytes, values.size()));
  const auto refuses = [](Bytes record) {
    sign_record(record);
    RecordCapacity capacity;
    const Result<Record> decoded = decode_record(record, &kToy, capacity);
    return !decoded.ok() && decoded.error().kind == ErrorKind::corrupt &&
           capacity.values.n_bytes() < kRecordBytesMax;
  };
  const std::vector<std::pair<std::size_t, std::vector<unsigned>>> forgeries = {
      {kRecordHeaderBytes + 12, {0xff, 0xff, 0xff, 0xff}},  // the item's size
      {kHead, {1}},                                         // the hash of the payload
      {kCoder, {9}},
      {kCuts, {0}},
      {kCuts, {0xff, 0xff}},
      {kCutOf, {1}},
      {kStretches, {0}},
      {kStretches, {0xff, 0xff}},
      {kStretches + 2, {1}},
      {kNumbers, {4}},
      {kNumbers, {1}},  // halves: two streams, of which the second is not there
      {kLength, {0, 0, 0, 0}},
      {kLength, {0xff, 0xff, 0xff, 0xff}},
      {kStored, {0, 0, 0, 0}},
      {kStored, {0xff, 0xff, 0xff, 0x7f}},
      {kCoding, {0}},
      {kCoding, {2}}};
  for (const auto& [at, bytes] : forgeries) {
    Bytes forged = made.record;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      forged[at + i] = static_cast<std::byte>(bytes[i]);
    EXPECT_TRUE(refuses(forged)) << "field at " << at;
  }
  Bytes forged = made.record;
  forged[kTag] = std::byte{7};  // a name only
  EXPECT_FALSE(refuses(forged));
}

TEST(TightRecord, put_together_item_by_item_it_is_checked_behind_the_last) {
  const Bytes values = random_bytes(4000, 9);
  const Made made = make(values, one_stretch(Numbers::bytes, values.size()));
  for (const bool is_forged : {false, true}) {
    Bytes record = made.record;
    if (is_forged) record[kHead] ^= std::byte{1};  // the hash of the payload
    sign_record(record);
    RecordCapacity capacity;
    const Result<Record> opened = open_record(record, &kToy, capacity);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    Scratch scratch;
    ItemValues items(*opened, scratch);
    EXPECT_TRUE(std::ranges::equal(items.next(), values));
    const Result<void> checked = items.check();
    EXPECT_EQ(checked.ok(), !is_forged);
    if (is_forged) {
      EXPECT_EQ(checked.error().kind, ErrorKind::corrupt);
    }
  }
}

TEST(TightRecord, every_length_and_every_changed_byte_of_a_stream_is_found_though_it_is_signed) {
  const Bytes values = random_bytes(600, 9);
  const Made made = make(values, one_stretch(Numbers::bytes, values.size()));
  RecordCapacity capacity;
  for (std::size_t n = 0; n < made.record.size(); ++n) {
    Bytes cut(made.record.begin(), made.record.begin() + static_cast<std::ptrdiff_t>(n));
    sign_record(cut);
    EXPECT_FALSE(decode_record(cut, &kToy, capacity).ok()) << n;
  }
  for (std::size_t i = kCoding + 4; i < made.record.size(); ++i) {
    Bytes changed = made.record;
    changed[i] ^= std::byte{0x10};
    sign_record(changed);
    const Result<Record> record = decode_record(changed, &kToy, capacity);
    EXPECT_TRUE(!record.ok() || std::ranges::equal(record->values, values)) << i;
  }
}

}  // namespace
}  // namespace satchel::kvcache
