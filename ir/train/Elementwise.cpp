#include "ir/train/Train.h"
