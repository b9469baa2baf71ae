//===- UcxTransport.cpp - Parcels by UCX ----------------------------------===//
//
// Lanes push parcels onto a list that the one thread takes as a whole; only
// that thread calls UCX.
//
//===----------------------------------------------------------------------===//

#include "runtime/exchange/UcxTransport.h"

#include "runtime/core/Error.h"

#if __has_include(<ucp/api/ucp.h>)

#include "runtime/exchange/UcxApi.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace lwcc::rt {

static constexpr unsigned messageId = 1;

struct UcxTransport::State {
  explicit State(int rank) : rank(rank) {}

  /// Sent before the data.
  struct Header {
    uint64_t id, run;
    int64_t from;
  };
  /// What is under way, for its callback: UCX reads the header until then.
  struct Transfer {
    Transfer(State *state, const Header &header, int peer)
        : state(state), header(header), peer(peer) {
      ++state->transfers;
    }
    ~Transfer() { --state->transfers; }
    State *const state;
    const Header header;
    const int peer;
    void end(void *request) {
      state->ucx->ucp_request_free(request);
      delete this;
    }
  };

  void run();
  void post(const Parcel &parcel);
  ucp_ep_h endpoint(int peer);
  ucs_status_t receive(const Header &header, void *data, size_t length,
                       bool isLarge);
  void lose(int peer, ucs_status_t status);
  template <typename IsUnderWay>
  void progressWhile(std::chrono::seconds most, IsUnderWay isUnderWay);
  void close();

  /// Whether the thread runs, is through, or stands still for good.
  enum class Fate { runs, over, still };
  void decide(Fate value) {
    fate = value;
    fate.notify_all();
  }
  static void standStill(int);
  static thread_local State *ofThread;

  const int rank;
  const UcxApi *ucx = nullptr;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  int ucxEvents = -1, wakeup = -1;
  std::string address;
  std::vector<UcxPeer> peers;
  std::vector<ucp_ep_h> endpoints;
  std::vector<bool> isLost;
  Receiver *receiver = nullptr;
  std::atomic<Parcel *> outgoing = nullptr; ///< the latest first
  int transfers = 0;                        ///< under way, to and from
  std::atomic<bool> stopping = false, delivering = true;
  std::atomic<Fate> fate = Fate::runs;
  std::thread thread;
};

namespace {

void check(const UcxApi &ucx, ucs_status_t status, const char *what) {
  if (status != UCS_OK)
    throw Error(std::string("UCX: ") + what + ": " +
                ucx.ucs_status_string(status));
}

} // namespace

UcxTransport::UcxTransport(int rank) : state(std::make_unique<State>(rank)) {
  State &s = *state;
  s.ucx = &UcxApi::load();
  const UcxApi &ucx = *s.ucx;
  ucp_config_t *config = nullptr;
  check(ucx, ucx.ucp_config_read(nullptr, nullptr, &config),
        "its configuration");
  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucs_status_t status = ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR,
                                             &params, config, &s.context);
  ucx.ucp_config_release(config);
  check(ucx, status, "no way to other ranks");
  ucp_worker_params_t workerParams = {};
  workerParams.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  workerParams.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  check(ucx, ucx.ucp_worker_create(s.context, &workerParams, &s.worker),
        "a worker");
  check(ucx, ucx.ucp_worker_get_efd(s.worker, &s.ucxEvents), "its events");
  ucp_address_t *bytes = nullptr;
  size_t length = 0;
  check(ucx, ucx.ucp_worker_get_address(s.worker, &bytes, &length),
        "its address");
  s.address.assign(reinterpret_cast<const char *>(bytes), length);
  ucx.ucp_worker_release_address(s.worker, bytes);
  s.wakeup = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (s.wakeup < 0)
    throw Error("too many open files");
}

UcxTransport::~UcxTransport() {
  stop(false);
  State &s = *state;
  if (s.fate == State::Fate::still) {
    state.release(); // its thread stands in the middle of it
    return;
  }
  if (s.worker)
    s.ucx->ucp_worker_destroy(s.worker);
  if (s.context)
    s.ucx->ucp_cleanup(s.context);
  if (s.wakeup >= 0)
    ::close(s.wakeup);
}

const std::string &UcxTransport::address() const { return state->address; }

