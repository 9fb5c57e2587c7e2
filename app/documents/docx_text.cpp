// Word: word/document.xml (ECMA-376, part 1, chapter 17).
#include <algorithm>

#include "app/documents/formats.h"
#include "app/documents/text_writer.h"
#include "app/documents/xml_file.h"
#include "app/documents/zip_file.h"

namespace satchel::app {
namespace {

// What its style says: "Heading2" is a heading of level 2; 0: none.
std::size_t heading_of(const xmlNode& paragraph) {
  std::size_t level = 0;
  walk(paragraph.children, [&](const xmlNode& node) {
    const std::string_view name = name_of(node);
    if (name == "pStyle") {
      const std::string style = attribute(node, "val");
      const bool is_heading = style.size() == 8 && style.starts_with("Heading");
      if (is_heading && style[7] >= '1' && style[7] <= '6')
        level = static_cast<std::size_t>(style[7] - '0');
      if (style == "Title") level = 1;
    }
    return name == "pPr";
  });
  return level;
}

bool is_listed(const xmlNode& paragraph) {
  bool found = false;
  walk(paragraph.children, [&](const xmlNode& node) {
    found = found || name_of(node) == "numPr";
    return name_of(node) == "pPr";
  });
  return found;
}

class WordText {
 public:
  void add(const xmlNode* nodes) {
    walk(nodes, [&](const xmlNode& node) { return element(node); });
  }
  std::string take() { return out_.take(); }

 private:
  // Whether what is below has still to be added.
  bool element(const xmlNode& node) {
    const std::string_view name = name_of(node);
    if (name == "del" || name == "instrText" || name == "pPr" || name == "rPr") return false;
    if (name == "Fallback") return false;  // the same once more, for older programs
    if (name == "p") return paragraph(node);
    if (name == "tbl") return table(node);
    if (name == "tab") out_.text(" ");
    if (name == "br" || name == "cr") out_.line();
    if (name == "t" && node.children != nullptr && node.children->content != nullptr)
      out_.text(reinterpret_cast<const char*>(node.children->content));
    return name != "t";
  }
  bool paragraph(const xmlNode& node) {
    const std::size_t heading = heading_of(node);
    const bool is_item = is_listed(node);
    if (is_in_table_) {
      out_.text(" ");
    } else if (is_item && was_item_) {
      out_.line();
    } else {
      out_.block();
    }
    was_item_ = is_item;
    if (heading > 0) out_.mark(std::string(heading, '#') + " ");
    if (is_item) out_.mark("- ");
    add(node.children);
    out_.drop_mark();
    return false;
  }
  bool table(const xmlNode& node) {
    const bool was_in_table = std::exchange(is_in_table_, true);
    if (!was_in_table) out_.block();
    walk(node.children, [&](const xmlNode& row) {
      if (name_of(row) != "tr") return name_of(row) != "tblPr";
      if (!was_in_table) out_.line();
      bool is_first = true;
      walk(row.children, [&](const xmlNode& cell) {
        if (name_of(cell) != "tc") return name_of(cell) != "trPr";
        if (!std::exchange(is_first, false)) out_.text(" | ");
        add(cell.children);
        return false;
      });
      return false;
    });
    is_in_table_ = was_in_table;
    if (!was_in_table) out_.block();
    return false;
  }

  TextWriter out_;
  bool is_in_table_ = false, was_item_ = false;
};

}  // namespace

Result<std::string> docx_text(const ZipFile& file) {
  SATCHEL_TRY_ASSIGN(const std::string xml, file.read("word/document.xml"));
  SATCHEL_TRY_ASSIGN(const XmlFile parsed, parse_xml(xml));
  WordText text;
  text.add(xmlDocGetRootElement(parsed.get()));
  return text.take();
}

}  // namespace satchel::app
