"""Runs cases side by side, each in a process: PyTorch of one thread beside a trainer.

Decides how many run at a time, and that PyTorch's threads do not wait for each other on
cores that another case has. What a case is, its script decides.
"""

import multiprocessing

import torch


def results(work, cases, jobs):
    """`work` of each case, in their order. With one job here, by all of PyTorch's
    threads; otherwise in processes that are forked, and so have what is imported and
    read already: PyTorch must not have computed anything before."""
    if jobs == 1:
        yield from map(work, cases)
        return
    with multiprocessing.get_context("fork").Pool(
            jobs, torch.set_num_threads, [1]) as pool:
        yield from pool.imap(work, cases)
