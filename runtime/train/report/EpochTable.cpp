//===- EpochTable.cpp - A line of CSV for every epoch ---------------------===//

#include "runtime/train/report/EpochTable.h"

#include "runtime/train/files/Text.h"

#include <cmath>

namespace lwcc::rt::train {

EpochTable::EpochTable(const std::string &path, bool append,
                       const Metric &metric)
    : file(path, append), hasSecond(!metric.second.empty()) {
  if (file.isOpen() && file.isEmpty())
    file.append("epoch,step,lr,loss," + metric.key + ",val_loss,val_" +
                metric.key + (hasSecond ? ",val_" + metric.second : ""));
}

void EpochTable::add(const EpochRow &row) {
  if (!file.isOpen())
    return;
  auto numbers = [](std::initializer_list<double> values) {
    std::string text;
    for (double value : values)
      text += "," + (std::isnan(value) ? "nan" : format("%.7g", value));
    return text;
  };
  std::string line = std::to_string(row.epoch) + "," + std::to_string(row.step);
  line += numbers({row.lr});
  line +=
      row.training ? numbers({row.training->loss, row.training->first}) : ",,";
  line += row.validation
              ? numbers({row.validation->loss, row.validation->first})
              : ",,";
  if (hasSecond)
    line += row.validation ? numbers({row.validation->second}) : ",";
  file.append(line);
}

} // namespace lwcc::rt::train
