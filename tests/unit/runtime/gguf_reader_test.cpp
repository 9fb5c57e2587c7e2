// What a valid file gives out, and the words in which a getter refuses.
#include "runtime/gguf/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <limits>

#include "support/bundled_model.h"
#include "support/gguf_writer.h"

namespace satchel::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::GgufWriter;
using tests::small_gguf;

// The bytes and the view into them; the view must die first.
struct Opened {
  explicit Opened(const GgufWriter& writer) : bytes(writer.bytes()), file(GgufFile::view(bytes)) {}
  std::vector<std::byte> bytes;
  Result<GgufFile> file;
};

struct TempFile {
  explicit TempFile(std::string_view name)
      : path(std::filesystem::temp_directory_path() /
             (std::to_string(getpid()) + "-" + std::string(name))) {}
  ~TempFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  std::filesystem::path path;
};

template <class T>
std::string message_of(const Result<T>& result) {
  return result.ok() ? "" : "[" + result.error().code + "] " + result.error().message;
}

std::vector<std::string> texts_of(const Result<GgufStrings>& strings) {
  std::vector<std::string> texts;
  if (strings.ok()) strings->for_each([&](std::string_view text) { texts.emplace_back(text); });
  return texts;
}

TEST(GgufReader, every_value_type_comes_back_as_it_was_written) {
  const Opened opened(small_gguf());
  ASSERT_TRUE(opened.file.ok()) << opened.file.error().message;
  const GgufFile& file = *opened.file;
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(*file.get_string("general.architecture"), "llama");
  EXPECT_EQ(*file.get_u32("t.u8"), 200u);
  EXPECT_EQ(*file.get_u32("t.u16"), 60000u);
  EXPECT_EQ(*file.get_u32("t.u32"), 4000000000u);
  EXPECT_EQ(*file.get_u64("t.u64"), 1ull << 40);
  EXPECT_EQ(*file.get_f32("t.f32"), 1e-5f);
  EXPECT_EQ(*file.get_f32("t.f64"), 0.25f);
  EXPECT_TRUE(*file.get_bool("t.bool"));
  EXPECT_THAT(texts_of(file.get_strings("tokenizer.ggml.tokens")),
              ElementsAre("<unk>", "<s>", "</s>", "\xe2\x96\x81the", "", "a\nb"));
  EXPECT_THAT(*file.get_f32_array("tokenizer.ggml.scores"),
              ElementsAre(0.0f, -1.5f, -2.0f, -3.0f, 1e-20f, -1000.0f));
  EXPECT_THAT(*file.get_i32_array("tokenizer.ggml.token_type"), ElementsAre(2, 3, 3, 1, 1, 1));
  EXPECT_THAT(*file.get_i32_array("t.u8s"), ElementsAre(0, 1, 255));
  EXPECT_EQ(file.get_strings("t.empty")->size(), 0u);
}

TEST(GgufReader, version_2_reads_like_version_3) {
  const Opened opened(small_gguf().version(2));
  ASSERT_TRUE(opened.file.ok());
  EXPECT_EQ(opened.file->version(), 2u);
  EXPECT_EQ(*opened.file->get_u32("t.u8"), 200u);
}

TEST(GgufReader, values_have_a_short_text) {
  const Opened opened(small_gguf());
  const auto text = [&](std::string_view key) { return describe(*opened.file->find(key)); };
  EXPECT_EQ(text("t.i64"), "-1099511627776");
  EXPECT_EQ(text("t.f32"), "1e-05");
  EXPECT_EQ(text("t.bool"), "true");
  EXPECT_EQ(text("general.name"), "\"small\"");
  EXPECT_EQ(text("tokenizer.ggml.tokens"),
            "[\"<unk>\", \"<s>\", \"</s>\", \"\xe2\x96\x81the\", …] (6 string)");
  EXPECT_EQ(text("t.u8s"), "[0, 1, 255] (3 u8)");
  EXPECT_EQ(text("t.empty"), "[] (0 string)");
  EXPECT_EQ(text("t.nested"), "[[…], […]] (2 array)");
}

TEST(GgufReader, text_from_outside_is_made_safe_to_show) {
  EXPECT_EQ(quoted("a\x1b[2J\nb\xff"), "\"a\\x1b[2J\\nb\\xff\"");
  EXPECT_EQ(quoted("\xc0\x80\xed\xa0\x80"), "\"\\xc0\\x80\\xed\\xa0\\x80\"");
  EXPECT_EQ(quoted("\xc2\x9b"), "\"\\xc2\\x9b\"");  // CSI in one character
  EXPECT_EQ(quoted("ääää", 5), "\"ää…\"");
  EXPECT_EQ(quoted(""), "\"\"");
}

