#include "app/cli/chat_loop.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

#include "app/cli/exit_codes.h"
#include "app/cli/idle.h"
#include "app/cli/input.h"
#include "app/cli/interrupt.h"
#include "app/cli/line_editor.h"
#include "app/cli/meter_text.h"
#include "app/cli/quote_text.h"
#include "app/cli/settings_text.h"
#include "app/cli/shelf_text.h"
#include "app/cli/thoughts.h"
#include "app/cli/workbench.h"
#include "app/documents/document_text.h"
#include "kernels/base/size_text.h"
#include "runtime/chat/correct_text.h"
#include "runtime/chat/episodes_text.h"
#include "runtime/chat/whole_documents.h"

namespace satchel::app {
namespace {

constexpr const char* kWasCut =
    "The line is too long for the terminal. Nothing was sent. Break it up, or put the text into a "
    "file: /document FILE.";

constexpr const char* kWasLeftOpen =
    "The input ended inside a message opened with \"\"\". The message is sent as it is.";

std::string_view name(runtime::Finish finish) {
  constexpr std::string_view kNames[] = {"end_of_turn", "n_tokens_max", "repeats",
                                         "stopped",     "context_full", "cache_full"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(runtime::Finish::cache_full) + 1);
  return kNames[static_cast<std::size_t>(finish)];
}

std::string title_of(const std::string& document) {
  return std::filesystem::path(document).filename().string();
}

Json ids_of(const std::vector<runtime::MessageId>& documents) {
  Json ids = Json::array();
  for (const runtime::MessageId document : documents) ids.push_back(document.value);
  return ids;
}

}  // namespace

std::string describe(const runtime::ReadReport& read) {
  std::string text;
  if (read.n_shelf > 0)
    text = count_text(read.n_shelf) + " tokens taken from the shelf" +
           (read.n_tokens == 0 ? ", nothing read" : ". ");
  if (read.n_placed > 0)
    text += count_text(read.n_placed) +
            " tokens moved here as another chat read them: they do not reflect this chat (/exact "
            "reads them). ";
  if (read.n_tokens > 0 || read.n_shelf + read.n_placed == 0)
    text += "Read " + count_text(read.n_tokens) + " tokens in " + duration_text(read.ms);
  if (read.fidelity.n_tokens > 0)
    text += "; after compression the next token is the same " +
            format_percent(read.fidelity.agreement) + " of the time (measured on the last " +
            std::to_string(read.fidelity.n_tokens) + " tokens)";
  text += ".";
  for (const std::string& more :
       {runtime::not_placed_text(read.not_placed), runtime::no_gain_text(read.reuse),
        kvcache::describe(read.reread)})
    if (!more.empty()) text += " " + more;
  return text;
}

ChatLoop::ChatLoop(const ChatOptions& options, Console& console)
    : options_(options),
      console_(console),
      thoughts_(console, !console.json() && options.shows_thoughts) {}

Result<int> ChatLoop::run() {
  const Result<int> code = talk();
  if (code.ok() || console_.json() || code.error().code != said_) return code;
  return int{exit_code(code.error().kind)};
}

Result<int> ChatLoop::talk() {
  const bool one_shot = !options_.prompt.empty();
  SATCHEL_TRY(check_utf8("The message", options_.prompt));
  if (options_.system) SATCHEL_TRY(check_utf8("The system prompt", *options_.system));
  for (const std::string& document : options_.documents) SATCHEL_TRY(check_text_file(document));
  SATCHEL_TRY(open());
  SATCHEL_TRY(read_documents());
  if (one_shot) {
    SATCHEL_TRY(answer(options_.prompt));
  } else {
    SATCHEL_TRY(converse());
  }
  SATCHEL_TRY(conversation_->service().save(conversation_->chat(), conversation_->call()));
  if (interrupted_) return int{kExitInterrupted};
  return is_full_ ? int{kExitMemory} : int{kExitOk};
}

Result<void> ChatLoop::open() {
  ConversationRequest request{
      .name = options_.name,
      .keep = options_.prompt.empty() || !options_.name.empty(),
      .cache_quota = options_.cache_quota,
      .thin_after_days = options_.thin_after_days,
      .system = options_.system,
      .thinking = options_.thinking,
      .sink = [this](runtime::ChatHandle, const runtime::ChatEvent& event) { see(event); }};
  if (asks())
    request.wants_cpu = [this](const Error& error, bool is_kept) {
      return wants_cpu(error, is_kept);
    };
  SATCHEL_TRY_ASSIGN(conversation_, Conversation::open(options_.common, request, console_));
  const std::string saved = describe_saved(conversation_->answers(), options_.common.sampling);
  if (!saved.empty()) console_.note(saved);
  return {};
}

void ChatLoop::see(const runtime::ChatEvent& event) {
  const bool streams = !console_.json();
  std::visit(runtime::Overloaded{
                 [&](const runtime::ResumeReport& report) {
                   console_.note(app::describe(report));
                   keep(report.reread);
                 },
                 [&](const runtime::ReadReport& report) {
                   keep(report.reread);
                   n_shelf_ += report.n_shelf;
                 },
                 [&](const runtime::MemoryChanged& changed) { keep(changed.change.reread); },
                 [&](const runtime::StoredMessage& added) { see(added); },
                 [&](const runtime::MessagesReplaced& replaced) {
                   for (const runtime::StoredMessage& message : replaced.messages)
                     console_.reply((message.role == runtime::Role::user ? "> " : "") +
                                    (message.title.empty() ? message.text : message.title));
                 },
                 [&](const runtime::AnswerDelta& delta) {
                   if (delta.is_thought) return thoughts_.add(delta.text);
                   thoughts_.end();
                   console_.end_progress();
                   if (streams) console_.data(delta.text);
                 },
                 [&](const runtime::GenerateReport& report) {
                   keep(report.read.reread);
                   thoughts_.end();
                   console_.end_progress();
                   if (streams) console_.data("\n");
                 },
                 [](const auto&) {}},
             event);
}

void ChatLoop::keep(const std::vector<kvcache::Reread>& reread) {
  for (const kvcache::Reread& one : reread) kvcache::add(reread_, one);
}

void ChatLoop::see(const runtime::StoredMessage& message) {
  if (message.role != runtime::Role::user) return;
  if (message.title == runtime::kPartNotesTitle) {
    console_.note(message.title + ":\n" + message.text.substr(0, message.text.rfind('\n')));
  } else if (message.kind == runtime::MessageKind::document) {
    documents_.push_back(message.id);
  } else {
    asked_ = message.id;
  }
}

// A file that cannot be read ends the program; a GPU that failed at one need not.
Result<void> ChatLoop::read_documents() {
  if (!options_.shelf.empty()) SATCHEL_TRY(read_shelved(options_.shelf));
  for (const std::string& document : options_.documents) {
    SATCHEL_TRY_ASSIGN(const std::string text, text_of_document(document));
    SATCHEL_TRY_ASSIGN(const bool is_there, has_document(title_of(document), text));
    if (is_there) {
      console_.note("\"" + title_of(document) + "\" is already in this chat" +
                    (asks() ? "; /document reads it again." : "."));
      if (options_.packs) SATCHEL_TRY(pack());
      continue;
    }
    const Result<void> read = read_document(document, text);
    if (!read.ok() && !(asks() && conversation_->is_gpu_failure(read.error()))) return read.error();
    if (!read.ok()) {
      SATCHEL_TRY(recover(read.error()));
      if (!conversation_->engine().on_gpu()) SATCHEL_TRY(finish_reread());
    }
    if (end_asked()) break;
  }
  return options_.keeps_documents ? keep_documents() : Result<void>();
}

Result<std::string> ChatLoop::text_of_document(const std::string& path) {
  SATCHEL_TRY(check_text_file(path, kDocumentFileBytesMax));
  if (is_rich_document(path)) return document_text(path, begin_interruptible());
  SATCHEL_TRY_ASSIGN(std::string text, read_text_file(path));
  if (is_blank(text)) return Error{ErrorKind::invalid, "DOC_EMPTY", "\"" + path + "\" is empty."};
  return text;
}

// Of a chat that was saved: its options may be given again each time.
Result<bool> ChatLoop::has_document(const std::string& title, const std::string& text) {
  const runtime::OpenChat& chat = *conversation_->service().chat(conversation_->chat());
  if (!chat.is_saved() || chat.id().value == 0) return false;
  SATCHEL_TRY_ASSIGN(auto stored, conversation_->store()->library().messages(chat.id()));
  const auto messages = runtime::with_whole_documents(std::move(stored)).messages;
  return std::any_of(messages.begin(), messages.end(), [&](const runtime::StoredMessage& message) {
    return message.kind == runtime::MessageKind::document && message.title == title &&
           message.text == text;
  });
}

// The CPU has read the document with the rest of the chat, and has said so.
Result<void> ChatLoop::finish_reread() {
  const runtime::Fidelity& fidelity = conversation_->session().fidelity();
  if (fidelity.n_tokens > 0) console_.note(app::describe(fidelity, SystemClock().wall_ms()));
  return options_.packs ? pack() : Result<void>();
}

Result<void> ChatLoop::converse() {
  if (console_.interactive())
    console_.note(conversation_->engine().config().name + ", chat \"" + conversation_->name() +
                  "\". /help lists commands.");
  while (!end_asked()) {
    const auto [got, line, was_cut, is_quoted, was_left_open] = next_input();
    if (got == Line::interrupted) interrupted_ = true;
    if (got != Line::text || (!is_quoted && line == "/quit")) break;
    if (was_cut) console_.warning(kWasCut);
    if (was_cut || is_blank(line)) continue;
    if (was_left_open) console_.warning(kWasLeftOpen);
    const bool is_command = !is_quoted && line.front() == '/';
    Result<void> done = check_utf8("The message", line);
    if (done.ok()) done = is_command ? obey(line) : answer(line);
    if (!done.ok()) SATCHEL_TRY(recover(done.error()));
    if (take_interrupt() && !asks()) interrupted_ = true;
    if (interrupted_) break;  // only where nobody can say what next
  }
  return {};
}

Input ChatLoop::next_input() {
  if (!console_.interactive()) return read_input(console_.reads_terminal());
  const TypingMode typing;
  console_.data("\n> ");
  pack_while_nobody_types();
  if (take_interrupt()) return {.line = Line::interrupted};
  return read_input(false, read_typed);
}

void ChatLoop::pack_while_nobody_types() {
  if (has_packing_failed_) return;
  const Result<runtime::IdleReport> packed = pack_until_input(*conversation_);
  has_packing_failed_ = !packed.ok();
  if (has_packing_failed_)
    console_.warning(packed.error().message + " [" + packed.error().code + "]");
}

Result<void> ChatLoop::read_document(const std::string& path, const std::string& text) {
  const std::string title = title_of(path);
  const std::size_t n_before = documents_.size();
  const Result<runtime::ReadReport> read = conversation_->service().attach(
      conversation_->chat(), {.title = title, .text = text, .saves = !options_.packs},
      conversation_->call());
  return was_read(path, n_before, read);
}

Result<void> ChatLoop::read_shelved(const std::string& wanted, runtime::ReadHow how) {
  runtime::ChatService& service = conversation_->service();
  SATCHEL_TRY_ASSIGN(const auto shelf, service.shelf(conversation_->call()));
  SATCHEL_TRY_ASSIGN(const runtime::ShelvedDocument document, find_shelved(shelf, wanted));
  SATCHEL_TRY_ASSIGN(const std::string text, conversation_->store()->document_text(document.hash));
  SATCHEL_TRY_ASSIGN(const bool is_there, has_document(document.title, text));
  if (is_there) {
    console_.note("\"" + document.title + "\" is already in this chat.");
    return {};
  }
  const std::size_t n_before = documents_.size();
  return was_read(document.title, n_before,
                  service.attach_shelved(conversation_->chat(), document.hash,
                                         conversation_->call(), !options_.packs, how));
}

Result<void> ChatLoop::was_read(const std::string& document, std::size_t n_before,
                                const Result<runtime::ReadReport>& read) {
  console_.end_progress();
  if (!read.ok() && documents_.size() == n_before)
    return Error{read.error().kind, read.error().code,
                 "\"" + document + "\" was not read. " + read.error().message};
  if (!read.ok() && is_read_later(read.error())) return {};
  if (!read.ok()) return conversation_->unread(read.error());
  has_packing_failed_ = false;
  console_.note(describe(*read));
  return options_.packs ? pack() : Result<void>();
}

// Of a document in parts; false: it is none, or nobody stays for it.
bool ChatLoop::is_read_later(const Error& problem) {
  const std::string parts = runtime::describe(conversation_->session().parts_read());
  if (problem.kind != ErrorKind::cancelled || parts.empty() || !asks()) return false;
  (void)take_interrupt();  // it was for the reading, not for the chat
  console_.note(parts + "; the rest is read while the chat is idle. Questions can be asked now.");
  return true;
}

Result<void> ChatLoop::answer(const std::string& question) {
  SATCHEL_TRY_ASSIGN(const runtime::GenerateReport report,
                     conversation_->service().send(conversation_->chat(), question, sampling(),
                                                   conversation_->call()));
  return answered(report);
}

Result<void> ChatLoop::ask_all(const std::string& question) {
  was_all_named_ = true;
  SATCHEL_TRY_ASSIGN(const runtime::GenerateReport report,
                     conversation_->service().ask_all(conversation_->chat(), question, sampling(),
                                                      conversation_->call()));
  return answered(report);
}

Result<void> ChatLoop::answered(const runtime::GenerateReport& report) {
  has_packing_failed_ = false;
  tell(report);
  const bool is_context = report.finish == runtime::Finish::context_full;
  if (is_context || report.finish == runtime::Finish::cache_full)
    return full(report.message, is_context);
  return {};
}

void ChatLoop::tell(const runtime::SeenEpisodes& episodes) {
  if (episodes.n_unread > 0)
    console_.note(runtime::describe(conversation_->session().parts_read()) + " so far.");
  if (!episodes.missing.empty())
    console_.note("The memory limit is too low to bring back " +
                  runtime::describe_missing(episodes) + ". /limit raises it.");
  const std::string parts = runtime::describe(episodes);
  if (parts.empty()) return;
  const std::string quoted = runtime::describe_quoted(episodes);
  console_.note("Answered using " + parts + " older parts." +
                (quoted.empty() ? "" : " The answer's words appear in " + quoted + "."));
  if (episodes.by_words || episodes.were_named || std::exchange(was_all_named_, true)) return;
  console_.note("No older part has the words of the message. /all QUESTION asks each part.");
}

runtime::QuotesFound ChatLoop::quotes_of(runtime::MessageId answer) {
  if (answer.value == 0) return {};
  auto found =
      conversation_->service().quotes(conversation_->chat(), answer, conversation_->call());
  return found.ok() ? *found : runtime::QuotesFound();
}

void ChatLoop::tell(const runtime::GenerateReport& report) {
  const runtime::QuotesFound quotes = quotes_of(report.answer);
  for (const std::string& line : describe(quotes)) console_.dim_note(line);
  if (!console_.json() && !report.thoughts.text.empty())
    console_.note(app::describe(report.thoughts, options_.shows_thoughts));
  if (!report.read.reread.empty()) console_.note(kvcache::describe(report.read.reread));
  // A short question moves no figure worth a line.
  if (report.read.fidelity.n_tokens >= runtime::kFidelityTokens)
    console_.note(describe(report.read));
  tell(report.episodes);
  if (report.finish == runtime::Finish::repeats) console_.warning(report.message);
  if (report.finish == runtime::Finish::n_tokens_max)
    console_.note("Stopped at the length limit of " + count_text(report.n_tokens) +
                  " tokens; --max-tokens sets it.");
  const bool was_stopped = report.finish == runtime::Finish::stopped;
  interrupted_ = was_stopped && !asks();
  if (was_stopped && !end_asked() && report.answer.value != 0) {  // the window offers no rest
    runtime::ChatService& service = conversation_->service();
    (void)service.set_stopped(service.chat(conversation_->chat())->id(), report.answer);
  }
  if (!console_.json()) return;
  console_.document({{"schema", 1},
                     {"backend", conversation_->engine().backend()},
                     {"device", conversation_->engine().device()},
                     {"message_id", asked_.value},
                     {"answer_id", report.answer.value},
                     {"document_ids", ids_of(documents_)},
                     {"answer", report.text},
                     {"thoughts", report.thoughts.text},
                     {"quotes", app::to_json(quotes)},
                     {"finish", name(report.finish)},
                     {"older_parts", report.episodes.n_all},
                     {"parts_seen", report.episodes.seen},
                     {"parts_by_words", report.episodes.by_words},
                     {"parts_quoted", report.episodes.quoted},
                     {"parts_missing", report.episodes.missing},
                     {"parts_unread", report.episodes.n_unread},
                     {"tokens", report.n_tokens},
                     {"thought_tokens", report.thoughts.n_tokens},
                     {"read_tokens", report.read.n_tokens},
                     {"shelf_tokens", std::exchange(n_shelf_, 0) + report.read.n_shelf},
                     {"reread", app::to_json(std::exchange(reread_, {}))},
                     {"read_ms", report.read.ms},
                     {"thought_ms", report.thoughts.ms},
                     {"generate_ms", report.ms},
                     {"drafted", report.drafts.n_drafted},
                     {"drafts_accepted", report.drafts.n_accepted},
                     {"cache", to_json(conversation_->session().stats())},
                     {"fidelity", to_json(conversation_->session().fidelity())},
                     {"recall", to_json(conversation_->session().recall())},
                     {"ledger", to_json(conversation_->session().ledger())}});
}

std::string ChatLoop::chosen(const std::string& offer) {
  const TypingMode typing;
  std::string choice;
  for (std::string asks = offer;; asks = "Type one of these letters, or Enter.\n" + offer) {
    console_.data(asks + "\n> ");
    choice.clear();
    if (read_typed(choice) != Line::text || choice.empty()) return "";
    if (offer.find('[' + choice + ']') != offer.npos) return choice;
  }
}

// Never silence: says what is full and lets the person choose.
Result<void> ChatLoop::full(const std::string& message, bool is_context) {
  console_.warning(message);
  is_full_ = !asks();
  if (is_full_) return {};
  runtime::Session& session = conversation_->session();
  const bool can_go_on = session.beyond() == runtime::BeyondContext::ends && is_context;
  const std::string choice = chosen(std::string(can_go_on ? "[g] go on   " : "") +
                                    "[n] start a new chat   [q] save and quit   [Enter] stay here");
  if (choice == "g" && can_go_on) {
    SATCHEL_TRY(session.set_beyond(runtime::BeyondContext::episodes));
    console_.reply(
        "The chat goes on. Older text is looked up when a message asks about it. "
        "Send the message again.");
  }
  if (choice == "n") return start_over();
  if (choice == "q") std::raise(SIGTERM);
  return {};
}

// Never without the person's word: the CPU may be slower by far. Without a session there is nothing
// to stay for.
bool ChatLoop::wants_cpu(const Error& error, bool is_kept) {
  const bool can_stay = conversation_ != nullptr && conversation_->has_session();
  console_.end_progress();
  console_.warning(error.message + " [" + error.code + "]");
  const std::string choice =
      chosen(std::string("[c] continue on the CPU   [q] quit") +
             (is_kept ? ", the chat is saved" : "") + (can_stay ? "   [Enter] stay here" : ""));
  const bool moves = choice == "c";
  if (can_stay && choice == "q") std::raise(SIGTERM);
  if (!moves && !can_stay) said_ = error.code;
  return moves;
}

Result<void> ChatLoop::offer_cpu(const Error& error) {
  if (!wants_cpu(error, conversation_->is_kept()))
    return conversation_->has_session() ? Result<void>() : error;
  SATCHEL_TRY_ASSIGN(const std::optional<runtime::GenerateReport> report,
                     conversation_->use_cpu(sampling()));
  has_packing_failed_ = false;
  return report ? answered(*report) : Result<void>();
}

// What the CPU fails at, too, is the error that counts: the GPU's was shown with the offer.
Result<void> ChatLoop::recover(const Error& error) {
  console_.end_progress();
  if (asks() && conversation_->is_gpu_failure(error)) {
    const Result<void> moved = offer_cpu(error);
    const bool is_declined = !moved.ok() && conversation_->is_gpu_failure(moved.error());
    return moved.ok() || is_declined ? moved : recover(moved.error());
  }
  if (!conversation_->has_session()) return error;
  if (error.code == "CONTEXT_FULL" || error.code == "CACHE_FULL") {
    const Result<void> chosen = full(error.message, error.code == "CONTEXT_FULL");
    return chosen.ok() ? chosen : recover(chosen.error());
  }
  if (error.kind == ErrorKind::device_lost || error.kind == ErrorKind::internal) return error;
  if (!console_.interactive()) return error;  // a script stops here, and the caller says why
  console_.warning(error.message + " [" + error.code + "]");
  return {};
}

}  // namespace satchel::app
