#include "runtime/chat/quotes.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>

#include "runtime/chat/chat_errors.h"
#include "runtime/chat/page_marks.h"
#include "runtime/chat/suffix_automaton.h"
#include "runtime/tokenizer/words.h"

namespace satchel::runtime {
namespace {

using State = SuffixAutomaton::State;

constexpr std::size_t kGapBytesMax = 1000;  // between two words of a passage; chosen
constexpr std::size_t kStopWords = 4096;    // a stop is seen after so many at most; chosen

// Opening and closing ones are not told apart: languages use them either way.
constexpr std::array<std::string_view, 6> kQuotationMarks = {"\"", "“", "”", "„", "«", "»"};

struct Mark {
  std::size_t at = 0, n_bytes = 0;
};
Mark next_quotation_mark(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size(); ++at)
    for (const std::string_view mark : kQuotationMarks)
      if (text.substr(at).starts_with(mark)) return {at, mark.size()};
  return {text.size(), 0};
}

// What stands between two quotation marks of one paragraph.
std::vector<IndexRange> quotations(std::string_view text) {
  std::vector<IndexRange> found;
  std::optional<std::size_t> open;
  Mark mark = next_quotation_mark(text, 0);
  while (mark.n_bytes > 0) {
    const std::size_t behind = mark.at + mark.n_bytes;
    const bool closes =
        open && text.substr(*open, mark.at - *open).find("\n\n") == std::string_view::npos;
    if (closes) found.push_back({*open, mark.at});
    open = closes ? std::nullopt : std::optional(behind);
    mark = next_quotation_mark(text, behind);
  }
  return found;
}

// The words of the answers, one behind the other, and what stands where in them.
class AnswerWords {
 public:
  explicit AnswerWords(std::span<const std::string_view> answers) {
    for (std::size_t i = 0; i < answers.size(); ++i) add(i, answers[i]);
  }

  struct Word {
    std::size_t answer = 0;
    IndexRange place;
    State state = SuffixAutomaton::kStart;  // of all words up to this one
  };
  const std::vector<Word>& words() const { return words_; }
  const SuffixAutomaton& automaton() const { return automaton_; }
  std::optional<std::uint32_t> number_of(std::string_view word) const {
    const auto found = numbers_.find(word);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  // Whether the words from begin up to, and without, end are enough for a quote.
  bool suffice(IndexRange run) const {
    return run.size() >= kQuoteWords ||
           n_marked_[run.end] - n_marked_[run.begin] >= kMarkedQuoteWords;
  }

 private:
  void add(std::size_t answer, std::string_view text) {
    const std::vector<IndexRange> marked = quotations(text);
    auto mark = marked.begin();
    for_each_placed_word(text, [&](std::string_view word, IndexRange place) {
      while (mark != marked.end() && mark->end <= place.begin) ++mark;
      const bool is_marked = mark != marked.end() && mark->begin <= place.begin;
      const auto fresh = static_cast<std::uint32_t>(numbers_.size());
      append({answer, place}, numbers_.try_emplace(std::string(word), fresh).first->second,
             is_marked);
      return true;
    });
    // No word has the number: no run goes on into the next answer.
    append({answer, {text.size(), text.size()}}, ~static_cast<std::uint32_t>(answer), false);
  }
  void append(Word word, std::uint32_t number, bool is_marked) {
    word.state = automaton_.add(number);
    words_.push_back(word);
    n_marked_.push_back(n_marked_.back() + (is_marked ? 1 : 0));
  }

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const {
      return std::hash<std::string_view>()(word);
    }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
  SuffixAutomaton automaton_;
  std::vector<Word> words_;
  std::vector<std::size_t> n_marked_ = {0};  // of the first words, [words + 1]
};

// A document's words without those of page marks.
using DocumentWordFn =
    std::function<bool(std::string_view word, IndexRange place, std::size_t page)>;
void for_each_document_word(std::string_view text, std::size_t page, const DocumentWordFn& word) {
  std::optional<PageMark> mark = next_page_mark(text, 0);
  for_each_placed_word(text, [&](std::string_view found, IndexRange place) {
    for (; mark && mark->place.end <= place.begin; mark = next_page_mark(text, mark->place.end))
      page = mark->page;
    if (mark && mark->place.begin <= place.begin) return true;
    return word(found, place, page);
  });
}

// A stretch of a document that the answers have too; n_words 0: none was found.
struct DocumentStretch {
  std::size_t n_words = 0;
  std::size_t document = 0;
  IndexRange place;
  std::size_t page = 0;
};

// For each stretch of the answers' words the first passage that has the most of its end.
class DocumentStretches {
 public:
  explicit DocumentStretches(const AnswerWords& answers)
      : answers_(answers), longest_(answers.automaton().n_states()) {}

  // false: stopped.
  bool read(std::size_t document, std::string_view text, const std::stop_token& stop) {
    SuffixAutomaton::Match match;
    std::deque<Begin> begins;  // of the match's words
    std::size_t n_words = 0, last_end = 0;
    bool is_stopped = false;
    for_each_document_word(text, 0, [&](std::string_view word, IndexRange place, std::size_t page) {
      is_stopped = ++n_words % kStopWords == 0 && stop.stop_requested();
      if (place.begin - last_end > kGapBytesMax) match = {};
      last_end = place.end;
      const auto number = answers_.number_of(word);
      match = number ? answers_.automaton().next(match, *number) : SuffixAutomaton::Match();
      begins.push_back({place.begin, page});
      while (begins.size() > match.length) begins.pop_front();
      note(match, begins, {.document = document, .place = place});
      return !is_stopped;
    });
    return !is_stopped;
  }

