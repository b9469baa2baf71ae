//===- BatchLoader.cpp - Batches, prepared in the background --------------===//

#include "runtime/train/data/BatchLoader.h"

#include "runtime/core/Error.h"
#include "runtime/train/data/DataOrder.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cassert>
#include <system_error>

namespace lwcc::rt::train {

BatchLoader::BatchLoader(Machine &machine, const Program &program,
                         const DataSet &data, const Settings &settings)
    : source(*data.source), transform(data.transform), settings(settings),
      batchSize(program.batch),
      inputElements(elementsOf(program.input) / program.batch) {
  int64_t images = source.size();
  perEpoch = settings.evaluation ? (images + batchSize - 1) / batchSize
                                 : images / batchSize;
  assert(perEpoch > 0 && "fewer images than a batch");
  toPrepare = toDeliver = settings.firstEpoch * perEpoch + settings.firstBatch;
  // Memory is allocated here, on one thread, and never again.
  for (int i = 0; i < settings.slots; ++i) {
    slots.push_back(std::make_unique<Batch>(machine, program));
    free.push_back(slots.back().get());
  }
  try {
    for (int i = 0; i < settings.workers; ++i)
      workers.emplace_back([this] { work(); });
  } catch (const std::system_error &error) {
    stop(); // those that run
    throw Error(format("cannot start %s to prepare batches: %s",
                       plural(settings.workers, "thread").c_str(),
                       error.code().message().c_str()));
  }
}

BatchLoader::~BatchLoader() { stop(); }

void BatchLoader::stop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

Batch &BatchLoader::next() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] {
    return ready.count(toDeliver) || failures.count(toDeliver);
  });
  if (auto failure = failures.find(toDeliver); failure != failures.end())
    std::rethrow_exception(failure->second);
  auto found = ready.find(toDeliver++);
  Batch *batch = found->second;
  ready.erase(found);
  return *batch;
}

void BatchLoader::release(Batch &batch) {
  {
    std::lock_guard lock(mutex);
    free.push_back(&batch);
  }
  changed.notify_all();
}

void BatchLoader::work() {
  Sample sample;
  std::vector<float> input(inputElements);
  std::unique_lock lock(mutex);
  while (true) {
    // After a failure no batch is begun; those under way come before it.
    changed.wait(
        lock, [&] { return stopping || !failures.empty() || !free.empty(); });
    if (stopping || !failures.empty())
      return;
    Batch *batch = free.back();
    free.pop_back();
    int64_t number = toPrepare++;
    lock.unlock();
    std::exception_ptr problem;
    try {
      prepare(*batch, number, sample, input);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    if (problem)
      failures[number] = problem;
    else
      ready[number] = batch;
    changed.notify_all();
  }
}

BatchLoader::Order BatchLoader::orderOf(int64_t epoch) {
  std::lock_guard lock(orderMutex);
  Order &order = orders[epoch];
  if (!order)
    order = std::make_shared<const std::vector<uint32_t>>(
        dataOrder(source.size(), settings.shuffle, settings.seed, epoch));
  Order result = order;
  // Workers are at most a few batches apart: two epochs, or more only where an
  // epoch is a single batch.
  while (orders.size() > 2)
    orders.erase(orders.begin());
  return result;
}

void BatchLoader::prepare(Batch &batch, int64_t number, Sample &sample,
                          std::vector<float> &input) {
  batch.epoch = number / perEpoch;
  batch.index = number % perEpoch;
  Order order = orderOf(batch.epoch);
  int64_t first = batch.index * batchSize;
  int64_t count = std::min<int64_t>(batchSize, int64_t(order->size()) - first);
  batch.images.assign(order->begin() + first, order->begin() + first + count);

  for (int64_t i = 0; i < count; ++i) {
    source.read(batch.images[i], sample);
    transform.apply(sample, {settings.seed, batch.epoch, batch.images[i]},
                    input.data());
    batch.input.put(i, input.data());
    int32_t label = source.label(batch.images[i]);
    batch.labels.put(i, &label);
  }
  std::fill(input.begin(), input.end(), 0.0f);
  for (int64_t i = count; i < batchSize; ++i) {
    const int32_t none = -1;
    batch.input.put(i, input.data());
    batch.labels.put(i, &none);
  }
}

} // namespace lwcc::rt::train
