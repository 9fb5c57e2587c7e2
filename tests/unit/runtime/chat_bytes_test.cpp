// Chats as bytes: the format byte for byte, forged ones, and what a session makes of them.
#include "runtime/chat_bytes/chat_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/base/bytes.h"
#include "kernels/base/rng.h"
#include "kvcache/base/hash.h"
#include "runtime/limits/presets.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

using kvcache::RereadReason;

std::span<const std::byte> view(const std::string& bytes) {
  return std::as_bytes(std::span(bytes));
}
void sign(std::string& bytes) {
  const auto hash = kvcache::hash_bytes(view(bytes).first(bytes.size() - 16));
  std::memcpy(bytes.data() + bytes.size() - 16, hash.data(), 16);
}
std::string number(std::uint64_t value, std::size_t n_bytes) {
  std::string out;
  for (std::size_t i = 0; i < n_bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}
std::string text(std::string_view words) {
  return number(words.size(), 4).append(words);
}
std::string code_of(const std::string& bytes) {
  const auto reader = ChatBytesReader::open(view(bytes));
  return reader.ok() ? "" : reader.error().code;
}

// As README.md says, without the writer.
struct Whole {
  std::string sections;
  void add(std::uint32_t kind, const std::string& section) {
    sections += number(kind, 4) + number(section.size(), 8) + section;
  }
  std::string bytes() const {
    std::string out = "SATCHELC" + number(1, 2) + number(0, 2) +
                      number(20 + sections.size() + 16, 8) + sections + std::string(16, '\0');
    sign(out);
    return out;
  }
};
std::string message_of(int role, int state, int kind, std::uint32_t n_tokens) {
  std::string out = number(std::uint64_t(role), 1) + number(std::uint64_t(state), 1);
  out +=
      number(std::uint64_t(kind), 1) + number(0, 1) + text("t") + text("Hi") + number(n_tokens, 4);
  return out + number(5, 4) + number(6, 4);
}
std::string words_of(const std::string& messages, std::uint32_t n_messages = 1,
                     std::uint8_t has_system = 1) {
  return text("model") + text("{}") + number(9, 8) + number(has_system, 1) + text("You are.") +
         number(1, 4) + text("meter") + text("x") + number(n_messages, 4) + messages;
}

TEST(ChatBytes, are_what_their_format_says) {
  Whole whole;
  whole.add(1, text("chat") + number(3, 8) + "record");
  whole.add(2, text("chat") + number(4, 8) + "manifest");
  whole.add(3, words_of(message_of(1, 2, 1, 2)));
  const std::string bytes = whole.bytes();
  const auto reader = value_of(ChatBytesReader::open(view(bytes)));
  const ChatCopy& copy = reader->copy();
  EXPECT_EQ(copy.setup.model_fingerprint, "model");
  EXPECT_EQ(copy.setup.budget_bytes, 9u);
  EXPECT_EQ(copy.setup.system, "You are.");
  EXPECT_EQ(copy.notes.at("meter"), "x");
  ASSERT_EQ(copy.messages.size(), 1u);
  EXPECT_EQ(copy.messages[0].role, Role::user);
  EXPECT_EQ(copy.messages[0].state, MessageState::interrupted);
  EXPECT_EQ(copy.messages[0].kind, MessageKind::document);
  EXPECT_EQ(copy.messages[0].tokens, (std::vector<std::int32_t>{5, 6}));
  EXPECT_EQ(value_of(reader->record(copy_key(), 3)).size(), 6u);
  EXPECT_EQ(value_of(reader->newest_manifest(copy_key()))->generation, 4u);
  EXPECT_EQ(reader->record(copy_key(), 4).error().kind, ErrorKind::not_found);
  ChatBytesWriter writer;
  ASSERT_TRUE(writer.put_record(copy_key(), 3, std::as_bytes(std::span("record", 6))).ok());
  const auto manifest = std::as_bytes(std::span("manifest", 8));
  ASSERT_TRUE(writer.commit(copy_key(), {.generation = 4, .manifest = manifest}).ok());
  EXPECT_EQ(writer.finish(copy), bytes);
}

TEST(ChatBytes, forged_fields_are_refused_and_take_no_memory) {
  const std::string message = message_of(1, 0, 0, 2);
  const auto code_with = [](const std::string& words, std::uint32_t kind = 3) {
    Whole whole;
    whole.add(kind, words);
    return code_of(whole.bytes());
  };
  EXPECT_EQ(code_with(words_of(message)), "");
  for (const std::string& forged :
       {words_of(message_of(3, 0, 0, 2)), words_of(message_of(1, 1, 0, 2)),
        words_of(message_of(1, 3, 0, 2)), words_of(message_of(1, 0, 2, 2)),
        words_of(message_of(1, 0, 0, 0xffffffff)), words_of(message_of(1, 0, 0, 1)),
        words_of(message, 0), words_of(message, 2), words_of(message, 0xffffffff),
        words_of(message, 1, 2), words_of("", 0), words_of(message) + "x", std::string()})
    EXPECT_EQ(code_with(forged), "CHAT_DAMAGED");
  EXPECT_EQ(code_with(words_of(message), 4), "CHAT_DAMAGED");
  EXPECT_EQ(code_of(Whole().bytes()), "CHAT_DAMAGED");
  Whole twice;
  for (int i = 0; i < 2; ++i) twice.add(3, words_of(message));
  EXPECT_EQ(code_of(twice.bytes()), "CHAT_DAMAGED");
  Whole records;
  for (int i = 0; i < 2; ++i) records.add(1, text("chat") + number(3, 8));
  records.add(3, words_of(message));
  EXPECT_EQ(code_of(records.bytes()), "CHAT_DAMAGED");
  Whole huge;
  huge.sections = number(1, 4) + number(~std::uint64_t{0} - 8, 8);
  EXPECT_EQ(code_of(huge.bytes()), "CHAT_DAMAGED");
}

TEST(ChatBytes, every_byte_and_every_length_count) {
  Whole whole;
  whole.add(1, text("chat") + number(3, 8) + "record");
  whole.add(3, words_of(message_of(1, 0, 0, 2)));
  const std::string bytes = whole.bytes();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_NE(code_of(damaged), "") << at;
    EXPECT_EQ(code_of(bytes.substr(0, at)), "CHAT_DAMAGED") << at;
  }
  EXPECT_EQ(code_of(bytes + '\0'), "CHAT_DAMAGED");
  std::string newer = bytes;
  newer[8] = 2;
  sign(newer);
  EXPECT_EQ(code_of(newer), "CHAT_VERSION");
}

