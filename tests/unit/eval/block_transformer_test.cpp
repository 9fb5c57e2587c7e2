// An architecture whose cache grows once a block: logits against PyTorch, and what its lanes hold.
#include "app/eval/block_transformer/block_transformer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/registry/registry.h"
#include "support/lanes.h"
#include "support/value_of.h"

namespace satchel::eval {
namespace {

using Ids = std::vector<std::int32_t>;

// Of tests/oracle/make_block_transformer_fixtures.py.
constexpr std::size_t kVocabulary = 48;
BlockTransformerShape tiny() {
  return {.blocks = {.n_layers = 2,
                     .n_heads = 4,
                     .n_kv_heads = 2,
                     .head_dim = 32,
                     .ffn_width = 96,
                     .width = 128,
                     .n_vocabulary = kVocabulary},
          .tokens = {.n_layers = 2,
                     .n_heads = 2,
                     .n_kv_heads = 2,
                     .head_dim = 32,
                     .ffn_width = 64,
                     .width = 64,
                     .n_vocabulary = kVocabulary}};
}

std::unique_ptr<BlockTransformer> opened(const char* backend, const char* recipe = "full") {
  return value_of(BlockTransformer::open(value_of(kernels::open_backend(backend, {.n_threads = 1})),
                                         tiny(), value_of(kvcache::Recipe::builtin(recipe)), 4000));
}

struct Golden {
  Ids ids;
  std::vector<float> logits;  // [ids - 3, kVocabulary]
};
Golden golden() {
  test::GoldenFile file("model/block_transformer.bin");
  const auto sizes = file.take<std::uint32_t>(2);
  EXPECT_EQ(sizes[1], kVocabulary);
  Golden out{.ids = file.take<std::int32_t>(sizes[0]),
             .logits = file.take<float>((sizes[0] - 3) * kVocabulary)};
  EXPECT_EQ(file.n_left(), 0u);
  return out;
}
double worst(std::span<const float> got, std::span<const float> want) {
  double out = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    out = std::max(out, std::abs(double(got[i]) - double(want[i])));
  return out;
}

TEST(BlockTransformer, gives_pytorch_s_logits_token_by_token) {
  const Golden want = golden();
  for (const char* backend : {"reference", "cpu"}) {
    const auto model = opened(backend);
    std::vector<float> logits(kVocabulary);
    ASSERT_TRUE(model->read(std::span(want.ids).first(4), logits).ok());
    for (std::size_t i = 4; i <= want.ids.size(); ++i) {
      const auto row = std::span(want.logits).subspan((i - 4) * kVocabulary, kVocabulary);
      EXPECT_LT(worst(logits, row), 2e-3) << backend << " after " << i;
      if (i == want.ids.size()) break;
      ASSERT_TRUE(model->read(std::span(want.ids).subspan(i, 1), logits).ok());
    }
    EXPECT_EQ(model->n_tokens(), want.ids.size());
  }
}

TEST(BlockTransformer, reads_a_text_in_any_pieces_alike) {
  const Golden want = golden();
  const auto last = std::span(want.logits).last(kVocabulary);
  for (const std::size_t piece : {4u, 5u, 6u, 11u, 27u}) {
    const auto model = opened("cpu");
    std::vector<float> logits(kVocabulary);
    for (std::size_t at = 0; at < want.ids.size(); at += piece)
      ASSERT_TRUE(
          model
              ->read(std::span(want.ids).subspan(at, std::min(piece, want.ids.size() - at)), logits)
              .ok());
    EXPECT_LT(worst(logits, last), 2e-3) << piece;
  }
}

// One position of two layers of two heads, K and V, fp16, for every four tokens; the token
// decoder's lanes stay as they are.
TEST(BlockTransformer, holds_one_position_a_block) {
  const auto model = opened("cpu");
  std::vector<float> logits(kVocabulary);
  const std::size_t token_lanes = model->token_lane_bytes();
  EXPECT_EQ(token_lanes, 5 * (4 * 2 * 2 * 32 + sizeof(std::int32_t)));  // 2 prefixes, 3 tokens
  const Ids some(402, 7);
  ASSERT_TRUE(model->read(some, logits).ok());
  EXPECT_EQ(model->stats().n_tokens, 100u);
  EXPECT_EQ(model->stats().fp16_bytes, 100 * tiny().blocks.bytes_per_position());
  EXPECT_EQ(model->token_lane_bytes(), token_lanes);
}

// Blocks are positions like any other: recipes quantise them.
TEST(BlockTransformer, has_its_blocks_quantised_by_a_recipe) {
  std::vector<float> exact(kVocabulary), coarse(kVocabulary);
  Ids text;
  for (std::int32_t i = 0; i < 4 * 600; ++i) text.push_back(i * i % 47);
  const auto full = opened("cpu"), packed = opened("cpu", "ladder-4");
  ASSERT_TRUE(full->read(text, exact).ok());
  ASSERT_TRUE(packed->read(text, coarse).ok());
  EXPECT_EQ(worst(coarse, exact), 0) << "nothing is quantised before compress()";
  for (const auto& [model, logits] : {std::pair(&full, &exact), {&packed, &coarse}}) {
    ASSERT_TRUE((*model)->compress().ok());
    ASSERT_TRUE((*model)->read(Ids{3, 1, 4, 1}, *logits).ok());
  }
  // Sinks and the newest blocks stay exact.
  EXPECT_LT(packed->stats().bytes, full->stats().bytes * 3 / 4);
  EXPECT_GT(worst(coarse, exact), 0);
  EXPECT_LT(worst(coarse, exact), 0.3);
}

TEST(BlockTransformer, refuses_what_it_cannot_read) {
  const auto model = opened("cpu");
  std::vector<float> logits(kVocabulary);
  for (const std::size_t n : {0u, 3u}) {
    const Result<void> read = model->read(Ids(n, 1), logits);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, "PARAM");
  }
  EXPECT_EQ(model->n_tokens(), 0u);
  EXPECT_TRUE(model->read(Ids(4, 1), logits).ok());
  for (const char* recipe : {"snapkv", "quest"}) {
    const auto refused =
        BlockTransformer::open(value_of(kernels::open_backend("cpu", {.n_threads = 1})), tiny(),
                               value_of(kvcache::Recipe::builtin(recipe)), 400);
    ASSERT_FALSE(refused.ok()) << recipe;
    EXPECT_EQ(refused.error().code, "CACHE_RECIPE");
  }
}

// By hand: FNV-1a of "a" is 0xe40c292c.
TEST(MadeValues, are_those_of_their_name) {
  std::uint32_t x = 0xe40c292cu + 2654435761u;
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  x ^= x >> 12;
  const std::vector<float> values = made_values("a", 2000, 2);
  EXPECT_FLOAT_EQ(values[1], static_cast<float>(2 * (double(x) / 2147483648.0 - 1)));
  double sum = 0, squares = 0;
  for (const float value : values) sum += value, squares += double(value) * double(value);
  EXPECT_NEAR(sum / 2000, 0, 0.1);
  EXPECT_NEAR(squares / 2000, 4.0 / 3, 0.1);
}

}  // namespace
}  // namespace satchel::eval
