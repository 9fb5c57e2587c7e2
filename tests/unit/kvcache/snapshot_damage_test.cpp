// Damaged and forged snapshots: every byte, every length, and fields that lie behind a valid
// checksum. Nothing may crash, and what is accepted must be what was saved.
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "snapshot_fixture.h"
#include "support/toy_coder.h"

namespace satchel::kvcache {
namespace {

using test::MemoryRecordStore;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kTokens = 262;  // 4 sinks, a page or two, a tail of 130

// Every byte near the head of a row is tried, behind it each `step`th: to restore an exact page
// takes its time.
struct Case {
  const char* recipe;
  std::size_t step;
  bool is_tight = false;    // records are coded, where that pays
  bool has_reach = false;   // and an episode: version 4
  bool has_states = false;  // of recurrent layers: version 6
};
const test::ToyCoder kToy;
constexpr std::size_t kHead = 700;  // header, items, the first positions

class Damage : public testing::TestWithParam<Case> {
 protected:
  CacheDriver::Setup setup() const {
    return {.recipe = GetParam().recipe,
            .n_layers = 1,
            .n_heads = 1,
            .n_kv_heads = 1,
            .head_dim = 32,
            .states = GetParam().has_states ? std::vector<StateShape>{{3, 3}, {20, 4}}
                                            : std::vector<StateShape>{},
            .arena_bytes = 1u << 20};
  }
  void SetUp() override {
    if (GetParam().is_tight) store_.stream_coder = &kToy;
    saved_ = std::make_unique<Saved>(store_, setup());
    ASSERT_TRUE(saved_->driver.read(kTokens - 2).ok());
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(saved_->driver.step().ok());
    if (const auto job = saved_->driver.cache().next_probe(100)) {
      ASSERT_TRUE(saved_->driver.probe(*job).ok());
    }
    if (GetParam().has_reach) {
      ASSERT_TRUE(saved_->driver.cache().edit().gather(100, 50).ok());
      ASSERT_TRUE(saved_->driver.cache()
                      .edit()
                      .set_reach({.parts = {{0, 20, 90}, {60, 30, -60}}, .near_first = 120})
                      .ok());
    }
    ASSERT_TRUE(saved_->save().ok());
    cache_ = std::make_unique<Saved>(store_, setup());
    used_ = cache_->driver.arena().used_bytes();
  }

  // What was saved, cut to n tokens.
  const Bytes& expected(std::size_t n) {
    auto found = expected_.find(n);
    if (found != expected_.end()) return found->second;
    auto twin = saved_->driver.fork();
    EXPECT_TRUE(twin.ok() && twin->truncate(n).ok());
    return expected_[n] = twin->bytes();
  }
  // Restores; accepts only what was saved, or the head of it, unless the bytes were signed anew.
  RereadReason restore(bool forged = false) {
    const auto report = cache_->restore(kTokens);
    EXPECT_TRUE(report.ok());
    if (!report.ok()) return RereadReason::damaged;
    EXPECT_EQ(cache_->driver.cache().n_tokens(), report->n_tokens);
    if (report->reason == RereadReason::none) {
      EXPECT_EQ(report->detail, "");
    }
    if (report->n_tokens == 0) {
      EXPECT_EQ(cache_->driver.arena().used_bytes(), used_);
      return report->reason;
    }
    if (!forged) {
      EXPECT_EQ(cache_->driver.bytes(), expected(report->n_tokens));
    }
    for (const auto& [position, token] : cache_->driver.held(0, 0))
      for (const float value : token.k) EXPECT_TRUE(std::isfinite(value));
    cache_->driver.clear();
    return report->reason;
  }
  // Signs a record anew, in the table too.
  void sign(RecordId id) {
    Bytes& record = rows().records[id];
    sign_record(record, kToy);
    Bytes& table = rows().manifest->bytes;
    Result<Manifest> manifest = decode_manifest(table);
    ASSERT_TRUE(manifest.ok());
    for (RecordEntry& entry : manifest->records)
      if (entry.id == id) {
        entry.n_bytes = static_cast<std::uint32_t>(record.size());
        if (record.size() >= kRecordHeaderBytes) entry.checksum = record_checksum(record);
      }
    table = encode_manifest(*manifest);
  }
  // Where everything takes ten times as long, the first of them: the others are found without.
  static std::vector<unsigned> some(std::vector<unsigned> values) {
    if (test::kSanitized) values.resize(1);
    return values;
  }
  static std::size_t next(std::size_t i) {
    if (i < kHead) return i + (test::kSanitized ? 5 : 1);
    return i + (test::kSanitized ? std::max<std::size_t>(GetParam().step, 127) : GetParam().step);
  }
  MemoryRecordStore::Rows& rows() { return store_.caches[kChat]; }
  std::vector<Bytes*> all_rows() {
    std::vector<Bytes*> all = {&rows().manifest->bytes};
    for (auto& [id, bytes] : rows().records) all.push_back(&bytes);
    return all;
  }