void UcxTransport::setPeers(std::vector<UcxPeer> peers) {
  state->endpoints.resize(peers.size());
  state->isLost.resize(peers.size());
  state->peers = std::move(peers);
}

void UcxTransport::start(Receiver &receiver) {
  State &s = *state;
  s.receiver = &receiver;
  ucp_am_handler_param_t handler = {};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                       UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = messageId;
  handler.arg = &s;
  handler.cb = [](void *state, const void *header, size_t headerBytes,
                  void *data, size_t length, const ucp_am_recv_param_t *how) {
    if (headerBytes != sizeof(State::Header))
      return UCS_OK; // not one of ours
    State::Header copy;
    std::memcpy(&copy, header, sizeof copy);
    return static_cast<State *>(state)->receive(
        copy, data, length, how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV);
  };
  check(*s.ucx, s.ucx->ucp_worker_set_am_recv_handler(s.worker, &handler),
        "its messages");
  s.thread = std::thread([&s] { s.run(); });
  pthread_setname_np(s.thread.native_handle(), "exchange");
}

void UcxTransport::send(Parcel &parcel) {
  State &s = *state;
  Parcel *last = s.outgoing.load(std::memory_order_relaxed);
  do
    parcel.next = last;
  while (!s.outgoing.compare_exchange_weak(
      last, &parcel, std::memory_order_release, std::memory_order_relaxed));
  if (!last) { // else someone has just woken the thread
    const uint64_t one = 1;
    [[maybe_unused]] ssize_t written = ::write(s.wakeup, &one, sizeof one);
  }
}

void UcxTransport::stop(bool deliver) {
  State &s = *state;
  if (!s.thread.joinable())
    return;
  s.delivering = deliver;
  s.stopping = true;
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(s.wakeup, &one, sizeof one);
  s.fate.wait(State::Fate::runs);
  if (s.fate == State::Fate::still)
    s.thread.detach();
  else
    s.thread.join();
}

thread_local UcxTransport::State *UcxTransport::State::ofThread = nullptr;

/// UCX ends the program when a state is new to it, as some are in which another
/// rank goes. Who is gone is soon known otherwise (train/ranks/), so its thread
/// stands still for a while; what was no lost rank ends the program then.
void UcxTransport::State::standStill(int) {
  if (!ofThread)
    return; // it is somebody else's end
  ofThread->decide(Fate::still);
  for (int i = 0; i < 15; ++i)
    ::usleep(1000000);
}

void UcxTransport::State::run() {
  ofThread = this;
  struct sigaction action = {};
  action.sa_handler = standStill;
  ::sigaction(SIGABRT, &action, nullptr);
  while (true) {
    Parcel *list = outgoing.exchange(nullptr, std::memory_order_acquire);
    Parcel *first = nullptr; // the oldest
    while (list)
      first = std::exchange(list, std::exchange(list->next, first));
    while (first) {
      const Parcel parcel = *first; // may be used again once it is posted
      first = first->next;
      post(parcel);
    }
    while (ucx->ucp_worker_progress(worker))
      ;
    if (outgoing.load(std::memory_order_relaxed))
      continue;
    if (stopping) {
      close();
      return decide(Fate::over);
    }
    if (ucx->ucp_worker_arm(worker) != UCS_OK)
      continue; // something came meanwhile
    pollfd events[] = {{ucxEvents, POLLIN, 0}, {wakeup, POLLIN, 0}};
    ::poll(events, 2, 1000); // some transports have timers
    if (events[1].revents) {
      uint64_t count;
      [[maybe_unused]] ssize_t got = ::read(wakeup, &count, sizeof count);
    }
  }
}

ucp_ep_h UcxTransport::State::endpoint(int peer) {
  if (!endpoints[peer] && !isLost[peer]) {
    ucp_ep_params_t params = {};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address =
        reinterpret_cast<const ucp_address_t *>(peers[peer].address.data());
    // UCX's shared memory cannot tell that the other end is gone.
    params.err_mode = peers[peer].isNear ? UCP_ERR_HANDLING_MODE_NONE
                                         : UCP_ERR_HANDLING_MODE_PEER;
    if (ucs_status_t status =
            ucx->ucp_ep_create(worker, &params, &endpoints[peer]);
        status != UCS_OK) {
      endpoints[peer] = nullptr;
      lose(peer, status);
    }
  }
  return endpoints[peer];
}

