#include "app/documents/xml_file.h"

#include <libxml/parser.h>

#include "app/documents/formats.h"

namespace satchel::app {

Result<XmlFile> parse_xml(std::string_view xml) {
  constexpr int kOptions =
      XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_COMPACT;
  XmlFile file(xmlReadMemory(xml.data(), static_cast<int>(xml.size()), nullptr, nullptr, kOptions),
               &xmlFreeDoc);
  if (file == nullptr) return not_whole("XML");
  return file;
}

std::string_view name_of(const xmlNode& node) {
  return node.name == nullptr ? std::string_view() : reinterpret_cast<const char*>(node.name);
}

std::string attribute(const xmlNode& node, const char* name) {
  for (const xmlAttr* each = node.properties; each != nullptr; each = each->next) {
    if (xmlStrEqual(each->name, reinterpret_cast<const xmlChar*>(name)) == 0) continue;
    const xmlNode* value = each->children;
    return value == nullptr || value->content == nullptr
               ? std::string()
               : reinterpret_cast<const char*>(value->content);
  }
  return {};
}

}  // namespace satchel::app
