//===- MessageCheck.cpp - Proves what ranks send each other ---------------===//

#include "runtime/exchange/MessageCheck.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace lwcc::rt::exchange {
namespace {

/// By lane, how many of its steps are through.
using Past = std::vector<int>;

/// A message or news, as far as order goes. Those of messages come first.
struct Sending {
  int from = 0, to = 0;
  std::vector<int> behind; ///< steps that are through when it leaves
  std::vector<int> before; ///< steps that begin when it has arrived
  Past past;               ///< what is through when it leaves
  std::string name;
};

/// One of those that touch a byte.
struct Use {
  enum Kind { write, message, read };
  Kind kind;
  int number; ///< of the step or message
};

class Check {
public:
  Check(const std::vector<Step> &steps, const std::vector<int> &ranks,
        const Messages &messages)
      : steps(steps), ranks(ranks), messages(messages) {}
  std::vector<std::string> run();

private:
  void checkForm();
  void findWaits();
  void bring(int event, int to, int sending);
  void makeClocks();
  void checkEvents();
  void checkBytes(int device);
  void checkByte(const std::vector<Use> &uses);

  void report(const std::string &problem) {
    if (known.insert(problem).second)
      problems.push_back(problem);
  }
  int rankOf(int step) const { return ranks[steps[step].device]; }
  /// Whether a step is over where this past is known.
  bool isThrough(int step, const Past &past) const {
    return past[steps[step].lane] >= place[step];
  }
  /// Whether it has arrived where this past is known.
  bool hasArrived(const Sending &sending, const Past &past) const {
    return std::any_of(sending.before.begin(), sending.before.end(),
                       [&](int step) { return isThrough(step, past); });
  }

  const std::vector<Step> &steps;
  const std::vector<int> &ranks;
  const Messages &messages;
  std::vector<std::string> problems;
  std::set<std::string> known; ///< the same
  std::vector<Sending> sendings;
  std::map<int, int> recordOf; ///< event: step
  /// Event and rank: what brings it there.
  std::map<std::pair<int, int>, std::vector<int>> bringers;
  std::vector<int> place;      ///< by step, among those of its lane, from 1
  std::vector<int> laneBefore; ///< by step, the one before in its lane, or -1
  std::vector<Past> pastOf;    ///< by step, itself among it
};

std::string text(int number) { return std::to_string(number); }
std::string nameOf(int step) { return "step " + text(step); }

void join(Past &past, const Past &other) {
  for (size_t lane = 0; lane < past.size(); ++lane)
    past[lane] = std::max(past[lane], other[lane]);
}

/// Calls body(first byte, bytes) for runs of memory that are all of a tensor.
template <typename Body>
void forEachRun(const Tensor &tensor, const Body &body) {
  if (tensor.elements() == 0)
    return;
  std::vector<std::pair<int64_t, int64_t>> loops; // stride and extent
  for (int d = 0; d < tensor.rank; ++d)
    if (tensor.dim[d] > 1)
      loops.emplace_back(tensor.stride[d], tensor.dim[d]);
  std::sort(loops.begin(), loops.end());
  int64_t length = 1;
  size_t first = 0; // of the loops that are not one run
  for (; first < loops.size() && loops[first].first == length; ++first)
    length *= loops[first].second;
  const int64_t size = sizeOf(tensor.type);
  std::vector<int64_t> at(loops.size());
  while (true) {
    int64_t offset = 0;
    for (size_t l = first; l < loops.size(); ++l)
      offset += at[l] * loops[l].first;
    body(static_cast<const char *>(tensor.data) + offset * size, length * size);
    size_t l = first;
    while (l < loops.size() && ++at[l] == loops[l].second)
      at[l++] = 0;
    if (l == loops.size())
      return;
  }
}

} // namespace

/// Numbers that name nothing, and what the runtime of a rank would not find.
void Check::checkForm() {
  const int count = static_cast<int>(steps.size());
  auto isStep = [&](int step) { return step >= 0 && step < count; };
  if (messages.awaits.size() != steps.size())
    report("awaits are not those of the steps");
  for (int i = 0; i < count; ++i)
    for (const Region &region : steps[i].writes)
      if (region.device != steps[i].device)
        report(nameOf(i) + " writes on another device");
  for (const Message &message : messages.messages) {
    const std::string name = "message " + text(int(sendings.size()));
    if (message.from == message.to ||
        message.from != ranks[message.region.device])
      report(name + " leaves where its region is not");
    for (int writer : message.writers)
      if (!isStep(writer) || rankOf(writer) != message.from)
        report(name + " leaves behind steps that are not its rank's");
    sendings.push_back(
        {message.from, message.to, message.writers, {}, {}, name});
  }
  for (const News &news : messages.news) {
    const std::string name = "news of event " + text(news.event);
    if (!isStep(news.record) || rankOf(news.record) != news.from ||
        news.from == news.to)
      report(name + " leaves behind a step that is not its rank's");
    sendings.push_back({news.from, news.to, {news.record}, {}, {}, name});
  }
  for (size_t i = 0; i < messages.awaits.size() && i < steps.size(); ++i)
    for (int message : messages.awaits[i])
      if (message < 0 || message >= int(messages.messages.size()) ||
          sendings[message].to != rankOf(int(i)))
        report(nameOf(int(i)) + " awaits what does not come to its rank");
}

