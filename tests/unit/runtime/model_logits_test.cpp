// Logits: against PyTorch, against the reference backend on every weight type, and against
// themselves however a text is cut into prompts, chunks and steps.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/model/scratch.h"
#include "runtime/replay/replay.h"
#include "support/open_named.h"
#include "unit/runtime/model_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using Ids = std::span<const std::int32_t>;

class BundledModel : public testing::TestWithParam<const char*> {};

// PyTorch rounds K and V to fp16 here, as the cache does; logits reach 34. Measured on 2026-11-21:
// at most 0.0009 (reference) and 0.0028 (cpu, which multiplies with 16-bit activations).
constexpr double kTolerance = 0.008;

TEST_P(BundledModel, logits_equal_pytorch_at_every_eighth_position) {
  const auto fixtures = read_model_fixtures("notes_mini.txt");
  ASSERT_EQ(fixtures.size(), 1u);
  const ModelFixture& fixture = fixtures[0];
  TestModel model = open_model(std::move(GgufFile::open(bundled_model())).value(), GetParam());
  const auto cache = model.cache("full", fixture.tokens.size());
  std::size_t n_rows = 0;
  double largest = 0;
  for (const LogitRow& row : fixture.rows) {  // a span up to each position, then its logits
    const Ids span =
        Ids(fixture.tokens).subspan(cache->n_tokens(), row.position + 1 - cache->n_tokens());
    const std::vector<float> logits = model.read(*cache, span);
    const double margin = double{row.top[0].second} - double{row.top[1].second};
    if (margin > 2 * kTolerance) {
      EXPECT_EQ(top_of(logits), static_cast<std::size_t>(row.top[0].first)) << row.position;
    }
    for (const auto& [id, logit] : row.top)
      largest =
          std::max(largest, std::abs(double{logits[static_cast<std::size_t>(id)]} - double{logit}));
    ++n_rows;
  }
  EXPECT_EQ(n_rows, 60u);
  EXPECT_LE(largest, kTolerance);
  RecordProperty("largest_difference", std::to_string(largest));
  std::printf("largest difference from PyTorch (%s): %.4f\n", GetParam(), largest);
}

