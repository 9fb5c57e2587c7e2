#include "runtime/tokenizer/chat_template.h"

#include <algorithm>

#include "runtime/gguf/reader.h"
#include "runtime/tokenizer/detect_template.h"
#include "runtime/tokenizer/tool_marks.h"
#include "runtime/tokenizer/turn_format.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

constexpr std::string_view kPlain = "plain";

Error unknown(const std::string& what) {
  std::string list;
  for (const std::string_view name : ChatTemplate::names())
    list += (list.empty() ? "" : ", ") + std::string(name);
  return {ErrorKind::unsupported, "TEMPLATE_UNKNOWN",
          what + " Choose one with --template: " + list + "."};
}

Result<void> check_needs(const TurnFormat& format, const Tokenizer& tokenizer) {
  for (const std::string_view name : format.needs)
    if (!name.empty() && !tokenizer.control(name))
      return Error{ErrorKind::corrupt, "MODEL_TOKENIZER",
                   "The chat template \"" + std::string(format.name) + "\" needs the token " +
                       std::string(name) +
                       ", which the vocabulary lacks. Choose another with --template NAME."};
  return {};
}

// As Python's str.strip sees it.
bool is_space(char32_t code) {
  return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85 ||
         code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

std::string_view without_leading_space(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    if (step.form != Utf8Form::whole || !is_space(step.code)) break;
    text.remove_prefix(step.bytes);
  }
  return text;
}

std::string_view without_trailing_space(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text.substr(at));
    at += step.bytes;
    if (step.form != Utf8Form::whole || !is_space(step.code)) end = at;
  }
  return text.substr(0, end);
}

// Literals and texts in order, encoded as one.
class TurnWriter {
 public:
  // in_text: the turn begins right behind text.
  TurnWriter(const TurnFormat& format, const Tokenizer& tokenizer, bool in_text = false)
      : tokenizer_(tokenizer),
        in_text_(in_text && format.begins_in_text && tokenizer.adds_space_prefix()),
        after_marker_(tokenizer.kind() == VocabularyKind::sentencepiece ? format.after_marker
                                                                        : AfterMarker::kept) {}

  TurnWriter& literal(std::string_view text) {
    constexpr std::string_view kEos = "{eos}";
    if (after_marker_ != AfterMarker::kept) text = without_trailing_space(text);
    const std::size_t at = text.find(kEos);
    parts_.push_back({text.substr(0, at), SpecialText::parse});
    if (at == std::string_view::npos) return *this;
    if (const auto eos = tokenizer_.eos())
      parts_.push_back({tokenizer_.spelling(*eos), SpecialText::parse});
    parts_.push_back({text.substr(at + kEos.size()), SpecialText::parse});
    return *this;
  }
  TurnWriter& text(const TurnText& said) {
    if (!said.is_plain()) return marked(said);
    std::string_view text = said.text;
    if (after_marker_ == AfterMarker::drops_all) text = without_leading_space(text);
    parts_.push_back({text, SpecialText::as_text});
    return *this;
  }
  TurnWriter& token(std::optional<TokenId> token) {
    if (token) before_.push_back(*token);
    return *this;
  }
  // The marked ranges are parsed, and nothing else. trims: what is not marked at both ends
  TurnWriter& marked(const TurnText& said, bool trims = false) {
    const auto add_said = [&](std::size_t begin, std::size_t end) {
      std::string_view text = said.text.substr(begin, end - begin);
      const bool drops = trims || after_marker_ == AfterMarker::drops_all;
      if (begin == 0 && drops) text = without_leading_space(text);
      if (end == said.text.size() && trims) text = without_trailing_space(text);
      parts_.push_back({text, SpecialText::as_text});
    };
    std::size_t at = 0;
    for (const IndexRange& one : said.marks->parsed) {
      add_said(at, one.begin);
      parts_.push_back({said.text.substr(one.begin, one.size()), SpecialText::parse});
      at = one.end;
    }
    add_said(at, said.text.size());
    return *this;
  }
  // Tokens given before, then the parts.
  Result<std::vector<TokenId>> ids() {
    std::size_t n_stand_in = 0;
    if (in_text_) {
      // A newline stands for the text before; pieces do not reach across one.
      SATCHEL_TRY_ASSIGN(const std::vector<TokenId> stand_in,
                         tokenizer_.encode("\n", SpecialText::as_text));
      parts_.insert(parts_.begin(), {"\n", SpecialText::as_text});
      n_stand_in = stand_in.size();
    }
    SATCHEL_TRY_ASSIGN(const std::vector<TokenId> rest, tokenizer_.encode(parts_));
    before_.insert(before_.end(),
                   rest.begin() + static_cast<std::ptrdiff_t>(std::min(n_stand_in, rest.size())),
                   rest.end());
    return before_;
  }

