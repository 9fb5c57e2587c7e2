// Any bytes as a chat, size and checksum made right again. What is accepted is written again, and
// read as the same.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/base/bytes.h"
#include "kvcache/base/hash.h"
#include "mutate.h"
#include "runtime/chat_bytes/chat_bytes.h"
#include "runtime/chat_bytes/sections.h"
#include "target.h"

namespace satchel::fuzz {
namespace {

using runtime::ChatBytesReader;
using runtime::ChatBytesWriter;
using runtime::ChatCopy;

std::span<const std::byte> view(const std::uint8_t* bytes, std::size_t size) {
  return std::as_bytes(std::span(bytes, size));
}

void repair(Input& input) {
  constexpr std::size_t kHash = runtime::kChatHashBytes;
  if (input.size() < runtime::kChatHeadBytes + kHash) return;
  ByteWriter size;
  size.number(std::uint64_t{input.size()});
  std::memcpy(input.data() + runtime::kChatSizeAt, size.buffer().data(), size.size());
  const auto hash = kvcache::hash_bytes(view(input.data(), input.size() - kHash));
  std::memcpy(input.data() + input.size() - kHash, hash.data(), kHash);
}

std::vector<Input> seeds() {
  ChatBytesWriter writer;
  const std::vector<std::byte> record(40, std::byte{7});
  const auto key = runtime::copy_key();
  (void)writer.put_record(key, 1, record);
  (void)writer.commit(key, {.generation = 1, .manifest = record});
  ChatCopy copy;
  copy.setup = {.model_fingerprint = "m", .recipe_json = "{}", .system = "You are."};
  copy.notes["meter"] = "1";
  for (const char* text : {"Hello.", "Noted."})
    copy.messages.push_back(
        {.id = {}, .parent = {}, .title = "", .text = text, .tokens = {1, 2, 3}, .model = ""});
  copy.messages.back().role = runtime::Role::assistant;
  const std::string bytes = writer.finish(copy);
  return {Input(bytes.begin(), bytes.end())};
}

void expect(bool is_so) {
  if (!is_so) std::abort();
}

}  // namespace

const Target target = {.name = "chat_bytes", .seeds = seeds, .repair = repair};

}  // namespace satchel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace satchel;
  using namespace satchel::fuzz;
  const auto reader = ChatBytesReader::open(view(bytes, size));
  if (!reader.ok()) return 0;
  const auto key = runtime::copy_key();
  const auto manifest = (*reader)->newest_manifest(key);
  expect(manifest.ok());
  (void)(*reader)->record(key, 1);
  const std::string once = ChatBytesWriter().finish((*reader)->copy());
  const auto again = ChatBytesReader::open(std::as_bytes(std::span(once)));
  expect(again.ok() && ChatBytesWriter().finish((*again)->copy()) == once);
  return 0;
}
