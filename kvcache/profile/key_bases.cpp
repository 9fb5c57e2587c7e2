#include "kvcache/profile/key_bases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "kernels/base/assert.h"
#include "kernels/base/bytes.h"
#include "kernels/base/half.h"
#include "kvcache/base/hash.h"

namespace satchel::kvcache {
namespace {

constexpr std::string_view kMagic = "SATCHELK";
// Versions 1 and 2 began as blocks of a saved cache do, whose number behind it is never so small.
constexpr std::string_view kMagicBefore = "SATCHELB";
constexpr std::uint32_t kVersionBefore = 2;
constexpr double kPivotLeast =
    1e-12;  // of the largest entry; chosen: far below kKeyBasesConditionMost

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::uint64_t first_half(const Hash128& hash) {
  return ByteReader(hash).number<std::uint64_t>();
}

void swap_rows(std::vector<double>& rows, std::size_t n, std::size_t a, std::size_t b) {
  const auto row = [&](std::size_t i) { return rows.begin() + static_cast<std::ptrdiff_t>(i * n); };
  std::swap_ranges(row(a), row(a + 1), row(b));
}

// Of a [n, n], by Gauss and Jordan, the largest pivot of each column; empty where it is singular.
std::vector<double> inverse(std::vector<double> a, std::size_t n) {
  std::vector<double> out(n * n);
  for (std::size_t i = 0; i < n; ++i) out[i * n + i] = 1;
  double largest = 0;
  for (const double x : a) largest = std::max(largest, std::abs(x));
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r)
      if (std::abs(a[r * n + c]) > std::abs(a[pivot * n + c])) pivot = r;
    if (!(std::abs(a[pivot * n + c]) > kPivotLeast * largest)) return {};
    if (pivot != c) swap_rows(a, n, c, pivot), swap_rows(out, n, c, pivot);
    const double scale = 1 / a[c * n + c];
    for (std::size_t i = 0; i < n; ++i) a[c * n + i] *= scale, out[c * n + i] *= scale;
    for (std::size_t r = 0; r < n; ++r) {
      const double factor = a[r * n + c];
      if (r == c || factor == 0) continue;
      for (std::size_t i = 0; i < n; ++i) {
        a[r * n + i] -= factor * a[c * n + i];
        out[r * n + i] -= factor * out[c * n + i];
      }
    }
  }
  return out;
}

double largest_of(std::span<const float> values) {
  double largest = 0;
  for (const float x : values) largest = std::max(largest, static_cast<double>(std::abs(x)));
  return largest;
}

// `from` of `to`, which has been rounded. What is wrong, or nothing.
std::string_view turn_back(KeyBases::Lane& lane) {
  const std::size_t d = lane.head_dim;
  if (!std::ranges::all_of(lane.to, [](float x) { return std::isfinite(x); }))
    return "contains a value that is NaN or too large for fp16";
  const std::vector<double> inverted = inverse({lane.to.begin(), lane.to.end()}, d);
  if (inverted.empty()) return "is singular: it has no inverse";
  lane.from.resize(d * d);
  for (std::size_t r = 0; r < d; ++r)
    for (std::size_t c = 0; c < d; ++c)
      lane.from[r * d + c] = static_cast<float>(inverted[c * d + r]);
  if (!(largest_of(lane.to) * largest_of(lane.from) <= kKeyBasesConditionMost))
    return "is nearly singular: its inverse would lose too much precision";
  return {};
}

void write_matrix(ByteWriter& out, std::span<const float> matrix) {
  for (const float x : matrix) out.number(float_to_half(x));
}
void write_lane(ByteWriter& out, const KeyBases::Lane& lane) {
  out.number(static_cast<std::uint32_t>(lane.head_dim));
  write_matrix(out, lane.to);
}

// What is wrong with the values' matrix of a lane, which has been rounded, or nothing.
std::string_view flaw_of_values(std::span<const float> values, std::size_t d) {
  for (std::size_t a = 0; a < d; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      double sum = a == b ? -1 : 0;
      for (std::size_t i = 0; i < d; ++i)
        sum += static_cast<double>(values[i * d + a]) * static_cast<double>(values[i * d + b]);
      if (!(std::abs(sum) <= kValueBasesOffMost)) return "is not orthogonal";
    }
  return {};
}

