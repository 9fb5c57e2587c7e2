// bench_codecs [level] [threads] [codec] [--json]: how fast every codec that kvcache knows is, at
// each of its bits, beside fp16.
//   level    of the CPU backend (avx2, avx512 …; the best that is there), or `reference`
//   codec    only those whose name and bits (`klt 4`) contain this
//   encode   one page of 128 tokens, K and V, from fp16; beside storing as many values of fp32 as
//            fp16
//   decode   the same page to fp32; beside a page of exact fp16
//   attend   one new token over 4,096 in pages, one layer; beside exact fp16 rows. Both read one
//            layer after the other, 48 MiB of them, so that they come from memory
//   columns  bits of a value of K and of V with all metadata, and of the page as allocated,
//            positions and rounding too; µs; millions of values a second; `by`: time by that of the
//            fp16 beside it, so that 0.5 is twice as fast
//   input    normal values; keys that want coordinates of their lane's own (klt, a2ats, matryoshka)
//            have a made-up basis, which takes as long as a real one
//   figures  the shortest of rounds that a codec and its baseline take in turn, 6 to 50 of each, in
//            CPU time where there is one thread (the default): other programs share the machine
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/attention_step.h"
#include "bench/machine_limits.h"
#include "bench/rounds.h"
#include "kernels/registry/registry.h"
#include "kvcache/base/json.h"
#include "kvcache/comparison/comparison.h"
#include "kvcache/stages/registry.h"
#include "support/mixed_bit.h"

namespace satchel::bench {
namespace {

using namespace satchel::kernels;
using kvcache::Codec;
using kvcache::StageEntry;
using Json = nlohmann::ordered_json;

constexpr std::size_t kTokens = 4096;
constexpr double kSeconds = 0.25;  // of rounds of a figure and its baseline; chosen

// --- what there is
// --------------------------------------------------------------------------------

struct Row {
  std::string name;              // with the bits, where the codec can be asked for some
  std::unique_ptr<Codec> codec;  // null: refused
  std::string needs;             // why
};

Row made(const StageEntry& entry, std::string name, const std::string& params,
         std::string* allowed_bits = nullptr) {
  const kvcache::JsonNode node = must(kvcache::parse_json(params, entry.name));
  kvcache::Params read(node, entry.name);
  Result<std::unique_ptr<kvcache::Stage>> stage = entry.make(read);
  Row row{.name = std::move(name), .codec = nullptr, .needs = ""};
  row.codec.reset(static_cast<Codec*>(must(std::move(stage)).release()));
  for (const kvcache::Params::Asked& asked : read.asked())
    if (allowed_bits != nullptr && asked.key == "bits") *allowed_bits = asked.allowed;
  return row;
}

// "2, 4 or 8": 8, 4 and 2.
std::vector<std::string> numbers_in(const std::string& text) {
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    const bool goes_on =
        is_digit && i > 0 && std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0;
    if (is_digit && !goes_on) numbers.emplace_back();
    if (is_digit) numbers.back() += text[i];
  }
  std::sort(numbers.begin(), numbers.end(),
            [](const auto& a, const auto& b) { return std::stoi(a) > std::stoi(b); });
  return numbers;
}

std::vector<Row> all_rows(const std::string& filter) {
  std::vector<Row> rows;
  const auto add = [&](Row row) {
    if (row.name.find(filter) != std::string::npos) rows.push_back(std::move(row));
  };
  for (const kvcache::RefusedStage& refused : kvcache::refused_stages())
    if (refused.kind == kvcache::StageKind::codec)
      add({.name = std::string(refused.name), .codec = nullptr, .needs = std::string(refused.why)});
  for (const StageEntry* entry : kvcache::all_stages()) {
    if (entry->kind != kvcache::StageKind::codec) continue;
    std::string allowed;
    Row at_defaults = made(*entry, std::string(entry->name), "{}", &allowed);
    if (allowed.empty()) add(std::move(at_defaults));
    for (const std::string& bits : numbers_in(allowed))
      add(made(*entry, std::string(entry->name) + " " + bits, "{ \"bits\": " + bits + " }"));
  }
  return rows;
}

// --- what is measured
// -----------------------------------------------------------------------------

struct Compared {
  double seconds = 0, baseline = 0;
  double by() const { return seconds / baseline; }
};
struct Figures {
  double bits_k = 0, bits_v = 0, bits_page = 0;
  Compared encode, decode, attend;
};

Compared compared(Timed one, Timed baseline) {
  take_turns(one, baseline, kSeconds);
  return {.seconds = one.seconds(), .baseline = baseline.seconds()};
}

// Layers enough for 48 MiB.
std::size_t layers_of(std::size_t bytes_of_layer) {
  return std::max<std::size_t>(2, (std::size_t{48} << 20) / bytes_of_layer);
}

// Pages and caches of one shape, and the fp16 beside them.
class Bench {
 public:
  Bench(Backend& backend, Shape shape, Time time)
      : backend_(backend),
        time_(time),
        shape_(shape),
        basis_(shape.head_dim),
        n_values_(kPageTokens * shape.head_dim),
        floats_(random_floats(2 * n_values_, 5)),
        halves_(2 * n_values_),
        k_(random_halves(n_values_, 6)),
        v_(random_halves(n_values_, 7)),
        decoded_(2 * n_values_),
        positions_(positions_up_to(kPageTokens)),
        exact_layout_(must(page_layout({.head_dim = shape.head_dim}))),
        exact_page_(must(backend.allocate(exact_layout_.bytes))),
        exact_(backend, shape, kTokens, {},
               layers_of(shape.n_lanes * kTokens * shape.head_dim * 4)),
        exact_step_(backend, shape, exact_, kTokens) {
    encode(exact_layout_, exact_page_);
  }
  Bench(const Bench&) = delete;

