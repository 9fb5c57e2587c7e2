// RecurrentStates: what a model's recurrent layers carry from token to token (CacheShape::states),
// and what they carried at earlier positions.
//   running      behind the last token of the text. A pass over tokens (prefill, step, probe,
//                replay) reads it and writes beside it; only adopt() puts what was written in its
//                place. So a pass that fails, or is not to stay, leaves no trace
//   checkpoints  copies at positions inside the text: where it is cut, reading goes on from one.
//                Spare extents of the arena: they go first where memory is short, and are thinned
//                (checkpoints.h). They are exact where the recipe keeps keys and values in fp16,
//                else packed (Backend::pack_values). Running states are always exact
//   absent       where lanes were cut out of another text, nothing is carried that suits them:
//                they can be saved and gathered, but not continued
//   order        begin() or begin_at() -> [stage()] -> for each layer, tokens in order
//                { carry() -> [keep()] } -> adopt(), or nothing
//   threads      as the arena's
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/contract/backend.h"
#include "kvcache/lanes/arena.h"
#include "kvcache/shape/cache_shape.h"

namespace satchel::kvcache {

// How the states of all layers lie side by side.
struct StateForm {
  bool is_packed = false;
  std::vector<std::size_t> offsets = {}, n_bytes = {};  // of each layer
  std::size_t bytes = 0;

  static StateForm of(std::span<const StateShape> states, bool is_packed);
};

// Of the arena, for running states: they take it twice.
std::size_t running_state_bytes(const CacheShape& shape);
// Tokens from one checkpoint to the next: at least as many as take the same bytes in fp16.
std::size_t checkpoint_interval(const CacheShape& shape, bool is_packed);

// States at one position, as they are saved. A serial is unique in a cache, as those of pages.
struct SavedState {
  std::size_t position = 0;
  std::uint64_t serial = 0;
  bool is_packed = false;
  friend bool operator==(const SavedState&, const SavedState&) = default;
};

class RecurrentStates {
 public:
  // packs: whether checkpoints are packed
  RecurrentStates(kernels::Backend& backend, Arena& arena, const CacheShape& shape, bool packs);
  ~RecurrentStates();
  RecurrentStates(RecurrentStates&&) = delete;

  // Of an empty text. Takes running_state_bytes(), which must be free.
  Result<void> take();
  void clear();
  bool any() const { return !shapes_.empty(); }  // no: nothing below does anything
  std::size_t n_layers() const { return shapes_.size(); }
  std::size_t bytes() const;  // of the arena, without checkpoints
  std::size_t checkpoint_bytes() const;
  std::size_t n_checkpoints() const { return checkpoints_.size(); }

  // A pass over tokens behind the text.
  //   errors  invalid, CACHE_RANGE: the states are absent
  Result<void> begin();
  // One over tokens from the nearest position at or before this one on, which is given back.
  Result<std::size_t> begin_at(std::size_t position);
  // Where the layer's state comes from for its next n tokens, and where it goes. Valid until the
  // next extent is taken.
  kernels::StateSequence carry(std::size_t layer, std::size_t n_tokens);
  // Checkpoints of the n_tokens that the pass goes over, as far as bytes are unused beside
  // bytes_left; fewer are no error. They stand once the pass is adopted.
  Result<void> stage(std::size_t n_tokens, std::size_t bytes_left);
  // Tokens until the layer's state is wanted for one; SIZE_MAX: it is not.
  std::size_t n_to_checkpoint(std::size_t layer) const;
  // After carry(): where a checkpoint is staged there, what the layer now carries goes to it.
  Result<void> keep(std::size_t layer);
  // needs   every layer carried all tokens of the pass. Cannot fail
  void adopt(std::uint64_t& next_serial);
  void drop_staged();  // of a pass that is not adopted

  // The largest position at or before this one to which the text can be cut: it has states.
  std::size_t nearest(std::size_t position) const;
  // Cutting the text to where it has states: first what can fail, then the cut.
  Result<void> prepare_cut(std::size_t position);
  void cut(std::size_t position);
  // From now on absent.
  void leave();
  bool are_absent() const { return absent_; }
  bool give_spare();  // as ExtentUser

