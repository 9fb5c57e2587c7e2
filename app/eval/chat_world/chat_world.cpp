#include "app/eval/chat_world/chat_world.h"

#include <algorithm>
#include <utility>

#include "app/eval/chat_world/chat_words.h"
#include "kernels/base/assert.h"

namespace satchel::eval {
namespace {

constexpr std::string_view kAbilities[] = {"notes", "names", "general"};

// Of the user's messages; the rest tells something new. Chosen, not measured.
constexpr double kSmallTalk = 0.25, kChange = 0.15;
constexpr std::size_t kLookUpEvery = 6;
constexpr double kFillerBehind = 0.5;  // of statements
constexpr std::size_t kFactsPerPerson = 3, kStrangers = 3;

ChatWords words_of(std::string_view abilities) {
  SATCHEL_ASSERT(std::ranges::count(kAbilities, abilities) == 1);
  if (abilities == "notes") return notes_words();
  return abilities == "names" ? names_words() : general_words();
}

void replace_all(std::string& text, std::string_view place, std::string_view by) {
  for (std::size_t at = text.find(place); at != text.npos; at = text.find(place, at + by.size()))
    text.replace(at, place.size(), by);
}

// The wording with the person, and the value where it has a place for one.
std::string filled(std::string_view wording, std::string_view person, std::string_view value) {
  std::string out(wording);
  replace_all(out, "{s}", person);
  replace_all(out, "{v}", value);
  return out;
}

struct Fact {
  const FactKind* kind = nullptr;
  std::string person;
  std::string value = {};  // "": not told yet
  std::vector<std::string> old_values = {};
  std::size_t message = 0;  // that said it last
};

class ChatMaker {
 public:
  explicit ChatMaker(const ChatSpec& spec)
      : words_(words_of(spec.abilities)), spec_(spec), rng_(spec.seed) {}
  Chat make() &&;

 private:
  void meet_people();
  void tell_new();
  void change();
  void look_up();
  void small_talk();
  void tell(Fact& fact, std::span<const std::string_view> leads);
  ChatQuestion question_of(const Fact& fact);
  void ask(const Fact& fact) { chat_.questions.push_back(question_of(fact)); }
  void ask_told();
  void ask_absent();
  std::string_view any(std::span<const std::string_view> all) {
    return all[draw_below(rng_, all.size())];
  }
  void say(std::string said, std::string_view answer) {
    chat_.messages.push_back({Speaker::user, std::move(said)});
    chat_.messages.push_back({Speaker::assistant, std::string(answer)});
  }

