"""The feed as a PyTorch dataset. Needs the extra `torch`.

It yields whole batches: use `DataLoader(dataset, batch_size=None)`. The order of the feed is the same for any number of
workers. Spawn the workers (`multiprocessing_context="spawn"`), because compiled kernels have threads, which a forked
process does not inherit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bgdata.errors import needing
from bgdata.training.feed.rows import Batch

with needing("torch", "for batches of tensors"):
    import torch
    from torch.utils.data import IterableDataset, get_worker_info


class TorchBatches(IterableDataset):  # type: ignore[misc, type-arg, unused-ignore]
    """A PyTorch dataset of batches as in `rows.Batch`, with tensors that share the memory of the arrays. `features` may
    be None."""

    def __init__(self, feed: Any) -> None:
        self.feed = feed

    def __iter__(self) -> Iterator[Any]:
        """Yield the batches of this process. In a worker of a data loader, yield the batches of this worker."""
        info = get_worker_info()
        for batch in self.feed.part(info.id, info.num_workers) if info else self.feed:
            yield tensors(batch)


def tensors(batch: Batch) -> Batch:
    """Return the same batch with tensors instead of arrays; they share its memory."""
    found = {name: torch.from_numpy(values) for name, values in batch._asdict().items() if hasattr(values, "dtype")}
    return batch._replace(**found)
