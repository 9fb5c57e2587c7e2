#include "unit/runtime/chain_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

#include "support/gguf_writer.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tokenizer_cases.h"

namespace satchel::runtime {
namespace {

using tokenizer_tests::byte_vocabulary;

constexpr std::size_t kPieces = 320, kWidth = 320;

Vocabulary vocabulary() {
  Vocabulary v = byte_vocabulary({"<|im_start|>", "<|im_end|>"});
  for (const char* mark : {"<think>", "</think>"}) {
    v.pieces.emplace_back(mark);
    v.types.push_back(PieceType::user_defined);
  }
  v.pieces.emplace_back("ĊĊ");
  v.types.push_back(PieceType::normal);
  v.merges = {"Ċ Ċ"};
  for (std::size_t i = v.pieces.size(); i < kPieces; ++i) {
    v.pieces.push_back("<|filler_" + std::to_string(i) + "|>");
    v.types.push_back(PieceType::control);
  }
  return v;
}

void add_vocabulary(tests::GgufWriter& out) {
  const Vocabulary v = vocabulary();
  std::vector<std::int32_t> types;
  for (const PieceType type : v.types) types.push_back(static_cast<std::int32_t>(type));
  out.add_string("tokenizer.ggml.model", "gpt2").add_string("tokenizer.ggml.pre", "gpt-2");
  out.add_string_array("tokenizer.ggml.tokens", v.pieces);
  out.add_i32_array("tokenizer.ggml.token_type", types);
  out.add_string_array("tokenizer.ggml.merges", v.merges);
  out.add_u32("tokenizer.ggml.eos_token_id", ChainToken::end);
}

// The layer adds nothing, so that the last token alone says which comes next.
void add_weights(tests::GgufWriter& out, const ChainModel& model) {
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

tests::GgufWriter gguf_of(const ChainModel& model) {
  tests::GgufWriter out;
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
  add_vocabulary(out);
  out.add_string("tokenizer.chat_template", model.jinja);
  add_weights(out, model);
  return out;
}

}  // namespace

std::string written(const Engine& engine, const Session& session) {
  std::string text;
  for (const TokenId id : session.tokens()) text += engine.tokenizer().spelling(id);
  for (const auto& [stand_in, byte] : {std::pair{"Ċ", "\n"}, {"Ġ", " "}})
    for (std::size_t at = 0; (at = text.find(stand_in, at)) != std::string::npos;)
      text.replace(at, std::string_view(stand_in).size(), byte);
  return text;
}

std::unique_ptr<Engine> open_chain(const ChainModel& model) {
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const auto path = std::filesystem::temp_directory_path() / ("satchel-chain-" + test + ".gguf");
  EXPECT_TRUE(gguf_of(model).write(path));
  auto engine = open_engine(path);
  std::filesystem::remove(path);  // it stays mapped
  return engine;
}

}  // namespace satchel::runtime
