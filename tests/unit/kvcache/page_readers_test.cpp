// Page selectors: golden cases worked out by hand, and pages in the order of their true attention
// where a note leaves nothing out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/base/rng.h"
#include "kvcache/stages/page_reader.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/noted_pages.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {
namespace {

using testing::ElementsAre;
using Keys = std::vector<std::vector<float>>;

// Pages of keys of head_dim 2, read with one page at least.
std::vector<std::size_t> quest(const std::vector<std::vector<float>>& pages, std::vector<float> q,
                               const std::string& params) {
  const auto reader = make<Reader>(StageKind::reader, "quest", params);
  return NotedPages(*reader, pages, 2).choose(*reader, q);
}
constexpr const char* kOnePage = "{\"tokens\": 1, \"pages\": 1}";

// arXiv:2406.10774: the box (-1, -2) to (1, 3) has the bound 4 for (2, -1), though no key gives
// more than 4, and for (1, 1), though no key gives more than 2.
TEST(Quest, bounds_a_page_by_its_box) {
  const std::vector<float> box = {1, -2, -1, 3};
  for (const auto& q : {std::vector<float>{2, -1}, std::vector<float>{1, 1}}) {
    const float square = q[0] * q[0] + q[1] * q[1];
    const auto key = [&](float product) {  // a page of one key with this product
      return std::vector<float>{product * q[0] / square, product * q[1] / square};
    };
    EXPECT_THAT(quest({key(3.9f), box}, q, kOnePage), ElementsAre(1));
    EXPECT_THAT(quest({key(4.1f), box}, q, kOnePage), ElementsAre(0));
  }
}

TEST(Quest, weighs_a_page_of_one_key_by_its_product) {
  const auto reader = make<Reader>(StageKind::reader, "quest", kOnePage);
  Rng rng(3);
  const auto some = [&](std::size_t n) {
    std::vector<float> values(n);
    for (float& x : values) x = static_cast<float>(rng.uniform() * 4 - 2);
    return values;
  };
  for (const std::size_t dim : {1u, 7u, 8u, 20u, 64u, 100u})
    for (int round = 0; round < 20; ++round) {
      const std::vector<float> q = some(dim);
      std::vector<std::vector<float>> pages;
      std::vector<double> products;
      for (int page = 0; page < 9; ++page) {
        pages.push_back(some(dim));
        products.push_back(std::inner_product(q.begin(), q.end(), pages.back().begin(), 0.0));
      }
      const std::size_t chosen = NotedPages(*reader, pages, dim).choose(*reader, q).at(0);
      // Boxes are rounded outward.
      EXPECT_GT(products[chosen], std::ranges::max(products) - 0.01 * static_cast<double>(dim));
    }
}

TEST(Quest, lets_no_loud_query_head_take_all) {
  // Head 0 finds pages 0 and 1 alike and loud; head 1 wants page 2 and nothing else.
  const std::vector<std::vector<float>> pages = {{10, 0}, {10, 0}, {0, 4}};
  EXPECT_THAT(quest(pages, {1, 0, 0, 2}, kOnePage), ElementsAre(2));
}

TEST(Quest, reads_all_where_the_budget_covers_all_and_pages_that_moved) {
  const std::vector<std::vector<float>> pages = {{1, 0}, {2, 0}, {3, 0}, {4, 0}};
  EXPECT_THAT(quest(pages, {1, 0}, "{\"tokens\": 4}"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(quest(pages, {1, 0}, "{\"tokens\": 1}"), ElementsAre(1, 2, 3));  // 3 pages at least
  EXPECT_THAT(quest(pages, {1, 0}, "{\"tokens\": 1, \"pages\": 1, \"dense_layers\": 6}"),
              ElementsAre(0, 1, 2, 3));
}

TEST(Quest, boxes_hold_every_key_of_theirs) {
  const auto reader = make<Reader>(StageKind::reader, "quest", "{\"box\": 16}");
  Rng rng(2);
  constexpr std::size_t kDim = 32;
  for (std::size_t round = 0; round < 50; ++round) {
    const std::size_t n = 1 + rng.next() % 128;
    std::vector<float> k(n * kDim);
    for (float& x : k) x = static_cast<float>(rng.uniform() * 200 - 100);
    std::vector<std::byte> note(reader->note_bytes(kDim));
    reader->note(k, kDim, note);
    const auto* boxes = reinterpret_cast<const Half*>(note.data());
    for (std::size_t i = 0; i < k.size(); ++i) {
      const Half* low = boxes + i / kDim / 16 * 2 * kDim + i % kDim;
      ASSERT_LE(half_to_float(low[0]), k[i]);
      ASSERT_GE(half_to_float(low[kDim]), k[i]);
    }
  }
}

// --- others --------------------------------------------------------------------------------------

constexpr std::size_t kDim = 16;

// Pages by the largest share of attention that a head of q gives them, from the keys themselves.
std::vector<std::size_t> by_true_share(const Keys& pages, const std::vector<float>& q) {
  std::vector<double> shares(pages.size());
  for (std::size_t head = 0; head < q.size() / kDim; ++head) {
    std::vector<double> sums(pages.size());
    for (std::size_t p = 0; p < pages.size(); ++p)
      for (std::size_t first = 0; first < pages[p].size(); first += kDim) {
        double logit = 0;
        for (std::size_t c = 0; c < kDim; ++c)
          logit += static_cast<double>(q[head * kDim + c] * pages[p][first + c]);
        sums[p] += std::exp(logit);
      }
    const double all = std::accumulate(sums.begin(), sums.end(), 0.0);
    for (std::size_t p = 0; p < pages.size(); ++p) shares[p] = std::max(shares[p], sums[p] / all);
  }
  std::vector<std::size_t> order(pages.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  return order;
}

// Every prefix of the true order is what the reader reads with so many pages.
void expect_true_order(const char* name, const std::string& params, const Keys& pages,
                       const std::vector<float>& q) {
  std::vector<std::size_t> order = by_true_share(pages, q);
  for (std::size_t n = 1; n < pages.size(); ++n) {
    const auto reader = make<Reader>(
        StageKind::reader, name, "{\"tokens\": 1, \"pages\": " + std::to_string(n) + params + "}");
    std::vector<std::size_t> expected(order.begin(),
                                      order.begin() + static_cast<std::ptrdiff_t>(n));
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(NotedPages(*reader, pages, kDim).choose(*reader, q), expected) << name << ", " << n;
  }
}

// Numbers that fp16 and their means keep.
float some_number(Rng& rng) {
  return static_cast<float>(rng.next() % 33) / 16 - 1;
}
std::vector<float> some_key(Rng& rng) {
  std::vector<float> key(kDim);
  for (float& x : key) x = some_number(rng);
  return key;
}
std::vector<float> some_queries(Rng& rng) {
  std::vector<float> q;
  for (int head = 0; head < 3; ++head)
    for (const float x : some_key(rng)) q.push_back(x);
  return q;
}
// Pages of 96 tokens: keys[order(t)] of so many different ones.
template <class Order>
Keys pages_of(Rng& rng, std::size_t n_different, const Order& order) {
  Keys pages(9);
  for (std::vector<float>& page : pages) {
    Keys keys;
    for (std::size_t i = 0; i < n_different; ++i) keys.push_back(some_key(rng));
    for (std::size_t t = 0; t < 96; ++t) {
      const std::vector<float>& key = keys[order(t)];
      page.insert(page.end(), key.begin(), key.end());
    }
  }
  return pages;
}

TEST(PageReaders, order_pages_by_their_attention_where_groups_are_of_equal_keys) {
  Rng rng(4);
  for (int round = 0; round < 20; ++round) {
    const Keys grouped = pages_of(rng, 3, [](std::size_t t) { return t / 32; });
    const Keys mixed = pages_of(rng, 6, [](std::size_t t) { return t * t % 6; });
    const std::vector<float> q = some_queries(rng);
    expect_true_order("shadowkv", ", \"outliers\": 0", grouped, q);
    expect_true_order("shadowkv", "", grouped, q);  // outliers count once
    expect_true_order("retroinfer", "", mixed, q);
  }
}

TEST(PageReaders, order_pages_by_their_attention_where_codewords_are_all_keys) {
  Rng rng(5);
  for (int round = 0; round < 20; ++round) {
    Keys pages = pages_of(rng, 16, [](std::size_t t) { return t % 16; });
    for (std::vector<float>& page : pages)  // signed bytes, the largest 127: the scale is 1 / 64
      for (std::size_t i = 0; i < page.size(); ++i)
        page[i] = i % (16 * kDim) < kDim ? 127.0f / 64 : std::round(page[i] * 64) / 64;
    const std::vector<float> q = some_queries(rng);
    expect_true_order("a2ats", "", pages, q);
    expect_true_order("a2ats", ", \"width\": 8", pages, q);
  }
}

// Page 1 holds one key that the query looks for among 127 that it does not; page 3 is near to it.
struct Spike {
  Keys pages;
  std::vector<float> q = std::vector<float>(kDim);

  explicit Spike(std::size_t slot = 77) {
    Rng rng(6);
    for (int p = 0; p < 6; ++p) {
      std::vector<float>& page = pages.emplace_back();
      for (std::size_t t = 0; t < 128; ++t) {
        std::vector<float> key(kDim);
        key[0] = 2;
        for (std::size_t c = 2; c < kDim; ++c) key[c] = some_number(rng) / 8;
        if (p == 3) key[1] = 0.25f;
        if (p == 1 && t == slot) key = {0, 2};
        key.resize(kDim);
        page.insert(page.end(), key.begin(), key.end());
      }
    }
    q[1] = 10;
  }
  std::vector<std::size_t> read_by(const char* name, const std::string& params) const {
    const auto reader =
        make<Reader>(StageKind::reader, name, "{\"tokens\": 1, \"pages\": 1" + params + "}");
    return NotedPages(*reader, pages, kDim).choose(*reader, q);
  }
};

TEST(PageReaders, find_a_planted_key_shadowkv_only_through_its_outliers) {
  const Spike spike;
  EXPECT_THAT(by_true_share(spike.pages, spike.q).front(), 1u);
  for (const char* group : {"8", "16", "32", "64"}) {
    const std::string params = std::string(", \"group\": ") + group;
    EXPECT_THAT(spike.read_by("shadowkv", params + ", \"outliers\": 0"), ElementsAre(3)) << group;
    EXPECT_THAT(spike.read_by("shadowkv", params + ", \"outliers\": 1"), ElementsAre(1)) << group;
  }
  EXPECT_THAT(spike.read_by("retroinfer", ""), ElementsAre(1));
  EXPECT_THAT(spike.read_by("a2ats", ""), ElementsAre(1));
}

TEST(PageReaders, do_not_look_for_a_token_that_is_gone) {
  const Spike spike;
  for (const char* name : {"shadowkv", "a2ats"}) {
    const auto reader = make<Reader>(StageKind::reader, name, "{\"tokens\": 1, \"pages\": 1}");
    NotedPages noted(*reader, spike.pages, kDim);
    noted.pages[1].live.clear(77);
    EXPECT_THAT(noted.choose(*reader, spike.q), ElementsAre(3)) << name;
  }
}

// Bounds need one loud key only; a sum knows how many there are.
TEST(PageReaders, retroinfer_counts_how_many_keys_a_centroid_stands_for) {
  const Keys pages = {std::vector<float>(kDim, 0.5f), std::vector<float>(64 * kDim, 0.46875f),
                      std::vector<float>(kDim, 0.25f)};
  const std::vector<float> q(kDim, 0.5f);
  const auto reader =
      make<Reader>(StageKind::reader, "retroinfer", "{\"tokens\": 1, \"pages\": 1}");
  EXPECT_THAT(NotedPages(*reader, pages, kDim).choose(*reader, q), ElementsAre(1));
  const auto quest = make<Reader>(StageKind::reader, "quest", "{\"tokens\": 1, \"pages\": 1}");
  EXPECT_THAT(NotedPages(*quest, pages, kDim).choose(*quest, q), ElementsAre(0));
}

// A budget that covers all: what steps attend to is bit for bit what reading all gives, and a
// smaller budget is not.
TEST(PageReaders, read_bit_for_bit_what_reading_all_does_with_a_budget_for_all) {
  const auto outputs = [](const std::string& reader) {
    const std::string recipe =
        "{ \"recipe\": 1, \"name\": \"t\", \"source\": \"\", \"differs\": \"\", "
        "\"trigger\": \"never\", \"codec\": { \"k\": \"exact\", \"v\": \"exact\" }, "
        "\"reader\": " +
        reader + " }";
    CacheDriver driver({.recipe = recipe});
    driver.check_attention = false;
    EXPECT_TRUE(driver.read(900).ok());
    std::vector<float> all;
    for (std::size_t layer = 0; layer < driver.shape().n_layers(); ++layer) {
      EXPECT_TRUE(driver.cache().choose_pages(layer, driver.q(layer, 900).data()).ok());
      for (const float x : driver.attended(layer, 900)) all.push_back(x);
    }
    return all;
  };
  const std::vector<float> all = outputs("\"all\"");
  for (const char* name : {"quest", "shadowkv", "retroinfer", "a2ats"}) {
    const std::string use = std::string("{ \"use\": \"") + name + "\", \"dense_layers\": 0";
    EXPECT_EQ(outputs(use + ", \"tokens\": 900 }"), all) << name;
    EXPECT_NE(outputs(use + ", \"tokens\": 1, \"pages\": 1 }"), all) << name;
  }
}

TEST(LogSum, is_the_logarithm_of_a_sum_and_passes_over_what_is_no_number) {
  LogSum sum;
  EXPECT_EQ(sum.value(), -std::numeric_limits<double>::infinity());
  for (const double x :
       {std::log(2.0), std::nan(""), std::log(5.0), HUGE_VAL, -HUGE_VAL, std::log(1.0)})
    sum.add(x);
  EXPECT_NEAR(sum.value(), std::log(8.0), 1e-12);
  sum.add(5000);
  EXPECT_EQ(sum.value(), 5000);
}

}  // namespace
}  // namespace satchel::kvcache
