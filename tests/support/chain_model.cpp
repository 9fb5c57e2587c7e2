#include "support/chain_model.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace satchel::test {
namespace {

using tests::GgufWriter;

constexpr std::size_t kPieces = kBytePieces, kWidth = 320;
constexpr std::int32_t kNormal = 1, kControl = 3, kUserDefined = 4;  // tokenizer.ggml.token_type

// Byte-level BPE spells bytes that cannot be seen as characters from U+0100 on, in their order.
std::string spelling(int byte, int& n_unseen) {
  const bool is_seen = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
  const int code = is_seen ? byte : 0x100 + n_unseen++;
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xc0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3f))};
}

// The layer adds nothing, so that the last token alone says which comes next.
void add_weights(GgufWriter& out, const ChainModel& model) {
  const auto zeros = [&](const std::string& name, std::size_t n_out, std::size_t n_in) {
    out.add_tensor(name, {n_in, n_out}, std::vector<float>(n_in * n_out));
  };
  std::vector<float> embedding(kPieces * kWidth), output(kPieces * kWidth);
  for (std::size_t token = 0; token < kPieces; ++token) embedding[token * kWidth + token] = 1;
  if (model.poison)
    std::fill_n(embedding.begin() + *model.poison * std::ptrdiff_t{kWidth}, kWidth,
                std::numeric_limits<float>::quiet_NaN());
  for (const auto& [from, to] : model.next)
    output[static_cast<std::size_t>(to) * kWidth + static_cast<std::size_t>(from)] = 1;
  out.add_tensor("token_embd.weight", {kWidth, kPieces}, embedding);
  for (const char* name : {"attn_norm", "ffn_norm"})
    out.add_tensor("blk.0." + std::string(name) + ".weight", {kWidth},
                   std::vector<float>(kWidth, 1.0f));
  for (const char* name : {"attn_q", "attn_k", "attn_v"})
    zeros("blk.0." + std::string(name) + ".weight", 64, kWidth);
  zeros("blk.0.attn_output.weight", kWidth, 64);
  for (const char* name : {"ffn_gate", "ffn_up"})
    zeros("blk.0." + std::string(name) + ".weight", 64, kWidth);
  zeros("blk.0.ffn_down.weight", kWidth, 64);
  out.add_tensor("output_norm.weight", {kWidth}, std::vector<float>(kWidth, 1.0f));
  out.add_tensor("output.weight", {kWidth, kPieces}, output);
}

GgufWriter gguf_of(const ChainModel& model) {
  GgufWriter out;
  out.add_string("general.architecture", "llama").add_string("general.name", "chain");
  for (const auto& [key, value] : {std::pair{"block_count", 1u},
                                   {"embedding_length", 320u},
                                   {"feed_forward_length", 64u},
                                   {"context_length", 512u},
                                   {"attention.head_count", 1u},
                                   {"attention.head_count_kv", 1u},
                                   {"attention.key_length", 64u},
                                   {"attention.value_length", 64u}})
    out.add_u32(std::string("llama.") + key, value);
  out.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  add_byte_vocabulary(out);
  out.add_string("tokenizer.chat_template", model.jinja);
  add_weights(out, model);
  return out;
}

}  // namespace

void add_byte_vocabulary(GgufWriter& out) {
  std::vector<std::string> pieces;
  std::vector<std::int32_t> types;
  const auto add = [&](std::string piece, std::int32_t type) {
    pieces.push_back(std::move(piece));
    types.push_back(type);
  };
  for (int byte = 0, n_unseen = 0; byte < 256; ++byte) add(spelling(byte, n_unseen), kNormal);
  for (const char* mark : {"<|im_start|>", "<|im_end|>"}) add(mark, kControl);
  for (const char* mark : {"<think>", "</think>"}) add(mark, kUserDefined);
  add("ĊĊ", kNormal);
  while (pieces.size() < kPieces) add("<|filler_" + std::to_string(pieces.size()) + "|>", kControl);
  const std::vector<std::string> merges = {"Ċ Ċ"};
  out.add_string("tokenizer.ggml.model", "gpt2").add_string("tokenizer.ggml.pre", "gpt-2");
  out.add_string_array("tokenizer.ggml.tokens", pieces);
  out.add_i32_array("tokenizer.ggml.token_type", types);
  out.add_string_array("tokenizer.ggml.merges", merges);
  out.add_u32("tokenizer.ggml.eos_token_id", ChainToken::end);
}

ChainModel thoughtful_chain() {
  using T = ChainToken;
  return {.next = {{'\n', T::think},
                   {T::think, 'H'},
                   {'H', 'm'},
                   {'m', T::thought},
                   {T::thought, T::two_lines},
                   {T::two_lines, 'Y'},
                   {'Y', 'e'},
                   {'e', 's'},
                   {'s', T::end}},
          .jinja =
              "{{ '<|im_start|>' }}{% if enable_thinking is false %}"
              "{{ '<think>\\n\\n</think>\\n\\n' }}"};
}

ChainModel talkative_chain() {
  ChainModel model{.next = {{'\n', '!'}, {'~', '!'}}, .jinja = "{{ '<|im_start|>' }}"};
  for (std::int32_t token = '!'; token < '~'; ++token) model.next[token] = token + 1;
  return model;
}

bool write_chain(const ChainModel& model, const std::filesystem::path& path) {
  return gguf_of(model).write(path);
}

}  // namespace satchel::test
