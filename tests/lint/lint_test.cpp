// The house rules that a machine can check: layers, forbidden includes, sizes, words.
// Layers: ARCHITECTURE.md. Sizes: chosen, so that a file or a function is read at one sitting.
#include <gtest/gtest.h>

#include <algorithm>
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

TEST(Layers, outside_libraries_are_included_only_where_they_belong) {
  struct Rule {
    std::regex header;
    std::vector<std::string> folders;
  };
  const std::vector<Rule> rules = {
      {std::regex("^(Q[A-Z]\\w+|Qt\\w+/.*)$"), {"ui/", "app/desktop/", "tests/ui/"}},
      {std::regex("^sqlite3.*"), {"storage/sqlite/", "tests/unit/storage/"}},
      {std::regex("^zstd.*"), {"storage/kv/"}},
      {std::regex("^spdlog/.*"), {"runtime/log/"}},
      {std::regex("^sentencepiece_.*"), {"tests/unit/runtime/"}},
      {std::regex("^pcre2.*"), {"runtime/tokenizer/"}},
      {std::regex("^Eigen/.*"), {"runtime/profile/"}},
      {std::regex("^(cuda.*|cublas.*)$"), {"kernels/cuda/", "tests/simt/", "tests/gpu/"}},
      {std::regex("^boost/.*"), {"tests/simt/"}},
      {std::regex("^CLI/.*"), {"app/"}},
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
      // Code points, not bytes; string tables and links in comments cannot always be broken.
      const std::size_t first = line.find_first_not_of(' ');
      const bool is_comment = first != std::string::npos && line.compare(first, 2, "//") == 0;
      const auto columns =
          static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
            return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
          }));
      if ((!is_comment && line.find('"') != std::string::npos) ||
          line.find("://") != std::string::npos)
        continue;
      EXPECT_LE(columns, kColumnsMax + 20) << source.path << ":" << i + 1;
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

// A slot without a context object outlives what it captures.
TEST(Words, every_qt_connection_has_a_context_object) {
  const std::regex contextless(R"(\bconnect\(\s*[^,()]+,\s*&[\w:]+,\s*\[)");
  for (const Source& source : sources()) {
    if (!begins(source.path, "ui/") && !begins(source.path, "app/desktop/")) continue;
    EXPECT_FALSE(std::regex_search(source.text, contextless)) << source.path;
  }
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

}  // namespace
