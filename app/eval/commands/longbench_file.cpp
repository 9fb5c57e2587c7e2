#include "app/eval/commands/longbench_file.h"

#include <filesystem>
#include <utility>

#include "app/eval/commands/json_lines.h"

namespace satchel::app {
namespace {

using eval::longbench::Example;

// Whole datasets are one file: the largest has 25 MB.
constexpr std::uintmax_t kBytesMax = 256u << 20;

Result<std::vector<std::string>> texts_at(const Json& object, const char* key) {
  SATCHEL_TRY_ASSIGN(const Json* array, array_at(object, key));
  std::vector<std::string> out;
  for (const Json& each : *array) {
    if (!each.is_string())
      return wrong_line("has something in \"" + std::string(key) + "\" that is not text");
    out.push_back(each.get<std::string>());
  }
  return out;
}

Result<Example> example_of(const Json& json, const std::string& file_name) {
  Example out;
  SATCHEL_TRY_ASSIGN(std::string dataset, optional_text_at(json, "dataset"));
  if (dataset.empty()) dataset = file_name;
  out.dataset = eval::longbench::find_dataset(dataset);
  if (out.dataset == nullptr)
    return wrong_line("names \"" + dataset + "\", which is not a dataset of LongBench");
  SATCHEL_TRY_ASSIGN(out.input, optional_text_at(json, "input"));
  SATCHEL_TRY_ASSIGN(out.context, text_at(json, "context"));
  SATCHEL_TRY_ASSIGN(out.answers, texts_at(json, "answers"));
  if (out.answers.empty()) return wrong_line("has no answer");
  if (out.dataset->metric == nullptr) {  // classification
    SATCHEL_TRY_ASSIGN(out.classes, texts_at(json, "all_classes"));
  }
  SATCHEL_TRY_ASSIGN(out.id, optional_text_at(json, "_id"));
  const auto length = json.find("length");
  if (length != json.end() && length->is_number_unsigned()) out.length = length->get<std::size_t>();
  return out;
}

}  // namespace

Result<std::vector<Example>> read_longbench_file(const std::string& path, std::size_t n) {
  const std::string name = std::filesystem::path(path).stem().string();
  std::vector<Example> all;
  SATCHEL_TRY(for_each_line(
      path,
      [&](const Json& json) -> Result<void> {
        SATCHEL_TRY_ASSIGN(Example example, example_of(json, name));
        if (example.id.empty()) example.id = std::to_string(all.size());
        if (n == 0 || all.size() < n) all.push_back(std::move(example));
        return {};
      },
      kBytesMax));
  if (all.empty()) return wrong_line(path + " contains no questions.");
  return all;
}

}  // namespace satchel::app
