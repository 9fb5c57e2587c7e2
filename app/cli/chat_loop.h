// ChatLoop: who talks to a model in the terminal, a person or a script: what is written is obeyed
// or answered, and where something is full or lost, a person is asked what next.
//   files  chat_loop.cpp  the conversation · chat_commands.cpp  what begins with "/" ·
//          version_commands.cpp  of that, what is said otherwise
//   needs  a person to be asked; a script ends with the error instead
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/console.h"
#include "app/cli/conversation.h"
#include "app/cli/input.h"
#include "app/cli/options.h"
#include "app/cli/thoughts.h"

namespace satchel::app {

struct ChatOptions {
  Options common;
  std::uint64_t cache_quota = storage::kQuotaBytes;
  std::uint64_t thin_after_days = 0;
  std::string name, prompt;
  std::vector<std::string> documents;
  std::string shelf;  // a document there
  std::optional<std::string> system;
  runtime::Thinking thinking = runtime::Thinking::automatic;
  bool packs = false, shows_thoughts = false, keeps_documents = false;
  std::string grammar_file, schema_file;  // at most one
};

class ChatLoop {
 public:
  // Both outlive it.
  ChatLoop(const ChatOptions& options, Console& console);

  Result<int> run();  // the exit code

 private:
  // Whether a person is there to say what next.
  bool asks() const { return console_.interactive() && options_.prompt.empty(); }

  // As the options say, else as the chat does.
  runtime::Sampling sampling() const {
    return options_.common.sampling.over(conversation_->answers().sampling);
  }

  Result<int> talk();
  Result<void> open();
  Result<void> read_documents();
  static Result<std::string> text_of_document(const std::string& path);
  Result<bool> has_document(const std::string& title, const std::string& text);
  Result<void> finish_reread();
  Result<void> converse();
  Input next_input();
  void pack_while_nobody_types();
  Result<void> read_document(const std::string& path, const std::string& text);
  Result<void> read_shelved(const std::string& wanted,
                            runtime::ReadHow how = runtime::ReadHow::exactly);
  // What reading the document came to; n_before: of documents_.
  Result<void> was_read(const std::string& document, std::size_t n_before,
                        const Result<runtime::ReadReport>& read);
  Result<void> shelf(const std::string& wanted);  // listed, or a document of it is read
  Result<void> keep_documents();
  Result<void> answer(const std::string& question);
  Result<void> ask_all(const std::string& question);  // of each part of a long chat
  // What an answer came to; where something is full, a person is asked what next.
  Result<void> answered(const runtime::GenerateReport& report);
  void tell(const runtime::GenerateReport& report);
  bool is_read_later(const Error& problem);
  void tell(const runtime::SeenEpisodes& episodes);
  runtime::QuotesFound quotes_of(runtime::MessageId answer);  // none, where that fails
  // What the conversation's calls tell while they run.
  void see(const runtime::ChatEvent& event);
  void see(const runtime::StoredMessage& message);
  void keep(const std::vector<kvcache::Reread>& reread);

  // Nothing where the conversation can go on after this error; else the error it ends with.
  Result<void> recover(const Error& error);
  Result<void> full(const std::string& message, bool is_context);
  std::string chosen(const std::string& offer);  // by the person; empty: nothing
  bool wants_cpu(const Error& error, bool is_kept);
  Result<void> offer_cpu(const Error& error);

  Result<void> obey(const std::string& line);
  void show_memory();
  Result<void> parts(const std::string& numbers);     // of a long chat: listed, or named
  Result<void> edit(const std::string& text);         // in place of the last question
  Result<void> again();                               // another answer to it
  Result<void> correct(const std::string& numbered);  // a message; without one, they are listed
  Result<void> read_exactly();                        // what a corrected message left
  Result<void> versions(const std::string& numbers);  // listed, or one is gone back to
  Result<void> show_thoughts();
  Result<void> pack();
  Result<void> start_over();

  const ChatOptions& options_;
  Console& console_;
  std::unique_ptr<Conversation> conversation_;
  std::vector<runtime::MessageId> documents_;  // added since the program began
  runtime::MessageId asked_;                   // the question asked last
  std::vector<kvcache::Reread> reread_;        // since the last answer's document
  std::size_t n_shelf_ = 0;                    // likewise, tokens
  ThoughtLine thoughts_;                       // of the answer that comes
  bool interrupted_ = false, is_full_ = false;
  bool was_all_named_ = false;  // that there is /all
  std::string said_;  // code of an error that was shown and ends it, the CPU not being wanted
  bool has_packing_failed_ = false;  // not tried again before something else has worked
};

// What a document's or a prompt's reading came to, for people.
std::string describe(const runtime::ReadReport& read);

}  // namespace satchel::app
