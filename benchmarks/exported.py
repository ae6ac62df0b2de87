"""Speed of exported models beside PyTorch: python benchmarks/exported.py HUB ONNX [ONNX ...]

HUB and ONNX are folders of `mtlv export`. All models read the same token ids in this process, in turn, on
OMP_NUM_THREADS threads (1 if it is not set). CPU seconds are measured, because other programs may be running.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

THREADS = int(os.environ.setdefault("OMP_NUM_THREADS", "1"))
TOKENS = 128


def main() -> None:
    """Print the milliseconds of a batch, and the ratio of PyTorch's to them in the same round."""
    import numpy as np
    import onnxruntime
    import torch
    from transformers import AutoModel

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hub", type=Path)
    parser.add_argument("onnx", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    torch.set_num_threads(THREADS)
    model = AutoModel.from_pretrained(args.hub, trust_remote_code=True).eval()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    sessions = [onnxruntime.InferenceSession(folder / "model.onnx", options) for folder in args.onnx]
    print(f"torch {torch.__version__}, onnxruntime {onnxruntime.__version__}, threads {THREADS}")
    for batch in (1, 32):
        ids = np.random.default_rng(0).integers(5, 100, (batch, TOKENS))
        values = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        tensors = {name: torch.from_numpy(array) for name, array in values.items()}

        def run_torch(tensors: dict = tensors) -> None:
            with torch.inference_mode():
                model(**tensors)

        passes: dict[str, Callable[[], object]] = {str(args.hub): run_torch}
        for folder, session in zip(args.onnx, sessions, strict=True):
            inputs = {one.name: values[one.name] for one in session.get_inputs()}
            passes[str(folder)] = lambda session=session, inputs=inputs: session.run(["scores"], inputs)
        seconds: dict[str, list[float]] = {name: [] for name in passes}
        for number in range(args.rounds + 2):  # two rounds to warm up
            for name, run in passes.items():
                start = time.process_time()
                run()
                if number > 1:
                    seconds[name].append(time.process_time() - start)
        for name, values_of_name in seconds.items():
            ratios = sorted(a / b for a, b in zip(seconds[str(args.hub)], values_of_name, strict=True))
            low, high = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
            speed = f"{median(ratios):.2f} times as fast ({low:.2f} to {high:.2f})"
            print(f"batch {batch}: {name}: {1000 * median(values_of_name):.1f} ms, {speed}")


if __name__ == "__main__":
    main()
