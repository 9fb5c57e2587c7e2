// ReleasedBy: the deleter of a std::unique_ptr to what a C library's function releases.
#pragma once

namespace satchel {

template <auto kRelease>
struct ReleasedBy {
  template <class T>
  void operator()(T* at) const {
    (void)kRelease(at);
  }
};

}  // namespace satchel
