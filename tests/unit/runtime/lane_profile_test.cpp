// Head-budget profiles: made from texts, kept, found again, made while idle where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "runtime/engine_state.h"
#include "runtime/limits/presets.h"
#include "runtime/profile/lane_profiler.h"
#include "runtime/profile/profile_files.h"
#include "support/bundled_model.h"
#include "support/temp_folder.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

namespace fs = std::filesystem;
using kvcache::HeadBudgets;

class HeadBudgetFiles : public ChatTest {
 protected:
  static std::shared_ptr<kvcache::Arena> arena() {
    const auto kvzip = value_of(resolve_recipe("kvzip"));
    const EstimateRequest request{.n_tokens = kProfileTokens};
    const std::size_t bytes = value_of(shared_engine().estimate(kvzip, request)).arena_bytes;
    return value_of(kvcache::Arena::open(shared_engine().state().backend, 4 * bytes));
  }
  fs::path file() const { return head_budgets_file(folder_, shared_engine().fingerprint()); }
  FoundProfile<kvcache::HeadBudgets> find(const std::string& fingerprint) const {
    return find_head_budgets(folder_, fingerprint, shared_engine().config());
  }
  std::unique_ptr<Engine> engine_with_folder() const {
    EngineOptions options;
    options.model = bundled_model();
    options.n_threads = 2;
    options.profiles = folder_;
    return value_of(Engine::open(options));
  }

  const test::TempFolder temp_;
  const fs::path folder_ = temp_.path();
};

HeadBudgets made(LaneProfiler& profiler) {
  while (value_of(profiler.step({}))) {
  }
  return profiler.table();
}

TEST_F(HeadBudgetFiles, hold_what_was_kept_on_the_whole_and_are_the_mean_of_their_texts) {
  const std::string notes = held_out_notes();
  const std::vector<ProfileText> texts = {{"a", std::string_view(notes).substr(0, 1200)},
                                          {"b", std::string_view(notes).substr(1200, 1200)}};
  LaneProfiler profiler(shared_engine().state().profiled(), arena(), texts);
  const HeadBudgets table = made(profiler);
  EXPECT_EQ(table.model, shared_engine().fingerprint());
  EXPECT_EQ(table.n_lanes(), 12u);
  EXPECT_EQ(table.source, "kvzip over a b");
  ASSERT_EQ(profiler.of_texts().size(), 2u);
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::vector<double>& shares = table.rows[r].shares;
    const double mean = std::accumulate(shares.begin(), shares.end(), 0.0) / 12;
    // What is protected in every lane is more than 5 % of so short a text.
    if (table.rows[r].keep >= 0.25) {
      EXPECT_NEAR(mean, table.rows[r].keep, 0.002);
    }
    for (std::size_t i = 0; i < shares.size(); ++i)
      EXPECT_DOUBLE_EQ(shares[i], (profiler.of_texts()[0].rows[r].shares[i] +
                                   profiler.of_texts()[1].rows[r].shares[i]) /
                                      2);
  }
  // A text that was not learned from is ranked as by the second reading, by and large.
  EXPECT_GT(profiler.agreement(), 0.4);
  ASSERT_TRUE(table.importance);
  EXPECT_EQ(table.importance->agreement, profiler.agreement());
  EXPECT_EQ(table.importance->lanes.size(), 12u);
  // The lanes that remember (docs/recipes.md): layer 4 head 0 and layer 5 head 0.
  const std::vector<double>& quarter = table.rows[2].shares;
  EXPECT_GT(std::min(quarter[8], quarter[10]), 0.5);
}

TEST_F(HeadBudgetFiles, and_other_profiles_that_an_engine_ignores_are_named_by_it) {
  EXPECT_TRUE(engine_with_folder()->profile_damage().empty());
  const std::string& fingerprint = shared_engine().fingerprint();
  for (const fs::path& path : {file(), key_bases_file(folder_, fingerprint)})
    std::ofstream(path) << "torn";
  const auto engine = engine_with_folder();
  std::vector<std::string> codes;
  for (const Error& damage : engine->profile_damage()) {
    codes.push_back(damage.code);
    EXPECT_NE(damage.message.find(folder_.string()), std::string::npos) << damage.message;
  }
  EXPECT_EQ(codes, (std::vector<std::string>{"LANE_SHARES", "KEY_BASES"}));
}

// Nothing to compare it with.
TEST_F(HeadBudgetFiles, of_one_text_have_no_worth_of_keys) {
  const std::string notes = held_out_notes();
  const std::vector<ProfileText> texts = {{"a", std::string_view(notes).substr(0, 1200)}};
  LaneProfiler profiler(shared_engine().state().profiled(), arena(), texts);
  EXPECT_FALSE(made(profiler).importance);
  EXPECT_EQ(profiler.agreement(), 0);
}

