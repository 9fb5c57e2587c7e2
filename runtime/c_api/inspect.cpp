// What a model's file says before it is loaded.
#include "runtime/c_api/json.h"
#include "runtime/gguf/reader.h"
#include "runtime/model/config.h"
#include "runtime/tokenizer/chat_template.h"

namespace satchel::c_api {
namespace {

using runtime::ChatTemplate;
using runtime::GgufFile;
using runtime::ModelConfig;

// Null where the file does not say it.
nlohmann::json text_in(const GgufFile& file, std::string_view key) {
  const Result<std::string_view> text = file.get_string(key);
  return text.ok() ? nlohmann::json(*text) : nlohmann::json();
}

nlohmann::json inspected(const GgufFile& file) {
  nlohmann::json out = {{"architecture", text_in(file, "general.architecture")},
                        {"name", text_in(file, "general.name")},
                        {"file_bytes", file.file_bytes()},
                        {"shards", file.n_parts()},
                        {"layers", nullptr},
                        {"context", nullptr},
                        {"vocabulary", nullptr},
                        {"template", nullptr},
                        {"refusal", nullptr}};
  const Result<ChatTemplate> chat_template = ChatTemplate::of(file);
  if (chat_template.ok()) {
    out["template"] = chat_template->name();
  } else {
    out["refusal"] = chat_template.error().message;
  }
  const Result<ModelConfig> config = ModelConfig::from(file);
  if (config.ok()) {
    out["layers"] = config->n_layers();
    out["context"] = config->context;
    out["vocabulary"] = config->n_vocabulary;
  } else {
    out["refusal"] = config.error().message;
  }
  return out;
}

}  // namespace
}  // namespace satchel::c_api

using namespace satchel;
using namespace satchel::c_api;

int32_t satchel_model_inspect(const char* path, satchel_buffer** json, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (json == nullptr) return missing("json");
    *json = nullptr;
    if (path == nullptr) return missing("path");
    SATCHEL_TRY_ASSIGN(const GgufFile file, GgufFile::open(path));
    give_json(json, inspected(file));
    return {};
  });
}