  const ChatWords words_;
  const ChatSpec spec_;
  Rng rng_;
  std::vector<Fact> told_, untold_, of_strangers_;
  Chat chat_;
};

void ChatMaker::meet_people() {
  const double n_facts = static_cast<double>(spec_.n_messages / 2) * (1 - kSmallTalk - kChange);
  const std::size_t n_each = std::min(kFactsPerPerson, words_.kinds.size());
  const std::size_t n_wished = 2 + static_cast<std::size_t>(n_facts) / n_each;
  const std::size_t n = std::min(n_wished, words_.n_people_max - kStrangers);
  const std::vector<std::string> people = words_.people(rng_, n + kStrangers);
  for (std::size_t i = 0; i < people.size(); ++i)
    for (const FactKind& kind : words_.kinds)
      (i < n ? untold_ : of_strangers_).push_back({.kind = &kind, .person = people[i]});
  shuffle(rng_, untold_);
  shuffle(rng_, of_strangers_);
}

void ChatMaker::tell(Fact& fact, std::span<const std::string_view> leads) {
  std::string text(any(leads));
  text += filled(any(fact.kind->statements), fact.person, fact.value);
  if (rng_.uniform() < kFillerBehind) text += " " + std::string(any(words_.fillers));
  fact.message = chat_.messages.size();
  say(std::move(text), any(words_.answers));
}

void ChatMaker::tell_new() {
  told_.push_back(std::move(untold_.back()));
  untold_.pop_back();
  told_.back().value = told_.back().kind->value(rng_);
  tell(told_.back(), words_.leads);
}

void ChatMaker::change() {
  Fact& fact = told_[draw_below(rng_, told_.size())];
  std::string value = fact.value;
  while (value == fact.value) value = fact.kind->value(rng_);
  fact.old_values.push_back(std::exchange(fact.value, value));
  std::erase(fact.old_values, value);  // true once more
  tell(fact, words_.changed_leads);
}

ChatQuestion ChatMaker::question_of(const Fact& fact) {
  return {.ask = filled(any(fact.kind->questions), fact.person, {}),
          .value = fact.value,
          .old_values = fact.old_values,
          .age = chat_.messages.size() - fact.message,
          .about = std::string(fact.kind->name)};
}

// The user asks in between, as people do, and is answered rightly: this says the fact once more,
// and shows a model how to answer.
void ChatMaker::look_up() {
  Fact& fact = told_[draw_below(rng_, told_.size())];
  ChatQuestion asked = question_of(fact);
  fact.message = chat_.messages.size() + 1;
  say(asked.ask, filled(fact.kind->answer, fact.person, fact.value));
  chat_.messages[fact.message - 1].asked = std::move(asked);
}

void ChatMaker::small_talk() {
  const SmallTalk& talk = words_.small_talk[draw_below(rng_, words_.small_talk.size())];
  say(std::string(talk.said), talk.answer);
}

// Newest first, so that rows come in the order of age.
void ChatMaker::ask_told() {
  shuffle(rng_, told_);
  for (const char* group : {"last 10", "last 50", "last 200", "older"}) {
    std::size_t n = 0;
    for (const Fact& fact : told_) {
      if (n == spec_.n_questions) break;
      const std::size_t age = chat_.messages.size() - fact.message;
      if (age_group({.ask = {}, .value = fact.value, .old_values = {}, .age = age}) != group)
        continue;
      ask(fact);
      ++n;
    }
  }
}

void ChatMaker::ask_absent() {
  for (std::size_t i = 0; i < spec_.n_questions; ++i) {
    std::vector<Fact>& from = i % 2 == 0 && !untold_.empty() ? untold_ : of_strangers_;
    if (from.empty()) return;
    ask(from.back());
    from.pop_back();
  }
}

Chat ChatMaker::make() && {
  meet_people();
  while (chat_.messages.size() + 1 < spec_.n_messages) {
    const double x = told_.empty() ? 1 : rng_.uniform();
    if (chat_.messages.size() / 2 % kLookUpEvery == kLookUpEvery - 1)
      look_up();
    else if (x < kSmallTalk)
      small_talk();
    else if (untold_.empty() || x < kSmallTalk + kChange)
      change();
    else
      tell_new();
  }
  ask_told();
  ask_absent();
  chat_.set = std::string(spec_.abilities) + "-" + std::to_string(spec_.n_messages);
  return std::move(chat_);
}

}  // namespace

std::span<const std::string_view> chat_abilities() {
  return kAbilities;
}

Chat make_chat(const ChatSpec& spec) {
  return ChatMaker(spec).make();
}

namespace {

// The bundled model knows no other sentences than its own few; those come again and again.
std::vector<std::string> plain_sentences(Rng& rng, const BookSpec& spec, const ChatWords& words) {
  if (spec.abilities != "notes") return filler_sentences(rng, spec.n_sentences);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < spec.n_sentences; ++i)
    out.emplace_back(words.fillers[draw_below(rng, words.fillers.size())]);
  return out;
}

}  // namespace

Book make_book(const BookSpec& spec) {
  const ChatWords words = words_of(spec.abilities);
  Rng rng(spec.seed);
  Book book;
  for (const std::string& person : words.people(rng, std::min(spec.n_facts, words.n_people_max))) {
    const FactKind& kind = words.kinds[draw_below(rng, words.kinds.size())];
    const std::string value = kind.value(rng);
    book.facts.push_back(filled(kind.statements[draw_below(rng, 3)], person, value));
    book.questions.push_back({.ask = filled(kind.questions[draw_below(rng, 2)], person, {}),
                              .value = value,
                              .old_values = {},
                              .about = std::string(kind.name)});
  }
  book.text = hide(rng, book.facts, plain_sentences(rng, spec, words));
  return book;
}

}  // namespace satchel::eval
