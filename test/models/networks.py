"""The networks that the tests and benchmarks train, as PyTorch modules.

Decides the topologies, their two sizes and their seeded weights; writing the
ONNX files is make_models.py's job. "small" keeps every layer's kernel, stride
and group but takes the smallest images that reach the last layer (and a
narrower classifier where it would hold most of the weights), so that twenty
training steps in double precision stay cheap. "full" is the published network.
"""

import torch
import torch.nn.functional as F
import torchvision.models as tv
from torch import nn


class _LrnSymbol(torch.autograd.Function):
    """Local response normalization that the TorchScript exporter writes as LRN.

    Both exporters would otherwise spell it as pad, average pool, power and
    division.
    """

    @staticmethod
    def forward(ctx, x, size, alpha, beta, k):
        return F.local_response_norm(x, size, alpha, beta, k)

    @staticmethod
    def symbolic(g, x, size, alpha, beta, k):
        y = g.op("LRN", x, size_i=size, alpha_f=alpha, beta_f=beta, bias_f=k)
        y.setType(x.type())
        return y


class Lrn(nn.Module):
    def forward(self, x):
        settings = dict(size=5, alpha=1e-4, beta=0.75)
        if torch.compiler.is_exporting():
            return torch.onnx.ops.symbolic(
                "LRN", [x], dict(**settings, bias=2.0), dtype=x.dtype,
                shape=x.shape, version=13)
        if torch.onnx.is_in_onnx_export():
            return _LrnSymbol.apply(x, 5, 1e-4, 0.75, 2.0)
        return F.local_response_norm(x, k=2.0, **settings)


class LeNet5(nn.Module):
    def __init__(self, loss=False):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)
        self.loss = loss

    def forward(self, x, labels=None):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.fc3(F.relu(self.fc2(x)))
        return F.cross_entropy(x, labels) if self.loss else x


