#include "support/toy_coder.h"

#include <algorithm>
#include <array>
#include <vector>

namespace satchel::test {
namespace {

// How likely the next bit is 0, in 2048ths, by the bits of the byte that stand before it.
class Model {
 public:
  std::uint16_t& at(unsigned context) { return zeros_[context]; }
  static void learn(std::uint16_t& zero, bool bit) {
    const int step = bit ? -(zero >> 5) : (2048 - zero) >> 5;
    zero = static_cast<std::uint16_t>(zero + step);
  }

 private:
  std::array<std::uint16_t, 256> zeros_ = [] {
    std::array<std::uint16_t, 256> even = {};
    even.fill(1024);
    return even;
  }();
};

class Encoder {
 public:
  void bit(std::uint16_t& zero, bool bit) {
    const std::uint32_t bound = (range_ >> 11) * zero;
    if (bit) low_ += bound;
    range_ = bit ? range_ - bound : bound;
    Model::learn(zero, bit);
    for (; range_ < (1u << 24); range_ <<= 8) shift();
  }
  std::vector<std::byte> finish() {
    for (int i = 0; i < 5; ++i) shift();
    return std::move(out_);
  }

 private:
  void shift() {
    if (low_ >> 32 != 0)  // a carry runs through the bytes that stand
      for (std::size_t i = out_.size(); i-- > 0;) {
        out_[i] = static_cast<std::byte>(std::to_integer<unsigned>(out_[i]) + 1);
        if (out_[i] != std::byte{0}) break;
      }
    out_.push_back(static_cast<std::byte>((low_ >> 24) & 0xff));
    low_ = (low_ & 0xffffff) << 8;
  }
  std::uint64_t low_ = 0;
  std::uint32_t range_ = 0xffffffff;
  std::vector<std::byte> out_ = {};
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> from) : from_(from) {
    for (int i = 0; i < 4; ++i) shift();
  }
  bool bit(std::uint16_t& zero) {
    const std::uint32_t bound = (range_ >> 11) * zero;
    const bool bit = code_ >= bound;
    if (bit) code_ -= bound;
    range_ = bit ? range_ - bound : bound;
    Model::learn(zero, bit);
    for (; range_ < (1u << 24); range_ <<= 8) shift();
    return bit;
  }

 private:
  void shift() {  // behind the end lie zeros
    const unsigned next = from_.empty() ? 0 : std::to_integer<unsigned>(from_.front());
    from_ = from_.subspan(from_.empty() ? 0 : 1);
    code_ = (code_ << 8) | next;
  }
  std::span<const std::byte> from_;
  std::uint32_t range_ = 0xffffffff, code_ = 0;
};

}  // namespace

std::size_t ToyCoder::encode(std::span<const std::byte> from, std::span<std::byte> to) const {
  Model model;
  Encoder encoder;
  for (const std::byte value : from)
    for (unsigned bits = 8, context = 1; bits-- > 0;) {
      const bool bit = ((std::to_integer<unsigned>(value) >> bits) & 1u) != 0;
      encoder.bit(model.at(context), bit);
      context = 2 * context + (bit ? 1 : 0);
    }
  const std::vector<std::byte> out = encoder.finish();
  if (out.size() > to.size()) return 0;
  std::ranges::copy(out, to.begin());
  return out.size();
}

bool ToyCoder::decode(std::span<const kvcache::CodedStream> streams) const {
  for (const kvcache::CodedStream& stream : streams) {
    Model model;
    Decoder decoder(stream.from);
    for (std::byte& value : stream.to) {
      unsigned context = 1;
      while (context < 256) context = 2 * context + (decoder.bit(model.at(context)) ? 1 : 0);
      value = static_cast<std::byte>(context & 0xffu);
    }
  }
  return true;
}

}  // namespace satchel::test
