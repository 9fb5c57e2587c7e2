// A chat with the bundled model over a journal and a block store in memory.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine.h"
#include "support/block_stores.h"
#include "support/memory_journal.h"

namespace satchel::runtime {

// Notes of the held-out file, several pages long, and their questions.
std::string held_out_notes();
std::vector<std::string> held_out_questions();

// One for all tests of the program: opening costs a hash of the file and little else.
Engine& shared_engine();
std::unique_ptr<Engine> open_engine(const std::filesystem::path& model);

template <class T>
T value_of(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << "[" << result.error().code << "] " << result.error().message;
    std::abort();
  }
  return std::move(result).value();
}

class ChatTest : public testing::Test {
 protected:
  std::unique_ptr<Session> open(std::string_view recipe, std::size_t budget_bytes = 0,
                                Engine& engine = shared_engine());
  static GenerateReport ask(Session& session, std::string_view question,
                            std::size_t n_tokens_max = 48);
  static ResumeReport resume(Session& session) { return value_of(session.resume({}, {})); }
  // Invariant 2 of Session.
  void expect_journal_holds(const Session& session);
  std::vector<kvcache::StoredMessage> stored() { return value_of(journal_.messages(chat_)); }

  kvcache::ChatId chat_{7};
  test::MemoryJournal journal_;
  test::MemoryBlockStore blocks_;
};

}  // namespace satchel::runtime
