//===- TraceTest.cpp - The file of --trace --------------------------------===//
//
// On the fake machine, on whose clock every operator takes 1.5 us.
//
//===----------------------------------------------------------------------===//

#include "FakeMachine.h"
#include "RunTrainer.h"

#include <gmock/gmock.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

namespace {
class TraceTest : public testing::Test {
protected:
  std::string path() { return folder / "trace.json"; }
  std::string flag() { return "--trace=" + path(); }

  /// The events of one kind ("M" or "X").
  std::vector<Json> events(const char *kind) {
    Json file = parseJson(readFile(path()), path());
    std::vector<Json> found;
    for (const Json &event : file.find("traceEvents")->items)
      if (event.find("ph")->text == kind)
        found.push_back(event);
    return found;
  }
  /// The steps of all calls, each once.
  std::vector<std::string> steps() {
    std::vector<std::string> numbers;
    for (const Json &event : events("X")) {
      std::string step = event.find("args")->find("step")->text;
      if (numbers.empty() || numbers.back() != step)
        numbers.push_back(step);
    }
    return numbers;
  }

  TempFolder folder;
};
} // namespace

TEST_F(TraceTest, NamesEveryCallLaneAndDevice) {
  for (bool lazy : {false, true}) {
    Laziness laziness(lazy);
    TrainerRun run = runTrainer({"--benchmark=2", flag()});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("trace       " + path()));

    std::vector<std::string> names;
    for (const Json &event : events("M"))
      names.push_back(event.find("name")->text + " " +
                      event.find("args")->find("name")->text);
    EXPECT_THAT(names,
                ElementsAre("process_name device 0", "process_name device 1",
                            "thread_name lane0", "thread_name lane1"));

    // Behind two steps of warm-up, which are not traced.
    std::vector<std::string> calls;
    for (const Json &event : events("X")) {
      const Json &args = *event.find("args");
      EXPECT_EQ(event.find("pid")->text, event.find("tid")->text);
      EXPECT_EQ(event.find("dur")->text, "1.500");
      calls.push_back(args.find("step")->text + " " + event.find("tid")->text +
                      "." + args.find("call")->text + " " +
                      event.find("cat")->text + " " + event.find("name")->text +
                      " " + args.find("layer")->text + " at " +
                      event.find("ts")->text);
    }
    EXPECT_THAT(
        calls,
        ElementsAre(
            "3 0.0 forward matmul fc at 0.000",
            "3 0.1 forward cross_entropy loss at 1.500",
            "3 0.2 update sgd fc at 3.000", "3 0.3 update sgd fc at 4.500",
            "3 0.4 update map norm at 6.000", "3 1.0 update sgd fc at 7.500",
            "3 1.1 update sgd fc at 9.000", "3 1.2 update map norm at 10.500",
            "4 0.0 forward matmul fc at 12.000",
            "4 0.1 forward cross_entropy loss at 13.500",
            "4 0.2 update sgd fc at 15.000", "4 0.3 update sgd fc at 16.500",
            "4 0.4 update map norm at 18.000", "4 1.0 update sgd fc at 19.500",
            "4 1.1 update sgd fc at 21.000",
            "4 1.2 update map norm at 22.500"));
  }
}

TEST_F(TraceTest, SaysWhatRanWhere) {
  Program program = makeFakeProgram();
  program.model = "a \"quoted\" \\ name.onnx";
  ASSERT_EQ(runTrainer({"--benchmark=1", flag()}, program).code, 0);
  Json file = parseJson(readFile(path()), path());
  const Json &about = *file.find("otherData");
  EXPECT_EQ(about.find("program")->text, program.model);
  EXPECT_EQ(about.find("hash")->text, "hash-of-fake");
  EXPECT_EQ(about.find("plan")->text, "rows over two devices");
  EXPECT_EQ(about.find("batch")->text, "8");
  EXPECT_EQ(about.find("precision")->text, "fp32");
  EXPECT_EQ(about.find("target")->text, "fake");
  EXPECT_EQ(about.find("device")->text, "a fake machine");
  ASSERT_THAT(about.find("threads")->items, SizeIs(2));
  EXPECT_EQ(about.find("threads")->items[1].text, "2");
}

TEST_F(TraceTest, LayersMayHaveAnyName) {
  Program program = makeFakeProgram(), named = program;
  const std::string layer = "/a\"b\\c\n\x01/Conv";
  named.trainStep = [=](Machine &machine) {
    program.trainStep(machine);
    static_cast<FakeMachine &>(machine).append(
        {layer, "backward", "fill", {}, [] {}, 1});
  };
  ASSERT_EQ(runTrainer({"--benchmark=1", flag()}, named).code, 0);
  Json last = events("X").back();
  EXPECT_EQ(last.find("args")->find("layer")->text, layer);
}

TEST_F(TraceTest, ATrainingTracesTenStepsBehindThree) {
  TrainerRun run = runTrainer({"--data=synthetic", "--steps=20", flag()});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("traced to " + path()));
  EXPECT_THAT(steps(), ElementsAre("4", "5", "6", "7", "8", "9", "10", "11",
                                   "12", "13"));
}

TEST_F(TraceTest, AShortTrainingTracesWhatItHas) {
  ASSERT_EQ(runTrainer({"--data=synthetic", "--steps=5", flag()}).code, 0);
  EXPECT_THAT(steps(), ElementsAre("4", "5"));
  ASSERT_EQ(runTrainer({"--data=synthetic", "--steps=2", flag()}).code, 0);
  EXPECT_THAT(steps(), ElementsAre("2"));
}

TEST_F(TraceTest, APathThatCannotBeWrittenIsRefusedFirst) {
  for (const char *what : {"--data=synthetic", "--benchmark=1"}) {
    TrainerRun run =
        runTrainer({what, "--trace=" + (folder / "no/such/trace.json")});
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.err,
                HasSubstr("no/such/trace.json: cannot write: No such file"));
    EXPECT_EQ(run.out, "");
  }
}
