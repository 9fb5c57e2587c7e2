// CacheWalk: a random sequence of operations on a cache; after each, everything that must hold.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache_checker.h"
#include "kernels/base/rng.h"
#include "kvcache/snapshot/snapshot.h"
#include "support/record_stores.h"

namespace satchel::kvcache {

// h2o with pages of 4 bits: decides anew what is packed already, beside text that must not be.
inline constexpr const char* kPackedH2o = "h2o-int4";

class CacheWalk {
 public:
  // Of a builtin recipe, or kPackedH2o; `seed` also chooses its share and the groups of its codecs.
  CacheWalk(const std::string& recipe, const CacheDriver::Setup& setup);

  // To the end: nothing is left in the arena.
  void run(int n_operations);
  void run_on(int n_operations);
  // Saved, and restored into another cache, both go on alike, byte for byte. Ends the walk.
  void save_restore_and_go_on(int n_operations);
  // How often memory was full.
  std::size_t n_full() const { return n_full_; }
  std::size_t n_interrupted() const { return n_interrupted_; }

 private:
  CacheWalk(const CacheWalk& of, CacheDriver twin);
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(rng_.next() % n); }
  void after_one(int index, const std::string& now);
  void finish();
  // A failed call has changed nothing where `before` is not empty.
  template <class T>
  void done(const Result<T>& result, const std::string& what,
            const std::vector<std::byte>& before = {});
  std::string one();
  std::string text();
  std::string read(SegmentKind kind, std::size_t n_tokens);
  std::string steps(std::size_t n);
  std::string compact();
  std::string probe();
  std::string probe_interrupted();
  std::string fork();
  std::string edit(std::size_t n);
  std::string move(std::size_t first, std::size_t n);
  std::string reach(std::size_t n);
  std::string gather_text();
  std::string gather(std::size_t first, std::size_t count);
  // Of this cache, that has read the stretch again, alone, and decided.
  Result<CacheDriver> read_again(std::size_t first, std::size_t count);
  std::vector<std::byte> idle_bytes();

  Rng rng_;
  CacheDriver driver_;
  CacheChecker checker_;
  Edit edit_;
  std::string history_;        // for people
  bool merges_ = false;        // then values are not those that were read
  bool may_fork_ = true;       // where memory is short a fork would change what happens
  bool shares_pages_ = false;  // with a cache that goes on alike
  std::optional<CacheDriver> twin_;
  std::vector<std::byte> twin_bytes_;
  std::size_t n_full_ = 0, n_interrupted_ = 0;
};

}  // namespace satchel::kvcache
