#include "kvcache/recurrent/recurrent_states.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/base/assert.h"
#include "kvcache/base/transfer.h"
#include "kvcache/lanes/exact_block.h"
#include "kvcache/recurrent/checkpoints.h"

namespace satchel::kvcache {

StateForm StateForm::of(std::span<const StateShape> states, bool is_packed) {
  StateForm form{.is_packed = is_packed};
  for (const StateShape& state : states) {
    const std::size_t n_exact = is_packed ? state.n_exact : state.n_values;
    form.offsets.push_back(form.bytes);
    form.n_bytes.push_back(n_exact * sizeof(float) +
                           kernels::packed_bytes(state.n_values - n_exact));
    form.bytes += aligned_64(form.n_bytes.back());
  }
  return form;
}

std::size_t running_state_bytes(const CacheShape& shape) {
  return 2 * Arena::rounded_up(StateForm::of(shape.states, false).bytes);
}

std::size_t checkpoint_interval(const CacheShape& shape, bool is_packed) {
  return std::max(kCheckpointTokensLeast,
                  StateForm::of(shape.states, is_packed).bytes /
                      std::max<std::size_t>(1, shape.fp16_bytes_per_token()));
}

RecurrentStates::RecurrentStates(kernels::Backend& backend, Arena& arena, const CacheShape& shape,
                                 bool packs)
    : backend_(backend),
      arena_(arena),
      shapes_(shape.states),
      exact_(StateForm::of(shapes_, false)),
      packed_(StateForm::of(shapes_, true)),
      packs_(packs),
      interval_(checkpoint_interval(shape, packs)),
      token_bytes_(shape.fp16_bytes_per_token()),
      n_carried_(shapes_.size()) {}

RecurrentStates::~RecurrentStates() {
  clear();
  if (!is_taken_) return;
  arena_.give(beside_);
  arena_.give(running_);
}

Result<void> RecurrentStates::take() {
  if (!any()) return {};
  arena_.reserve_extents(2);
  SATCHEL_TRY_ASSIGN(running_, arena_.take(exact_.bytes));
  const Result<ExtentId> second = arena_.take(exact_.bytes);
  if (!second.ok()) {
    arena_.give(running_);
    return second.error();
  }
  beside_ = *second;
  is_taken_ = true;
  return {};
}

void RecurrentStates::clear() {
  drop_staged();
  while (!checkpoints_.empty()) give(checkpoints_, checkpoints_.size() - 1);
  is_zero_ = true;
  absent_ = false;
  n_text_ = 0;
  running_serial_ = 0;
}

std::size_t RecurrentStates::bytes() const {
  return is_taken_ ? 2 * arena_.bytes_of(running_) : 0;
}

std::size_t RecurrentStates::checkpoint_bytes() const {
  std::size_t bytes = 0;
  for (const auto* const list : {&checkpoints_, &staged_})
    for (const Checkpoint& each : *list) bytes += arena_.bytes_of(each.extent);
  return bytes;
}

std::size_t RecurrentStates::checkpoints_most() const {
  const std::size_t fit = arena_.bytes() / kCheckpointShare / Arena::rounded_up(form(packs_).bytes);
  return std::clamp<std::size_t>(fit, 1, kCheckpointsMost);
}

std::byte* RecurrentStates::at(ExtentId extent, std::size_t layer, bool is_packed) const {
  return arena_.at(extent) + form(is_packed).offsets[layer];
}

float* RecurrentStates::values_at(ExtentId extent, std::size_t layer) const {
  return reinterpret_cast<float*>(at(extent, layer));
}

Result<void> RecurrentStates::copy(ExtentId to, ExtentId from) const {
  return backend_.copy(arena_.at(to), arena_.at(from), exact_.bytes);
}

Result<void> RecurrentStates::keep(const Checkpoint& to, ExtentId from, std::size_t layer) const {
  std::byte* const there = at(to.extent, layer, to.is_packed);
  if (!to.is_packed) return backend_.copy(there, at(from, layer), exact_.n_bytes[layer]);
  const auto [n_values, n_exact] = shapes_[layer];
  const std::size_t exact_bytes = n_exact * sizeof(float);
  if (n_exact > 0) SATCHEL_TRY(backend_.copy(there, at(from, layer), exact_bytes));
  if (n_exact == n_values) return {};
  return backend_.pack_values(values_at(from, layer) + n_exact, n_values - n_exact,
                              there + exact_bytes);
}

Result<void> RecurrentStates::bring(const Checkpoint& from, ExtentId to) const {
  if (!from.is_packed) return copy(to, from.extent);
  for (std::size_t layer = 0; layer < n_layers(); ++layer) {
    const std::byte* const there = at(from.extent, layer, true);
    const auto [n_values, n_exact] = shapes_[layer];
    const std::size_t exact_bytes = n_exact * sizeof(float);
    if (n_exact > 0) SATCHEL_TRY(backend_.copy(at(to, layer), there, exact_bytes));
    if (n_exact < n_values)
      SATCHEL_TRY(backend_.unpack_values(there + exact_bytes, n_values - n_exact,
                                         values_at(to, layer) + n_exact));
  }
  return {};
}

void RecurrentStates::give(std::vector<Checkpoint>& from, std::size_t index) {
  arena_.give(from[index].extent);
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(index));
}

