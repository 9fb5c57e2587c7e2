// What begins with "/": looking at the chat, changing it, leaving it.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "app/cli/chat_loop.h"
#include "app/cli/input.h"
#include "app/cli/memory_command.h"
#include "app/cli/meter_text.h"
#include "app/cli/settings_text.h"
#include "app/cli/shelf_text.h"
#include "app/cli/thoughts.h"
#include "app/cli/workbench.h"
#include "kernels/base/size_text.h"
#include "runtime/chat/episodes_text.h"

namespace satchel::app {
namespace {

constexpr const char* kHelp =
    "  /document FILE   read a text file into the chat\n"
    "  /shelf           list the documents that other chats have read; \"/shelf NAME\" takes one\n"
    "  /place NAME      the same at once, anywhere in a chat: as another chat read it\n"
    "  /keep            keep this chat's documents for other chats, until you remove them\n"
    "  /all QUESTION    ask each part of a chat or document longer than the model's context, then "
    "answer\n"
    "  /parts           list the parts of such a chat; \"/parts 2 5\": the next answer sees these\n"
    "  /again           answer the last message again; the answer before it is kept\n"
    "  /edit TEXT       say TEXT in place of your last message; what it replaces is kept\n"
    "  /correct 3 TEXT  say TEXT in place of message 3 and keep what follows; \"/correct\" lists "
    "messages\n"
    "  /exact           read again what was placed, or follows a corrected message\n"
    "  /version         list what has several versions; \"/version 3 1\" goes back to the first of "
    "message 3\n"
    "  /memory          show how much memory the chat uses and what compression cost it\n"
    "  /limit 40MB      preview another memory limit; \"/limit 40MB now\" applies it\n"
    "  /preset compact  preview another preset or recipe; \"/preset compact now\" applies it\n"
    "  /preset same     preview rereading the chat, which restores what was lowered to save "
    "memory\n"
    "  /limit, /preset  show the current limit or preset\n"
    "  /settings        show how answers are made, and which of it is saved with the chat\n"
    "  /ledger          list every step that compressed or moved text, and its cost\n"
    "  /think off       answer without thinking first, if the model supports it; also: on, auto\n"
    "  /thoughts        show the model's thoughts before the last answer\n"
    "  /pack            compress now instead of waiting until you are idle\n"
    "  /new             start a new chat with the same settings\n"
    "  /quit            save and quit (Ctrl-D does the same)\n"
    "  \"\"\"              start a message of several lines; another \"\"\" ends it. Pasted lines "
    "do "
    "not\n"
    "                   need it: Enter sends them together\n"
    "  Ctrl-C stops an answer; the partial answer is saved.";

// As a shell reads a path that begins with "~/".
std::string path_from(const std::string& typed) {
  const char* home = std::getenv("HOME");
  return typed.starts_with("~/") && home != nullptr ? home + typed.substr(1) : typed;
}

// "2 5", "2,5" and "2-5", counted from 1; from 0 then.
Result<std::vector<std::size_t>> parts_named(std::string numbers, std::size_t n_parts) {
  std::ranges::replace(numbers, ',', ' ');
  std::istringstream typed(numbers);
  std::vector<std::size_t> named;
  for (std::string word; typed >> word;) {
    std::size_t first = 0, last = 0;
    const char* end = word.data() + word.size();
    auto read = std::from_chars(word.data(), end, first);
    last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || read.ptr != end || first == 0 || last < first || last > n_parts)
      return Error{ErrorKind::invalid, "PARAM",
                   "There is no part \"" + word + "\": this chat has parts 1 to " +
                       std::to_string(n_parts) + "."};
    for (std::size_t number = first; number <= last; ++number) named.push_back(number - 1);
  }
  return named;
}

}  // namespace

