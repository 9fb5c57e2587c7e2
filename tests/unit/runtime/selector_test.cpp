// A trained selector's weights: those that ship, those of the user's, and what is said where there
// are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>

#include "kvcache/recipes/pipeline.h"
#include "runtime/limits/presets.h"
#include "runtime/model/model.h"
#include "runtime/profile/profile_files.h"
#include "support/selector.h"
#include "support/source_dir.h"
#include "support/temp_folder.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/waiting_scores.h"

namespace satchel::runtime {
namespace {

namespace fs = std::filesystem;
using kvcache::kSelectorMethods;
using kvcache::SelectorMethod;
using kvcache::SelectorWeights;
using testing::HasSubstr;

class SelectorOfAModel : public ChatTest {
 protected:
  static std::string shipped_bytes(SelectorMethod method = SelectorMethod::locret) {
    const std::string name =
        method == SelectorMethod::locret
            ? "notes-mini-q8_0.safetensors"
            : "notes-mini-q8_0." + std::string(to_text(method)) + ".safetensors";
    for (const ShippedFile& each : shipped_selectors())
      if (each.file == name) return std::string(each.bytes);
    ADD_FAILURE() << "the bundled model's weights do not ship: " << name;
    return "";
  }
  fs::path file(SelectorMethod method = SelectorMethod::locret) const {
    return selector_file(folder_, shared_engine().fingerprint(), method);
  }
  void write(const std::string& bytes, SelectorMethod method = SelectorMethod::locret) const {
    std::ofstream(file(method), std::ios::binary | std::ios::trunc) << bytes;
  }
  std::unique_ptr<Engine> engine_with_folder() const {
    EngineOptions options;
    options.model = bundled_model();
    options.n_threads = 2;
    options.profiles = folder_;
    return value_of(Engine::open(options));
  }
  FoundProfile<SelectorWeights> find(SelectorMethod method = SelectorMethod::locret) const {
    return find_selector(folder_, shared_engine().fingerprint(), shared_engine().config(), method);
  }

