// What a chat held that had read a document and nothing else: saved under the document's name, for
// other chats to begin with (runtime/session/first_document.h). The names are on disk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kvcache/base/hash.h"
#include "kvcache/snapshot/record_store.h"
#include "runtime/contract/journal.h"

namespace satchel::runtime {

// By which a document is known: of its words, 32 hexadecimal digits.
inline std::string document_hash(std::string_view text) {
  return kvcache::to_hex(kvcache::hash_bytes(std::as_bytes(std::span(text))));
}
inline constexpr std::size_t kDocumentHashDigits = 2 * sizeof(kvcache::Hash128);

// reading  tells model, recipe and tokens
// owner    the chat with which it goes; 0: it stays
inline constexpr std::string_view kDocumentCache = "document ";
inline kvcache::CacheKey document_key(std::string_view hash, std::string_view reading,
                                      ChatId owner) {
  std::string name(kDocumentCache);
  kvcache::CacheKey key = kvcache::CacheKey::named(name.append(hash).append(" ").append(reading));
  if (owner.value != 0) key.owner = owner.value;
  return key;
}
// Its hash; nothing: the cache is no document's.
inline std::optional<std::string> document_of(const kvcache::CacheKey& key) {
  const std::string_view name = key.name;
  constexpr std::size_t kBegin = kDocumentCache.size(), kEnd = kBegin + kDocumentHashDigits;
  if (!name.starts_with(kDocumentCache) || name.size() <= kEnd || name[kEnd] != ' ')
    return std::nullopt;
  return std::string(name.substr(kBegin, kDocumentHashDigits));
}

// The note of such a cache (SavedCommit): how it was made, and what was measured then.
struct DocumentNote {
  std::string model, recipe;  // for people, a line each
  std::string meter;          // as ChatMeter::text()

  std::string text() const { return model + "\n" + recipe + "\n" + meter; }
  static DocumentNote of(std::string_view text) {
    const auto line = [&text] {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string got(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      return got;
    };
    DocumentNote note;
    note.model = line();
    note.recipe = line();
    note.meter = text;
    return note;
  }
};

}  // namespace satchel::runtime
