// What the chat service itself refuses or fails at; the layers below bring their own errors.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "kernels/base/result.h"

namespace satchel::runtime {

Error no_model();
Error no_chat();
Error chat_is_open();
Error memory_not_open();
Error chat_lost();
Error nothing_to_answer();
Error has_one_version();
Error no_such_message();
Error cannot_be_said_otherwise();
Error no_messages();
Error call_stopped();
Error nested_call();
// path: of the model that the chat was held with
Error model_missing(const std::string& path);
Error other_model();  // of a chat's bytes
Error out_of_memory();
Error unexpected(const std::exception& stranger);  // what a library threw

// What `work` results in. What libraries throw in it ends here: front ends know values only.
template <class T, class Work>
Result<T> caught(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& stranger) {
    return unexpected(stranger);
  }
}

}  // namespace satchel::runtime
