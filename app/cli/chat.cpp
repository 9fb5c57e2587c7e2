// `satchel chat`: one conversation in the terminal, interactive, piped, or one shot.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "app/cli/commands.h"
#include "app/cli/conversation.h"
#include "app/cli/exit_codes.h"
#include "app/cli/idle.h"
#include "app/cli/input.h"
#include "app/cli/interrupt.h"
#include "app/cli/memory_command.h"
#include "app/cli/meter_text.h"
#include "app/cli/thoughts.h"
#include "app/cli/workbench.h"

namespace satchel::app {
namespace {

struct ChatOptions {
  Options common;
  std::string name, prompt;
  std::vector<std::string> documents;
  std::optional<std::string> system;
  runtime::Thinking thinking = runtime::Thinking::automatic;
  bool packs = false, shows_thoughts = false;
};

constexpr const char* kHelp =
    "  /document FILE   read a text file into the chat\n"
    "  /memory          what the chat holds and what that costs\n"
    "  /limit 40MB      what another memory limit would do to this chat; \"/limit 40MB now\" does "
    "it\n"
    "  /preset compact  the same of another preset or recipe\n"
    "  /preset same     the same of reading the chat again: what came down for want of room comes "
    "back\n"
    "  /limit, /preset  what they are now\n"
    "  /ledger          every step that made the chat smaller, and its cost\n"
    "  /think off       answers without thinking first, where the model has the switch; on, auto\n"
    "  /thoughts        what was thought before the last answer\n"
    "  /pack            pack at once what else is packed while nobody types\n"
    "  /new             begin a new chat with the same settings\n"
    "  /quit            save and leave (so does Ctrl-D)\n"
    "  \"\"\"              begins a message of several lines; another one ends it\n"
    "  Ctrl-C stops an answer; what it said so far is kept.";

constexpr const char* kWasCut =
    "The line is longer than a terminal hands on, and only its beginning came: nothing was sent. "
    "Break it, or put the text into a file: /document FILE.";

constexpr const char* kWasLeftOpen =
    "The input ended inside a message that \"\"\" began; what came of it is sent.";

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\n") == std::string_view::npos;
}

// As a shell reads a path that begins with "~/".
std::string path_from(const std::string& typed) {
  const char* home = std::getenv("HOME");
  return typed.starts_with("~/") && home != nullptr ? home + typed.substr(1) : typed;
}

std::string describe(const runtime::ReadReport& read) {
  std::string text =
      "Read " + with_thousands(read.n_tokens) + " tokens in " + format_seconds(read.ms);
  if (read.fidelity.n_tokens > 0)
    text += "; after compression the next token is the same " +
            format_percent(read.fidelity.agreement) + " of the time (measured on the last " +
            std::to_string(read.fidelity.n_tokens) + " tokens)";
  return text + ".";
}

std::string_view name(runtime::Finish finish) {
  switch (finish) {
    case runtime::Finish::end_of_turn:
      return "end_of_turn";
    case runtime::Finish::n_tokens_max:
      return "n_tokens_max";
    case runtime::Finish::repeats:
      return "repeats";
    case runtime::Finish::stopped:
      return "stopped";
    case runtime::Finish::context_full:
      return "context_full";
    case runtime::Finish::cache_full:
      return "cache_full";
  }
  return "";
}

Json ids_of(const std::vector<runtime::DocumentIds>& documents) {
  Json ids = Json::array();
  for (const runtime::DocumentIds& each : documents) ids.push_back(each.document.value);
  return ids;
}

class Talk {
 public:
  Talk(const ChatOptions& options, Console& console) : options_(options), console_(console) {}

  Result<int> run() {
    const bool one_shot = !options_.prompt.empty();
    for (const std::string& document : options_.documents) SATCHEL_TRY(check_text_file(document));
    SATCHEL_TRY_ASSIGN(conversation_,
                       Conversation::open(options_.common,
                                          {.name = options_.name,
                                           .keep = !one_shot || !options_.name.empty(),
                                           .system = options_.system,
                                           .thinking = options_.thinking},
                                          console_));
    if (conversation_->resumed()) console_.note(app::describe(*conversation_->resumed()));
    for (const std::string& document : options_.documents) SATCHEL_TRY(read_document(document));
    if (one_shot) {
      SATCHEL_TRY(answer(options_.prompt));
    } else {
      SATCHEL_TRY(converse());
    }
    conversation_->save(console_);
    if (console_.json()) console_.document(report_);
    if (interrupted_) return int{kExitInterrupted};
    return is_full_ ? int{kExitMemory} : int{kExitOk};
  }

