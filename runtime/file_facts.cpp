#include "runtime/file_facts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/gguf/reader.h"
#include "runtime/model/config.h"
#include "runtime/tokenizer/chat_template.h"

namespace satchel::runtime {
namespace {

std::string text_at(const GgufFile& file, std::string_view key) {
  if (!file.has(key)) return "";
  const auto text = file.get_string(key);
  return text.ok() ? std::string(*text) : "";
}

}  // namespace

Result<FileFacts> file_facts(const std::filesystem::path& path) {
  SATCHEL_TRY_ASSIGN(const GgufFile file, GgufFile::open(path));
  FileFacts facts{.title = text_at(file, "general.name"),
                  .architecture = text_at(file, "general.architecture"),
                  .unsupported = "",
                  .licence = text_at(file, "general.license"),
                  .chat_template = "",
                  .has_template = !text_at(file, "tokenizer.chat_template").empty(),
                  .weights = "",
                  .n_bytes = file.file_bytes(),
                  .n_shards = file.n_parts()};
  if (facts.title.empty()) facts.title = path.stem().string();
  std::map<std::string, std::uint64_t> values_of_type;
  for (const GgufTensor& tensor : file.tensors()) {
    facts.n_parameters += tensor.n_values;
    values_of_type[tensor.type_name] += tensor.n_values;
  }
  const auto most = std::ranges::max_element(values_of_type, {},
                                             &std::pair<const std::string, std::uint64_t>::second);
  if (most != values_of_type.end()) facts.weights = most->first;
  const Result<ModelConfig> config = ModelConfig::from(file);
  const Result<ChatTemplate> form = ChatTemplate::of(file);
  if (form.ok() && facts.has_template) facts.chat_template = form->name();
  if (!config.ok()) {
    facts.unsupported = config.error().message;
    return facts;
  }
  facts.n_context = config->context;
  facts.n_layers = config->n_layers();
  if (!form.ok()) facts.unsupported = form.error().message;
  return facts;
}

}  // namespace satchel::runtime
