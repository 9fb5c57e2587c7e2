#include "runtime/session/part_notes.h"

#include <algorithm>
#include <utility>

#include "kernels/base/size_text.h"
#include "runtime/episodes/answer_words.h"
#include "runtime/prefill/prefill_text.h"
#include "runtime/sampler/sampler.h"

namespace satchel::runtime {
namespace {

using kvcache::SegmentKind;

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  const std::size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

}  // namespace

std::vector<PartNotes::Part> PartNotes::parts_to_ask() const {
  const std::vector<IndexRange> episodes = prefill_.past().episodes();
  std::vector<Part> parts;
  for (const IndexRange& episode : episodes) {
    const std::size_t number = static_cast<std::size_t>(&episode - episodes.data()) + 1;
    parts.push_back(
        {.text = episode,
         .name = "Part " + std::to_string(number) + " of " + std::to_string(episodes.size())});
  }
  const IndexRange near{.begin = parts_.cache->reach().near_first, .end = parts_.cache.n_tokens()};
  if (near.size() > 0) parts.push_back({.text = near, .name = "The newest text"});
  std::erase_if(parts, [this](const Part& part) {
    return std::ranges::any_of(parts_.transcript.messages(), [&](const SessionMessage& message) {
      return message.begin == part.text.begin && message.title == kPartNotesTitle;
    });
  });
  return parts;
}

Result<PartNotes::Notes> PartNotes::take(std::string_view question, const std::stop_token& stop,
                                         const ProgressFn& progress) {
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> asked, asked_tokens(question, true));
  const std::size_t n_context = parts_.engine.model->config().context;
  const std::size_t n_asked = asked.size() - parts_.transcript.tokens().size();
  if (parts_.cache->reach().is_all()) return Notes{};
  if (n_asked + kNoteTokensMost > n_context / 4)
    return Error{ErrorKind::out_of_memory, "CONTEXT_FULL",
                 "The question is too long to be asked of each part. Nothing was sent. Shorten it, "
                 "or send it as a message."};
  SATCHEL_TRY(prefill_.show_near(n_asked + kNoteTokensMost, stop));
  const std::vector<Part> parts = parts_to_ask();
  const std::size_t n_room = n_context / 4;
  const std::size_t n_each = std::clamp(n_room / std::max<std::size_t>(parts.size(), 1),
                                        kNoteTokensLeast, kNoteTokensMost);
  Notes notes{.n_parts = parts.size()};
  std::size_t n_used = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (progress) progress({Phase::ask_parts, i, parts.size()});
    SATCHEL_TRY_ASSIGN(
        const std::string note,
        ask(parts[i].text, {.text = question, .n_tokens = n_asked, .n_answer_tokens = n_each},
            stop));
    if (!says_something(note, parts[i].text, question)) continue;
    const std::string line = parts[i].name + ": " + note + "\n";
    SATCHEL_TRY_ASSIGN(const std::vector<TokenId> ids,
                       parts_.engine.tokenizer->encode(line, SpecialText::as_text));
    if (n_used + ids.size() > n_room) continue;
    n_used += ids.size();
    notes.text += line;
  }
  if (progress) progress({Phase::ask_parts, parts.size(), parts.size()});
  return notes;
}

Result<std::vector<TokenId>> PartNotes::asked_tokens(std::string_view question,
                                                     bool is_near) const {
  const ChatTemplate& chat_template = *parts_.engine.chat_template;
  const Tokenizer& tokenizer = *parts_.engine.tokenizer;
  const std::span<const TokenId> tokens = parts_.transcript.tokens();
  std::vector<TokenId> out(tokens.begin(), tokens.end());
  const auto add = [&out](const std::vector<TokenId>& ids) {
    out.insert(out.end(), ids.begin(), ids.end());
  };
  if (is_near) {
    SATCHEL_TRY_ASSIGN(const std::vector<TokenId> closing, parts_.transcript.closing());
    add(closing);
  }
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> turn, chat_template.user_turn(tokenizer, question));
  add(turn);
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> head,
                     chat_template.assistant_head(tokenizer, chat_template.least_thinking()));
  add(head);
  return out;
}