class CopiedChat : public ChatTest {
 protected:
  static std::string bytes_of(Session& session) {
    ChatBytesWriter writer;
    const ChatCopy copy = value_of(session.copy_to(writer));
    return writer.finish(copy);
  }
  // A chat of its own, in the store or, kept false, nowhere.
  std::unique_ptr<Session> copied(const std::string& bytes, const Session& from, bool kept,
                                  std::size_t limit = 0) {
    SessionOptions options(from.recipe());
    options.budget_bytes = limit > 0 ? limit : shared_budget();
    options.chat = ChatId{chat_.value + 1};
    if (kept) {
      options.journal = &journal_;
      options.records = &records_;
    }
    auto session = value_of(shared_engine().new_session(options));
    const auto reader = ChatBytesReader::open(view(bytes));
    report_ = reader.ok() ? session->resume_copy((*reader)->copy(), **reader, {}, {})
                          : Result<ResumeReport>(reader.error());
    return session;
  }
  Result<ResumeReport> report_ = ResumeReport{};
};

TEST_F(CopiedChat, keeps_what_was_measured_and_pinned_and_a_cut_answer) {
  const auto session = open("balanced");
  const auto notes = value_of(session->add_document("notes", held_out_notes()));
  value_of(session->read({}, {}));
  idle(*session);
  ASSERT_TRUE(session->pin(notes[0].document).ok());
  ask(*session, held_out_questions()[0], 2);
  const auto copy = copied(bytes_of(*session), *session, true);
  EXPECT_EQ(report_->reason, RereadReason::none);
  EXPECT_EQ(report_->n_reread, 0u);
  EXPECT_EQ(copy->ledger().size(), session->ledger().size());
  EXPECT_EQ(copy->fidelity().n_tokens, session->fidelity().n_tokens);
  EXPECT_EQ(copy->recall().n_asked, session->recall().n_asked);
  EXPECT_EQ(copy->stats().body_bytes, session->stats().body_bytes);
  EXPECT_EQ(copy->messages().back().state, session->messages().back().state);
  EXPECT_EQ(ask(*copy, held_out_questions()[1]).text, ask(*session, held_out_questions()[1]).text);
}

