// SentencePiece vocabularies, by the sentencepiece library over a model made from the vocabulary.
#include <sentencepiece_processor.h>

#include "runtime/tokenizer/model_proto.h"
#include "runtime/tokenizer/text_encoder.h"

namespace satchel::runtime {
namespace {

class SentencePieceEncoder final : public TextEncoder {
 public:
  Result<void> load(const std::string& model) {
    const auto status = processor_.LoadFromSerializedProto(model);
    if (status.ok()) return {};
    return Error{ErrorKind::corrupt, "MODEL_TOKENIZER",
                 "The vocabulary makes no SentencePiece model: " + status.ToString() +
                     ". Nothing was loaded; get the model file again."};
  }

  Result<void> encode(std::string_view text, std::vector<TokenId>& out) const override {
    std::vector<int> ids;
    const auto status = processor_.Encode(text, &ids);
    if (!status.ok())
      return Error{
          ErrorKind::internal, "TOKENIZER",
          "SentencePiece could not read the text: " + status.ToString() + ". Nothing was changed."};
    out.insert(out.end(), ids.begin(), ids.end());
    return {};
  }

 private:
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

Result<std::unique_ptr<TextEncoder>> make_sentencepiece_encoder(const Vocabulary& vocabulary) {
  auto encoder = std::make_unique<SentencePieceEncoder>();
  SATCHEL_TRY(encoder->load(sentencepiece_model(vocabulary)));
  return std::unique_ptr<TextEncoder>(std::move(encoder));
}

}  // namespace satchel::runtime
