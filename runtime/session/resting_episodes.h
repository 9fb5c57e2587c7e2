// RestingEpisodes: where memory is short, episodes out of attention's reach rest in the store of
// saved caches, each under a key of its own, and come back in milliseconds when a question needs
// them.
//   invariants  1 an episode leaves memory after its record has been committed
//               2 a record holds the head of the chat and the episode right behind it: it does not
//                 depend on the text between
//               3 the chat's own record says what rests. What is in memory may have a record too
//   errors      of store, cache and backend; nothing has changed in the cache
//   threads     one call at a time
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kernels/base/index_range.h"
#include "runtime/session/chat_parts.h"

namespace satchel::runtime {

class RestingEpisodes {
 public:
  explicit RestingEpisodes(const ChatParts& parts) : parts_(parts) {}

  bool has_store() const { return parts_.cache.has_store(); }
  // The episode goes to the store, if it is not there already, and out of memory. n_head: tokens
  // that begin the chat.
  //   needs   arena bytes for a second cache without text
  Result<void> rest(const IndexRange& episode, std::size_t n_head);
  // It is in memory again. False: the store does not have all of it, or memory is too short.
  Result<bool> come_back(const IndexRange& episode, std::size_t n_head);
  // What come_back() takes of the arena, about.
  std::size_t needs(const IndexRange& episode) const;
  // The records of what rests in the chat are copied from where a chat over the same text has them.
  // What can't be copied will be read again when it is needed.
  void copy(const kvcache::SavedPlace& from, const kvcache::SavedPlace& to) const;
  // The episodes' records go.
  Result<void> drop(std::span<const IndexRange> episodes);

 private:
  using OpenCache = std::unique_ptr<kvcache::Cache>;
  std::vector<std::int32_t> text_of(const IndexRange& episode, std::size_t n_head) const;
  kvcache::CacheKey key(const IndexRange& episode) const;
  // The episode as it was stored, behind the head; nothing: not all of it is there.
  Result<OpenCache> stored(const IndexRange& episode, std::size_t n_head) const;

  ChatParts parts_;
  std::map<std::size_t, std::uint64_t> stamps_ = {};  // of what is stored, by first token
};

}  // namespace satchel::runtime
