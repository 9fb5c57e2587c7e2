#include "runtime/episodes/document_parts.h"

#include <algorithm>
#include <cmath>

#include "runtime/episodes/text_borders.h"

namespace satchel::runtime {
namespace {

// Encoded at once to learn where a text's tokens lie: about 60 tokens of prose, so that what a cut
// word adds to them stays near one in a hundred. Chosen, not measured.
constexpr std::size_t kStretchBytes = 256;
// A whole text has fewer tokens than its stretches together; less than a quarter of them would need
// tokens of 256 bytes.
constexpr std::size_t kOverestimateMax = 4;

Result<std::size_t> count_tokens(const Tokenizer& tokenizer, std::string_view text) {
  SATCHEL_TRY_ASSIGN(const auto tokens, tokenizer.encode(text, SpecialText::as_text));
  return tokens.size();
}

Result<void> go_on_unless(const std::stop_token& stop, std::size_t n_bytes_done) {
  if (n_bytes_done >= kKeptBytes && stop.stop_requested())
    return Error{ErrorKind::cancelled, "STOPPED", "Stopped."};
  return {};
}

// About how many tokens lie before each byte of a text, from those of its stretches.
class TokenCurve {
 public:
  static Result<TokenCurve> measure(std::string_view text, const Tokenizer& tokenizer,
                                    const std::stop_token& stop) {
    TokenCurve curve;
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
      SATCHEL_TRY(go_on_unless(stop, begin));
      end = std::min(text.size(), begin + kStretchBytes);
      while (end < text.size() && !is_border(text, end, Border::character)) ++end;
      SATCHEL_TRY_ASSIGN(const std::size_t n,
                         count_tokens(tokenizer, text.substr(begin, end - begin)));
      curve.bytes_.push_back(static_cast<double>(end));
      curve.tokens_.push_back(curve.total() + static_cast<double>(n));
    }
    return curve;
  }

  double total() const { return tokens_.back(); }
  double tokens_before(std::size_t byte) const {
    return value_at(static_cast<double>(byte), bytes_, tokens_);
  }
  std::size_t byte_at(double tokens) const {
    return static_cast<std::size_t>(value_at(tokens, tokens_, bytes_));
  }

 private:
  // The polyline through the points (xs[i], ys[i]); both rise from 0.
  static double value_at(double x, const std::vector<double>& xs, const std::vector<double>& ys) {
    const auto above = std::upper_bound(xs.begin(), xs.end(), x);
    if (above == xs.end()) return ys.back();
    const auto i = static_cast<std::size_t>(above - xs.begin());
    return ys[i - 1] + (ys[i] - ys[i - 1]) * (x - xs[i - 1]) / (xs[i] - xs[i - 1]);
  }

  std::vector<double> bytes_{0}, tokens_{0};  // [stretches + 1]
};

class DocumentCutter {
 public:
  DocumentCutter(std::string_view text, const Tokenizer& tokenizer, std::size_t n_tokens_max,
                 const TokenCurve& curve)
      : text_(text), tokenizer_(tokenizer), n_tokens_max_(n_tokens_max), curve_(curve) {}

  // The part that begins there.
  Result<DocumentPart> part_from(std::size_t begin) const {
    const double before = curve_.tokens_before(begin), max = static_cast<double>(n_tokens_max_);
    double limit = max;  // in tokens of the curve, which are not quite those of a part
    while (true) {
      const std::size_t end = end_of_part(begin, limit);
      const std::string_view part = text_.substr(begin, end - begin);
      SATCHEL_TRY_ASSIGN(const std::size_t n, count_tokens(tokenizer_, part));
      if (n <= n_tokens_max_) return DocumentPart{part, n};
      // Shorter by what it was too long, and by a twentieth, so that few attempts are needed.
      limit =
          std::min(limit, curve_.tokens_before(end) - before) * max / static_cast<double>(n) * 0.95;
    }
  }

 private:
  // Where a part of at most `limit` tokens ends best, if all that follow are to be about as long.
  std::size_t end_of_part(std::size_t begin, double limit) const {
    const double before = curve_.tokens_before(begin), rest = curve_.total() - before;
    if (rest <= limit) return text_.size();
    const double goal = rest / std::ceil(rest / limit);
    const auto byte_after = [&](double tokens) {
      return std::clamp(curve_.byte_at(before + tokens), begin + 1, text_.size());
    };
    const IndexRange where = {byte_after(goal * 2 / 3),
                              byte_after(std::min(limit, goal * 4 / 3)) + 1};
    if (where.begin >= text_.size()) return text_.size();
    const auto found =
        nearest_border(text_, {where.begin, std::min(where.end, text_.size())}, byte_after(goal));
    return found ? *found : character_border(begin, where.begin);
  }

  // Next to a byte that lies inside a character.
  std::size_t character_border(std::size_t begin, std::size_t inside) const {
    std::size_t at = inside;
    while (at > begin && !is_border(text_, at, Border::character)) --at;
    if (at > begin) return at;
    at = inside + 1;
    while (at < text_.size() && !is_border(text_, at, Border::character)) ++at;
    return at;
  }

  std::string_view text_;
  const Tokenizer& tokenizer_;
  std::size_t n_tokens_max_;
  const TokenCurve& curve_;
};

}  // namespace

Result<std::vector<DocumentPart>> split_document(std::string_view text, const Tokenizer& tokenizer,
                                                 std::size_t n_tokens_max,
                                                 const std::stop_token& stop) {
  SATCHEL_ASSERT(n_tokens_max >= kPartTokensLeast);
  std::vector<DocumentPart> parts;
  if (text.empty()) return parts;
  SATCHEL_TRY_ASSIGN(const TokenCurve curve, TokenCurve::measure(text, tokenizer, stop));
  if (curve.total() <= static_cast<double>(kOverestimateMax * n_tokens_max)) {
    SATCHEL_TRY_ASSIGN(const std::size_t n, count_tokens(tokenizer, text));
    if (n <= n_tokens_max) return std::vector<DocumentPart>{{text, n}};
  }
  const DocumentCutter cutter(text, tokenizer, n_tokens_max, curve);
  for (std::size_t begin = 0; begin < text.size();) {
    SATCHEL_TRY(go_on_unless(stop, begin));
    SATCHEL_TRY_ASSIGN(const DocumentPart part, cutter.part_from(begin));
    parts.push_back(part);
    begin += part.text.size();
  }
  return parts;
}

}  // namespace satchel::runtime
