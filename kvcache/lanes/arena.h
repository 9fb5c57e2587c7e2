// Arena: the memory of an engine for all that its caches hold, reserved when it opens and never
// grown. Extents (stretches of any size, counted by reference) lie at the bottom, scratch at the
// top; the free middle serves both.
//   limit    used_bytes() never passes bytes(), which set_limit() moves below the capacity
//   holes    what was given back is used again; where no hole fits and the middle is too small, the
//            holes are closed: extents move down. So taking fails for want of memory only when
//            fewer bytes are free than asked for (rounded up to 256).
//   moving   happens inside take() and take_scratch() only. An address from at() is good until the
//            next of these calls; work that was queued with it before is done before the move.
//            Every ExtentUser is told after it. Scratch never moves.
//   owns     its memory, and a share of the backend that it comes from. Caches hold the shared_ptr,
//            so they may outlive whoever opened it.
//   errors   out_of_memory, CACHE_FULL: how much was asked, how much is free, what to do; nothing
//            has changed. An error of the backend while holes are closed is returned as it is: no
//            extent or lease is taken or lost; extents below the failed copy have moved (users are
//            told), those above have not. If that copy wrote a part before it failed, its extents'
//            bytes are as good as the backend: lost with it.
//   cost     see ExtentTable: after reserve_extents(n), the next n takes and all gives leave the
//            heap alone, closing holes too
//   threads  one call at a time, as its Backend
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/contract/backend.h"
#include "kvcache/lanes/extent_table.h"

namespace satchel::kvcache {

// Who keeps addresses of extents.
class ExtentUser {
 public:
  virtual ~ExtentUser() = default;
  // Any of its extents may lie elsewhere now. May ask at(), must not take or give.
  virtual void extents_moved() = 0;
};

class Arena {
 public:
  // A stretch of the top, given back when it goes. Leases are given back in reverse order of taking,
  // and before the arena goes (asserted).
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease other) noexcept;
    ~Lease();
    std::byte* data() const { return data_; }
    std::size_t size() const { return bytes_; }

   private:
    friend class Arena;
    Arena* arena_ = nullptr;
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
  };

  // The capacity, and at first the limit, are `bytes` rounded down to 256.
  static Result<std::shared_ptr<Arena>> open(std::shared_ptr<kernels::Backend> backend,
                                             std::size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // What an extent or a lease of so many bytes takes.
  static std::size_t rounded_up(std::size_t bytes);
  // A limit of so many bytes, as it is kept.
  static std::size_t rounded_down(std::size_t bytes);

  // bytes > 0; one share, 256-byte aligned, not zeroed.
  Result<ExtentId> take(std::size_t bytes);
  void share(ExtentId id);
  void give(ExtentId id);
  std::byte* at(ExtentId id);
  std::size_t bytes_of(ExtentId id) const;  // rounded up
  std::size_t n_shares(ExtentId id) const;
  void reserve_extents(std::size_t n);

  // 256-byte aligned; not zeroed.
  Result<Lease> take_scratch(std::size_t bytes);

  // `user` must be removed before it goes. Users are told in the order they were added.
  void add_user(ExtentUser& user);
  void remove_user(ExtentUser& user);

  // Rounded down to 256. CACHE_FULL below what is used; invalid, CACHE_LIMIT above the capacity.
  Result<void> set_limit(std::size_t bytes);
  // Fails as take() would. For several extents: the sum of what each takes, rounded up.
  Result<void> check_free(std::size_t bytes) const;
  std::size_t bytes() const { return limit_; }
  std::size_t capacity_bytes() const { return memory_.size(); }
  std::size_t used_bytes() const { return extents_.used_bytes() + scratch_bytes_; }
  std::size_t free_bytes() const { return limit_ - used_bytes(); }
  std::size_t peak_bytes() const { return peak_bytes_; }  // the most ever used
  void check_invariants() const;                          // asserts; O(extents)

 private:
  Arena(std::shared_ptr<kernels::Backend> backend, kernels::Buffer memory);
  std::size_t scratch_offset() const { return capacity_bytes() - scratch_bytes_; }
  void give_scratch(const std::byte* data, std::size_t bytes);
  Result<void> close_holes();

  std::shared_ptr<kernels::Backend> backend_;
  kernels::Buffer memory_;  // after backend_, so that it goes before
  ExtentTable extents_;
  std::vector<ExtentUser*> users_;
  bool tells_users_ = false;
  std::size_t limit_ = 0, scratch_bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace satchel::kvcache
