// Any text as a chat template and as what a user says, and any as what a model answers to it, read
// as it streams: thoughts apart from the answer, calls of tools apart from what is said.
//   input   1 byte: thinking (2 bits), template by its place (6); 2 bytes: size of the first text;
//           the user's text, a file's template at once; the answer
#include <algorithm>
#include <memory>
#include <string>

#include "kernels/base/assert.h"
#include "mutate.h"
#include "runtime/tokenizer/answer_reader.h"
#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/turn_format.h"
#include "runtime/tokenizer/utf8.h"
#include "runtime/tools/call_reader.h"
#include "target.h"
#include "two_texts.h"

namespace satchel::fuzz {
namespace {

using namespace runtime;
using Ids = std::vector<TokenId>;

constexpr std::string_view kTokens[] = {"<s>",
                                        "</s>",
                                        "<think>",
                                        "</think>",
                                        "<tool_call>",
                                        "</tool_call>",
                                        "<|think|>",
                                        "<|call|>",
                                        "<|constrain|>",
                                        "<|\"|>",
                                        "<|tool_call>",
                                        "<tool_call|>",
                                        "<tool_response|>",
                                        "<arg_key>",
                                        "</arg_key>",
                                        "<arg_value>",
                                        "</arg_value>",
                                        "[gMASK]",
                                        "<sop>",
                                        "<|tool_call_start|>",
                                        "<|tool_call_end|>"};

// All bytes, and the control tokens of all templates and forms of tools.
const Tokenizer& tokenizer() {
  static const auto made = [] {
    Vocabulary v;
    v.kind = VocabularyKind::byte_bpe;
    v.pre = "gpt-2";
    v.adds_space_prefix = false;
    for (const char32_t code : byte_alphabet()) {
      std::string piece;
      append_code(code, piece);
      v.pieces.push_back(piece);
    }
    v.types.assign(256, PieceType::normal);
    std::vector<std::string_view> all(std::begin(kTokens), std::end(kTokens));
    for (const TurnFormat& format : turn_formats())
      for (const std::string_view token : format.needs)
        if (!token.empty() && std::ranges::find(all, token) == all.end()) all.push_back(token);
    for (const std::string_view token : all) v.pieces.push_back(token);
    v.types.resize(v.pieces.size(), PieceType::control);
    v.bos = 256;
    v.eos = 257;
    return Tokenizer::make(std::move(v)).value();
  }();
  return *made;
}

const std::vector<Tool>& tools() {
  static const std::vector<Tool> all = {
      {"find", "", R"({"type":"object","properties":{"pet":{"type":"string"},"n":{"type":
       "integer"},"any":{},"list":{"type":"array"},"kind":{"enum":["cat",1]}}})"},
      {"stop", ""}};
  return all;
}

std::vector<Input> seeds() {
  constexpr std::string_view kJinja =
      "{%- if messages[0]['role'] == 'system' %}<|im_start|>system\n{{ m['content'] | trim }}"
      "<|im_end|>\n{% endif %}{{'<|im_start|>assistant\n<think>\n'}}{{ bos_token }}";
  std::vector<Input> all = {input_of(0, kJinja, "<think>\nhm\n</think>\n\nYes.")};
  const std::vector<ToolCall> calls = {
      {"", "find", R"({"pet":"5 <b>\n\"cats\"","n":-5,"any":[null,{"a":1.5}],"list":[],"kind":1})"},
      {"", "stop", "{}"}};
  const auto names = ChatTemplate::names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ChatTemplate made = ChatTemplate::named(names[i]).value();
    const std::string thought =
        std::string(made.think_begin()) + "a" + std::string(made.think_end());
    const std::string told = tool_form(made.tool_form()).answer("Wait.", calls).text;
    all.push_back(input_of(static_cast<std::uint8_t>(i << 2 | i % 3), "Who?", thought + told));
  }
  return all;
}

// What templates are known by, and what answers are read by.
constexpr std::string_view kSigns[] = {"{{- '<think>\\n' }}",
                                       "{% if",
                                       "%}",
                                       "{{",
                                       "}}",
                                       "'",
                                       "\"",
                                       "\\n",
                                       "\n",
                                       "Today Date: ",
                                       "bos_token",
                                       "eos_token",
                                       "content'] | trim",
                                       "<|im_sep|>",
                                       "Reasoning Mode: ",
                                       "## Custom Instructions",
                                       "{{ system_message }}",
                                       "truncate_history_thinking",
                                       "<think></think>",
                                       "enable_thinking",
                                       "<think>\n\n</think>\n\n",
                                       "[SYSTEM_PROMPT]",
                                       "[/SYSTEM_PROMPT]",
                                       "[INST] ",
                                       "[/INST]",
                                       "<<SYS>>",
                                       "<|turn>",
                                       "<turn|>",
                                       "<|im_start|>",
                                       "<|channel>thought\n<channel|>",
                                       "<|im_start|>system\n",
                                       "<|im_end|>",
                                       "<|end|>",
                                       "Cutting Knowledge Date: December 2023",
                                       "g4_default_system_message = '",
                                       "<|assistant|>",
                                       "<|start_of_role|>system<|end_of_role|>",
                                       "<|end_of_text|>",
                                       "<|user|>",
                                       "[gMASK]<sop>",
                                       "<|observation|>",
                                       "<function=example_function_name>",
                                       "<arg_key>",
                                       "<arg_value>",
                                       "text"};
