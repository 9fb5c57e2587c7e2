#include "app/cli/shelf_text.h"

#include <algorithm>

#include "app/cli/meter_text.h"
#include "kernels/base/size_text.h"
#include "runtime/contract/document_cache.h"

namespace satchel::app {
namespace {

using runtime::DocumentNote;
using runtime::ShelvedDocument;

std::string short_id(const ShelvedDocument& document) {
  return document.hash.substr(0, kShelfDigits);
}

}  // namespace

Result<ShelvedDocument> find_shelved(const std::vector<ShelvedDocument>& shelf,
                                     const std::string& wanted) {
  std::vector<const ShelvedDocument*> found;
  for (const ShelvedDocument& document : shelf) {
    const bool is_id = wanted.size() >= kShelfDigits && document.hash.starts_with(wanted);
    if (is_id || document.title == wanted) found.push_back(&document);
  }
  if (found.size() == 1) return *found.front();
  if (found.empty())
    return Error{ErrorKind::not_found, "DOC_NOT_FOUND",
                 "There is no document \"" + wanted +
                     "\" on the shelf. `satchel documents` lists those that are."};
  std::string ids;
  for (const ShelvedDocument* document : found)
    ids += (ids.empty() ? "" : ", ") + short_id(*document);
  return Error{ErrorKind::invalid, "PARAM",
               "Several documents on the shelf are named \"" + wanted +
                   "\". Give an id instead: " + ids + "."};
}

Json to_json(const ShelvedDocument& document) {
  Json readings = Json::array();
  for (const kvcache::SavedCache& cache : document.caches) {
    const DocumentNote note = DocumentNote::of(cache.note);
    readings.push_back({{"model", note.model},
                        {"recipe", note.recipe},
                        {"tokens", cache.n_tokens},
                        {"bytes", cache.record_bytes}});
  }
  return {{"id", document.hash},
          {"title", document.title},
          {"kept", document.is_kept},
          {"chat", document.chat.value != 0 ? Json(document.chat.value) : Json(nullptr)},
          {"used_ms", document.used_ms},
          {"readings", readings}};
}

std::string describe(const std::vector<ShelvedDocument>& shelf) {
  std::string text;
  for (const ShelvedDocument& document : shelf) {
    text += date_text(document.used_ms) + "  " + short_id(document) + "  " +
            (document.is_kept ? "kept        " : "with a chat ") + " " + document.title + "\n";
    for (const kvcache::SavedCache& cache : document.caches) {
      const DocumentNote note = DocumentNote::of(cache.note);
      text += "    " + count_text(cache.n_tokens) + " tokens, " + size_text(cache.record_bytes) +
              ", " + note.model + ", " + note.recipe + "\n";
    }
    if (document.caches.empty()) text += "    not read yet\n";
  }
  return text;
}

}  // namespace satchel::app
