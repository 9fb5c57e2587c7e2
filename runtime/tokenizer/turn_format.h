// TurnFormat: what one family of chat templates writes around the texts of a chat, as data.
//   literals  spell control tokens by name (<|im_start|>); they are parsed, the texts are not.
//             "{eos}" stands for the vocabulary's own end token
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace satchel::runtime {

// White space right after a control token, in SentencePiece vocabularies.
enum class AfterMarker {
  kept,
  drops_own,  // what the template writes: the space prefix of the text stands for it
  drops_all,  // the text's own at its beginning as well: the model's tokens swallow it
};

struct TurnFormat {
  std::string_view name = {};  // for --template
  std::string_view system_before = {}, system_after = {};
  std::string_view user_before = {}, user_after = {};
  std::string_view head = {};                              // makes the model answer
  std::string_view answer_before = {}, answer_after = {};  // around a given answer
  std::string_view end = {};                               // closes an answer; "": eos
  std::string_view after_end = {};
  bool closes_answers = true;  // else the text goes on behind an answer that the model did not end
  // Named literals that must be control tokens; "": no more.
  std::array<std::string_view, 4> needs = {};
  bool system_in_first_turn = false;  // between user_before and the first user text
  bool writes_bos = false;            // where a template was not recognised but named
  bool bos_with_each_user_turn = false;
  bool trims = false;             // as writes_bos
  bool trims_system_end = false;  // white space at the end of the system text goes in any case
  // A turn begins with text right behind the text of the one before: SentencePiece vocabularies put
  // no space prefix there.
  bool begins_in_text = false;
  AfterMarker after_marker = AfterMarker::kept;

  // What a model writes around its thoughts, at the beginning of its answer. Models without it do
  // not begin an answer so.
  std::string_view think_begin = "<think>", think_end = "</think>";
  bool opens_thinking = false;  // as writes_bos: head_think stands behind the head
  std::string_view head_think = {};
  std::string_view head_no_think = {};  // behind the head where thinking is off; "": no switch
  bool answers_have_no_think = false;   // behind the head of a given answer as well
  // In front of any system text, written without one too; with thinking and without.
  std::string_view preamble = {}, preamble_no_think = {};
};

// The known formats, in the order in which they are offered.
std::span<const TurnFormat> turn_formats();
// needs a name of the table
const TurnFormat& turn_format(std::string_view name);

}  // namespace satchel::runtime