 private:
  // Whether a person is there to say what next.
  bool asks() const { return console_.interactive() && options_.prompt.empty(); }

  Result<void> converse() {
    if (console_.interactive())
      console_.note(conversation_->engine().config().name + ", chat \"" + conversation_->name() +
                    "\". /help lists commands.");
    while (!end_asked()) {
      if (console_.interactive()) {
        console_.data("\n> ");
        const Result<runtime::IdleReport> packed = pack_until_input(conversation_->session());
        if (!packed.ok()) console_.warning(packed.error().message);
        const bool is_news =
            packed.ok() && (packed->n_evicted + packed->n_lowered + packed->fidelity.n_tokens > 0 ||
                            packed->recall.n_asked > 0);
        if (is_news) conversation_->save(console_);
      }
      const auto [got, line, was_cut, is_quoted, was_left_open] =
          read_input(console_.reads_terminal());
      if (got == Line::interrupted) interrupted_ = true;
      if (got != Line::text || (!is_quoted && line == "/quit")) break;
      if (was_cut) console_.warning(kWasCut);
      if (was_cut || is_blank(line)) continue;
      if (was_left_open) console_.warning(kWasLeftOpen);
      unanswered_ = {};
      const bool is_command = !is_quoted && line.front() == '/';
      const Result<void> done = is_command ? obey(line) : answer(line);
      if (!done.ok() && (!conversation_->has_session() || !recover(done.error())))
        return done.error();
      if (take_interrupt() && !asks()) interrupted_ = true;
      if (interrupted_) break;  // only where nobody can say what next
    }
    return {};
  }

  Result<void> obey(const std::string& line) {
    SATCHEL_TRY_ASSIGN(const auto memory, memory_command(line));
    if (memory) return app::obey(*memory, *conversation_, console_);
    if (line == "/help") {
      console_.reply(kHelp);
    } else if (line == "/memory") {
      show_memory();
    } else if (line == "/ledger") {
      const auto ledger = conversation_->session().ledger();
      console_.reply(ledger.empty() ? app::describe(ledger) : table_of(ledger));
    } else if (line == "/pack") {
      return pack();
    } else if (line == "/thoughts") {
      return show_thoughts();
    } else if (const auto thinks = rest_of(line, "/think")) {
      SATCHEL_TRY_ASSIGN(const runtime::Thinking thinking, thinking_named(std::string(*thinks)));
      return conversation_->set_thinking(thinking);
    } else if (line == "/new") {
      conversation_->save(console_);
      return conversation_->start_over();
    } else if (const auto path = rest_of(line, "/document")) {
      if (path->empty()) return Error{ErrorKind::invalid, "PARAM", "Name a file: /document FILE."};
      return read_document(path_from(std::string(*path)));
    } else {
      return Error{ErrorKind::invalid, "PARAM",
                   "There is no command " + line.substr(0, line.find_first_of(" \t\n")) +
                       ". /help lists what there is; a message that begins with / goes between "
                       "\"\"\" and \"\"\"."};
    }
    return {};
  }

  void show_memory() {
    const runtime::Session& session = conversation_->session();
    const kvcache::CacheStats stats = session.stats();
    console_.reply(with_thousands(stats.n_tokens) + " tokens in " + app::describe(stats) + "; " +
                   with_thousands(session.n_context_left()) + " more fit the model's context.");
    const std::int64_t now_ms = SystemClock().wall_ms();
    const bool is_old =
        !session.ledger().empty() && session.ledger().back().at_ms > session.fidelity().measured_ms;
    console_.reply(app::describe(session.fidelity(), now_ms) +
                   (is_old ? " Compressed further since; /ledger has what that cost." : ""));
    console_.reply(app::describe(session.recall(), now_ms));
    console_.reply(app::describe(session.ledger()));
  }

