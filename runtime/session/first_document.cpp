#include "runtime/session/first_document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "kvcache/snapshot/manifest.h"
#include "runtime/contract/document_cache.h"
#include "runtime/episodes/part_title.h"

namespace satchel::runtime {
namespace {

using kvcache::RereadReason;
using kvcache::SavedCache;

struct FirstDocument {
  std::string hash;
  std::span<const TokenId> tokens;  // with what stands before it, and the answer that notes it

  kvcache::CacheKey key(const ChatCache& cache) const;
};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

kvcache::CacheKey FirstDocument::key(const ChatCache& cache) const {
  const kvcache::SnapshotIdentity identity = cache.identity(tokens);
  const std::string model(identity.model), recipe(identity.recipe);
  const std::string read = kvcache::to_hex(
      kvcache::hash_bytes(bytes_of(model + "\n" + recipe + "\n"), std::as_bytes(tokens)));
  return document_key(hash, read, {cache.key().owner.value_or(0)});
}

std::optional<FirstDocument> first_document(const Transcript& transcript) {
  const auto messages = transcript.messages();
  const std::size_t at = !messages.empty() && messages.front().role == Role::system ? 1 : 0;
  if (messages.size() < at + 2) return std::nullopt;
  const SessionMessage &document = messages[at], &noted = messages[at + 1];
  if (document.text_hash.empty() || noted.role != Role::assistant ||
      noted.state != MessageState::complete || read_part_title(document.title))
    return std::nullopt;
  return FirstDocument{.hash = document.text_hash, .tokens = transcript.tokens().first(noted.end)};
}

bool is_pending(std::span<const kvcache::TextSegment> segments) {
  return std::ranges::find(segments, kvcache::SegmentState::pending,
                           &kvcache::TextSegment::state) != segments.end();
}

// "satchel, keeps 50 %"
std::string name_of(const kvcache::Recipe& recipe) {
  if (recipe.keep() >= 1) return recipe.name();
  return recipe.name() + ", keeps " + std::to_string(std::lround(100 * recipe.keep())) + " %";
}

// The document alone is held, as every chat with this recipe would hold it.
bool is_as_read(const ChatParts& parts, const FirstDocument& document) {
  const auto entries = parts.meter.ledger().entries();
  return parts.transcript.tokens().size() == document.tokens.size() &&
         parts.cache.n_tokens() == document.tokens.size() && parts.transcript.marks().empty() &&
         parts.cache->reach().is_all() && !holds_placed(*parts.cache) &&
         std::ranges::none_of(entries, [&](const auto& entry) {
           return entry.cause == LedgerCause::limit || entry.cause == LedgerCause::asked ||
                  entry.cause == LedgerCause::rest ||
                  entry.n_tokens > document.tokens.size();  // decided with what followed
         });
}

// The names of what is offered: what takes the place of the other stands under the second one
// first, so that there always is one that is whole.
std::array<std::string, 2> names_of(const kvcache::CacheKey& key) {
  return {key.name, key.name + " again"};
}

// What is whole under these names, the newest last; with the chat that offered it.
std::vector<kvcache::CacheKey> all_offered(const std::vector<SavedCache>& all,
                                           const kvcache::CacheKey& key) {
  const auto names = names_of(key);
  std::vector<kvcache::CacheKey> found;
  for (const SavedCache& saved : all)
    if (!saved.model.empty() && std::ranges::find(names, saved.key.name) != names.end())
      found.push_back(saved.key);
  return found;
}

// Where the next one goes, with the same owner as the one before.
kvcache::CacheKey beside(const kvcache::CacheKey& before, const kvcache::CacheKey& key) {
  const auto names = names_of(key);
  return {.name = before.name == names[0] ? names[1] : names[0], .owner = before.owner};
}

// Whether what this chat holds should take the place of what was saved.
Result<bool> is_better(const ChatParts& parts, const kvcache::CacheKey& saved_as) {
  SATCHEL_TRY_ASSIGN(const auto saved, parts.cache.store().newest_manifest(saved_as));
  if (!saved) return true;
  const Result<kvcache::Manifest> manifest = kvcache::decode_manifest(saved->bytes);
  return !manifest.ok() || (is_pending(manifest->segments) && !is_pending(parts.cache->segments()));
}

Result<void> offer(const ChatParts& parts, const FirstDocument& document) {
  kvcache::RecordStore& store = parts.cache.store();
  const kvcache::CacheKey key = document.key(parts.cache);
  SATCHEL_TRY_ASSIGN(const std::vector<SavedCache> all, store.list());
  std::vector<kvcache::CacheKey> before = all_offered(all, key);
  for (; before.size() > 1; before.erase(before.begin())) SATCHEL_TRY(store.drop(before.front()));
  if (!before.empty()) {
    SATCHEL_TRY_ASSIGN(const bool goes_on, is_better(parts, before.front()));
    if (!goes_on) return {};
  }
  const kvcache::CacheKey place = before.empty() ? key : beside(before.front(), key);
  const DocumentNote note{.model = parts.engine.model->config().name,
                          .recipe = name_of(parts.cache.recipe()),
                          .meter = parts.meter.text()};
  const Result<bool> copied =
      kvcache::copy_saved({store, parts.cache.key()}, {store, place}, note.text());
  if (!copied.ok()) (void)store.drop(place);  // a part of it is of no use
  SATCHEL_TRY(copied);
  return *copied && !before.empty() ? store.drop(before.front()) : Result<void>();
}

// Why it is read although some chat has read it; none: no chat has.
RereadReason reason_of(const std::vector<SavedCache>& all, const FirstDocument& document,
                       const kvcache::SnapshotIdentity& identity) {
  RereadReason reason = RereadReason::none;
  for (const SavedCache& saved : all) {
    if (document_of(saved.key) != document.hash || saved.model.empty()) continue;
    if (saved.model == identity.model && saved.recipe == identity.recipe)
      return RereadReason::other_beginning;
    if (saved.model == identity.model)
      reason = RereadReason::other_recipe;
    else if (reason == RereadReason::none)
      reason = RereadReason::other_model;
  }
  return reason;
}

// What the cache holds then, and why that is not all.
Result<kvcache::RestoreReport> take(const ChatParts& parts, const FirstDocument& document) {
  kvcache::RecordStore& store = parts.cache.store();
  const kvcache::CacheKey& own = parts.cache.key();
  kvcache::RestoreReport report{.reason = RereadReason::none};
  SATCHEL_TRY_ASSIGN(const auto other_text, store.newest_manifest(own));
  if (other_text) return report;
  SATCHEL_TRY_ASSIGN(const std::vector<SavedCache> all, store.list());
  const std::vector<kvcache::CacheKey> offered = all_offered(all, document.key(parts.cache));
  if (offered.empty()) {
    report.reason = reason_of(all, document, parts.cache.identity(document.tokens));
    return report;
  }
  const kvcache::CacheKey& key = offered.back();
  SATCHEL_TRY_ASSIGN(const auto saved, store.newest_manifest(key));
  SATCHEL_TRY_ASSIGN(const bool is_copied, kvcache::copy_saved({store, key}, {store, own}));
  if (!is_copied) return report;
  report = parts.cache.restore(parts.transcript.tokens());
  if (report.n_tokens == 0) SATCHEL_TRY(store.drop(own));
  if (saved && report.n_tokens == document.tokens.size())
    (void)parts.meter.restore(DocumentNote::of(saved->note).meter);
  return report;
}

// What a saved cache holds whose text ends with these tokens, to be placed where they stand here.
Result<PlacedText> placed_from(const ChatParts& parts, const kvcache::CacheKey& key,
                               const IndexRange& text) {
  kvcache::RecordStore& store = parts.cache.store();
  SATCHEL_TRY_ASSIGN(const auto saved, store.newest_manifest(key));
  if (!saved) return PlacedText();
  SATCHEL_TRY_ASSIGN(const kvcache::Manifest manifest, kvcache::decode_manifest(saved->bytes));
  const std::span<const TokenId> theirs = manifest.tokens;
  const auto ours = parts.transcript.tokens().subspan(text.begin, text.size());
  if (theirs.size() < ours.size() || !std::ranges::equal(theirs.last(ours.size()), ours))
    return PlacedText();
  const std::size_t first = theirs.size() - ours.size();
  PlacedText placed;
  placed.part = placed_part({.begin = first, .end = theirs.size()});
  placed.first = text.begin + placed.part.begin - first;
  if (placed.part.size() == 0) return PlacedText();
  SATCHEL_TRY_ASSIGN(placed.from, parts.cache->twin());
  kvcache::Snapshot snapshot(*placed.from, store, key);
  SATCHEL_TRY_ASSIGN(const kvcache::RestoreReport restored,
                     snapshot.restore(parts.cache.identity(theirs), parts.cache.open_snapshots()));
  const bool is_whole = restored.reason == RereadReason::none;
  return is_whole && is_decided(*placed.from, placed.part) ? std::move(placed) : PlacedText();
}

// Of a document: nothing where no chat has read it so, or it can't be had.
PlacedText shelved_text(const ChatParts& parts, const IndexRange& text, std::string_view hash) {
  const kvcache::SnapshotIdentity identity = parts.cache.identity({});
  const Result<std::vector<SavedCache>> all = parts.cache.store().list();
  if (!all.ok()) return {};
  for (const SavedCache& saved : *all) {
    if (document_of(saved.key) != hash || saved.model != identity.model ||
        saved.recipe != identity.recipe)
      continue;
    Result<PlacedText> placed = placed_from(parts, saved.key, text);
    if (placed.ok() && placed->from != nullptr) return std::move(*placed);
    if (!placed.ok())
      parts.engine.record(LogLevel::warning, "not placed code=" + placed.error().code);
  }
  return {};
}

}  // namespace

Reuse take_first_document(const ChatParts& parts) {
  if (!parts.cache.has_store() || parts.cache.n_tokens() > 0) return {};
  const auto document = first_document(parts.transcript);
  if (!document) return {};
  const double began = parts.clock.steady_ms();
  const Result<kvcache::RestoreReport> taken = take(parts, *document);
  const std::size_t n = parts.cache.n_tokens();
  const Reuse reuse = n == 0 ? Reuse()
                             : Reuse{.n_tokens = n,
                                     .ms = parts.clock.steady_ms() - began,
                                     .reading_ms = parts.engine.reading_ms(n)};
  if (!taken.ok()) {
    parts.engine.record(LogLevel::warning, "not taken from the shelf code=" + taken.error().code);
    return reuse;
  }
  Rereads& rereads = parts.cache.rereads();
  if (taken->reason != RereadReason::none && !rereads.waits())
    rereads.lost({.begin = taken->n_tokens, .end = document->tokens.size()}, taken->reason);
  return reuse;
}

Result<ReadReport> place_documents(const ChatParts& parts, ChatPrefill& prefill,
                                   const std::stop_token& stop, const ProgressFn& progress) {
  ReadReport report;
  const double began = parts.clock.steady_ms();
  report.reuse = take_first_document(parts);
  report.n_shelf = report.reuse.n_tokens;
  const std::size_t n_before = parts.cache.n_tokens();
  const CacheContents contents = parts.meter.contents();
  const auto messages = parts.transcript.messages();
  for (std::size_t i = 0; i + 1 < messages.size() && parts.cache.has_store(); ++i) {
    const SessionMessage& document = messages[i];
    if (document.text_hash.empty() || document.begin == 0 || read_part_title(document.title) ||
        document.begin < parts.cache.n_tokens())
      continue;
    const IndexRange tokens{.begin = document.begin, .end = messages[i + 1].end};
    if (placed_part(tokens).size() == 0) continue;
    report.not_placed = why_not_placed(*parts.cache);
    if (report.not_placed != NotPlaced::none) continue;
    const CacheContents before = parts.meter.contents();
    const double text_began = parts.clock.steady_ms();
    const double ms_per_token = parts.engine.read_ms_per_token;  // before the few that are read now
    const std::size_t n_held = parts.cache.n_tokens();
    PlacedText text = shelved_text(parts, tokens, document.text_hash);
    if (text.from == nullptr) report.not_placed = NotPlaced::no_reading;
    SATCHEL_TRY_ASSIGN(const std::size_t n,
                       prefill_and_place(prefill, *parts.cache, text, stop, progress));
    if (n == 0) continue;
    const std::size_t n_more = parts.cache.n_tokens() - n_held;
    const Reuse reuse{.n_tokens = n,
                      .n_read = n_more - n,
                      .ms = parts.clock.steady_ms() - text_began,
                      .reading_ms = ms_per_token * static_cast<double>(n_more)};
    parts.meter.note_since(LedgerCause::read, before);
    parts.meter.note_moved(LedgerCause::placed, reuse, before.bytes);
    report.n_placed += n;
    report.reuse = sum_of(report.reuse, reuse);
  }
  if (report.n_placed > 0) report.not_placed = NotPlaced::none;
  report.compressed = parts.meter.was_compressed_since(contents);
  report.n_tokens = parts.cache.n_tokens() - n_before - report.n_placed;
  report.ms = parts.clock.steady_ms() - began;
  return report;
}

void offer_first_document(const ChatParts& parts) {
  const auto document = first_document(parts.transcript);
  if (!document || !is_as_read(parts, *document)) return;
  const Result<void> done = offer(parts, *document);
  if (!done.ok())
    parts.engine.record(LogLevel::warning, "not put on the shelf code=" + done.error().code);
}

}  // namespace satchel::runtime