TEST_F(HeadBudgetFiles, a_text_that_was_stopped_is_begun_anew_and_no_memory_is_held) {
  const std::string notes = held_out_notes();
  const std::vector<ProfileText> texts = {{"a", std::string_view(notes).substr(0, 1200)}};
  const auto memory = arena();
  LaneProfiler stopped(shared_engine().state().profiled(), memory, texts);
  std::stop_source source;
  source.request_stop();
  const Result<bool> step = stopped.step(source.get_token());
  ASSERT_FALSE(step.ok());
  EXPECT_EQ(step.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(memory->used_bytes(), 0u);
  LaneProfiler whole(shared_engine().state().profiled(), arena(), texts);
  EXPECT_EQ(made(stopped).json(), made(whole).json());
  EXPECT_EQ(memory->used_bytes(), 0u);
}

TEST_F(HeadBudgetFiles, are_kept_by_model_and_found_before_those_that_ship) {
  const auto shipped = find(shared_engine().fingerprint());
  ASSERT_NE(shipped.value, nullptr) << "the bundled model's table comes with the program";
  EXPECT_EQ(shipped.from, ProfileFrom::shipped);
  HeadBudgets mine = *shipped.value;
  mine.source = "mine";
  ASSERT_TRUE(save_head_budgets(folder_, mine).ok());
  const auto kept = find(shared_engine().fingerprint());
  EXPECT_EQ(kept.from, ProfileFrom::folder);
  EXPECT_EQ(kept.value->source, "mine");
  const auto none = find("of-another-model");
  EXPECT_EQ(none.from, ProfileFrom::nowhere);
  EXPECT_EQ(none.value, nullptr);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1)
      << "nothing half-written stays";
}

TEST_F(HeadBudgetFiles, and_folders_made_for_them_are_their_owners_only) {
  const fs::path folder = folder_ / "new/below";
  const HeadBudgets table = *find(shared_engine().fingerprint()).value;
  ASSERT_TRUE(save_head_budgets(folder, table).ok());
  for (const fs::path& made : {folder_ / "new", folder})
    EXPECT_EQ(fs::status(made).permissions(), fs::perms::owner_all) << made;
  const fs::path file = head_budgets_file(folder, table.model);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(HeadBudgetFiles, of_another_model_or_damaged_are_passed_over_by_name) {
  const auto shipped = find(shared_engine().fingerprint());
  const auto damage = [&] {
    const auto found = find(shared_engine().fingerprint());
    EXPECT_EQ(found.from, ProfileFrom::shipped) << "it stands in";
    EXPECT_EQ(found.value->json(), shipped.value->json());
    return found.damage.value_or(Error{});
  };
  HeadBudgets other = *shipped.value;
  other.rows.resize(1);
  other.rows[0].shares.pop_back();
  other.importance.value().lanes.pop_back();
  ASSERT_TRUE(save_head_budgets(folder_, other).ok());
  EXPECT_THAT(damage().message, testing::HasSubstr("for another model"));
  other = *shipped.value;
  other.importance.value().lanes[5] = {1, 2, 3};  // of keys of one value
  ASSERT_TRUE(save_head_budgets(folder_, other).ok());
  EXPECT_THAT(damage().message, testing::HasSubstr("for another model"));
  std::ofstream(file()) << "{ \"lane_shares\": 1, \"model\": 3 }";
  EXPECT_EQ(damage().code, "LANE_SHARES");
  EXPECT_THAT(damage().message, testing::HasSubstr("line 1"));
}

TEST_F(HeadBudgetFiles, a_folder_that_cannot_be_written_is_an_error_with_its_name) {
  const fs::path no_folder = folder_ / "file";
  std::ofstream(no_folder) << "x";
  const auto kept = save_head_budgets(no_folder, *find(shared_engine().fingerprint()).value);
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().kind, ErrorKind::storage);
  EXPECT_THAT(kept.error().message, testing::HasSubstr(no_folder.string()));
}

TEST_F(HeadBudgetFiles, of_another_model_are_refused_by_the_engine) {
  const auto engine = engine_with_folder();
  HeadBudgets other = *engine->config().head_budgets;
  other.importance->lanes[3].pop_back();
  const auto set = engine->set_head_budgets(other);
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().code, "LANE_SHARES");
}

// A damaged table is as good as none.
TEST_F(HeadBudgetFiles, a_model_without_one_gets_it_while_idle) {
  std::ofstream(file()) << "torn";
  const auto engine = engine_with_folder();
  ASSERT_NE(engine->config().head_budgets, nullptr) << "the one that ships stands in";
  engine->model().set_head_budgets(nullptr);
  const auto session = open("satchel", 0, *engine);
  value_of(session->add_document("", held_out_notes()));
  value_of(session->read({}, {}));
  EXPECT_GT(session->stats().n_evicted, 0u) << "without a table the tokens of all lanes compete";
  ASSERT_TRUE(session->has_idle_work());
  std::stop_source source;
  const IdleReport stopped = value_of(session->idle(source.get_token(), [&](const Progress& now) {
    if (now.phase == Phase::profile && now.done > 0) source.request_stop();
  }));
  EXPECT_FALSE(stopped.finished);
  EXPECT_EQ(engine->config().head_budgets, nullptr);
  EXPECT_TRUE(idle(*session).finished);
  EXPECT_FALSE(session->has_idle_work());
  const auto made_now = engine->config().head_budgets;
  ASSERT_NE(made_now, nullptr);
  EXPECT_EQ(find(engine->fingerprint()).value->json(), made_now->json()) << "for later runs";
  // What is read from now on goes by the table.
  const std::size_t before = session->stats().n_evicted;
  value_of(session->add_document("", held_out_notes()));
  value_of(session->read({}, {}));
  EXPECT_GT(session->stats().n_evicted, before);
}

}  // namespace
}  // namespace satchel::runtime