Result<void> ChatLoop::obey(const std::string& line) {
  SATCHEL_TRY_ASSIGN(const auto memory, memory_command(line));
  if (memory) {
    SATCHEL_TRY(app::obey(*memory, *conversation_, console_));
    if (memory->now) has_packing_failed_ = false;
    return {};
  }
  if (line == "/help") {
    console_.reply(kHelp);
  } else if (line == "/memory") {
    show_memory();
  } else if (line == "/settings") {
    console_.reply(app::describe(conversation_->answers(), options_.common.sampling));
  } else if (line == "/ledger") {
    const auto ledger = conversation_->session().ledger();
    console_.reply(ledger.empty() ? app::describe(ledger) : table_of(ledger));
  } else if (line == "/pack") {
    return pack();
  } else if (line == "/thoughts") {
    return show_thoughts();
  } else if (const auto thinks = rest_of(line, "/think")) {
    SATCHEL_TRY_ASSIGN(const runtime::Thinking thinking, thinking_named(std::string(*thinks)));
    return conversation_->service().set_thinking(conversation_->chat(), thinking,
                                                 conversation_->call());
  } else if (line == "/again") {
    return again();
  } else if (const auto text = rest_of(line, "/edit")) {
    return edit(std::string(*text));
  } else if (const auto corrected = rest_of(line, "/correct")) {
    return correct(std::string(*corrected));
  } else if (line == "/exact") {
    return read_exactly();
  } else if (const auto number = rest_of(line, "/version")) {
    return versions(std::string(*number));
  } else if (line == "/new") {
    return start_over();
  } else if (const auto path = rest_of(line, "/document")) {
    if (path->empty()) return Error{ErrorKind::invalid, "PARAM", "Name a file: /document FILE."};
    const std::string file = path_from(std::string(*path));
    SATCHEL_TRY_ASSIGN(const std::string words, text_of_document(file));
    return read_document(file, words);
  } else if (const auto wanted = rest_of(line, "/shelf")) {
    return shelf(std::string(*wanted));
  } else if (const auto placed = rest_of(line, "/place")) {
    if (placed->empty())
      return Error{ErrorKind::invalid, "PARAM",
                   "Name a document of the shelf: /place NAME. /shelf lists them."};
    return read_shelved(std::string(*placed), runtime::ReadHow::at_once);
  } else if (line == "/keep") {
    return keep_documents();
  } else if (const auto numbers = rest_of(line, "/parts")) {
    return parts(std::string(*numbers));
  } else if (const auto question = rest_of(line, "/all")) {
    if (is_blank(*question))
      return Error{ErrorKind::invalid, "PARAM", "Write a question: /all QUESTION."};
    return ask_all(std::string(*question));
  } else {
    return Error{ErrorKind::invalid, "PARAM",
                 "There is no command " + line.substr(0, line.find_first_of(" \t\n")) +
                     ". /help lists the commands. To send a message that starts with /, put it "
                     "between \"\"\" and \"\"\"."};
  }
  return {};
}

Result<void> ChatLoop::shelf(const std::string& wanted) {
  if (!wanted.empty()) return read_shelved(wanted);
  SATCHEL_TRY_ASSIGN(const auto shelf, conversation_->service().shelf(conversation_->call()));
  std::string text = shelf.empty() ? "The shelf is empty.\n" : app::describe(shelf);
  text.pop_back();
  console_.reply(text);
  return {};
}

Result<void> ChatLoop::keep_documents() {
  SATCHEL_TRY_ASSIGN(const std::size_t n, conversation_->service().keep_documents(
                                              conversation_->chat(), conversation_->call()));
  console_.note(n == 0 ? "This chat has no documents to keep."
                : n == 1
                    ? "The document stays on the shelf until you remove it: `satchel documents "
                      "--remove`."
                    : count_text(n) +
                          " documents stay on the shelf until you remove "
                          "them: `satchel documents --remove`.");
  return {};
}

