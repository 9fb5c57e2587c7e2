// Arena: the memory of all caches of an engine, reserved when it opens and never grown. Extents
// (reference-counted, of any size) grow from the bottom and workspace from the top; both share the
// free middle.
//   limit    used_bytes() never exceeds bytes(), which set_limit() moves below the capacity
//   holes    freed extents are reused. If no hole fits and the middle is too small, the arena
//            compacts: extents move down. So an allocation fails only if fewer bytes are free than
//            requested (rounded up to 256).
//   spare    extents of take_spare() hold what can be missed. They count as free: where take(),
//            take_scratch() or a lower limit need their bytes, users are asked to give them back
//            (ExtentUser::give_spare), in turn
//   far      with a far store, extents of take_far() live there: settle() writes one away, and what
//            then stays of it in memory is a copy that counts as free and goes where bytes are
//            needed, before what is spare. fetch() has copies read and verified again. Only for
//            backends whose memory is main memory.
//   moving   happens only inside take(), take_far(), take_scratch() and fetch(). An address from
//            at() is valid until the next such call; work queued with it completes before the move.
//            Every ExtentUser is notified afterwards. Workspace never moves.
//   owns     its memory and a share of the backend. Caches hold the shared_ptr, so they may outlive
//            the arena's creator.
//   errors   out_of_memory, CACHE_FULL: how much was requested, how much is free, what to do; the
//            arena is unchanged. A backend error while compacting is returned as it is. No extent
//            or lease is then taken or lost: extents below the failed copy have moved (users are
//            notified), those above have not. If the failed copy was partial, the bytes of its
//            extents are lost with the backend.
//   cost     see ExtentTable: after reserve_extents(n), the next n takes, all gives and compaction
//            do not use the heap
//   threads  one call at a time, as its Backend
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/contract/backend.h"
#include "kvcache/lanes/extent_table.h"
#include "kvcache/lanes/far_reader.h"
#include "kvcache/lanes/far_store.h"
#include "kvcache/lanes/far_table.h"

namespace satchel::kvcache {

// Implemented by objects that store addresses of extents.
class ExtentUser {
 public:
  virtual ~ExtentUser() = default;
  // Any extent may have moved. May call at(), but must not take or give.
  virtual void extents_moved() = 0;
  // Gives back the spare extent that it can miss most easily, by Arena::give(). False: it has none.
  virtual bool give_spare() { return false; }
};

class Arena {
 public:
  // A piece of workspace, returned by the destructor. Leases must end in reverse order, and before
  // the arena (asserted).
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

  // The bytes that an extent or lease of this size takes.
  static std::size_t rounded_up(std::size_t bytes);
  // The limit that set_limit() stores for this value.
  static std::size_t rounded_down(std::size_t bytes);

  // Allocates bytes > 0 with one share; 256-byte aligned, not zeroed.
  Result<ExtentId> take(std::size_t bytes);
  // Likewise one that is spare, of bytes that nobody has (unused_bytes()): fails with CACHE_FULL
  // before any user is asked.
  Result<ExtentId> take_spare(std::size_t bytes);
  void share(ExtentId id);
  void give(ExtentId id);
  std::byte* at(ExtentId id);
  // Of the arena, rounded up; of a settled one what stays in memory for good.
  std::size_t bytes_of(ExtentId id) const;
  std::size_t n_shares(ExtentId id) const;
  void reserve_extents(std::size_t n);

