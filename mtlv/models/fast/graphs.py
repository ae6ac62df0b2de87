"""Passes of training as CUDA graphs, which launch all kernels of a pass at once."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, partial
from operator import itemgetter
from typing import Any

import torch
from torch import nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call

from mtlv.errors import EncoderError

MULTIPLE = 32
"""Batch lengths are multiples of this many tokens, because a graph is recorded for each shape."""
GOES_ON = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13)
"""Whether random numbers can be drawn after a recording that failed."""
ROOM = 2
"""Free memory needed to record a shape, in units of the most that a batch has used so far: a recording keeps
as much, and so does the work that is not recorded."""
ALIGNED = 32
"""Gradients start at multiples of this many numbers in their memory, as fast kernels need it."""
Inputs = Mapping[str, Any]
"""Tensors, or values of which a recording is for one only."""


class CudaGraphs:
    """Recorder of CUDA graphs that share memory, since none runs while another one's values are needed."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._pool = device, torch.cuda.graph_pool_handle()
        self._stream = _stream_of(device)

    def has_room(self) -> bool:
        """Whether there is enough memory for another recording."""
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
        """Return a function that repeats the computations of `run`, on the same memory."""
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


class Graphed:
    """A module whose passes forward and backward in training are recorded, for each shape of its inputs.

    For small batches, a GPU computes kernels faster than Python launches them. The first batch of a shape is
    computed as usual, because a shape may occur only once. Results are those of the module.

    Args:
        module: an encoder, or a model with its losses, on its device when it is first called.
        precision: precision of its matrix products; None is that of autocast when it is called.
        tell: called with the reason if nothing more can be recorded; batches are then computed as usual.
        recorder_of: returns a recorder for a device; tests have one without a GPU.
    """

    def __init__(
        self,
        module: Any,
        precision: torch.dtype | None = None,
        *,
        tell: Callable[[str], None] = lambda _: None,
        recorder_of: Callable[[torch.device], CudaGraphs] = CudaGraphs,
    ) -> None:
        self._module, self._precision, self._tell, self._recorder_of = module, precision, tell, recorder_of
        self._seen: Counter[Hashable] = Counter()
        self._recorded: dict[Hashable, _Recorded | None] = {}  # None: computed as usual
        self._recorder: CudaGraphs | None = None
        self._shared: _Shared | None = None
        self._stopped = False

    def __call__(self, **inputs: Any) -> Any:
        """Return the output of the module for inputs: tensors, `input_ids` and others, or other values."""
        kind = inputs["input_ids"].device.type
        precision = self._precision
        if precision is None and torch.is_autocast_enabled(kind):
            precision = torch.get_autocast_dtype(kind)
        key = (*((name, getattr(value, "shape", value)) for name, value in inputs.items()), precision)
        self._seen[key] += 1
        if not torch.is_grad_enabled() or self._stopped or self._seen[key] == 1:
            return self._module(**inputs)
        if key not in self._recorded:
            self._recorded[key] = self._record(inputs, precision)
        return (self._recorded.get(key) or self._module)(**inputs)

    def gradient(self) -> torch.Tensor | None:
        """Return the gradient of all weights as one tensor, if the last passes were one that is recorded."""
        return None if self._shared is None else self._shared.gradient()

    def release(self) -> bool:
        """Free the memory of all recordings, and record nothing more; return whether there were any."""
        has_recordings, self._stopped = self._shared is not None, True
        self._recorded.clear()
        self._shared = None
        return has_recordings

    def _record(self, inputs: Inputs, precision: torch.dtype | None) -> _Recorded | None:
        """Record a shape, if possible; random numbers do not depend on this."""
        device = inputs["input_ids"].device
        if self._recorder is None:
            self._recorder = self._recorder_of(device)
        trained = any(weight.requires_grad for weight in self._module.parameters())
        if not trained or not self._recorder.has_room():
            return None
        # Casts of weights are recorded with each pass: a cache of autocast would be of this pass only.
        how: dict[str, Any] = {"enabled": torch.is_autocast_enabled(device.type), "cache_enabled": False}
        devices = [device] if device.type == "cuda" else []
        try:
            if self._shared is None:
                self._shared = _Shared(self._recorder, self._module, device)
            with torch.random.fork_rng(devices), torch.autocast(device.type, **how):
                return _Recorded(inputs, self._shared, precision)
        except RuntimeError as error:  # for example, it reads values of the device
            self.release()
            if not (GOES_ON or isinstance(error, torch.cuda.OutOfMemoryError)):
                raise EncoderError(
                    "the training steps of this model cannot be recorded as CUDA graphs",
                    got=str(error),
                    then="set `training.cuda_graphs: false`, or use PyTorch 2.13 or later",
                ) from error
            self._tell(f"trains without CUDA graphs: {error}")
            return None


