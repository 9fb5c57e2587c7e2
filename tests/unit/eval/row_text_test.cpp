// Stretches of text placed where they were not read, and read again there: against reading them
// there, through the model's own prefill and through the cache.
#include "app/eval/measure/row_text.h"

#include <gtest/gtest.h>

#include "app/eval/measure/composition.h"
#include "app/eval/measure/passes.h"
#include "runtime/fidelity/fidelity.h"
#include "runtime/model/model.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::eval {
namespace {

using namespace runtime;  // what tests share
using Ids = std::vector<std::int32_t>;

constexpr std::size_t kHead = 24, kDocument = 300;

class Rows : public testing::Test {
 protected:
  Rows() : ids_(value_of(raw_ids(engine_.tokenizer(), held_out_notes()))) {
    EXPECT_GE(ids_.size(), kHead + 2 * kDocument + 20);
  }
  RowText text() { return value_of(RowText::open(engine_, kHead + 2 * kDocument + 20, {})); }
  Ids part(std::size_t first, std::size_t n) const {
    const auto begin = ids_.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(n)};
  }
  Ids head() const { return part(0, kHead); }
  Ids document(std::size_t which) const { return part(kHead + which * kDocument, kDocument); }
  Ids question() const { return part(kHead + 2 * kDocument, 20); }
  StretchRows read_apart(const Ids& document) {
    RowText apart = text();
    EXPECT_TRUE(apart.read(head(), 0).ok());
    EXPECT_TRUE(apart.read(document, 0).ok());
    return value_of(apart.rows(kHead, document.size()));
  }
  // The second document before the first.
  RowText placed() {
    RowText text = this->text();
    EXPECT_TRUE(text.read(head(), 0).ok());
    for (const std::size_t which : {1u, 0u})
      EXPECT_TRUE(text.place(read_apart(document(which))).ok());
    return text;
  }
  RowText read() {
    RowText text = this->text();
    Ids all = document(1);
    for (const std::int32_t id : document(0)) all.push_back(id);
    EXPECT_TRUE(text.read(head(), 0).ok());
    EXPECT_TRUE(text.read(all, 0).ok());
    return text;
  }
  double kl(const std::vector<float>& exact, const std::vector<float>& other) {
    return compare_logits(exact, other, engine_.config().n_vocabulary).kl;
  }

  Engine& engine_ = shared_engine();
  const Ids ids_;
};

TEST_F(Rows, reading_gives_the_models_own_logits) {
  const std::vector<float> ours = value_of(read().read(question(), 1));
  Ids all = head();
  for (const Ids& more : {document(1), document(0), question()})
    all.insert(all.end(), more.begin(), more.end());
  const auto cache =
      value_of(open_cache(engine_, value_of(kvcache::Recipe::builtin("full")), all.size()));
  std::vector<float> logits(engine_.config().n_vocabulary);
  ASSERT_TRUE(read_document(engine_, *cache, all, {}, logits).ok());
  EXPECT_LT(kl(logits, ours), 1e-5);
}

// Layer 0 makes a key of token and position alone: to move it is to read it there, but for a
// second rounding to fp16. Values do not know where they stand.
TEST_F(Rows, a_key_that_moved_is_the_key_that_is_read_there) {
  const std::size_t n = 2 * kDocument;
  const StretchRows moved = value_of(placed().rows(kHead, n)),
                    there = value_of(read().rows(kHead, n));
  for (std::size_t head = 0; head < engine_.config().layers[0].attention.n_kv_heads; ++head) {
    EXPECT_EQ(moved.v[head], there.v[head]);
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < there.k[head].size(); ++i) {
      const double key = half_to_float(there.k[head][i]);
      worst = std::max(worst, std::abs(key - half_to_float(moved.k[head][i])));
      largest = std::max(largest, std::abs(key));
    }
    EXPECT_LE(worst, 0x1p-10 * largest);
  }
}

TEST_F(Rows, the_first_document_is_at_home) {
  const std::size_t n = kDocument;
  const StretchRows placed_rows = value_of(placed().rows(kHead, n)),
                    read_rows = value_of(read().rows(kHead, n));
  EXPECT_EQ(placed_rows.k, read_rows.k);
  EXPECT_EQ(placed_rows.v, read_rows.v);
}

TEST_F(Rows, all_of_it_read_again_is_reading) {
  RowText text = placed();
  EXPECT_EQ(value_of(text.reread_changed(kHead, 1)), 1);
  const StretchRows again = value_of(text.rows(0, text.n_tokens())),
                    there = value_of(read().rows(0, text.n_tokens()));
  EXPECT_EQ(again.k, there.k);
  EXPECT_EQ(again.v, there.v);
}