 private:
  const Tokenizer& tokenizer_;
  bool in_text_;
  AfterMarker after_marker_;
  std::vector<TokenId> before_;
  std::vector<TextPart> parts_;
};

}  // namespace

Result<ChatTemplate> ChatTemplate::of(const GgufFile& file) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  std::string_view text;
  if (file.has(kKey)) {
    SATCHEL_TRY_ASSIGN(text, file.get_string(kKey));
  }
  return recognise(text);
}

Result<ChatTemplate> ChatTemplate::recognise(std::string_view jinja) {
  if (jinja.empty()) return named(kPlain);
  if (jinja.size() > kTemplateBytesMax)
    return unknown("The model's chat template has " + std::to_string(jinja.size()) +
                   " bytes, more than " + std::to_string(kTemplateBytesMax) + ".");
  const TurnFormat* format = recognised_format(jinja);
  if (format == nullptr) return unknown("Satchel does not know the model's chat template.");
  ChatTemplate made(*format, tool_marks_in(jinja));
  made.writes_bos_ = jinja.find("bos_token") != std::string_view::npos ||
                     jinja.find("<|begin_of_text|>") != std::string_view::npos;
  made.trims_ = trims_content(jinja);
  made.opens_thinking_ = !format->head_think.empty() && runtime::opens_thinking(jinja);
  made.preamble_ = system_preamble(jinja);
  DefaultSystem system = default_system_text(jinja, *format);
  made.default_system_ = std::move(system.text);
  made.default_system_no_think_ = std::move(system.text_no_think);
  return made;
}

Result<ChatTemplate> ChatTemplate::named(std::string_view name) {
  const auto formats = turn_formats();
  const auto found = std::find_if(formats.begin(), formats.end(),
                                  [&](const TurnFormat& format) { return format.name == name; });
  if (found == formats.end())
    return unknown("There is no chat template \"" + std::string(name.substr(0, 64)) + "\".");
  ChatTemplate made(*found, tool_marks(found->tools));
  made.writes_bos_ = found->writes_bos;
  made.trims_ = found->trims;
  made.opens_thinking_ = found->opens_thinking;
  return made;
}

std::vector<std::string_view> ChatTemplate::names() {
  std::vector<std::string_view> names;
  for (const TurnFormat& format : turn_formats()) names.push_back(format.name);
  return names;
}

std::string_view ChatTemplate::name() const {
  return format_->name;
}

bool ChatTemplate::is_plain() const {
  return format_ == &turn_format(kPlain);
}

bool ChatTemplate::system_in_first_turn() const {
  return format_->system_in_first_turn;
}

std::string_view ChatTemplate::trimmed(std::string_view text) const {
  return trims_ ? without_leading_space(without_trailing_space(text)) : text;
}

TurnText ChatTemplate::trimmed(const TurnText& text) const {
  return text.is_plain() ? TurnText(trimmed(text.text)) : text;
}

std::optional<TokenId> ChatTemplate::bos_of(const Tokenizer& tokenizer) const {
  return writes_bos_ || tokenizer.adds_bos() ? tokenizer.bos() : std::nullopt;
}

bool ChatTemplate::is_off(Thinking thinking) const {
  return thinking == Thinking::off || (thinking == Thinking::automatic && format_->thinks_if_asked);
}

