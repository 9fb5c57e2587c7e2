// Any text as a file of chats: Markdown, JSON, an export of ChatGPT or Open WebUI. What is read is
// written in both formats of ours, and read as the same.
#include <algorithm>
#include <string>

#include "app/chat_files/chat_file.h"
#include "kernels/base/assert.h"
#include "mutate.h"
#include "target.h"

namespace satchel::fuzz {
namespace {

using app::ChatFile;
using app::read_chat_files;

Input bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

constexpr std::string_view kOfChatGpt =
    R"([{"title":"Trip","current_node":"c","mapping":{"a":{"message":null,"parent":null},"b":{
    "parent":"a","message":{"author":{"role":"user"},"content":{"content_type":"multimodal_text",
    "parts":[{"image":1},"Where to?"]}}},"c":{"parent":"b","message":{"author":{"role":"assistant"},
    "content":{"content_type":"text","parts":["To the sea.","Soon."]}}}}}])";
constexpr std::string_view kOfOpenWebUi =
    R"([{"title":"outer","chat":{"title":"Soup","history":{"currentId":"2","messages":{"1":{
    "parentId":null,"role":"user","content":"A recipe?"},"2":{"parentId":"1","role":"assistant",
    "content":"Boil water."}}}}}])";

std::vector<Input> seeds() {
  const ChatFile chat{.title = "Harbour # notes",
                      .system = "Be brief.\n",
                      .messages = {{.kind = runtime::MessageKind::document,
                                    .title = "a --> b \"c\".txt",
                                    .text = "line\n\n"},
                                   {.role = runtime::Role::assistant, .text = "Noted."},
                                   {.text = "\\<!-- satchel: x\n## You"},
                                   {.role = runtime::Role::assistant,
                                    .state = runtime::MessageState::interrupted,
                                    .text = "\n  spaces  \n"}}};
  return {bytes_of(to_markdown(chat)), bytes_of(to_json_text(chat)), bytes_of(kOfChatGpt),
          bytes_of(kOfOpenWebUi)};
}

// One of the seeds, some strings of which, keys among them, became something else.
Input generate(Rng& rng) {
  constexpr std::size_t kDeep = 30'000;
  static const std::string kNested = std::string(kDeep, '[') + std::string(kDeep, ']');
  static const std::vector<Input> kSeeds = seeds();
  const std::string_view values[] = {"null",       "1",
                                     "[]",         "{}",
                                     "\"\"",       "\"\\ud800\"",
                                     "\"\\n\"",    "\"a\"",
                                     "\"system\"", "\"document\"",
                                     "[\"a\", 1]", "\"text\"",
                                     kNested,      "{\"a\": \"b\"}",
                                     "\"\xff\""};
  const Input& seed = kSeeds[below(rng, kSeeds.size())];
  std::string text(seed.begin(), seed.end());
  for (std::size_t n = 1 + below(rng, 4); n > 0; --n) {
    const std::size_t begin = text.find('"', below(rng, text.size()));
    const std::size_t end = text.find('"', begin + 1);
    if (begin == text.npos || end == text.npos) continue;
    text.replace(begin, end + 1 - begin, values[below(rng, std::size(values))]);
  }
  return bytes_of(text);
}

void check(ChatFile chat) {
  const std::string json = to_json_text(chat);
  const auto from_json = read_chat_files(json, "json");
  SATCHEL_ASSERT(from_json.ok() && from_json->size() == 1);
  SATCHEL_ASSERT(to_json_text(from_json->front()) == json);  // only what is no UTF-8 has changed
  const auto from_markdown = read_chat_files(to_markdown(chat), "markdown");
  SATCHEL_ASSERT(from_markdown.ok() && from_markdown->size() == 1);
  std::ranges::replace(chat.title, '\n', ' ');
  SATCHEL_ASSERT(from_markdown->front() == chat);
}

}  // namespace

const Target target{.name = "chat_file", .seeds = seeds, .generate = generate};

}  // namespace satchel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace satchel;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto chats = app::read_chat_files(text, "file");
  if (!chats.ok()) return 0;
  for (const app::ChatFile& chat : *chats) fuzz::check(chat);
  return 0;
}
