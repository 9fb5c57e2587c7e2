// The house rules that a machine can check: layers, forbidden includes, sizes, words, links.
// Layers: ARCHITECTURE.md. Sizes: chosen, so that a file or a function is read at one sitting.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {
namespace fs = std::filesystem;

const fs::path kRoot = SATCHEL_SOURCE_DIR;
constexpr std::size_t kFileLinesMax = 600, kFunctionLinesMax = 70, kKernelLinesMax = 120,
                      kColumnsMax = 100;

struct Source {
  std::string path;  // from the root
  std::string text;
  std::vector<std::string> lines;
};

std::vector<Source> sources() {
  std::vector<Source> found;
  for (const char* folder : {"kernels", "kvcache", "runtime", "storage", "ui", "app", "tests"}) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
      std::ifstream in(entry.path());
      std::stringstream all;
      all << in.rdbuf();
      Source source{fs::relative(entry.path(), kRoot).string(), all.str(), {}};
      for (std::string line; std::getline(all, line);) source.lines.push_back(line);
      found.push_back(std::move(source));
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
  return found;
}

bool begins(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}
std::string layer_of(const std::string& path) {
  return path.substr(0, path.find('/'));
}

// layer -> layers it may use, read from the one table there is.
std::map<std::string, std::set<std::string>> may_use() {
  std::ifstream in(kRoot / "packaging/cmake/layers.cmake");
  std::map<std::string, std::set<std::string>> table;
  const std::regex row(R"re(^set\(MAY_USE_(\w+) "?([\w ]*)"?\))re");
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, row)) continue;
    std::istringstream words(match[2].str());
    table[match[1].str()];
    for (std::string word; words >> word;) table[match[1].str()].insert(word);
  }
  return table;
}

struct Include {
  std::string path, name;
  std::size_t line;
};
std::vector<Include> includes() {
  std::vector<Include> found;
  const std::regex directive(R"re(^\s*#\s*include\s*[<"]([^>"]+)[>"])re");
  for (const Source& source : sources())
    for (std::size_t i = 0; i < source.lines.size(); ++i)
      if (std::smatch match; std::regex_search(source.lines[i], match, directive))
        found.push_back({source.path, match[1].str(), i + 1});
  return found;
}

TEST(Layers, no_file_includes_a_layer_above_its_own) {
  const auto table = may_use();
  ASSERT_EQ(table.size(), 5u) << "packaging/cmake/layers.cmake is not read as expected";
  for (const Include& include : includes()) {
    const std::string from = layer_of(include.path), to = layer_of(include.name);
    if (!table.contains(from) || !table.contains(to) || from == to) continue;
    EXPECT_TRUE(table.at(from).contains(to))
        << include.path << ":" << include.line << " includes " << include.name;
  }
}

// The room of a file below `base`: its folder there, or, of a file that lies in `base` itself, its
// name without ending.
std::string room_of(const std::string& path, const std::string& base) {
  const std::string rest = path.substr(base.size());
  return rest.substr(0, rest.find_first_of("/."));
}

// room -> rooms it includes from, below `base` (which ends in "/").
std::map<std::string, std::set<std::string>> arrows_below(const std::string& base) {
  std::map<std::string, std::set<std::string>> arrows;
  for (const Include& include : includes()) {
    if (!begins(include.path, base) || !begins(include.name, base)) continue;
    const std::string from = room_of(include.path, base), to = room_of(include.name, base);
    if (from != to) arrows[from].insert(to);
  }
  return arrows;
}

// Rooms that can be put on floors so that every arrow points down: those left over form circles.
std::set<std::string> rooms_in_circles(std::map<std::string, std::set<std::string>> arrows) {
  for (bool found = true; found;) {
    found = false;
    for (auto room = arrows.begin(); room != arrows.end();) {
      const bool is_ground = std::none_of(room->second.begin(), room->second.end(),
                                          [&](auto& to) { return arrows.contains(to); });
      found = found || is_ground;
      room = is_ground ? arrows.erase(room) : std::next(room);
    }
  }
  std::set<std::string> left;
  for (const auto& [room, to] : arrows) left.insert(room);
  return left;
}

TEST(Layers, rooms_of_a_layer_include_one_another_in_one_direction) {
  for (const char* base : {"kernels/", "kernels/cpu/", "kernels/cuda/", "kvcache/", "runtime/",
                           "storage/", "ui/", "app/"})
    EXPECT_EQ(rooms_in_circles(arrows_below(base)), std::set<std::string>{}) << "below " << base;
}

TEST(Layers, a_circle_of_rooms_is_found) {
  EXPECT_EQ(rooms_in_circles({{"a", {"b"}}, {"b", {"c"}}, {"c", {"b"}}, {"d", {}}}),
            (std::set<std::string>{"a", "b", "c"}));
}

