#include "app/eval/commands/composed_items.h"

#include <algorithm>
#include <utility>

#include "app/cli/options.h"
#include "app/eval/commands/task_options.h"
#include "app/eval/needle_tasks/family.h"
#include "runtime/session/message.h"

namespace satchel::app {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr const char* kDocumentsHead = "Here are some documents.\n\n";  // of texts without a chat
constexpr const char* kAsked = "\n\nIn short,";  // of files, where nothing is asked
constexpr const char* kInserted = " A man called Bertram Quinlan came to the door.";
constexpr std::size_t kNotedAnswerMax = 32;  // tokens: a fact in a sentence

void append(Ids& to, const Ids& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// About n documents of the same length.
std::vector<Ids> cut_at_sentences(const runtime::Tokenizer& tokenizer, const Ids& ids,
                                  std::size_t n) {
  const auto ends_sentence = [&](std::int32_t id) {
    const std::string text = tokenizer.text({&id, 1});
    return !text.empty() && (text.back() == '.' || text.back() == '\n');
  };
  std::vector<Ids> documents;
  auto begin = ids.begin();
  for (std::size_t i = 1; i <= n; ++i) {
    auto end = ids.begin() + static_cast<std::ptrdiff_t>(ids.size() * i / n);
    auto cut = end;
    while (i < n && cut > begin && !ends_sentence(*(cut - 1))) --cut;
    if (cut > begin) end = cut;  // else there is no sentence's end
    if (end == begin) continue;
    documents.emplace_back(begin, end);
    begin = end;
  }
  return documents;
}

// Back to front, and each time another one in front.
void set_documents(std::vector<Ids> documents, std::size_t index, eval::Composition& item) {
  for (std::size_t i = 0; i < documents.size(); ++i)
    item.documents.push_back({.ids = std::move(documents[i]), .told = i});
  std::ranges::reverse(item.documents);
  std::ranges::rotate(item.documents, item.documents.begin() +
                                          static_cast<std::ptrdiff_t>(index % documents.size()));
}

Result<void> add_raw_question(const runtime::Tokenizer& tokenizer, const eval::Needle& needle,
                              eval::Composition& to) {
  eval::ComposedQuestion question;
  SATCHEL_TRY_ASSIGN(question.ids, tokenizer.encode(needle.ask, runtime::SpecialText::as_text));
  if (!needle.values.empty()) {
    question.n_tokens_max = eval::needle_answer_tokens(needle);
    question.enough = [needle](std::string_view said) {
      return eval::needle_said_enough(said, needle);
    };
    question.right = [needle](std::string_view said) {
      return eval::needle_score(said, needle) == 1;
    };
  }
  to.questions.push_back(std::move(question));
  return {};
}

// Where two turns with other texts differ: tokens before that, and behind it.
std::pair<std::size_t, std::size_t> frame_of(const Ids& a, const Ids& b) {
  const auto head = std::ranges::mismatch(a, b).in1 - a.begin();
  const auto tail = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin();
  return {static_cast<std::size_t>(head), static_cast<std::size_t>(tail)};
}

}  // namespace

void add_composed_options(CLI::App& command, ComposedOptions& options) {
  CLI::Option* files = command
                           .add_option("--text", options.files,
                                       "Your own documents, two or more, in place of texts that "
                                       "are made")
                           ->type_name("FILE");
  command.add_option("--ask", options.asked, "What to ask of your documents")->needs(files);
  CLI::Option* sets =
      command
          .add_option("--sets", options.sets,
                      "The bundled model's questions about notes, of these sets, in place of texts "
                      "that are made")
          ->delimiter(',')
          ->excludes(files);
  command.add_option("--conversations", options.n_conversations, "Maximum conversations per set")
      ->check(whole_number(1))
      ->capture_default_str();
  command
      .add_option("--families", options.families,
                  "Kinds of texts to make, as of \"satchel eval needle\"")
      ->delimiter(',')
      ->excludes(files)
      ->excludes(sets)
      ->capture_default_str();
  command
      .add_flag("--edit", options.edits,
                "Insert a sentence behind the first tenth of each text that is made, in place of "
                "another order; what stands behind it moves (PIE)")
      ->excludes(files)
      ->excludes(sets);
  command.add_option("--documents", options.n_documents, "Documents to cut a text into")
      ->check(whole_number(2, 64))
      ->capture_default_str();
  command.add_option("--length", options.n_tokens, "Tokens of each document that is made, about")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--texts", options.n_texts, "Texts to make of each family")
      ->check(whole_number(1))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Random seed; the same seed makes the same texts")
      ->check(whole_number())
      ->capture_default_str();
}

Result<ComposedSource> ComposedSource::open(const ComposedOptions& options) {
  ComposedSource source;
  source.options_ = options;
  for (const std::string& file : options.files) {
    SATCHEL_TRY_ASSIGN(source.contents_.emplace_back(), read_text_file(file));
  }
  if (source.contents_.size() == 1)
    return Error{ErrorKind::invalid, "PARAM", "--text wants two documents or more."};
  if (!options.sets.empty()) {
    SATCHEL_TRY_ASSIGN(
        source.conversations_,
        recall_conversations(
            {.file = {}, .sets = options.sets, .n_conversations = options.n_conversations}));
  }
  for (const std::string& family : options.families)
    if (eval::find_needle_family(family) == nullptr)
      return Error{ErrorKind::invalid, "PARAM", "There is no family \"" + family + "\"."};
  return source;
}

std::size_t ComposedSource::n_items() const {
  if (!contents_.empty()) return 1;
  if (!conversations_.empty()) return conversations_.size();
  return options_.families.size() * options_.n_texts;
}

Result<eval::Composition> ComposedSource::item(const runtime::Engine& engine,
                                               std::size_t index) const {
  if (!contents_.empty()) return of_files(engine);
  return conversations_.empty() ? made(engine, index) : of_notes(engine, index);
}

Result<eval::Composition> ComposedSource::of_files(const runtime::Engine& engine) const {
  const runtime::Tokenizer& tokenizer = engine.tokenizer();
  eval::Composition item;
  SATCHEL_TRY_ASSIGN(item.head, runtime::raw_ids(tokenizer, kDocumentsHead));
  std::vector<Ids> documents;
  for (const std::string& content : contents_) {
    SATCHEL_TRY_ASSIGN(documents.emplace_back(),
                       tokenizer.encode(content, runtime::SpecialText::as_text));
  }
  set_documents(std::move(documents), 0, item);
  std::vector<std::string> asked = options_.asked;
  if (asked.empty()) asked.emplace_back(kAsked);
  for (const std::string& ask : asked)
    SATCHEL_TRY(add_raw_question(tokenizer, {.ask = ask, .values = {}}, item));
  return item;
}

Result<eval::Composition> ComposedSource::made(const runtime::Engine& engine,
                                               std::size_t index) const {
  const runtime::Tokenizer& tokenizer = engine.tokenizer();
  const auto count = [&](std::string_view text) -> Result<std::size_t> {
    SATCHEL_TRY_ASSIGN(const Ids ids, runtime::raw_ids(tokenizer, text));
    return ids.size();
  };
  const std::string& family = options_.families[index / options_.n_texts];
  SATCHEL_TRY_ASSIGN(
      const eval::NeedleContext context,
      eval::make_needle_context(*eval::find_needle_family(family),
                                {.n_tokens = options_.n_documents * options_.n_tokens,
                                 .seed = options_.seed * kSeedStride + index % options_.n_texts},
                                count));
  eval::Composition item;
  SATCHEL_TRY_ASSIGN(item.head, runtime::raw_ids(tokenizer, kDocumentsHead));
  Ids all;
  for (const std::string& text : context.parts) {
    SATCHEL_TRY_ASSIGN(const Ids ids, tokenizer.encode(text, runtime::SpecialText::as_text));
    append(all, ids);
  }
  for (const eval::Needle& needle : context.needles)
    SATCHEL_TRY(add_raw_question(tokenizer, needle, item));
  if (options_.edits) {
    SATCHEL_TRY(edit(engine, all, item));
  } else {
    set_documents(cut_at_sentences(tokenizer, all, options_.n_documents), index, item);
  }
  return item;
}

Result<void> ComposedSource::edit(const runtime::Engine& engine, const Ids& text,
                                  eval::Composition& item) const {
  const runtime::Tokenizer& tokenizer = engine.tokenizer();
  const Ids before = cut_at_sentences(tokenizer, text, 10).front();
  const Ids behind(text.begin() + static_cast<std::ptrdiff_t>(before.size()), text.end());
  SATCHEL_TRY_ASSIGN(const Ids sentence,
                     tokenizer.encode(kInserted, runtime::SpecialText::as_text));
  item.documents = {
      {.ids = before}, {.ids = sentence, .is_new = true}, {.ids = behind, .behind = before}};
  return add_raw_question(
      tokenizer, {.ask = "\n\nThe full name of Bertram is Bertram", .values = {"Quinlan"}}, item);
}

// As a chat: the notes are a message, of which the documents are parts.
Result<eval::Composition> ComposedSource::of_notes(const runtime::Engine& engine,
                                                   std::size_t index) const {
  const runtime::Tokenizer& tokenizer = engine.tokenizer();
  const runtime::ChatTemplate& format = engine.chat_template();
  const runtime::Thinking thinking = format.least_thinking();
  const std::string& system = format.default_system(thinking);
  const RecallConversation& talk = conversations_[index];
  eval::Composition item;
  SATCHEL_TRY_ASSIGN(item.head, format.open_chat(tokenizer, std::nullopt, thinking));
  SATCHEL_TRY_ASSIGN(const Ids notes, format.user_turn(tokenizer, talk.notes, system));
  SATCHEL_TRY_ASSIGN(const Ids other, format.user_turn(tokenizer, std::string("?"), system));
  const auto [n_before, n_behind] = frame_of(notes, other);
  const auto begin = notes.begin() + static_cast<std::ptrdiff_t>(n_before);
  const auto end = notes.end() - static_cast<std::ptrdiff_t>(n_behind);
  append(item.head, {notes.begin(), begin});
  set_documents(cut_at_sentences(tokenizer, {begin, end}, options_.n_documents), index, item);
  Ids behind(end, notes.end());
  SATCHEL_TRY_ASSIGN(const Ids noted,
                     format.assistant_turn(tokenizer, std::string(runtime::kNoted), thinking));
  append(behind, noted);
  for (const RecallExchange& exchange : talk.exchanges) {
    if (!exchange.judged()) continue;
    eval::ComposedQuestion question{.ids = behind, .n_tokens_max = kNotedAnswerMax};
    SATCHEL_TRY_ASSIGN(const Ids user, format.user_turn(tokenizer, exchange.text));
    SATCHEL_TRY_ASSIGN(const Ids answer, format.assistant_head(tokenizer, thinking));
    append(question.ids, user);
    append(question.ids, answer);
    question.right = [value = exchange.value](std::string_view said) {
      return said.find(value) != std::string_view::npos;
    };
    item.questions.push_back(std::move(question));
  }
  return item;
}

}  // namespace satchel::app
