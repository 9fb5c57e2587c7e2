// Another limit or recipe for a chat that is open: foretold, done at once where nothing has to come
// back, never more than the limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "runtime/limits/presets.h"
#include "runtime/session/cache_contents.h"
#include "unit/runtime/failing_engine.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;

class SessionMemory : public ChatTest {
 protected:
  std::unique_ptr<Session> open_and_read(std::string_view recipe, std::size_t budget = 0,
                                         Engine& engine = shared_engine()) {
    auto session = open(recipe, budget, engine);
    value_of(session->add_document("", held_out_notes() + "\n" + held_out_notes()));
    value_of(session->read({}, {}));
    return session;
  }
  static MemoryRequest limit(std::size_t bytes) { return {.limit_bytes = bytes}; }
  static MemoryRequest preset(std::string_view name) {
    return {.recipe = value_of(resolve_recipe(name))};
  }
  static MemoryChange preview(Session& session, const MemoryRequest& request) {
    return value_of(session.preview_memory(request, {}));
  }
  static MemoryChange change(Session& session, const MemoryRequest& request) {
    return value_of(session.change_memory(request, {}, {}));
  }
  static void expect_answers(Session& session) {
    EXPECT_EQ(ask(session, "Where is the brass bell?").finish, Finish::end_of_turn);
  }
};

TEST_F(SessionMemory, a_lower_limit_does_what_was_foretold_and_is_held) {
  const auto session = open_and_read("full");
  const kvcache::CacheStats before = session->stats();
  const std::size_t wanted = before.arena_used_bytes * 8 / 10;
  const MemoryChange foretold = preview(*session, limit(wanted));
  EXPECT_TRUE(foretold.fits);
  EXPECT_EQ(foretold.bytes_before, before.bytes);
  EXPECT_LT(foretold.bytes_after, before.bytes);
  EXPECT_GT(foretold.n_lowered, 0u);
  EXPECT_EQ(foretold.n_reread, 0u);
  EXPECT_EQ(foretold.cost.n_tokens, 64u);
  EXPECT_GT(foretold.cost.kl, 0);
  EXPECT_LT(foretold.cost.kl, 0.1);
  EXPECT_EQ(session->stats().bytes, before.bytes) << "nothing has happened yet";
  EXPECT_EQ(session->stats().arena_used_bytes, before.arena_used_bytes);
  const MemoryChange done = change(*session, limit(wanted));
  EXPECT_EQ(done.n_lowered, foretold.n_lowered);
  EXPECT_EQ(done.bytes_after, foretold.bytes_after);
  EXPECT_EQ(session->stats().arena_bytes, kvcache::Arena::rounded_down(wanted));
  EXPECT_LE(session->stats().arena_used_bytes, wanted);
  expect_answers(*session);
}