TEST(Layers, outside_libraries_are_included_only_where_they_belong) {
  struct Rule {
    std::regex header;
    std::vector<std::string> folders;
  };
  const std::vector<Rule> rules = {
      {std::regex("^(Q[A-Z]\\w+|Qt\\w+/.*)$"), {"ui/", "app/desktop/", "tests/ui/"}},
      {std::regex("^sqlite3.*"), {"storage/sqlite/", "tests/unit/storage/", "tests/fuzz/"}},
      {std::regex("^zstd.*"), {"storage/kv/"}},
      {std::regex("^spdlog/.*"), {"runtime/log/"}},
      {std::regex("^sentencepiece_.*"), {"tests/unit/runtime/"}},
      {std::regex("^pcre2.*"), {"runtime/tokenizer/"}},
      {std::regex("^Eigen/.*"), {"runtime/profile/", "app/eval/calibration/"}},
      {std::regex("^cuda.*$"), {"kernels/cuda/", "tests/simt/", "tests/gpu/"}},
      {std::regex("^boost/.*"), {"tests/simt/"}},
      {std::regex("^CLI/.*"), {"app/"}},
      {std::regex("^httplib.*"), {"app/serve/http/", "app/model_files/http_get.cpp"}},
      {std::regex("^openssl/.*"), {"app/model_files/"}},
      {std::regex("^iostream$"), {"app/", "tests/"}},
      {std::regex("^immintrin.h$"), {"kernels/cpu/"}},
  };
  for (const Include& include : includes())
    for (const Rule& rule : rules) {
      if (!std::regex_match(include.name, rule.header)) continue;
      EXPECT_TRUE(
          std::any_of(rule.folders.begin(), rule.folders.end(),
                      [&](const std::string& folder) { return begins(include.path, folder); }))
          << include.path << ":" << include.line << " includes " << include.name;
    }
}

// What people embed has neither the comparison stages nor the lab.
TEST(Layers, only_programs_know_the_comparison_stages_and_the_lab) {
  struct Rule {
    std::string header;
    std::vector<std::string> users;
  };
  const std::vector<Rule> rules = {
      {"kvcache/comparison/",
       {"kvcache/comparison/", "app/eval/", "app/satchel/main.cpp", "app/desktop/main.cpp",
        "tests/"}},
      {"app/eval/", {"app/eval/", "app/satchel/main.cpp", "tests/"}},
  };
  for (const Include& include : includes())
    for (const Rule& rule : rules) {
      if (!begins(include.name, rule.header)) continue;
      EXPECT_TRUE(std::ranges::any_of(
          rule.users, [&](const std::string& user) { return begins(include.path, user); }))
          << include.path << ":" << include.line << " includes " << include.name;
    }
}

TEST(Layers, the_ui_model_knows_no_window) {
  const std::regex window(
      "^(QWidget|QMainWindow|QDialog|QPainter|QFont|QColor|QPixmap|QTextDocument|QApplication|"
      "QtWidgets/.*|QtGui/.*)$");
  for (const Include& include : includes())
    if (begins(include.path, "ui/model/")) {
      EXPECT_FALSE(std::regex_match(include.name, window))
          << include.path << ":" << include.line << " includes " << include.name;
    }
}

TEST(Sizes, files_and_columns_stay_within_the_hard_limits) {
  for (const Source& source : sources()) {
    EXPECT_LE(source.lines.size(), kFileLinesMax) << source.path;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const auto& line = source.lines[i];
      // Code points, not bytes; string tables and links cannot always be broken.
      const std::size_t first = line.find_first_not_of(' ');
      const bool is_comment = first != std::string::npos && line.compare(first, 2, "//") == 0;
      const auto columns =
          static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
            return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
          }));
      if ((!is_comment && line.find('"') != std::string::npos) ||
          line.find("://") != std::string::npos)
        continue;
      EXPECT_LE(columns, kColumnsMax) << source.path << ":" << i + 1;
    }
  }
}

std::string indent_of(const std::string& line) {
  return line.substr(0, line.find_first_not_of(' '));
}

// Where the function begins whose parameters or initialisers end in line i.
std::size_t head_of(const std::vector<std::string>& lines, std::size_t i) {
  const auto goes_on = [&](std::size_t line) {
    const char last = lines[line - 1].empty() ? ' ' : lines[line - 1].back();
    return last == ',' || last == '(';
  };
  const auto is_first_initialiser = [&](std::size_t line) {
    return lines[line].compare(indent_of(lines[line]).size(), 2, ": ") == 0;
  };
  std::size_t head = i;
  while (head > 0 && goes_on(head) && !is_first_initialiser(head)) --head;
  const bool lambda = lines[i].find("](") != std::string::npos;  // stands at its own indentation
  if (head == 0 || !is_first_initialiser(head)) return lambda ? i : head;
  --head;
  while (head > 0 && goes_on(head)) --head;
  return head;
}