TEST_P(BundledModel, whole_rows_of_logits_equal_pytorch) {
  const ModelFixture fixture = read_model_fixtures("notes_mini.txt").at(0);
  TestModel model = open_model(std::move(GgufFile::open(bundled_model())).value(), GetParam());
  for (const auto& [position, expected] : fixture.full) {
    const auto cache = model.cache("full", fixture.tokens.size());
    const auto logits = model.read(*cache, Ids(fixture.tokens).first(position + 1));
    EXPECT_LE(largest_difference(logits, expected), kTolerance) << position;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, BundledModel, testing::Values("reference", "cpu"),
                         [](const auto& row) { return std::string(row.param); });

class EveryWeightType : public testing::TestWithParam<kernels::WeightType> {};

// The cpu backend multiplies with 16-bit activations.
TEST_P(EveryWeightType, cpu_logits_equal_the_reference) {
  for (const bool tied : {false, true}) {
    const TinyShape shape{.type = GetParam(), .tied = tied};
    TestModel reference = tiny_model(shape, "reference"), cpu = tiny_model(shape, "cpu");
    const auto ids = random_ids(70, shape.n_vocabulary, 3);
    const auto reference_cache = reference.cache("full", 80), cpu_cache = cpu.cache("full", 80);
    const auto expected = reference.read(*reference_cache, ids);
    const auto got = cpu.read(*cpu_cache, ids);
    double size = 0;
    for (const float x : expected) size = std::max(size, std::abs(double{x}));
    const double limit = test::limit_on("cpu", 2e-3, 1e-2) * size;
    EXPECT_LE(largest_difference(got, expected), limit) << "tied " << tied;
    EXPECT_LE(largest_difference(cpu.decode(*cpu_cache, 5), reference.decode(*reference_cache, 5)),
              limit);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EveryWeightType, testing::ValuesIn(kernels::kWeightTypes),
                         [](const auto& row) {
                           return std::string(kernels::weight_type_traits(row.param).name);
                         });

// Whichever way a text comes in, with the exact recipe the same keys and values are attended to.
class Cuts : public testing::Test {
 protected:
  static constexpr double kRounding = 1e-4;  // of logits of about 10
  TestModel model_ = tiny_model({}, "cpu");
  std::vector<std::int32_t> ids_ = random_ids(700, 288, 11);

  void expect_same(const std::vector<float>& a, const std::vector<float>& b) {
    EXPECT_LE(largest_difference(a, b), kRounding);
    EXPECT_EQ(top_of(a), top_of(b));
  }
};

TEST_F(Cuts, small_chunks_give_the_logits_of_large_ones) {
  TestModel small = tiny_model({}, "cpu", 16);
  ASSERT_EQ(chunk_tokens(small.config(), 0), 16u);
  ASSERT_EQ(chunk_tokens(model_.config(), 0), 256u);
  for (const std::size_t n : {1u, 15u, 16u, 17u, 127u, 128u, 129u, 255u, 256u, 257u, 700u}) {
    const auto many = small.cache("full", 700), few = model_.cache("full", 700);
    expect_same(small.read(*many, Ids(ids_).first(n)), model_.read(*few, Ids(ids_).first(n)));
  }
}

// However long the context may become, what is visible decides, and how much the backend does in a
// call.
TEST_F(Cuts, chunks_shrink_as_more_is_visible_and_not_with_the_context) {
  ModelConfig config = model_.config();
  config.context = std::size_t{1} << 27;
  EXPECT_EQ(chunk_tokens(config, 0), 256u);
  std::size_t last = 256;
  for (std::size_t n_before = 0; n_before < (std::size_t{1} << 27); n_before += 1 + n_before) {
    const std::size_t now = chunk_tokens(config, n_before);
    EXPECT_LE(now, last) << n_before;
    last = now;
  }
  EXPECT_EQ(last, 16u);
  for (LayerConfig& layer : config.layers) layer.attention.window = 512;
  EXPECT_EQ(chunk_tokens(config, std::size_t{1} << 26), 256u) << "a window is all that is seen";
  config.work_limits.multiply_adds /= 1024;
  EXPECT_LT(chunk_tokens(config, 0), 256u);
}

TEST_F(Cuts, a_step_of_several_conversations_gives_the_logits_of_single_steps) {
  std::vector<std::unique_ptr<kvcache::Cache>> together, alone;
  const std::size_t lengths[] = {3, 130, 250};
  for (const std::size_t n : lengths) {
    for (auto* caches : {&together, &alone}) {
      caches->push_back(model_.cache(n == 130 ? "compact" : "full", 700));
      model_.read(*caches->back(), Ids(ids_).first(n));
    }
  }
  std::vector<std::vector<float>> logits(3, std::vector<float>(288));
  for (std::size_t step = 0; step < 140; ++step) {  // each lane fills a page meanwhile
    std::vector<DecodeItem> items;
    for (std::size_t i = 0; i < 3; ++i)
      items.push_back({.cache = together[i].get(), .id = ids_[step + i], .logits = logits[i]});
    const auto done = model_.model->decode(items);
    ASSERT_TRUE(done.ok()) << done.error().message;
    for (std::size_t i = 0; i < 3; ++i)
      expect_same(logits[i], model_.decode(*alone[i], ids_[step + i]));
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(together[i]->n_tokens(), lengths[i] + 140);
}

TEST_F(Cuts, a_probe_leaves_no_trace) {
  const auto probed = model_.cache("kvzip", 700), plain = model_.cache("kvzip", 700);
  for (const auto& cache : {probed.get(), plain.get()}) model_.read(*cache, Ids(ids_).first(600));
  const auto probe = [&](std::size_t n, std::stop_token stop) {
    return model_.model->probe({.cache = *probed,
                                .job = {.first = 10, .n_tokens = n},
                                .ids = Ids(ids_).subspan(10, n),
                                .first_position = 600 + n,
                                .stop = std::move(stop)});
  };
  // The first one takes room for what is found out: scores of text that waits.
  ASSERT_TRUE(probe(300, {}).ok());
  const std::size_t used = probed->arena().used_bytes();
  for (const std::size_t n : {1u, 40u, 300u}) {
    const auto done = probe(n, {});
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(probed->n_tokens(), 600u);
    EXPECT_EQ(probed->arena().used_bytes(), used);
  }
  std::stop_source source;
  source.request_stop();
  const auto stopped = probe(300, source.get_token());
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, "STOPPED");
  EXPECT_EQ(probed->arena().used_bytes(), used);
  for (std::size_t i = 600; i < 640; ++i)
    ASSERT_EQ(model_.decode(*probed, ids_[i]), model_.decode(*plain, ids_[i]));
}

TEST_F(Cuts, several_turns_give_the_logits_of_one_long_prompt) {
  const auto turns = model_.cache("full", 700), one = model_.cache("full", 700);
  std::vector<float> last;
  std::size_t at = 0;
  for (const std::size_t n : {1u, 127u, 128u, 129u, 3u, 256u, 56u}) {
    last = model_.read(*turns, Ids(ids_).subspan(at, n));
    at += n;
  }
  ASSERT_EQ(at, 700u);
  expect_same(last, model_.read(*one, ids_));
  EXPECT_EQ(turns->stats().n_evicted, 0u);
}

TEST_F(Cuts, decoding_gives_the_logits_of_reading) {
  const auto steps = model_.cache("full", 700), one = model_.cache("full", 700);
  model_.read(*steps, Ids(ids_).first(100));
  std::vector<float> last;
  for (std::size_t i = 100; i < 400; ++i) last = model_.decode(*steps, ids_[i]);  // two flushes
  expect_same(last, model_.read(*one, Ids(ids_).first(400)));
}

TEST_F(Cuts, the_same_text_twice_gives_the_same_bytes) {
  const auto first = model_.cache("kvzip", 700), second = model_.cache("kvzip", 700);
  EXPECT_EQ(model_.read(*first, ids_), model_.read(*second, ids_));
  for (std::size_t i = 0; i < 200; ++i)
    ASSERT_EQ(model_.decode(*first, ids_[i]), model_.decode(*second, ids_[i])) << i;
}

TEST_F(Cuts, a_stop_in_the_middle_leaves_no_trace) {
  const auto cache = model_.cache("kvzip", 700);
  model_.read(*cache, Ids(ids_).first(40));
  const std::size_t used = cache->arena().used_bytes();
  std::stop_source source;
  const ProgressFn stop_late = [&](const Progress& now) {
    if (2 * now.done > now.total) source.request_stop();
  };
  const auto stopped = model_.model->read_prompt({.cache = *cache,
                                                  .ids = Ids(ids_).subspan(40),
                                                  .stop = source.get_token(),
                                                  .progress = stop_late});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, "STOPPED");
  EXPECT_EQ(cache->n_tokens(), 40u);
  EXPECT_EQ(cache->arena().used_bytes(), used);
  const auto fresh = model_.cache("kvzip", 700);
  model_.read(*fresh, Ids(ids_).first(40));
  EXPECT_EQ(model_.read(*cache, Ids(ids_).subspan(40)), model_.read(*fresh, Ids(ids_).subspan(40)));
}

TEST_F(Cuts, progress_rises_to_its_total) {
  const auto cache = model_.cache("full", 700);
  std::size_t last = 0, total = 0;
  const ProgressFn watch = [&](const Progress& now) {
    EXPECT_GT(now.done, last);
    last = now.done;
    total = now.total;
  };
  ASSERT_TRUE(
      model_.model->read_prompt({.cache = *cache, .ids = ids_, .stop = {}, .progress = watch})
          .ok());
  EXPECT_EQ(last, total);
  EXPECT_EQ(total, 700u * model_.config().n_layers());
}

// A replay over an exact cache is the first reading once more.
TEST_F(Cuts, a_replay_over_an_exact_cache_agrees_wholly) {
  const std::size_t width = model_.config().width;
  for (const std::size_t n : {1u, 128u, 129u, 600u}) {
    const auto cache = model_.cache("full", 700);
    auto kept = std::move(cache->arena().take_scratch(fidelity_bytes(model_.config(), n))).value();
    auto* exact = reinterpret_cast<float*>(kept.data());
    auto* packed = reinterpret_cast<float*>(kept.data() + kept.size() / 2);
    const Ids ids = Ids(ids_).first(n);
    ASSERT_TRUE(
        model_.model
            ->read_prompt(
                {.cache = *cache, .ids = ids, .stop = {}, .progress = {}, .last_rows = exact})
            .ok());
    const std::size_t n_rows = fidelity_rows(n);
    ASSERT_TRUE(model_.model
                    ->replay({.cache = *cache,
                              .ids = ids.last(n_rows),
                              .first = ids.size() - n_rows,
                              .stop = {},
                              .rows = packed})
                    .ok());
    EXPECT_LE(largest_difference({exact, n_rows * width}, {packed, n_rows * width}), kRounding);
    const auto fidelity = compare_rows(
        *model_.model, cache->arena(),
        {.exact = [exact] { return exact; }, .compressed = packed, .n_tokens = n_rows});
    ASSERT_TRUE(fidelity.ok());
    EXPECT_EQ(fidelity->n_tokens, n_rows);
    EXPECT_EQ(fidelity->agreement, 1);
    EXPECT_LE(fidelity->kl, 1e-6);
  }
}

}  // namespace
}  // namespace satchel::runtime