TEST_F(SessionMemory, a_limit_that_is_too_small_is_refused_with_the_least_that_would_do) {
  const auto session = open_and_read("full");
  const kvcache::CacheStats before = session->stats();
  const MemoryChange foretold = preview(*session, limit(900'000));
  EXPECT_FALSE(foretold.fits);
  const auto refused = session->change_memory(limit(900'000), {}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "LIMIT");
  EXPECT_THAT(refused.error().message, HasSubstr("too small for this chat"));
  EXPECT_EQ(session->stats().bytes, before.bytes);
  EXPECT_EQ(session->stats().arena_bytes, before.arena_bytes);
  const MemoryChange least = preview(*session, limit(foretold.limit_least));
  EXPECT_TRUE(least.fits) << "what it names is enough";
  change(*session, limit(foretold.limit_least));
  expect_answers(*session);
}

TEST_F(SessionMemory, a_smaller_preset_is_followed_at_once_and_saved_as_such) {
  const auto session = open_and_read("full");
  for (const char* name : {"balanced", "compact"}) {
    const std::size_t before = session->stats().bytes;
    const MemoryChange foretold = preview(*session, preset(name));
    EXPECT_EQ(foretold.n_reread, 0u) << name;
    EXPECT_GT(foretold.cost.n_tokens, 0u) << name;
    const MemoryChange done = change(*session, preset(name));
    EXPECT_EQ(done.n_lowered, foretold.n_lowered) << name;
    EXPECT_EQ(done.n_evicted, foretold.n_evicted) << name;
    EXPECT_EQ(done.bytes_after, foretold.bytes_after) << name;
    EXPECT_LT(done.bytes_after, before) << name;
    EXPECT_EQ(done.n_evicted > 0, std::string(name) == "compact");
    EXPECT_EQ(session->recipe().hash(), value_of(resolve_recipe(name)).hash());
    const LedgerEntry& noted = session->ledger().back();
    EXPECT_EQ(noted.cause, LedgerCause::asked) << name;
    EXPECT_EQ(noted.n_lowered, done.n_lowered) << name << ": what is gone is not coarser too";
    EXPECT_EQ(noted.n_evicted, done.n_evicted) << name;
    EXPECT_EQ(noted.fidelity.n_tokens, done.cost.n_tokens) << name << ": as it was measured";
    EXPECT_EQ(noted.fidelity.kl, done.cost.kl) << name;
    expect_answers(*session);
  }
  value_of(session->save());
  const auto again = open("compact");
  EXPECT_EQ(resume(*again).n_reread, 0u);
  EXPECT_EQ(again->stats().bytes, session->stats().bytes);
}

TEST_F(SessionMemory, stop_before_text_goes_leaves_it_as_it_was) {
  const auto session = open_and_read("full");
  const std::size_t before = session->stats().bytes, n_steps = session->ledger().size();
  std::stop_source stop;
  stop.request_stop();
  for (const MemoryRequest& request : {preset("extreme"), limit(before * 8 / 10)}) {
    const auto stopped = session->change_memory(request, stop.get_token(), {});
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
    EXPECT_EQ(session->stats().bytes, before);
    EXPECT_EQ(session->ledger().size(), n_steps);
    EXPECT_EQ(session->recipe().hash(), value_of(resolve_recipe("full")).hash());
  }
  expect_answers(*session);
}

TEST_F(SessionMemory, a_larger_preset_says_what_has_to_be_read_again) {
  const auto session = open_and_read("compact");
  const std::size_t n = session->tokens().size();
  const MemoryChange foretold = preview(*session, preset("full"));
  EXPECT_EQ(foretold.n_reread, n);
  EXPECT_GT(foretold.reread_ms, 0);
  EXPECT_EQ(foretold.cost.n_tokens, 0u) << "not measured";
  EXPECT_GT(foretold.bytes_after, foretold.bytes_before);
  const std::vector<kvcache::Reread> all = {{kvcache::RereadReason::other_recipe, n}};
  EXPECT_EQ(foretold.reread, all);
  const MemoryChange done = change(*session, preset("full"));
  EXPECT_EQ(done.reread, all);
  EXPECT_EQ(done.n_reread, n);
  EXPECT_EQ(session->stats().n_evicted, 0u);
  EXPECT_EQ(session->n_read(), n);
  expect_answers(*session);
}

TEST_F(SessionMemory, stopped_while_all_is_read_again_it_says_what_the_chat_is_then) {
  const auto session = open_and_read("compact");
  std::stop_source stop;
  const auto at_once = [&](const Progress&) { stop.request_stop(); };
  const auto stopped = session->change_memory(preset("balanced"), stop.get_token(), at_once);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(session->recipe().name(), "ladder-4");
  EXPECT_LT(session->n_read(), session->tokens().size());
  EXPECT_THAT(stopped.error().message,
              HasSubstr("The chat now has recipe \"ladder-4\" and a memory"));
  EXPECT_THAT(stopped.error().message,
              HasSubstr(" " + std::to_string(session->n_read()) + " of its "));
  EXPECT_THAT(stopped.error().message, testing::Not(HasSubstr("as it was")));
  const std::size_t n = session->tokens().size();
  EXPECT_EQ(ask(*session, "Where is the brass bell?").read.reread,
            std::vector<kvcache::Reread>({{kvcache::RereadReason::other_recipe, n}}))
      << "the question was read for the first time";
  EXPECT_EQ(session->n_read(), session->tokens().size());
}

TEST_F(SessionMemory, what_came_down_for_a_limit_comes_back_when_its_own_preset_is_asked_for) {
  const auto session = open_and_read("full");
  const kvcache::CacheStats before = session->stats();
  EXPECT_EQ(preview(*session, preset("full")).n_reread, 0u) << "nothing to bring back";
  change(*session, limit(before.arena_used_bytes * 8 / 10));
  EXPECT_GT(n_coarser_than(session->recipe(), session->stats()), 0u);
  change(*session, limit(before.arena_bytes));
  EXPECT_GT(n_coarser_than(session->recipe(), session->stats()), 0u) << "a limit reads nothing";
  const MemoryChange foretold = preview(*session, preset("full"));
  EXPECT_EQ(foretold.n_reread, session->tokens().size());
  EXPECT_TRUE(foretold.fits);
  EXPECT_EQ(change(*session, preset("full")).reread,
            std::vector<kvcache::Reread>({{kvcache::RereadReason::lowered, foretold.n_reread}}));
  EXPECT_EQ(n_coarser_than(session->recipe(), session->stats()), 0u);
  EXPECT_EQ(session->stats().body_bytes, before.body_bytes);
  expect_answers(*session);
}

TEST_F(SessionMemory, what_is_read_again_is_foretold_under_the_limit_that_is_asked_for) {
  const auto engine = open_engine(bundled_model());
  const auto least =
      value_of(engine->estimate(value_of(resolve_recipe("extreme")), {.n_tokens = 400}));
  const auto session = open_and_read("extreme", least.arena_bytes, *engine);
  MemoryRequest request = preset("compact");
  const auto expected_under = [&](std::size_t bytes) {
    return value_of(engine->estimate(*request.recipe, {.n_tokens = session->tokens().size(),
                                                       .budget_bytes = bytes,
                                                       .asks = {.expected_bytes = true}}))
        .expected_bytes;
  };
  request.limit_bytes = 16 * least.arena_bytes;
  ASSERT_NE(expected_under(request.limit_bytes), expected_under(least.arena_bytes))
      << "shorter spans, fuller pages: else this says nothing";
  const MemoryChange foretold = preview(*session, request);
  EXPECT_GT(foretold.n_reread, 0u);
  EXPECT_EQ(foretold.bytes_after, expected_under(request.limit_bytes));
}

TEST_F(SessionMemory, under_a_limit_too_low_for_all_it_is_said_beforehand_and_what_would_do) {
  const auto session = open_and_read("full");
  const kvcache::CacheStats before = session->stats();
  EXPECT_EQ(preview(*session, preset("balanced")).limit_all, 0u) << "nothing is read again";
  change(*session, limit(before.arena_used_bytes * 8 / 10));
  MemoryRequest again = preset("full");
  again.limit_bytes = preview(*session, again).limit_least;
  const MemoryChange foretold = preview(*session, again);
  EXPECT_TRUE(foretold.fits);
  EXPECT_GT(foretold.limit_all, again.limit_bytes);
  EXPECT_GT(foretold.bytes_all, foretold.bytes_after);
  EXPECT_NEAR(double(foretold.bytes_all), double(before.bytes), 0.01 * double(before.bytes));
  change(*session, again);
  EXPECT_GT(n_coarser_than(session->recipe(), session->stats()), 0u) << "as was said";
  EXPECT_LE(session->stats().bytes, foretold.bytes_after);
  again.limit_bytes = foretold.limit_all;
  const MemoryChange enough = preview(*session, again);
  EXPECT_EQ(enough.limit_all, 0u);
  change(*session, again);
  EXPECT_EQ(n_coarser_than(session->recipe(), session->stats()), 0u) << "what it names is enough";
  EXPECT_NEAR(double(session->stats().bytes), double(enough.bytes_after),
              0.01 * double(enough.bytes_after));
}

TEST_F(SessionMemory, a_limit_above_what_was_reserved_is_taken_and_the_cache_restored) {
  const auto engine = open_engine(bundled_model());
  const auto need =
      value_of(engine->estimate(value_of(resolve_recipe("balanced")), {.n_tokens = 2000}));
  const auto session = open_and_read("balanced", need.arena_bytes, *engine);
  const std::vector<std::size_t> before = {session->stats().bytes, session->n_read()};
  change(*session, limit(2 * need.arena_bytes));
  EXPECT_EQ((std::vector<std::size_t>{session->stats().bytes, session->n_read()}), before);
  EXPECT_EQ(session->stats().arena_bytes, kvcache::Arena::rounded_down(2 * need.arena_bytes));
  expect_answers(*session);
}

// What cannot be opened leaves the chat as it was: with its cache, its limit and its recipe.
class SessionWithoutANewCache : public SessionMemory {
 protected:
  void expect_as_it_was(const std::function<Error(Session&)>& changed) {
    const FailingEngine with;
    const auto session = open_and_read("compact", 0, *with.engine);
    value_of(session->save());
    const kvcache::CacheStats before = session->stats();
    with.failing->fail_tables(true);  // no cache opens without one
    EXPECT_EQ(changed(*session).code, "DEVICE_LOST");
    with.failing->fail_tables(false);
    const kvcache::CacheStats after = session->stats();
    EXPECT_EQ(session->recipe().name(), "satchel");
    EXPECT_EQ(after.arena_bytes, before.arena_bytes);
    EXPECT_EQ(after.bytes, before.bytes);
    EXPECT_EQ(after.n_kept, before.n_kept);
    expect_answers(*session);
  }
};

TEST_F(SessionWithoutANewCache, a_chat_whose_limit_was_to_rise_goes_on) {
  expect_as_it_was([](Session& session) {
    const std::size_t more = 2 * session.stats().arena_bytes;
    const auto raised = session.change_memory(limit(more), {}, {});
    EXPECT_FALSE(raised.ok());
    return raised.ok() ? Error{} : raised.error();
  });
}

TEST_F(SessionWithoutANewCache, a_chat_that_was_to_have_another_recipe_goes_on) {
  expect_as_it_was([](Session& session) {
    const auto changed = session.set_recipe(value_of(resolve_recipe("full")), {}, {});
    EXPECT_FALSE(changed.ok());
    return changed.ok() ? Error{} : changed.error();
  });
}

TEST_F(SessionMemory, a_text_of_many_times_the_limit_comes_down_the_ladder_within_it) {
  const auto recipe = value_of(resolve_recipe("full"));
  const auto engine = open_engine(bundled_model());
  const auto least = value_of(engine->estimate(recipe, {.n_tokens = 500}));
  const auto session = open_and_read("full", least.arena_bytes, *engine);
  const kvcache::CacheStats stats = session->stats();
  EXPECT_GT(stats.n_tokens, 1500u);
  EXPECT_EQ(stats.n_evicted, 0u);
  EXPECT_THAT(session->ledger(), testing::Contains(testing::AllOf(
                                     testing::Field(&LedgerEntry::cause, LedgerCause::limit),
                                     testing::Field(&LedgerEntry::n_lowered, testing::Gt(0u)))))
      << "not silently";
  EXPECT_GT(stats.tiers.back().n_tokens + stats.tiers[stats.tiers.size() - 2].n_tokens, 0u);
  expect_answers(*session);
}

}  // namespace
}  // namespace satchel::runtime