// Numbers from 1, as people read them; none: the list.
Result<void> ChatLoop::parts(const std::string& numbers) {
  runtime::ChatService& service = conversation_->service();
  SATCHEL_TRY_ASSIGN(const runtime::OlderParts older,
                     service.older_parts(conversation_->chat(), conversation_->call()));
  if (older.parts.empty()) {
    console_.reply("The model sees all of this chat: it has no older parts.");
    return {};
  }
  SATCHEL_TRY_ASSIGN(std::vector<std::size_t> named, parts_named(numbers, older.parts.size()));
  if (!named.empty()) {
    std::ranges::sort(named);  // said as they are seen
    named.erase(std::unique(named.begin(), named.end()), named.end());
    SATCHEL_TRY(service.name_parts(conversation_->chat(), named, conversation_->call()));
    console_.reply("The next answer sees " +
                   runtime::describe({.n_all = older.parts.size(), .seen = named}) + ".");
    return {};
  }
  const std::size_t width = std::to_string(older.parts.size()).size();
  std::string text = "Older parts of this chat. Parts marked * were used for the last answer.";
  for (std::size_t i = 0; i < older.parts.size(); ++i)
    text += "\n" + std::string(older.parts[i].is_seen ? "* " : "  ") +
            std::string(width - std::to_string(i + 1).size(), ' ') + std::to_string(i + 1) + "  " +
            older.parts[i].beginning + " (" + count_text(older.parts[i].n_tokens) + " tokens)";
  console_.reply(text);
  return {};
}

void ChatLoop::show_memory() {
  const runtime::Session& session = conversation_->session();
  const kvcache::CacheStats stats = session.stats();
  const bool goes_on = session.beyond() == runtime::BeyondContext::episodes;
  console_.reply(
      count_text(stats.n_tokens) + " tokens in " + app::describe(stats) + "; " +
      (goes_on ? "the chat goes on beyond the model's context of " +
                     count_text(session.n_context()) + "."
               : count_text(session.n_context_left()) + " more fit into the model's context."));
  if (stats.far_bytes > 0) console_.reply(describe_far(stats));
  if (session.n_placed() > 0) console_.reply(describe_placed(session.n_placed(), stats.n_tokens));
  const std::int64_t now_ms = SystemClock().wall_ms();
  console_.reply(app::describe(session.fidelity(), session.ledger(), now_ms));
  console_.reply(app::describe(session.recall(), now_ms));
  console_.reply(app::describe(session.ledger()));
}

Result<void> ChatLoop::show_thoughts() {
  const auto messages = conversation_->session().messages();
  runtime::Thoughts thoughts;
  const auto last = std::find_if(messages.rbegin(), messages.rend(), [](const auto& message) {
    return message.role == runtime::Role::assistant;
  });
  if (last != messages.rend()) {
    SATCHEL_TRY_ASSIGN(thoughts, conversation_->session().thoughts(last->id));
  }
  console_.reply(thoughts.text.empty() ? "The model did not think before the last answer."
                                       : thoughts.text);
  return {};
}

Result<void> ChatLoop::pack() {
  const bool has_work = conversation_->session().has_idle_work();
  SATCHEL_TRY_ASSIGN(const runtime::IdleReport packed,
                     conversation_->service().idle(conversation_->chat(), conversation_->call()));
  console_.end_progress();
  has_packing_failed_ = false;
  keep(packed.reread);
  if (!packed.reread.empty()) console_.note(kvcache::describe(packed.reread));
  console_.reply(app::describe(conversation_->session().stats()) +
                 (packed.finished ? "." : "; stopped. The rest is compressed later."));
  if (packed.fidelity.n_tokens > 0)
    console_.note(app::describe(packed.fidelity, SystemClock().wall_ms()));
  if (has_work && packed.finished) return {};  // saved with it
  return conversation_->service().save(conversation_->chat(), conversation_->call());
}

Result<void> ChatLoop::start_over() {
  has_packing_failed_ = false;
  return conversation_->start_over();
}

}  // namespace satchel::app