class _Shared:
    """What the recordings of all shapes share.

    Args:
        recorder: it may use the memory of one recording for the values of another.
        module: the module.
        device: its device.

    Attributes:
        weights: weights of the module that have gradients.
        flat: memory of their gradients, and zeros.
        gradients: the gradient of each weight in `flat`.
        start: input of all passes, because autograd needs one with a gradient.
        turn: number of the last pass forward, and one more after its pass backward.
    """

    def __init__(self, recorder: CudaGraphs, module: Any, device: torch.device) -> None:
        self.recorder, self.module, self.turn = recorder, module, 0
        self._named = {name: weight for name, weight in module.named_parameters() if weight.requires_grad}
        self.weights = list(self._named.values())
        sizes = [-(-weight.numel() // ALIGNED) * ALIGNED for weight in self.weights]
        self.flat = torch.zeros(sum(sizes), device=device)
        parts = zip(self.flat.split(sizes), self.weights, strict=True)
        self.gradients = [part[: weight.numel()].view_as(weight) for part, weight in parts]
        self.start = self.flat.new_zeros((), requires_grad=True)
        self._copies: dict[torch.dtype, dict[str, torch.Tensor]] = {}

    def copies(self, precision: torch.dtype | None) -> dict[str, torch.Tensor]:
        """Return the weights of matrix products in a precision, for passes that start with `cast`."""
        if precision is None:
            return {}
        if precision not in self._copies:
            linear = _weights_of_products(self.module, self._named)
            copies = {name: weight.detach().to(precision) for name, weight in linear.items()}
            self._copies[precision] = {name: copy.requires_grad_() for name, copy in copies.items()}
        return self._copies[precision]

    def cast(self, copies: Mapping[str, torch.Tensor]) -> None:
        """Cast all weights of matrix products at once; autocast would do this one by one."""
        if copies:
            with torch.no_grad():
                torch._foreach_copy_(list(copies.values()), [self._named[name] for name in copies])

    def backward(
        self,
        copies: Mapping[str, torch.Tensor],
        outputs: Sequence[torch.Tensor],
        output_gradients: Sequence[torch.Tensor],
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return the weights that were used, and their gradients in the shared memory."""
        weights = [copies.get(name, weight) for name, weight in self._named.items()]
        new_gradients = torch.autograd.grad(outputs, weights, output_gradients, allow_unused=True)
        used = [number for number, gradient in enumerate(new_gradients) if gradient is not None]
        torch._foreach_copy_(
            [self.gradients[number] for number in used], [new_gradients[number] for number in used]
        )
        return [(self.weights[number], self.gradients[number]) for number in used]

    def keep_earlier(self) -> None:
        """Move the gradients of earlier batches out of the memory, which is written next."""
        for weight, gradient in zip(self.weights, self.gradients, strict=True):
            if weight.grad is gradient:
                weight.grad = gradient.clone()

    def gradient(self) -> torch.Tensor | None:
        """Return the gradient of all weights as one tensor, if that is where they are."""
        are_in_place = all(
            weight.grad is gradient for weight, gradient in zip(self.weights, self.gradients, strict=True)
        )
        return self.flat if are_in_place else None


class _Inputs:
    """Memory of the inputs of a recording.

    Tensors in one block of memory, as those of a batch are on a GPU, are copied at once, if the block has the
    same layout: it may contain others, of other shapes.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._layout = _layout(inputs)
        self._bytes = _bytes_of(inputs["input_ids"]).clone()
        self.values = {
            name: self._place(value) if isinstance(value, torch.Tensor) else value
            for name, value in inputs.items()
        }

    def _place(self, tensor: torch.Tensor) -> torch.Tensor:
        if self._layout is None:
            return tensor.clone()
        view = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return view.set_(
            self._bytes.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride()
        )

    def fill(self, inputs: Inputs) -> None:
        """Copy the inputs of a pass."""
        if self._layout is not None and self._layout == _layout(inputs):
            self._bytes.copy_(_bytes_of(inputs["input_ids"]))
            return
        for name, value in inputs.items():
            if isinstance(value, torch.Tensor):
                self.values[name].copy_(value)


def _layout(inputs: Inputs) -> Hashable:
    """Return the size of a block of memory and where the inputs are in it; None if they are not in one."""
    tensors = [value for value in inputs.values() if isinstance(value, torch.Tensor)]
    blocks = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
    if len(blocks) > 1:
        return None
    return (
        *blocks.values(),
        *((tensor.storage_offset(), tensor.stride(), tensor.dtype) for tensor in tensors),
    )


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return all memory of a tensor, which may be that of others too."""
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


class _Recorded:
    """Both passes for inputs of one shape."""

    def __init__(self, inputs: Inputs, shared: _Shared, precision: torch.dtype | None) -> None:
        self.shared = shared
        self._copies = shared.copies(precision)
        self._inputs = _Inputs(inputs)
        self.outputs: list[torch.Tensor] = []
        self.output_gradients: list[torch.Tensor] = []
        shared.keep_earlier()
        shared.recorder.warm_up(self._both)
        self.forward = shared.recorder.record(self._forward)
        self.backward = shared.recorder.record(self._backward)

    def __call__(self, **inputs: Any) -> Any:
        self._inputs.fill(inputs)
        return self._output(_Passes.apply(self, self.shared.start))

    def _both(self) -> None:
        self._forward()
        self._backward()

    def _forward(self) -> None:
        self.shared.cast(self._copies)
        output = functional_call(self.shared.module, self._copies, kwargs=self._inputs.values)
        self._output: Callable[[Sequence[torch.Tensor]], Any]
        if isinstance(output, torch.Tensor):
            self._tensors, self._output = [output], itemgetter(0)
        else:
            named = {name: value for name, value in output.items() if getattr(value, "requires_grad", False)}
            self._tensors, self._output = list(named.values()), partial(_output, type(output), list(named))
        if not self.outputs:
            self.outputs = [torch.empty_like(output).detach() for output in self._tensors]
            self.output_gradients = [torch.zeros_like(output) for output in self.outputs]
        for memory, output in zip(self.outputs, self._tensors, strict=True):
            memory.copy_(output.detach())

    def _backward(self) -> None:
        device = self.output_gradients[0].device
        with torch.autocast(device.type, enabled=False):  # as in a usual pass backward
            self.gradients = self.shared.backward(self._copies, self._tensors, self.output_gradients)
        self._tensors = []  # its memory is free for the next recording


def _output(kind: type, names: Sequence[str], tensors: Sequence[torch.Tensor]) -> Any:
    return kind(**dict(zip(names, tensors, strict=True)))


def _weights_of_products(module: nn.Module, weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return those of some weights that autocast casts: of linear layers, and no others."""
    linear, others = set[int](), set[int]()
    for part in module.modules():
        ids = linear if isinstance(part, nn.Linear) else others
        ids.update(map(id, part.parameters(recurse=False)))
    return {name: weight for name, weight in weights.items() if id(weight) in linear - others}


class _Passes(torch.autograd.Function):
    """The recorded passes. Backward, gradients are given to the weights directly, which takes less time."""

    @staticmethod
    def forward(ctx: Any, recorded: _Recorded, start: torch.Tensor) -> tuple[torch.Tensor, ...]:
        del start
        ctx.recorded = recorded
        ctx.turn = recorded.shared.turn = recorded.shared.turn + 1
        recorded.forward()
        return tuple(output.detach() for output in recorded.outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, None]:
        recorded: _Recorded = ctx.recorded
        shared = recorded.shared
        if shared.turn != ctx.turn:
            raise RuntimeError("only the last recorded pass forward can go backward, and only once")
        shared.turn += 1
        shared.keep_earlier()
        for memory, new in zip(recorded.output_gradients, gradients, strict=True):
            memory.copy_(new)
        recorded.backward()
        earlier = [(weight.grad, new) for weight, new in recorded.gradients if weight.grad is not None]
        if earlier:
            torch._foreach_add_([sums for sums, _ in earlier], [new for _, new in earlier])
        for weight, new in recorded.gradients:
            weight.grad = new if weight.grad is None else weight.grad
        return None, None
