// Exit codes of `satchel`, documented in docs/command-line.md and `satchel --help`.
#pragma once

#include "kernels/base/result.h"

namespace satchel::app {

enum ExitCode {
  kExitOk = 0,
  kExitOther = 1,
  kExitUsage = 2,
  kExitNotFound = 3,
  kExitBadInput = 4,
  kExitMemory = 5,
  kExitDevice = 6,
  kExitStorage = 7,
  kExitBind = 8,
  kExitInterrupted = 130,
};

inline int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid:
      return kExitUsage;
    case ErrorKind::not_found:
      return kExitNotFound;
    case ErrorKind::corrupt:
    case ErrorKind::unsupported:
      return kExitBadInput;
    case ErrorKind::out_of_memory:
      return kExitMemory;
    case ErrorKind::device_lost:
      return kExitDevice;
    case ErrorKind::storage:
      return kExitStorage;
    case ErrorKind::cancelled:
      return kExitInterrupted;
    case ErrorKind::internal:
      return kExitOther;
  }
  return kExitOther;
}

}  // namespace satchel::app
