// HTML and XHTML, as libxml2 takes them: whatever is wrong in them is mended or left out.
#include <libxml/HTMLparser.h>
#include <libxml/tree.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "app/documents/formats.h"
#include "app/documents/text_writer.h"

namespace satchel::app {
namespace {

constexpr auto kLeftOut = std::to_array<std::string_view>(
    {"script", "style", "head", "noscript", "template", "svg", "math", "iframe", "object"});
constexpr auto kBlocks = std::to_array<std::string_view>(
    {"p",     "div",    "section",    "article", "header",   "footer", "main",
     "aside", "nav",    "ul",         "ol",      "dl",       "table",  "blockquote",
     "pre",   "figure", "figcaption", "form",    "fieldset", "hr",     "body"});
constexpr auto kLines = std::to_array<std::string_view>({"li", "tr", "dt", "dd", "caption"});

bool is_in(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

std::string_view view(const xmlChar* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

// 1 to 6 of "h1" to "h6"; 0: no heading.
std::size_t heading_of(std::string_view name) {
  const bool is_heading = name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6';
  return is_heading ? static_cast<std::size_t>(name[1] - '0') : 0;
}

class HtmlText {
 public:
  void add(const xmlNode* node, bool is_pre) {
    for (; node != nullptr; node = node->next) {
      if (node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE) {
        is_pre ? out_.verbatim(view(node->content)) : out_.text(view(node->content));
      } else if (node->type == XML_ELEMENT_NODE) {
        element(*node, is_pre);
      }
    }
  }
  std::string take() { return out_.take(); }

 private:
  void element(const xmlNode& node, bool is_pre) {
    const std::string_view name = view(node.name);
    if (is_in(name, kLeftOut)) return;
    const std::size_t heading = heading_of(name);
    const bool is_block = heading > 0 || is_in(name, kBlocks), is_line = is_in(name, kLines);
    if (name == "br") out_.line();
    if (is_block) out_.block();
    if (is_line) out_.line();
    if (heading > 0) out_.mark(std::string(heading, '#') + " ");
    if (name == "li") out_.mark("- ");
    if ((name == "td" || name == "th") && node.prev != nullptr) out_.text(" | ");
    add(node.children, is_pre || name == "pre");
    if (is_block) out_.block();
    if (is_line) out_.line();
  }

  TextWriter out_;
};

// What libxml2 leaves out beyond its limits, and says only as an error: elements more than 255
// deep, texts of more than 10 MB.
bool is_cut(const xmlError* error) {
  return error != nullptr &&
         (error->code == XML_ERR_INTERNAL_ERROR || error->code == XML_ERR_NO_MEMORY);
}

}  // namespace

Result<std::string> html_text(std::string_view html) {
  constexpr int kOptions = HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                           HTML_PARSE_NONET | HTML_PARSE_COMPACT;
  // What says nothing else of itself is UTF-8.
  const bool says = html.starts_with("\xff\xfe") || html.starts_with("\xfe\xff") ||
                    html.substr(0, 1024).find("charset") != html.npos ||
                    html.substr(0, 100).find("encoding") != html.npos;
  bool is_short = false;
  const auto see = [](void* found, xmlErrorPtr error) {
    if (is_cut(error)) *static_cast<bool*>(found) = true;
  };
  xmlSetStructuredErrorFunc(&is_short, see);
  const std::unique_ptr<xmlDoc, decltype(&xmlFreeDoc)> parsed(
      htmlReadMemory(html.data(), static_cast<int>(html.size()), nullptr, says ? nullptr : "UTF-8",
                     kOptions),
      &xmlFreeDoc);
  xmlSetStructuredErrorFunc(nullptr, nullptr);
  if (is_short)
    return Error{ErrorKind::invalid, "DOC_LIMIT",
                 "Its HTML is nested too deeply, or one of its texts is larger than 10 MB. Save it "
                 "as plain text."};
  HtmlText text;
  if (parsed != nullptr) text.add(xmlDocGetRootElement(parsed.get()), false);
  return text.take();
}

}  // namespace satchel::app
