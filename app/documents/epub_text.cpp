// EPUB: the chapters that its spine lists, in that order (EPUB 3.3, 5.6).
#include <map>
#include <vector>

#include "app/documents/formats.h"
#include "app/documents/xml_file.h"
#include "app/documents/zip_file.h"

namespace satchel::app {
namespace {

// "a%20b" is "a b"; what follows '#' is a place in the file.
std::string decoded(std::string_view href) {
  href = href.substr(0, href.find('#'));
  std::string out;
  for (std::size_t i = 0; i < href.size(); ++i) {
    const std::string code(href.substr(i + 1, 2));
    const bool is_code = href[i] == '%' &&
                         code.find_first_not_of("0123456789abcdefABCDEF") == code.npos &&
                         code.size() == 2;
    out += is_code ? static_cast<char>(std::stoi(code, nullptr, 16)) : href[i];
    if (is_code) i += 2;
  }
  return out;
}

// Of a file that the package names, in the archive.
std::string entry_of(const std::string& package, const std::string& href) {
  const std::filesystem::path beside = std::filesystem::path(package).parent_path();
  return (beside / decoded(href)).lexically_normal().generic_string();
}

Result<std::string> package_of(const ZipFile& file) {
  SATCHEL_TRY_ASSIGN(const std::string xml, file.read("META-INF/container.xml"));
  SATCHEL_TRY_ASSIGN(const XmlFile parsed, parse_xml(xml));
  std::string package;
  walk(xmlDocGetRootElement(parsed.get()), [&](const xmlNode& node) {
    if (name_of(node) == "rootfile" && package.empty()) package = attribute(node, "full-path");
    return true;
  });
  if (package.empty()) return not_whole("EPUB");
  return package;
}

Result<std::vector<std::string>> chapters_of(const ZipFile& file) {
  SATCHEL_TRY_ASSIGN(const std::string package, package_of(file));
  SATCHEL_TRY_ASSIGN(const std::string xml, file.read(package));
  SATCHEL_TRY_ASSIGN(const XmlFile parsed, parse_xml(xml));
  std::map<std::string, std::string> files;
  std::vector<std::string> chapters;
  walk(xmlDocGetRootElement(parsed.get()), [&](const xmlNode& node) {
    if (name_of(node) == "item") files[attribute(node, "id")] = attribute(node, "href");
    if (name_of(node) == "itemref") {
      const auto found = files.find(attribute(node, "idref"));
      if (found != files.end()) chapters.push_back(entry_of(package, found->second));
    }
    return true;
  });
  return chapters;
}

}  // namespace

Result<std::string> epub_text(const ZipFile& file) {
  SATCHEL_TRY_ASSIGN(const std::vector<std::string> chapters, chapters_of(file));
  std::string text;
  for (const std::string& chapter : chapters) {
    SATCHEL_TRY_ASSIGN(const std::string html, file.read(chapter));
    SATCHEL_TRY_ASSIGN(const std::string part, html_text(html));
    if (!text.empty() && !part.empty()) text += '\n';
    text += part;
    if (text.size() > kDocumentTextBytesMax) return too_much_text();
  }
  return text;
}

}  // namespace satchel::app