std::uint64_t id_of_values(std::span<const std::vector<float>> values) {
  if (values.empty()) return 0;
  ByteWriter out;
  for (const std::vector<float>& matrix : values) write_matrix(out, matrix);
  return std::max<std::uint64_t>(first_half(hash_bytes(out.buffer())), 1);
}

// Texts are for people, who read them on a terminal.
bool is_shown(char c) {
  return static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
}
std::string shown(std::string_view text) {
  std::string out;
  std::ranges::copy_if(text.substr(0, kKeyBasesTextMax), std::back_inserter(out), is_shown);
  return out;
}

Error flaw_of(std::string_view called, std::size_t at, const std::string& what) {
  return {ErrorKind::corrupt, "KEY_BASES",
          "\"" + std::string(called) + "\" " + what + " (byte " + std::to_string(at) +
              "). Delete the file and run \"satchel calibrate\" to make it again."};
}

Error other_version(std::string_view called) {
  return {
      ErrorKind::corrupt, "KEY_BASES",
      "\"" + std::string(called) +
          "\" is from another version of Satchel. Run \"satchel calibrate\" again to replace the "
          "file."};
}

bool is_of_before(std::string_view bytes) {
  if (!bytes.starts_with(kMagicBefore)) return false;
  ByteReader reader(bytes_of(bytes.substr(kMagicBefore.size())));
  const auto version = reader.number<std::uint32_t>();
  return reader.ok() && version <= kVersionBefore;
}

// Reads a file whose checksum is right; what is wrong stands where it was found.
class Parser {
 public:
  Parser(std::span<const std::byte> bytes, std::string_view called)
      : all_(bytes), reader_(bytes), called_(called) {}

  Result<KeyBases> parse() {
    KeyBases bases;
    reader_.bytes(kMagic.size());
    const auto version = reader_.number<std::uint32_t>();
    has_values_ = version == kKeyBasesWithValues;
    if (reader_.ok() && version != kKeyBasesVersion && !has_values_) return other_version(called_);
    const auto n_lanes = reader_.number<std::uint32_t>();
    if (n_lanes == 0 || n_lanes > kKeyBasesLanesMax) return wrong("has no lanes, or too many");
    for (std::string* text : {&bases.model, &bases.name, &bases.source}) {
      *text = reader_.text(kKeyBasesTextMax);
      if (!reader_.ok() || !std::ranges::all_of(*text, is_shown))
        return wrong("has a text that is truncated, too long or unprintable");
    }
    while (bases.lanes.size() < n_lanes) SATCHEL_TRY(add_lane(bases));
    if (reader_.left() != 0) return wrong("has extra bytes after its last lane");
    bases.id = key_bases_id(bases.lanes);
    bases.values_id = id_of_values(bases.values);
    return bases;
  }

 private:
  // Lengths before memory.
  Result<void> add_lane(KeyBases& bases) {
    const auto d = std::size_t{reader_.number<std::uint32_t>()};
    if (d == 0 || d > kernels::kHeadDimMax) return wrong("has an impossible key size");
    if (reader_.left() < (has_values_ ? 2 : 1) * d * d * sizeof(Half)) return wrong("is truncated");
    KeyBases::Lane lane{.head_dim = d, .to = std::vector<float>(d * d), .from = {}};
    for (float& x : lane.to) x = half_to_float(reader_.number<Half>());
    const std::string_view flaw = turn_back(lane);
    if (!flaw.empty())
      return wrong("cannot be used: the matrix of lane " + std::to_string(bases.lanes.size()) +
                   " " + std::string(flaw));
    bases.lanes.push_back(std::move(lane));
    return has_values_ ? add_values(bases, d) : Result<void>();
  }
  Result<void> add_values(KeyBases& bases, std::size_t d) {
    std::vector<float> values(d * d);
    for (float& x : values) x = half_to_float(reader_.number<Half>());
    const std::string_view flaw = flaw_of_values(values, d);
    if (!flaw.empty())
      return wrong("cannot be used: the values' matrix of lane " +
                   std::to_string(bases.values.size()) + " " + std::string(flaw));
    bases.values.push_back(std::move(values));
    return {};
  }
  Error wrong(const std::string& what) const { return flaw_of(called_, reader_.at(), what); }

