#include "app/cli/settings_text.h"

#include <charconv>
#include <vector>

#include "app/cli/console.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

struct Setting {
  std::string name, value;
  bool is_given = false, is_usual = true;
};

// As short as tells it from every other number.
std::string number_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// In quotes, the ends of lines written out.
std::string quoted_line(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string stops_text(const std::vector<std::string>& stops) {
  std::string text;
  for (const std::string& stop : stops) text += (text.empty() ? "" : ", ") + quoted_line(stop);
  return text.empty() ? "none" : text;
}

std::vector<Setting> settings_in_force(const runtime::AnswerSettings& saved,
                                       const SamplingOptions& given) {
  const runtime::Sampling usual, now = given.over(saved.sampling);
  const auto number = [](const char* name, double value, double otherwise, bool is_given) {
    return Setting{name, number_text(value), is_given, value == otherwise};
  };
  const auto count = [](const char* name, std::size_t value, std::size_t otherwise, bool is_given,
                        const char* none) {
    return Setting{name, value == 0 ? none : count_text(value), is_given, value == otherwise};
  };
  return {{"system prompt", saved.system ? quoted_line(*saved.system) : "none set",
           /*is_given=*/false, !saved.system},
          number("temperature", now.temperature, usual.temperature, given.temperature.has_value()),
          count("top-k", now.top_k, usual.top_k, given.top_k.has_value(), "off"),
          number("top-p", now.top_p, usual.top_p, given.top_p.has_value()),
          number("min-p", now.min_p, usual.min_p, given.min_p.has_value()),
          number("repetition penalty", now.repetition_penalty, usual.repetition_penalty,
                 given.repetition_penalty.has_value()),
          count("max tokens", now.n_tokens_max, usual.n_tokens_max, given.n_tokens_max.has_value(),
                "no limit"),
          {"stop texts", stops_text(now.stops), /*is_given=*/false, now.stops.empty()}};
}

}  // namespace

std::string describe(const runtime::AnswerSettings& saved, const SamplingOptions& given) {
  std::string text;
  for (const Setting& one : settings_in_force(saved, given))
    text += (text.empty() ? "  " : "\n  ") + padded(one.name, 20) + one.value +
            (one.is_given    ? " (from the command line)"
             : !one.is_usual ? " (saved with this chat)"
                             : "");
  return text;
}

std::string describe_saved(const runtime::AnswerSettings& saved, const SamplingOptions& given) {
  std::string text;
  for (const Setting& one : settings_in_force({std::nullopt, saved.sampling}, given))
    if (!one.is_given && !one.is_usual)
      text += (text.empty() ? "" : ", ") + one.name + " " + one.value;
  return text.empty()
             ? text
             : "Answers as saved with this chat: " + text + ". /settings lists all settings.";
}

}  // namespace satchel::app
