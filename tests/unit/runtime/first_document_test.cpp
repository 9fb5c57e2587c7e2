// A document that begins a chat is read once: other chats take it, and answer as if they had read
// it themselves.
#include "runtime/session/first_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "runtime/contract/cache_key.h"
#include "runtime/contract/document_cache.h"
#include "runtime/limits/presets.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

using kvcache::Reread;
using kvcache::RereadReason;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr ChatId kFirst{7}, kSecond{8};

class FirstDocument : public ChatTest {
 protected:
  std::unique_ptr<Session> open_chat(ChatId chat, std::string_view recipe,
                                     std::size_t budget_bytes = 0) {
    chat_ = chat;
    return open(recipe, budget_bytes);
  }
  std::unique_ptr<Session> open_with_system(ChatId chat, std::string_view system) {
    SessionOptions options(value_of(resolve_recipe("balanced")));
    options.budget_bytes = shared_budget();
    options.chat = chat;
    options.journal = &journal_;
    options.records = &records_;
    options.system = system;
    return value_of(shared_engine().new_session(options));
  }
  static ReadReport attach(Session& session, std::size_t notes = 0) {
    value_of(session.add_document("notes", held_out_notes(notes)));
    return value_of(session.read({}, {}));
  }
  // A chat that has read the document, and is saved.
  std::unique_ptr<Session> reader(std::string_view recipe, bool packs = false) {
    auto session = open_chat(kFirst, recipe);
    attach(*session);
    if (packs) idle(*session);
    value_of(session->save());
    return session;
  }
  static std::vector<std::int32_t> answers(Session& session) {
    for (std::size_t i = 0; i < 3; ++i) ask(session, held_out_questions().at(i));
    return {session.tokens().begin(), session.tokens().end()};
  }
  std::vector<kvcache::CacheKey> offered() {
    std::vector<kvcache::CacheKey> keys;
    for (const kvcache::SavedCache& cache : value_of(records_.list()))
      if (document_of(cache.key)) keys.push_back(cache.key);
    return keys;
  }
};

// A disk that takes so many more records and manifests of the shelf.
class FullShelf final : public kvcache::RecordStore {
 public:
  explicit FullShelf(test::MemoryRecordStore& inner) : inner_(inner) {}
  void take(std::size_t n_more) { n_more_ = n_more; }

  Result<std::optional<kvcache::SavedManifest>> newest_manifest(
      const kvcache::CacheKey& key) override {
    return inner_.newest_manifest(key);
  }
  Result<std::vector<std::byte>> record(const kvcache::CacheKey& key,
                                        kvcache::RecordId id) override {
    return inner_.record(key, id);
  }
  Result<void> put_record(const kvcache::CacheKey& key, kvcache::RecordId id,
                          std::span<const std::byte> bytes) override {
    SATCHEL_TRY(count(key));
    return inner_.put_record(key, id, bytes);
  }
  Result<void> commit(const kvcache::CacheKey& key, const kvcache::SavedCommit& saved) override {
    SATCHEL_TRY(count(key));
    return inner_.commit(key, saved);
  }
  Result<void> drop(const kvcache::CacheKey& key) override { return inner_.drop(key); }
  Result<std::vector<kvcache::SavedCache>> list() override { return inner_.list(); }

 private:
  Result<void> count(const kvcache::CacheKey& key) {
    if (!document_of(key)) return {};
    if (n_more_ == 0) return Error{ErrorKind::storage, "DISK_FULL", "no more"};
    --n_more_;
    return {};
  }
  test::MemoryRecordStore& inner_;
  std::size_t n_more_ = SIZE_MAX;
};

struct Way {
  std::string recipe;
  bool packs;
};
class ShelfOfPreset : public FirstDocument, public testing::WithParamInterface<Way> {};

