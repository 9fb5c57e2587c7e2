// ChatEvent: what a call to the chat service tells while it runs. Plain values; a report of the
// layers below is an event as it is.
//   add one   a struct here, where there is none to tell, and its place in the variant; then a
//             handler in each front end that shows it (the window: AppState; the terminal:
//             Conversation and ChatLoop)
//   order     a call's events come before it returns; what failed is told last (Failed)
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "kernels/base/index_range.h"
#include "runtime/chat/answer_settings.h"
#include "runtime/chat/attended_text.h"
#include "runtime/chat/held_text.h"
#include "runtime/chat/memory_settings.h"
#include "runtime/chat/model_facts.h"
#include "runtime/chat/saved_prompts.h"
#include "runtime/chat/whole_documents.h"
#include "runtime/contract/chat_store.h"
#include "runtime/progress.h"
#include "runtime/session/session.h"

namespace satchel::runtime {

// An open chat, as the service knows it; 0: none.
struct ChatHandle {
  std::uint64_t value = 0;
  friend auto operator<=>(const ChatHandle&, const ChatHandle&) = default;
};

// What the service was asked for.
enum class ChatTask {
  open_model,
  use_cpu,
  list_chats,
  search,
  begin_chat,
  open_chat,
  rename_chat,
  remove_chat,
  restore_chat,
  send,
  attach_document,
  shelf,    // list, keep or remove its documents
  edit,     // messages are added, cut, pinned or forgotten; or a branch is made
  correct,  // a message is, or what follows it is read exactly
  set_thinking,
  go_on,
  older_parts,
  find_quotes,
  show_held,  // and what an answer looked at
  set_answers,
  prompts,  // list, keep or remove those that are saved
  estimate_presets,
  preview_memory,
  change_memory,
  keep_settings,  // of a chat, or of the program; part of other calls
  save,
  idle,
};

// What an open chat's cache holds, whenever that changed.
struct ChatMemory {
  kvcache::CacheStats stats = {};
  Fidelity fidelity = {};
  std::size_t n_read = 0;    // tokens seen by the cache
  std::size_t n_unread = 0;  // not seen yet: the rest, and parts of documents left for later
  std::size_t n_tokens = 0, n_context = 0;
  std::size_t n_in_context = 0;  // of n_context, used: as n_tokens until the chat is longer
  bool goes_on = false;          // beyond the context; else it ends there
  bool is_packing = false;       // idle work is being done now
  std::size_t n_placed = 0;      // Session::n_placed()
  std::vector<PartsRead> documents = {};  // those in parts
  double learning_share = -1;  // of the head-budget profile, made so far; below 0: not at work
};

// --- the model
// The model had to be closed, for the CPU or for another model. Failed follows, or ModelSwitched if
// it was opened again.
struct ModelClosed {};
struct ModelOpened {
  ModelFacts model;
};
// A chat of another model was opened; or the same model on the CPU; or this one is open again after
// another did not open. Its chats follow.
struct ModelSwitched {
  ModelFacts model;
};

// --- the library
struct ChatsListed {
  std::vector<Chat> chats;  // those that have messages
  ChatFilter filter = ChatFilter::present;
  std::vector<LibraryCopy> copies = {};  // with ChatFilter::removed: they have the same words
};
struct PassagesFound {
  std::string words;  // that were looked for
  std::vector<Found> found;
};
struct ShelfListed {
  std::vector<ShelvedDocument> documents;  // those that are kept first
};
struct PromptsListed {
  std::vector<SavedPrompt> prompts;  // by name
};
// The open chat got its first message and is in the library now.
struct ChatEntered {
  Chat chat;
};
// Title or time changed, or the chat is back.
struct ChatChanged {
  Chat chat;
};
struct ChatRemoved {
  Chat chat;
};

// --- an open chat
// With messages: ResumeReport or Failed follows.
struct ChatOpened {
  Chat chat;  // id 0: new
  MemorySettings memory;
  std::vector<StoredMessage> messages;  // a document that was read in parts is one
  AnswerSettings answers = {};
};
// The open chat has these from now on.
struct AnswersChanged {
  AnswerSettings answers;
};
// The words of a chat that cannot be opened: its model or recipe is not there, or cannot be used.
// Failed follows; what was open stays open.
struct ChatShown {
  Chat chat;
  std::vector<StoredMessage> messages;
};
// What was thought before an answer of a saved chat.
struct MessageThoughts {
  MessageId answer;
  Thoughts thoughts;
};
// Behind `last` (0: from the first on) the chat has these messages and no others: it was cut there,
// or goes on with another version of a message.
struct MessagesReplaced {
  MessageId last;
  std::vector<StoredMessage> messages;  // as in ChatOpened
};
// Of the messages that have others in their place, all of them; those of ChatOpened, too.
struct VersionsChanged {
  std::vector<MessageVersions> messages;
};
// What pin() and forget() have marked, all of it; of ChatOpened, too.
struct MarksChanged {
  std::vector<MessageId> pinned, forgotten;
};
struct AnswerStarted {
  MessageId answer;  // 0: there was no room for one
};
struct AnswerDelta {
  std::string text;
  bool is_thought = false;
};
// The chat is at the end of the model's context, and go_on() would help. What ended there is told
// next: Failed, GenerateReport or ResumeReport.
struct ContextEnded {};
struct WentOn {};
// Where the chat is longer than the model's context: its parts, in order.
struct OlderPart {
  std::string beginning;  // of its words, in one line; a document's title before them
  std::size_t n_tokens = 0;
  bool is_seen = false;    // by the last answer
  bool is_unread = false;  // it waits to be read
};
struct OlderParts {
  std::vector<OlderPart> parts;
};

// What an answer repeats of a document of its chat, word for word (quotes.h).
struct AnswerQuote {
  MessageId answer;
  IndexRange said;        // in its text, in bytes
  MessageId document;     // as in ChatOpened
  std::string title;      // its
  IndexRange passage;     // in its text, in bytes
  std::size_t page = 0;   // where the passage begins, from 1; 0: not known
  std::string text = {};  // the passage, as the document has it
};
// All quotes of that answer, in order; 0: of all the chat's answers.
struct QuotesFound {
  MessageId answer;
  std::vector<AnswerQuote> quotes;
};

// --- its memory
// Every step that made the chat smaller, oldest first. Comes before the report of what made it
// grow.
struct LedgerChanged {
  std::vector<LedgerEntry> entries;
  RecallProbe recall;
};
struct MemoryPreviewed {
  MemorySettings memory;  // what the chat would have
  MemoryChange change;    // all 0 for a chat in which nothing was read
};
struct MemoryChanged {
  MemorySettings memory;  // what the chat has
  MemoryChange change;
  bool is_whole = true;  // false: reading everything again ended early
};

// --- for people
struct Noticed {
  std::string text;  // no failure, but people should know
};
struct Failed {
  ChatTask task;
  Error error;
  bool cpu_would_help = false;  // the GPU failed, or its memory is full: use_cpu() goes on
};

// StoredMessage: one that was added, without its tokens. Progress: of reading in tokens.
// ReadReport: of a document; an answer's stands in its GenerateReport.
using ChatEvent =
    std::variant<ModelClosed, ModelOpened, ModelSwitched, PresetEstimates, ChatsListed,
                 PassagesFound, ShelfListed, PromptsListed, ChatEntered, ChatChanged, ChatRemoved,
                 ChatOpened, AnswersChanged, ChatShown, ResumeReport, MessageThoughts,
                 StoredMessage, MessagesReplaced, VersionsChanged, MarksChanged, DocumentParts,
                 Progress, AnswerStarted, AnswerDelta, ContextEnded, WentOn, OlderParts,
                 QuotesFound, HeldText, AttendedText, GenerateReport, ReadReport, CorrectReport,
                 ExactReport, kvcache::SaveReport, ChatMemory, LedgerChanged, MemoryPreviewed,
                 MemoryChanged, Noticed, Failed>;

// chat: which the event is about; 0: none
using ChatSink = std::function<void(ChatHandle chat, const ChatEvent& event)>;

// A visitor made of lambdas; what none of them takes goes to one that takes `const auto&`.
template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace satchel::runtime
