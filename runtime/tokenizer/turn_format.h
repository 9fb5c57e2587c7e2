// TurnFormat: the text that a family of chat templates writes around messages, as data.
//   literals  contain control tokens by name (<|im_start|>). They are parsed; messages are not.
//             "{eos}" is the vocabulary's own end token.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace satchel::runtime {

// White space right after a control token, in SentencePiece vocabularies.
enum class AfterMarker {
  kept,
  drops_own,  // drops the template's: the space prefix of the text replaces it
  drops_all,  // also drops the text's own leading white space, as the model's tokens do
};

struct TurnFormat {
  std::string_view name = {};  // for --template
  std::string_view system_before = {}, system_after = {};
  std::string_view user_before = {}, user_after = {};
  std::string_view head = {};                              // makes the model answer
  std::string_view answer_before = {}, answer_after = {};  // around a given answer
  std::string_view end = {};                               // closes an answer; "": eos
  std::string_view after_end = {};
  // Ends an answer that calls a tool, which no other token closes; "": as any. Behind result_end,
  // with which what came of it ends, the same turn goes on, without a head.
  std::string_view call_end = {}, result_end = {};
  bool closes_answers = true;  // false: the text continues after an answer without an end token
  // Named literals that must be control tokens; "": no more.
  std::array<std::string_view, 4> needs = {};
  bool system_in_first_turn = false;  // between user_before and the first user text
  bool has_empty_system = false;      // a system turn stands there even without a text
  bool writes_bos = false;            // for templates chosen by name, not detected
  bool bos_with_each_user_turn = false;
  bool trims = false;             // as writes_bos
  bool trims_answers = false;     // always trims given answers
  bool trims_system_end = false;  // always trims white space at the end of the system text
  // A turn begins with text directly after the text of the turn before it: SentencePiece
  // vocabularies add no space prefix there.
  bool begins_in_text = false;
  AfterMarker after_marker = AfterMarker::kept;

  // The marks that a model writes around its thoughts, at the beginning of its answer. Models that
  // do not think never begin an answer this way.
  std::string_view think_begin = "<think>", think_end = "</think>";
  bool opens_thinking = false;  // as writes_bos: head_think follows the head
  std::string_view head_think = {};
  std::string_view head_no_think = {};  // after the head if thinking is off; "": no switch
  bool answers_have_no_think = false;   // also after the head of a given answer
  // Without being asked the model does not think: automatic is off.
  bool thinks_if_asked = false;
  // Before any system text, even an empty one; with thinking and without.
  std::string_view preamble = {}, preamble_no_think = {};
  std::string_view opening = {};  // a turn of the template's own, before the system turn
  // An answer begins with answer_before, which the model writes itself, behind thoughts too; each
  // thought, of several, with think_begin.
  bool marks_answers = false;
  // For templates chosen by name: how tools are told (tool_marks.h).
  std::string_view tools = "json";
};

// The known formats, in the order in which they are offered.
std::span<const TurnFormat> turn_formats();
// needs a name of the table
const TurnFormat& turn_format(std::string_view name);

}  // namespace satchel::runtime