/// Notes who brings an event to a rank.
void Check::bring(int event, int to, int sending) {
  auto record = recordOf.find(event);
  if (record == recordOf.end() || rankOf(record->second) == to)
    report(sendings[sending].name + " brings an event that is not another's");
  bringers[{event, to}].push_back(sending);
}

/// Finds which steps wait for what is sent, and that they can.
void Check::findWaits() {
  const int count = static_cast<int>(steps.size());
  for (int i = 0; i < count; ++i)
    if (steps[i].kind == Step::record &&
        !recordOf.emplace(steps[i].event, i).second)
      report("event " + text(steps[i].event) + " is recorded twice");
  int number = 0;
  for (const Message &message : messages.messages) {
    for (int event : message.events)
      bring(event, message.to, number);
    ++number;
  }
  for (const News &news : messages.news)
    bring(news.event, news.to, number++);
  for (int i = 0; i < count; ++i) {
    for (int message : messages.awaits[i])
      sendings[message].before.push_back(i);
    if (steps[i].kind != Step::wait)
      continue;
    const std::string event = "event " + text(steps[i].event);
    auto record = recordOf.find(steps[i].event);
    if (record == recordOf.end() || record->second > i)
      report(event + " is waited for before it is recorded");
    else if (rankOf(record->second) != rankOf(i)) {
      const std::vector<int> &all = bringers[{steps[i].event, rankOf(i)}];
      if (all.size() != 1)
        report(event + " is brought " + text(int(all.size())) +
               " times to rank " + text(rankOf(i)));
      for (int sending : all)
        sendings[sending].before.push_back(i);
    }
  }
  for (const Sending &one : sendings)
    if (one.before.empty())
      report(one.name + " is waited for by nobody, and may come too late");
    else if (!one.behind.empty() &&
             *std::max_element(one.behind.begin(), one.behind.end()) >=
                 *std::min_element(one.before.begin(), one.before.end()))
      report(one.name + " leaves behind steps that may wait for it");
}

void Check::makeClocks() {
  int lanes = 0;
  for (const Step &step : steps)
    lanes = std::max(lanes, step.lane + 1);
  std::vector<std::vector<int>> arriving(steps.size()); // sendings, by step
  for (size_t s = 0; s < sendings.size(); ++s) {
    sendings[s].past.resize(lanes);
    for (int step : sendings[s].before)
      arriving[step].push_back(static_cast<int>(s));
  }
  std::vector<Past> now(lanes, Past(lanes));
  std::vector<int> last(lanes, -1);
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    const int lane = steps[i].lane;
    Past &past = now[lane];
    for (int number : arriving[i]) {
      Sending &one = sendings[number]; // all that it is behind stands before i
      for (int step : one.behind)
        join(one.past, pastOf[step]);
      join(past, one.past);
    }
    if (steps[i].kind == Step::wait)
      if (int record = recordOf[steps[i].event]; rankOf(record) == rankOf(i))
        join(past, pastOf[record]);
    place.push_back(++past[lane]);
    pastOf.push_back(past);
    laneBefore.push_back(std::exchange(last[lane], i));
  }
}

/// No event comes before what stands before its record. A record itself takes
/// no time: what comes behind the step before it may bring it.
void Check::checkEvents() {
  for (const auto &[key, all] : bringers)
    for (int number : all) {
      const Sending &one = sendings[number];
      auto isEarly = [&](int step) {
        if (steps[step].kind != Step::record)
          return !isThrough(step, one.past);
        return std::any_of(messages.awaits[step].begin(),
                           messages.awaits[step].end(), [&](int message) {
                             return !hasArrived(sendings[message], one.past);
                           });
      };
      for (int step = recordOf[key.first]; step >= 0; step = laneBefore[step]) {
        if (isEarly(step))
          report(one.name + " may bring event " + text(key.first) + " before " +
                 nameOf(step) + " is through");
        if (steps[step].kind != Step::record)
          break;
      }
    }
}

