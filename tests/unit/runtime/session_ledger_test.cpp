// The ledger of a chat: which steps stand in it, what they cost, and that it stays with the chat.
#include <gtest/gtest.h>

#include <vector>

#include "runtime/fidelity/meter.h"
#include "runtime/limits/presets.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

class SessionLedger : public ChatTest {
 protected:
  // Reads the notes as a document and packs what waits.
  std::unique_ptr<Session> packed(std::string_view recipe) {
    auto session = open(recipe);
    value_of(session->add_document("", held_out_notes()));
    value_of(session->read({}, {}));
    idle(*session);
    return session;
  }
};

TEST_F(SessionLedger, nothing_stands_in_it_while_everything_is_exact) {
  const auto session = packed("full");
  ask(*session, held_out_questions().at(0));
  EXPECT_TRUE(session->ledger().empty());
}

TEST_F(SessionLedger, a_document_that_waits_and_is_packed_is_a_step_with_its_cost) {
  const auto session = packed("kvzip");
  ASSERT_FALSE(session->ledger().empty());
  const LedgerEntry& entry = session->ledger().back();
  EXPECT_EQ(entry.cause, LedgerCause::idle);
  EXPECT_EQ(entry.n_evicted, session->stats().n_evicted);
  EXPECT_EQ(entry.n_tokens, session->n_read());
  EXPECT_LT(entry.bytes_after, entry.bytes_before);
  EXPECT_EQ(entry.bytes_after, session->stats().bytes);
  EXPECT_GT(entry.at_ms, 1'700'000'000'000);
  EXPECT_EQ(entry.fidelity.n_tokens, kFidelityTokens);
  EXPECT_EQ(entry.fidelity.kl, session->fidelity().kl);
}

TEST_F(SessionLedger, a_document_compressed_while_it_is_read_counts_from_what_it_takes_in_fp16) {
  const auto session = open("snapkv");
  value_of(session->add_document("", held_out_notes()));
  value_of(session->read({}, {}));
  ASSERT_FALSE(session->ledger().empty());
  const LedgerEntry& entry = session->ledger().front();
  EXPECT_EQ(entry.cause, LedgerCause::read);
  EXPECT_GT(entry.n_evicted, 0u);
  const std::size_t fp16_bytes =
      entry.n_tokens * shared_engine().config().cache_shape().fp16_bytes_per_token();
  EXPECT_GE(entry.bytes_before, fp16_bytes);
  EXPECT_GT(entry.bytes_before, entry.bytes_after);
  EXPECT_EQ(entry.fidelity.n_tokens, kFidelityTokens);
}

TEST_F(SessionLedger, every_lane_token_that_went_is_in_it_also_those_that_went_while_decoding) {
  for (const char* recipe : {"h2o", "compact", "streamingllm"}) {
    SCOPED_TRACE(recipe);
    journal_ = {};
    const auto session = packed(recipe);
    value_of(session->add_user(held_out_questions().at(0)));
    value_of(session->generate(Sampling::plain_greedy(200), {}, {}, {}));
    idle(*session);
    std::size_t n_evicted = 0;
    for (const LedgerEntry& entry : session->ledger()) n_evicted += entry.n_evicted;
    EXPECT_GT(n_evicted, 0u);
    EXPECT_EQ(n_evicted, session->stats().n_evicted);
  }
}

TEST_F(SessionLedger, comes_back_with_the_chat_and_goes_on) {
  const auto first = packed("kvzip");
  value_of(first->save());
  const std::vector<LedgerEntry> before(first->ledger().begin(), first->ledger().end());
  const auto second = open("kvzip");
  EXPECT_EQ(resume(*second).n_reread, 0u);
  ASSERT_EQ(second->ledger().size(), before.size());
  EXPECT_EQ(second->ledger().back().n_evicted, before.back().n_evicted);
  EXPECT_EQ(second->ledger().back().fidelity.kl, before.back().fidelity.kl);
  EXPECT_EQ(second->fidelity().kl, first->fidelity().kl);
  EXPECT_EQ(second->fidelity().measured_ms, first->fidelity().measured_ms);
  value_of(second->add_user(held_out_notes() + "\n" + held_out_questions().at(0)));
  value_of(second->generate({.n_tokens_max = 8}, {}, {}, {}));
  idle(*second);
  EXPECT_GT(second->ledger().size(), before.size());
  EXPECT_EQ(second->ledger().front().at_ms, before.front().at_ms);
}

TEST_F(SessionLedger, steps_are_kept_where_the_cache_is_lost_but_no_figure_is_said_of_the_new_one) {
  const auto first = packed("kvzip");
  value_of(first->save());
  const std::size_t n_before = first->ledger().size();
  records_.caches.clear();
  const auto second = open("kvzip");
  EXPECT_EQ(resume(*second).n_reused, 0u);
  EXPECT_GE(second->ledger().size(), n_before);
  EXPECT_EQ(second->ledger().front().at_ms, first->ledger().front().at_ms);
  EXPECT_EQ(second->fidelity().n_tokens, 0u);
}

TEST_F(SessionLedger, a_note_that_cannot_be_read_is_none) {
  const auto first = packed("kvzip");
  value_of(first->save());
  value_of(journal_.set_note(chat_, kMeterNote, "1\nnonsense\n"));
  const auto second = open("kvzip");
  EXPECT_EQ(resume(*second).n_reread, 0u);
  EXPECT_TRUE(second->ledger().empty());
  EXPECT_EQ(second->fidelity().n_tokens, 0u);
}

TEST_F(SessionLedger, a_fork_has_what_led_to_it) {
  const auto session = packed("kvzip");
  const auto fork = value_of(session->fork({8}));
  ASSERT_EQ(fork->ledger().size(), session->ledger().size());
  EXPECT_EQ(fork->ledger().back().n_evicted, session->ledger().back().n_evicted);
  EXPECT_EQ(fork->fidelity().kl, session->fidelity().kl);
}

TEST_F(SessionLedger, under_another_recipe_the_steps_stay_and_the_figures_go) {
  const auto session = packed("kvzip");
  const std::size_t n_before = session->ledger().size();
  value_of(session->set_recipe(value_of(resolve_recipe("full")), {}, {}));
  EXPECT_EQ(session->ledger().size(), n_before);
  EXPECT_EQ(session->fidelity().n_tokens, 0u);
}

TEST_F(SessionLedger,
       what_somebody_asked_for_is_a_step_and_the_preview_says_what_attention_it_leaves) {
  const auto session = open("full");
  value_of(session->add_document("", held_out_notes() + "\n" + held_out_notes()));
  value_of(session->read({}, {}));
  const MemoryRequest request{.limit_bytes = session->stats().arena_used_bytes * 7 / 10};
  const MemoryChange foretold = value_of(session->preview_memory(request, {}));
  EXPECT_GT(foretold.cost.attention_kept, 0.9);
  EXPECT_LE(foretold.cost.attention_kept, 1);
  EXPECT_TRUE(session->ledger().empty()) << "nothing has happened yet";
  value_of(session->change_memory(request, {}, {}));
  ASSERT_EQ(session->ledger().size(), 1u);
  const LedgerEntry& entry = session->ledger().back();
  EXPECT_EQ(entry.cause, LedgerCause::asked);
  EXPECT_EQ(entry.n_lowered, foretold.n_lowered);
  EXPECT_EQ(entry.bytes_before, foretold.bytes_before);
  EXPECT_EQ(entry.bytes_after, foretold.bytes_after);
  idle(*session);
  EXPECT_FALSE(session->has_idle_work()) << "whether or not there was room to ask again";
}

}  // namespace
}  // namespace satchel::runtime
