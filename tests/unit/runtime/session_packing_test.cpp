// What is compressed when: never the turn that is being answered; messages and answers when it has
// ended, documents when they are read; a second pass while nobody waits. And texts longer than the
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/limits/presets.h"
#include "support/temp_folder.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;

class Packing : public ChatTest {
 protected:
  // The bundled model says bells for ever.
  static GenerateReport say_bells(Session& session, std::size_t n_tokens) {
    std::string bells;
    for (int i = 0; i < 60; ++i) bells += "bell ";
    value_of(session.add_user(bells));
    return value_of(session.generate(Sampling::plain_greedy(n_tokens), {}, {}, {}));
  }
  static std::string long_message() { return held_out_notes() + "\n" + held_out_notes(); }
};

class PackingUnder : public Packing, public testing::WithParamInterface<const char*> {};

TEST_P(PackingUnder, a_long_answer_loses_the_same_when_its_turn_ends_and_when_it_is_read_again) {
  const auto first = open(GetParam());
  EXPECT_EQ(say_bells(*first, 700).n_tokens, 700u);
  const std::size_t n_at_once = first->stats().n_evicted;
  const IdleReport packed = idle(*first);
  const kvcache::CacheStats before = first->stats();
  EXPECT_EQ(n_at_once + packed.n_evicted, before.n_evicted);
  // A second pass scores what the model said itself; other recipes keep it.
  if (first->recipe().name() == "kvzip") {
    EXPECT_GT(before.n_evicted, 0u);
  }
  const auto second = open(GetParam());  // nothing was saved
  const ResumeReport report = resume(*second);
  EXPECT_EQ(report.n_reread, first->tokens().size());
  EXPECT_EQ(report.n_evicted, n_at_once);
  if (n_at_once > 0) {
    EXPECT_THAT(report.message, HasSubstr("were left out again"));
  }
  const IdleReport again = idle(*second);
  EXPECT_EQ(again.n_evicted, packed.n_evicted);
  EXPECT_EQ(second->stats().n_evicted, before.n_evicted);
  EXPECT_EQ(second->stats().n_kept, before.n_kept);
}

TEST_P(PackingUnder, nothing_is_gone_from_a_message_before_it_is_answered) {
  const auto session = open(GetParam());
  value_of(session->add_user(long_message()));
  value_of(session->read({}, {}));
  EXPECT_GT(session->n_read(), 900u);
  EXPECT_EQ(session->stats().n_evicted, 0u);
  EXPECT_EQ(idle(*session).n_evicted, 0u) << "nor while nobody waits";
  bool lost = false;
  const auto delta = [&](std::string_view) {
    lost |= session->stats().n_evicted > 0;
    return true;
  };
  value_of(session->generate({.n_tokens_max = 20}, delta, {}, {}));
  EXPECT_FALSE(lost);
  idle(*session);
  EXPECT_GT(session->stats().n_evicted, 0u);
}

INSTANTIATE_TEST_SUITE_P(Recipes, PackingUnder, testing::Values("compact", "kvzip", "snapkv"),
                         [](const auto& row) { return std::string(row.param); });

// A recipe may let documents wait for the end of the turn that asks about them.
TEST_F(Packing, a_document_that_waits_is_whole_until_its_first_answer_is_there) {
  const test::TempFolder temp;
  const auto path = temp.path() / "later.json";
  std::string json = value_of(resolve_recipe("snapkv")).json();
  json.replace(json.find("end_of_prompt"), 13, "end_of_turn");
  std::ofstream(path) << json;
  const auto session = open(path.string());
  value_of(session->add_document("notes", held_out_notes()));
  value_of(session->add_user("Where is the brass bell?"));
  bool lost = false;
  const auto delta = [&](std::string_view) {
    lost |= session->stats().n_evicted > 0;
    return true;
  };
  value_of(session->generate({.n_tokens_max = 20}, delta, {}, {}));
  EXPECT_FALSE(lost);
  EXPECT_GT(session->stats().n_evicted, 0u);
  const auto again = open(path.string());  // nothing was saved
  EXPECT_EQ(resume(*again).n_reread, session->tokens().size());
  EXPECT_EQ(again->stats().n_evicted, session->stats().n_evicted);
  EXPECT_EQ(again->stats().n_kept, session->stats().n_kept);
}

// Also where the template has no place for it but the first user turn.
TEST_F(Packing, the_system_prompt_is_never_compressed) {
  for (const char* chat_template : {"", "llama-2", "mistral"}) {
    SCOPED_TRACE(chat_template);
    EngineOptions opened;
    opened.model = bundled_model();
    opened.chat_template = chat_template;
    const auto engine = value_of(Engine::open(opened));
    SessionOptions options(value_of(resolve_recipe("extreme")));
    options.system = held_out_notes();
    const auto session = value_of(engine->new_session(options));
    const std::string said = held_out_notes().substr(0, 600);
    ask(*session, said, 20);
    const std::size_t n_system = session->messages()[0].end;
    ASSERT_GT(n_system, 400u);
    ASSERT_GT(session->tokens().size(), n_system + 100);
    std::vector<TokenId> whole = value_of(engine->chat_template().open_chat(
        engine->tokenizer(), options.system, Thinking::automatic));
    const std::vector<TokenId> turn =
        value_of(engine->chat_template().user_turn(engine->tokenizer(), said, options.system));
    whole.insert(whole.end(), turn.begin(), turn.end());
    ASSERT_GE(session->tokens().size(), whole.size());
    EXPECT_TRUE(std::ranges::equal(session->tokens().first(whole.size()), whole));
    idle(*session);
    const kvcache::CacheStats stats = session->stats();
    EXPECT_GT(stats.n_evicted, 0u) << "of what the user said";
    for (const kvcache::LayerStats& layer : stats.layers) EXPECT_GE(layer.n_kept_min, n_system);
  }
}

