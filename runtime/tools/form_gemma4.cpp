// Calls in a spelling like JSON's, with marks of their own around strings.
//   form    <|tool_call>call:NAME{key:<|"|>text<|"|>,…}<tool_call|>, names in their order. The
//           model's turn goes on behind a call: <|tool_response>response:NAME{value:…}
//           <tool_response|>, then its answer. The tools stand at the end of the system text
//   differs the template writes what was said beside calls behind the results; here it stands
//           before the calls, as it was said. It leaves out parameters named as a keyword of
//           schemas (type, description …); here all are told
//   source  the template of Gemma 4
#include <utility>

#include "runtime/grammar/json_excess.h"
#include "runtime/grammar/json_schema.h"
#include "runtime/tools/gemma_values.h"
#include "runtime/tools/tool_text.h"

namespace satchel::runtime {
namespace {

using Json = OrderedJson;
using Node = GrammarBuilder::Node;

constexpr std::string_view kBegin = "<|tool_call>", kEnd = "<tool_call|>";

// --- what is told

void add_text(const std::string& text, MarkedText& out) {
  add_gemma_value(text, GemmaKeys::quoted, out);
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

const Json* member(const Json& of, const char* name) {
  if (!of.is_object()) return nullptr;
  const auto found = of.find(name);
  return found == of.end() || found->is_null() ? nullptr : &*found;
}

// Of several the first.
std::string type_of(const Json& schema) {
  const Json* type = member(schema, "type");
  if (type != nullptr && type->is_array() && !type->empty()) type = &(*type)[0];
  return type != nullptr && type->is_string() ? upper(type->get<std::string>()) : "";
}

void add_parameters(const Json& properties, MarkedText& out);

void add_required(const Json& names, MarkedText& out) {
  out.add("required:");
  add_gemma_value(names, GemmaKeys::quoted, out);
}

void add_properties(const Json& properties, MarkedText& out) {
  out.add("properties:{");
  if (properties.is_object()) add_parameters(properties, out);
  out.add("}");
}

void add_items(const Json& items, MarkedText& out) {
  out.add("items:{");
  bool is_first = true;
  for (const std::string& name : sorted_names(items)) {
    if (items[name].is_null()) continue;
    out.add(std::exchange(is_first, false) ? "" : ",");
    if (name == "properties") {
      add_properties(items[name], out);
    } else if (name == "required") {
      add_required(items[name], out);
    } else {
      out.add(name + ":");
      if (name == "type")
        add_text(type_of(items), out);
      else
        add_gemma_value(items[name], GemmaKeys::quoted, out);
    }
  }
  out.add("}");
}

// What a parameter is, each part but the last with a comma behind it.
void add_parameter(const Json& schema, MarkedText& out) {
  const std::string type = type_of(schema);
  if (const Json* text = member(schema, "description"); text != nullptr && text->is_string()) {
    out.add("description:");
    add_text(text->get<std::string>(), out);
    out.add(",");
  }
  if (const Json* values = member(schema, "enum"); values != nullptr && type == "STRING") {
    out.add("enum:");
    add_gemma_value(*values, GemmaKeys::quoted, out);
    out.add(",");
  }
  if (const Json* items = member(schema, "items");
      items != nullptr && items->is_object() && type == "ARRAY") {
    add_items(*items, out);
    out.add(",");
  }
  if (const Json* null = member(schema, "nullable"); null != nullptr && *null == Json(true))
    out.add("nullable:true,");
  if (type == "OBJECT") {
    const Json* const properties = member(schema, "properties");
    add_properties(properties != nullptr ? *properties : Json::object(), out);
    out.add(",");
    if (const Json* required = member(schema, "required");
        required != nullptr && !required->empty()) {
      add_required(*required, out);
      out.add(",");
    }
  }
  out.add("type:");
  add_text(type, out);
}

void add_parameters(const Json& properties, MarkedText& out) {
  bool is_first = true;
  for (const std::string& name : sorted_names(properties)) {
    out.add(std::exchange(is_first, false) ? "" : ",").add(name + ":{");
    add_parameter(properties[name], out);
    out.add("}");
  }
}

void add_declaration(const Tool& tool, MarkedText& out) {
  out.mark("<|tool>").add("declaration:" + tool.name + "{description:");
  add_text(tool.description, out);
  const Json schema = Json::parse(tool.parameters, nullptr, false);
  if (schema.is_object() && !schema.empty()) {
    out.add(",parameters:{");
    if (const Json* properties = member(schema, "properties");
        properties != nullptr && !properties->empty()) {
      add_properties(*properties, out);
      out.add(",");
    }
    if (const Json* required = member(schema, "required");
        required != nullptr && !required->empty()) {
      add_required(*required, out);
      out.add(",");
    }
    out.add("type:");
    add_text(type_of(schema).empty() ? "OBJECT" : type_of(schema), out);
    out.add("}");
  }
  out.add("}").mark("<tool|>");
}

MarkedText system_text(std::string_view text, std::span<const Tool> tools) {
  MarkedText out;
  out.add(trimmed(text));
  for (const Tool& tool : tools) add_declaration(tool, out);
  return out;
}

MarkedText answer(std::string_view text, std::span<const ToolCall> calls) {
  MarkedText out;
  out.add(trimmed(text));
  for (const ToolCall& call : calls) {
    const Json arguments = arguments_of(call);
    out.mark(kBegin).add("call:" + call.name);
    add_gemma_value(arguments.is_object() ? arguments : Json::object(), GemmaKeys::bare, out);
    out.mark(kEnd);
  }
  return out;
}

MarkedText results(std::span<const ToolResult> all) {
  MarkedText out;
  for (const ToolResult& one : all) {
    out.mark("<|tool_response>").add("response:" + one.name + "{value:");
    add_text(one.text, out);
    out.add("}").mark("<tool_response|>");
  }
  out.marks.is_turn = true;
  return out;
}

// --- what is read

std::size_t end_of(std::string_view text) {
  return end_behind_gemma(text, kEnd);
}

bool read(std::string_view text, std::span<const Tool>, std::vector<ToolCall>& calls) {
  if (!text.ends_with(kEnd)) return false;
  text.remove_suffix(kEnd.size());
  ToolCall call;
  if (!read_gemma_call(text, call)) return false;
  calls.push_back(std::move(call));
  return true;
}

// --- what may be said

// The same schema, with its properties in the order in which the model names them.
Json sorted(const Json& schema) {
  if (schema.is_array()) {
    Json out = Json::array();
    for (const Json& one : schema) out.push_back(sorted(one));
    return out;
  }
  if (!schema.is_object()) return schema;
  Json out = Json::object();
  for (const auto& [name, value] : schema.items()) {
    if (name == "enum" || name == "const") {
      out[name] = value;
    } else if (name == "properties" && value.is_object()) {
      Json& properties = out[name] = Json::object();
      for (const std::string& each : sorted_names(value)) properties[each] = sorted(value[each]);
    } else {
      out[name] = sorted(value);
    }
  }
  return out;
}

Result<Node> calls(CallGrammar& grammar) {
  GrammarBuilder& b = grammar.builder;
  JsonRules values(b, {.name = "gemma",
                       .quote = kGemmaQuote,
                       .escapes = false,
                       .end = kGemmaQuote,
                       .quotes_keys = false});
  std::vector<Node> ways;
  for (std::size_t i = 0; i < grammar.tools.size(); ++i) {
    const Tool& tool = grammar.tools[i];
    const bool is_good = json_excess(schema_of(tool)) == nullptr;
    const Json schema = is_good ? Json::parse(schema_of(tool), nullptr, false) : Json();
    const std::string text = is_good && !schema.is_discarded() ? compact_json(sorted(schema))
                                                               : std::string(schema_of(tool));
    const Result<Node> arguments = add_schema(text, "tool-" + std::to_string(i), b, values);
    if (!arguments.ok()) return of_tool(tool, arguments.error());
    ways.push_back(b.sequence({b.text("call:" + tool.name), *arguments}));
  }
  const Node call = b.sequence({b.any_of(std::move(ways)), grammar.mark(kEnd)});
  return grammar.list(call, grammar.mark(kBegin));
}

}  // namespace

extern const ToolForm form_gemma4{.name = "gemma-4",
                                  .begin = kBegin,
                                  .system = system_text,
                                  .answer = answer,
                                  .results = results,
                                  .end_of = end_of,
                                  .read = read,
                                  .calls = calls};

}  // namespace satchel::runtime