  Shape shape() const { return shape_; }

  // Fails with unsupported where the codec has no page of this shape.
  Result<Figures> measure(const Codec& codec) {
    PageShape shape{.head_dim = shape_.head_dim,
                    .k = codec.operand(Codec::Operand::k, shape_.head_dim, kPageTokens),
                    .v = codec.operand(Codec::Operand::v, shape_.head_dim, kPageTokens)};
    if (shape.k.transform == Transform::basis) shape.k.basis = basis_.view();
    SATCHEL_TRY_ASSIGN(const PageLayout layout, page_layout(shape));
    const double bits_of_byte = 8 / static_cast<double>(n_values_);
    Figures figures{.bits_k = static_cast<double>(layout.k.bytes()) * bits_of_byte,
                    .bits_v = static_cast<double>(layout.v.bytes()) * bits_of_byte,
                    .bits_page = layout.bytes * bits_of_byte / 2,
                    .encode = {},
                    .decode = {},
                    .attend = {}};
    Buffer page = must(backend_.allocate(layout.bytes));
    figures.encode =
        compared(Timed(time_, [&] { encode(layout, page); }), Timed(time_, [&] { store(); }));
    figures.decode = compared(Timed(time_, [&] { decode(layout, page); }),
                              Timed(time_, [&] { decode(exact_layout_, exact_page_); }));
    figures.attend = attention(shape, layout);
    return figures;
  }

 private:
  void encode(const PageLayout& layout, Buffer& page) {
    const EncodeArgs args{.layout = &layout,
                          .exact = {k_.data(), v_.data(), positions_.data(), kPageTokens},
                          .page = page.data()};
    must(backend_.encode_pages({&args, 1}));
  }
  void decode(const PageLayout& layout, const Buffer& page) {
    const DecodeArgs args{.layout = &layout,
                          .page = page.data(),
                          .n_tokens = kPageTokens,
                          .k = decoded_.data(),
                          .v = decoded_.data() + n_values_};
    must(backend_.decode_pages({&args, 1}));
  }
  void store() {
    const StoreArgs args{.from = floats_.data(),
                         .n_rows = 2 * kPageTokens,
                         .n_values = shape_.head_dim,
                         .from_stride = shape_.head_dim,
                         .to = halves_.data()};
    must(backend_.store({&args, 1}));
  }
  Compared attention(const PageShape& page, const PageLayout& layout) {
    const Layers packed(backend_, shape_, kTokens, {.page = page},
                        layers_of(shape_.n_lanes * kTokens / kPageTokens * layout.bytes));
    DecodeStep step(backend_, shape_, packed, kTokens);
    return compared(Timed(time_, [&] { step.next(); }), Timed(time_, [&] { exact_step_.next(); }));
  }