bool ChatTemplate::has_thinking_switch() const {
  return !format_->head_no_think.empty();
}

Thinking ChatTemplate::least_thinking() const {
  return has_thinking_switch() ? Thinking::off : Thinking::automatic;
}

std::string_view ChatTemplate::think_begin() const {
  return format_->think_begin;
}

std::string_view ChatTemplate::think_end() const {
  return format_->think_end;
}

std::string_view ChatTemplate::answer_begin() const {
  return format_->marks_answers ? format_->answer_before : std::string_view();
}

bool ChatTemplate::is_in_mark(std::string_view spelling) const {
  const auto has = [&](std::string_view mark) { return mark.find(spelling) != mark.npos; };
  return !spelling.empty() && (has(think_begin()) || has(think_end()));
}

std::string_view ChatTemplate::tool_form() const {
  return tools_->form;
}

bool ChatTemplate::is_tool_mark(std::string_view spelling) const {
  return !spelling.empty() && std::ranges::find(tools_->tokens, spelling) != tools_->tokens.end();
}

bool ChatTemplate::opens_thinking(Thinking thinking) const {
  return opens_thinking_ && !is_off(thinking);
}

std::string_view ChatTemplate::preamble(Thinking thinking) const {
  if (!preamble_.empty()) return preamble_;
  return is_off(thinking) ? format_->preamble_no_think : format_->preamble;
}

Result<std::vector<TokenId>> ChatTemplate::open_chat(const Tokenizer& tokenizer,
                                                     const std::optional<TurnText>& system,
                                                     Thinking thinking) const {
  SATCHEL_TRY(check_needs(*format_, tokenizer));
  TurnWriter writer(*format_, tokenizer);
  if (!format_->bos_with_each_user_turn) writer.token(bos_of(tokenizer));
  if (system && system->is_turn()) return writer.text(*system).ids();
  TurnText text = trimmed(system ? *system : TurnText(default_system(thinking)));
  // SmolLM3 puts its own text in the place of an empty one.
  if (text.text.empty() && !format_->preamble.empty()) text = default_system(thinking);
  if (format_->trims_system_end && text.is_plain()) text = without_trailing_space(text.text);
  writer.literal(format_->opening);
  const std::string_view before = preamble(thinking);
  const bool has_system = !text.text.empty() || !before.empty() || format_->has_empty_system;
  if (!format_->system_in_first_turn && has_system)
    writer.literal(format_->system_before)
        .literal(before)
        .text(text)
        .literal(format_->system_after);
  return writer.ids();
}

Result<std::vector<TokenId>> ChatTemplate::user_turn(const Tokenizer& tokenizer,
                                                     const TurnText& text,
                                                     std::optional<std::string_view> system,
                                                     std::optional<TokenId> last) const {
  SATCHEL_TRY(check_needs(*format_, tokenizer));
  const bool opens_chat = system && system->empty();  // nothing but bos is before it
  TurnWriter writer(*format_, tokenizer, !opens_chat);
  if (text.is_turn()) return writer.text(text).ids();
  if (format_->bos_with_each_user_turn) writer.token(bos_of(tokenizer));
  if (leaves_open(tokenizer, last)) writer.literal(format_->end).literal(format_->after_end);
  writer.literal(format_->user_before);
  const bool has_system = format_->system_in_first_turn && system && !system->empty();
  if (has_system)
    writer.literal(format_->system_before).text(*system).literal(format_->system_after);
  // Llama-2's template trims the two together, so that the text's beginning is inside.
  const bool inside = has_system && !format_->system_before.empty();
  writer.text(trims_ && inside && text.is_plain() ? TurnText(without_trailing_space(text.text))
                                                  : trimmed(text));
  return writer.literal(format_->user_after).ids();
}

