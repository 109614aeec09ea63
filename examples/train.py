"""A program to be tuned from outside: it knows nothing of xstar. The last line that it prints is its loss.

xstar run examples/study.toml -- python examples/train.py {lr} {layers} {activation}
"""

from __future__ import annotations

import math
import random
import sys


def main() -> None:
    """Pretend to train; some learning rates diverge."""
    lr, layers, activation = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    if lr * layers > 0.2:
        sys.exit("the loss is not a number any more")
    loss = 0.1 + 0.08 * (math.log10(lr) + 2.7) ** 2 + 0.02 * (layers - 4) ** 2 + 0.05 * (activation == "relu")
    print("10 epochs done")
    print(loss + random.Random(f"{lr} {layers}").gauss(0.0, 0.005))


if __name__ == "__main__":
    main()