  Result<void> show_thoughts() {
    const auto messages = conversation_->session().messages();
    runtime::Thoughts thoughts;
    const auto last = std::find_if(messages.rbegin(), messages.rend(), [](const auto& message) {
      return message.role == kvcache::Role::assistant;
    });
    if (last != messages.rend()) {
      SATCHEL_TRY_ASSIGN(thoughts, conversation_->session().thoughts(last->id));
    }
    console_.reply(thoughts.text.empty() ? "Nothing was thought before the last answer."
                                         : thoughts.text);
    return {};
  }

  Result<void> pack() {
    SATCHEL_TRY_ASSIGN(const runtime::IdleReport packed,
                       conversation_->session().idle(begin_interruptible(), console_.progress()));
    console_.end_progress();
    console_.reply(app::describe(conversation_->session().stats()) +
                   (packed.finished ? "." : "; stopped, it goes on later."));
    conversation_->save(console_);
    return {};
  }

  Result<void> read_document(const std::string& path) {
    SATCHEL_TRY_ASSIGN(const std::string text, read_text_file(path));
    const auto added = conversation_->session().add_document(
        std::filesystem::path(path).filename().string(), text);
    if (!added.ok())
      return Error{added.error().kind, added.error().code,
                   "\"" + path + "\" was not read. " + added.error().message};
    documents_.push_back(*added);
    const Result<runtime::ReadReport> read =
        conversation_->session().read(begin_interruptible(), console_.progress());
    console_.end_progress();
    if (!read.ok()) return conversation_->unread(read.error(), console_);
    console_.note(describe(*read));
    if (options_.packs) return pack();
    conversation_->save(console_);
    return {};
  }

  Result<void> answer(const std::string& question) {
    SATCHEL_TRY_ASSIGN(asked_, conversation_->session().add_user(question));
    unanswered_ = asked_;
    return reply();
  }

  // Answers the question asked last.
  Result<void> reply() {
    const bool stream = !console_.json();
    ThoughtLine thoughts(console_, stream && options_.shows_thoughts);
    const auto piece = [&](std::string_view text) {
      thoughts.end();
      console_.end_progress();
      if (stream) console_.data(text);
      return true;
    };
    SATCHEL_TRY_ASSIGN(
        const runtime::GenerateReport report,
        conversation_->session().generate(
            options_.common.sampling, piece, begin_interruptible(), console_.progress(),
            [&](std::string_view text) { return thoughts.add(text); }));
    unanswered_ = {};
    thoughts.end();
    console_.end_progress();
    if (stream) console_.data("\n");
    if (stream && !report.thoughts.text.empty())
      console_.note(app::describe(report.thoughts, options_.shows_thoughts));
    // A short question moves no figure worth a line.
    if (report.read.fidelity.n_tokens >= runtime::kFidelityTokens)
      console_.note(describe(report.read));
    if (report.finish == runtime::Finish::repeats) console_.warning(report.message);
    if (report.finish == runtime::Finish::n_tokens_max)
      console_.note("The answer was ended after " + with_thousands(report.n_tokens) +
                    " tokens; --max-tokens sets the limit.");
    interrupted_ = report.finish == runtime::Finish::stopped && !asks();
    conversation_->save(console_);
    report_ = Json{{"schema", 1},
                   {"message_id", asked_.value},
                   {"answer_id", report.answer.value},
                   {"document_ids", ids_of(documents_)},
                   {"answer", report.text},
                   {"thoughts", report.thoughts.text},
                   {"finish", name(report.finish)},
                   {"tokens", report.n_tokens},
                   {"thought_tokens", report.thoughts.n_tokens},
                   {"read_tokens", report.read.n_tokens},
                   {"read_ms", report.read.ms},
                   {"thought_ms", report.thoughts.ms},
                   {"generate_ms", report.ms},
                   {"cache", to_json(conversation_->session().stats())},
                   {"fidelity", to_json(conversation_->session().fidelity())},
                   {"recall", to_json(conversation_->session().recall())},
                   {"ledger", to_json(conversation_->session().ledger())}};
    if (report.finish == runtime::Finish::context_full ||
        report.finish == runtime::Finish::cache_full)
      return full(report.message);
    return {};
  }

