// ChatTemplate: how a chat becomes the token ids that a model was trained on, turn by turn.
//   why turns  the ids of a chat are the truth and only grow: what stands in the cache is never
//              rendered again. Most turns begin with a control token, so turns put side by side
//              are the ids of the whole. Llama-2 and Mistral have no token between question
//              and answer, zephyr and olmo-2 begin turns with text, plain has no marker at all:
//              pieces never reach across those borders here
//   safe       user and system text is never parsed for control tokens
//   known      by its text, not by running it: a file's template is a program of a stranger
//   order      open_chat -> (user_turn -> assistant_head -> generated ids -> assistant_tail)* ;
//              assistant_turn stands for the last three where the answer is given, not generated
//   errors     unsupported TEMPLATE_UNKNOWN, listing what --template takes; corrupt MODEL_TOKENIZER
//              if the vocabulary lacks a token the template needs; those of Tokenizer::encode
//   threads    const calls from any thread
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/tokenizer/thinking.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

struct TurnFormat;

class ChatTemplate {
 public:
  static constexpr std::size_t kTemplateBytesMax = 256u << 10;  // reliability.md section 7

  // By the text of tokenizer.chat_template; "": the file has none, which gives "plain", no markers
  // at all (base models).
  static Result<ChatTemplate> recognise(std::string_view jinja);
  // By what --template takes. It has no default system text.
  static Result<ChatTemplate> named(std::string_view name);
  static std::vector<std::string_view> names();

  std::string_view name() const;
  // No markers at all: the model goes on with what was written.
  bool is_plain() const;
  // What the template says when the chat brings no system text; "" if nothing.
  const std::string& default_system(Thinking thinking = Thinking::automatic) const {
    return thinking == Thinking::off ? default_system_no_think_ : default_system_;
  }
  // The system text stands inside the first user turn: give it to user_turn as well.
  bool system_in_first_turn() const;

  // Thoughts can be turned on and off.
  bool has_thinking_switch() const;
  // Off where there is a switch, else automatic: for evaluations and scripts, which judge answers.
  Thinking least_thinking() const;
  // What stands around the thoughts at the beginning of an answer.
  std::string_view think_begin() const;
  std::string_view think_end() const;
  // assistant_head() begins the thoughts: an answer starts inside of them.
  bool opens_thinking(Thinking thinking) const;

  // What comes before the first turn: bos where the model wants it, and the system turn. May be
  // empty. `system` none: the default text; "": no system turn.
  Result<std::vector<TokenId>> open_chat(const Tokenizer& tokenizer,
                                         std::optional<std::string_view> system,
                                         Thinking thinking) const;
  // A whole user turn. `system`: with the first turn of a chat its system text, "" if there is
  // none; later none. It is written where system_in_first_turn().
  Result<std::vector<TokenId>> user_turn(const Tokenizer& tokenizer, std::string_view text,
                                         std::optional<std::string_view> system = {}) const;
  // What the first user turn begins with, whatever the user says: its head and the system text, as
  // user_turn() writes them. Empty unless system_in_first_turn() and there is such a text.
  Result<std::vector<TokenId>> system_part(const Tokenizer& tokenizer,
                                           std::optional<std::string_view> system) const;
  // What makes the model answer (may be empty).
  Result<std::vector<TokenId>> assistant_head(const Tokenizer& tokenizer,
                                              Thinking thinking = Thinking::automatic) const;
  // What closes an answer whose last token is `last`: the end-of-turn token unless that is `last`,
  // and what follows it. Nothing where is_plain(): the text goes on.
  Result<std::vector<TokenId>> assistant_tail(const Tokenizer& tokenizer,
                                              std::optional<TokenId> last) const;
  // Head, a given answer without thoughts, tail; of an answer that was cut off, no tail.
  enum class Given { whole, cut_off };
  Result<std::vector<TokenId>> assistant_turn(const Tokenizer& tokenizer, std::string_view text,
                                              Thinking thinking = Thinking::automatic,
                                              Given given = Given::whole) const;
  // The token that ends a turn in this template; none if the vocabulary lacks it.
  std::optional<TokenId> end_token(const Tokenizer& tokenizer) const;

 private:
  explicit ChatTemplate(const TurnFormat& format) : format_(&format) {}
  std::string_view trimmed(std::string_view text) const;  // if the template trims
  std::optional<TokenId> bos_of(const Tokenizer& tokenizer) const;

  std::string_view preamble(Thinking thinking) const;

  const TurnFormat* format_;     // one of a constant table
  bool writes_bos_ = false;      // the template prints bos itself
  bool trims_ = false;           // white space around what people wrote goes
  bool opens_thinking_ = false;  // the template writes head_think
  std::string preamble_;         // stands before any system text (Llama 3.1: dates)
  std::string default_system_, default_system_no_think_;  // "" if none
};

}  // namespace satchel::runtime