TEST_F(Rows, nothing_read_again_is_what_was_placed) {
  RowText text = placed();
  EXPECT_EQ(value_of(text.reread_changed(kHead, 0)), 0);
  ASSERT_TRUE(text.reread({}).ok());
  const StretchRows now = value_of(text.rows(0, text.n_tokens())),
                    before = value_of(placed().rows(0, text.n_tokens()));
  EXPECT_EQ(now.k, before.k);
  EXPECT_EQ(now.v, before.v);
}

// A token that is read again sees what stands before it, and nothing behind.
TEST_F(Rows, what_stands_behind_a_token_is_not_seen) {
  const Ids again = {kHead + 3, kHead + 40, kHead + 41, kHead + kDocument + 9};
  RowText text = placed();
  ASSERT_TRUE(text.reread(again).ok());
  const StretchRows rows = value_of(text.rows(0, kHead + kDocument + 10));
  RowText other = placed();
  other.truncate(kHead + kDocument + 10);
  const Ids noise(kDocument - 10, 7);
  ASSERT_TRUE(other.read(noise, 0).ok());
  ASSERT_TRUE(other.reread(again).ok());
  const StretchRows with_noise = value_of(other.rows(0, kHead + kDocument + 10));
  EXPECT_EQ(rows.k, with_noise.k);
  EXPECT_EQ(rows.v, with_noise.v);
}

// Shares of all that a token can see add up to one, and reading so is reading.
TEST_F(Rows, attention_to_all_stretches_is_all_of_it) {
  RowText text = this->text();
  ASSERT_TRUE(text.read(head(), 0).ok());
  ASSERT_TRUE(text.read(document(1), 0).ok());
  const std::size_t begin = text.n_tokens(), n = kDocument;
  const IndexRange stretches[] = {{0, kHead}, {kHead, begin}, {begin, begin + n}};
  const auto shares = value_of(text.read_seeing(document(0), stretches));
  ASSERT_EQ(shares.size(), 3u);
  for (std::size_t t = 0; t < n; ++t)
    EXPECT_NEAR(shares[0][t] + shares[1][t] + shares[2][t], 1, 1e-3) << t;
  EXPECT_GT(shares[1][n - 1], 0);
  const StretchRows rows = value_of(text.rows(begin, n)), there = value_of(read().rows(begin, n));
  EXPECT_EQ(rows.k, there.k);
  EXPECT_EQ(rows.v, there.v);
}

TEST_F(Rows, what_changed_most_is_read_again_and_brings_it_nearer) {
  const std::vector<float> exact = value_of(read().read(question(), 20));
  std::vector<double> far;
  for (const double share : {0.0, 0.2, 0.6}) {
    RowText text = placed();
    const double done = value_of(text.reread_changed(kHead, share));
    const double n_layers = double(engine_.config().n_layers());
    EXPECT_NEAR(done, share > 0 ? (1 + share * (n_layers - 1)) / n_layers : 0, 0.01);
    far.push_back(kl(exact, value_of(text.read(question(), 20))));
  }
  EXPECT_GT(far[0], far[1]);
  EXPECT_GT(far[1], far[2]);
}

TEST_F(Rows, attention_says_what_is_looked_at) {
  RowText text = read();
  const std::size_t n = text.n_tokens();
  const std::vector<float> seen = value_of(text.attention(question()));
  ASSERT_EQ(seen.size(), n);
  EXPECT_EQ(text.n_tokens(), n);
  double sum = 0;
  for (const float share : seen) sum += share;
  std::size_t n_lanes = 0;
  for (const auto& layer : engine_.config().layers) n_lanes += layer.attention.n_kv_heads;
  EXPECT_LT(sum, double(20 * n_lanes));  // the rest is on the question itself
  EXPECT_GT(sum, double(10 * n_lanes));
}

// CacheEdit::place() moves pages of a chat's cache by a shift; here keys are rotated themselves.
TEST_F(Rows, a_cache_that_places_pages_answers_alike) {
  const auto full = value_of(kvcache::Recipe::builtin("full"));
  const auto arena = value_of(large_arena(engine_, full, 4 * kDocument));
  const auto open = [&] {
    return value_of(kvcache::Cache::open(arena, engine_.config().cache_shape(), full));
  };
  std::vector<float> logits(engine_.config().n_vocabulary);
  const auto cache = open();
  ASSERT_TRUE(read_document(engine_, *cache, head(), {}, {}).ok());
  for (const std::size_t which : {1u, 0u}) {
    const auto apart = open();
    Ids ids = head();
    const Ids more = document(which);
    ids.insert(ids.end(), more.begin(), more.end());
    ASSERT_TRUE(read_document(engine_, *apart, ids, {}, {}).ok());
    ASSERT_TRUE(cache->edit().place(kHead, kDocument, apart->state()).ok());
  }
  for (const std::int32_t id : question())
    ASSERT_TRUE(engine_.model().decode_step(*cache, id, logits).ok());
  EXPECT_LT(kl(logits, value_of(placed().read(question(), 1))), 1e-5);
}

