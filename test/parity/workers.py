"""Runs cases side by side, each in a process: PyTorch of one thread beside a trainer.

Decides how many run at a time, and that PyTorch's threads do not wait for each other on
cores that another case has. What a case is, its script decides.
"""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import torch


def results(work, cases, jobs, renewed_after=None):
    """`work` of each case, in their order. With one job here, by all of PyTorch's
    threads; otherwise in processes that are forked, and so have what is imported and
    read already: PyTorch must not have computed anything before. What processes hold
    is given back when they are renewed, each after so many cases."""
    if jobs == 1:
        yield from map(work, cases)
        return
    cases = list(cases)
    size = jobs * renewed_after if renewed_after else max(len(cases), 1)
    for first in range(0, len(cases), size):
        # Not multiprocessing.Pool, which waits forever for a process that was killed.
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"),
                                 torch.set_num_threads, (1,)) as pool:
            yield from pool.map(work, cases[first:first + size])
