//===- UcxApi.cpp - The functions of libucp, loaded at run time -----------===//

#if __has_include(<ucp/api/ucp.h>)

#include "runtime/exchange/UcxApi.h"

#include "runtime/core/Error.h"

#include <cstdlib>
#include <string>
#include <type_traits>

#include <dlfcn.h>

namespace lwcc::rt {

const UcxApi &UcxApi::load() {
  static const UcxApi api = [] {
    // Its notes are for its own developers, and the trainer has its signals.
    ::setenv("UCX_LOG_LEVEL", "fatal", /*overwrite=*/0);
    ::setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 0);
    ::setenv("UCX_HANDLE_ERRORS", "none", 0);
    ::setenv("UCX_ERROR_SIGNALS", "", 0);
    void *ucp = ::dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!ucp)
      throw Error(std::string("several ranks need UCX: ") + ::dlerror() +
                  "; Debian's package is libucx0");
    UcxApi found;
    auto find = [&](auto &member, const char *name) {
      member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(
          ::dlsym(ucp, name));
      if (!member)
        throw Error(std::string("this libucp has no ") + name +
                    "; version 1.12 or later is needed");
    };
#define LWCC_UCX_FIND(name) find(found.name, #name);
    LWCC_UCX_FUNCTIONS(LWCC_UCX_FIND)
#undef LWCC_UCX_FIND
    find(found.ucs_status_string, "ucs_status_string");
    return found;
  }();
  return api;
}

} // namespace lwcc::rt

#endif