// clang-format puts a body's closing brace at its opening line's indentation, which is all this
// needs.
TEST(Sizes, functions_stay_within_the_hard_limits) {
  const std::regex opens(R"(^(\s*)[\w:<>~&*\[\],\s=]*\(.*\)?.*\{$)");
  const std::regex not_a_function(
      R"(^\s*(if|for|while|switch|do|else|namespace|class|struct|enum|union|return|case|\}|TEST|extern "C"))");
  for (const Source& source : sources()) {
    const bool kernel = begins(source.path, "kernels/");
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      std::smatch match;
      if (std::regex_search(source.lines[i], not_a_function) ||
          source.lines[i].find('(') == std::string::npos || source.lines[i].back() != '{' ||
          !std::regex_search(source.lines[i], match, opens))
        continue;
      const std::string close = indent_of(source.lines[head_of(source.lines, i)]) + "}";
      std::size_t end = i + 1;
      while (end < source.lines.size() && !begins(source.lines[end], close)) ++end;
      EXPECT_LE(end - i, kernel ? kKernelLinesMax : kFunctionLinesMax)
          << source.path << ":" << i + 1;
    }
  }
}

TEST(Words, nothing_is_left_for_later) {
  const std::regex unfinished(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X)\\b");
  for (const Source& source : sources())
    for (std::size_t i = 0; i < source.lines.size(); ++i)
      EXPECT_FALSE(std::regex_search(source.lines[i], unfinished)) << source.path << ":" << i + 1;
}

struct Retired {
  std::string name, folder;  // folder: where it may not be used; empty: nowhere
};

// The third column of the tables in docs/glossary.md: `name`, or `name` in folder.
std::vector<Retired> retired_names(std::istream& glossary) {
  std::vector<Retired> found;
  const std::regex entry(R"(`(\w+)`(?: in ([\w/]+))?)");
  for (std::string line; std::getline(glossary, line);) {
    if (!begins(line, "| ")) continue;
    const std::size_t last = line.rfind(" | ");
    if (last == std::string::npos) continue;
    const std::string column = line.substr(last);
    for (std::sregex_iterator it(column.begin(), column.end(), entry), end; it != end; ++it)
      found.push_back({(*it)[1].str(), (*it)[2].str()});
  }
  return found;
}

// Whether `name` stands in the text as a whole identifier.
bool has_identifier(const std::string& text, const std::string& name) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end])))
      return true;
  }
  return false;
}

TEST(Words, names_that_the_glossary_retired_are_not_used) {
  std::ifstream in(kRoot / "docs/glossary.md");
  const std::vector<Retired> retired = retired_names(in);
  ASSERT_GT(retired.size(), 40u) << "docs/glossary.md is not read as expected";
  for (const Source& source : sources()) {
    if (begins(source.path, "tests/lint/")) continue;
    for (const auto& [name, folder] : retired)
      EXPECT_FALSE(begins(source.path, folder) && has_identifier(source.text, name))
          << source.path << " uses `" << name << "`: docs/glossary.md has the word for it";
  }
}

TEST(Words, a_retired_name_is_found_as_a_whole_identifier_only) {
  std::istringstream rows("| GEMV | a product | `few`, `many` in kernels/cuda |\nfree text `no`\n");
  const std::vector<Retired> retired = retired_names(rows);
  ASSERT_EQ(retired.size(), 2u);
  EXPECT_EQ(retired[1].name + " " + retired[1].folder, "many kernels/cuda");
  EXPECT_TRUE(has_identifier("(few)", "few"));
  EXPECT_FALSE(has_identifier("fewer too_few", "few"));
}

// A slot without a context object outlives what it captures.
TEST(Words, every_qt_connection_has_a_context_object) {
  const std::regex contextless(R"(\bconnect\(\s*[^,()]+,\s*&[\w:]+,\s*\[)");
  for (const Source& source : sources()) {
    if (!begins(source.path, "ui/") && !begins(source.path, "app/desktop/")) continue;
    EXPECT_FALSE(std::regex_search(source.text, contextless)) << source.path;
  }
}

// One without it would let the launch after it begin before the launch before it has ended
// (kernels/cuda/device/launch.h).
TEST(Kernels, of_a_card_wait_for_the_launch_before) {
  const std::regex kernel(R"(__global__[^{;]*\{)");
  std::size_t n = 0;
  for (const Source& source : sources()) {
    if (!begins(source.path, "kernels/cuda/") || !source.path.ends_with(".cu")) continue;
    for (std::sregex_iterator each(source.text.begin(), source.text.end(), kernel), end;
         each != end; ++each, ++n) {
      const auto begin = static_cast<std::size_t>(each->position() + each->length());
      const std::string body = source.text.substr(begin, source.text.find("\n}\n", begin) - begin);
      EXPECT_NE(body.find("wait_for_launch_before();"), std::string::npos)
          << source.path << ": " << each->str();
    }
  }
  EXPECT_GT(n, 20u);
}

