// Uses everything that an opened GGUF file gives out, as hostile as it may be: every byte that a
// getter promises is read, then the configuration, chat template and vocabulary of a model. Shared
// by the fuzz target and by the unit tests that walk truncations and flipped bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/reference/dequant.h"
#include "runtime/gguf/reader.h"
#include "runtime/model/config.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/detect_template.h"
#include "runtime/tokenizer/vocabulary.h"

namespace satchel::fuzz {

// A number that depends on all of it, so that no compiler drops the reads.
inline std::uint64_t use_everything(const runtime::GgufFile& file) {
  std::uint64_t sum = file.version() + file.file_bytes();
  for (const runtime::GgufEntry& entry : file.metadata()) {
    sum += describe(entry.value).size() + type_text(entry.value).size() +
           runtime::quoted(entry.key).size();
    sum += file.has(entry.key) ? 1u : 0u;
    if (const auto value = file.get_u32(entry.key)) sum += *value;
    if (const auto value = file.get_u64(entry.key)) sum += *value;
    if (const auto value = file.get_f32(entry.key)) sum += *value > 0 ? 1u : 0u;
    if (const auto value = file.get_bool(entry.key)) sum += *value ? 1u : 0u;
    if (const auto value = file.get_string(entry.key))
      for (const char c : *value) sum += static_cast<unsigned char>(c);
    if (const auto value = file.get_strings(entry.key))
      value->for_each([&](std::string_view element) {
        for (const char c : element) sum += static_cast<unsigned char>(c);
      });
    if (const auto value = file.get_f32_array(entry.key)) sum += value->size();
    if (const auto value = file.get_i32_array(entry.key)) sum += value->size();
  }
  std::vector<float> row;
  for (const runtime::GgufTensor& tensor : file.tensors()) {
    for (const std::byte b : tensor.bytes) sum += std::to_integer<std::uint64_t>(b);
    const auto usable = file.require_tensor(tensor.name);
    if (!usable.ok()) {
      sum += usable.error().message.size();
      continue;
    }
    const std::size_t bytes = kernels::row_bytes(*tensor.type, tensor.row_length()).value();
    row.resize(tensor.row_length());
    for (std::size_t r = 0; r < tensor.n_rows(); ++r)
      kernels::dequantise_row(*tensor.type, tensor.bytes.data() + r * bytes, row.size(),
                              row.data());
    sum += row.front() > 0 ? 1u : 0u;
  }
  if (const auto fingerprint = file.model_fingerprint()) sum += fingerprint->size();
  const auto config = runtime::ModelConfig::from(file);
  sum += config.ok() ? config->cache_shape().n_lanes() : config.error().message.size();
  if (const auto jinja = file.get_string("tokenizer.chat_template"))
    if (jinja->size() <= runtime::ChatTemplate::kTemplateBytesMax)
      sum += runtime::recognised_format(*jinja) != nullptr ? 1u : 0u;
  auto vocabulary = runtime::Vocabulary::from(file);
  if (!vocabulary.ok()) return sum + vocabulary.error().message.size();
  sum += vocabulary->hash();
  return vocabulary->check_and_mend().ok() ? sum + vocabulary->hash() : sum;
}

}  // namespace satchel::fuzz
