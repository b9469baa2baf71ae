//===- NoUcx.cpp - Where a program is compiled without UCX ----------------===//
//
// Programs of one rank need none; others say what is missing.
//
//===----------------------------------------------------------------------===//

#include "runtime/exchange/UcxTransport.h"

#include "runtime/core/Error.h"

#if !__has_include(<ucp/api/ucp.h>)

namespace lwcc::rt {

struct UcxTransport::State {};

UcxTransport::UcxTransport(int) {
  throw Error("several ranks need UCX, and this program was compiled without "
              "it: install Debian's libucx-dev and compile it again");
}
UcxTransport::~UcxTransport() = default;
const std::string &UcxTransport::address() const {
  static const std::string none;
  return none;
}
void UcxTransport::setPeers(std::vector<UcxPeer>) {}
void UcxTransport::start(Receiver &) {}
void UcxTransport::send(Parcel &) {}
void UcxTransport::stop(bool) {}

} // namespace lwcc::rt

#endif