  MemoryRecordStore store_;
  std::unique_ptr<Saved> saved_, cache_;
  std::size_t used_ = 0;
  std::map<std::size_t, Bytes> expected_;
};

TEST_P(Damage, the_undamaged_one_is_restored) {
  EXPECT_EQ(restore(), RereadReason::none);
}

TEST_P(Damage, every_byte_with_three_other_values_is_found) {
  for (Bytes* row : all_rows())
    for (std::size_t i = 0; i < row->size(); i = next(i))
      for (const unsigned flip : some({0xffu, 0x01u, 0x80u})) {
        const std::byte old = (*row)[i];
        (*row)[i] = old ^ std::byte{static_cast<unsigned char>(flip)};
        ASSERT_NE(restore(), RereadReason::none) << "byte " << i;
        (*row)[i] = old;
      }
}

TEST_P(Damage, every_truncation_and_bytes_behind_the_end_are_found) {
  for (Bytes* row : all_rows()) {
    const Bytes whole = *row;
    for (std::size_t n = 0; n < whole.size(); n = next(n)) {
      row->assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      ASSERT_NE(restore(), RereadReason::none) << "cut to " << n;
    }
    *row = whole;
    row->resize(whole.size() + 1024);
    ASSERT_NE(restore(), RereadReason::none);
    *row = whole;
  }
}

TEST_P(Damage, forged_bytes_with_valid_checksums_do_no_harm) {
  for (auto& [id, bytes] : rows().records) {
    const Bytes whole = bytes;
    for (std::size_t i = 0; i < whole.size(); i += i < kHead ? 1 : 37)
      for (const unsigned value : some({0xffu, 0x7fu, 0x00u, 0x80u})) {
        bytes[i] = std::byte{static_cast<unsigned char>(value)};
        sign(id);
        const RereadReason outcome = restore(true);
        // Only values may differ: nothing in the header or the first item can.
        if (bytes != whole && i < kRecordHeaderBytes + kRecordItemBytes && (i < 24 || i >= 48)) {
          EXPECT_NE(outcome, RereadReason::none) << "byte " << i;
        }
        bytes = whole;
      }
    sign(id);
  }
  EXPECT_EQ(restore(), RereadReason::none);
}

TEST_P(Damage, a_forged_table_with_a_valid_checksum_does_no_harm) {
  Bytes& table = rows().manifest->bytes;
  const Bytes whole = table;
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const unsigned value : some({0xffu, 0x00u, 0x01u, 0x7fu})) {
      table[i] = std::byte{static_cast<unsigned char>(value)};
      sign_manifest(table);
      (void)restore(true);
      table = whole;
    }
  for (std::size_t n = 0; n < whole.size(); ++n) {
    table.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    sign_manifest(table);
    EXPECT_NE(restore(true), RereadReason::none);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, Damage,
    testing::Values(Case{"minikv", 1}, Case{"d2o", 1}, Case{"full", 31}, Case{"kvzip", 31},
                    Case{"quest", 31}, Case{"minikv", 31, true}, Case{"minikv", 31, false, true},
                    Case{"full", 31, false, false, true}, Case{"minikv", 31, true, true, true}),
    [](const auto& row) {
      return std::string(row.param.recipe) + (row.param.is_tight ? "_tight" : "") +
             (row.param.has_reach ? "_reach" : "") + (row.param.has_states ? "_states" : "");
    });

}  // namespace
}  // namespace satchel::kvcache
