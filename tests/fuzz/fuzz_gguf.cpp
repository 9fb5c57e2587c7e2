// Any bytes as a GGUF file: open, and where that works, use everything it gives out, among it the
// configuration, chat template and vocabulary of a model.
#include <cstring>
#include <string>

#include "forged_model.h"
#include "gguf_exercise.h"
#include "mutate.h"
#include "support/gguf_writer.h"
#include "target.h"

namespace satchel::fuzz {
namespace {

Input to_input(const std::vector<std::byte>& bytes) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {begin, begin + bytes.size()};
}

std::vector<Input> seeds() {
  const float values[] = {1, 2, 3, 4};
  Rng rng(1);
  return {to_input(forged_model(rng).bytes()),
          to_input(forged_model(rng).bytes()),
          to_input(tests::small_gguf().bytes()),
          to_input(tests::small_gguf().version(2).bytes()),
          to_input(tests::GgufWriter().bytes()),
          to_input(tests::GgufWriter().alignment(8).add_tensor("t", {2, 2}, values).bytes()),
          to_input(tests::GgufWriter()
                       .add_string("tokenizer.chat_template",
                                   "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + "
                                   "m['content'] + '<|im_end|>' }}{% endfor %}")
                       .bytes()),
          to_input(tests::GgufWriter().add_u16("split.count", 2).bytes())};
}

// Small most of the time, extreme at others.
std::uint64_t some_number(Rng& rng) {
  return below(rng, 3) == 0 ? extreme_number(rng) : below(rng, 300);
}

std::vector<std::byte> random_bytes(Rng& rng, std::size_t count) {
  std::vector<std::byte> out(count);
  for (std::byte& b : out)
    b = static_cast<std::byte>(below(rng, 4) == 0 ? rng.next() : below(rng, 14));
  return out;
}

// A well-formed file with forged fields: values of any type id, arrays that promise what they do
// not hold, tensors of any type, shape and offset; half of them beside those of a model.
Input generate(Rng& rng) {
  tests::GgufWriter writer;
  if (below(rng, 2) == 0) {
    writer = forged_model(rng);
    if (below(rng, 4) != 0) return to_input(writer.bytes());
  }
  if (below(rng, 4) == 0) writer.alignment(static_cast<std::uint32_t>(some_number(rng) & 0x3fff));
  for (std::size_t left = below(rng, 6); left > 0; --left) {
    std::vector<std::byte> value = random_bytes(rng, below(rng, 64));
    const std::uint64_t length = some_number(rng);
    if (value.size() >= 12) std::memcpy(value.data() + (below(rng, 2) == 0 ? 0 : 4), &length, 8);
    writer.add_raw("key." + std::to_string(left), static_cast<std::uint32_t>(below(rng, 14)),
                   value);
  }
  const std::vector<std::byte> data = random_bytes(rng, below(rng, 2048));
  for (std::size_t left = below(rng, 6); left > 0; --left) {
    std::uint64_t dims[5];
    for (std::uint64_t& dim : dims)
      dim = below(rng, 3) == 0 ? 32 * below(rng, 20) : some_number(rng);
    const std::span<const std::uint64_t> shape(dims, below(rng, 6));
    const auto type = static_cast<std::uint32_t>(below(rng, 44));
    const std::string name = "tensor." + std::to_string(below(rng, 20));
    if (below(rng, 2) == 0)
      writer.add_tensor(name, type, shape, data);
    else
      writer.declare_tensor(name, type, shape,
                            below(rng, 2) == 0 ? 32 * below(rng, 40) : some_number(rng));
  }
  Input out = to_input(writer.bytes());
  if (out.size() > kInputBytesMax) out.resize(kInputBytesMax);
  return out;
}

}  // namespace

extern const Target target{.name = "fuzz_gguf", .seeds = seeds, .generate = generate};

}  // namespace satchel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto file = satchel::runtime::GgufFile::view(std::as_bytes(std::span(bytes, size)));
  // Kept where the compiler cannot see that nobody reads it.
  [[maybe_unused]] volatile std::uint64_t sum =
      file.ok() ? satchel::fuzz::use_everything(*file) : file.error().message.size();
  return 0;
}
