// A scorer and a recipe of the program's own: reads a document, keeps half of it, asks.
//   scorer MODEL.gguf DOCUMENT.txt QUESTION
#include <satchel/satchel.hpp>

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

// More for a token with a longer value: it adds more to what attention reads.
static void score_values(const satchel_scored_lane& lane, float* scores) {
  for (std::uint64_t t = 0; t < lane.n_tokens; ++t)
    for (std::uint64_t c = 0; c < lane.head_dim; ++c)
      scores[t] += lane.v[t * lane.head_dim + c] * lane.v[t * lane.head_dim + c];
}

// The parts of a recipe: docs/recipes.md.
static const char* const kRecipe =
    R"({ "recipe": 1, "name": "values", "source": "an example", "differs": "",
  "keep": 0.5, "tail": 16,
  "trigger": { "use": "end_of_prompt", "min_tokens": 64 },
  "scorer": { "use": "values" },
  "filter": [ { "use": "protect", "sinks": 4, "tail": 16 } ],
  "allocator": { "use": "uniform" },
  "assigner": { "use": "top_k" },
  "merger": { "use": "none" },
  "codec": { "k": { "use": "hadamard_affine", "bits": 4, "group": 32 },
             "v": { "use": "hadamard_affine", "bits": 4, "group": 32 } },
  "reader": { "use": "all" } })";

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "scorer MODEL.gguf DOCUMENT.txt QUESTION\n";
    return 2;
  }
  std::ifstream file(argv[2]);
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  satchel::register_scorer("values", score_values);
  const std::string recipe = satchel::check_recipe(kRecipe);
  const satchel::Runtime runtime;
  const satchel::Model model(runtime, argv[1]);
  satchel_session_options options = SATCHEL_INIT(satchel_session_options);
  options.recipe = recipe.c_str();
  satchel::Session chat = model.chat(nullptr, &options);
  chat.add_document(argv[2], document);
  const satchel_stats held = chat.stats();
  std::cout << held.n_retained << " tokens of lanes retained, " << held.n_evicted
            << " evicted: " << held.bytes << " bytes, uncompressed " << held.fp16_bytes << '\n'
            << chat.send(argv[3]).text << '\n';
  return 0;
} catch (const satchel::Error& error) {
  std::cerr << error.what() << " [" << error.code() << "]\n";
  return 1;
}
