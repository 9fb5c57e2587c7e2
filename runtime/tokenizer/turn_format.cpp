#include "runtime/tokenizer/turn_format.h"

#include <algorithm>

#include "kernels/base/assert.h"

namespace satchel::runtime {
namespace {

// From the templates that the models' authors publish with their tokenizers.
constexpr TurnFormat kFormats[] = {
    {.name = "chatml",
     .system_before = "<|im_start|>system\n",
     .system_after = "<|im_end|>\n",
     .user_before = "<|im_start|>user\n",
     .user_after = "<|im_end|>\n",
     .head = "<|im_start|>assistant\n",
     .end = "<|im_end|>",
     .after_end = "\n",
     .needs = {"<|im_start|>", "<|im_end|>"}},
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
