//===- BatchLoader.cpp - Batches, prepared in the background --------------===//

#include "runtime/train/data/BatchLoader.h"

#include "runtime/core/Error.h"
#include "runtime/train/data/DataOrder.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <limits>
#include <system_error>

namespace lwcc::rt::train {

int workersFor(const DataSource &source, int64_t asked) {
  constexpr unsigned most = 8;
  if (asked > 0)
    return static_cast<int>(asked);
  return source.isDecoded()
             ? std::clamp(std::thread::hardware_concurrency(), 1u, most)
             : 1;
}

std::vector<StagedTensor> Batch::stagedInputs(Machine &machine,
                                              const Program &program) {
  std::vector<StagedTensor> inputs;
  for (const InputTensor &input : program.inputs)
    inputs.emplace_back(machine, input);
  return inputs;
}

BatchLoader::BatchLoader(Machine &machine, const Program &program,
                         const DataSet &data, const Settings &settings)
    : source(*data.source), transforms(data.transforms), settings(settings),
      batchSize(program.batch),
      sampleLabels(elementsOf(program.labels) / program.batch),
      ofNumbers(!program.lossName.empty()),
      computesLoss(isComputedByModel(program.lossName)) {
  for (const InputTensor &input : program.inputs)
    inputElements.push_back(elementsOf(input) / program.batch);
  const std::vector<int64_t> &first = program.inputs.front().dims;
  inputDims.assign(first.begin() + 1, first.end());
  if (!settings.evaluation && !program.shares.dims.empty())
    sampleShares = program.shares.dims[1];
  if (!settings.evaluation)
    for (const InputTensor &output : program.auxiliary)
      auxiliary.push_back(
          {elementsOf(output) / program.batch, output.tokens > 0});
  assert((!settings.mixing.any() || sampleShares > 0) &&
         "a program that cannot learn what is mixed");
  int64_t images = source.size();
  perEpoch =
      batchesOf(images, batchSize, settings.evaluation || settings.keepLast);
  assert(perEpoch > 0 && "fewer images than a batch");
  toPrepare = toDeliver = settings.firstEpoch * perEpoch + settings.firstBatch;
  findOwnRows(machine, program);
  int remoteLoader = -1;
  if (const Ranks *ranks = machine.ranks(); ranks && ranks->remote) {
    static_assert(std::is_trivially_copyable_v<Settings>,
                  "sent to ranks that run the same binary");
    remoteLoader = ranks->remote->openLoader(std::string(
        reinterpret_cast<const char *>(&settings), sizeof settings));
  }
  // Memory is allocated here, on one thread, and never again.
  for (int i = 0; i < settings.slots; ++i) {
    slots.push_back(
        std::make_unique<Batch>(machine, program, settings.evaluation));
    slots.back()->remoteLoader = remoteLoader;
    if (settings.mixing.any()) {
      slots.back()->unmixed.inputs.resize(batchSize * inputElements.front());
      slots.back()->unmixed.labels.resize(batchSize);
    }
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

/// Where samples do not stand for themselves, a process needs all.
void BatchLoader::findOwnRows(const Machine &machine, const Program &program) {
  const bool needsAll = !machine.ranks() || settings.mixing.any() ||
                        source.isOwnTarget ||
                        (settings.evaluation && settings.skipBad);
  isOwnRow.assign(batchSize, needsAll);
  auto mark = [&](const GlobalTensor &tensor) {
    for (const Shard &shard : tensor.shards)
      if (machine.isLocal(shard.ref.device))
        std::fill_n(isOwnRow.begin() + shard.begin[0], shard.ref.dims[0], true);
  };
  for (const InputTensor &input : program.inputs)
    mark(input);
  mark(program.labels);
  if (sampleShares > 0)
    mark(program.shares);
  for (const InputTensor &output : program.auxiliary)
    mark(output);
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

//===----------------------------------------------------------------------===//
// Who prepares what
//===----------------------------------------------------------------------===//

int64_t BatchLoader::piecesOf(const Draft &draft) const {
  return settings.mixing.any() && draft.done >= batchSize ? 2 * batchSize
                                                          : batchSize;
}

/// The oldest batch that has work left, or a new one; null if there is nothing
/// to do. Under the mutex.
BatchLoader::Draft *BatchLoader::draftToWorkOn() {
  for (Draft &draft : drafts)
    if (draft.taken < piecesOf(draft))
      return &draft;
  // After a failure no batch is begun; those under way come before it.
  if (free.empty() || !failures.empty())
    return nullptr;
  Batch *batch = free.back();
  free.pop_back();
  drafts.push_back({batch, toPrepare++});
  begin(drafts.back());
  return &drafts.back();
}

void BatchLoader::begin(Draft &draft) {
  Batch &batch = *draft.batch;
  batch.epoch = draft.number / perEpoch;
  batch.index = draft.number % perEpoch;
  batch.skipped.clear();
  batch.labelCount = 0;
  Order order = orderOf(batch.epoch);
  int64_t first = batch.index * batchSize;
  int64_t count = std::min<int64_t>(batchSize, int64_t(order->size()) - first);
  batch.images.assign(order->begin() + first, order->begin() + first + count);
  if (settings.mixing.any())
    batch.unmixed.mixture = settings.mixing.draw(settings.seed, batch.epoch,
                                                 batch.index, inputDims);
}

/// All samples of the batch are done. Under the mutex.
void BatchLoader::finish(Draft &draft) {
  std::vector<SkippedSample> &skipped = draft.batch->skipped;
  std::sort(skipped.begin(), skipped.end(),
            [](const auto &a, const auto &b) { return a.image < b.image; });
  if (draft.problem)
    failures[draft.number] = draft.problem;
  else
    ready[draft.number] = draft.batch;
  drafts.remove_if([&](const Draft &other) { return &other == &draft; });
  changed.notify_all();
}

void BatchLoader::work() {
  // So many samples at a time that taking them costs nothing beside them, and
  // that no worker is left with a large part of a batch.
  const int64_t most =
      std::max<int64_t>(1, batchSize / (4 * int64_t(settings.workers)));
  Desk desk;
  for (int64_t elements : inputElements)
    desk.inputs.emplace_back(elements);
  desk.labels.resize(ofNumbers ? 0 : sampleLabels);
  desk.targets.resize(ofNumbers ? sampleLabels : 0);
  desk.mixed.shares.resize(sampleShares);
  std::unique_lock lock(mutex);
  while (true) {
    Draft *draft = nullptr;
    changed.wait(lock, [&] { return stopping || (draft = draftToWorkOn()); });
    if (stopping)
      return;
    const int64_t first = draft->taken;
    const int64_t last = std::min(first + most, piecesOf(*draft));
    draft->taken = last;
    lock.unlock();
    desk.labelCount = 0;
    desk.skipped.clear();
    std::exception_ptr problem;
    try {
      for (int64_t piece = first; piece < last; ++piece)
        doPiece(*draft, piece, desk);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    if (problem && !draft->problem)
      draft->problem = problem;
    std::move(desk.skipped.begin(), desk.skipped.end(),
              std::back_inserter(draft->batch->skipped));
    draft->batch->labelCount += desk.labelCount;
    draft->done += last - first;
    if (draft->done == piecesOf(*draft))
      finish(*draft);
    else if (draft->done == batchSize)
      changed.notify_all(); // there are samples to mix
  }
}

//===----------------------------------------------------------------------===//
// Samples
//===----------------------------------------------------------------------===//

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

void BatchLoader::read(int64_t image, int64_t epoch, Desk &desk) const {
  for (size_t k = 0; k < desk.inputs.size(); ++k) {
    source.part(k).read(image, desk.sample);
    transforms[k].apply(desk.sample, {settings.seed, epoch, image},
                        desk.inputs[k].data());
  }
}

void BatchLoader::doPiece(Draft &draft, int64_t piece, Desk &desk) {
  if (piece < batchSize)
    prepare(*draft.batch, piece, desk);
  else if (!draft.problem) // else there is nothing to mix
    mix(*draft.batch, piece - batchSize, desk);
}

void BatchLoader::prepare(Batch &batch, int64_t at, Desk &desk) {
  int64_t given = -1;
  if (at < int64_t(batch.images.size()) && !isOwnRow[at])
    return putLabels(batch, at, batch.images[at], desk); // to count them
  if (at < int64_t(batch.images.size())) {
    const int64_t wanted = batch.images[at], images = source.size();
    int64_t image = wanted;
    while (true) {
      try {
        read(image, batch.epoch, desk);
        given = image;
        break;
      } catch (const BadSample &bad) {
        if (!settings.skipBad)
          throw;
        desk.skipped.push_back({static_cast<uint32_t>(image), bad.what()});
        if (settings.evaluation)
          break;
        image = (image + 1) % images;
        if (image == wanted)
          throw Error("not one image can be read; the first: " +
                      std::string(bad.what()));
      }
    }
  }
  for (size_t k = 0; k < desk.inputs.size(); ++k) {
    if (given < 0)
      std::fill(desk.inputs[k].begin(), desk.inputs[k].end(), 0.0f);
    if (settings.mixing.any())
      std::copy(desk.inputs[k].begin(), desk.inputs[k].end(),
                batch.unmixed.inputs.begin() + at * inputElements[k]);
    else
      batch.inputs[k].put(at, desk.inputs[k].data());
  }
  putLabels(batch, at, given, desk);
}

void BatchLoader::mix(Batch &batch, int64_t at, Desk &desk) const {
  const Batch::Unmixed &from = batch.unmixed;
  const auto samples = int64_t(batch.images.size());
  const int64_t elements = inputElements.front();
  // What fills the batch up counts nowhere.
  const int64_t partner = at >= samples ? at : (at + samples - 1) % samples;
  mixInputs(from.mixture, inputDims, from.inputs.data() + at * elements,
            from.inputs.data() + partner * elements,
            desk.inputs.front().data());
  batch.inputs.front().put(at, desk.inputs.front().data());
  desk.labels.front() = from.labels[at];
  if (at < samples) {
    mixLabels(from.mixture, from.labels[at], from.labels[partner], desk.mixed);
    desk.labels.front() = desk.mixed.label;
  }
  putClasses(batch, at, desk);
}

/// Labels of classes, and where they are soft, the shares.
void BatchLoader::putClasses(Batch &batch, int64_t at, Desk &desk) const {
  desk.labelCount += std::count_if(desk.labels.begin(), desk.labels.end(),
                                   [](int32_t label) { return label >= 0; });
  batch.labels.put(at, desk.labels.data());
  if (!batch.shares)
    return;
  std::vector<float> &shares = desk.mixed.shares;
  const int32_t label = desk.labels.front();
  if (label < 0)
    std::fill(shares.begin(), shares.end(),
              std::numeric_limits<float>::quiet_NaN());
  else if (!settings.mixing.any())
    mixLabels({}, label, label, desk.mixed);
  batch.shares->put(at, shares.data());
}

void BatchLoader::putAuxiliary(Batch &batch, int64_t at, int64_t image,
                               Desk &desk) const {
  for (size_t k = 0; k < auxiliary.size(); ++k) {
    const auto [count, ofClasses] = auxiliary[k];
    const size_t part = inputElements.size() + k;
    if (ofClasses) {
      desk.ownLabels.assign(count, -1);
      if (image >= 0)
        source.part(part).labels(image, desk.ownLabels);
      batch.auxiliary[k].put(at, desk.ownLabels.data());
    } else {
      desk.ownTargets.assign(count, std::numeric_limits<float>::quiet_NaN());
      if (image >= 0)
        source.part(part).targets(image, desk.ownTargets);
      batch.auxiliary[k].put(at, desk.ownTargets.data());
    }
  }
}

void BatchLoader::putLabels(Batch &batch, int64_t at, int64_t image,
                            Desk &desk) const {
  putAuxiliary(batch, at, image, desk);
  if (!ofNumbers) {
    if (image < 0)
      std::fill(desk.labels.begin(), desk.labels.end(), -1);
    else
      source.labels(image, desk.labels);
    if (settings.mixing.any())
      batch.unmixed.labels[at] = desk.labels.front();
    else
      putClasses(batch, at, desk);
    return;
  }
  if (image < 0)
    std::fill(desk.targets.begin(), desk.targets.end(),
              std::numeric_limits<float>::quiet_NaN());
  else if (computesLoss) // anything but NaN
    std::fill(desk.targets.begin(), desk.targets.end(), 0.0f);
  else if (source.isOwnTarget)
    desk.targets = desk.inputs.front();
  else
    source.targets(image, desk.targets);
  desk.labelCount +=
      std::count_if(desk.targets.begin(), desk.targets.end(),
                    [](float target) { return target == target; });
  batch.labels.put(at, desk.targets.data());
}

} // namespace lwcc::rt::train
