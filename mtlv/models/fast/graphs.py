"""Training steps of an encoder as CUDA graphs, which launch all kernels of a pass at once."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import torch
from torch.autograd.function import once_differentiable

from mtlv.errors import EncoderError

MULTIPLE = 32
"""Batch lengths are multiples of this many tokens, because a graph is recorded for each shape."""
GOES_ON = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13)
"""Whether random numbers can be drawn after a recording that failed."""
ROOM = 2
"""Free memory needed to record a shape, in units of the most that a batch has used so far: a recording keeps
as much, and so does the work that is not recorded."""
Tensors = Mapping[str, torch.Tensor]


class Recorder(Protocol):
    """Records what a function computes, to repeat it."""

    def has_room(self) -> bool:
        """Whether there is enough memory for another recording."""
        ...

    def warm_up(self, run: Callable[[], None]) -> None:
        """Run a function before parts of it are recorded."""
        ...

    def record(self, run: Callable[[], None]) -> Callable[[], None]:
        """Return a function that repeats the computations of `run`, on the same memory."""
        ...


class CudaGraphs:
    """Recorder of CUDA graphs that share memory, since none runs while another one's values are needed."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._pool = device, torch.cuda.graph_pool_handle()
        self._stream = _stream_of(device)

    def has_room(self) -> bool:
        torch.cuda.empty_cache()
        of_a_batch = torch.cuda.max_memory_allocated(self._device) - torch.cuda.memory_allocated(self._device)
        return torch.cuda.mem_get_info(self._device)[0] > ROOM * of_a_batch

    def warm_up(self, run: Callable[[], None]) -> None:
        """Run a function on the stream of the recordings, where libraries then allocate their memory."""
        usual = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(usual)
        try:
            with torch.cuda.stream(self._stream):
                run()
        finally:
            usual.wait_stream(self._stream)

    def record(self, run: Callable[[], None]) -> Callable[[], None]:
        graph, collects = torch.cuda.CUDAGraph(), gc.isenabled()
        usual = torch.cuda.current_stream(self._device)
        # Other threads, such as that of the checkpoints, may use the device meanwhile.
        how: dict[str, Any] = {"capture_error_mode": "thread_local"}
        gc.disable()  # freeing an earlier graph would break this one
        try:
            with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, **how):
                run()
        finally:
            torch.cuda.set_stream(usual)  # `torch.cuda.graph` does not, after an error
            if collects:
                gc.enable()
        return graph.replay


@cache
def _stream_of(device: torch.device) -> Any:
    """Return the stream of all recordings: libraries keep memory for each stream, up to 32 MiB."""
    return torch.cuda.Stream(device)


class GraphedEncoder:
    """An encoder whose passes forward and backward in training are recorded, for each shape of its inputs.

    For small batches, a GPU computes kernels faster than Python launches them. The first batch of a shape is
    computed as usual, because a shape may occur only once. Results are those of the encoder.

    Args:
        encoder: a Transformers base model, on its device when it is first called.
        tell: called with the reason if nothing more can be recorded; batches are then computed as usual.
        recorder_of: returns a recorder for a device.
    """

    def __init__(
        self,
        encoder: Any,
        tell: Callable[[str], None] = lambda _: None,
        recorder_of: Callable[[torch.device], Recorder] = CudaGraphs,
    ) -> None:
        self._encoder, self._tell, self._recorder_of = encoder, tell, recorder_of
        self._seen: Counter[Hashable] = Counter()
        self._recorded: dict[Hashable, _Recorded | None] = {}  # None: computed as usual
        self._shared: _Shared | None = None
        self._stopped = False

    def __call__(self, **inputs: torch.Tensor) -> Any:
        """Return the output of the encoder for inputs of shape [B, L]."""
        device = inputs["input_ids"].device
        precision = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None
        key = (*((name, tensor.shape) for name, tensor in inputs.items()), precision)
        self._seen[key] += 1
        if not torch.is_grad_enabled() or self._stopped or self._seen[key] == 1:
            return self._encoder(**inputs)
        if key not in self._recorded:
            self._recorded[key] = self._record(inputs, precision)
        return (self._recorded.get(key) or self._encoder)(**inputs)

    def release(self) -> bool:
        """Free the memory of all recordings, and record nothing more; return whether there were any."""
        found, self._stopped = any(self._recorded.values()), True
        self._recorded.clear()
        self._shared = None
        return found

    def _record(self, inputs: Tensors, precision: torch.dtype | None) -> _Recorded | None:
        """Record a shape, if possible; random numbers do not depend on this."""
        device = inputs["input_ids"].device
        if self._shared is None:
            weights = [weight for weight in self._encoder.parameters() if weight.requires_grad]
            self._shared = _Shared(
                self._recorder_of(device), weights, [torch.empty_like(each) for each in weights]
            )
        if not self._shared.weights or not self._shared.recorder.has_room():
            return None
        # Casts of weights are recorded with each pass: a cache of autocast would be of this pass only.
        how: dict[str, Any] = {"enabled": precision is not None, "cache_enabled": False}
        devices = [device] if device.type == "cuda" else []
        try:
            with torch.random.fork_rng(devices), torch.autocast(device.type, precision, **how):
                return _Recorded(self._encoder, inputs, self._shared)
        except RuntimeError as error:  # for example, it reads values of the device
            self.release()
            if not (GOES_ON or isinstance(error, torch.cuda.OutOfMemoryError)):
                raise EncoderError(
                    "the steps of this encoder cannot be recorded as CUDA graphs",
                    got=str(error),
                    then="set `training.cuda_graphs: false`, or use PyTorch 2.13 or later",
                ) from error
            self._tell(f"trains without CUDA graphs: {error}")
            return None


