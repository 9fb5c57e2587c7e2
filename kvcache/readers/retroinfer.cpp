// Selects the pages whose clusters of keys the query asks for: what looks alike is summed up, and
// what is alone in its page keeps a cluster of its own.
//   note    centroids, fp16 [clusters, head_dim]; how many keys each stands for, a byte each
//   bytes   (2 · head_dim + 1) · clusters a page: 1 KiB at head_dim 64, 3 % of an exact page
//   formula a page's weight is ln sum n · exp(scale · q·centroid) over its clusters, n keys each,
//           which is never more than its keys' own sum (Jensen); weights become shares
//           (PageReader). Keys of one cluster have directions near one another (k-means of keys /
//           length); a centroid is the mean of the keys themselves
//   params  tokens, pages, dense_layers  as ../stages/page_reader.h has them
//           clusters  of a page (8: 16 keys each on average, the authors')
//   source  arXiv:2505.02922 (RetroInfer), its clusters and their sizes, and its code
//           (microsoft/RetrievalAttention); after arXiv:2409.10516 (RetrievalAttention), which
//           found that queries are unlike keys
//   differs clusters inside pages, which are read whole, where the paper's span 8,192 tokens and
//           are read by themselves; no part of attention is estimated from clusters that are not
//           read; sizes are those when the page was made; V stays where K is. RetrievalAttention's
//           graph over all keys of a head, linked by the prompt's queries, does not fit: pages are
//           evicted, moved, shared with forks and saved one by one, and a link into another page
//           would outlive it; a note is made of keys alone; and walking the graph reads keys, which
//           are packed here, so notes would need them again
#include <algorithm>

#include "kvcache/stages/key_clusters.h"
#include "kvcache/stages/page_reader.h"

namespace satchel::kvcache {
namespace {

class RetroInferReader final : public PageReader {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY(read_budget(params));
    SATCHEL_TRY_ASSIGN(clusters_, params.one_of("clusters", 8, {4, 8, 16, 32}));
    return {};
  }
  std::size_t note_bytes(std::size_t head_dim) const override {
    return sizes_at(head_dim) + clusters_;
  }

  void note(std::span<const float> k, std::size_t head_dim,
            std::span<std::byte> note) const override {
    const std::size_t n_tokens = k.size() / head_dim;
    SATCHEL_ASSERT(note.size() == note_bytes(head_dim) && n_tokens <= kernels::kPageTokens);
    std::fill(note.begin(), note.end(), std::byte{0});
    if (n_tokens == 0) return;
    const KeyClusters found({.k = k, .head_dim = head_dim, .width = head_dim}, clusters_,
                            KeyClusters::Alike::in_direction, kRounds);
    for (std::size_t c = 0; c < head_dim; ++c) {
      const auto means = found.means(c);
      for (std::size_t cluster = 0; cluster < clusters_; ++cluster)
        put_half(note, cluster * head_dim + c, float_to_half(static_cast<float>(means[cluster])));
    }
    for (std::size_t cluster = 0; cluster < clusters_; ++cluster)
      note[sizes_at(head_dim) + cluster] = static_cast<std::byte>(found.size(cluster));
  }

 private:
  static constexpr std::size_t kRounds = 6;  // measured: 12 choose no better pages

  std::size_t sizes_at(std::size_t head_dim) const { return clusters_ * head_dim * sizeof(Half); }

  double weight(const NotedPage& page, std::span<const float> q, float scale) const override {
    LogSum sum;
    for (std::size_t cluster = 0; cluster < clusters_; ++cluster) {
      const auto n = static_cast<unsigned>(page.note[sizes_at(q.size()) + cluster]);
      if (n > 0)
        sum.add(static_cast<double>(scale) * product(q, page.note, cluster) +
                std::log(static_cast<double>(n)));
    }
    return sum.value();
  }

  std::size_t clusters_ = 8;
};
}  // namespace

extern const StageMaker readers_retroinfer = stage_of<RetroInferReader>("arXiv:2505.02922");
}  // namespace satchel::kvcache
