// What is kept is what a recipe's definition says: however a text is cut into chunks, whatever came
// before it, and whether the conversation was saved in between.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "unit/kvcache/snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

using Positions = std::vector<std::int32_t>;
using Kept = std::vector<Positions>;  // [n_lanes]

// Of every kind of scorer one or more, and every way to share out and to assign.
const std::vector<std::string> kSpread = {
    "random",    "streamingllm", "keydiff",      "l2norm", "lagkv",
    "leverage",  "compactor",    "cur",          "snapkv", "ada-kv",
    "xkv",       "pyramidkv",    "pyramidinfer", "h2o",    "a2sf",
    "keyformer", "tova",         "scissorhands", "minikv", "expected-attention",
    "zipvl",     "fastgen",      "kvcrush",      "satchel"};

CacheDriver open(const std::string& recipe) {
  CacheDriver driver(
      {.recipe = recipe, .n_layers = 2, .n_heads = 4, .head_dim = 32, .backend = "cpu"});
  driver.check_attention = false;
  return driver;
}
std::string by_recipe(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// A question and its answer, or a document and an answer about it.
struct Turn {
  std::size_t n_read = 0;
  SegmentKind kind = SegmentKind::message;
};
constexpr std::size_t kAnswer = 20;
void read(CacheDriver& driver, const Turn& turn, std::size_t chunk = 64) {
  ASSERT_TRUE(driver.read(turn.n_read, {.kind = turn.kind, .chunk = chunk}).ok());
}
void answer(CacheDriver& driver) {
  for (std::size_t i = 0; i < kAnswer; ++i) ASSERT_TRUE(driver.step().ok());
  ASSERT_TRUE(driver.cache().compactor().end_turn().ok());
}
const std::vector<Turn> kTwo = {{300, SegmentKind::document}, {280}};
// Each long enough for every recipe below to decide about it.
const std::vector<Turn> kTen = {
    {80}, {120, SegmentKind::document}, {64}, {100}, {70, SegmentKind::document}, {96},
    {66}, {150, SegmentKind::document}, {74}, {200}};

class KeptSets : public testing::TestWithParam<std::string> {};

TEST_P(KeptSets, are_the_same_for_any_chunks_of_the_text) {
  Kept first;
  for (const std::size_t chunk : {300u, 64u, 7u, 1u}) {
    CacheDriver driver = open(GetParam());
    for (const Turn& turn : kTwo) {
      read(driver, turn, chunk);
      answer(driver);
    }
    if (first.empty()) first = driver.all_kept();
    EXPECT_EQ(driver.all_kept(), first) << "chunks of " << chunk;
    EXPECT_GT(driver.cache().stats().n_evicted, 0u);
  }
}

// What was decided is not decided again.
TEST_P(KeptSets, do_not_change_when_nothing_new_has_been_said) {
  CacheDriver driver = open(GetParam());
  for (const Turn& turn : kTwo) {
    read(driver, turn);
    answer(driver);
    ASSERT_TRUE(driver.cache().compactor().compact(TriggerEvent::asked).ok());
    const std::vector<std::byte> before = driver.bytes();
    for (const TriggerEvent event :
         {TriggerEvent::span_read, TriggerEvent::turn_ended, TriggerEvent::steps,
          TriggerEvent::idle, TriggerEvent::asked}) {
      const auto report = driver.cache().compactor().compact(event);
      ASSERT_TRUE(report.ok());
      EXPECT_EQ(report->n_segments + report->n_evicted + report->n_lowered, 0u);
    }
    ASSERT_TRUE(driver.cache().compactor().end_turn().ok());
    EXPECT_TRUE(driver.bytes() == before);
  }
}

// Saved when the question has been read but not yet answered, and when it has been.
TEST_P(KeptSets, are_those_of_a_conversation_that_was_never_saved) {
  for (const bool while_open : {true, false}) {
    test::MemoryRecordStore store;
    Saved chat(store, open(GetParam()));
    read(chat.driver, kTwo[0]);
    answer(chat.driver);
    read(chat.driver, kTwo[1]);
    if (!while_open) answer(chat.driver);
    ASSERT_TRUE(chat.save().ok());
    const auto twin = restored_twin(store, chat);
    EXPECT_EQ(twin->driver.all_kept(), chat.driver.all_kept());
    for (CacheDriver* each : {&chat.driver, &twin->driver}) {
      answer(*each);
      read(*each, kTwo[0]);
      for (int i = 0; i < 140; ++i) ASSERT_TRUE(each->step().ok());  // some decide again then
    }
    EXPECT_EQ(twin->driver.all_kept(), chat.driver.all_kept());
  }
}
INSTANTIATE_TEST_SUITE_P(Recipes, KeptSets, testing::ValuesIn(kSpread), by_recipe);

// --- once for each text --------------------------------------------------------------------------

// One text as the definitions see it.
struct Text {
  CacheDriver& driver;
  std::size_t layer = 0, head = 0, first = 0, n = 0;
  std::size_t n_after = 0;  // tokens behind it when it is decided
};
using Scores = std::vector<double>;
using Definition = std::function<Scores(const Text&)>;

Scores by_chance(const Text& text) {
  Scores scores;
  for (std::size_t t = 0; t < text.n; ++t) {
    std::uint64_t x =
        (std::uint64_t{1} << 48) ^ (std::uint64_t{text.head} << 32) ^ (text.first + t);
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    scores.push_back(static_cast<double>((x ^ (x >> 31)) >> 41));
  }
  return scores;
}
Scores by_position(const Text& text) {
  Scores scores(text.n);
  for (std::size_t t = 0; t < text.n; ++t) scores[t] = static_cast<double>(t);
  return scores;
}
// Away from the mean direction of the text's keys, as they are held.
Scores by_keys(const Text& text) {
  const std::size_t d = text.driver.shape().layers[text.layer].head_dim;
  std::vector<Scores> keys;
  Scores mean(d);
  for (std::size_t t = 0; t < text.n; ++t) {
    const std::vector<float> all = text.driver.k(text.layer, text.first + t);
    Scores& key = keys.emplace_back();
    double length = 0;
    for (std::size_t c = 0; c < d; ++c) {
      key.push_back(double{half_to_float(float_to_half(all[text.head * d + c]))});
      length += key[c] * key[c];
    }
    for (std::size_t c = 0; c < d; ++c) mean[c] += (key[c] /= std::sqrt(length));
  }
  Scores scores;
  for (const Scores& key : keys) {
    double cosine = 0;
    for (std::size_t c = 0; c < d; ++c) cosine += key[c] * mean[c];
    scores.push_back(-cosine);
  }
  return scores;
}

// Half of the text: 4 sinks of the conversation, what is left of a tail of 16 behind later text,
// and the best others.
Positions kept_of(const Text& text, Scores scores) {
  for (std::size_t t = 0; t < text.n; ++t)
    if (text.first + t < 4 || t + 16 >= text.n + text.n_after) scores[t] = INFINITY;
  std::vector<std::size_t> order(text.n);
  for (std::size_t t = 0; t < text.n; ++t) order[t] = t;
  std::ranges::stable_sort(order, [&](auto a, auto b) { return scores[a] > scores[b]; });
  Positions kept;
  for (std::size_t i = 0; i < text.n / 2; ++i)
    kept.push_back(static_cast<std::int32_t>(text.first + order[i]));
  std::ranges::sort(kept);
  return kept;
}

struct Once {
  const char* recipe;
  Definition score;
};
class KeptOncePerText : public testing::TestWithParam<Once> {};

// Of each turn's text what the definition says of that text alone, of answers all, and never
// anything else again, whatever the later turns are.
TEST_P(KeptOncePerText, are_what_the_definition_says_of_each_turn_alone) {
  for (const std::vector<Turn>& turns : {kTwo, kTen}) {
    CacheDriver driver = open(GetParam().recipe);
    Kept expected(driver.n_lanes());
    for (const Turn& turn : turns) {
      const std::size_t first = driver.cache().n_tokens();
      read(driver, turn);
      answer(driver);
      const std::size_t n_after = turn.kind == SegmentKind::document ? 0 : kAnswer;
      for (std::size_t lane = 0; lane < expected.size(); ++lane) {
        const Text text{driver, lane / 2, lane % 2, first, turn.n_read, n_after};
        const Positions of_text = kept_of(text, GetParam().score(text));
        expected[lane].insert(expected[lane].end(), of_text.begin(), of_text.end());
        for (std::size_t i = 0; i < kAnswer; ++i)
          expected[lane].push_back(static_cast<std::int32_t>(text.first + text.n + i));
      }
      ASSERT_EQ(driver.all_kept(), expected) << "behind " << driver.cache().n_tokens();
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Recipes, KeptOncePerText,
                         testing::Values(Once{"random", by_chance},
                                         Once{"streamingllm", by_position},
                                         Once{"keydiff", by_keys}),
                         [](const auto& once) { return std::string(once.param.recipe); });

TEST(KeptOverTurns, are_the_same_where_each_turn_was_saved_and_restored) {
  for (const char* recipe : {"random", "keydiff", "snapkv", "h2o"}) {
    test::MemoryRecordStore store;
    CacheDriver plain = open(recipe);
    auto chat = std::make_unique<Saved>(store, open(recipe));
    for (const Turn& turn : kTen) {
      for (CacheDriver* each : {&plain, &chat->driver}) {
        read(*each, turn);
        answer(*each);
      }
      ASSERT_EQ(chat->driver.all_kept(), plain.all_kept()) << recipe;
      ASSERT_TRUE(chat->save().ok());
      chat = restored_twin(store, *chat);
    }
  }
}

}  // namespace
}  // namespace satchel::kvcache
