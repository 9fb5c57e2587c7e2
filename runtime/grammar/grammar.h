// Grammar: the texts that an answer may be, compiled to steps over bytes.
//   form     rules that call one another, as in a pushdown automaton: a step takes a byte of a
//            range, forks, calls a rule or ends one. Text is UTF-8; its characters are spelled out
//            in bytes, so that a token that ends inside a character is no special case
//   made by  GrammarBuilder, from GBNF (gbnf.h) or a JSON schema (json_schema.h)
//   sure     every rule that can be reached can also end, and none begins with itself
//   threads  immutable
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace satchel::runtime {

struct GrammarStep {
  enum class Kind : std::uint8_t {
    byte,  // of [low, high], then `next`
    fork,  // `next` or `other`
    call,  // the rule that begins at `other`, then `next`
    end,   // of the rule; of the whole text where no rule called it
  };
  Kind kind = Kind::end;
  std::uint8_t low = 0, high = 0;
  std::uint32_t next = 0, other = 0;
};

// Where an answer's text begins: behind thoughts, or what may be said before it.
struct AnswerOpening {
  std::string think_begin = {}, think_end = {};  // the marks; "": the model has no thoughts
  std::string answer_begin = {};                 // that of an answer; thoughts may come again then
  bool is_thinking = false;                      // they have begun already
  bool drops_space = false;                      // the first space is not shown (SentencePiece's)
};

class Grammar {
 public:
  static constexpr std::size_t kStepsMax = 1u << 17;  // 2 MB. Chosen; docs/reliability.md, Limits

  Grammar(std::vector<GrammarStep> steps, std::uint32_t start)
      : steps_(std::move(steps)), start_(start) {}

  const std::vector<GrammarStep>& steps() const { return steps_; }
  std::uint32_t start() const { return start_; }  // of the rule that is the whole text

  // The same behind what may come before an answer. Thoughts end at their first end mark; up to
  // kSpacesMax white space stands between them and the answer.
  static constexpr std::size_t kSpacesMax = 8;
  Grammar behind(const AnswerOpening& opening) const;
  // From now on its texts have the mark of an answer themselves, or what stands in its place.
  void write_answer_mark() { has_answer_mark_ = true; }

 private:
  std::vector<GrammarStep> steps_;
  std::uint32_t start_;
  bool has_answer_mark_ = false;
};

}  // namespace satchel::runtime