void UcxTransport::State::lose(int peer, ucs_status_t status) {
  if (isLost[peer] || stopping)
    return;
  isLost[peer] = true;
  receiver->lost(peer, ucx->ucs_status_string(status));
}

void UcxTransport::State::post(const Parcel &parcel) {
  ucp_ep_h to = endpoint(parcel.peer);
  if (!to)
    return;
  auto *sending =
      new Transfer{this, {parcel.id, parcel.run, rank}, parcel.peer};
  ucp_request_param_t params = {};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.user_data = sending;
  params.cb.send = [](void *request, ucs_status_t status, void *data) {
    auto *sending = static_cast<Transfer *>(data);
    if (status != UCS_OK)
      sending->state->lose(sending->peer, status);
    sending->end(request);
  };
  ucs_status_ptr_t request = ucx->ucp_am_send_nbx(
      to, messageId, &sending->header, sizeof sending->header, parcel.data,
      static_cast<size_t>(parcel.bytes), &params);
  if (UCS_PTR_IS_PTR(request))
    return; // the callback ends it
  delete sending;
  if (UCS_PTR_IS_ERR(request))
    lose(parcel.peer, UCS_PTR_STATUS(request));
}

ucs_status_t UcxTransport::State::receive(const Header &header, void *data,
                                          size_t length, bool isLarge) {
  const int from = static_cast<int>(header.from);
  if (from < 0 || from >= static_cast<int>(peers.size()))
    return UCS_OK; // from nobody
  if (length == 0) {
    receiver->arrived(from, header.id, header.run);
    return UCS_OK;
  }
  void *to = receiver->landing(from, header.id, static_cast<int64_t>(length));
  if (!to) {
    receiver->lost(from, "it sent what this program does not send");
    return UCS_OK; // a large one is told that nobody wants it
  }
  if (!isLarge) {
    std::memcpy(to, data, length);
    receiver->arrived(from, header.id, header.run);
    return UCS_OK;
  }
  auto *fetching = new Transfer{this, header, from};
  ucp_request_param_t params = {};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  params.user_data = fetching;
  params.cb.recv_am = [](void *request, ucs_status_t status, size_t,
                         void *arg) {
    auto *fetching = static_cast<Transfer *>(arg);
    if (status == UCS_OK)
      fetching->state->receiver->arrived(fetching->peer, fetching->header.id,
                                         fetching->header.run);
    else
      fetching->state->lose(fetching->peer, status);
    fetching->end(request);
  };
  ucs_status_ptr_t request =
      ucx->ucp_am_recv_data_nbx(worker, data, to, length, &params);
  if (UCS_PTR_IS_ERR(request)) {
    delete fetching;
    lose(from, UCS_PTR_STATUS(request));
  }
  return UCS_INPROGRESS; // the data is UCX's until it is fetched
}

template <typename IsUnderWay>
void UcxTransport::State::progressWhile(std::chrono::seconds most,
                                        IsUnderWay isUnderWay) {
  const auto until = std::chrono::steady_clock::now() + most;
  while (isUnderWay() && std::chrono::steady_clock::now() < until)
    if (!ucx->ucp_worker_progress(worker))
      ::usleep(1000);
}

/// Peers read large parcels in this process's memory, and UCX closes the way to
/// them without a thought of that. Whether one of this machine is gone nobody
/// can tell here, so patience has an end.
void UcxTransport::State::close() {
  if (delivering)
    progressWhile(std::chrono::seconds(10), [this] { return transfers > 0; });
  for (ucp_ep_h &to : endpoints) {
    if (!to)
      continue;
    ucp_request_param_t params = {};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = isLost[&to - endpoints.data()] ? UCP_EP_CLOSE_FLAG_FORCE : 0;
    ucs_status_ptr_t request = ucx->ucp_ep_close_nbx(to, &params);
    if (UCS_PTR_IS_PTR(request)) {
      progressWhile(std::chrono::seconds(1), [&] {
        return ucx->ucp_request_check_status(request) == UCS_INPROGRESS;
      });
      ucx->ucp_request_free(request);
    }
    to = nullptr;
  }
}

} // namespace lwcc::rt

#endif
