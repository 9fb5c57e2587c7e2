#include "runtime/tokenizer/tool_marks.h"

#include <algorithm>

#include "kernels/base/assert.h"

namespace satchel::runtime {
namespace {

constexpr std::string_view kXmlSign = "<function=example_function_name>";

// The first whose signs a template has is its form.
constexpr ToolMarks kAll[] = {
    {.form = "xml-nemotron",
     .signs = {kXmlSign, "<think></think>"},
     .tokens = {"<tool_call>", "</tool_call>"}},
    {.form = "xml-coder",
     .signs = {kXmlSign, "render_extra_keys"},
     .tokens = {"<tool_call>", "</tool_call>"}},
    {.form = "xml", .signs = {kXmlSign}, .tokens = {"<tool_call>", "</tool_call>"}},
    {.form = "gemma-4",
     .signs = {"<|turn>", "<|tool_call>call:"},
     .tokens = {"<|tool_call>", "<tool_call|>", "<|\"|>"}},
    {.form = "glm",
     .signs = {"<arg_key>", "\n<arg_value>"},
     .tokens = {"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>",
                "</arg_value>"}},
    {.form = "glm-4.7",
     .signs = {"<arg_key>", "<arg_value>"},
     .tokens = {"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>",
                "</arg_value>"}},
    {.form = "lfm2",
     .signs = {"List of tools: <|tool_list_start|>["},
     .tokens = {"<|tool_call_start|>", "<|tool_call_end|>"}},
    {.form = "lfm2.5",
     .signs = {"List of tools: ["},
     .tokens = {"<|tool_call_start|>", "<|tool_call_end|>"}},
    {.form = "nemotron",
     .signs = {"<SPECIAL_10>", "<TOOLCALL>["},
     .tokens = {"<TOOLCALL>", "</TOOLCALL>"}},
    {.form = "harmony",
     .signs = {"<|start|>", "<|channel|>"},
     .tokens = {"<|channel|>", "<|constrain|>", "<|message|>", "<|call|>"}},
    {.form = "json", .tokens = {"<tool_call>", "</tool_call>"}},
};

}  // namespace

const ToolMarks& tool_marks_in(std::string_view jinja) {
  const auto fits = [&](const ToolMarks& one) {
    return std::ranges::all_of(
        one.signs, [&](std::string_view sign) { return jinja.find(sign) != sign.npos; });
  };
  return *std::ranges::find_if(kAll, fits);  // the last one fits all
}

const ToolMarks& tool_marks(std::string_view form) {
  const auto* const found = std::ranges::find(kAll, form, &ToolMarks::form);
  SATCHEL_ASSERT(found != std::end(kAll));
  return *found;
}

}  // namespace satchel::runtime
