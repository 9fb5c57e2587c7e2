// Any text as an answer that streams: its parts lose no word and no code, and what has come stays
// as it is while more comes, but for the last part.
#include <algorithm>
#include <string>
#include <string_view>

#include "kernels/base/assert.h"
#include "mutate.h"
#include "target.h"
#include "ui/model/markdown_parts.h"

namespace satchel::fuzz {
namespace {

using namespace Qt::StringLiterals;

Input bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

constexpr std::string_view kPieces[] = {"# A heading\n",
                                        "\n",
                                        "Words and `code`.\n",
                                        "- item\n",
                                        "  - inner\n",
                                        "> quoted\n",
                                        "```\n",
                                        "```cpp\n",
                                        "~~~~\n",
                                        "~~~\n",
                                        "    indented\n",
                                        "1. one\n",
                                        "| a | b |\n",
                                        "|---|---|\n",
                                        "````\n",
                                        "   ```\n",
                                        "\t\n",
                                        "***\n",
                                        "\r\n",
                                        "``` not ``` a fence\n",
                                        "[link](x)\n",
                                        "<div>\n",
                                        "$$\n",
                                        "$$ x = 1 $$\n",
                                        "\\[\n",
                                        "y\\]\n",
                                        "é😀\n"};

std::vector<Input> seeds() {
  return {bytes_of("Words.\n\n```cpp\nint x;\n```\n\nMore.\n"), bytes_of("- a\n\n  b\n\nAfter\n"),
          bytes_of("~~~\nnever closed\n"), bytes_of("So\n\n$$\nx^2\n$$\n\nand \\[y\\]\n")};
}

Input generate(Rng& rng) {
  std::string text;
  for (std::size_t n = 1 + below(rng, 30); n > 0; --n)
    text += kPieces[below(rng, std::size(kPieces))];
  return bytes_of(text);
}

// All that is seen of it, without what separates parts and opens and closes code and formulas.
QString words_of(const QString& text) {
  QString words;
  for (const QChar c : text)
    if (!c.isSpace() && !u"`~$\\[]"_s.contains(c)) words += c;
  return words;
}

void check(const QString& text) {
  using ui::MessagePart;
  const QList<MessagePart> parts = ui::markdownParts(text);
  // A formula's language stands nowhere in the text: who writes it is not checked.
  const QString latex = u"latex"_s;
  QString words;
  for (const MessagePart& part : parts) {
    if (part.kind == MessagePart::Code && part.language != latex) words += words_of(part.language);
    words += words_of(part.text);
  }
  SATCHEL_ASSERT(words_of(text).contains(latex) || words == words_of(text));
  for (const qsizetype n : {text.size() / 3, text.size() / 2, text.size() - 1}) {
    const QList<MessagePart> before = ui::markdownParts(text.first(std::max<qsizetype>(n, 0)));
    SATCHEL_ASSERT(before.size() <= parts.size());
    for (qsizetype i = 0; i + 1 < before.size(); ++i) SATCHEL_ASSERT(before[i] == parts[i]);
  }
}

}  // namespace

const Target target{.name = "markdown_parts", .seeds = seeds, .generate = generate};

}  // namespace satchel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto* text = reinterpret_cast<const char*>(bytes);
  satchel::fuzz::check(QString::fromUtf8(text, static_cast<qsizetype>(size)));
  return 0;
}
