//===- Finisher.cpp - What follows when runs are over ---------------------===//

#include "runtime/train/ranks/Finisher.h"

#include "runtime/train/ranks/Packet.h"

#include <algorithm>

namespace lwcc::rt::train {

Finisher::Finisher(Machine &machine, Channel &channel,
                   std::function<void(const std::string &)> onError)
    : machine(machine), channel(channel), onError(std::move(onError)),
      thread([this] { work(); }) {}

Finisher::~Finisher() {
  {
    std::lock_guard lock(mutex);
    isEnding = true;
  }
  changed.notify_one();
  thread.join();
}

void Finisher::add(Kept kept) {
  std::lock_guard lock(mutex);
  waiting.push_back(std::move(kept));
  changed.notify_one();
}

void Finisher::work() {
  try {
    while (true) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return isEnding || !waiting.empty(); });
      if (waiting.empty())
        return;
      const Kept next = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      finish(next);
    }
  } catch (const RankLost &) { // rank 0 knows, or will
  } catch (const std::exception &error) {
    onError(error.what());
  }
}

void Finisher::finish(const Kept &kept) {
  constexpr auto piece = static_cast<size_t>(pieceBytes);
  machine.wait(kept.ticket);
  for (auto [loader, batch] : kept.batches)
    loader->release(*batch);
  if (kept.request < 0)
    return;
  for (size_t at = 0; at < kept.bytes; at += piece) {
    PacketWriter reply;
    reply.number(kept.request);
    reply.bytes.append(kept.read.data() + at, std::min(piece, kept.bytes - at));
    channel.send(MessageKind::reply, reply.bytes);
  }
}

} // namespace lwcc::rt::train