TEST_P(ShelfOfPreset, answers_token_for_token_and_reads_nothing) {
  const auto& [recipe, packs] = GetParam();
  const auto first = reader(recipe, packs);
  const std::size_t n_tokens = first->tokens().size();
  const kvcache::CacheStats held = first->stats();
  const auto second = open_chat(kSecond, recipe);
  const ReadReport read = attach(*second);
  EXPECT_EQ(read.n_tokens, 0u);
  EXPECT_EQ(read.n_shelf, n_tokens);
  EXPECT_THAT(read.reread, IsEmpty());
  EXPECT_EQ(second->stats().body_bytes, held.body_bytes);
  EXPECT_EQ(second->stats().n_pending, held.n_pending);
  EXPECT_EQ(second->fidelity().n_tokens, first->fidelity().n_tokens);
  EXPECT_EQ(second->ledger().size(), first->ledger().size());
  EXPECT_EQ(answers(*second), answers(*first));
  value_of(second->save());
  EXPECT_EQ(resume(*open_chat(kSecond, recipe)).n_reread, 0u);
}

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const Preset& preset : presets())
    for (const bool packs : {false, true}) all.push_back({std::string(preset.name), packs});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Presets, ShelfOfPreset, testing::ValuesIn(ways()), [](const auto& row) {
  return row.param.recipe + (row.param.packs ? "_packed" : "");
});

TEST_F(FirstDocument, is_offered_again_once_it_has_been_compressed) {
  const auto first = reader("kvzip");
  ASSERT_GT(first->stats().n_pending, 0u);
  idle(*first);
  value_of(first->save());
  const auto second = open_chat(kSecond, "kvzip");
  EXPECT_EQ(attach(*second).n_tokens, 0u);
  EXPECT_EQ(second->stats().n_pending, 0u);
  EXPECT_EQ(offered().size(), 1u);
}

TEST_F(FirstDocument, stays_offered_until_what_takes_its_place_is_whole) {
  for (std::size_t n_taken = 0;; ++n_taken) {
    SCOPED_TRACE(n_taken);
    records_.caches.clear();
    FullShelf disk(records_);
    const auto open_there = [&](ChatId chat) {
      SessionOptions options(value_of(resolve_recipe("kvzip")));
      options.budget_bytes = shared_budget();
      options.chat = {chat.value + 100 * static_cast<std::int64_t>(n_taken)};
      options.journal = &journal_;
      options.records = &disk;
      return value_of(shared_engine().new_session(options));
    };
    const auto first = open_there(kFirst);
    attach(*first);
    value_of(first->save());
    ASSERT_EQ(offered().size(), 1u);
    const kvcache::CacheKey before = offered().front();
    disk.take(n_taken);
    idle(*first);
    value_of(first->save());
    ASSERT_EQ(offered().size(), 1u);
    const bool is_new = offered().front() != before;
    disk.take(SIZE_MAX);
    const auto second = open_there(kSecond);
    EXPECT_EQ(attach(*second).n_tokens, 0u);
    EXPECT_EQ(second->stats().n_pending == 0, is_new);
    if (!is_new) continue;
    EXPECT_GT(n_taken, 1u);
    return;
  }
}

TEST_F(FirstDocument, is_offered_as_it_was_before_the_first_question) {
  const auto first = reader("balanced");
  answers(*first);
  value_of(first->save());
  const auto second = open_chat(kSecond, "balanced");
  EXPECT_EQ(attach(*second).n_tokens, 0u);
  EXPECT_EQ(answers(*second), std::vector(first->tokens().begin(), first->tokens().end()));
}

TEST_F(FirstDocument, goes_with_the_chat_that_offered_it) {
  reader("full");
  ASSERT_EQ(offered().size(), 1u);
  EXPECT_EQ(offered().front().owner, kFirst.value);
}

TEST_F(FirstDocument, with_another_recipe_is_read_and_says_why) {
  const auto first = reader("full");
  const auto second = open_chat(kSecond, "balanced");
  const ReadReport read = attach(*second);
  EXPECT_EQ(read.n_shelf, 0u);
  EXPECT_EQ(read.n_tokens, first->tokens().size());
  EXPECT_THAT(read.reread, ElementsAre(Reread{RereadReason::other_recipe, read.n_tokens}));
  value_of(second->save());
  EXPECT_EQ(offered().size(), 2u);  // one for each
}

TEST_F(FirstDocument, behind_another_system_prompt_is_read_and_says_why) {
  const auto first = open_with_system(kFirst, "Answer briefly.");
  attach(*first);
  value_of(first->save());
  const auto second = open_with_system(kSecond, "Answer at length.");
  const ReadReport read = attach(*second);
  EXPECT_EQ(read.n_shelf, 0u);
  EXPECT_THAT(read.reread, ElementsAre(Reread{RereadReason::other_beginning, read.n_tokens}));
  const auto third = open_with_system({9}, "Answer briefly.");
  EXPECT_EQ(attach(*third).n_tokens, 0u);
}