  // From now on there are far extents. The arena holds nothing yet.
  void set_far(std::unique_ptr<FarStore> store);
  bool has_far() const { return far_store_ != nullptr; }
  // As take(), of an extent that settle() may write away. Its last n_rest bytes then stay in memory
  // as well, at rest_at().
  Result<ExtentId> take_far(std::size_t bytes, std::size_t n_rest);
  // What a far extent takes of the arena before it is settled.
  static std::size_t far_bytes(std::size_t bytes, std::size_t n_rest);
  Result<void> settle(ExtentId id);  // of one that is not far, or is settled: nothing
  // What goes first where copies have no room. Where all pages are read in turn, again and again,
  // those that have just been read come last again.
  enum class Goes { oldest, newest };
  // All of them are in memory until the next call that may move. Fails with CACHE_FULL where that
  // is more than is free, and then, or where one cannot be read, keeps what was in memory before.
  Result<void> fetch(std::span<const ExtentId> ids, Goes first_to_go);
  bool is_here(ExtentId id) const;  // at() may be asked
  std::byte* rest_at(ExtentId id);  // of a far extent with n_rest
  bool is_far(ExtentId id) const { return FarTable::is_far(id); }
  std::size_t far_size(ExtentId id) const;                     // of a far extent, in the store
  std::size_t far_used_bytes() const { return far_.bytes(); }  // of the far store
  std::size_t copy_bytes() const { return copy_bytes_; }       // of copies, which count as free

  // 256-byte aligned; not zeroed.
  Result<Lease> take_scratch(std::size_t bytes);

  // A user must be removed before it is destroyed. Users are notified in the order of addition.
  void add_user(ExtentUser& user);
  void remove_user(ExtentUser& user);

  // Rounds down to 256. Fails with CACHE_FULL below used_bytes(), and with invalid, CACHE_LIMIT
  // above the capacity.
  Result<void> set_limit(std::size_t bytes);
  // Fails as take() would. For several extents pass the sum of their rounded_up() sizes.
  Result<void> check_free(std::size_t bytes) const;
  const std::shared_ptr<kernels::Backend>& backend() const { return backend_; }
  std::size_t bytes() const { return limit_; }
  std::size_t capacity_bytes() const { return memory_.size(); }
  // Without spare extents.
  std::size_t used_bytes() const { return held_bytes() - spare_bytes_; }
  std::size_t free_bytes() const { return limit_ - used_bytes(); }
  std::size_t unused_bytes() const { return limit_ - held_bytes(); }  // not even by spare extents
  std::size_t peak_bytes() const { return peak_bytes_; }  // the most ever held, with spare extents
  void check_invariants() const;                          // asserts; O(extents)

 private:
  Arena(std::shared_ptr<kernels::Backend> backend, kernels::Buffer memory);
  std::size_t scratch_offset() const { return capacity_bytes() - scratch_bytes_; }
  void give_scratch(const std::byte* data, std::size_t bytes);
  std::size_t held_bytes() const { return extents_.used_bytes() + scratch_bytes_; }
  bool is_spare(ExtentId id) const;
  Result<ExtentId> take_unused(std::size_t bytes);
  void mark_spare(ExtentId id);
  void give_near(ExtentId id);
  void give_far(ExtentId id);
  void keep_copy(ExtentId id, ExtentId copy);
  void drop_copy(ExtentId id);
  Result<void> take_copies(std::span<const ExtentId> ids, Goes first_to_go);
  Result<void> make_unused(std::size_t bytes, Goes first_to_go);
  Result<void> read_copies();
  // Copies, then spare extents go until so many bytes are unused.
  //   needs  free_bytes() of at least as many
  void gather_unused(std::size_t bytes);
  Result<void> close_holes();

  std::shared_ptr<kernels::Backend> backend_;
  kernels::Buffer memory_;  // after backend_, so that it is destroyed first
  ExtentTable extents_;
  std::vector<ExtentUser*> users_;
  bool tells_users_ = false;
  std::vector<bool> spare_ = {};  // by extent; those beyond are not
  std::unique_ptr<FarStore> far_store_ = {};
  FarTable far_ = {};
  std::unique_ptr<FarReader> reader_ = {};
  std::vector<ExtentId> missing_ = {};  // of fetch()
  std::vector<FarRead> reads_ = {};     // likewise
  std::size_t copy_bytes_ = 0;
  std::size_t limit_ = 0, scratch_bytes_ = 0, peak_bytes_ = 0, spare_bytes_ = 0;
};

}  // namespace satchel::kvcache
