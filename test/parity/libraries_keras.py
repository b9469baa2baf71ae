"""Models of Keras, in small (libraries.py runs them): those of keras.applications, and
one of each kind of layer. Keras computes with PyTorch, and is the judge.

They are exported as docs/training.md says (`legacy` of zoo.py), and by tf2onnx as
`model.export(format="onnx")` does (`plain`), for which another process makes the model
once more with TensorFlow. That renames all parameters: only losses are compared then.

  libraries_keras.py WEIGHTS.npz FILE.onnx NAME      is that other process
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch import nn

CLASSES, WORDS = 7, 50
IMAGE, SERIES, TEXT = (16, 16, 3), (10, 6), (12,)


def of_layers(layers, make):
    """A model of a list of layers, whose input is (a sample's shape, integers or not)."""
    from keras import Input, Sequential
    shape, tokens = make
    return Sequential([Input(shape, name="x", dtype="int64" if tokens else None), *layers])


def head():
    from keras import layers as k
    return [k.Flatten(), k.Dense(CLASSES)]


def network_of_layers(name):
    """The model, and whether it takes words."""
    from keras import layers as k
    words = [k.Embedding(WORDS, 16)]
    images = {
        "mlp": [k.Flatten(), k.Dense(24, "relu"), k.Dense(16, "tanh"), k.Dense(CLASSES, "softmax")],
        "cnn": [k.Conv2D(8, 3, activation="relu"), k.MaxPooling2D(),
                k.Conv2D(12, 3, padding="same", strides=2), k.ReLU(), *head()],
        "cnn_bn": [k.Conv2D(8, 3, use_bias=False), k.BatchNormalization(), k.ReLU(),
                   k.AveragePooling2D(2), k.Conv2D(12, 3), k.BatchNormalization(scale=False),
                   k.LeakyReLU(), k.GlobalAveragePooling2D(), k.Dense(CLASSES)],
        "separable": [k.SeparableConv2D(12, 3, activation="swish"), k.DepthwiseConv2D(3),
                      k.GlobalMaxPooling2D(), k.Dense(CLASSES)],
        "transposed": [k.Conv2D(8, 3, strides=2, padding="same"),
                       k.Conv2DTranspose(6, 3, strides=2, padding="same"), k.ELU(),
                       k.UpSampling2D(2), k.ZeroPadding2D(1), k.Cropping2D(2), *head()],
        "norms": [k.Conv2D(8, 3), k.GroupNormalization(4), k.Activation("gelu"),
                  k.LayerNormalization(), k.PReLU(), *head()],
    }
    series = {
        "conv1d": [k.Conv1D(8, 3, padding="causal"), k.BatchNormalization(), k.ReLU(),
                   k.MaxPooling1D(), k.Conv1D(8, 3), *head()],
        "lstm": [k.LSTM(8), k.Dense(CLASSES)],
        "gru": [k.GRU(8, return_sequences=True), k.SimpleRNN(6), k.Dense(CLASSES)],
        "bilstm": [k.Bidirectional(k.LSTM(5)), k.Dense(CLASSES)],
        "dense_bn": [k.Flatten(), k.Dense(16), k.BatchNormalization(center=False),
                     k.Activation("selu"), k.Dense(CLASSES)],
    }
    text = {"words": [*words, k.GlobalAveragePooling1D(), k.Dense(CLASSES)],
            "words_lstm": [*words, k.LSTM(8), k.Dense(CLASSES)]}
    for shape, group in ((IMAGE, images), (SERIES, series), (TEXT, text)):
        if name in group:
            return of_layers(group[name], (shape, group is text))
    return None


def transformer():
    """Attention over words, and residual connections."""
    import keras
    from keras import layers as k
    x = words = keras.Input(TEXT, name="x", dtype="int64")
    x = k.Embedding(WORDS, 16)(x)
    x = k.LayerNormalization()(x + k.MultiHeadAttention(4, 4)(x, x))
    x = k.LayerNormalization()(x + k.Dense(16)(k.Dense(32, "relu")(x)))
    return keras.Model(words, k.Dense(CLASSES)(k.GlobalAveragePooling1D()(x)))


def residual():
    """Batch normalization on both branches, as ResNets have it."""
    import keras
    from keras import layers as k
    x = image = keras.Input(IMAGE, name="x")
    x = k.Conv2D(8, 3, padding="same")(x)
    for _ in range(2):
        y = k.ReLU()(k.BatchNormalization()(k.Conv2D(8, 3, padding="same")(x)))
        x = k.ReLU()(x + k.BatchNormalization()(k.Conv2D(8, 3, padding="same")(y)))
    return keras.Model(image, k.Dense(CLASSES)(k.GlobalAveragePooling2D()(x)))


APPLICATIONS = {
    "MobileNetV2": ((32, 32, 3), dict(alpha=0.35)), "MobileNetV3Small": ((32, 32, 3), {}),
    "MobileNet": ((32, 32, 3), dict(alpha=0.25)), "ResNet50": ((32, 32, 3), {}),
    "ResNet50V2": ((32, 32, 3), {}), "DenseNet121": ((32, 32, 3), {}),
    "VGG16": ((32, 32, 3), {}), "Xception": ((71, 71, 3), {}),
    "InceptionV3": ((107, 107, 3), {}), "ConvNeXtTiny": ((32, 32, 3), {}),
}
FUNCTIONS = {"transformer": transformer, "residual": residual}
SHAPES = {IMAGE: "mlp cnn cnn_bn separable transposed norms residual",
          SERIES: "conv1d lstm gru bilstm dense_bn", TEXT: "words words_lstm transformer"}


def build(name):
    """A model of Keras; the same weights each time."""
    import keras
    keras.utils.clear_session()  # which gives its names anew
    keras.utils.set_random_seed(sum(map(ord, name)))
    if name in APPLICATIONS:
        shape, more = APPLICATIONS[name]
        made = getattr(keras.applications, name)(weights=None, classes=CLASSES,
                                                 input_shape=shape, **more)
    else:
        made = FUNCTIONS[name]() if name in FUNCTIONS else network_of_layers(name)
    for layer in made._flatten_layers():  # what is drawn at random in training
        if type(layer).__name__ == "Dropout":
            layer.rate = 0.0
    return made


class Keras(nn.Module):
    """A model of Keras as a module. Its normalizations are exported with the statistics
    of the file, since Keras cannot export those of the batch."""

    def __init__(self, name):
        super().__init__()
        self.name = name
        self.model = build(name)

    def forward(self, x):
        for layer in self.model._flatten_layers():
            if type(layer).__name__ == "BatchNormalization":
                layer.trainable = not torch.onnx.is_in_onnx_export()
        y = self.model(x, training=True)
        # A Softmax at the end belongs to lwcc's cross entropy.
        ends = self.model.layers[-1].get_config().get("activation") == "softmax"
        return torch.log(y) if ends and not torch.onnx.is_in_onnx_export() else y

    def to(self, dtype):
        import keras
        if dtype != torch.float64:
            return self
        keras.config.set_floatx("float64")
        try:
            made = Keras(self.name)
            made.model.set_weights(self.model.get_weights())
        finally:
            keras.config.set_floatx("float32")
        return made

    def export_plainly(self, path):
        with tempfile.TemporaryDirectory() as folder:
            weights = os.path.join(folder, "weights.npz")
            np.savez(weights, *self.model.get_weights())
            subprocess.run([sys.executable, __file__, weights, path, self.name], check=True,
                           env={**os.environ, "KERAS_BACKEND": "tensorflow"})


def of_keras():
    os.environ["KERAS_BACKEND"] = "torch"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    from zoo_sequences import Tokens

    shapes = {name: Tokens(WORDS, *shape) if shape == TEXT else shape
              for shape, names in SHAPES.items() for name in names.split()}
    shapes.update((name, shape) for name, (shape, _) in APPLICATIONS.items())
    return {name: (lambda name=name: Keras(name), shape) for name, shape in shapes.items()}


def export_by_tensorflow(weights, path, name):
    model = build(name)
    with np.load(weights) as arrays:
        model.set_weights([arrays[key] for key in arrays.files])
    shape = model.input_shape[1:]
    model(np.zeros((2, *shape), "int64" if len(shape) == 1 else "float32"))
    model.export(path, format="onnx", verbose=False)


if __name__ == "__main__":
    export_by_tensorflow(*sys.argv[1:])
