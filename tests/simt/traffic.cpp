#include "simt/traffic.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "simt/code_lines.h"
#include "simt/memory.h"
#include "simt/shared_check.h"

namespace simt {

bool is_traffic_counted = false;

namespace {

constexpr std::size_t kBanks = 32, kWordBytes = 4, kSectorBytes = 32,
                      kWavefrontBytes = kBanks * kWordBytes;
constexpr unsigned kWidthBits = 5;  // up to 16 bytes

struct Place {
  const void *kernel, *code;
  Memory memory;
  auto operator<=>(const Place&) const = default;
};
// Accesses of a warp's threads of one width at one place since they last met.
struct Pending {
  std::array<std::uint32_t, kWarpLanes> n_of_lane = {};
  std::vector<WarpAddresses> repetitions;
};
struct Counter {
  std::array<std::unordered_map<std::uintptr_t, Pending>, kBlockThreadsMax / kWarpLanes> warps;
  std::map<Place, Traffic> places;
};
Counter& counter() {
  static Counter state;
  return state;
}

// A range is copied in accesses of several widths at one place, so each width counts by itself.
std::uintptr_t key_of(const void* code, std::size_t bytes, Memory memory) {
  return (reinterpret_cast<std::uintptr_t>(code) << kWidthBits | bytes) << 1 |
         (memory == Memory::shared ? 1 : 0);
}
std::size_t bytes_of(std::uintptr_t key) {
  return (key >> 1) & ((std::uintptr_t{1} << kWidthBits) - 1);
}
Place place_of(std::uintptr_t key) {
  return {running_launch().kernel, reinterpret_cast<const void*>(key >> 1 >> kWidthBits),
          (key & 1) != 0 ? Memory::shared : Memory::device};
}

std::uintptr_t number(const std::byte* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

// How many different units of `unit` bytes lanes first … first + n touch.
std::vector<std::uintptr_t> units_of(const WarpAddresses& at, std::size_t bytes, std::size_t unit,
                                     std::size_t first, std::size_t n) {
  std::vector<std::uintptr_t> units;
  for (std::size_t lane = first; lane < first + n; ++lane) {
    if (at[lane] == nullptr) continue;
    const std::uintptr_t last = (number(at[lane]) + bytes - 1) / unit;
    for (std::uintptr_t i = number(at[lane]) / unit; i <= last; ++i) units.push_back(i);
  }
  std::ranges::sort(units);
  units.erase(std::ranges::unique(units).begin(), units.end());
  return units;
}

bool are_pairs_alike(const WarpAddresses& at, std::size_t distance) {
  for (std::size_t lane = 0; lane < kWarpLanes; ++lane) {
    const auto *mine = at[lane], *other = at[lane ^ distance];
    if (mine != nullptr && other != nullptr && mine != other) return false;
  }
  return true;
}

Traffic of_shared(const WarpAddresses& at, std::size_t bytes) {
  const bool has_pairs = bytes > kWordBytes && (are_pairs_alike(at, 1) || are_pairs_alike(at, 2));
  const std::size_t parts = std::max(bytes / kWordBytes, std::size_t{1}) / (has_pairs ? 2 : 1);
  Traffic out{.n_accesses = 1};
  for (std::size_t part = 0; part < parts; ++part) {
    std::array<std::size_t, kBanks> n_words = {};
    const std::size_t lanes = kWarpLanes / parts;
    for (const std::uintptr_t word : units_of(at, bytes, kWordBytes, part * lanes, lanes))
      ++n_words[word % kBanks];
    out.taken += *std::ranges::max_element(n_words);
  }
  const auto n_lanes = kWarpLanes - static_cast<std::size_t>(std::ranges::count(at, nullptr));
  const std::size_t brought = n_lanes * std::max(bytes, kWordBytes) / (has_pairs ? 2 : 1);
  const std::size_t words = units_of(at, bytes, kWordBytes, 0, kWarpLanes).size();
  out.least = (std::max(brought, words * kWordBytes) + kWavefrontBytes - 1) / kWavefrontBytes;
  return out;
}

Traffic of_device(const WarpAddresses& at, std::size_t bytes) {
  const std::size_t different = units_of(at, bytes, 1, 0, kWarpLanes).size();
  return {.n_accesses = 1,
          .taken = units_of(at, bytes, kSectorBytes, 0, kWarpLanes).size(),
          .least = (different + kSectorBytes - 1) / kSectorBytes};
}

bool is_counted_memory(const void* at) {
  return is_in_shared_range(at) || is_in_device_range(at);
}
Memory memory_of(const void* at) {
  return is_in_shared_range(at) ? Memory::shared : Memory::device;
}

}  // namespace

Traffic& Traffic::operator+=(const Traffic& more) {
  n_accesses += more.n_accesses;
  taken += more.taken;
  least += more.least;
  return *this;
}

Traffic traffic_of_access(Memory memory, const WarpAddresses& at, std::size_t bytes) {
  return memory == Memory::shared ? of_shared(at, bytes) : of_device(at, bytes);
}

void count_traffic(bool is_counted) {
  is_traffic_counted = is_counted;
  counter() = {};
}

void note_access(const void* code, const void* at, std::size_t bytes) {
  const Thread* thread = current();
  if (thread == nullptr || !is_counted_memory(at)) return;
  Pending& pending = counter().warps[thread->warp()][key_of(code, bytes, memory_of(at))];
  const std::uint32_t repetition = pending.n_of_lane[thread->lane()]++;
  if (repetition == pending.repetitions.size()) pending.repetitions.emplace_back();
  pending.repetitions[repetition][thread->lane()] = static_cast<const std::byte*>(at);
}

void note_range(const void* code, const void* at, std::size_t bytes) {
  const auto* byte = static_cast<const std::byte*>(at);
  for (const std::byte* const end = byte + bytes; byte < end;) {
    std::size_t n = 16;
    while (number(byte) % n != 0 || byte + n > end) n /= 2;
    note_access(code, byte, n);
    byte += n;
  }
}

void note_warp_access(const void* code, const WarpAddresses& at, std::size_t bytes) {
  const auto first = std::ranges::find_if(at, [](const auto* each) { return each != nullptr; });
  if (first == at.end() || !is_counted_memory(*first)) return;
  const Memory memory = memory_of(*first);
  counter().places[{running_launch().kernel, code, memory}] += traffic_of_access(memory, at, bytes);
}

void end_warp_traffic(unsigned warp) {
  Counter& all = counter();
  for (const auto& [key, pending] : all.warps[warp]) {
    const Place place = place_of(key);
    Traffic& sum = all.places[place];
    for (const WarpAddresses& at : pending.repetitions)
      sum += traffic_of_access(place.memory, at, bytes_of(key));
  }
  all.warps[warp].clear();
}

void end_block_traffic() {
  for (unsigned warp = 0; warp < kBlockThreadsMax / kWarpLanes; ++warp) end_warp_traffic(warp);
}

std::vector<LineTraffic> take_traffic() {
  const auto places = std::exchange(counter().places, {});
  std::vector<const void*> codes;
  for (const auto& [place, traffic] : places) codes.push_back(place.code);
  const std::vector<std::string> lines = lines_of_calls(codes);
  std::map<const void*, std::string> kernels;
  std::map<std::tuple<std::string, std::string, Memory>, Traffic> sums;
  std::size_t i = 0;
  for (const auto& [place, traffic] : places) {
    std::string& kernel = kernels[place.kernel];
    if (kernel.empty()) kernel = short_name_of_kernel(place.kernel);
    sums[{kernel, lines[i++], place.memory}] += traffic;
  }
  std::vector<LineTraffic> out;
  for (const auto& [key, traffic] : sums)
    out.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), traffic});
  std::ranges::stable_sort(out, std::ranges::greater(), [](const LineTraffic& line) {
    return line.traffic.taken - line.traffic.least;
  });
  return out;
}

}  // namespace simt
