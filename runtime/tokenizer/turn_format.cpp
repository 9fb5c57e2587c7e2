#include "runtime/tokenizer/turn_format.h"

#include <algorithm>

#include "kernels/base/assert.h"

namespace satchel::runtime {
namespace {

// ChatML, of which other families change a few literals.
template <class Change>
constexpr TurnFormat chatml(std::string_view name, const Change& change) {
  TurnFormat format{.name = name,
                    .system_before = "<|im_start|>system\n",
                    .system_after = "<|im_end|>\n",
                    .user_before = "<|im_start|>user\n",
                    .user_after = "<|im_end|>\n",
                    .head = "<|im_start|>assistant\n",
                    .end = "<|im_end|>",
                    .after_end = "\n",
                    .needs = {"<|im_start|>", "<|im_end|>"}};
  change(format);
  return format;
}

// From the templates that the models' authors publish with their tokenizers.
constexpr TurnFormat kFormats[] = {
    chatml("chatml", [](TurnFormat& format) { format.head_think = "<think>\n"; }),
    {.name = "llama-2",
     .system_before = "<<SYS>>\n",
     .system_after = "\n<</SYS>>\n\n",
     .user_before = "[INST] ",
     .user_after = " [/INST]",
     .answer_before = " ",
     .answer_after = " ",
     .system_in_first_turn = true,
     .writes_bos = true,
     .bos_with_each_user_turn = true,
     .trims = true},
    {.name = "llama-3",
     .system_before = "<|start_header_id|>system<|end_header_id|>\n\n",
     .system_after = "<|eot_id|>",
     .user_before = "<|start_header_id|>user<|end_header_id|>\n\n",
     .user_after = "<|eot_id|>",
     .head = "<|start_header_id|>assistant<|end_header_id|>\n\n",
     .end = "<|eot_id|>",
     .needs = {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
     .writes_bos = true,
     .trims = true},
    // Mistral 7B v0.1 and v0.2: [INST] is text.
    {.name = "mistral",
     .system_after = "\n\n",
     .user_before = "[INST] ",
     .user_after = " [/INST]",
     .system_in_first_turn = true,
     .writes_bos = true},
    // Mistral 7B v0.3: [INST] is a control token.
    {.name = "mistral-v3",
     .system_after = "\n\n",
     .user_before = "[INST] ",
     .user_after = "[/INST]",
     .answer_before = " ",
     .needs = {"[INST]", "[/INST]"},
     .system_in_first_turn = true,
     .writes_bos = true,
     .after_marker = AfterMarker::drops_own},
    // Mistral Nemo and later, byte-level BPE.
    {.name = "mistral-tekken",
     .system_after = "\n\n",
     .user_before = "[INST]",
     .user_after = "[/INST]",
     .needs = {"[INST]", "[/INST]"},
     .system_in_first_turn = true,
     .writes_bos = true},
    {.name = "gemma",
     .system_after = "\n\n",
     .user_before = "<start_of_turn>user\n",
     .user_after = "<end_of_turn>\n",
     .head = "<start_of_turn>model\n",
     .end = "<end_of_turn>",
     .after_end = "\n",
     .needs = {"<start_of_turn>", "<end_of_turn>"},
     .system_in_first_turn = true,
     .writes_bos = true,
     .trims = true},
    {.name = "phi-3",
     .system_before = "<|system|>\n",
     .system_after = "<|end|>\n",
     .user_before = "<|user|>\n",
     .user_after = "<|end|>\n",
     .head = "<|assistant|>\n",
     .end = "<|end|>",
     .after_end = "\n",
     .needs = {"<|user|>", "<|assistant|>", "<|end|>"},
     .after_marker = AfterMarker::drops_all},
    {.name = "phi-4",
     .system_before = "<|im_start|>system<|im_sep|>",
     .system_after = "<|im_end|>",
     .user_before = "<|im_start|>user<|im_sep|>",
     .user_after = "<|im_end|>",
     .head = "<|im_start|>assistant<|im_sep|>",
     .end = "<|im_end|>",
     .needs = {"<|im_start|>", "<|im_sep|>", "<|im_end|>"}},
    {.name = "phi-4-mini",
     .system_before = "<|system|>",
     .system_after = "<|end|>",
     .user_before = "<|user|>",
     .user_after = "<|end|>",
     .head = "<|assistant|>",
     .end = "<|end|>",
     .needs = {"<|user|>", "<|assistant|>", "<|end|>"}},
    // Qwen 3 and 3.5: their templates drop earlier turns' thoughts, here they are as they were.
    chatml("qwen3",
           [](TurnFormat& format) {
             format.head_think = "<think>\n";
             format.head_no_think = "<think>\n\n</think>\n\n";
           }),
    // The same for --template: recognised they are "qwen3", with the tools that the template tells.
    chatml("qwen3.5",
           [](TurnFormat& format) {
             format.trims = true;
             format.opens_thinking = true;
             format.head_think = "<think>\n";
             format.head_no_think = "<think>\n\n</think>\n\n";
             format.tools = "xml";
           }),
    chatml("qwen3-coder", [](TurnFormat& format) { format.tools = "xml-coder"; }),
    // Nemotron 3: every answer of earlier turns has an empty thought.
    chatml("nemotron-3",
           [](TurnFormat& format) {
             format.answer_before = "<think></think>";
             format.has_empty_system = true;
             format.trims_answers = true;
             format.opens_thinking = true;
             format.head_think = "<think>\n";
             format.head_no_think = "<think></think>";
             format.tools = "xml-nemotron";
           }),
    chatml("lfm2",
           [](TurnFormat& format) {
             format.writes_bos = true;
             format.tools = "lfm2";
           }),
    chatml("lfm2.5",
           [](TurnFormat& format) {
             format.writes_bos = true;
             format.tools = "lfm2.5";
           }),
    // SmolLM3, without the line of its preamble that says today's date: the same chat shall give
    // the same ids every day. Its system turn is not closed.
    chatml("smollm3",
           [](TurnFormat& format) {
             format.system_after = "\n\n";
             format.trims_system_end = true;
             format.head_no_think = "<think>\n\n</think>\n";
             format.answers_have_no_think = true;
             format.preamble =
                 "## Metadata\n\nKnowledge Cutoff Date: June 2025\nReasoning Mode: /think\n\n"
                 "## Custom Instructions\n\n";
             format.preamble_no_think =
                 "## Metadata\n\nKnowledge Cutoff Date: June 2025\n"
                 "Reasoning Mode: /no_think\n\n## Custom Instructions\n\n";
           }),
    // Yi 1.5: ChatML whose system text stands bare.
    chatml("yi", [](TurnFormat& format) { format.system_before = format.system_after = {}; }),
    {.name = "deepseek-r1",
     .user_before = "<｜User｜>",
     .head = "<｜Assistant｜>",
     .needs = {"<｜User｜>", "<｜Assistant｜>"},
     .writes_bos = true,
     .opens_thinking = true,
     .head_think = "<think>\n"},
    // DeepSeek-V2: the roles are text.
    {.name = "deepseek-v2",
     .system_after = "\n\n",
     .user_before = "User: ",
     .user_after = "\n\n",
     .head = "Assistant:",
     .answer_before = " ",
     .writes_bos = true,
     .begins_in_text = true},
    {.name = "granite",
     .system_before = "<|start_of_role|>system<|end_of_role|>",
     .system_after = "<|end_of_text|>\n",
     .user_before = "<|start_of_role|>user<|end_of_role|>",
     .user_after = "<|end_of_text|>\n",
     .head = "<|start_of_role|>assistant<|end_of_role|>",
     .end = "<|end_of_text|>",
     .after_end = "\n",
     .needs = {"<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"}},
    // Mistral Large 2411.
    {.name = "mistral-v7",
     .system_before = "[SYSTEM_PROMPT] ",
     .system_after = "[/SYSTEM_PROMPT]",
     .user_before = "[INST] ",
     .user_after = "[/INST]",
     .answer_before = " ",
     .needs = {"[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"},
     .writes_bos = true,
     .after_marker = AfterMarker::drops_own},
    // Mistral Small 3 and later.
    {.name = "mistral-v7-tekken",
     .system_before = "[SYSTEM_PROMPT]",
     .system_after = "[/SYSTEM_PROMPT]",
     .user_before = "[INST]",
     .user_after = "[/INST]",
     .needs = {"[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"},
     .writes_bos = true},
    // Zephyr, TinyLlama: the roles are text.
    {.name = "zephyr",
     .system_before = "<|system|>\n",
     .system_after = "{eos}\n",
     .user_before = "<|user|>\n",
     .user_after = "{eos}\n",
     .head = "<|assistant|>\n",
     .after_end = "\n",
     .begins_in_text = true},
    // OLMo 2, Tulu 3.
    {.name = "olmo-2",
     .system_before = "<|system|>\n",
     .system_after = "\n",
     .user_before = "<|user|>\n",
     .user_after = "\n",
     .head = "<|assistant|>\n",
     .after_end = "\n",
     .writes_bos = true,
     .begins_in_text = true},
    // gpt-oss, without the line that says today's date. A model ends an answer by <|return|>; what
    // is kept ends by <|end|>, as in the template. That drops earlier turns' thoughts, here they
    // are as they were.
    {.name = "harmony",
     .system_before = "<|start|>developer<|message|># Instructions\n\n",
     .system_after = "\n\n<|end|>",
     .user_before = "<|start|>user<|message|>",
     .user_after = "<|end|>",
     .head = "<|start|>assistant",
     .answer_before = "<|channel|>final<|message|>",
     .end = "<|end|>",
     .call_end = "<|call|>",
     .needs = {"<|start|>", "<|message|>", "<|channel|>", "<|end|>"},
     .think_begin = "<|channel|>analysis<|message|>",
     .think_end = "<|end|><|start|>assistant",
     .opening = "<|start|>system<|message|>You are ChatGPT, a large language model trained by "
                "OpenAI.\nKnowledge cutoff: 2024-06\n\nReasoning: medium\n\n# Valid channels: "
                "analysis, commentary, final. Channel must be included for every message.<|end|>",
     .marks_answers = true,
     .tools = "harmony"},
    // Gemma 4. Its template drops earlier turns' thoughts, here they are as they
    // were; and it leaves the model's turn open where a user speaks behind a result, here it ends.
    {.name = "gemma-4",
     .system_before = "<|turn>system\n",
     .system_after = "<turn|>\n",
     .user_before = "<|turn>user\n",
     .user_after = "<turn|>\n",
     .head = "<|turn>model\n",
     .end = "<turn|>",
     .after_end = "\n",
     .call_end = "<tool_call|>",
     .result_end = "<tool_response|>",
     .needs = {"<|turn>", "<turn|>", "<|channel>", "<channel|>"},
     .writes_bos = true,
     .trims = true,
     .think_begin = "<|channel>thought\n",
     .think_end = "<channel|>",
     .head_no_think = "<|channel>thought\n<channel|>",
     .thinks_if_asked = true,
     .preamble = "<|think|>\n",
     .tools = "gemma-4"},
    // GLM-4.5 and 4.6: a turn ends where the next one begins. Their template asks by a word in the
    // user's text not to think; here the head alone does.
    {.name = "glm-4.5",
     .system_before = "<|system|>\n",
     .user_before = "<|user|>\n",
     .head = "<|assistant|>",
     .answer_before = "\n<think></think>\n",
     .closes_answers = false,
     .needs = {"<|user|>", "<|assistant|>"},
     .trims_answers = true,
     .head_no_think = "\n<think></think>",
     .opening = "[gMASK]<sop>",
     .tools = "glm"},
    {.name = "glm-4.7",
     .system_before = "<|system|>",
     .user_before = "<|user|>",
     .head = "<|assistant|>",
     .answer_before = "</think>",
     .closes_answers = false,
     .needs = {"<|user|>", "<|assistant|>"},
     .trims_answers = true,
     .opens_thinking = true,
     .head_think = "<think>",
     .head_no_think = "</think>",
     .opening = "[gMASK]<sop>",
     .tools = "glm-4.7"},
    // Nemotron Nano v2. Its template takes the words /think and /no_think out of what is said.
    {.name = "nemotron-2",
     .system_before = "<SPECIAL_10>System\n",
     .system_after = "\n\n",
     .user_before = "<SPECIAL_11>User\n",
     .user_after = "\n",
     .head = "<SPECIAL_11>Assistant\n",
     .answer_after = "\n",
     .end = "<SPECIAL_12>",
     .after_end = "\n",
     .needs = {"<SPECIAL_10>", "<SPECIAL_11>", "<SPECIAL_12>"},
     .has_empty_system = true,
     .trims = true,
     .trims_answers = true,
     .opens_thinking = true,
     .head_think = "<think>\n",
     .head_no_think = "<think></think>",
     .tools = "nemotron"},
    // No template: a base model goes on with what was written.
    {.name = "plain", .closes_answers = false},
};

}  // namespace

std::span<const TurnFormat> turn_formats() {
  return kFormats;
}

const TurnFormat& turn_format(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                   [&](const TurnFormat& format) { return format.name == name; });
  SATCHEL_ASSERT(found != std::end(kFormats));
  return *found;
}

}  // namespace satchel::runtime
