// Calls as elements, a parameter each; strings stand bare, other values are JSON.
//   form    <tool_call>\n<function=NAME>\n<parameter=P>\nVALUE\n</parameter>\n</function>\n
//           </tool_call>; results as <tool_response> in a user's message
//   source  the templates of Qwen 3.5 ("xml": the tools come first, as JSON), Qwen 3 Coder
//           ("xml-coder") and Nemotron 3 ("xml-nemotron": they come last, as elements)
#include <algorithm>
#include <utility>

#include "runtime/tools/bare_values.h"
#include "runtime/tools/tool_text.h"

namespace satchel::runtime {
namespace {

using Json = OrderedJson;
using Node = GrammarBuilder::Node;

constexpr std::string_view kBegin = "<tool_call>", kEnd = "</tool_call>";
constexpr std::string_view kFunction = "<function=", kFunctionEnd = "</function>";
constexpr std::string_view kParameter = "<parameter=", kValueEnd = "\n</parameter>";
constexpr std::string_view kPairs =
    "\n\n<tool_call>\n<function=example_function_name>\n<parameter=example_parameter_1>\nvalue_1\n"
    "</parameter>\n<parameter=example_parameter_2>\n";
constexpr std::string_view kLongPairs =
    "This is the value for the second parameter\nthat can span\nmultiple lines\n";
constexpr std::string_view kNested =
    "</parameter>\n</function>\n</tool_call>\n\n<IMPORTANT>\nReminder:\n- Function calls MUST "
    "follow the specified format: ";
constexpr std::string_view kReminder =
    "\n- Required parameters MUST be specified\n- You may provide optional reasoning for your "
    "function call in natural language BEFORE the function call, but NOT after\n- If there is no "
    "function call available, answer the question like normal with your current knowledge and do "
    "not tell the user about function calls\n</IMPORTANT>";
constexpr std::string_view kInner =
    "an inner <function=...></function> block must be nested within <tool_call></tool_call> XML "
    "tags";

std::string how_to_call() {
  return "\n\nIf you choose to call a function ONLY reply in the following format with NO suffix:" +
         std::string(kPairs) + std::string(kLongPairs) + std::string(kNested) +
         std::string(kInner) + std::string(kReminder);
}

// --- what is told

MarkedText system_qwen(std::string_view text, std::span<const Tool> tools) {
  MarkedText out;
  out.add("# Tools\n\nYou have access to the following functions:\n\n<tools>");
  for (const Tool& tool : tools) out.add("\n" + spaced_json(tool_json(tool)));
  out.add("\n</tools>").add(how_to_call());
  text = trimmed(text);
  return out.add(text.empty() ? "" : "\n\n").add(text);
}

// As Python prints a value that is no list or object.
std::string python_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  return bare_text(value);
}

void add_element(const std::string& name, const std::string& text, std::string& out) {
  out += "\n<" + name + ">" + text + "</" + name + ">";
}

// What of an object has no element of its own yet.
void add_others(const Json& given, std::initializer_list<std::string_view> known,
                std::string& out) {
  for (const auto& [name, value] : given.items())
    if (std::ranges::find(known, name) == known.end())
      add_element(name, value.is_structured() ? spaced_json(value) : python_text(value), out);
}

// Nemotron's template puts the names that it looks for in an order of its own.
enum class Order { given, own };

void add_parameter(const std::string& name, const Json& schema, Order order, std::string& out) {
  out += "\n<parameter>";
  add_element("name", name, out);
  if (schema.contains("type")) add_element("type", python_text(schema["type"]), out);
  if (schema.contains("description"))
    add_element("description", std::string(trimmed(python_text(schema["description"]))), out);
  const bool is_own = order == Order::own;
  if (is_own && schema.contains("enum")) add_element("enum", spaced_json(schema["enum"]), out);
  add_others(schema, {"name", "type", "description", is_own ? "enum" : ""}, out);
  out += "\n</parameter>";
}

std::string tool_list(std::span<const Tool> tools, Order order) {
  const bool is_own = order == Order::own;
  std::string out = "<tools>";
  for (const Tool& tool : tools) {
    out += "\n<function>";
    add_element("name", tool.name, out);
    if (!tool.description.empty())
      add_element("description", std::string(trimmed(tool.description)), out);
    out += "\n<parameters>";
    const Json schema = Json::parse(tool.parameters, nullptr, false);
    if (schema.is_object()) {
      if (schema.contains("properties") && schema["properties"].is_object())
        for (const auto& [name, one] : schema["properties"].items())
          add_parameter(name, one.is_object() ? one : Json::object(), order, out);
      add_others(schema, {"type", "properties", is_own ? "required" : ""}, out);
      if (is_own && schema.contains("required"))
        add_element("required", spaced_json(schema["required"]), out);
    }
    out += "\n</parameters>\n</function>";
  }
  return out + "\n</tools>";
}

MarkedText system_coder(std::string_view text, std::span<const Tool> tools) {
  MarkedText out;
  out.add(!text.empty() ? text
                        : "You are Qwen, a helpful AI assistant that can interact with a computer "
                          "to solve tasks.");
  out.add("\n\n# Tools\n\nYou have access to the following tools:\n\n")
      .add(tool_list(tools, Order::given));
  out.add("\n\nIf you choose to call a tool ONLY reply in the following format with NO suffix:");
  return out.add(kPairs)
      .add("value_2\n")
      .add(kNested)
      .add(
          "the tool calling block MUST begin with an opening <tool_call> tag and end with a "
          "closing "
          "</tool_call> tag." +
          std::string(kReminder));
}

MarkedText system_nemotron(std::string_view text, std::span<const Tool> tools) {
  MarkedText out;
  out.add(text).add(text.empty() ? "" : "\n\n");
  out.add("# Tools\n\nYou have access to the following functions:\n\n");
  return out.add(tool_list(tools, Order::own)).add(how_to_call());
}

// Between its marks.
std::string call_text(const ToolCall& call) {
  std::string out = "\n" + std::string(kFunction) + call.name + ">\n";
  const Json arguments = arguments_of(call);
  if (arguments.is_object())
    for (const auto& [name, value] : arguments.items())
      out +=
          std::string(kParameter) + name + ">\n" + bare_text(value) + std::string(kValueEnd) + "\n";
  return out + std::string(kFunctionEnd) + "\n";
}

// Around the calls of an answer and the results of a message.
struct Layout {
  std::string_view behind_text, behind_calls, behind_result;
  std::string_view before_calls = "";  // that stand alone
};

template <const Layout& kLayout>
MarkedText answer(std::string_view text, std::span<const ToolCall> calls) {
  MarkedText out;
  text = trimmed(text);
  // Marked, as a template that trims answers leaves these.
  out.add(text).mark(text.empty() ? kLayout.before_calls : "");
  out.add(text.empty() ? "" : kLayout.behind_text);
  for (const ToolCall& call : calls)
    out.add(&call == calls.data() ? "" : "\n").mark(kBegin).add(call_text(call)).mark(kEnd);
  return out.mark(kLayout.behind_calls);
}

template <const Layout& kLayout>
MarkedText results(std::span<const ToolResult> all) {
  MarkedText out;
  for (const ToolResult& one : all) {
    out.add(&one == all.data() || !kLayout.behind_result.empty() ? "" : "\n");
    const bool trims = kLayout.behind_result.empty();
    out.add("<tool_response>\n").add(trims ? trimmed(one.text) : std::string_view(one.text));
    out.add("\n</tool_response>").add(kLayout.behind_result);
  }
  return out;
}

// --- what is read

// Takes `mark` and a name up to ">" from the front.
bool take_name(std::string_view& text, std::string_view mark, std::string& name) {
  text = text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
  if (!text.starts_with(mark)) return false;
  const std::size_t end = text.find('>', mark.size());
  if (end == std::string_view::npos) return false;
  name = text.substr(mark.size(), end - mark.size());
  text.remove_prefix(end + 1);
  return true;
}

// A value without the line break before it.
bool take_value(std::string_view& text, std::string_view& value) {
  const std::size_t end = text.find(kValueEnd);
  if (end == std::string_view::npos) return false;
  value = text.substr(0, end);
  if (value.starts_with("\n")) value.remove_prefix(1);
  text.remove_prefix(end + kValueEnd.size());
  return true;
}

// Leaves what stands behind the last value.
bool skip_values(std::string_view& text) {
  std::string name;
  std::string_view value;
  if (!take_name(text, kFunction, name)) return false;
  while (take_name(text, kParameter, name))
    if (!take_value(text, value)) return false;
  return true;
}

std::size_t end_of(std::string_view text) {
  std::string_view rest = text;
  if (!skip_values(rest)) rest = text;
  const std::size_t before = text.size() - rest.size();
  // Inside a value that goes on there may be an end that is none.
  const bool is_open = before == 0 && trimmed(text).starts_with(kFunction) &&
                       text.find(kParameter) < text.find(kEnd);
  const std::size_t end = is_open ? std::string_view::npos : rest.find(kEnd);
  return end == std::string_view::npos ? end : before + end + kEnd.size();
}

bool read(std::string_view text, std::span<const Tool> tools, std::vector<ToolCall>& calls) {
  std::string function, name;
  if (!take_name(text, kFunction, function)) return false;
  const std::vector<Parameter> known = known_parameters(tools, function);
  Json arguments = Json::object();
  std::string_view value;
  while (take_name(text, kParameter, name)) {
    if (!take_value(text, value)) return false;
    arguments[name] = read_bare(value, find_parameter(known, name));
  }
  text = trimmed(text);
  if (!text.starts_with(kFunctionEnd)) return false;
  if (trimmed(text.substr(kFunctionEnd.size())) != kEnd) return false;
  calls.push_back({.id = {}, .name = function, .arguments = compact_json(arguments)});
  return true;
}

// --- what may be said

Result<Node> parameters(const Tool& tool, const std::string& rule_name, BareValues& values,
                        GrammarBuilder& b) {
  SATCHEL_TRY_ASSIGN(const std::vector<Parameter> all, checked_parameters(tool));
  std::vector<Node> parts;
  for (const Parameter& one : all) {
    SATCHEL_TRY_ASSIGN(const Node value, values.value(tool, one, rule_name));
    const Node whole =
        b.sequence({b.text(std::string(kParameter) + one.name + ">\n"), value, b.text("\n")});
    parts.push_back(one.is_required ? whole : b.maybe(whole));
  }
  return b.sequence(std::move(parts));
}

Result<Node> calls(CallGrammar& grammar) {
  GrammarBuilder& b = grammar.builder;
  BareValues values(b, kValueEnd);
  std::vector<Node> ways;
  for (std::size_t i = 0; i < grammar.tools.size(); ++i) {
    const Tool& tool = grammar.tools[i];
    const Result<Node> all = parameters(tool, "tool-" + std::to_string(i), values, b);
    if (!all.ok()) return of_tool(tool, all.error());
    ways.push_back(b.sequence({b.text("\n" + std::string(kFunction) + tool.name + ">\n"), *all}));
  }
  const Node call = b.sequence(
      {b.any_of(std::move(ways)), b.text(std::string(kFunctionEnd) + "\n"), grammar.mark(kEnd)});
  const Node all = grammar.list(call, b.sequence({b.text("\n"), grammar.mark(kBegin)}));
  return b.sequence({all, b.maybe(b.text("\n"))});
}

constexpr Layout kQwen{.behind_text = "\n\n", .behind_calls = "", .behind_result = ""};
constexpr Layout kCoder{.behind_text = "\n\n", .behind_calls = "", .behind_result = "\n"};
constexpr Layout kNemotron{
    .behind_text = "\n", .behind_calls = "\n", .behind_result = "\n", .before_calls = "\n"};

}  // namespace

extern const ToolForm form_xml{.name = "xml",
                               .begin = kBegin,
                               .system = system_qwen,
                               .answer = answer<kQwen>,
                               .results = results<kQwen>,
                               .end_of = end_of,
                               .read = read,
                               .calls = calls};
extern const ToolForm form_xml_coder{.name = "xml-coder",
                                     .begin = kBegin,
                                     .system = system_coder,
                                     .answer = answer<kCoder>,
                                     .results = results<kCoder>,
                                     .end_of = end_of,
                                     .read = read,
                                     .calls = calls};
extern const ToolForm form_xml_nemotron{.name = "xml-nemotron",
                                        .begin = kBegin,
                                        .system = system_nemotron,
                                        .answer = answer<kNemotron>,
                                        .results = results<kNemotron>,
                                        .end_of = end_of,
                                        .read = read,
                                        .calls = calls};

}  // namespace satchel::runtime