TEST_F(FirstDocument, that_is_another_one_is_new) {
  reader("balanced");
  const auto second = open_chat(kSecond, "balanced");
  const ReadReport read = attach(*second, 1);
  EXPECT_EQ(read.n_shelf, 0u);
  EXPECT_THAT(read.reread, IsEmpty());
}

TEST_F(FirstDocument, behind_other_text_is_read) {
  reader("balanced");
  const auto second = open_chat(kSecond, "balanced");
  ask(*second, "Good morning.");
  const ReadReport read = attach(*second);
  EXPECT_EQ(read.n_shelf, 0u);
  EXPECT_GT(read.n_tokens, 0u);
}

TEST_F(FirstDocument, is_not_offered_with_a_question_or_a_mark) {
  const auto asked = open_chat(kFirst, "balanced");
  attach(*asked);
  ask(*asked, held_out_questions().at(0));
  value_of(asked->save());
  EXPECT_THAT(offered(), IsEmpty());
  const auto pinned = open_chat(kSecond, "balanced");
  attach(*pinned);
  ASSERT_TRUE(pinned->pin(pinned->messages()[pinned->messages().size() - 2].id).ok());
  value_of(pinned->save());
  EXPECT_THAT(offered(), IsEmpty());
}

TEST_F(FirstDocument, that_a_request_made_smaller_is_not_offered) {
  const auto session = open_chat(kFirst, "full");
  value_of(session->add_document("", held_out_notes() + "\n" + held_out_notes()));
  value_of(session->read({}, {}));
  value_of(
      session->change_memory({.limit_bytes = session->stats().arena_used_bytes * 7 / 10}, {}, {}));
  ASSERT_EQ(session->ledger().back().cause, LedgerCause::asked);
  value_of(session->save());
  EXPECT_THAT(offered(), IsEmpty());
}

TEST_F(FirstDocument, whose_record_is_damaged_is_read_and_says_so) {
  const auto first = reader("balanced");
  for (auto& [id, bytes] : records_.caches.at(offered().front()).records)
    bytes[bytes.size() / 2] ^= std::byte{1};
  const auto second = open_chat(kSecond, "balanced");
  const ReadReport read = attach(*second);
  EXPECT_GT(read.n_tokens, 0u);
  EXPECT_EQ(read.n_tokens + read.n_shelf, first->tokens().size());
  EXPECT_THAT(read.reread, ElementsAre(Reread{RereadReason::damaged, read.n_tokens}));
  EXPECT_EQ(ask(*second, held_out_questions().at(1)).finish, Finish::end_of_turn);
}

TEST_F(FirstDocument, is_taken_by_a_chat_whose_own_cache_gave_way) {
  const auto first = reader("balanced");
  ask(*first, held_out_questions().at(0));
  value_of(first->save());
  value_of(records_.drop(cache_key(kFirst)));
  const ResumeReport report = resume(*open_chat(kFirst, "balanced"));
  EXPECT_EQ(report.reason, RereadReason::nothing_saved);
  EXPECT_GT(report.n_reused, report.n_reread);
  EXPECT_EQ(report.n_reused + report.n_reread, first->tokens().size());
}

TEST_F(FirstDocument, a_store_that_fails_costs_time_only) {
  reader("balanced");
  for (std::size_t call = 0; call < 12; ++call) {
    test::MemoryRecordStore fresh = records_;
    test::FailingRecordStore failing(fresh, call, test::FailingRecordStore::Then::always);
    SessionOptions options(value_of(resolve_recipe("balanced")));
    options.budget_bytes = shared_budget();
    options.chat = {static_cast<std::int64_t>(100 + call)};
    options.journal = &journal_;
    options.records = &failing;
    const auto session = value_of(shared_engine().new_session(options));
    const ReadReport read = attach(*session);
    EXPECT_EQ(session->n_read(), session->tokens().size()) << call;
    EXPECT_EQ(read.n_tokens + read.n_shelf, session->n_read()) << call;
  }
}

}  // namespace
}  // namespace satchel::runtime
