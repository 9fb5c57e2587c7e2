// Chats of models with recurrent layers: edited, branched, regenerated, saved and opened, they say
// what they say when read anew, and read at most one interval between checkpoints again.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "runtime/limits/presets.h"
#include "support/temp_folder.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_recurrent.h"

namespace satchel::runtime {
namespace {

using kvcache::RereadReason;

Engine& hybrid_engine(const RecurrentKind& kind) {
  static const test::TempFolder folder(test::Place::memory);
  static std::map<std::string, std::unique_ptr<Engine>> engines;
  std::unique_ptr<Engine>& engine = engines[kind.name];
  if (engine != nullptr) return *engine;
  const std::string name = std::string(kind.name) + ".gguf";
  EXPECT_TRUE(kind.gguf(4096).write(folder / name));
  engine = open_engine(folder / name);
  return *engine;
}

class HybridChat : public ChatTest, public testing::WithParamInterface<RecurrentKind> {
 protected:
  static Engine& engine() { return hybrid_engine(GetParam()); }
  static constexpr std::size_t kInterval = 128, kAnswer = 40;

  std::unique_ptr<Session> chat(std::string_view recipe = "full") {
    return open(recipe, 16u << 20, engine());
  }
  static std::vector<std::int32_t> ids(const Session& session) {
    return {session.tokens().begin(), session.tokens().end()};
  }
  static GenerateReport say(Session& session, std::string_view text) {
    return ask(session, text, kAnswer);
  }
  // The chat as a process without any saved cache has it.
  std::vector<std::int32_t> read_anew_and_say(std::string_view text) {
    const test::MemoryRecordStore saved = std::exchange(records_, {});
    const auto journal = journal_;
    const auto session = chat();
    const ResumeReport report = resume(*session);
    EXPECT_EQ(report.n_reused, 0u);
    if (text.empty()) {
      value_of(session->generate({.n_tokens_max = kAnswer}, {}, {}, {}));
    } else {
      say(*session, text);
    }
    const std::vector<std::int32_t> all = ids(*session);
    journal_ = journal;
    records_ = saved;
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(Models, HybridChat, testing::ValuesIn(kRecurrentKinds),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(HybridChat, edited_in_the_middle_says_what_it_says_when_read_anew) {
  const auto session = chat();
  say(*session, letters(300));
  const MessageId kept = say(*session, letters(90, 'b')).answer;
  say(*session, letters(200, 'c'));
  say(*session, letters(50));
  ASSERT_TRUE(session->truncate(kept).ok());
  const std::size_t n_unread = session->tokens().size() - session->n_read();
  EXPECT_LE(n_unread, kInterval);
  const std::vector<std::int32_t> wanted = read_anew_and_say(letters(33, 'd'));
  say(*session, letters(33, 'd'));
  EXPECT_EQ(ids(*session), wanted);
}

TEST_P(HybridChat, regenerated_says_the_same_and_reads_nothing_again) {
  const auto session = chat();
  say(*session, letters(300));
  say(*session, letters(64, 'b'));
  const std::vector<std::int32_t> once = ids(*session);
  const std::set<std::int32_t> said(once.end() - kAnswer, once.end());
  EXPECT_GT(said.size(), 5u) << "else it would say the same of any text";
  for (int i = 0; i < 3; ++i) {
    const MessageId question = session->messages()[session->messages().size() - 2].id;
    ASSERT_TRUE(session->truncate(question).ok());
    EXPECT_EQ(session->n_read(), session->tokens().size()) << "a checkpoint stands there";
    value_of(session->generate({.n_tokens_max = kAnswer}, {}, {}, {}));
    EXPECT_EQ(ids(*session), once);
  }
}

TEST_P(HybridChat, a_branch_and_its_origin_go_their_own_ways) {
  const auto session = chat();
  say(*session, letters(200));
  const auto branch = value_of(session->fork(ChatId{8}));
  const std::vector<std::int32_t> other = read_anew_and_say(letters(70, 'e'));
  say(*branch, letters(70, 'e'));
  EXPECT_EQ(ids(*branch), other);
  const std::vector<std::int32_t> wanted = read_anew_and_say(letters(41, 'f'));
  say(*session, letters(41, 'f'));
  EXPECT_EQ(ids(*session), wanted);
  ASSERT_TRUE(branch->truncate(branch->messages()[1].id).ok());
  say(*branch, letters(41, 'f'));
  EXPECT_EQ(ids(*branch), wanted);
}

TEST_P(HybridChat, a_version_that_was_left_comes_back_whole_in_another_process_too) {
  const auto session = chat();
  const MessageId kept = say(*session, letters(300)).answer;
  say(*session, letters(64, 'b'));
  const std::vector<std::int32_t> first = ids(*session);
  const MessageId question = session->messages()[session->messages().size() - 2].id;
  value_of(session->save());
  ASSERT_TRUE(session->truncate(kept).ok());
  say(*session, letters(81, 'c'));
  value_of(session->save());
  const auto again = chat();
  EXPECT_EQ(resume(*again).n_reread, 0u);
  for (Session* one : {session.get(), again.get()}) {
    ASSERT_TRUE(one->switch_to(question).ok());
    EXPECT_EQ(ids(*one), first);
    EXPECT_EQ(one->n_read(), first.size());
  }
  const std::vector<std::int32_t> wanted = read_anew_and_say(letters(33, 'd'));
  say(*again, letters(33, 'd'));
  EXPECT_EQ(ids(*again), wanted);
}

TEST_P(HybridChat, closed_and_opened_twenty_times_says_what_it_says_without_that) {
  std::vector<std::int32_t> said[2];
  for (const bool closes : {false, true}) {
    journal_ = {};
    records_ = {};
    std::unique_ptr<Session> session = chat();
    say(*session, letters(200));
    for (std::size_t round = 0; round < 20; ++round) {
      value_of(session->save());
      if (closes) {
        session = chat();
        EXPECT_EQ(resume(*session).n_reread, 0u) << round;
      }
      ask(*session, letters(20 + round, 'b'), 5);
    }
    said[closes ? 1 : 0] = ids(*session);
  }
  EXPECT_EQ(said[1], said[0]);
}

TEST_P(HybridChat, saved_and_opened_goes_on_and_can_still_be_cut_far_back) {
  MessageId kept;
  {
    const auto session = chat();
    kept = say(*session, letters(350)).answer;
    say(*session, letters(80, 'b'));
    say(*session, letters(30, 'c'));
    value_of(session->save());
  }
  for (const bool cuts : {false, true}) {
    const auto session = chat();
    const ResumeReport report = resume(*session);
    EXPECT_EQ(report.reason, RereadReason::none) << report.message;
    EXPECT_EQ(report.n_reread, 0u);
    const auto journal = journal_;
    std::vector<kvcache::Reread> again;
    if (cuts) {
      ASSERT_TRUE(session->truncate(kept).ok());
      // States of the others take more than a share of so short a text: two checkpoints are saved.
      const bool saves_all = GetParam().name == std::string_view("lfm2");
      const std::size_t n_unread = session->tokens().size() - session->n_read();
      EXPECT_LE(n_unread, saves_all ? kInterval : session->tokens().size());
      EXPECT_EQ(n_unread > 0, !saves_all);
      if (n_unread > 0) again = {{RereadReason::checkpoint, n_unread}};
    }
    const std::vector<std::int32_t> wanted = read_anew_and_say(letters(25, 'd'));
    EXPECT_EQ(say(*session, letters(25, 'd')).read.reread, again) << cuts;
    EXPECT_EQ(ids(*session), wanted) << cuts;
    journal_ = journal;
  }
}

TEST_P(HybridChat, saved_again_after_a_turn_writes_only_new_states) {
  const auto session = chat();
  say(*session, letters(1500));
  const std::size_t all = value_of(session->save()).bytes_written;
  say(*session, "b");
  const kvcache::SaveReport second = value_of(session->save());
  EXPECT_LT(second.bytes_written, all / 2);
  EXPECT_EQ(value_of(session->save()).n_records_written, 0u);
  const auto again = chat();
  EXPECT_EQ(resume(*again).reason, RereadReason::none);
}

// The records that hold states, by id; those of the running ones last.
std::vector<kvcache::RecordId> state_records(const test::MemoryRecordStore& store) {
  std::vector<kvcache::RecordId> ids;
  for (const auto& [key, rows] : store.caches)
    for (const auto& [id, bytes] : rows.records)
      if (std::to_integer<int>(bytes[10]) == 5) ids.push_back(id);  // FORMAT.md, Record
  return ids;
}

TEST_P(HybridChat, with_a_damaged_record_of_states_reads_again_from_the_checkpoint_before) {
  {
    const auto session = chat();
    say(*session, letters(500));
    say(*session, letters(60, 'b'));
    value_of(session->save());
  }
  const std::vector<std::int32_t> wanted = read_anew_and_say(letters(25, 'd'));
  const test::MemoryRecordStore sound = records_;
  const auto journal = journal_;
  const std::vector<kvcache::RecordId> ids_of_states = state_records(sound);
  ASSERT_GE(ids_of_states.size(), 3u) << "two checkpoints, and where the text ends";
  for (const kvcache::RecordId id : ids_of_states)
    for (const bool is_missing : {false, true}) {
      records_ = sound;
      journal_ = journal;
      auto& records = records_.caches.begin()->second.records;
      if (is_missing)
        records.erase(id);
      else
        records.at(id).back() ^= std::byte{1};
      const auto session = chat();
      const ResumeReport report = resume(*session);
      EXPECT_NE(report.message.find("damaged (record " + std::to_string(id)), std::string::npos)
          << report.message;
      EXPECT_LE(report.n_reread, kInterval) << id;
      EXPECT_GT(report.n_reused, 0u);
      EXPECT_EQ(report.n_reread > 0, id == ids_of_states.back()) << "only the last is needed now";
      say(*session, letters(25, 'd'));
      EXPECT_EQ(ids(*session), wanted) << id;
    }
}

TEST_P(HybridChat, whose_states_are_all_damaged_is_read_again) {
  {
    const auto session = chat();
    say(*session, letters(200));
    value_of(session->save());
  }
  const std::vector<std::int32_t> wanted = read_anew_and_say(letters(25, 'd'));
  for (const kvcache::RecordId id : state_records(records_))
    records_.caches.begin()->second.records.erase(id);
  const auto session = chat();
  const ResumeReport report = resume(*session);
  EXPECT_EQ(report.reason, RereadReason::damaged);
  EXPECT_EQ(report.n_reused, 0u);
  say(*session, letters(25, 'd'));
  EXPECT_EQ(ids(*session), wanted);
}

TEST_P(HybridChat, a_copy_of_bytes_goes_on_as_the_chat_itself) {
  const auto session = chat();
  say(*session, letters(300));
  test::MemoryRecordStore elsewhere;
  const ChatCopy copy = value_of(session->copy_to(elsewhere));
  SessionOptions options(value_of(resolve_recipe("full")));
  options.budget_bytes = 16u << 20;
  const auto other = value_of(engine().new_session(options));
  const ResumeReport report = value_of(other->resume_copy(copy, elsewhere, {}, {}));
  EXPECT_EQ(report.n_reread, 0u) << report.message;
  say(*session, letters(20, 'b'));
  say(*other, letters(20, 'b'));
  EXPECT_EQ(ids(*other), ids(*session));
}

TEST_P(HybridChat, cannot_forget_a_message_and_says_so) {
  const auto session = chat();
  say(*session, letters(100));
  const auto forgotten = session->forget(session->messages().front().id);
  ASSERT_FALSE(forgotten.ok());
  EXPECT_EQ(forgotten.error().code, "CACHE_RANGE");
}

// Episodes leave the reach, rest in the store where memory is short, and come back; the states go
// on.
TEST_P(HybridChat, goes_on_beyond_its_context) {
  const test::TempFolder folder(test::Place::memory);
  ASSERT_TRUE(GetParam().gguf(1536).write(folder / "short.gguf"));
  const auto short_engine = open_engine(folder / "short.gguf");
  const auto open_in = [&](std::size_t bytes) {
    auto session = open("compact", bytes, *short_engine);
    EXPECT_TRUE(session->set_beyond(BeyondContext::episodes).ok());
    return session;
  };
  for (const std::size_t bytes : {std::size_t{8} << 20, GetParam().tight_bytes}) {
    journal_ = {};
    records_ = {};
    std::vector<std::int32_t> before, wanted;
    MessageId last;
    {
      const auto session = open_in(bytes);
      for (std::size_t turn = 0; turn < 24; ++turn) {
        const GenerateReport said = ask(*session, letters(150, static_cast<char>('A' + turn)), 20);
        EXPECT_NE(said.finish, Finish::context_full) << turn << said.message;
        EXPECT_NE(said.finish, Finish::cache_full) << turn << said.message;
        idle(*session);
      }
      EXPECT_GT(session->tokens().size(), 2 * 1536u);
      EXPECT_EQ(session->stats().n_resting > 0, bytes < (8u << 20)) << "episodes at rest";
      value_of(session->save());
      before = ids(*session);
      last = session->messages().back().id;
      say(*session, letters(40, 'b'));
      wanted = ids(*session);
    }
    ASSERT_TRUE(journal_.truncate(chat_, last).ok());
    const auto again = open_in(bytes);
    const ResumeReport report = resume(*again);
    EXPECT_EQ(report.n_reread, 0u) << report.message;
    EXPECT_EQ(ids(*again), before);
    say(*again, letters(40, 'b'));
    EXPECT_EQ(ids(*again), wanted) << bytes;
  }
}

TEST_P(HybridChat, compressed_chats_are_measured_and_go_on) {
  for (const char* recipe : {"balanced", "compact", "satchel"}) {
    journal_ = {};
    records_ = {};
    const auto session = chat(recipe);
    value_of(session->add_document("letters", letters(900)));
    say(*session, letters(30, 'b'));
    idle(*session);
    value_of(session->save());
    const std::vector<std::int32_t> before = ids(*session);
    const MessageId last = session->messages().back().id;
    say(*session, letters(10, 'c'));
    const std::vector<std::int32_t> wanted = ids(*session);
    const auto again = chat(recipe);
    ASSERT_TRUE(journal_.truncate(chat_, last).ok());
    EXPECT_EQ(resume(*again).n_reread, 0u) << recipe;
    EXPECT_EQ(ids(*again), before);
    say(*again, letters(10, 'c'));
    EXPECT_EQ(ids(*again), wanted) << recipe;
  }
}

}  // namespace
}  // namespace satchel::runtime
