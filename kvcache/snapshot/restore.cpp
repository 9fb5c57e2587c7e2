// Snapshot::restore: what the manifest says, then block after block, then live.
#include <optional>
#include <string>

#include "kvcache/size_text.h"
#include "kvcache/snapshot/restorer.h"

namespace satchel::kvcache {
namespace {

std::string tokens_text(std::size_t n) {
  return "reading the chat's " + count_text(n) + " tokens again.";
}

RestoreReport refused(RestoreOutcome outcome, std::string why, const SnapshotIdentity& identity) {
  return {.outcome = outcome,
          .message = std::move(why) + "; " + tokens_text(identity.tokens.size())};
}

RestoreReport damaged_report(const Error& error, const std::string& where,
                             const SnapshotIdentity& identity) {
  return refused(RestoreOutcome::damaged,
                 "The saved cache is damaged (" + where + error.message + ")", identity);
}

// What the manifest alone can tell; nothing: go on.
std::optional<RestoreReport> refuse(const CacheState& cache, const Manifest& manifest,
                                    const SnapshotIdentity& identity) {
  const auto no = [&](RestoreOutcome outcome, std::string why) {
    return refused(outcome, std::move(why), identity);
  };
  const bool same_shape = manifest.n_layers == cache.shape.n_layers &&
                          manifest.n_kv_heads == cache.shape.n_kv_heads &&
                          manifest.head_dim == cache.shape.head_dim;
  if (manifest.model != identity.model || !same_shape)
    return no(RestoreOutcome::other_model, "Saved with another model");
  if (manifest.recipe != identity.recipe)
    return no(RestoreOutcome::other_recipe, "Saved with another recipe");
  if (manifest.layout != stored_layout(cache.layout))
    return no(RestoreOutcome::other_format, "Saved with another layout of pages");
  if (manifest.n_tokens > identity.tokens.size() ||
      hash_tokens(identity.tokens.first(static_cast<std::size_t>(manifest.n_tokens))) !=
          manifest.token_hash)
    return no(RestoreOutcome::other_tokens, "The chat was changed since it was saved");
  std::size_t n_pages = 0;
  for (const std::uint32_t n : manifest.n_pages) n_pages += n;
  if (n_pages > cache.pool.free_pages())
    return no(RestoreOutcome::other_format,
              "The saved cache takes " + size_text(n_pages * cache.layout.bytes) +
                  " beside sinks and tails, more than the memory limit leaves");
  return std::nullopt;
}

}  // namespace

Result<RestoreReport> Snapshot::restore(const SnapshotIdentity& identity) {
  State& s = *state_;
  SATCHEL_ASSERT(s.cache.n_tokens == 0 && !s.cache.step_open && !s.cache.reading);
  s.stored = {};
  SATCHEL_TRY_ASSIGN(const std::optional<SavedManifest> saved, s.store.newest_manifest(s.chat));
  if (!saved)
    return RestoreReport{.outcome = RestoreOutcome::nothing_saved,
                         .message = "No saved cache; " + tokens_text(identity.tokens.size())};
  const Result<Manifest> decoded = decode_manifest(saved->bytes);
  if (!decoded.ok() && decoded.error().kind == ErrorKind::unsupported)
    return refused(RestoreOutcome::other_format, "Saved in " + decoded.error().message, identity);
  if (!decoded.ok()) return damaged_report(decoded.error(), "", identity);
  const Manifest& manifest = decoded.value();
  if (manifest.generation != saved->generation || manifest.n_tokens == 0)
    return damaged_report(damaged("its table is of another save"), "", identity);
  if (std::optional<RestoreReport> no = refuse(s.cache, manifest, identity)) return *no;

  Restorer restorer(s.cache, identity, manifest);
  RestoreReport report;
  report.outcome = RestoreOutcome::restored;
  report.bytes_read = saved->bytes.size();
  for (const BlockEntry& entry : manifest.blocks) {
    const Result<std::vector<std::byte>> bytes = s.store.block(s.chat, entry.id);
    if (!bytes.ok() && bytes.error().kind != ErrorKind::not_found) return bytes.error();
    const Result<void> added =
        bytes.ok() ? restorer.add(entry, bytes.value()) : damaged("it is missing");
    if (!added.ok() && added.error().kind != ErrorKind::corrupt) return added.error();
    if (!added.ok())
      return damaged_report(added.error(), "block " + std::to_string(entry.id) + ": ", identity);
    report.bytes_read += bytes->size();
  }
  const Result<void> whole = restorer.check_whole();
  if (!whole.ok()) return damaged_report(whole.error(), "", identity);
  SATCHEL_TRY(restorer.make_live());
  s.stored = std::move(restorer).stored();
  report.n_tokens = s.cache.n_tokens;
  return report;
}

}  // namespace satchel::kvcache