TEST(GgufReader, tensors_have_type_shape_and_aligned_bytes) {
  const Opened opened(small_gguf());
  EXPECT_EQ(opened.file->tensors().size(), kernels::kWeightTypes.size() + 1);
  for (const kernels::WeightType type : kernels::kWeightTypes) {
    const auto tensor = opened.file->require_tensor(std::string("weight.") +
                                                    kernels::weight_type_traits(type).name);
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_EQ((*tensor)->type, type);
    EXPECT_EQ((*tensor)->bytes.size(), kernels::row_bytes(type, (*tensor)->n_values));
    EXPECT_EQ((*tensor)->n_rows(), 1u);
  }
  EXPECT_EQ(opened.file->find_tensor("weight.F32")->n_values, 2u);
}

TEST(GgufReader, a_matrix_has_its_row_length_first) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const Opened opened(GgufWriter().add_tensor("w", {3, 2}, values));
  const GgufTensor& tensor = **opened.file->require_tensor("w");
  EXPECT_EQ(tensor.row_length(), 3u);
  EXPECT_EQ(tensor.n_rows(), 2u);
  EXPECT_EQ(std::memcmp(tensor.bytes.data(), values, sizeof values), 0);
}

TEST(GgufReader, a_type_that_no_backend_computes_with_is_listed_but_not_used) {
  const Opened opened(small_gguf());
  const GgufTensor* tensor = opened.file->find_tensor("weight.Q8_K");
  ASSERT_NE(tensor, nullptr);
  EXPECT_STREQ(tensor->type_name, "Q8_K");
  EXPECT_EQ(tensor->bytes.size(), 292u);
  EXPECT_FALSE(tensor->type.has_value());
  const auto used = opened.file->require_tensor("weight.Q8_K");
  EXPECT_THAT(message_of(used), HasSubstr("[MODEL_QUANT] Q8_K"));
}

TEST(GgufReader, a_getter_names_the_key_and_the_type_it_found) {
  const Opened opened(small_gguf());
  const GgufFile& file = *opened.file;
  EXPECT_EQ(message_of(file.get_u32("llama.attention.head_count_kv")),
            "[MODEL_METADATA] The model file lacks \"llama.attention.head_count_kv\".");
  EXPECT_EQ(message_of(file.get_f32_array("t.u8s")),
            "[MODEL_METADATA] \"t.u8s\" is array of u8, but must be an array of float32.");
  EXPECT_THAT(message_of(file.get_u32("t.f32")), HasSubstr("is float32, but must be an integer"));
  EXPECT_THAT(message_of(file.get_u32("t.u64")),
              HasSubstr("is 1099511627776, but must be smaller"));
  EXPECT_THAT(message_of(file.get_u32("t.i8")), HasSubstr("is -100, but must be zero or more"));
  EXPECT_THAT(message_of(file.get_f32("t.u32")), HasSubstr("is u32, but must be float32"));
  EXPECT_THAT(message_of(file.get_bool("t.u8")), HasSubstr("is u8, but must be bool"));
  EXPECT_THAT(message_of(file.get_string("t.u8")), HasSubstr("is u8, but must be string"));
  EXPECT_THAT(message_of(file.get_strings("general.name")),
              HasSubstr("is string, but must be an array"));
  EXPECT_THAT(message_of(file.get_i32_array("t.nested")), HasSubstr("array of array"));
  EXPECT_THAT(message_of(file.require_tensor("output.weight")),
              HasSubstr("lacks the tensor \"output.weight\""));
}

TEST(GgufReader, a_missing_key_may_have_a_meaning_but_a_wrong_type_never) {
  const Opened opened(small_gguf());
  EXPECT_EQ(*opened.file->get_u32("absent", 7u), 7u);
  EXPECT_EQ(*opened.file->get_u64("absent", 7u), 7u);
  EXPECT_FALSE(opened.file->get_u64("absent").ok());
  EXPECT_EQ(*opened.file->get_f32("absent", 0.5f), 0.5f);
  EXPECT_FALSE(*opened.file->get_bool("absent", false));
  EXPECT_FALSE(opened.file->get_u32("t.f32", 7u).ok());
}