  // Never silence: says what is full and lets the person choose.
  Result<void> full(const std::string& message) {
    console_.warning(message);
    is_full_ = !asks();
    if (is_full_) return {};
    console_.data("[n] begin a new chat   [q] save and leave   [Enter] stay here to read on\n> ");
    std::string choice;
    if (read_line(choice) != Line::text) return {};
    if (choice == "n") return conversation_->start_over();
    if (choice == "q") std::raise(SIGTERM);
    return {};
  }

  // Never without the person's word: the CPU may be slower by far.
  Result<void> offer_cpu(const Error& error) {
    console_.warning(error.message + " [" + error.code + "]");
    console_.data(
        "[c] go on with the CPU   [q] leave, the chat is saved   [Enter] stay here to read on\n> ");
    std::string choice;
    if (read_line(choice) != Line::text) return {};
    if (choice == "q") std::raise(SIGTERM);
    if (choice != "c") return {};
    // What was begun of the answer is made again, whole.
    const kvcache::MessageId asked = std::exchange(unanswered_, {});
    if (asked.value != 0)
      SATCHEL_TRY(conversation_->store()->library().truncate(conversation_->chat(), asked));
    SATCHEL_TRY(conversation_->move_to_cpu(console_));
    console_.note("On the CPU (" + conversation_->engine().device() + ") now.");
    if (conversation_->resumed()) console_.note(app::describe(*conversation_->resumed()));
    return asked.value != 0 ? reply() : Result<void>();
  }

  // Whether the conversation can go on after this error.
  bool recover(const Error& error) {
    console_.end_progress();
    const bool is_the_gpus = error.kind == ErrorKind::device_lost || error.code == "GPU_MEMORY";
    if (is_the_gpus && asks() && conversation_->engine().on_gpu()) {
      const Result<void> moved = offer_cpu(error);
      return moved.ok() || (conversation_->has_session() && recover(moved.error()));
    }
    if (error.code == "CONTEXT_FULL" || error.code == "CACHE_FULL") return full(error.message).ok();
    if (error.kind == ErrorKind::storage || error.kind == ErrorKind::device_lost ||
        error.kind == ErrorKind::internal)
      return false;
    if (!console_.interactive()) {  // a script stops here, and the caller says why
      conversation_->save(console_);
      return false;
    }
    console_.warning(error.message + " [" + error.code + "]");
    return true;
  }

  const ChatOptions& options_;
  Console& console_;
  std::unique_ptr<Conversation> conversation_;
  std::vector<runtime::DocumentIds> documents_;  // read since the program began
  kvcache::MessageId asked_,
      unanswered_;  // the question asked last; the same while it has no answer
  Json report_;
  bool interrupted_ = false, is_full_ = false;
};

}  // namespace

void add_chat(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<ChatOptions>();
  CLI::App* command = app.add_subcommand("chat", "Talk to a model; the chat is saved as it goes");
  command->add_option("--chat", options->name, "Go on with this chat, or begin it")
      ->type_name("NAME");
  command
      ->add_option("-p,--prompt", options->prompt,
                   "One question, one answer; saved only with --chat")
      ->type_name("TEXT")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return is_blank(text) ? std::string("there is no text") : std::string();
          },
          ""));
  command
      ->add_option("--document", options->documents,
                   "Read a text file first; may be given several times")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--system", options->system, "System prompt of a new chat")
      ->type_name("TEXT");
  add_thinking_options(*command, options->thinking, options->shows_thoughts);
  command->add_flag("--pack", options->packs,
                    "Pack documents before the first question, not while nobody types");
  add_output_options(*command, options->common);
  add_store_option(*command, options->common);
  add_model_options(*command, options->common);
  add_recipe_options(*command, options->common);
  add_sampling_options(*command, options->common);
  command->callback([=] {
    choose([=] {
      Console console(options->common.json, options->common.quiet);
      const Result<int> code = Talk(*options, console).run();
      return code.ok() ? *code : console.fail(code.error());
    });
  });
}

}  // namespace satchel::app
