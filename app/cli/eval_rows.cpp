#include "app/cli/eval_rows.h"

#include <algorithm>
#include <utility>

#include "runtime/governor/presets.h"

namespace satchel::app {
namespace {

constexpr std::size_t kNameColumns = 14, kShareColumns = 7;

std::string padded(std::string text, std::size_t n) {
  text.resize(std::max(n, text.size() + 1), ' ');
  return text;
}

}  // namespace

Result<std::vector<Variant>> variants_of(const std::vector<std::string>& names,
                                         const std::vector<double>& keeps) {
  std::vector<Variant> out;
  for (const std::string& name : names) {
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, runtime::resolve_recipe(name));
    const std::size_t n_before = out.size();
    for (const double keep : keeps) {
      Result<kvcache::Recipe> kept = recipe.with_keep(keep);
      if (kept.ok()) out.push_back({name, std::move(kept).value()});
    }
    if (out.size() == n_before) out.push_back({name, recipe});
  }
  return out;
}

Json row_of(const Variant& variant) {
  return Json{{"recipe", variant.name}, {"keep", variant.recipe.keep()}};
}

std::string head_of(const Json& row) {
  std::string keep = format_percent(row["keep"]);
  keep.insert(0, kShareColumns - std::min(kShareColumns, keep.size()), ' ');
  return padded(row["recipe"], kNameColumns) + "keep " + keep + "  ";
}

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Json saved(std::size_t bytes, std::size_t fp16_bytes) {
  return fp16_bytes == 0 ? Json() : Json(1 - share(bytes, fp16_bytes));
}

std::string percent_or_dash(const Json& number) {
  return number.is_null() ? "-" : format_percent(number);
}

std::string score_text(std::size_t n_right, std::size_t n_questions) {
  return format_percent(share(n_right, n_questions)) + " (" + std::to_string(n_right) + " of " +
         std::to_string(n_questions) + ")";
}

}  // namespace satchel::app