  const test::TempFolder temp_;
  const fs::path folder_ = temp_.path();
};

TEST_F(SelectorOfAModel, comes_with_the_program_and_is_known_to_caches) {
  const auto& config = shared_engine().config();
  std::size_t bytes = 0;
  for (const SelectorMethod method : kSelectorMethods) {
    const SelectorWeights* const weights = config.selectors.of(method);
    ASSERT_NE(weights, nullptr) << to_text(method);
    EXPECT_EQ(weights->method, method);
    EXPECT_EQ(weights->model, shared_engine().fingerprint());
    EXPECT_EQ(find(method).from, ProfileFrom::shipped);
    EXPECT_EQ(find_selector({}, "of-another-model", config, method).from, ProfileFrom::nowhere);
    EXPECT_LT(shipped_bytes(method).size(), 300u << 10);
    bytes += weights->bytes();
  }
  EXPECT_EQ(config.cache_shape().selectors, config.selectors);
  EXPECT_EQ(shared_engine().weight_bytes(), shared_engine().model().weights().bytes + bytes);
}

TEST_F(SelectorOfAModel, of_the_user_s_folder_goes_before_what_ships) {
  std::string bytes = shipped_bytes();
  const std::size_t at = bytes.find("\"source\": \"") + 11;
  bytes.replace(at, 4, "mine");
  write(bytes);
  const auto engine = engine_with_folder();
  EXPECT_THAT(engine->config().selectors.of(SelectorMethod::locret)->source,
              testing::StartsWith("mine"));
}

TEST_F(SelectorOfAModel, of_one_method_is_not_taken_for_another) {
  write(shipped_bytes(SelectorMethod::locret), SelectorMethod::lococo);
  const auto found = find(SelectorMethod::lococo);
  EXPECT_EQ(found.from, ProfileFrom::nowhere) << "what ships does not stand in unseen";
  const std::string message = found.damage.value_or(Error{}).message;
  EXPECT_THAT(message, HasSubstr(file(SelectorMethod::lococo).string()));
  EXPECT_THAT(message, HasSubstr("is for the method \"locret\", where \"lococo\" is wanted"));
  EXPECT_EQ(find(SelectorMethod::attention_gate).damage, std::nullopt);
}

TEST_F(SelectorOfAModel, that_is_damaged_or_of_another_is_refused_by_name) {
  const auto damage = [&] {
    const auto found = find();
    EXPECT_EQ(found.from, ProfileFrom::nowhere) << "what ships does not stand in unseen";
    EXPECT_EQ(found.damage.value_or(Error{}).code, "SELECTOR_WEIGHTS");
    const std::string message = found.damage.value_or(Error{}).message;
    EXPECT_THAT(message, HasSubstr(file().string()));
    EXPECT_THAT(message, HasSubstr("training/locret"));
    return message;
  };
  write(shipped_bytes().substr(0, 10000));
  EXPECT_THAT(damage(), HasSubstr("invalid tensor"));
  write("torn");
  EXPECT_THAT(damage(), HasSubstr("truncated"));
  std::string other = shipped_bytes();
  other.replace(other.find(shared_engine().fingerprint()), 4, "zzzz");
  write(other);
  EXPECT_THAT(damage(), HasSubstr("for another model"));
}

TEST_F(SelectorOfAModel, is_read_when_a_recipe_first_needs_it) {
  const auto engine = engine_with_folder();
  const kvcache::SelectorSet& selectors = engine->config().selectors;
  const std::size_t of_the_file = engine->model().weights().bytes;
  EXPECT_EQ(engine->weight_bytes(), of_the_file);
  const auto full = open("full", 0, *engine);
  (void)ask(*full, held_out_questions().front());
  for (const SelectorMethod method : kSelectorMethods)
    EXPECT_EQ(selectors.in_memory(method), nullptr) << to_text(method);
  const auto locret = open("locret", 0, *engine);
  const SelectorWeights* const read = selectors.in_memory(SelectorMethod::locret);
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(selectors.in_memory(SelectorMethod::lococo), nullptr);
  EXPECT_EQ(engine->weight_bytes(), of_the_file + read->bytes());
  EXPECT_EQ(selectors.of(SelectorMethod::locret), read) << "once";
}

TEST_F(SelectorOfAModel, that_is_damaged_hinders_only_the_recipe_that_needs_it) {
  write("torn", SelectorMethod::lococo);
  const auto engine = engine_with_folder();
  EXPECT_TRUE(engine->profile_damage().empty()) << "nobody has read it";
  (void)open("full", 0, *engine);
  (void)open("locret", 0, *engine);
  const auto refused = engine->new_session(SessionOptions(value_of(resolve_recipe("lococo"))));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "SELECTOR_WEIGHTS");
  EXPECT_EQ(refused.error().kind, ErrorKind::corrupt);
  for (const std::string& part :
       {std::string("The merger \"lococo\" needs weights trained for this model."),
        file(SelectorMethod::lococo).string(), std::string("truncated"),
        std::string("make it again with training/lococo"), std::string("The recipe \"h2o\"")})
    EXPECT_THAT(refused.error().message, HasSubstr(part));
}

struct Golden {
  Ids tokens;
  Scores scores;
};
Golden read_golden(const std::string& scorer) {
  std::ifstream file(test::source_dir() + "/tests/golden/selection/" + scorer + ".txt");
  Golden golden;
  std::string word;
  std::size_t n = 0;
  file >> word >> n;
  golden.tokens.resize(n);
  for (auto& id : golden.tokens) file >> id;
  file >> word >> n;
  golden.scores.assign(n, std::vector<float>(golden.tokens.size()));
  for (std::vector<float>& lane : golden.scores)
    for (float& score : lane) file >> score;
  return golden;
}

// Of what a lane's scores span; of a gate, of 1. Measured on 2026-11-23: at most 0.00013 (cpu).
constexpr double kTolerance = 1e-3;

struct TrainedScorer {
  const char *name, *backend;
  bool is_gate = false;
};

class TrainedOracle : public testing::TestWithParam<TrainedScorer> {};
TEST_P(TrainedOracle, scores_are_those_of_pytorch_on_the_same_weights) {
  const TrainedScorer& of = GetParam();
  const Golden golden = read_golden(of.name);
  ASSERT_EQ(golden.tokens.size(), 160u);
  ASSERT_EQ(golden.scores.size(), 12u);
  WaitingScores reader{open_model(std::move(GgufFile::open(bundled_model())).value(), of.backend)};
  reader.model.model->set_selectors(shared_engine().config().selectors);
  reader.read(R"({ "use": ")" + std::string(of.name) + R"(" })", golden.tokens);
  const Scores got = reader.scores();
  ASSERT_EQ(got.size(), golden.scores.size());
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto [least, most] = std::ranges::minmax_element(golden.scores[i]);
    const double span = of.is_gate ? 1 : double{*most} - double{*least};
    for (std::size_t t = 0; t < golden.tokens.size(); ++t) {
      const double said = of.is_gate ? double{got[i][t]} : test::unbent(got[i][t]);
      largest = std::max(largest, std::abs(said - double{golden.scores[i][t]}) / span);
    }
    if (of.is_gate) continue;  // many are as open as others
    const std::size_t n = golden.tokens.size() / 4;
    std::size_t n_same = 0;
    for (const std::size_t t : best(got[i], n)) n_same += best(golden.scores[i], n).count(t);
    EXPECT_GE(n_same + 1, n) << "lane " << i;
  }
  EXPECT_LE(largest, kTolerance);
  std::printf("%s, %s: scores differ by %.6f of their range at most\n", of.name, of.backend,
              largest);
}
INSTANTIATE_TEST_SUITE_P(Backends, TrainedOracle,
                         testing::Values(TrainedScorer{"locret", "reference"},
                                         TrainedScorer{"locret", "cpu"},
                                         TrainedScorer{"attention_gate", "reference", true},
                                         TrainedScorer{"attention_gate", "cpu", true}),
                         [](const auto& row) {
                           return std::string(row.param.name) + "_" + row.param.backend;
                         });

