#!/bin/sh
# Fine-tuning: a ResNet-18 that has learned five classes from many pictures learns five
# others from a few of them. Its body is taken over and stays as it is, but for the last
# stage; the head is new. Needs lwcc on the PATH and a Python with PyTorch, torchvision,
# onnxscript and scikit-learn; writes into the current folder.
set -e
here=$(cd "$(dirname "$0")" && pwd)

# Pictures: a folder for each class. Of the digits 5 to 9, thirty each.
python "$here/../tools/data/make_digits.py" pictures --pictures
mkdir -p many/train few/train few/val
cp -r pictures/train/[0-4] many/train
cp -r pictures/val/[5-9] few/val
for class in 5 6 7 8 9; do
  mkdir -p few/train/$class
  ls pictures/train/$class/* | head -n 30 | xargs -I{} cp {} few/train/$class
done

# The body. Any trained file will do, also a state dict as safetensors.
python "$here/resnet18.py" 5 many.onnx
lwcc many.onnx --target=cpu --batch=32 -o many/trainer
many/trainer --data=many/train --val-split=0.1 --epochs=2 --lr=0.02 --export-onnx=many-trained.onnx

# The same network with a head for other classes.
python "$here/resnet18.py" 5 few.onnx
lwcc few.onnx --target=cpu --batch=25 --freeze='^(conv1|bn1|layer[123])' --frozen-bn -o few/trainer
few/trainer --init-from=many-trained.onnx --data=few/train --val-data=few/val --epochs=8 --lr=0.01 \
  --best=val_top1 --checkpoint-dir=few-kept
few/trainer predict --data=few/val --resume=few-kept/best -o few-predictions.csv
