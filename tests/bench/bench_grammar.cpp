// What a grammar costs a token: to look at one token, to mask the vocabulary where the state is new
// and where it came before, beside a decode step of the model; and whole answers with and without.
//   bench_grammar MODEL [TOKENS]
#include "bench/rounds.h"
#include "runtime/engine.h"
#include "runtime/grammar/json_schema.h"
#include "runtime/grammar/model_tokens.h"
#include "runtime/grammar/token_constraint.h"
#include "runtime/limits/presets.h"

namespace satchel::bench {
namespace {

using runtime::Grammar;
using runtime::TokenConstraint;
using runtime::TokenTrie;

constexpr const char* kSchema = R"({"type": "object", "properties": {
  "title": {"type": "string"}, "summary": {"type": "string", "maxLength": 400},
  "keywords": {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 8},
  "score": {"type": "number", "minimum": 0, "maximum": 10},
  "kind": {"enum": ["news", "story", "report"]}},
  "required": ["title", "summary", "keywords", "score", "kind"], "additionalProperties": false})";
constexpr const char* kText =
    R"({"title": "A lighthouse on the northern coast", "summary": "The keeper of the light tells how )"
    R"(the sea took the old road, and what the village did about it in the years that followed.",)"
    R"( "keywords": ["sea", "village", "light"], "score": 7.5, "kind": "story"})";

double us(double seconds) {
  return 1e6 * seconds;
}

struct Costs {
  double look = 0, fresh = 0, again = 0;  // seconds a token
};

// Along one text, token by token.
Costs costs_along(const Grammar& grammar, const std::shared_ptr<const TokenTrie>& tokens,
                  const std::vector<std::int32_t>& ids) {
  Costs best{1e9, 1e9, 1e9};
  std::vector<float> logits(tokens->n_tokens());
  for (int round = 0; round < 5; ++round) {
    Costs sum;
    for (const bool masks : {false, true}) {
      TokenConstraint at(grammar, tokens);
      for (const std::int32_t id : ids) {
        if (masks) {
          sum.fresh += seconds_of([&] { (void)at.mask(logits); });
          sum.again += seconds_of([&] { (void)at.mask(logits); });
        }
        const double look = seconds_of([&] {
          if (!at.allows(id)) std::fprintf(stderr, "token %d is refused\n", id);
          at.take(id);
        });
        if (!masks) sum.look += look;
      }
    }
    best.look = std::min(best.look, sum.look);
    best.fresh = std::min(best.fresh, sum.fresh);
    best.again = std::min(best.again, sum.again);
  }
  const auto n = static_cast<double>(ids.size());
  return {best.look / n, best.fresh / n, best.again / n};
}

double seconds_a_token(runtime::Engine& engine, const runtime::Sampling& sampling) {
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const runtime::SessionOptions options(must(runtime::resolve_recipe("full")));
    const auto session = must(engine.new_session(options));
    must(session->add_user("Write a story about a lighthouse, as JSON."));
    must(session->read({}, {}));
    const runtime::GenerateReport report = must(session->generate(sampling, {}, {}, {}));
    best = std::min(best, 1e-3 * report.ms / static_cast<double>(report.n_tokens));
  }
  return best;
}

int run(const char* path, std::size_t n_tokens) {
  runtime::EngineOptions options;
  options.model = path;
  options.backend = "cpu";
  options.n_threads = 1;
  const auto engine = must(runtime::Engine::open(options));
  std::shared_ptr<const TokenTrie> tokens;
  const double made =
      seconds_of([&] { tokens = token_trie_of(engine->tokenizer(), engine->chat_template()); });
  const double compiled = best_seconds([] { (void)must(runtime::grammar_of_schema(kSchema)); });
  const auto grammar = std::make_shared<const Grammar>(must(runtime::grammar_of_schema(kSchema)));
  std::printf("%zu tokens: trie %.1f ms; schema %.0f us, %zu steps\n", tokens->n_tokens(),
              1e3 * made, us(compiled), grammar->steps().size());

  runtime::Sampling sampling = runtime::Sampling::plain_greedy(n_tokens);
  const double free = seconds_a_token(*engine, sampling);
  sampling.grammar = grammar;
  const double greedy = seconds_a_token(*engine, sampling);
  sampling.temperature = 1;
  const double drawn = seconds_a_token(*engine, sampling);
  sampling.grammar = nullptr;
  const double drawn_free = seconds_a_token(*engine, sampling);
  const auto ids = must(engine->tokenizer().encode(kText, runtime::SpecialText::as_text));
  const Costs costs = costs_along(*grammar, tokens, ids);
  const auto row = [&](const char* what, double seconds) {
    std::printf("%-34s %9.1f us %7.2f %% of a token\n", what, us(seconds), 100 * seconds / free);
  };
  row("a token without a grammar, greedy", free);
  row("with one, greedy", greedy);
  row("drawn, without", drawn_free);
  row("drawn, with one", drawn);
  row("look at one token and take it", costs.look);
  row("mask, first time in this answer", costs.fresh);
  row("mask, from the table", costs.again);
  return 0;
}

}  // namespace
}  // namespace satchel::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "bench_grammar MODEL [TOKENS]\n");
    return 2;
  }
  return satchel::bench::run(argv[1], argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 64);
}
