#!/usr/bin/env python3
"""How long torch takes on a GPU for networks of ../shared/skeletons: torch_cuda.py [--networks resnet50 …]

Networks have the architecture of the skeleton of the same name (convolutional ones are torchvision's, transformers are written here as people write
them), and weights of their own: times only are comparable. Each network is
run eagerly and compiled, where captured graphs are replayed; inputs are resident, and with --copies they come from
the host and the result goes back, both in float32 whatever the network computes in, as in `vernier bench`. Prints the median and the 95th percentile of a run in ms, with a synchronisation behind each.
"""
import argparse
import statistics
import time

import torch
import torchvision
from torch import nn


class Encoder(nn.Module):
    """A layer of 768 channels and 12 heads; norms lie before what they feed (ViT), or after the sum (BERT)."""

    def __init__(self, before):
        super().__init__()
        self.before = before
        self.packed, self.output = nn.Linear(768, 2304), nn.Linear(768, 768)
        self.wide, self.narrow = nn.Linear(768, 3072), nn.Linear(3072, 768)
        self.norms = nn.ModuleList([nn.LayerNorm(768), nn.LayerNorm(768)])

    def attention(self, x):
        batch, length, _ = x.shape
        q, k, v = self.packed(x).view(batch, length, 3, 12, 64).permute(2, 0, 3, 1, 4)
        return self.output(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, 768))

    def forward(self, x):
        feed = lambda y: self.narrow(nn.functional.gelu(self.wide(y)))
        if self.before:
            x = x + self.attention(self.norms[0](x))
            return x + feed(self.norms[1](x))
        x = self.norms[0](x + self.attention(x))
        return self.norms[1](x + feed(x))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(30522, 768), nn.Embedding(512, 768), nn.LayerNorm(768)
        self.layers = nn.Sequential(*(Encoder(False) for _ in range(12)))

    def forward(self, ids):
        return self.layers(self.norm(self.words(ids) + self.places.weight[: ids.shape[1]]))


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, 768, 16, 16), nn.Parameter(torch.zeros(1, 1, 768))
        self.places = nn.Parameter(torch.zeros(1, 197, 768))
        self.layers, self.norm, self.head = nn.Sequential(*(Encoder(True) for _ in range(12))), nn.LayerNorm(768), nn.Linear(768, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.layers(x))[:, 0])


NETWORKS = {
    "resnet50": torchvision.models.resnet50,
    "resnet152": torchvision.models.resnet152,
    "mobilenet_v2": torchvision.models.mobilenet_v2,
    "efficientnet_b0": torchvision.models.efficientnet_b0,
    "bert_base": Bert,
    "vit_b16": Vit,
}


def measured(run, seconds):
    for _ in range(20):
        run()
    torch.cuda.synchronize()
    times, began = [], time.perf_counter()
    while time.perf_counter() - began < seconds or len(times) < 30:
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times), sorted(times)[len(times) * 95 // 100]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=NETWORKS)
    parser.add_argument("--precisions", nargs="+", default=["float32", "float16", "bfloat16"])
    parser.add_argument("--batches", nargs="+", type=int, default=[1])
    parser.add_argument("--copies", action="store_true", help="from and to the host, through pinned memory")
    parser.add_argument("--mode", default="reduce-overhead", choices=["reduce-overhead", "max-autotune"], help="of torch.compile; both replay captured graphs")
    parser.add_argument("--eager-only", action="store_true")
    parser.add_argument("--seconds", type=float, default=1)
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    print(f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}")
    for name in arguments.networks:
        for precision in arguments.precisions:
            dtype = getattr(torch, precision)
            network = NETWORKS[name]().eval().cuda().to(dtype)
            for batch in arguments.batches:
                is_text = name == "bert_base"
                given = (torch.randint(0, 1000, (batch, 128)) if is_text else torch.randn(batch, 3, 224, 224)).pin_memory()
                there = given.cuda()
                resident = there if is_text else there.to(dtype)
                for how in ["eager"] if arguments.eager_only else ["eager", "compiled"]:
                    chosen = torch.compile(network, mode=arguments.mode) if how == "compiled" else network

                    def run():
                        with torch.inference_mode():
                            if not arguments.copies:
                                return chosen(resident)
                            there.copy_(given, non_blocking=True)
                            return chosen(there if is_text else there.to(dtype)).float().cpu()

                    median, late = measured(run, arguments.seconds)
                    print(f"{name} {precision} batch {batch} {how}: {median:.3f} ms, p95 {late:.3f}", flush=True)


if __name__ == "__main__":
    main()
