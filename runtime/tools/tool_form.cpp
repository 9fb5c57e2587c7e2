#include "runtime/tools/tool_form.h"

#include <algorithm>
#include <array>

#include "kernels/base/assert.h"

namespace satchel::runtime {

// Each in a file of its own.
extern const ToolForm form_json, form_xml, form_xml_coder, form_xml_nemotron, form_harmony,
    form_gemma4, form_glm, form_glm_47, form_lfm2, form_lfm2_5, form_nemotron;

namespace {

constexpr std::array kForms = {&form_json,    &form_xml,    &form_xml_coder, &form_xml_nemotron,
                               &form_harmony, &form_gemma4, &form_glm,       &form_glm_47,
                               &form_lfm2,    &form_lfm2_5, &form_nemotron};

}  // namespace

std::span<const ToolForm* const> tool_forms() {
  return kForms;
}

const ToolForm& tool_form(std::string_view name) {
  const auto found =
      std::ranges::find_if(kForms, [&](const ToolForm* form) { return form->name == name; });
  SATCHEL_ASSERT(found != kForms.end());
  return **found;
}

}  // namespace satchel::runtime
