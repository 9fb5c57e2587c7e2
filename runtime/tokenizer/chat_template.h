// ChatTemplate: converts a chat to the token ids that a model was trained on, turn by turn.
//   why turns  the ids of a chat are authoritative and only grow; cached text is never rendered
//              again. Most turns begin with a control token, so concatenated turns are the ids of
//              the whole chat. Llama-2 and Mistral have no token between question and answer,
//              zephyr and olmo-2 begin turns with text, plain has no markers: here, pieces never
//              cross these borders.
//   safe       user and system text is never parsed for control tokens, but for what a form of
//              tools marked in it (MarkedText)
//   known      detected by its text, never executed: a file's template is untrusted code
//   order      open_chat -> (user_turn -> assistant_head -> generated ids -> assistant_tail)* ;
//              assistant_turn replaces the last three for an answer that is not generated
//   errors     unsupported TEMPLATE_UNKNOWN, listing what --template takes; corrupt MODEL_TOKENIZER
//              if the vocabulary lacks a token the template needs; those of Tokenizer::encode
//   threads    const calls from any thread
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/tokenizer/marked_text.h"
#include "runtime/tokenizer/thinking.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

class GgufFile;
struct ToolMarks;
struct TurnFormat;

class ChatTemplate {
 public:
  static constexpr std::size_t kTemplateBytesMax = 256u << 10;  // docs/reliability.md, Limits

  // Detects the template from the text of tokenizer.chat_template. "" gives "plain", without
  // markers (base models).
  static Result<ChatTemplate> recognise(std::string_view jinja);
  // That of a model's file.
  static Result<ChatTemplate> of(const GgufFile& file);
  // By its name, as for --template. It has no default system text.
  static Result<ChatTemplate> named(std::string_view name);
  static std::vector<std::string_view> names();

  std::string_view name() const;
  // Whether there are no markers: the model continues the text.
  bool is_plain() const;
  // The template's own system text for chats without one; "" if none.
  const std::string& default_system(Thinking thinking = Thinking::automatic) const {
    return thinking == Thinking::off ? default_system_no_think_ : default_system_;
  }
  // Whether the system text is part of the first user turn: then pass it to user_turn as well.
  bool system_in_first_turn() const;

  // Whether thinking can be switched on and off.
  bool has_thinking_switch() const;
  // Off if there is a switch, otherwise automatic: for evaluations and scripts, which judge
  // answers.
  Thinking least_thinking() const;
  // The marks around the thoughts at the beginning of an answer.
  std::string_view think_begin() const;
  std::string_view think_end() const;
  // The mark at the beginning of an answer without thoughts; "": none.
  std::string_view answer_begin() const;
  // Whether a token with this spelling is one of these marks, or of the tokens that a mark consists
  // of. Such tokens may be control tokens, which otherwise say nothing.
  bool is_in_mark(std::string_view spelling) const;
  // The form of tools that the model was trained on (runtime/tools), and whether a token with this
  // spelling is one that its calls are marked with. They may be control tokens, too.
  std::string_view tool_form() const;
  bool is_tool_mark(std::string_view spelling) const;
  // Whether assistant_head() opens the thoughts, so that an answer starts inside them.
  bool opens_thinking(Thinking thinking) const;

  // The ids before the first turn: bos if the model needs it, and the system turn. May be empty.
  // `system` none: the default text; "": no system turn, unless the template has a preamble of its
  // own (SmolLM3, Llama 3.1), which stands alone or before its default text.
  Result<std::vector<TokenId>> open_chat(const Tokenizer& tokenizer,
                                         const std::optional<TurnText>& system,
                                         Thinking thinking) const;
  // A whole user turn. `system`: the chat's system text in its first turn ("" if there is none),
  // nothing in later turns. It is written if system_in_first_turn(). last: of what stands before
  // it, whose turn it closes where that was left open
  Result<std::vector<TokenId>> user_turn(const Tokenizer& tokenizer, const TurnText& text,
                                         std::optional<std::string_view> system = {},
                                         std::optional<TokenId> last = {}) const;
  // The beginning of the first user turn, independent of the user's text: its head and the system
  // text, as in user_turn(). Empty unless system_in_first_turn() and there is a system text.
  Result<std::vector<TokenId>> system_part(const Tokenizer& tokenizer,
                                           std::optional<std::string_view> system) const;
  // The ids that make the model answer; may be empty. last: of what stands before it
  Result<std::vector<TokenId>> assistant_head(const Tokenizer& tokenizer,
                                              Thinking thinking = Thinking::automatic,
                                              std::optional<TokenId> last = {}) const;
  // The ids that close an answer: the end-of-turn token, unless `last` is it, and what follows it;
  // none where `last` ends a call.
  // Empty if is_plain(), because the text continues.
  Result<std::vector<TokenId>> assistant_tail(const Tokenizer& tokenizer,
                                              std::optional<TokenId> last) const;
  // Head, a given answer without thoughts, and tail; an answer that was cut off has no tail.
  enum class Given { whole, cut_off };
  Result<std::vector<TokenId>> assistant_turn(const Tokenizer& tokenizer, const TurnText& text,
                                              Thinking thinking = Thinking::automatic,
                                              Given given = Given::whole,
                                              std::optional<TokenId> last = {}) const;
  // Whether an answer with a call ends with this token: nothing closes it.
  bool ends_call(const Tokenizer& tokenizer, std::optional<TokenId> token) const;
  // The token that ends a turn in this template; none if the vocabulary lacks it.
  std::optional<TokenId> end_token(const Tokenizer& tokenizer) const;

 private:
  explicit ChatTemplate(const TurnFormat& format, const ToolMarks& tools)
      : format_(&format), tools_(&tools) {}
  std::string_view trimmed(std::string_view text) const;  // if the template trims
  TurnText trimmed(const TurnText& text) const;           // what is marked stays as it is
  std::optional<TokenId> bos_of(const Tokenizer& tokenizer) const;

  bool is_off(Thinking thinking) const;
  // Whether the model's turn goes on behind this token, which ends a call or its result.
  bool is_result_end(const Tokenizer& tokenizer, std::optional<TokenId> token) const;
  bool leaves_open(const Tokenizer& tokenizer, std::optional<TokenId> token) const;
  std::string_view preamble(Thinking thinking) const;

  const TurnFormat* format_;     // one of a constant table
  const ToolMarks* tools_;       // likewise
  bool writes_bos_ = false;      // the template prints bos itself
  bool trims_ = false;           // removes white space around the user's text
  bool opens_thinking_ = false;  // the template writes head_think
  std::string preamble_;         // before any system text (Llama 3.1: dates)
  std::string default_system_, default_system_no_think_;  // "" if none
};

}  // namespace satchel::runtime
