// PublishedSystem: a published system for the KV cache, and what Satchel has of it. The list is
// systems.json, compiled in; why a system is refused is said by kvcache (refused_stages()) alone.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::app {

enum class SystemStatus { built, in_part, refused, not_built };
std::string_view to_text(SystemStatus status);  // "in part"

struct PublishedSystem {
  std::string name, title;
  std::string source;  // "arXiv:2405.14256", as recipes and stages cite it
  SystemStatus status = SystemStatus::not_built;
  std::vector<std::string> recipes;
  std::vector<std::string> files;  // from the root of the repository
  std::string what;                // Satchel has of it; of one that it lacks: what that does
  std::string why;                 // Satchel lacks it; else ""
  std::string measured;            // figures of ours; "" where nothing was measured
  std::string measured_in;         // document that has them: "docs/codecs.md#which-one"
  std::string measured_by;         // command or test that gives them
  std::string published;           // the paper's own figures; "" where none are known to us
  std::string compared;            // whether they measure the same, and where the system pays
  std::vector<std::string> tests;  // files, from the root of the repository
};

std::string_view systems_json();  // written by the build
// By name, in any form of letter.
//   errors  internal: a list that is not in the form of systems.json
Result<std::vector<PublishedSystem>> read_systems(std::string_view json);

// A system by its name or that of a recipe of it; case and signs do not count: "a^2ats".
//   errors  not_found, SYSTEM: names the nearest
Result<PublishedSystem> find_system(std::span<const PublishedSystem> systems,
                                    std::string_view name);

// docs/systems.md.
std::string systems_page(std::span<const PublishedSystem> systems);

}  // namespace satchel::app