/// All bytes of a device that are sent or read elsewhere. Bytes that the same
/// steps and messages touch are alike: each kind is looked at once.
void Check::checkBytes(int device) {
  std::vector<Use> uses;
  struct Mark {
    const char *at;
    bool begins;
    int use;
    bool operator<(const Mark &other) const {
      return std::pair(at, begins) < std::pair(other.at, other.begins);
    }
  };
  std::vector<Mark> marks;
  auto add = [&](Use::Kind kind, int number, const Region &region) {
    if (region.device != device)
      return;
    const int use = static_cast<int>(uses.size());
    uses.push_back({kind, number});
    forEachRun(region.tensor, [&](const char *begin, int64_t bytes) {
      marks.push_back({begin, true, use});
      marks.push_back({begin + bytes, false, use});
    });
  };
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    for (const Region &region : steps[i].writes)
      add(Use::write, i, region);
    if (rankOf(i) != ranks[device])
      for (const Region &region : steps[i].reads)
        add(Use::read, i, region);
  }
  for (size_t m = 0; m < messages.messages.size(); ++m)
    add(Use::message, static_cast<int>(m), messages.messages[m].region);

  std::sort(marks.begin(), marks.end());
  std::set<std::vector<int>> kinds;
  std::vector<int> open; // uses of the bytes behind a mark, sorted
  for (size_t m = 0; m < marks.size(); ++m) {
    auto at = std::lower_bound(open.begin(), open.end(), marks[m].use);
    if (marks[m].begins)
      open.insert(at, marks[m].use);
    else
      open.erase(at);
    if (m + 1 < marks.size() && marks[m + 1].at != marks[m].at &&
        std::any_of(open.begin(), open.end(),
                    [&](int use) { return uses[use].kind != Use::write; }))
      kinds.insert(open);
  }
  for (const std::vector<int> &kind : kinds) {
    std::vector<Use> touching;
    for (int use : kind)
      touching.push_back(uses[use]);
    checkByte(touching);
  }
}

void Check::checkByte(const std::vector<Use> &uses) {
  // In the order of appending, as `uses` are; a step may write it twice.
  std::vector<int> writers;
  std::map<int, int> content; // of messages: who wrote it; -1: nobody yet
  for (const Use &use : uses)
    if (use.kind == Use::write &&
        (writers.empty() || writers.back() != use.number))
      writers.push_back(use.number);
  for (size_t w = 1; w < writers.size(); ++w)
    if (!isThrough(writers[w - 1], pastOf[writers[w]]))
      report(nameOf(writers[w - 1]) + " and " + nameOf(writers[w]) +
             " may write the same bytes at a time");
  for (const Use &use : uses) {
    if (use.kind != Use::message)
      continue;
    const Sending &one = sendings[use.number];
    int &last = content[use.number] = -1;
    for (int writer : writers)
      if (isThrough(writer, one.past))
        last = writer;
      else if (!hasArrived(one, pastOf[writer]))
        report(nameOf(writer) + " may write what " + one.name + " takes");
  }

  for (const Use &use : uses) {
    if (use.kind != Use::read)
      continue;
    const int reader = use.number;
    int wanted = -1;
    for (int writer : writers)
      wanted = writer < reader ? writer : wanted;
    std::vector<int> there; // messages that have come before
    for (auto &[message, last] : content) {
      const Sending &one = sendings[message];
      if (one.to != rankOf(reader) || isThrough(reader, one.past))
        continue;
      if (hasArrived(one, pastOf[reader]))
        there.push_back(message);
      else if (last != wanted)
        report(one.name + " may come while " + nameOf(reader) +
               " reads something else there");
    }
    if (there.empty())
      report(nameOf(reader) + " may read what has not come");
    for (int message : there)
      if (content[message] != wanted &&
          std::none_of(there.begin(), there.end(), [&](int later) {
            return hasArrived(sendings[message], sendings[later].past);
          }))
        report(nameOf(reader) + " may read what " + sendings[message].name +
               " has brought");
  }
}

std::vector<std::string> Check::run() {
  checkForm();
  if (problems.empty())
    findWaits();
  if (!problems.empty())
    return problems; // there is no order to look at
  makeClocks();
  checkEvents();
  for (int device = 0; device < static_cast<int>(ranks.size()); ++device)
    checkBytes(device);
  return problems;
}

std::vector<std::string> checkMessages(const std::vector<Step> &steps,
                                       const std::vector<int> &ranks,
                                       const Messages &messages) {
  return Check(steps, ranks, messages).run();
}

} // namespace lwcc::rt::exchange