  // A stretch of which nothing was noted has what its longest known end has.
  void finish() {
    std::vector<State> shortest_first(longest_.size());
    for (std::size_t i = 0; i < shortest_first.size(); ++i) shortest_first[i] = State(i);
    std::ranges::sort(shortest_first, {},
                      [&](State state) { return answers_.automaton().length(state); });
    for (const State state : shortest_first)
      if (longest_[state].n_words == 0)
        longest_[state] = longest_[answers_.automaton().link(state)];
  }
  const DocumentStretch& of(State state) const { return longest_[state]; }

 private:
  struct Begin {
    std::size_t at = 0, page = 0;
  };
  // Of the match and of the shorter stretches that end with it. Each of these is whole, and is
  // noted once.
  void note(SuffixAutomaton::Match match, const std::deque<Begin>& begins,
            DocumentStretch passage) {
    for (; match.length >= kMarkedQuoteWords && longest_[match.state].n_words < match.length;
         match.state = answers_.automaton().link(match.state),
         match.length = answers_.automaton().length(match.state)) {
      const Begin& begin = begins[begins.size() - match.length];
      passage.n_words = match.length;
      passage.place.begin = begin.at;
      passage.page = begin.page;
      longest_[match.state] = passage;
    }
  }

  const AnswerWords& answers_;
  std::vector<DocumentStretch> longest_;  // [states]
};

// Words of the answers that stand in a passage, or its middle.
struct Run {
  IndexRange words;
  std::size_t n_before = 0;  // words of the passage
  DocumentStretch passage;
};
// The longest is first, and of equal ones the one that comes first.
struct ComesAfter {
  bool operator()(const Run& a, const Run& b) const {
    return a.words.size() != b.words.size() ? a.words.size() < b.words.size()
                                            : a.words.begin > b.words.begin;
  }
};
using Runs = std::priority_queue<Run, std::vector<Run>, ComesAfter>;

// Those that cannot go on with the next word.
Runs runs_of(const AnswerWords& answers, const DocumentStretches& passages) {
  Runs runs;
  const auto& words = answers.words();
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {  // the last one ends an answer
    const DocumentStretch& passage = passages.of(words[i].state);
    const IndexRange run{i + 1 - passage.n_words, i + 1};
    if (passages.of(words[i + 1].state).n_words <= passage.n_words && answers.suffice(run))
      runs.push({run, 0, passage});
  }
  return runs;
}

// Those that are chosen, none over another.
std::vector<Run> choose(const AnswerWords& answers, Runs runs) {
  std::vector<Run> chosen;
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> chosen_at(answers.words().size(), kNone);
  for (; !runs.empty(); runs.pop()) {
    Run run = runs.top();
    IndexRange& words = run.words;
    while (words.begin < words.end && chosen_at[words.begin] != kNone) {
      const std::size_t end = std::min(words.end, chosen[chosen_at[words.begin]].words.end);
      run.n_before += end - words.begin;
      words.begin = end;
    }
    while (words.begin < words.end && chosen_at[words.end - 1] != kNone)
      words.end = std::max(words.begin, chosen[chosen_at[words.end - 1]].words.begin);
    if (!answers.suffice(words)) continue;
    if (words.size() < runs.top().words.size()) {
      runs.push(run);  // behind those that are longer now; what it was is still on top
      continue;
    }
    std::fill(chosen_at.begin() + std::ptrdiff_t(words.begin),
              chosen_at.begin() + std::ptrdiff_t(words.end), chosen.size());
    chosen.push_back(run);
  }
  return chosen;
}

Quote quote_of(const Run& run, const AnswerWords& answers,
               std::span<const std::string_view> documents) {
  const auto& first = answers.words()[run.words.begin];
  const DocumentStretch& passage = run.passage;
  Quote quote{.answer = first.answer,
              .said = {first.place.begin, answers.words()[run.words.end - 1].place.end},
              .document = passage.document,
              .passage = passage.place,
              .page = passage.page};
  if (run.words.size() == passage.n_words) return quote;
  std::size_t at = 0;  // words of the passage
  const std::string_view text = documents[passage.document];
  for_each_document_word(text.substr(passage.place.begin, passage.place.size()), passage.page,
                         [&](std::string_view, IndexRange place, std::size_t page) {
                           if (at == run.n_before) {
                             quote.passage.begin = passage.place.begin + place.begin;
                             quote.page = page;
                           }
                           quote.passage.end = passage.place.begin + place.end;
                           return ++at < run.n_before + run.words.size();
                         });
  return quote;
}

}  // namespace

Result<std::vector<Quote>> find_quotes(std::span<const std::string_view> answers,
                                       std::span<const std::string_view> documents,
                                       const std::stop_token& stop) {
  const AnswerWords words(answers);
  DocumentStretches passages(words);
  for (std::size_t i = 0; i < documents.size(); ++i)
    if (!passages.read(i, documents[i], stop)) return call_stopped();
  passages.finish();
  std::vector<Quote> quotes;
  for (const Run& run : choose(words, runs_of(words, passages)))
    quotes.push_back(quote_of(run, words, documents));
  std::ranges::sort(quotes, {},
                    [](const Quote& quote) { return std::pair(quote.answer, quote.said.begin); });
  return quotes;
}

}  // namespace satchel::runtime
