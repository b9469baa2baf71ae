//===- UcxApi.h - The functions of libucp, loaded at run time ---*- C++ -*-===//
//
// Exists so that a program with one rank needs no libucp on its machine.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_EXCHANGE_UCXAPI_H
#define LWCC_RUNTIME_EXCHANGE_UCXAPI_H

#include <ucp/api/ucp.h>

namespace lwcc::rt {

/// One member for each function that is used, of its own name and type.
struct UcxApi {
#define LWCC_UCX_FUNCTIONS(F)                                                  \
  F(ucp_config_read)                                                           \
  F(ucp_config_release)                                                        \
  F(ucp_init_version)                                                          \
  F(ucp_cleanup)                                                               \
  F(ucp_worker_create)                                                         \
  F(ucp_worker_destroy)                                                        \
  F(ucp_worker_get_address)                                                    \
  F(ucp_worker_release_address)                                                \
  F(ucp_worker_get_efd)                                                        \
  F(ucp_worker_arm)                                                            \
  F(ucp_worker_progress)                                                       \
  F(ucp_worker_set_am_recv_handler)                                            \
  F(ucp_ep_create)                                                             \
  F(ucp_ep_close_nbx)                                                          \
  F(ucp_am_send_nbx)                                                           \
  F(ucp_am_recv_data_nbx)                                                      \
  F(ucp_request_check_status)                                                  \
  F(ucp_request_free)
#define LWCC_UCX_MEMBER(name) decltype(&::name) name = nullptr;
  LWCC_UCX_FUNCTIONS(LWCC_UCX_MEMBER)
#undef LWCC_UCX_MEMBER
  decltype(&::ucs_status_string) ucs_status_string = nullptr;

  /// Throws Error, naming the package, where there is no libucp.
  static const UcxApi &load();
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_EXCHANGE_UCXAPI_H
