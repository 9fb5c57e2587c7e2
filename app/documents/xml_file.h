// XML of a file that is not ours: no DTD is loaded, no entity is fetched, no network is asked.
#pragma once

#include <libxml/tree.h>

#include <memory>
#include <string_view>

#include "kernels/base/result.h"

namespace satchel::app {

using XmlFile = std::unique_ptr<xmlDoc, decltype(&xmlFreeDoc)>;
Result<XmlFile> parse_xml(std::string_view xml);  // DOC_FORMAT

// The element's name and an attribute, without their namespaces; "": there is none.
std::string_view name_of(const xmlNode& node);
std::string attribute(const xmlNode& node, const char* name);

// Calls `see` for each element below, in order; it returns whether to look below that one.
template <class See>
void walk(const xmlNode* node, const See& see) {
  for (; node != nullptr; node = node->next)
    if (node->type == XML_ELEMENT_NODE && see(*node)) walk(node->children, see);
}

}  // namespace satchel::app
