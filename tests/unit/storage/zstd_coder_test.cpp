// Tight records with the coder that ships: zstd.
#include "storage/kv/zstd_coder.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "fixtures.h"
#include "kernels/base/half.h"
#include "kernels/base/rng.h"
#include "kvcache/snapshot/record.h"
#include "support/source_dir.h"

namespace satchel::storage {
namespace {

using Bytes = std::vector<std::byte>;
const ZstdCoder kZstd;

// fp16 numbers as keys have them: of every sign and size, few sizes often.
Bytes halves(std::size_t n) {
  Rng rng(3);
  Bytes bytes;
  for (std::size_t i = 0; i < n; ++i) {
    const double sum = rng.uniform() + rng.uniform() + rng.uniform() + rng.uniform() - 2;
    const Half value = float_to_half(static_cast<float>(sum));
    bytes.push_back(static_cast<std::byte>(value & 0xffu));
    bytes.push_back(static_cast<std::byte>(value >> 8));
  }
  return bytes;
}
bool decodes(std::span<const std::byte> from, std::span<std::byte> to) {
  const kvcache::CodedStream stream{.from = from, .to = to};
  return kZstd.decode({&stream, 1});
}

TEST(ZstdCoder, gives_back_just_what_it_was_given_or_says_that_it_cannot) {
  Bytes plain(5000);
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::byte>(i * i % 7);
  Bytes coded(plain.size());
  const std::size_t n = kZstd.encode(plain, coded);
  ASSERT_GT(n, 0u);
  coded.resize(n);
  Bytes back(plain.size());
  EXPECT_TRUE(decodes(coded, back));
  EXPECT_EQ(back, plain);
  Bytes shorter(plain.size() - 1), longer(plain.size() + 1);
  EXPECT_FALSE(decodes(coded, shorter));
  EXPECT_FALSE(decodes(coded, longer));
  for (std::size_t cut = 0; cut < n; ++cut)
    EXPECT_FALSE(decodes(std::span(coded).first(cut), back)) << cut;
  Bytes little(n / 2);
  EXPECT_EQ(kZstd.encode(plain, little), 0u);
}

TEST(ZstdCoder, a_tight_record_lies_in_the_file_as_small_as_the_list_of_caches_says) {
  const TempFolder folder;
  const auto store = open_store(folder);
  KvStore& kv = *store->kv();
  const kvcache::CacheKey key = kvcache::CacheKey::named("document");
  const Bytes values = halves(100'000);
  const kvcache::RecordItem item{.n_bytes = static_cast<std::uint32_t>(values.size())};
  const Bytes plain = kvcache::encode_record(kvcache::RecordKind::tails, 1, {&item, 1}, values);
  const kvcache::Cut cut = kvcache::cut_exact({.head_dim = values.size() / 4}, 1);
  ASSERT_NE(kv.coder(), nullptr);
  const Bytes tight = kvcache::tighten_record(plain, {&cut, 1}, *kv.coder());
  ASSERT_TRUE(kvcache::is_tight(tight));
  EXPECT_LT(tight.size(), plain.size() * 9 / 10);
  must(kv.put_record(key, 1, tight));
  EXPECT_EQ(record_bytes(kv, key), tight.size());
  EXPECT_EQ(must(kv.list()).front().record_bytes, tight.size());

  const Bytes read = must(kv.record(key, 1));
  kvcache::RecordCapacity capacity;
  const kvcache::Record record = must(kvcache::decode_record(read, kv.coder(), capacity));
  EXPECT_TRUE(std::ranges::equal(record.values, values));
}

TEST(ZstdCoder, a_tight_record_of_format_3_is_read) {
  const std::string row = read_file(test::source_dir() + "/tests/golden/snapshot/tails_v3.bin");
  kvcache::RecordCapacity capacity;
  const kvcache::Record record =
      must(kvcache::decode_record(std::as_bytes(std::span(row)), &kZstd, capacity));
  EXPECT_EQ(record.kind, kvcache::RecordKind::tails);
  EXPECT_EQ(record.id, 7u);
  EXPECT_TRUE(std::ranges::equal(record.values, halves(6000)));
}

}  // namespace
}  // namespace satchel::storage
