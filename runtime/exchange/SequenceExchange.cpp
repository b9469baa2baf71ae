//===- SequenceExchange.cpp - A rank's share of a sequence ----------------===//

#include "runtime/exchange/SequenceExchange.h"

#include "runtime/core/HostCopy.h"
#include "runtime/exchange/MessageCheck.h"

#include <algorithm>
#include <cassert>

namespace lwcc::rt {

SequenceExchange::SequenceExchange(const std::vector<exchange::Step> &steps,
                                   const Ranks &ranks, const Setting &setting)
    : number(setting.number) {
  const exchange::Messages all =
      exchange::deriveMessages(steps, ranks.ofDevice);
  assert(exchange::checkMessages(steps, ranks.ofDevice, all).empty() &&
         "ranks may read what has not come, or wait for ever");
  behind.resize(steps.size());
  awaits.resize(steps.size());
  uint64_t next = 0;
  auto parcelTo = [&](int peer) -> Outgoing & {
    Outgoing &out = outgoing.emplace_back();
    out.parcel.peer = peer;
    out.parcel.id = parcelId(number, next);
    out.transport = ranks.transport;
    return out;
  };
  for (const exchange::Message &message : all.messages) {
    const Tensor &region = message.region.tensor;
    const bool isPacked = !exchange::isContiguous(region);
    Incoming &in = incoming.emplace_back();
    if (message.to == ranks.rank) {
      in.from = message.from;
      in.target = region;
      if (isPacked)
        in.staging = setting.allocate(region.bytes());
      for (int event : message.events)
        in.events.push_back(setting.events[event]);
    } else if (message.from == ranks.rank) {
      Outgoing &out = parcelTo(message.to);
      out.source = region;
      out.parcel.bytes = region.bytes();
      if (isPacked || setting.stagesAll)
        out.staging = setting.allocate(region.bytes());
      out.parcel.data = out.staging ? out.staging : region.data;
      out.writers = static_cast<int>(message.writers.size());
      out.left = out.writers;
      for (int writer : message.writers) {
        behind[writer].push_back(&out);
        out.lane = steps[writer].lane;
      }
      if (message.writers.empty())
        atStart.push_back(&out);
    }
    ++next;
  }
  for (const exchange::News &news : all.news) {
    Incoming &in = incoming.emplace_back();
    if (news.to == ranks.rank) {
      in.from = news.from;
      in.events.push_back(setting.events[news.event]);
    } else if (news.from == ranks.rank) {
      Outgoing &out = parcelTo(news.to);
      out.lane = steps[news.record].lane;
      behind[news.record].push_back(&out);
    }
    ++next;
  }
  for (size_t i = 0; i < steps.size(); ++i)
    if (ranks.isLocal(steps[i].device))
      for (int message : all.awaits[i])
        awaits[i].push_back(&incoming[message]);
}

bool SequenceExchange::isLastWriter(Outgoing &out) {
  if (out.writers <= 1)
    return true;
  if (out.left.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return false;
  out.left.store(out.writers, std::memory_order_relaxed); // of the next run
  return true;
}

/// Of a device that the host can read.
static void packAndSend(Outgoing &out, uint64_t run) {
  if (out.staging)
    copyOnHost(packedAs(out.source, out.staging), out.source);
  out.parcel.run = run;
  out.send();
}

void SequenceExchange::begin(uint64_t run) {
  for (Outgoing *out : atStart)
    packAndSend(*out, run);
}

void SequenceExchange::before(int step, uint64_t run,
                              const std::atomic<bool> &failed) {
  for (Incoming *in : awaits[step])
    in->done.await(run, failed);
}

void SequenceExchange::after(int step, uint64_t run) {
  for (Outgoing *out : behind[step])
    if (isLastWriter(*out))
      packAndSend(*out, run);
}

bool SequenceExchange::mayStart(int step, uint64_t run) const {
  return std::all_of(
      awaits[step].begin(), awaits[step].end(),
      [run](const Incoming *in) { return in->done.hasHappened(run); });
}

std::vector<Tensor> SequenceExchange::landings() const {
  std::vector<Tensor> regions;
  for (const Incoming &in : incoming)
    if (in.target)
      regions.push_back(in.target);
  return regions;
}

void SequenceExchange::wake() {
  for (Incoming &in : incoming)
    in.done.wake();
}

void *SequenceExchange::landing(int from, uint32_t number, int64_t bytes) {
  if (number >= incoming.size())
    return nullptr;
  Incoming &in = incoming[number];
  if (in.from != from || !in.target || bytes != in.target.bytes())
    return nullptr;
  return in.staging ? in.staging : in.target.data;
}

bool SequenceExchange::arrived(int from, uint32_t number, uint64_t run) {
  if (number >= incoming.size() || incoming[number].from != from)
    return false;
  Incoming &in = incoming[number];
  if (in.staging)
    copyOnHost(in.target, packedAs(in.target, in.staging));
  in.done.signal(run);
  for (RunCounter *event : in.events)
    event->signal(run);
  return true;
}

} // namespace lwcc::rt
