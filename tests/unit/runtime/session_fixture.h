// A chat with the bundled model over a journal and a record store in memory.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine.h"
#include "support/memory_journal.h"
#include "support/record_stores.h"
#include "support/value_of.h"

namespace satchel::runtime {

// Notes of the held-out file, several pages long, and their questions.
std::string held_out_notes(std::size_t number = 0);
std::vector<std::string> held_out_questions();

// Words of letters from `first` on, for models of random weights.
std::string letters(std::size_t n, char first = 'a');

// One for all tests of the program: opening costs a hash of the file and little else. Its arena has
// room for several chats.
Engine& shared_engine();
std::size_t shared_budget();
std::unique_ptr<Engine> open_engine(const std::filesystem::path& model);

class ChatTest : public testing::Test {
 protected:
  // What an earlier test made of the limit does not stay.
  void SetUp() override;
  // budget_bytes 0: shared_budget(), or the default of an engine of the test's own.
  std::unique_ptr<Session> open(std::string_view recipe, std::size_t budget_bytes = 0,
                                Engine& engine = shared_engine());
  static GenerateReport ask(Session& session, std::string_view question,
                            std::size_t n_tokens_max = 48);
  static ResumeReport resume(Session& session) { return value_of(session.resume({}, {})); }
  static IdleReport idle(Session& session) { return value_of(session.idle({}, {})); }
  // Invariant 2 of Session.
  void expect_journal_holds(const Session& session);
  std::vector<runtime::StoredMessage> stored() { return value_of(journal_.messages(chat_)); }

  runtime::ChatId chat_{7};
  test::MemoryJournal journal_;
  test::MemoryRecordStore records_;
};

}  // namespace satchel::runtime
