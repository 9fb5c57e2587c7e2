#include "runtime/chat/answer_settings.h"

#include <nlohmann/json.hpp>

namespace satchel::runtime {

std::string to_note(const Sampling& sampling) {
  return nlohmann::json({{"temperature", sampling.temperature},
                         {"top_k", sampling.top_k},
                         {"top_p", sampling.top_p},
                         {"min_p", sampling.min_p},
                         {"repetition_penalty", sampling.repetition_penalty},
                         {"n_tokens_max", sampling.n_tokens_max},
                         {"stops", sampling.stops}})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Sampling> sampling_from_note(std::string_view note) {
  const Error damaged{ErrorKind::invalid, "PARAM", "The chat's answer settings are damaged."};
  const auto found = nlohmann::json::parse(note, nullptr, /*allow_exceptions=*/false);
  if (!found.is_object()) return damaged;
  Sampling sampling;
  const auto take = [&](const char* key, auto& value, bool fits) {
    const auto at = found.find(key);
    if (at == found.end()) return true;
    if (!fits) return false;
    value = at->template get<std::remove_reference_t<decltype(value)>>();
    return true;
  };
  const auto is_number = [&](const char* key) {
    return found.value(key, nlohmann::json(0)).is_number();
  };
  const auto is_count = [&](const char* key) {
    return found.value(key, nlohmann::json(0u)).is_number_unsigned();
  };
  const auto stops = found.value("stops", nlohmann::json::array());
  bool are_texts = stops.is_array();
  for (const auto& stop : stops) are_texts = are_texts && stop.is_string();
  const bool is_whole =
      take("temperature", sampling.temperature, is_number("temperature")) &&
      take("top_k", sampling.top_k, is_count("top_k")) &&
      take("top_p", sampling.top_p, is_number("top_p")) &&
      take("min_p", sampling.min_p, is_number("min_p")) &&
      take("repetition_penalty", sampling.repetition_penalty, is_number("repetition_penalty")) &&
      take("n_tokens_max", sampling.n_tokens_max, is_count("n_tokens_max")) &&
      take("stops", sampling.stops, are_texts);
  if (!is_whole) return damaged;
  SATCHEL_TRY(check(sampling));
  return sampling;
}

bool is_same(const Sampling& left, const Sampling& right) {
  return to_note(left) == to_note(right);
}

}  // namespace satchel::runtime