Result<std::string> PartNotes::ask(const IndexRange& part, const Question& question,
                                   const std::stop_token& stop) const {
  const bool is_near = part.end == parts_.cache.n_tokens();
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> text, asked_tokens(question.text, is_near));
  const RepeatScript script;  // nothing is compressed in the fork
  const auto answered = [&]() -> Result<std::string> {
    Past& past = prefill_.past();
    const std::size_t n_more = question.n_tokens + question.n_answer_tokens;
    SATCHEL_TRY(prefill_.bring_back(part, stop, past.fork_needs(n_more)));
    SATCHEL_TRY_ASSIGN(const std::unique_ptr<kvcache::Cache> fork, parts_.cache->fork());
    SATCHEL_TRY(past.show_alone(*fork, part, n_more));
    std::vector<float> logits(parts_.engine.model->config().n_vocabulary);
    SATCHEL_TRY(
        prefill_text(*parts_.engine.model,
                     {.cache = *fork, .text = text, .script = script, .stop = stop, .progress = {}},
                     {.end = text.size(), .kind = SegmentKind::message, .logits = logits}));
    return answer(*fork, logits, question.n_answer_tokens, stop);
  };
  const auto is_short = [](const Result<std::string>& note) {
    return !note.ok() && note.error().kind == ErrorKind::out_of_memory;
  };
  Result<std::string> note = answered();
  if (is_short(note)) {  // what the fork takes is known roughly: all that may rest does
    SATCHEL_TRY(prefill_.past().rest_for(parts_.cache->arena().bytes()));
    note = answered();
  }
  if (!is_short(note)) return note;
  SATCHEL_TRY_ASSIGN(const bool freed, prefill_.reclaim(stop));
  if (freed) note = answered();
  if (!is_short(note)) return note;
  return Error{ErrorKind::out_of_memory, "CACHE_FULL",
               "The memory limit of " + size_text(parts_.cache->arena().bytes()) +
                   " is too low to ask a part of the chat by itself. Nothing was sent. Raise the "
                   "limit, or send the question as a message."};
}

Result<std::string> PartNotes::answer(kvcache::Cache& fork, std::span<float> logits,
                                      std::size_t n_most, const std::stop_token& stop) const {
  const Tokenizer& tokenizer = *parts_.engine.tokenizer;
  const ChatTemplate& chat_template = *parts_.engine.chat_template;
  AnswerReader reader(tokenizer, chat_template,
                      chat_template.opens_thinking(chat_template.least_thinking()));
  Sampler sampler(Sampling::plain_greedy(n_most));
  std::vector<TokenId> drawn;
  std::string text;
  while (drawn.size() < n_most) {
    if (stop.stop_requested()) return Error{ErrorKind::cancelled, "STOPPED", "Stopped."};
    const TokenId token = sampler.choose(logits, drawn);
    if (tokenizer.ends_turn(token)) break;
    drawn.push_back(token);
    text += reader.push(token).answer;
    if (drawn.size() < n_most) SATCHEL_TRY(parts_.engine.model->decode_step(fork, token, logits));
  }
  return one_line(text + reader.finish().answer);
}

// A model asked about what a part does not have says something all the same.
bool PartNotes::says_something(std::string_view note, const IndexRange& part,
                               std::string_view question) const {
  if (denies(note)) return false;
  const Tokenizer& tokenizer = *parts_.engine.tokenizer;
  const std::string text =
      tokenizer.text(parts_.transcript.tokens().subspan(part.begin, part.end - part.begin));
  return !texts_quoted({.question = question, .answer = note}, {&text, 1}, tokenizer).empty();
}

}  // namespace satchel::runtime