Result<std::vector<TokenId>> ChatTemplate::system_part(
    const Tokenizer& tokenizer, std::optional<std::string_view> system) const {
  if (!format_->system_in_first_turn || !system || system->empty()) return std::vector<TokenId>();
  SATCHEL_TRY_ASSIGN(std::vector<TokenId> turn, user_turn(tokenizer, "a", system));
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> other, user_turn(tokenizer, "1", system));
  turn.erase(std::ranges::mismatch(turn, other).in1, turn.end());
  return turn;
}

Result<std::vector<TokenId>> ChatTemplate::assistant_head(const Tokenizer& tokenizer,
                                                          Thinking thinking,
                                                          std::optional<TokenId> last) const {
  SATCHEL_TRY(check_needs(*format_, tokenizer));
  if (is_result_end(tokenizer, last)) return std::vector<TokenId>();
  TurnWriter writer(*format_, tokenizer, true);
  if (leaves_open(tokenizer, last)) writer.literal(format_->end).literal(format_->after_end);
  writer.literal(format_->head);
  if (is_off(thinking)) return writer.literal(format_->head_no_think).ids();
  if (opens_thinking_) writer.literal(format_->head_think);
  return writer.ids();
}

Result<std::vector<TokenId>> ChatTemplate::assistant_tail(const Tokenizer& tokenizer,
                                                          std::optional<TokenId> last) const {
  TurnWriter writer(*format_, tokenizer);
  if (ends_call(tokenizer, last)) return std::vector<TokenId>();
  const std::optional<TokenId> end = end_token(tokenizer);
  if (format_->closes_answers && (!last || last != end)) writer.token(end);
  return writer.literal(format_->after_end).ids();
}

Result<std::vector<TokenId>> ChatTemplate::assistant_turn(const Tokenizer& tokenizer,
                                                          const TurnText& text, Thinking thinking,
                                                          Given given,
                                                          std::optional<TokenId> last) const {
  SATCHEL_TRY(check_needs(*format_, tokenizer));
  const bool goes_on = is_result_end(tokenizer, last);
  TurnWriter writer(*format_, tokenizer, true);
  if (!goes_on && leaves_open(tokenizer, last))
    writer.literal(format_->end).literal(format_->after_end);
  if (!goes_on) writer.literal(format_->head);
  if (is_off(thinking) && format_->answers_have_no_think) writer.literal(format_->head_no_think);
  // What a form has marked says itself that it is no answer.
  if (text.is_plain() || !format_->marks_answers) writer.literal(format_->answer_before);
  if (given == Given::cut_off) return writer.text(text).ids();
  if (text.is_plain())
    writer.text(format_->trims_answers
                    ? TurnText(without_leading_space(without_trailing_space(text.text)))
                    : trimmed(text));
  else
    writer.marked(text, trims_ || format_->trims_answers);
  SATCHEL_TRY_ASSIGN(std::vector<TokenId> ids, writer.literal(format_->answer_after).ids());
  SATCHEL_TRY_ASSIGN(
      const std::vector<TokenId> tail,
      assistant_tail(tokenizer, text.is_plain() ? std::nullopt : std::optional(ids.back())));
  ids.insert(ids.end(), tail.begin(), tail.end());
  return ids;
}

bool ChatTemplate::ends_call(const Tokenizer& tokenizer, std::optional<TokenId> token) const {
  return token && !format_->call_end.empty() && token == tokenizer.control(format_->call_end);
}

bool ChatTemplate::is_result_end(const Tokenizer& tokenizer, std::optional<TokenId> token) const {
  return token && !format_->result_end.empty() && token == tokenizer.control(format_->result_end);
}

bool ChatTemplate::leaves_open(const Tokenizer& tokenizer, std::optional<TokenId> token) const {
  // Elsewhere results are turns of their own, and a call's end is a turn's.
  return !format_->result_end.empty() &&
         (ends_call(tokenizer, token) || is_result_end(tokenizer, token));
}

std::optional<TokenId> ChatTemplate::end_token(const Tokenizer& tokenizer) const {
  return format_->end.empty() ? tokenizer.eos() : tokenizer.control(format_->end);
}

}  // namespace satchel::runtime
