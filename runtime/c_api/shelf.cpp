// The shelf of a model's store: documents that have been read, for other chats to begin with.
#include "runtime/c_api/handles.h"
#include "runtime/c_api/json.h"
#include "runtime/contract/document_cache.h"

namespace satchel::c_api {
namespace {

using runtime::ChatService;
using runtime::ShelvedDocument;

nlohmann::json readings_of(const ShelvedDocument& document) {
  nlohmann::json readings = nlohmann::json::array();
  for (const kvcache::SavedCache& cache : document.caches) {
    const runtime::DocumentNote note = runtime::DocumentNote::of(cache.note);
    readings.push_back({{"model", note.model},
                        {"recipe", note.recipe},
                        {"tokens", cache.n_tokens},
                        {"bytes", cache.record_bytes}});
  }
  return readings;
}

// `work` gets the store between two calls.
template <class Work>
Result<void> with_store(satchel_model* model, const Work& work) {
  if (model == nullptr) return missing("model");
  ChatService& service = model->shared->service;
  return service.look([&]() -> Result<void> {
    runtime::ChatStore* const store = service.store();
    return store != nullptr ? work(*store) : runtime::no_shelf();
  });
}

}  // namespace
}  // namespace satchel::c_api

using namespace satchel;
using namespace satchel::c_api;

int32_t satchel_documents(satchel_model* model, satchel_buffer** json, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (json == nullptr) return missing("json");
    *json = nullptr;
    return with_store(model, [&](runtime::ChatStore& store) -> Result<void> {
      SATCHEL_TRY_ASSIGN(const std::vector<ShelvedDocument> shelf, store.shelf());
      nlohmann::json all = nlohmann::json::array();
      for (const ShelvedDocument& document : shelf)
        all.push_back({{"id", document.hash},
                       {"title", document.title},
                       {"kept", document.is_kept},
                       {"used_ms", document.used_ms},
                       {"readings", readings_of(document)}});
      give_json(json, all);
      return {};
    });
  });
}

int32_t satchel_document_keep(satchel_model* model, const char* title, const char* text,
                              size_t size, satchel_buffer** id, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (id != nullptr) *id = nullptr;
    if (title == nullptr) return missing("title");
    SATCHEL_TRY_ASSIGN(const std::string_view given, text_of(text, size, "text"));
    return with_store(model, [&](runtime::ChatStore& store) -> Result<void> {
      SATCHEL_TRY(store.keep_document(title, given));
      give_text(id, runtime::document_hash(given));
      return {};
    });
  });
}

int32_t satchel_document_text(satchel_model* model, const char* id, satchel_buffer** text,
                              satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (text == nullptr) return missing("text");
    *text = nullptr;
    if (id == nullptr) return missing("id");
    return with_store(model, [&](runtime::ChatStore& store) -> Result<void> {
      SATCHEL_TRY_ASSIGN(std::string found, store.document_text(id));
      give_text(text, std::move(found));
      return {};
    });
  });
}

int32_t satchel_document_remove(satchel_model* model, const char* id, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (id == nullptr) return missing("id");
    return with_store(model,
                      [&](runtime::ChatStore& store) { return store.remove_document(id); });
  });
}