  std::span<const std::byte> all_;
  ByteReader reader_;
  std::string_view called_;
  bool has_values_ = false;
};

}  // namespace

std::uint64_t key_bases_id(std::span<const KeyBases::Lane> lanes, const KeyBasesForm& form) {
  ByteWriter out;
  out.number(form.version).number(form.frame_tokens);
  for (const KeyBases::Lane& lane : lanes) write_lane(out, lane);
  return first_half(hash_bytes(out.buffer()));
}

Result<KeyBases> KeyBases::make(KeyBases of) {
  for (std::string* text : {&of.model, &of.name, &of.source}) *text = shown(*text);
  for (std::size_t i = 0; i < of.lanes.size(); ++i) {
    Lane& lane = of.lanes[i];
    SATCHEL_ASSERT(lane.head_dim > 0 && lane.to.size() == lane.head_dim * lane.head_dim);
    for (float& x : lane.to) x = half_to_float(float_to_half(x));
    const std::string_view flaw = turn_back(lane);
    if (!flaw.empty())
      return Error{ErrorKind::corrupt, "KEY_BASES",
                   "The matrix computed for lane " + std::to_string(i) + " " + std::string(flaw) +
                       ". Nothing was saved. Try other or longer texts."};
  }
  SATCHEL_ASSERT(of.values.empty() || of.values.size() == of.lanes.size());
  for (std::size_t i = 0; i < of.values.size(); ++i) {
    SATCHEL_ASSERT(of.values[i].size() == of.lanes[i].to.size());
    for (float& x : of.values[i]) x = half_to_float(float_to_half(x));
    const std::string_view flaw = flaw_of_values(of.values[i], of.lanes[i].head_dim);
    if (!flaw.empty())
      return Error{ErrorKind::corrupt, "KEY_BASES",
                   "The values' matrix computed for lane " + std::to_string(i) + " " +
                       std::string(flaw) + ". Nothing was saved. Try other or longer texts."};
  }
  of.id = key_bases_id(of.lanes);
  of.values_id = id_of_values(of.values);
  return of;
}

Result<KeyBases> KeyBases::parse(std::string_view bytes, std::string_view called) {
  const std::span<const std::byte> all = bytes_of(bytes);
  constexpr std::size_t kHash = sizeof(Hash128);
  if (bytes.size() > kKeyBasesBytesMax) return flaw_of(called, 0, "has more than 64 MiB");
  if (is_of_before(bytes)) return other_version(called);
  if (!bytes.starts_with(kMagic)) return flaw_of(called, 0, "is not a key bases file");
  const std::size_t n = bytes.size() < kMagic.size() + kHash ? 0 : bytes.size() - kHash;
  const Hash128 hash = hash_bytes(all.first(n));
  if (n == 0 || std::memcmp(hash.data(), all.subspan(n).data(), kHash) != 0)
    return flaw_of(called, n, "is truncated or damaged: its checksum is wrong");
  return Parser(all.first(n), called).parse();
}

std::string KeyBases::bytes() const {
  ByteWriter out;
  out.bytes(bytes_of(kMagic)).number(values.empty() ? kKeyBasesVersion : kKeyBasesWithValues);
  out.number(static_cast<std::uint32_t>(lanes.size()));
  out.text(model).text(name).text(source);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    write_lane(out, lanes[i]);
    if (!values.empty()) write_matrix(out, values[i]);
  }
  out.bytes(hash_bytes(out.buffer()));
  return {reinterpret_cast<const char*>(out.buffer().data()), out.size()};
}

}  // namespace satchel::kvcache