TEST_F(CopiedChat, takes_what_rests_along_where_it_has_a_store_and_reads_it_again_elsewhere) {
  SessionOptions options(value_of(resolve_recipe("full")));
  options.budget_bytes = shared_budget();
  options.beyond = BeyondContext::episodes;
  options.chat = chat_;
  options.journal = &journal_;
  options.records = &records_;
  const auto read_all = [&](std::size_t limit) {
    options.budget_bytes = limit;
    auto session = value_of(shared_engine().new_session(options));
    for (std::size_t i = 0; i < 5; ++i) {
      value_of(session->add_document("notes", held_out_notes(i)));
      value_of(session->read({}, {}));
    }
    return session;
  };
  const std::size_t limit = read_all(shared_budget())->stats().arena_used_bytes * 7 / 10;
  journal_ = {};
  records_.caches.clear();
  std::string bytes, answer;
  std::size_t n_resting = 0;
  {
    const auto session = read_all(limit);
    n_resting = session->stats().n_resting;
    EXPECT_GT(n_resting, 0u);
    bytes = bytes_of(*session);
    answer = ask(*session, "Which pet does Matteo Thorsen keep?").text;
    {
      const auto kept = copied(bytes, *session, true, limit);
      ASSERT_TRUE(report_.ok()) << report_.error().message;
      EXPECT_EQ(report_->n_reread, 0u);
      EXPECT_EQ(kept->beyond(), BeyondContext::episodes);
      EXPECT_EQ(kept->stats().n_resting, n_resting);
    }
  }
  const auto session = open("full", limit);
  const auto kept = copied(bytes, *session, true, limit);
  EXPECT_EQ(ask(*kept, "Which pet does Matteo Thorsen keep?").text, answer);
  const auto elsewhere = copied(bytes, *session, false, shared_budget());
  ASSERT_TRUE(report_.ok()) << report_.error().message;
  EXPECT_EQ(elsewhere->stats().n_resting, n_resting);
  EXPECT_EQ(ask(*elsewhere, "Which pet does Matteo Thorsen keep?").finish, Finish::end_of_turn);
}

TEST_F(CopiedChat, with_a_foreign_token_is_refused_and_any_forged_cache_is_recomputed) {
  const auto session = open("compact");
  value_of(session->add_document("notes", held_out_notes()));
  value_of(session->read({}, {}));
  const std::string bytes = bytes_of(*session);
  ChatBytesWriter writer;
  ChatCopy foreign = value_of(session->copy_to(writer));
  foreign.messages.back().tokens.back() = 1 << 20;
  const std::string signed_foreign = writer.finish(foreign);
  copied(signed_foreign, *session, false);
  EXPECT_EQ(report_.error().code, "CHAT_DAMAGED");
  // Behind right checksums of the whole, the records have their own.
  Rng rng(3);
  for (int i = 0; i < 12; ++i) {
    std::string forged = bytes;
    const std::size_t at = 64 + rng.next() % (forged.size() / 2);
    forged[at] = static_cast<char>(forged[at] ^ 0x10);
    sign(forged);
    const auto copy = copied(forged, *session, false);
    EXPECT_EQ(copy->n_read(), report_.ok() ? session->n_read() : copy->n_read()) << at;
  }
}

}  // namespace
}  // namespace satchel::runtime
