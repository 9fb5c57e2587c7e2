// Page selectors that choose tokens: golden cases by hand and by brute force, and what a cache
// reads under them in a step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "cache_driver.h"
#include "kernels/base/rng.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {
namespace {

using testing::ElementsAre;
using Positions = std::vector<std::int32_t>;

// Pages of keys of one lane, and what a reader reads of them; positions count on from 0.
class ReadPages {
 public:
  ReadPages(const std::string& reader, const std::string& params, std::size_t head_dim)
      : reader_(make<Reader>(StageKind::reader, reader, params)), head_dim_(head_dim) {}

  void add(const std::vector<float>& k) {
    const std::size_t n = k.size() / head_dim_;
    reader_->note(k, head_dim_, notes_.emplace_back(reader_->note_bytes(head_dim_)));
    const auto first = static_cast<std::int32_t>(positions_.size());
    for (std::size_t t = 0; t < n; ++t) positions_.push_back(first + static_cast<std::int32_t>(t));
    pages.push_back({.n_tokens = static_cast<std::uint32_t>(n),
                     .live = kernels::LiveMask::first(n),
                     .first_position = first,
                     .last_position = positions_.back()});
  }
  Positions read(std::size_t layer, const std::vector<float>& q,
                 const std::vector<float>& attention = {}) {
    std::vector<std::span<const std::byte>> notes(notes_.begin(), notes_.end());
    std::vector<kernels::LiveMask> masks;
    for (const kernels::PageView& page : pages) masks.push_back(page.live);
    std::vector<float> work(2 * positions_.size());
    std::vector<std::size_t> chosen;
    reader_->choose({.layer = layer,
                     .scale = 1,
                     .q = q,
                     .head_dim = head_dim_,
                     .notes = notes,
                     .pages = pages,
                     .work = work,
                     .read = masks,
                     .positions = positions_,
                     .attention = attention,
                     .carried = &carried},
                    chosen);
    Positions out;
    std::size_t slot = 0;
    for (std::size_t i = 0; i < pages.size(); ++i)
      for (std::size_t t = 0; t < pages[i].n_tokens; ++t, ++slot)
        if (std::ranges::count(chosen, i) > 0 && masks[i].has(t)) out.push_back(positions_[slot]);
    return out;
  }
  const Reader& reader() const { return *reader_; }

  std::vector<kernels::PageView> pages;
  Reader::Carried carried;