constexpr std::string_view kSaid[] = {"{\"name\": \"find\", \"arguments\": {",
                                      "}}",
                                      "\"pet\": ",
                                      "\"a\"",
                                      ", ",
                                      "[",
                                      "]",
                                      "1",
                                      "null",
                                      "\n",
                                      " ",
                                      "<function=find>\n",
                                      "<function=stop>",
                                      "<parameter=pet>\n",
                                      "</parameter>\n",
                                      "</function>\n",
                                      "find(",
                                      "pet='a'",
                                      "n=1",
                                      ")",
                                      "call:find{",
                                      "pet:",
                                      "}",
                                      "commentary to=functions.find ",
                                      "json",
                                      "analysis",
                                      "final",
                                      "<|message|>",
                                      "<|channel|>",
                                      "<TOOLCALL>",
                                      "</TOOLCALL>",
                                      "\\",
                                      "\xf0\x9f",
                                      "a"};

// Made of these; one word may stand there a thousand times.
Input generate(Rng& rng) {
  const auto some = [&](const auto& words, std::size_t n_most) {
    std::string text;
    for (std::size_t n = below(rng, n_most); n > 0; --n) {
      const bool is_mark = &words[0] == &kSaid[0] && below(rng, 4) == 0;
      const std::string_view word =
          is_mark ? kTokens[below(rng, std::size(kTokens))] : words[below(rng, std::size(words))];
      for (std::size_t times = below(rng, 200) == 0 ? 1000 : 1; times > 0; --times) text += word;
    }
    return text.substr(0, kInputBytesMax / 4);
  };
  return input_of(static_cast<std::uint8_t>(rng.next()), some(kSigns, 30), some(kSaid, 40));
}

std::size_t n_controls(const Ids& ids) {
  return static_cast<std::size_t>(std::ranges::count_if(ids, [](TokenId id) { return id >= 256; }));
}

// Nothing that a user or a system text says becomes a control token.
void check_turns(const ChatTemplate& made, Thinking thinking, const std::string& text) {
  constexpr std::string_view kPlain = "a";
  const auto same = [](const Result<Ids>& one, const Result<Ids>& other) {
    SATCHEL_ASSERT(one.ok() && other.ok());
    SATCHEL_ASSERT(n_controls(*one) == n_controls(*other));
  };
  const std::string said = text + "a";  // an empty system text may have no turn
  same(made.open_chat(tokenizer(), TurnText(said), thinking),
       made.open_chat(tokenizer(), TurnText("a"), thinking));
  same(made.user_turn(tokenizer(), said, said), made.user_turn(tokenizer(), "a", kPlain));
  same(made.assistant_turn(tokenizer(), said, thinking),
       made.assistant_turn(tokenizer(), "a", thinking));
  SATCHEL_ASSERT(made.assistant_head(tokenizer(), thinking).ok());
  SATCHEL_ASSERT(made.system_part(tokenizer(), said).ok());
}

AnswerReader::Said read_answer(const ChatTemplate& made, bool opened, const Ids& ids) {
  AnswerReader reader(tokenizer(), made, opened);
  AnswerReader::Said all;
  const auto take = [&all](const AnswerReader::Said& said) {
    SATCHEL_ASSERT(is_utf8(said.thought) && is_utf8(said.answer));
    all.thought += said.thought;
    all.answer += said.answer;
  };
  for (const TokenId id : ids) take(reader.push(id));
  take(reader.finish());
  SATCHEL_ASSERT(reader.n_undecided_tokens() == 0);
  SATCHEL_ASSERT(reader.n_thought_tokens() + reader.n_answer_tokens() == ids.size());
  return all;
}

void take(CallReader::Read& all, CallReader::Read more) {
  all.said += more.said;
  for (ToolCall& call : more.calls) all.calls.push_back(std::move(call));
}

bool is_same(const CallReader::Read& one, const CallReader::Read& other) {
  return one.said == other.said &&
         std::ranges::equal(one.calls, other.calls, [](const ToolCall& a, const ToolCall& b) {
           return a.name == b.name && a.arguments == b.arguments;
         });
}

// Calls are the same wherever the stream is cut.
void check_calls(const ToolForm& form, const std::string& answer, std::uint8_t how) {
  CallReader whole(form, tools()), streamed(form, tools());
  CallReader::Read at_once = whole.push(answer), in_steps;
  take(at_once, whole.finish());
  const std::size_t step = 1 + answer.size() / 64 + how % 5;
  for (std::size_t at = 0; at < answer.size(); at += step)
    take(in_steps, streamed.push(std::string_view(answer).substr(at, step)));
  take(in_steps, streamed.finish());
  SATCHEL_ASSERT(is_same(at_once, in_steps));
  (void)read_calls(answer, form);  // types are guessed
  if (at_once.calls.empty()) return;
  const MarkedText told = form.answer("", at_once.calls);
  const auto again = read_calls(told.text, form, tools());
  SATCHEL_ASSERT(again && again->calls.size() == at_once.calls.size());
}

}  // namespace

const Target target{.name = "answer", .seeds = seeds, .generate = generate};

}  // namespace satchel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace satchel::fuzz;
  const auto given = two_texts_of(bytes, size);
  if (!given) return 0;
  const auto names = ChatTemplate::names();
  auto made = ChatTemplate::recognise(given->first);
  if (!made.ok() || made->is_plain())
    made = ChatTemplate::named(names[std::size_t{given->how} / 4 % names.size()]);
  const auto thinking = static_cast<Thinking>(given->how % 3);
  check_turns(*made, thinking, std::string(given->first));
  const auto ids = tokenizer().encode(given->second, SpecialText::parse);
  SATCHEL_ASSERT(ids.ok());
  const auto said = read_answer(*made, made->opens_thinking(thinking), *ids);
  for (const ToolForm* form : tool_forms()) check_calls(*form, said.answer, given->how);
  check_calls(tool_form(made->tool_form()), std::string(given->second), given->how);
  return 0;
}