@dataclass
class _Shared:
    """What the recordings of all shapes share.

    Args:
        recorder: it may use the memory of one recording for the values of another.
        weights: weights of the encoder that have gradients.
        gradients: memory of their gradients.
        turn: number of the last pass forward, and one more after its pass backward.
    """

    recorder: Recorder
    weights: list[torch.Tensor]
    gradients: list[torch.Tensor]
    turn: int = 0

    def keep_earlier(self) -> None:
        """Move the gradients of earlier batches out of the memory, which is written next."""
        for weight in self.weights:
            if weight.grad is not None:
                weight.grad = weight.grad.clone()


class _Recorded:
    """Both passes for inputs of one shape."""

    def __init__(self, encoder: Any, inputs: Tensors, shared: _Shared) -> None:
        self._encoder, self.shared = encoder, shared
        self._inputs = {name: tensor.clone() for name, tensor in inputs.items()}
        self.outputs: list[torch.Tensor] = []
        self.output_gradients: list[torch.Tensor] = []
        shared.keep_earlier()
        shared.recorder.warm_up(self._both)
        self.forward = shared.recorder.record(self._forward)
        self.backward = shared.recorder.record(self._backward)

    def __call__(self, **inputs: torch.Tensor) -> Any:
        for name, tensor in inputs.items():
            self._inputs[name].copy_(tensor)
        found = _Passes.apply(self, *self.shared.weights)
        return self._kind(**dict(zip(self._names, found, strict=True)))

    def _both(self) -> None:
        self._forward()
        self._backward()

    def _forward(self) -> None:
        output = self._encoder(**self._inputs)
        self._kind = type(output)
        self._names = [name for name, value in output.items() if getattr(value, "requires_grad", False)]
        self._found = [output[name] for name in self._names]
        if not self.outputs:
            self.outputs = [torch.empty_like(found).detach() for found in self._found]
            self.output_gradients = [torch.zeros_like(each) for each in self.outputs]
        for own, found in zip(self.outputs, self._found, strict=True):
            own.copy_(found.detach())

    def _backward(self) -> None:
        weights, given = self.shared.weights, self.output_gradients
        with torch.autocast(given[0].device.type, enabled=False):  # as in a usual pass backward
            found = torch.autograd.grad(self._found, weights, given, allow_unused=True)
        self._found = []  # its memory is free for the next recording
        both = list(zip(self.shared.gradients, found, strict=True))
        self.gradients = [None if new is None else own for own, new in both]
        torch._foreach_copy_(
            [own for own in self.gradients if own is not None], [new for new in found if new is not None]
        )


class _Passes(torch.autograd.Function):
    """The recorded passes as a function of the weights."""

    @staticmethod
    def forward(ctx: Any, recorded: _Recorded, *_: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.recorded = recorded
        ctx.turn = recorded.shared.turn = recorded.shared.turn + 1
        recorded.forward()
        return tuple(output.detach() for output in recorded.outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *given: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        recorded: _Recorded = ctx.recorded
        shared = recorded.shared
        if shared.turn != ctx.turn:
            raise RuntimeError("only the last recorded pass forward can go backward, and only once")
        shared.turn += 1
        shared.keep_earlier()
        for own, new in zip(recorded.output_gradients, given, strict=True):
            own.copy_(new)
        recorded.backward()
        return (None, *(None if own is None else own.detach() for own in recorded.gradients))