TEST(Folders, every_folder_with_sources_has_a_readme) {
  std::set<std::string> folders;
  for (const Source& source : sources())
    if (!begins(source.path, "tests/"))
      folders.insert(fs::path(source.path).parent_path().string());
  for (const std::string& folder : folders) {
    // A stage or small part may be described by its parent's or its layer's.
    const bool described = fs::exists(kRoot / folder / "README.md") ||
                           fs::exists((kRoot / folder).parent_path() / "README.md") ||
                           fs::exists((kRoot / folder).parent_path().parent_path() / "README.md");
    EXPECT_TRUE(described) << folder << " has no README.md, and those above have none either";
  }
}

// As GitHub names the anchor of a heading.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_')
      anchor += static_cast<char>(std::tolower(byte));
    else if (c == ' ')
      anchor += '-';
  }
  return anchor;
}

struct Document {
  std::set<std::string> anchors;
  std::vector<std::string> links;
  std::vector<std::string> code;  // what stands in backticks in a line of text
};

// Outside code blocks; links and headings also outside backticks.
Document read_document(const fs::path& path) {
  std::ifstream in(path);
  Document document;
  const std::regex code("`([^`]*)`"), link(R"(\]\(([^)\s]+)\))"), heading(R"(^#+ (.*)$)");
  bool is_code = false;
  for (std::string line; std::getline(in, line);) {
    if (begins(line, "```")) is_code = !is_code;
    std::smatch match;
    if (is_code) continue;
    if (std::regex_match(line, match, heading)) document.anchors.insert(anchor_of(match[1]));
    for (std::sregex_iterator at(line.begin(), line.end(), code), end; at != end; ++at)
      document.code.push_back((*at)[1]);
    const std::string text = std::regex_replace(line, code, "");
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at)
      document.links.push_back((*at)[1]);
  }
  return document;
}

// Files and folders, but those that a build or a tool makes.
std::vector<fs::path> paths() {
  std::vector<fs::path> found;
  for (auto at = fs::recursive_directory_iterator(kRoot); at != end(at); ++at) {
    const std::string name = at->path().filename().string();
    const bool is_made = at->is_directory() && (name == "build" || begins(name, "."));
    if (is_made) at.disable_recursion_pending();
    if (!is_made) found.push_back(at->path());
  }
  return found;
}

std::vector<fs::path> documents() {
  std::vector<fs::path> found = paths();
  std::erase_if(found, [](const fs::path& path) { return path.extension() != ".md"; });
  return found;
}

TEST(Documents, links_lead_somewhere) {
  for (const fs::path& path : documents())
    for (const std::string& link : read_document(path).links) {
      if (link.find("://") != std::string::npos) continue;
      const std::size_t hash = link.find('#');
      const fs::path target =
          hash == 0 ? path : (path.parent_path() / link.substr(0, hash)).lexically_normal();
      EXPECT_TRUE(fs::exists(target)) << path << " links to " << link;
      if (hash == std::string::npos || !fs::exists(target)) continue;
      EXPECT_TRUE(read_document(target).anchors.contains(link.substr(hash + 1)))
          << path << " links to " << link;
    }
}

// A name may begin in any folder above: `scorers/echo.cpp`.
TEST(Documents, files_and_folders_in_backticks_exist) {
  const std::regex name(R"((?:\.\./)*([\w-][\w./-]*?)/?)"),
      of_a_path(R"(.*/.*|.*\.(cmake|cpp|cu|h|json|md|py|sh|sql|txt))"),
      // Placeholders, what is built or installed, names of ctest, another project's header.
      exception(R"((.*[/_])?(x|NAME|METHOD)([./].*)?|(build|lib|gpu|e2e)/.*|)"
                R"(packaging/cuda|ui/LostGpu|sqlite3\.h)");
  std::set<std::string> known;  // every ending of every path
  for (const fs::path& path : paths()) {
    const std::string whole = fs::relative(path, kRoot).string();
    for (std::size_t at = 0; at != std::string::npos; at = whole.find('/', at + 1))
      known.insert(whole.substr(at == 0 ? 0 : at + 1));
  }
  ASSERT_TRUE(known.contains("scorers/echo.cpp") && known.contains("runtime/chat"));
  for (const fs::path& path : documents())
    for (const std::string& code : read_document(path).code) {
      std::smatch match;
      if (!std::regex_match(code, match, name) || std::regex_match(code, exception)) continue;
      EXPECT_TRUE(!std::regex_match(code, of_a_path) || known.contains(match[1].str()))
          << path << " names `" << code << "`";
    }
}

}  // namespace