TEST(GgufReader, numbers_that_are_none_are_refused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::int32_t fits[] = {std::numeric_limits<std::int32_t>::min(),
                               std::numeric_limits<std::int32_t>::max()};
  const std::uint64_t wide = 1ull << 31;
  std::vector<std::byte> wide_array(20);
  wide_array[0] = std::byte{10};
  wide_array[4] = std::byte{1};
  std::memcpy(wide_array.data() + 12, &wide, 8);
  const Opened opened(GgufWriter()
                          .add_f32("eps", nan)
                          .add_f64("huge", 1e300)
                          .add_f32_array("scores", std::span(&nan, 1))
                          .add_i32_array("fits", fits)
                          .add_raw("wide", 9, wide_array));
  EXPECT_THAT(message_of(opened.file->get_f32("eps")), HasSubstr("finite"));
  EXPECT_THAT(message_of(opened.file->get_f32("huge")), HasSubstr("finite"));
  EXPECT_THAT(message_of(opened.file->get_f32_array("scores")), HasSubstr("Element 0"));
  EXPECT_THAT(*opened.file->get_i32_array("fits"), ElementsAre(fits[0], fits[1]));
  EXPECT_THAT(message_of(opened.file->get_i32_array("wide")), HasSubstr("does not fit into int32"));
}

TEST(GgufReader, a_mapped_file_gives_what_its_bytes_in_memory_give) {
  const TempFile temp("small.gguf");
  ASSERT_TRUE(small_gguf().write(temp.path));
  auto file = GgufFile::open(temp.path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const GgufFile moved = std::move(file).value();  // views must survive a move
  const Opened opened(small_gguf());
  EXPECT_EQ(*moved.get_string("general.name"), "small");
  EXPECT_EQ(moved.file_bytes(), opened.bytes.size());
  EXPECT_EQ(*moved.model_fingerprint(), *opened.file->model_fingerprint());
  EXPECT_EQ(moved.model_fingerprint()->size(), 32u);
}

TEST(GgufReader, the_fingerprint_changes_with_any_byte) {
  Opened opened(small_gguf());
  const std::string before = *opened.file->model_fingerprint();
  opened.bytes.back() ^= std::byte{1};
  EXPECT_NE(*opened.file->model_fingerprint(), before);
}

TEST(GgufReader, a_fingerprint_that_is_stopped_is_none) {
  const Opened opened(small_gguf());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(message_of(opened.file->model_fingerprint(stop.get_token())), HasSubstr("STOPPED"));
}

TEST(GgufReader, a_file_changed_while_open_is_noticed) {
  const TempFile temp("changed.gguf");
  ASSERT_TRUE(small_gguf().write(temp.path));
  const auto file = GgufFile::open(temp.path);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->check_unchanged().ok());
  std::filesystem::resize_file(temp.path, 100);
  EXPECT_THAT(message_of(file->check_unchanged()), HasSubstr("MODEL_CHANGED"));
  EXPECT_THAT(message_of(file->model_fingerprint()), HasSubstr("MODEL_CHANGED"));
}

TEST(GgufReader, what_cannot_be_opened_says_why) {
  const auto missing = GgufFile::open("/no/such/model.gguf");
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_THAT(message_of(missing), HasSubstr("[MODEL_NOT_FOUND]"));
  EXPECT_THAT(message_of(GgufFile::open(std::filesystem::temp_directory_path())),
              HasSubstr("it is a folder"));
  EXPECT_THAT(message_of(GgufFile::open("/dev/null")), HasSubstr("device or pipe"));
  const auto too_long = GgufFile::open("/" + std::string(5000, 'x'));  // refused by the system
  EXPECT_EQ(too_long.error().kind, ErrorKind::storage);
  EXPECT_THAT(message_of(too_long), HasSubstr("[MODEL_READ]"));
  const TempFile temp("notes.bin");
  std::ofstream(temp.path) << "PK\x03\x04 and so on, long enough to be anything";
  const auto zip = message_of(GgufFile::open(temp.path));
  EXPECT_THAT(zip,
              HasSubstr("notes.bin\": This is not a GGUF model; it starts like a zip archive"));
}

TEST(GgufReader, the_bundled_model_opens_with_the_tensors_of_a_llama) {
  const auto file = GgufFile::open(test::kBundledModel);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(*file->get_string("general.architecture"), "llama");
  EXPECT_EQ(*file->get_u32("llama.block_count"), 6u);
  EXPECT_EQ(*file->get_u32("llama.attention.head_count_kv"), 2u);
  EXPECT_EQ(file->get_strings("tokenizer.ggml.tokens")->size(), 2048u);
  const auto embedding = file->require_tensor("token_embd.weight");
  ASSERT_TRUE(embedding.ok());
  EXPECT_EQ((*embedding)->type, kernels::WeightType::q8_0);
  EXPECT_EQ((*embedding)->row_length(), 192u);
  EXPECT_EQ((*embedding)->n_rows(), 2048u);
  for (int layer = 0; layer < 6; ++layer)
    for (const char* part :
         {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"})
      EXPECT_TRUE(
          file->require_tensor("blk." + std::to_string(layer) + "." + part + ".weight").ok())
          << part;
}

}  // namespace
}  // namespace satchel::runtime