  // Of an empty text over the same arena: checkpoints are shared.
  Result<void> copy_to(RecurrentStates& other) const;

  // All that would be saved, by rising position; the last is the running one, which is exact.
  std::vector<SavedState> saved(std::uint64_t& next_serial);
  std::size_t layer_bytes(std::size_t layer, bool is_packed) const {
    return form(is_packed).n_bytes[layer];
  }
  // Of packed ones, bytes at the end that are codes; numbers before them are fp32.
  std::size_t n_codes(std::size_t layer) const {
    return shapes_[layer].n_values - shapes_[layer].n_exact;
  }
  // to: layer_bytes()
  Result<void> download(std::uint64_t serial, std::size_t layer, std::span<std::byte> to) const;
  // What was saved comes back into an empty text, the running one last in the list; checkpoints as
  // far as bytes are unused beside bytes_left.
  void expect(std::span<const SavedState> saved, std::size_t bytes_left);
  bool expects(std::uint64_t serial) const;
  std::size_t n_here(std::uint64_t serial) const;  // of what is expected, layers that were put
  bool is_packed(std::uint64_t serial) const;      // likewise
  // needs   layer is the next one: n_here()
  Result<void> put(std::uint64_t serial, std::size_t layer, std::span<const std::byte> from);
  void forget(std::uint64_t serial);  // what was put of it is not to be trusted
  bool all_are_here() const;          // of what is expected
  // The largest position at or before this one whose states are there whole, in a text of n_tokens;
  // 0: none.
  std::size_t nearest_whole(std::size_t position, std::size_t n_tokens) const;
  // What is whole stands from now on, in a text of n_tokens. Running states that are not whole are
  // absent until the text is cut.
  void adopt_saved(std::size_t n_tokens);

 private:
  struct Checkpoint {
    std::size_t position = 0;
    std::uint64_t serial = 0;
    bool is_packed = false;
    ExtentId extent = {};
    std::size_t n_kept = 0;  // layers that it has
  };
  enum class Source { zeros, running, beside };

  bool are_left() const { return absent_ && checkpoints_.empty(); }
  const StateForm& form(bool is_packed) const { return is_packed ? packed_ : exact_; }
  std::byte* at(ExtentId extent, std::size_t layer, bool is_packed = false) const;
  float* values_at(ExtentId extent, std::size_t layer) const;
  Result<void> copy(ExtentId to, ExtentId from) const;  // of running states
  Result<void> keep(const Checkpoint& to, ExtentId from, std::size_t layer) const;
  Result<void> bring(const Checkpoint& from, ExtentId to) const;
  std::size_t checkpoints_most() const;
  bool stage_at(const SavedState& state, std::size_t bytes_left);
  void give(std::vector<Checkpoint>& from, std::size_t index);
  const Checkpoint* staged_of(std::uint64_t serial) const;
  Checkpoint* staged_of(std::uint64_t serial);
  void thin();

  kernels::Backend& backend_;
  Arena& arena_;
  std::vector<StateShape> shapes_ = {};
  StateForm exact_ = {}, packed_ = {};
  bool packs_ = false;
  std::size_t interval_ = 0, token_bytes_ = 0;  // fp16 keys and values of a token
  ExtentId running_ = {}, beside_ = {};
  bool is_taken_ = false, is_zero_ = true, absent_ = false;
  std::size_t n_text_ = 0;
  std::uint64_t running_serial_ = 0;                        // 0: none was given
  std::vector<Checkpoint> checkpoints_ = {}, staged_ = {};  // by position
  // The pass.
  std::size_t first_ = 0;
  Source source_ = Source::zeros;
  std::vector<std::size_t> n_carried_ = {};  // of each layer
  // What comes back as the running state: its serial, layers that are there.
  std::uint64_t expected_running_ = 0;
  std::size_t n_running_here_ = 0;
};

}  // namespace satchel::kvcache