class TrainedRecipesChat : public ChatTest {};

TEST_F(TrainedRecipesChat, read_and_answer_with_the_weights_that_ship) {
  for (const char* name : {"locret", "attention-gate", "lococo"}) {
    SCOPED_TRACE(name);
    const auto session = open(name);
    ASSERT_TRUE(session->add_document("notes", held_out_notes()).ok());
    (void)ask(*session, held_out_questions().front());
    EXPECT_GT(session->stats().n_evicted, 0u);
  }
}

TEST_F(TrainedRecipesChat, without_weights_are_refused_before_anything_is_read) {
  const TestModel tiny = tiny_model({}, "reference");
  for (const char* name : {"locret", "attention-gate", "lococo"}) {
    const auto estimate = runtime::estimate(tiny.config(), 0, value_of(resolve_recipe(name)),
                                            {.n_tokens = 1000, .budget_bytes = 1});
    ASSERT_FALSE(estimate.ok()) << name;
    EXPECT_EQ(estimate.error().code, "SELECTOR_WEIGHTS");
    EXPECT_EQ(estimate.error().kind, ErrorKind::not_found);
  }
}

TEST_F(TrainedRecipesChat, are_not_what_an_open_chat_becomes) {
  const auto engine = open_engine(bundled_model());
  engine->model().set_selectors({});
  const auto session = open("full", 0, *engine);
  ASSERT_TRUE(session->add_document("notes", held_out_notes()).ok());
  (void)ask(*session, held_out_questions().front());
  const std::size_t n = session->stats().n_tokens;
  const auto change = session->preview_memory({.recipe = value_of(resolve_recipe("locret"))}, {});
  ASSERT_FALSE(change.ok());
  EXPECT_EQ(change.error().code, "SELECTOR_WEIGHTS");
  EXPECT_EQ(session->stats().n_tokens, n);
}

// What the window offers.
TEST(TrainedRecipesPresets, need_nothing_that_was_trained) {
  for (const Preset& preset : presets())
    EXPECT_TRUE(value_of(resolve_recipe(preset.name)).pipeline().check({}).ok()) << preset.name;
}

}  // namespace
}  // namespace satchel::runtime