Result<void> RecurrentStates::begin() {
  if (absent_)
    return Error{ErrorKind::invalid, "CACHE_RANGE",
                 "This text was cut out of another: a model with recurrent layers cannot continue "
                 "it."};
  first_ = n_text_;
  source_ = is_zero_ ? Source::zeros : Source::running;
  std::ranges::fill(n_carried_, std::size_t{0});
  return {};
}

Result<std::size_t> RecurrentStates::begin_at(std::size_t position) {
  if (!any()) return position;
  SATCHEL_TRY(begin());
  first_ = nearest(position);
  if (first_ == n_text_) return first_;
  if (first_ == 0) source_ = Source::zeros;
  if (first_ == 0) return first_;
  SATCHEL_TRY(prepare_cut(first_));
  source_ = Source::beside;
  return first_;
}

kernels::StateSequence RecurrentStates::carry(std::size_t layer, std::size_t n_tokens) {
  SATCHEL_ASSERT(layer < n_layers() && n_tokens > 0 && is_taken_);
  kernels::StateSequence sequence{.n_tokens = n_tokens, .behind = values_at(beside_, layer)};
  if (n_carried_[layer] > 0 || source_ == Source::beside)
    sequence.before = sequence.behind;
  else if (source_ == Source::running)
    sequence.before = values_at(running_, layer);
  n_carried_[layer] += n_tokens;
  return sequence;
}

// The end first, then backwards from it: what is wanted most often finds memory first.
Result<void> RecurrentStates::stage(std::size_t n_tokens, std::size_t bytes_left) {
  if (!any()) return {};
  drop_staged();
  const std::size_t end = first_ + n_tokens;
  std::vector<std::size_t> positions;
  for (const Checkpoint& checkpoint : checkpoints_) positions.push_back(checkpoint.position);
  const auto is_there = [&](std::size_t position) {
    return std::ranges::any_of(checkpoints_,
                               [&](const Checkpoint& each) { return each.position == position; });
  };
  for (const std::size_t position : wanted_checkpoints(first_, end, interval_))
    if (!is_there(position)) positions.push_back(position);
  positions = thinned(std::move(positions), end, checkpoints_most());
  while (!positions.empty()) {
    const std::size_t position = positions.back();
    positions.pop_back();
    if (is_there(position)) break;  // and so are all before it
    if (!stage_at({.position = position, .is_packed = packs_}, bytes_left)) break;
  }
  if (staged_.empty() || staged_[0].position != first_) return {};
  staged_[0].n_kept = n_layers();
  for (std::size_t layer = 0; layer < n_layers(); ++layer) {
    const Result<void> kept = keep(staged_[0], running_, layer);
    if (!kept.ok()) drop_staged();
    SATCHEL_TRY(kept);
  }
  return {};
}

bool RecurrentStates::stage_at(const SavedState& state, std::size_t bytes_left) {
  const std::size_t bytes = Arena::rounded_up(form(state.is_packed).bytes);
  while (arena_.unused_bytes() < bytes_left + bytes && !checkpoints_.empty()) {
    std::vector<std::size_t> positions;
    for (const Checkpoint& each : checkpoints_) positions.push_back(each.position);
    give(checkpoints_, least_missed(positions, state.position));
  }
  if (arena_.unused_bytes() < bytes_left + bytes) return false;
  const Result<ExtentId> extent = arena_.take_spare(bytes);
  if (!extent.ok()) return false;
  staged_.insert(staged_.begin(), {.position = state.position,
                                   .serial = state.serial,
                                   .is_packed = state.is_packed,
                                   .extent = *extent});
  return true;
}

