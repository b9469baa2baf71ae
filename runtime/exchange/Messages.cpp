//===- Messages.cpp - What ranks send each other in a sequence ------------===//

#include "runtime/exchange/Messages.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace lwcc::rt::exchange {

Span spanOf(const Tensor &tensor) {
  auto *begin = static_cast<const char *>(tensor.data);
  int64_t last = 0;
  for (int d = 0; d < tensor.rank; ++d) {
    if (tensor.dim[d] == 0)
      return {begin, begin};
    last += (tensor.dim[d] - 1) * tensor.stride[d];
  }
  return {begin, begin + (last + 1) * sizeOf(tensor.type)};
}

bool isContiguous(const Tensor &tensor) {
  const Span span = spanOf(tensor);
  return span.end - span.begin == tensor.bytes();
}

namespace {

bool overlap(const Span &a, const Span &b) {
  return a.begin < b.end && b.begin < a.end;
}
bool covers(const Span &outer, const Span &inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

bool isSame(const Tensor &a, const Tensor &b) {
  if (a.data != b.data || a.type != b.type || a.rank != b.rank)
    return false;
  for (int d = 0; d < a.rank; ++d)
    if (a.dim[d] != b.dim[d] || (a.dim[d] > 1 && a.stride[d] != b.stride[d]))
      return false;
  return true;
}

class Derivation {
public:
  Derivation(const std::vector<Step> &steps, const std::vector<int> &ranks)
      : steps(steps), ranks(ranks) {}
  Messages run();

private:
  struct Write {
    Span bytes;
    int step;
  };
  /// A message whose bytes a rank has, unless they were written again.
  struct Delivered {
    Span bytes;
    int message;
  };

  void read(int step, const Region &region);
  void write(int step, const Region &region);
  int messageFor(const Region &region, int to);
  void bring(int event, int record, int to);

  const std::vector<Step> &steps;
  const std::vector<int> &ranks;
  Messages result;
  std::vector<std::vector<Write>> written;                     ///< by device
  std::map<std::pair<int, int>, std::vector<Delivered>> known; ///< device, rank
  std::map<int, std::set<int>> awaited;                        ///< by lane
  std::map<int, std::vector<int>> sentBehind; ///< messages, by writer
};

} // namespace

/// The message that brings a region to a rank, as it is at this point.
int Derivation::messageFor(const Region &region, int to) {
  const Span bytes = spanOf(region.tensor);
  std::vector<Delivered> &there = known[{region.device, to}];
  for (const Delivered &one : there) {
    const Tensor &sent = result.messages[one.message].region.tensor;
    if (isSame(sent, region.tensor) ||
        (isContiguous(sent) && covers(one.bytes, bytes)))
      return one.message;
  }
  const int number = static_cast<int>(result.messages.size());
  Message message{ranks[region.device], to, region, {}, {}};
  for (const Write &one : written[region.device])
    if (overlap(one.bytes, bytes))
      message.writers.push_back(one.step);
  std::sort(message.writers.begin(), message.writers.end());
  message.writers.erase(
      std::unique(message.writers.begin(), message.writers.end()),
      message.writers.end());
  for (int writer : message.writers)
    sentBehind[writer].push_back(number);
  result.messages.push_back(std::move(message));
  there.push_back({bytes, number});
  return number;
}

void Derivation::read(int step, const Region &region) {
  const int to = ranks[steps[step].device];
  if (ranks[region.device] == to || region.tensor.elements() == 0)
    return;
  const int message = messageFor(region, to);
  if (awaited[steps[step].lane].insert(message).second)
    result.awaits[step].push_back(message);
}

void Derivation::write(int step, const Region &region) {
  const Span bytes = spanOf(region.tensor);
  std::vector<Write> &past = written[region.device];
  if (isContiguous(region.tensor))
    std::erase_if(past, [&](const Write &one) {
      return one.step != step && covers(bytes, one.bytes);
    });
  past.push_back({bytes, step});
  for (auto &[place, there] : known)
    if (place.first == region.device)
      std::erase_if(there, [&](const Delivered &one) {
        return overlap(one.bytes, bytes);
      });
}

/// The news of an event for a rank: with a message that leaves behind the step
/// before the record, if there is one. All of its writers stand before the
/// record, so that no writer waits for what waits for the event.
void Derivation::bring(int event, int record, int to) {
  int before = record - 1;
  while (before >= 0 && (steps[before].lane != steps[record].lane ||
                         steps[before].kind == Step::record))
    --before;
  if (before >= 0 && steps[before].kind == Step::work)
    for (int number : sentBehind[before])
      if (Message &message = result.messages[number];
          message.to == to && message.writers.back() < record) {
        message.events.push_back(event);
        return;
      }
  result.news.push_back({ranks[steps[record].device], to, event, record});
}

Messages Derivation::run() {
  result.awaits.resize(steps.size());
  written.resize(ranks.size());
  std::map<int, int> recorded;          // event: step
  std::set<std::pair<int, int>> wanted; // event and rank
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    const Step &step = steps[i];
    switch (step.kind) {
    case Step::work:
      for (const Region &region : step.reads)
        read(i, region);
      for (const Region &region : step.writes)
        write(i, region);
      break;
    case Step::record:
      recorded[step.event] = i;
      break;
    case Step::wait: {
      auto at = recorded.find(step.event);
      assert(at != recorded.end() && "waited for before it is recorded");
      const int to = ranks[step.device];
      if (ranks[steps[at->second].device] != to)
        wanted.insert({step.event, to});
      break;
    }
    }
  }
  for (const auto &[event, to] : wanted)
    bring(event, recorded[event], to);
  return std::move(result);
}

Messages deriveMessages(const std::vector<Step> &steps,
                        const std::vector<int> &ranks) {
  return Derivation(steps, ranks).run();
}

} // namespace lwcc::rt::exchange