  Backend& backend_;
  const Time time_;
  const Shape shape_;
  const test::TestBasis basis_;
  const std::size_t n_values_;  // of K, and of V
  const std::vector<float> floats_;
  std::vector<Half> halves_;
  const std::vector<Half> k_, v_;
  std::vector<float> decoded_;
  const std::vector<std::int32_t> positions_;
  const PageLayout exact_layout_;
  Buffer exact_page_;
  const Layers exact_;
  DecodeStep exact_step_;
};

// --- what is said
// ---------------------------------------------------------------------------------

// Of a page's K and V.
double values_per_us(std::size_t head_dim, const Compared& compared) {
  return static_cast<double>(2 * kPageTokens * head_dim) / compared.seconds * 1e-6;
}

void print_heading(Shape shape) {
  std::printf(
      "\nhead_dim %zu, %zu KV heads, %zu heads\n%-18s %6s %6s %6s   %10s %8s %7s   %10s %8s %7s   "
      "%10s %10s %6s\n",
      shape.head_dim, shape.n_lanes, shape.n_lanes * shape.n_group, "codec", "K", "V", "page",
      "encode us", "Mval/s", "by", "decode us", "Mval/s", "by", "attend us", "fp16 us", "by");
}

void print(const std::string& name, std::size_t head_dim, const Figures& figures) {
  std::printf("%-18s %6.3f %6.3f %6.3f", name.c_str(), figures.bits_k, figures.bits_v,
              figures.bits_page);
  for (const Compared& page : {figures.encode, figures.decode})
    std::printf("   %10.1f %8.1f %7.2f", page.seconds * 1e6, values_per_us(head_dim, page),
                page.by());
  std::printf("   %10.1f %10.1f %6.2f\n", figures.attend.seconds * 1e6,
              figures.attend.baseline * 1e6, figures.attend.by());
  std::fflush(stdout);
}

Json to_json(const Compared& compared) {
  return {{"us", compared.seconds * 1e6},
          {"fp16_us", compared.baseline * 1e6},
          {"by_fp16", compared.by()}};
}

Json to_json(const std::string& name, Shape shape, const Figures& figures) {
  Json row{{"codec", name},
           {"head_dim", shape.head_dim},
           {"n_kv_heads", shape.n_lanes},
           {"n_heads", shape.n_lanes * shape.n_group},
           {"bits_k", figures.bits_k},
           {"bits_v", figures.bits_v},
           {"bits_page", figures.bits_page},
           {"encode", to_json(figures.encode)},
           {"decode", to_json(figures.decode)},
           {"attend", to_json(figures.attend)}};
  row["encode"]["million_values_per_s"] = values_per_us(shape.head_dim, figures.encode);
  row["decode"]["million_values_per_s"] = values_per_us(shape.head_dim, figures.decode);
  return row;
}

struct Asked {
  std::string level, filter;
  std::size_t n_threads = 1;
  bool json = false;
};

Asked parse(int argc, char** argv) {
  const auto levels = cpu_level_names();
  const std::size_t present = cpu_levels_present();
  Asked asked;
  asked.level = present == 0 ? "reference" : std::string(levels[present - 1]);
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--json")
      asked.json = true;
    else
      words.emplace_back(argv[i]);
  if (!words.empty()) asked.level = words[0];
  if (words.size() > 1) asked.n_threads = std::strtoul(words[1].c_str(), nullptr, 10);
  if (words.size() > 2) asked.filter = words[2];
  return asked;
}

// Rows of the table are printed as they come.
void measure_all(Backend& backend, const std::vector<Row>& rows, const Asked& asked,
                 Json& document) {
  const Time time = asked.n_threads == 1 ? Time::of_thread : Time::wall;
  for (const Shape& shape : kShapes) {
    Bench bench(backend, shape, time);
    if (!asked.json) print_heading(shape);
    for (const Row& row : rows) {
      if (row.codec == nullptr) continue;
      const Result<Figures> figures = bench.measure(*row.codec);
      if (!figures.ok()) {
        std::fprintf(stderr, "%s: %s\n", row.name.c_str(), figures.error().message.c_str());
        continue;
      }
      document["rows"].push_back(to_json(row.name, shape, *figures));
      if (!asked.json) print(row.name, shape.head_dim, *figures);
    }
  }
  for (const Row& row : rows) {
    if (row.codec != nullptr) continue;
    document["refused"].push_back({{"codec", row.name}, {"needs", row.needs}});
    if (!asked.json) std::printf("\n%s\n  refused: %s\n", row.name.c_str(), row.needs.c_str());
  }
}

int run(const Asked& asked) {
  const std::vector<Row> rows = all_rows(asked.filter);
  if (rows.empty()) {
    std::fprintf(stderr, "No codec is called like \"%s\".\n", asked.filter.c_str());
    return 2;
  }
  const auto opened =
      must(asked.level == "reference"
               ? open_backend("reference", {})
               : open_backend("cpu", {.n_threads = asked.n_threads, .cpu_level = asked.level}));
  double load[1] = {};
  (void)getloadavg(load, 1);
  Json document{{"schema", 1},
                {"date", today()},
                {"processor", processor_name()},
                {"device", opened->device()},
                {"load", load[0]},
                {"tokens_attended", kTokens},
                {"rows", Json::array()},
                {"refused", Json::array()}};
  if (!asked.json)
    std::printf("%s, %s, %s, load %.1f\n", processor_name().c_str(), opened->device().c_str(),
                today().c_str(), load[0]);
  measure_all(*opened, rows, asked, document);
  if (asked.json) std::printf("%s\n", document.dump(2).c_str());
  return 0;
}

}  // namespace
}  // namespace satchel::bench

int main(int argc, char** argv) {
  if (!satchel::kvcache::register_comparison_stages().ok()) return 1;
  return satchel::bench::run(satchel::bench::parse(argc, argv));
}