std::size_t RecurrentStates::n_to_checkpoint(std::size_t layer) const {
  const std::size_t here = first_ + n_carried_[layer];
  for (const Checkpoint& each : staged_)
    if (each.position > here) return each.position - here;
  return SIZE_MAX;
}

Result<void> RecurrentStates::keep(std::size_t layer) {
  const std::size_t here = first_ + n_carried_[layer];
  for (Checkpoint& each : staged_) {
    if (each.position != here) continue;
    ++each.n_kept;
    return keep(each, beside_, layer);
  }
  return {};
}

void RecurrentStates::adopt(std::uint64_t& next_serial) {
  if (!any()) return;
  const std::size_t n = n_carried_[0];
  SATCHEL_ASSERT(n > 0 && std::ranges::count(n_carried_, n) ==
                              static_cast<std::ptrdiff_t>(n_carried_.size()));
  std::swap(running_, beside_);
  is_zero_ = false;
  n_text_ = first_ + n;
  running_serial_ = 0;
  for (Checkpoint& each : staged_) {
    SATCHEL_ASSERT(each.n_kept == n_layers());
    each.serial = next_serial++;
    if (each.position == n_text_ && !each.is_packed) running_serial_ = each.serial;
    checkpoints_.push_back(each);
  }
  staged_.clear();
  std::ranges::sort(checkpoints_, {}, &Checkpoint::position);
  thin();
}

void RecurrentStates::drop_staged() {
  while (!staged_.empty()) give(staged_, staged_.size() - 1);
}

void RecurrentStates::thin() {
  while (checkpoints_.size() > checkpoints_most()) give_spare();
}

// Those that are staged are of a prefill that needs memory: they go only after the others.
bool RecurrentStates::give_spare() {
  std::vector<Checkpoint>& from = checkpoints_.empty() ? staged_ : checkpoints_;
  if (from.empty()) return false;
  std::vector<std::size_t> positions;
  for (const Checkpoint& each : from) positions.push_back(each.position);
  give(from, least_missed(positions, std::max(n_text_, positions.back())));
  return true;
}

std::size_t RecurrentStates::nearest(std::size_t position) const {
  if (!any()) return position;
  if (are_left()) return position;
  if (position >= n_text_) return n_text_;
  std::size_t nearest = 0;
  for (const Checkpoint& each : checkpoints_)
    if (each.position <= position) nearest = each.position;
  return nearest;
}

// What is copied lies beside until cut(), or until a replay has used it.
Result<void> RecurrentStates::prepare_cut(std::size_t position) {
  if (!any() || are_left() || position == 0 || position == n_text_) return {};
  for (const Checkpoint& each : checkpoints_)
    if (each.position == position) return bring(each, beside_);
  return Error{ErrorKind::invalid, "CACHE_RANGE",
               "The states of the recurrent layers are not known at token " +
                   std::to_string(position) + ", so the text cannot be cut there."};
}

void RecurrentStates::cut(std::size_t position) {
  if (position == 0) return clear();
  if (!any() || are_left() || position == n_text_) return;
  std::erase_if(checkpoints_, [&](const Checkpoint& each) {
    if (each.position > position) arena_.give(each.extent);
    return each.position > position;
  });
  absent_ = false;
  std::swap(running_, beside_);
  running_serial_ = checkpoints_.back().is_packed ? 0 : checkpoints_.back().serial;
  n_text_ = position;
}

void RecurrentStates::leave() {
  clear();
  absent_ = any();
}

Result<void> RecurrentStates::copy_to(RecurrentStates& other) const {
  SATCHEL_ASSERT(&arena_ == &other.arena_ && shapes_ == other.shapes_);
  if (!any()) return {};
  other.clear();
  if (!is_zero_) SATCHEL_TRY(other.copy(other.running_, running_));
  other.is_zero_ = is_zero_;
  other.absent_ = absent_;
  other.n_text_ = n_text_;
  other.running_serial_ = running_serial_;
  other.checkpoints_ = checkpoints_;
  for (const Checkpoint& each : checkpoints_) arena_.share(each.extent);
  return {};
}

}  // namespace satchel::kvcache