TEST(Largest, ties_go_to_the_lower_index) {
  const std::vector<float> values = {1, 3, 3, 2, 3};
  EXPECT_EQ(largest(values, 0.4), (Ids{1, 2}));
  EXPECT_EQ(largest(values, 0.5), (Ids{1, 2, 4}));
  EXPECT_EQ(largest(values, 0), Ids{});
  EXPECT_EQ(largest(values, 1), (Ids{0, 1, 2, 3, 4}));
}

TEST_F(Rows, a_composition_is_measured_against_reading) {
  const Composition composition{.head = head(),
                                .documents = {{.ids = document(1)}, {.ids = document(0)}},
                                .questions = {{.ids = question(), .n_tokens_max = 8}}};
  using Of = RereadWay::Of;
  const std::vector<RereadWay> ways = {{},
                                       {.of = Of::first, .n_first = 30},
                                       {.of = Of::changed, .share = 1},
                                       {.of = Of::asked, .share = 0.1}};
  const auto figures = value_of(measure_composition(engine_, composition, ways, {}));
  ASSERT_EQ(figures.size(), 5u);
  EXPECT_EQ(figures[0].reread, 1);
  EXPECT_EQ(figures[0].compared.n, 0u);
  EXPECT_EQ(figures[1].reread, 0);
  EXPECT_GT(figures[1].compared.kl_sum, 0);
  EXPECT_NEAR(figures[2].reread, 0.05, 1e-9);
  EXPECT_EQ(figures[3].reread, 1);
  EXPECT_EQ(figures[3].compared.kl_sum, 0);
  EXPECT_EQ(figures[3].compared.n_same, double(figures[3].compared.n));
  EXPECT_NEAR(figures[4].reread, 0.1, 1e-9);
  for (const ComposedFigures& of : figures) {
    EXPECT_GT(of.first_token_ms, 0);
    EXPECT_EQ(of.n_judged, 0u);
  }
}

// In the order told nothing has changed; in another one the factor says how much is read again, and
// all of it is reading.
TEST_F(Rows, what_depended_on_its_context_is_read_again_in_another) {
  Composition composition{
      .head = head(),
      .documents = {{.ids = document(0), .told = 0}, {.ids = document(1), .told = 1}},
      .questions = {{.ids = question(), .n_tokens_max = 4}}};
  using Of = RereadWay::Of;
  const std::vector<RereadWay> ways = {{.of = Of::context, .share = 0},
                                       {.of = Of::context, .share = 0.1},
                                       {.of = Of::context, .share = 100}};
  const auto same = value_of(measure_composition(engine_, composition, ways, {}));
  for (std::size_t i = 1; i < same.size(); ++i) {
    EXPECT_EQ(same[i].reread, 0);
    EXPECT_EQ(same[i].compared.kl_sum, 0);
  }
  std::swap(composition.documents[0], composition.documents[1]);
  const auto other = value_of(measure_composition(engine_, composition, ways, {}));
  EXPECT_EQ(other[1].reread, 0);
  EXPECT_GT(other[1].compared.kl_sum, 0);
  EXPECT_GT(other[2].reread, 0.04);  // the first had no context: half of .1; the second more
  EXPECT_LE(other[2].reread, 0.1 + 2.0 / (2 * kDocument));
  EXPECT_EQ(other[3].reread, 1);
  EXPECT_EQ(other[3].compared.kl_sum, 0);
}

// What stands before the edit is as it was; what stands behind it has seen the old text.
TEST_F(Rows, an_edited_text_is_measured_against_reading) {
  const Ids before = part(kHead, 50), inserted = part(7, 9);
  const Composition composition{.head = head(),
                                .documents = {{.ids = before},
                                              {.ids = inserted, .is_new = true},
                                              {.ids = part(kHead + 50, 200), .behind = before}},
                                .questions = {{.ids = question(), .n_tokens_max = 4}}};
  const std::vector<RereadWay> ways = {{}, {.of = RereadWay::Of::first, .n_first = 20}};
  const auto figures = value_of(measure_composition(engine_, composition, ways, {}));
  EXPECT_GT(figures[1].compared.kl_sum, 0);
  EXPECT_NEAR(figures[2].reread, 20.0 / 259, 1e-9);
  // Nothing inserted: nothing has moved.
  Composition same = composition;
  same.documents.erase(same.documents.begin() + 1);
  const auto unchanged = value_of(measure_composition(engine_, same, ways, {}));
  EXPECT_EQ(unchanged[1].compared.kl_sum, 0);
  EXPECT_EQ(unchanged[2].reread, 0);
}

}  // namespace
}  // namespace satchel::eval