 private:
  std::unique_ptr<Reader> reader_;
  std::size_t head_dim_;
  std::vector<std::vector<std::byte>> notes_;
  Positions positions_;
};

// Three pages of two tokens; the readers' notes do not matter.
ReadPages tidal(const std::string& params) {
  ReadPages pages("tidal", params, 2);
  for (int i = 0; i < 3; ++i) pages.add({1, 0, 0, 1});
  return pages;
}
constexpr const char* kTwo = R"({"tokens": 2, "select": 1, "again": 4})";

TEST(TidalReader, later_layers_read_exactly_what_the_selecting_layer_attended_to_most) {
  ReadPages pages = tidal(kTwo);
  EXPECT_FALSE(pages.reader().needs_attention(0, pages.carried));
  EXPECT_THAT(pages.read(0, {1, 0}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_TRUE(pages.reader().needs_attention(1, pages.carried));
  const std::vector<float> attention = {.1f, .3f, .05f, .2f, .3f, .05f};
  EXPECT_THAT(pages.read(1, {1, 0}, attention), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(pages.carried.positions, ElementsAre(1, 4));
  for (const std::size_t layer : {2u, 3u}) {
    EXPECT_FALSE(pages.reader().needs_attention(layer, pages.carried));
    EXPECT_THAT(pages.read(layer, {1, 0}), ElementsAre(1, 4));
  }
  EXPECT_TRUE(pages.reader().needs_attention(4, pages.carried));
  // Ties go to the lower position.
  EXPECT_EQ(pages.read(4, {1, 0}, {.1f, .1f, .1f, .1f, .1f, .1f}).size(), 6u);
  EXPECT_THAT(pages.read(5, {1, 0}), ElementsAre(0, 1));
}

TEST(TidalReader, evicted_positions_are_not_read_and_the_newest_stand_in_for_them) {
  ReadPages pages = tidal(kTwo);
  pages.read(1, {1, 0}, {.1f, .3f, .05f, .2f, .3f, .05f});
  pages.pages[0].live.clear(1);  // this lane does not hold position 1
  EXPECT_THAT(pages.read(2, {1, 0}), ElementsAre(4, 5));
  pages.pages[2].live.clear(1);
  EXPECT_THAT(pages.read(2, {1, 0}), ElementsAre(3, 4));
}

TEST(TidalReader, a_lane_that_no_layer_has_selected_for_is_read_whole) {
  ReadPages pages = tidal(kTwo);
  EXPECT_THAT(pages.read(0, {1, 0}), ElementsAre(0, 1, 2, 3, 4, 5));
  ReadPages enough = tidal(R"({"tokens": 6, "select": 0})");
  enough.carried = {.is_set = true, .positions = {0}};
  EXPECT_THAT(enough.read(2, {1, 0}), ElementsAre(0, 1, 2, 3, 4, 5));
}

std::vector<float> random_keys(std::size_t n, Rng& rng) {
  std::vector<float> k(n);
  for (float& x : k) x = static_cast<float>(rng.uniform() * 2 - 1);
  return k;
}

TEST(DoubleSparsityReader, finds_the_token_in_a_channel_that_stands_out) {
  constexpr std::size_t kDim = 16;
  Rng rng(3);
  ReadPages pages("double_sparsity", R"({"tokens": 1, "channels": 16, "dense_layers": 0})", kDim);
  for (int page = 0; page < 3; ++page) {
    std::vector<float> k(32 * kDim);
    for (float& x : k) x = static_cast<float>(rng.uniform() * .02 - .01);
    for (std::size_t t = 0; t < 32; ++t) k[t * kDim + 5] = static_cast<float>(rng.uniform());
    if (page == 1) k[20 * kDim + 5] = 4;
    pages.add(k);
  }
  std::vector<float> q(kDim, .1f);
  q[5] = 2;
  EXPECT_THAT(pages.read(3, q), ElementsAre(32 + 20));
  q[5] = -2;
  EXPECT_EQ(std::ranges::count(pages.read(3, q), 32 + 20), 0);
}

// With all channels at 16 bits the labels are the keys.
TEST(DoubleSparsityReader, has_the_order_of_the_true_products_where_labels_are_keys) {
  constexpr std::size_t kDim = 16, kTokens = 96;
  Rng rng(5);
  for (std::size_t round = 0; round < 20; ++round) {
    const std::size_t n_best = 1 + rng.next() % 40;
    ReadPages pages("double_sparsity",
                    "{\"tokens\": " + std::to_string(n_best) +
                        R"(, "channels": 1, "bits": 16, "dense_layers": 0})",
                    kDim);
    std::vector<float> products;
    const std::vector<float> q = random_keys(kDim, rng);
    for (int page = 0; page < 2; ++page) {
      const std::vector<float> k = random_keys(kTokens * kDim, rng);
      for (std::size_t t = 0; t < kTokens; ++t)
        products.push_back(std::inner_product(q.begin(), q.end(), k.begin() + long(t * kDim), 0.f));
      pages.add(k);
    }
    std::vector<float> falling = products;
    std::ranges::sort(falling, std::greater<>());
    const float least = falling[n_best - 1];
    const Positions read = pages.read(3, q);
    ASSERT_EQ(read.size(), n_best);
    for (const std::int32_t at : read)  // but for the halves in which a note has mean and scale
      EXPECT_GT(products[static_cast<std::size_t>(at)], least - .02f);
  }
}

TEST(DoubleSparsityReader, reads_all_where_the_budget_covers_it_and_what_has_moved) {
  Rng rng(7);
  ReadPages pages("double_sparsity", R"({"tokens": 20, "channels": 4, "dense_layers": 1})", 16);
  for (int page = 0; page < 2; ++page) pages.add(random_keys(10 * 16, rng));
  const std::vector<float> q = random_keys(16, rng);
  EXPECT_EQ(pages.read(3, q).size(), 20u);
  pages.add(random_keys(10 * 16, rng));
  EXPECT_EQ(pages.read(3, q).size(), 20u);
  EXPECT_EQ(pages.read(0, q).size(), 30u) << "a dense layer";
  pages.pages[0].shift = 3;
  const Positions read = pages.read(3, q);
  EXPECT_TRUE(std::ranges::includes(read, Positions{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

// --- in a cache ----------------------------------------------------------------------------------

std::string recipe_of(const std::string& reader, double keep = 1) {
  const std::string rest =
      R"("codec": {"k": "exact", "v": "exact"}, "source": "", "differs": "", "recipe": 1, )";
  if (keep == 1)
    return R"({"name": "test", "trigger": "never", )" + rest + R"("reader": )" + reader + "}";
  return R"({"name": "test", "trigger": "end_of_prompt", "scorer": {"use": "attention_window",
            "window": 32}, "filter": [{"use": "protect", "sinks": 4, "tail": 128}],
            "allocator": "uniform", "assigner": "top_k", "merger": "none", "keep": )" +
         std::to_string(keep) + ", " + rest + R"("reader": )" + reader + "}";
}

// One step's attention of every layer, as a model has it.
std::vector<std::vector<float>> step_of(CacheDriver& driver, std::vector<Positions>* seen) {
  Cache& cache = driver.cache();
  std::vector<std::vector<float>> out;
  EXPECT_TRUE(cache.begin_step().ok());
  const std::size_t position = cache.n_tokens();
  for (std::size_t layer = 0; layer < driver.shape().n_layers(); ++layer) {
    EXPECT_TRUE(
        cache.append(layer, driver.k(layer, position).data(), driver.v(layer, position).data())
            .ok());
    EXPECT_TRUE(cache.choose_pages(layer, driver.q(layer, position).data()).ok());
    out.push_back(driver.attended(layer, position));
    for (std::size_t head = 0; seen != nullptr && head < 2; ++head) {
      Positions& of_lane = seen->emplace_back();
      for (const auto& [at, token] : driver.see(layer, head)) of_lane.push_back(at);
    }
  }
  EXPECT_TRUE(cache.end_step().ok());
  return out;
}

class TokenReaderInCache : public testing::TestWithParam<const char*> {};

TEST_P(TokenReaderInCache, equals_reading_all_bit_for_bit_where_the_budget_covers_it) {
  const std::string reader = R"({"use": ")" + std::string(GetParam()) + R"(", "tokens": 900})";
  for (const double keep : {1.0, 0.5}) {
    CacheDriver some({.recipe = recipe_of(reader, keep), .n_layers = 5, .backend = "cpu"});
    CacheDriver all({.recipe = recipe_of(R"("all")", keep), .n_layers = 5, .backend = "cpu"});
    for (CacheDriver* driver : {&some, &all}) {
      driver->check_attention = false;
      ASSERT_TRUE(driver->read(800).ok());
    }
    EXPECT_EQ(step_of(some, nullptr), step_of(all, nullptr));
  }
}

TEST_P(TokenReaderInCache, reads_its_budget_of_what_the_lane_holds) {
  const std::string reader = R"({"use": ")" + std::string(GetParam()) + R"(", "tokens": 100})";
  for (const double keep : {1.0, 0.5}) {
    CacheDriver driver({.recipe = recipe_of(reader, keep), .n_layers = 5});
    driver.check_attention = false;
    ASSERT_TRUE(driver.read(800).ok());
    std::vector<Positions> before, seen;
    for (std::size_t lane = 0; lane < 10; ++lane) before.push_back(driver.kept(lane / 2, lane % 2));
    step_of(driver, &seen);
    for (std::size_t lane = 0; lane < 10; ++lane) {
      Positions held = before[lane];
      held.push_back(800);
      const Lane& of = driver.lane(lane / 2, lane % 2);
      EXPECT_TRUE(std::ranges::includes(held, seen[lane])) << "evicted tokens stay unread";
      const bool reads_all = lane / 2 < 2 || (GetParam() == std::string("tidal") && lane / 2 == 2);
      EXPECT_EQ(seen[lane].size(), reads_all ? held.size() : of.n_sinks() + of.n_tail() + 100)
          << "lane " << lane;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Readers, TokenReaderInCache, testing::Values("tidal", "double_sparsity"));

// Layer 2 selects; layers 3 and 4 read what its query attends to most, by plain loops.
TEST(TidalReader, in_a_cache_reads_what_layer_two_attended_to_most) {
  CacheDriver driver(
      {.recipe = recipe_of(R"({"use": "tidal", "tokens": 60, "again": 9})"), .n_layers = 5});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(700).ok());
  std::vector<Positions> seen;
  const std::vector<float> q = driver.q(2, 700);
  step_of(driver, &seen);
  const LayerShape& shape = driver.shape().layers[2];
  for (std::size_t head = 0; head < 2; ++head) {
    const SeenLane all = driver.see(2, head);
    std::map<std::int32_t, double> share;
    for (std::size_t h = head * shape.n_group(); h < (head + 1) * shape.n_group(); ++h) {
      const Attended of = attend_plainly(q.data() + h * shape.head_dim, shape, 700, all);
      for (const auto& [at, weight] : of.weights) share[at] = std::max(share[at], weight);
    }
    const Lane& lane = driver.lane(3, head);
    const auto is_exact = [&](std::int32_t at) {
      return at < std::int32_t(lane.n_sinks()) || at > 700 - std::int32_t(lane.n_tail());
    };
    std::vector<std::pair<double, std::int32_t>> order;
    for (const auto& [at, of] : share)
      if (!is_exact(at)) order.emplace_back(-of, at);
    std::ranges::sort(order);
    Positions expected;
    for (std::size_t i = 0; i < 60; ++i) expected.push_back(order[i].second);
    std::ranges::sort(expected);
    for (const std::size_t layer : {3u, 4u}) {
      Positions read = seen[layer * 2 + head];
      std::erase_if(read, is_exact);
      EXPECT_EQ(read, expected) << "layer " << layer << ", head " << head;
    }
  }
}

}  // namespace
}  // namespace satchel::kvcache