def alexnet2012(classes, hidden, pooled):
    """Krizhevsky et al. 2012: groups of two, LRN, overlapping pooling."""
    return nn.Sequential(
        nn.Conv2d(3, 96, 11, stride=4), nn.ReLU(), Lrn(), nn.MaxPool2d(3, 2),
        nn.Conv2d(96, 256, 5, padding=2, groups=2), nn.ReLU(), Lrn(),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(256, 384, 3, padding=1), nn.ReLU(),
        nn.Conv2d(384, 384, 3, padding=1, groups=2), nn.ReLU(),
        nn.Conv2d(384, 256, 3, padding=1, groups=2), nn.ReLU(),
        nn.MaxPool2d(3, 2), nn.Flatten(),
        nn.Linear(256 * pooled * pooled, hidden), nn.ReLU(), nn.Dropout(),
        nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(),
        nn.Linear(hidden, classes))


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class CifarResNet(nn.Module):
    """He et al. 2016, section 4.2: 6n+2 layers for 32x32 images (n=3: 20)."""

    def __init__(self, n=3, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        widths = [(16, 16, 1), (16, 32, 2), (32, 64, 2)]
        self.layers = nn.Sequential(*(
            ResidualBlock(i if block == 0 else o, o, s if block == 0 else 1)
            for i, o, s in widths for block in range(n)))
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = self.layers(F.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class Sum(nn.Module):
    """The sum of what goes through a body, scaled down, and what does not."""

    def __init__(self, *body):
        super().__init__()
        self.body = nn.Sequential(*body)

    def forward(self, x):
        return x + 0.5 * self.body(x)


class Join(nn.Module):
    """Branches, their channels one behind the other."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def _conv(inputs, outputs, kernel, stride=1):
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2)
    nn.init.kaiming_normal_(conv.weight)
    return nn.Sequential(conv, nn.ReLU())


def residual_mlp(blocks=6, width=64):
    return nn.Sequential(nn.Flatten(), *(
        Sum(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1),
            nn.Linear(2 * width, width)) for _ in range(blocks)),
        nn.Linear(width, 10))


def residual_conv(widths=(16, 32, 64)):
    """A residual network that normalizes nothing."""
    layers, inputs = [], 3
    for outputs in widths:
        layers += [_conv(inputs, outputs, 3, 1 if inputs == 3 else 2)]
        layers += [Sum(_conv(outputs, outputs, 3), nn.Conv2d(outputs, outputs, 3, 1, 1))
                   for _ in range(2)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(inputs, 10))


def inception_lrn():
    """The beginning of GoogLeNet as it was published: branches of convolutions and
    LRN, no batch normalization."""
    def block(inputs, one, three, five, pool):
        return Join(
            _conv(inputs, one, 1),
            nn.Sequential(_conv(inputs, three // 2, 1), _conv(three // 2, three, 3)),
            nn.Sequential(_conv(inputs, five // 2, 1), _conv(five // 2, five, 5)),
            nn.Sequential(nn.MaxPool2d(3, 1, 1), _conv(inputs, pool, 1)))

    return nn.Sequential(
        _conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, ceil_mode=True), Lrn(),
        _conv(64, 64, 1), _conv(64, 192, 3), Lrn(),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        block(192, 64, 128, 32, 32), block(256, 128, 192, 96, 64),
        nn.MaxPool2d(3, 2, ceil_mode=True), block(480, 192, 208, 48, 64),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.4), nn.Linear(512, 10))


def _narrow(net, features, hidden=256, dropouts=(0.5, 0.5)):
    """torchvision's AlexNet or VGG with one averaged pixel per feature map."""
    net.avgpool = nn.AdaptiveAvgPool2d(1)
    net.classifier = nn.Sequential(
        nn.Linear(features, hidden), nn.ReLU(), nn.Dropout(dropouts[0]),
        nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropouts[1]),
        nn.Linear(hidden, 10))
    return net


def _mostly_linear(net):
    """Moves normalized values into the linear part of their ReLUs.

    Freshly drawn, a network with this many normalizations in a row and no
    shortcut multiplies a difference of one rounding by 1e5 in a single step:
    PyTorch's own losses in single and double precision share no digit then.
    """
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.constant_(module.bias, 2.0)
    return net


def _small_vgg(make):
    return lambda: (_narrow(make(num_classes=10), 512), (3, 32, 32))


class GptLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (part.view(n, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(width, dim=2))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(n, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """Radford et al. 2019, in small: the next of `tokens` kinds of tokens. To be timed:
    it attends by PyTorch's fused kernel, which the zoo's GPT spells out."""

    def __init__(self, tokens=256, length=256, width=256, heads=4, layers=4):
        super().__init__()
        self.tokens = tokens
        self.words, self.places = (nn.Embedding(count, width)
                                   for count in (tokens, length))
        self.layers = nn.Sequential(*(GptLayer(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)
        for table in (self.words, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, text):
        return self.head(self.norm(self.layers(self.words(text) + self.places.weight)))


def vit(pixels=224, layers=12, width=384, heads=6):
    """Dosovitskiy et al. 2021; as it stands, ViT-S/16 of Touvron et al. 2021."""
    return tv.VisionTransformer(pixels, 16, layers, heads, width, 4 * width)


def _torchvision(make, pixels, **options):
    """(small, full) factories of a torchvision network."""
    return (lambda: (make(num_classes=10, **options), (3, pixels, pixels)),
            lambda: (make(num_classes=1000, **options), (3, 224, 224)))


def _same(make, shape):
    return (lambda: (make(), shape),) * 2


_ONE_HEAD = dict(aux_logits=False, init_weights=False)

NETWORKS = {
    "lenet5": _same(LeNet5, (1, 28, 28)),
    "lenet5_loss": _same(lambda: LeNet5(loss=True), (1, 28, 28)),
    "mlp": _same(lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(96, 48), nn.Sigmoid(), nn.Linear(48, 10)), (1, 8, 8)),
    "mlp_softmax": _same(lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10),
        nn.Softmax(dim=1)), (1, 8, 8)),
    "alexnet": (lambda: (_narrow(tv.alexnet(), 256), (3, 64, 64)),
                lambda: (tv.alexnet(), (3, 224, 224))),
    "alexnet2012": (lambda: (alexnet2012(10, 256, 1), (3, 67, 67)),
                    lambda: (alexnet2012(1000, 4096, 6), (3, 227, 227))),
    "vgg11": (_small_vgg(tv.vgg11), _torchvision(tv.vgg11, 224)[1]),
    "vgg16": (_small_vgg(tv.vgg16), _torchvision(tv.vgg16, 224)[1]),
    "vgg16_bn": (_small_vgg(tv.vgg16_bn), _torchvision(tv.vgg16_bn, 224)[1]),
    "resnet18": _torchvision(tv.resnet18, 64, zero_init_residual=True),
    "resnet50": _torchvision(tv.resnet50, 64, zero_init_residual=True),
    "googlenet": _torchvision(tv.googlenet, 64, **_ONE_HEAD),
    "inception_v3": (
        lambda: (_mostly_linear(tv.inception_v3(num_classes=10, **_ONE_HEAD)),
                 (3, 75, 75)),
        lambda: (tv.inception_v3(num_classes=1000, **_ONE_HEAD), (3, 299, 299))),
    "squeezenet1_1": _torchvision(tv.squeezenet1_1, 64),
    "mobilenet_v2": _torchvision(tv.mobilenet_v2, 64),
    "mobilenet_v3_small": _torchvision(tv.mobilenet_v3_small, 64),
    "resnet_cifar": _same(CifarResNet, (3, 32, 32)),
}
# Made only on request: plans are made for the first, and the others have no batch
# normalization (test/parity/schedules.py).
ALL = NETWORKS | {
    "resnet101": _torchvision(tv.resnet101, 64),
    "densenet121": _torchvision(tv.densenet121, 64),
    "shufflenet": _torchvision(tv.shufflenet_v2_x1_0, 64),
    "squeezenet1_0": _torchvision(tv.squeezenet1_0, 64),
    "residual_mlp": _same(residual_mlp, (1, 8, 8)),
    "residual_conv": _same(residual_conv, (3, 32, 32)),
    "inception_lrn": _same(inception_lrn, (3, 64, 64)),
    "vit_s16": (lambda: (vit(64, 2, 48, 3), (3, 64, 64)), lambda: (vit(), (3, 224, 224))),
    "gpt": (lambda: (Gpt(64, 16, 32, 4, 2), (16,)), lambda: (Gpt(), (256,))),
}


def inputs(network, shape, batch):
    """Random pictures; of a network of tokens, those."""
    if tokens := getattr(network, "tokens", 0):
        return torch.randint(tokens, (batch, *shape))
    return torch.randn(batch, *shape)


def build(name, size="small"):
    """The network and its input shape [c, h, w], or [length] of tokens, with weights
    fixed by name."""
    torch.manual_seed(sum(map(ord, name)))
    network, shape = ALL[name][0 if size == "small" else 1]()
    # Constructors leave batch-norm scales at one and biases at zero: equal
    # tensors hide swapped ones, so every vector gets its own values.
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() == 1:
                parameter += 0.05 * torch.randn_like(parameter)
    return network.train(), shape