// What a document takes exactly, several times over.
TEST_F(Packing, a_document_several_times_the_budget_is_read_in_spans_and_the_limit_holds) {
  const auto recipe = value_of(resolve_recipe("extreme"));
  std::string text = held_out_notes();
  while (value_of(shared_engine().tokenizer().encode(text + held_out_notes(), SpecialText::as_text))
             .size() < 1850)
    text += "\n" + held_out_notes();
  const auto engine = open_engine(bundled_model());
  const std::size_t n_least = 260;  // tokens that the budget is made for
  const auto need = value_of(engine->estimate(recipe, {.n_tokens = n_least}));
  std::size_t budget = need.arena_bytes;
  const auto session = open("extreme", budget, *engine);
  value_of(session->add_document("long", text));
  std::size_t n_calls = 0, largest = 0;
  const auto watch = [&](const Progress&) {
    ++n_calls;
    largest = std::max(largest, session->stats().arena_used_bytes);
  };
  const auto read = session->read({}, watch);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(session->n_read(), session->tokens().size());
  EXPECT_GT(n_calls, 10u);
  EXPECT_LE(largest, budget);
  const kvcache::CacheStats stats = session->stats();
  EXPECT_LE(stats.arena_peak_bytes, budget);
  EXPECT_GT(stats.n_evicted, 0u);
  std::printf("document of %zu tokens, exact %zu bytes, budget %zu, peak %zu\n",
              session->tokens().size(), stats.fp16_bytes, budget, stats.arena_peak_bytes);
  EXPECT_EQ(ask(*session, held_out_questions().at(0), 16).finish == Finish::cache_full, false);
  idle(*session);
  EXPECT_LE(session->stats().arena_peak_bytes, budget);
  value_of(session->save());
  const std::size_t n_evicted = session->stats().n_evicted;
  const auto engine_after = open_engine(bundled_model());
  const auto again = open("extreme", budget, *engine_after);
  const ResumeReport report = resume(*again);
  EXPECT_EQ(report.n_reread, 0u) << report.message;
  EXPECT_EQ(again->stats().n_evicted, n_evicted);
  EXPECT_LE(again->stats().arena_peak_bytes, budget);
}

TEST_F(Packing, idle_work_that_is_stopped_goes_on_where_it_was_also_after_a_restart) {
  const auto whole = open("kvzip");
  value_of(whole->add_document("", long_message()));
  value_of(whole->read({}, {}));
  const std::size_t n_evicted = idle(*whole).n_evicted;
  EXPECT_GT(n_evicted, 0u);
  for (const bool restarts : {false, true}) {
    journal_ = {};
    records_.caches.clear();
    auto session = open("kvzip");
    value_of(session->add_document("", long_message()));
    value_of(session->read({}, {}));
    std::stop_source source;
    const IdleReport stopped = value_of(session->idle(source.get_token(), [&](const Progress& now) {
      if (now.phase == Phase::pack) source.request_stop();
    }));
    EXPECT_FALSE(stopped.finished);
    EXPECT_EQ(stopped.n_evicted, 0u);
    const std::size_t n_probed = session->stats().n_pending_probed;
    EXPECT_GT(n_probed, 0u);
    EXPECT_LT(n_probed, session->stats().n_pending);
    EXPECT_TRUE(session->has_idle_work());
    if (restarts) {
      value_of(session->save());
      session = open("kvzip");
      EXPECT_EQ(resume(*session).n_reread, 0u);
      EXPECT_EQ(session->stats().n_pending_probed, n_probed);
      EXPECT_TRUE(session->has_idle_work());
    }
    const IdleReport rest = idle(*session);
    EXPECT_TRUE(rest.finished);
    EXPECT_EQ(rest.n_evicted, n_evicted) << "restarts " << restarts;
    EXPECT_EQ(session->stats().n_kept, whole->stats().n_kept);
    EXPECT_FALSE(session->has_idle_work());
  }
}

TEST_F(Packing, a_message_that_comes_while_text_waits_is_answered_from_the_provisional_tier) {
  const auto session = open("kvzip");
  value_of(session->add_document("", held_out_notes()));
  const GenerateReport report = ask(*session, held_out_questions().at(0));
  EXPECT_EQ(report.finish, Finish::end_of_turn);
  EXPECT_EQ(session->stats().n_evicted, 0u);
  EXPECT_TRUE(session->has_idle_work());
  const auto exact = open("full");
  journal_ = {};
  value_of(exact->add_document("", held_out_notes()));
  EXPECT_EQ(ask(*exact, held_out_questions().at(0)).text, report.text);
}

}  // namespace
}  // namespace satchel::runtime
