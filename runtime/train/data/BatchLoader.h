//===- BatchLoader.h - Batches, prepared in the background ------*- C++ -*-===//
//
// While the devices work on a batch, worker threads prepare the next ones: they
// read samples, transform them, and put them into pinned memory as the devices
// store them. Epoch follows epoch without an end, in the order that DataOrder.h
// decides. Workers take the samples of a batch one by one, so that a batch is
// ready soon and few are in memory. The batches do not depend on the number of
// workers.
//
// In training an incomplete last batch is dropped. In evaluation it is filled
// up with samples of label -1, or targets of NaN, which count neither in the
// loss nor beside it.
//
// Where samples of a training are mixed (Mix.h), a batch is prepared twice
// over: workers first make its samples, and when all are there, mix them.
//
// Of a program that several ranks run, each has a loader for the same batches,
// and prepares the rows that its devices read. The loader of rank 0 has those
// of the others made.
//
// A sample that cannot be read (BadSample) ends the training, or is passed
// over: in training the next one in the source that can be read takes its
// place, in evaluation its label does not count.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_BATCHLOADER_H
#define LWCC_RUNTIME_TRAIN_DATA_BATCHLOADER_H

#include "runtime/train/data/Mix.h"
#include "runtime/train/data/Transform.h"
#include "runtime/train/state/GlobalTensors.h"

#include <condition_variable>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lwcc::rt::train {

/// A sample that was passed over.
struct SkippedSample {
  uint32_t image = 0; ///< its number in the data source
  std::string reason;
};

struct Batch {
  Batch(Machine &machine, const Program &program, bool evaluation = false)
      : inputs(stagedInputs(machine, program)),
        labels(machine, program.labels) {
    if (evaluation)
      return;
    if (!program.shares.dims.empty())
      shares.emplace(machine, program.shares);
    for (const InputTensor &output : program.auxiliary)
      auxiliary.emplace_back(machine, output);
  }

  int64_t epoch = 0;                  ///< from 0
  int64_t index = 0;                  ///< of the batch in its epoch, from 0
  std::vector<uint32_t> images;       ///< numbers in the data source
  std::vector<SkippedSample> skipped; ///< in the order of the numbers
  int64_t labelCount = 0;             ///< of labels that count
  int remoteLoader = -1;              ///< of other ranks, which fill it too
  std::vector<StagedTensor> inputs;   ///< the program's
  StagedTensor labels;
  std::optional<StagedTensor> shares;  ///< of a training with soft labels
  std::vector<StagedTensor> auxiliary; ///< of a training: the program's
  /// All samples before they are mixed, if they are.
  struct Unmixed {
    Mixture mixture;
    std::vector<float> inputs;
    std::vector<int32_t> labels;
  } unmixed;

private:
  static std::vector<StagedTensor> stagedInputs(Machine &machine,
                                                const Program &program);
};

/// Threads that prepare batches of a source, of which `asked` are wanted; 0: as
/// many as it needs.
int workersFor(const DataSource &source, int64_t asked);

class BatchLoader {
public:
  struct Settings {
    bool evaluation = false;
    bool keepLast = false; ///< of training: a last batch that is not full
    bool shuffle = false;
    uint64_t seed = 0;
    bool skipBad = false; ///< pass over samples that cannot be read
    Mixing mixing;        ///< of training, of a program with shares
    int workers = 1;
    int slots = 3; ///< batches in memory: being used, ready, being prepared
    int64_t firstEpoch = 0;
    int64_t firstBatch = 0;
  };
  /// Everything given must outlive the loader.
  BatchLoader(Machine &machine, const Program &program, const DataSet &data,
              const Settings &settings);
  ~BatchLoader();

  int64_t batchesPerEpoch() const { return perEpoch; }
  /// The next batch, in order; it stays valid until it is released. Throws
  /// what the data source threw for it.
  Batch &next();
  void release(Batch &batch);

private:
  using Order = std::shared_ptr<const std::vector<uint32_t>>;
  /// A batch whose samples are being taken by workers.
  struct Draft {
    Batch *batch = nullptr;
    int64_t number = 0;
    int64_t taken = 0, done = 0; ///< of the batch's pieces of work
    std::exception_ptr problem = {};
  };
  /// Memory for a sample as it is read, and for the inputs that it becomes, is
  /// the worker's.
  struct Desk {
    Sample sample;
    std::vector<std::vector<float>> inputs;
    std::vector<int32_t> labels;    ///< of a loss of classes ...
    std::vector<float> targets;     ///< ... or of numbers
    std::vector<int32_t> ownLabels; ///< of an auxiliary output ...
    std::vector<float> ownTargets;  ///< ... or of numbers
    MixedLabel mixed;
    // Of the samples that were prepared at it since they were collected.
    int64_t labelCount = 0;
    std::vector<SkippedSample> skipped;
  };
  void work();
  void stop();
  Draft *draftToWorkOn();
  void begin(Draft &draft);
  void finish(Draft &draft);
  /// All inputs of a sample of the source, transformed. Throws BadSample.
  void read(int64_t image, int64_t epoch, Desk &desk) const;
  /// How much work there is of a draft: a piece for each sample, and another
  /// one where they are mixed.
  int64_t piecesOf(const Draft &draft) const;
  void doPiece(Draft &draft, int64_t piece, Desk &desk);
  void findOwnRows(const Machine &machine, const Program &program);
  /// Sample `at` of the batch.
  void prepare(Batch &batch, int64_t at, Desk &desk);
  void mix(Batch &batch, int64_t at, Desk &desk) const;
  /// Of a sample of the source whose input is ready; -1: labels that do not
  /// count.
  void putLabels(Batch &batch, int64_t at, int64_t image, Desk &desk) const;
  void putClasses(Batch &batch, int64_t at, Desk &desk) const;
  /// Labels of auxiliary outputs.
  void putAuxiliary(Batch &batch, int64_t at, int64_t image, Desk &desk) const;
  Order orderOf(int64_t epoch);

  const DataSource &source;
  const std::vector<Transform> &transforms;
  Settings settings;
  int64_t batchSize, sampleLabels, sampleShares = 0, perEpoch;
  std::vector<bool> isOwnRow; ///< by row of a batch: a local device reads it
  std::vector<int64_t> inputElements;
  /// Of the labels of each auxiliary output: how many a sample has, and whether
  /// they are classes.
  struct Auxiliary {
    int64_t count;
    bool ofClasses;
  };
  std::vector<Auxiliary> auxiliary; ///< of training
  std::vector<int64_t> inputDims;   ///< of a sample's first one
  bool ofNumbers;                   ///< the loss
  bool computesLoss;                ///< the model: no targets are read

  std::vector<std::unique_ptr<Batch>> slots;
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex; batches are numbered from 0 over all epochs.
  std::vector<Batch *> free;
  std::list<Draft> drafts;
  std::map<int64_t, Batch *> ready;
  int64_t toPrepare, toDeliver;
  bool stopping = false;
  std::map<int64_t, std::exception_ptr> failures; ///< in place of batches

  std::mutex orderMutex;
  std::map<int64_t, Order> orders; ///< of the latest epochs
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_BATCHLOADER_H
