//===- MessageMutants.cpp - Messages with one mistake ---------------------===//

#include "MessageMutants.h"

#include <algorithm>

namespace lwcc::rt::exchange {
namespace {

class Mutation {
public:
  Mutation(const RankProgram &program, const Messages &messages)
      : program(program), messages(messages) {}

  std::vector<MessageMutant> run() {
    for (int m = 0; m < int(messages.messages.size()); ++m)
      mutateMessage(m);
    for (int n = 0; n < int(messages.news.size()); ++n)
      mutateNews(n);
    for (int i = 0; i < int(messages.awaits.size()); ++i)
      for (int a = 0; a < int(messages.awaits[i].size()); ++a)
        mutateAwait(i, a);
    return std::move(mutants);
  }

private:
  Messages &add(const char *kind) {
    return mutants.emplace_back(kind, messages).messages;
  }
  void mutateMessage(int number);
  void mutateNews(int number);
  void mutateAwait(int step, int place);
  /// By messages from the rank of its record that leave before that.
  void bringEarly(const Messages &without, int event, int to, int record);
  int recordOf(int event) const {
    for (int i = 0; i < int(program.steps.size()); ++i)
      if (program.steps[i].kind == Step::record &&
          program.steps[i].event == event)
        return i;
    return -1;
  }

  const RankProgram &program;
  const Messages &messages;
  std::vector<MessageMutant> mutants;
};

/// Without one of the messages, whose numbers change.
void drop(Messages &from, int number) {
  from.messages.erase(from.messages.begin() + number);
  for (std::vector<int> &all : from.awaits) {
    std::erase(all, number);
    for (int &message : all)
      message -= message > number ? 1 : 0;
  }
}

} // namespace

void Mutation::mutateMessage(int number) {
  const Message &message = messages.messages[number];
  drop(add("a message dropped"), number);
  for (size_t w = 0; w < message.writers.size(); ++w) {
    std::vector<int> &writers =
        add("a writer removed").messages[number].writers;
    writers.erase(writers.begin() + int(w));
  }
  if (!message.writers.empty()) {
    // The same bytes once more, from before, for all who await them.
    Messages &twice = add("a message doubled, earlier");
    Message early = message;
    early.writers.clear();
    early.events.clear();
    twice.messages.push_back(early);
    for (std::vector<int> &all : twice.awaits)
      if (std::find(all.begin(), all.end(), number) != all.end())
        all.push_back(int(messages.messages.size()));
  }
  for (int bytes : {-4, 4, -8, 8}) {
    Region moved = message.region;
    moved.tensor.data = moved.tensor.as<char>() + bytes;
    const std::vector<int> places = placesOf(program, moved);
    const auto [first, last] =
        std::minmax_element(places.begin(), places.end());
    if (*first >= 0 && *last < RankProgram::deviceBytes)
      add("a message of another place").messages[number].region = moved;
  }
  for (int d = 0; d < message.region.tensor.rank; ++d)
    if (message.region.tensor.dim[d] > 1)
      --add("a message too short").messages[number].region.tensor.dim[d];
  for (int rank : program.ranks)
    if (rank != message.to && rank != message.from)
      add("a message to another rank").messages[number].to = rank;
  for (size_t e = 0; e < message.events.size(); ++e) {
    Messages without = messages;
    std::vector<int> &events = without.messages[number].events;
    const int event = events[e];
    events.erase(events.begin() + int(e));
    bringEarly(without, event, message.to, recordOf(event));
    mutants.push_back({"an event no longer brought", std::move(without)});
    const int record = recordOf(event);
    add("an event brought twice")
        .news.push_back({message.from, message.to, event, record});
  }
}

void Mutation::mutateNews(int number) {
  const News news = messages.news[number];
  Messages without = messages;
  without.news.erase(without.news.begin() + number);
  bringEarly(without, news.event, news.to, news.record);
  mutants.push_back({"news dropped", std::move(without)});
  add("an event brought twice").news.push_back(news);
  // Behind another step of its lane, or of its rank.
  for (int step = 0; step < news.record; ++step)
    if (program.rankOf(step) == news.from)
      add("news that leave earlier").news[number].record = step;
}

void Mutation::bringEarly(const Messages &without, int event, int to,
                          int record) {
  const int from = program.rankOf(record);
  for (size_t m = 0; m < without.messages.size(); ++m) {
    const Message &other = without.messages[m];
    if (other.from != from || other.to != to ||
        (!other.writers.empty() && other.writers.back() > record))
      continue;
    Messages early = without;
    early.messages[m].events.push_back(event);
    // The derivation's own choice is no mistake.
    if (std::find(messages.messages[m].events.begin(),
                  messages.messages[m].events.end(),
                  event) == messages.messages[m].events.end())
      mutants.push_back({"an event with another message", std::move(early)});
  }
}

void Mutation::mutateAwait(int step, int place) {
  const int message = messages.awaits[step][place];
  Messages &without = add("an await removed");
  without.awaits[step].erase(without.awaits[step].begin() + place);
  for (int later = step + 1; later < int(program.steps.size()); ++later)
    if (program.steps[later].lane == program.steps[step].lane) {
      Messages &late = add("an await that comes later");
      late.awaits[step].erase(late.awaits[step].begin() + place);
      late.awaits[later].push_back(message);
      return;
    }
}

std::vector<MessageMutant> mutantsOf(const RankProgram &program,
                                     const Messages &messages) {
  return Mutation(program, messages).run();
}

} // namespace lwcc::rt::exchange
